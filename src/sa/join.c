/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/print.h"

/*
 * MCMemberRecord: Set joins, Delete leaves (IBTA 15.2.5.17). So that the first packet to the group
 * is not lost, a join is answered only when the switches have acknowledged their MFTs. If a switch
 * does not answer, the join is answered after 200 ms (clause I17 of CONFORMANCE.md).
 */

#define COMPS_JOIN (MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_JOIN_STATE)

/* A join that waits until the MFTs are written. */
struct join {
	struct list link;
	struct sa *sa; /* SA that answers the join; NULL: this SA was destroyed */
	struct mad_addr to;
	ib_gid mgid;
	uint64_t port_guid;
	uint8_t resp[MAD_LEN];
};

static void join_free(struct join *j)
{
	list_del(&j->link);
	if (j->sa)
		j->sa->njoins--;
	free(j);
}

/*
 * Tell whether the member is still in the group. The member may have left, or lost its P_Key, while
 * the MFTs were written. In this case the join is not answered, and the client learns the result
 * when it repeats its request.
 */
static bool join_stands(const struct join *j)
{
	const struct sm_group *g = sm_group_find(j->sa->sm, &j->mgid);

	return g && sm_group_member(g, j->port_guid);
}

static void join_done(void *ctx, int status, ns_t now)
{
	struct join *j = ctx;

	if (j->sa && status != -ECANCELED && join_stands(j))
		sa_send(j->sa, &j->to, j->resp, MAD_LEN, now);
	join_free(j);
}

void sa_joins_fini(struct sa *sa)
{
	struct join *j, *tmp;

	list_for_each_safe (j, tmp, &sa->joins, link) {
		list_del(&j->link);
		j->sa = NULL;
	}
	sa->njoins = 0;
}

/*
 * Tell whether a request repeats a join that waits. Clients repeat a request with the same TID
 * until it is answered, so the repetition is ignored.
 */
static bool join_repeated(const struct sa_req *r)
{
	const struct join *j;

	list_for_each (j, &r->sa->joins, link) {
		if (j->to.lid == r->from->lid && j->to.qpn == r->from->qpn &&
		    mad_tid(j->resp) == r->m.mad.tid)
			return true;
	}
	return false;
}

/*
 * Tell whether the requester may change the membership of @port. The port itself and a trusted
 * requester may. Another port of the partition may change it only if a port other than @port made
 * the membership (ProxyJoin), or if there is no membership yet.
 */
static bool may_change(const struct sa_req *r, const struct sm_port *port, uint16_t pkey,
		       const struct sm_mcmember *m)
{
	if (r->trusted || r->port == port)
		return true;
	return sm_port_pkey(r->port, pkey) && (!m || m->proxy);
}

static void refuse_log(const struct sa_req *r, const struct ib_mcmember_rec *want,
		       const struct sm_port *port, uint16_t status)
{
	struct sm_source *s = sm_source_of(r->sa->sm, r->port->lid);
	char text[PRINT_GID_LEN], unsaid[PACE_LINE];

	if (!pace_line(&s->refusals, SA_REFUSALS_BURST, NS_SEC(1), r->now, unsaid))
		return;
	log_to(sm_log(r->sa->sm), LOG_LVL_INFO,
	       "sa: \"%s\" port %u may not join %s (state %x, P_Key 0x%04x): status 0x%04x%s%s",
	       port->node->desc, port->num, print_gid(text, sizeof(text), &want->mgid),
	       want->join_state, want->pkey, status,
	       status == SA_STATUS_NO_RESOURCES
		       ? ", for no multicast table that it needs has room for the group"
		       : "",
	       unsaid);
}

/*
 * Return 0 if @port may become a member of @g with the parameters of the request, otherwise a MAD
 * status.
 */
static uint16_t join_judge(const struct sa_req *r, const struct sm_group *g,
			   const struct ib_mcmember_rec *want, const struct sm_port *port)
{
	if (!sm_port_pkey(port, g->rec.pkey) || !sa_mcm_match(&g->rec, want, r->m.sa.comp_mask) ||
	    !sa_mcm_supports(port, &g->rec) ||
	    !may_change(r, port, g->rec.pkey, sm_group_member(g, port->guid)))
		return SA_STATUS_REQ_INVALID;
	return 0;
}

static struct join *join_new(const struct sa_req *r, const struct sm_group *g,
			     const struct sm_port *port)
{
	struct join *j = malloc(sizeof(*j));

	if (!j)
		return NULL;
	*j = (struct join){
		.sa = r->sa,
		.to = *r->from,
		.mgid = g->rec.mgid,
		.port_guid = port->guid,
	};
	list_add_tail(&r->sa->joins, &j->link);
	r->sa->njoins++;
	return j;
}

