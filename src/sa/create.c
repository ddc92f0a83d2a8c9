/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

#include <errno.h>

#include "wire/mgid.h"

/* Creation of a multicast group by a join, IBTA 15.2.5.17.2 and RFC 4391 §4.1, §5, §10. */

#define COMPS_NEEDED                                                               \
	(MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE | MCM_COMP_QKEY | \
	 MCM_COMP_TCLASS | MCM_COMP_PKEY | MCM_COMP_FLOW_LABEL | MCM_COMP_SL)

#define SIG_SA_ASSIGNED 0xa01b
#define SCOPE_LINK_LOCAL 2
#define LIFE_MAX 63

/*
 * Tell whether a join may create a group with this MGID. The reserved flags of the MGID must be
 * zero. A link-local MGID with the signature 0xa01b is refused, because only the SA assigns such
 * MGIDs. Otherwise every scope and both values of the T flag are accepted, because OpenSM accepts
 * them and osmtest expects this.
 */
static bool mgid_valid(const ib_gid *mgid)
{
	uint16_t sig = mgid_signature(mgid);

	/* RFC 4391 §4: the T flag of an IPoIB group is 1. */
	if ((sig == MGID_SIG_IPV4 || sig == MGID_SIG_IPV6) && !mgid_is_ipoib(mgid))
		return false;
	return ib_gid_is_mcast(mgid) && !(mgid->raw[1] & 0xe0) &&
	       !(sig == SIG_SA_ASSIGNED && mgid_scope(mgid) == SCOPE_LINK_LOCAL);
}

/* Choose an MGID that no group has, for a request whose MGID is 0. */
static ib_gid mgid_assign(struct sa *sa, const struct sm_db *db, uint8_t scope)
{
	ib_gid g = { { 0xff, (uint8_t)(0x10 | (scope & 0xf)) } };

	be16_put(g.raw + 2, SIG_SA_ASSIGNED);
	be64_put(g.raw + 8, db->self->guid);
	do {
		be32_put(g.raw + 4, ++sa->mgid_seq);
	} while (sm_group_find(sa->sm, &g));
	return g;
}

static uint8_t life_choose(uint64_t mask, const struct ib_mcmember_rec *want, uint8_t life)
{
	switch (sa_sel(mask, MCM_COMP_LIFE_SEL, MCM_COMP_LIFE, want->life_sel)) {
	case SA_SEL_GT:
		return life > want->life ? life : want->life + 1;
	case SA_SEL_LT:
		return life < want->life ? life : want->life - 1;
	case SA_SEL_EXACT:
		return want->life;
	default:
		return life;
	}
}

/*
 * Choose the parameters of a group that does not take its parameters from a broadcast group. If the
 * request has no MTU or rate, the port's best value is used; if the request has no life time, the
 * SM's value is used. Return: false if no value fits the request
 */
static bool params_choose(const struct sa_req *r, const struct ib_mcmember_rec *want,
			  const struct sm_port *port, struct ib_mcmember_rec *ret)
{
	uint64_t mask = r->m.sa.comp_mask;

	*ret = (struct ib_mcmember_rec){
		.mgid = want->mgid,
		.qkey = want->qkey,
		.tclass = want->tclass,
		.pkey = want->pkey | IB_PKEY_FULL,
		.sl = want->sl,
		.flow_label = want->flow_label,
		.hop_limit = mask & MCM_COMP_HOP_LIMIT ? want->hop_limit : 0,
		/* OpenSM accepts a scope that differs from the MGID's scope, and osmtest expects this. */
		.scope = mask & MCM_COMP_SCOPE ? want->scope : mgid_scope(&want->mgid),
	};
	ret->mtu_code = sa_code_best(ib_mtu_octets, port->mtu_code,
				     sa_sel(mask, MCM_COMP_MTU_SEL, MCM_COMP_MTU, want->mtu_sel),
				     want->mtu_code);
	ret->rate_code = sa_code_best(
		ib_rate_mbps, port->rate_code,
		sa_sel(mask, MCM_COMP_RATE_SEL, MCM_COMP_RATE, want->rate_sel), want->rate_code);
	ret->life = life_choose(mask, want, r->db->life);
	return ret->mtu_code && ret->rate_code && ret->life <= LIFE_MAX;
}