static uint16_t join_start(struct sa_req *r, struct sm_group *g, const struct ib_mcmember_rec *want,
			   const struct sm_port *port)
{
	const struct sm_mcmember *m = sm_group_member(g, port->guid);
	struct ib_mcmember_rec rec = sa_mcm_show(g);
	struct join *j = join_new(r, g, port);

	if (!j)
		return SA_DROP;
	rec.port_gid = want->port_gid;
	rec.join_state = want->join_state | (m ? m->join_state : 0);
	rec.proxy_join = m ? m->proxy : r->port != port;
	sa_resp_head(r, j->resp, 0, 0);
	memset(j->resp + SA_DATA_OFF, 0, SA_DATA_LEN);
	ib_mcmember_rec_encode(j->resp + SA_DATA_OFF, &rec);
	if (sm_group_join(r->sa->sm, g, &want->port_gid, want->join_state, rec.proxy_join,
			  join_done, j, r->now)) {
		join_free(j);
		return SA_DROP;
	}
	return SA_PENDING;
}

static uint16_t join(struct sa_req *r, const struct ib_mcmember_rec *want,
		     const struct sm_port *port)
{
	struct sm_group *g = sm_group_find(r->sa->sm, &want->mgid);
	bool created = !g;
	uint16_t status;

	if (g)
		status = join_judge(r, g, want, port);
	else if (!may_change(r, port, want->pkey, NULL))
		status = SA_STATUS_REQ_INVALID;
	else
		status = sa_group_make(r, want, port, &g);
	if (!status && !sm_group_reaches(r->sa->sm, g, port->guid))
		status = SA_STATUS_NO_RESOURCES;
	if (!status)
		status = join_start(r, g, want, port);
	if (status != SA_PENDING && created && g)
		sm_group_delete(r->sa->sm, g, r->now);
	return status;
}

static bool codes_valid(uint64_t mask, const struct ib_mcmember_rec *w)
{
	return sa_code_valid(ib_mtu_octets, mask & MCM_COMP_MTU, w->mtu_sel, w->mtu_code) &&
	       sa_code_valid(ib_rate_mbps, mask & MCM_COMP_RATE, w->rate_sel, w->rate_code);
}

uint16_t sa_mcmember_set(struct sa_req *r, struct sa_table *t)
{
	struct ib_mcmember_rec want;
	const struct sm_port *port;
	uint16_t status;

	r->sa->stats.joins++;
	if (ib_mcmember_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	if (join_repeated(r)) {
		r->sa->stats.dup_joins++;
		return SA_PENDING;
	}
	if (r->sa->njoins >= SA_MAX_JOINS)
		return SA_DROP;
	if ((r->m.sa.comp_mask & COMPS_JOIN) != COMPS_JOIN)
		return SA_STATUS_INSUF_COMPONENTS;
	port = sm_db_port_by_gid(r->db, &want.port_gid);
	if (!port)
		return SA_STATUS_INVALID_GID;
	if (!codes_valid(r->m.sa.comp_mask, &want))
		return SA_STATUS_REQ_INVALID;
	status = want.join_state ? join(r, &want, port) : SA_STATUS_REQ_INVALID;
	if (status != SA_PENDING && status != SA_DROP && status != SA_QUOTA)
		refuse_log(r, &want, port, status);
	return status;
}

/* Remove the requested JoinState bits from a membership. The answer has the bits that remain. */
static uint16_t leave(struct sa_req *r, struct sa_table *t, struct sm_group *g,
		      const struct ib_mcmember_rec *want, const struct sm_port *port)
{
	struct ib_mcmember_rec rec = sa_mcm_show(g);
	const struct sm_mcmember *m = sm_group_member(g, port->guid);
	int left;
	uint8_t *slot;

	if (!m || !may_change(r, port, g->rec.pkey, m))
		return SA_STATUS_REQ_INVALID;
	rec.port_gid = want->port_gid;
	rec.proxy_join = m->proxy;
	left = sm_group_leave(r->sa->sm, g, port->guid, want->join_state, r->now);
	if (left < 0)
		return SA_STATUS_REQ_INVALID;
	rec.join_state = (uint8_t)left;
	slot = sa_table_add(t);
	if (!slot)
		return SA_DROP;
	ib_mcmember_rec_encode(slot, &rec);
	return 0;
}

uint16_t sa_mcmember_delete(struct sa_req *r, struct sa_table *t)
{
	struct ib_mcmember_rec want;
	const struct sm_port *port;
	struct sm_group *g;

	r->sa->stats.leaves++;
	if (ib_mcmember_rec_decode(&want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	if ((r->m.sa.comp_mask & COMPS_JOIN) != COMPS_JOIN)
		return SA_STATUS_INSUF_COMPONENTS;
	port = sm_db_port_by_gid(r->db, &want.port_gid);
	if (!port)
		return SA_STATUS_INVALID_GID;
	g = sm_group_find(r->sa->sm, &want.mgid);
	return g ? leave(r, t, g, &want, port) : SA_STATUS_REQ_INVALID;
}