/*
 * Choose the parameters of a new group of an IPoIB link. A broadcast group, which the first node of
 * the link may create (RFC 4391 §5), gets the parameters that params_choose() chooses. Any other
 * group gets the parameters of the link's broadcast group (§10). Return: false if the link has no
 * broadcast group, if the request does not fit, or if its P_Key is not the P_Key in the requested
 * MGID
 */
static bool ipoib_params(const struct sa_req *r, const struct ib_mcmember_rec *want,
			 const struct sm_port *port, struct ib_mcmember_rec *ret)
{
	uint16_t pkey = mgid_pkey(&want->mgid);
	const struct sm_group *bc;
	ib_gid broadcast;

	if (((pkey ^ want->pkey) & 0x7fff) ||
	    mgid_broadcast(&broadcast, pkey, mgid_scope(&want->mgid)))
		return false;
	if (ib_gid_equal(&broadcast, &want->mgid)) {
		if (!params_choose(r, want, port, ret))
			return false;
		ret->scope = mgid_scope(&want->mgid);
		return true;
	}
	bc = sm_group_find(r->sa->sm, &broadcast);
	if (!bc)
		return false;
	*ret = bc->rec;
	ret->mgid = want->mgid;
	return true;
}

static uint16_t create_status(int err)
{
	switch (err) {
	case 0:
		return 0;
	case -ENOSPC:
		return SA_STATUS_NO_RESOURCES;
	case -ENOMEM:
		return SA_DROP;
	default:
		return SA_STATUS_REQ_INVALID;
	}
}

/*
 * Tell whether a port may create one more group. A group counts for its creator until the group
 * ends, even if the creator has left the group.
 */
static bool creator_has_room(const struct sa *sa, uint64_t creator)
{
	unsigned int n = 0, max = sm_groups_max(sa->sm) / SA_GROUPS_SHARE;
	const struct sm_group *g;

	for (g = sm_group_next(sa->sm, NULL); g; g = sm_group_next(sa->sm, g))
		n += g->creator == creator;
	return n < (max ? max : 1);
}

uint16_t sa_group_make(struct sa_req *r, const struct ib_mcmember_rec *want,
		       const struct sm_port *port, struct sm_group **ret)
{
	/* A requested MLID is ignored, because the SM chooses it. */
	uint64_t mask = r->m.sa.comp_mask & ~MCM_COMP_MLID;
	struct ib_mcmember_rec w = *want, rec;
	uint16_t status;
	bool ok;

	if (!(w.join_state & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL)))
		return SA_STATUS_REQ_INVALID;
	if ((mask & COMPS_NEEDED) != COMPS_NEEDED)
		return SA_STATUS_INSUF_COMPONENTS;
	if (ib_gid_is_zero(&w.mgid))
		w.mgid = mgid_assign(r->sa, r->db,
				     mask & MCM_COMP_SCOPE ? w.scope : SCOPE_LINK_LOCAL);
	else if (!mgid_valid(&w.mgid))
		return SA_STATUS_REQ_INVALID;
	if (!sm_port_pkey(port, w.pkey))
		return SA_STATUS_REQ_INVALID;
	ok = mgid_is_ipoib(&w.mgid) ? ipoib_params(r, &w, port, &rec)
				    : params_choose(r, &w, port, &rec);
	if (!ok || !sa_mcm_match(&rec, &w, mask) || !sa_mcm_supports(port, &rec))
		return SA_STATUS_REQ_INVALID;
	if (!creator_has_room(r->sa, r->port->guid))
		return SA_STATUS_NO_RESOURCES;
	if (!sa_quota_group(r))
		return SA_QUOTA;
	rec.mlid = 0;
	status = create_status(sm_group_create(r->sa->sm, &rec, false, ret, r->now));
	if (!status)
		(*ret)->creator = r->port->guid;
	return status;
}
