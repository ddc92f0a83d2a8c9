/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/priv.h"

#include "survey/sa.h"
#include "wire/mgid.h"

/* Builds the requests of a probe, and decides which requests are needed. */

/* --- conclusions from earlier answers */

uint16_t probe_own_pkey(const struct probe_pkeys *t, uint16_t pkey)
{
	uint16_t found = 0;

	for (unsigned int i = 0; i < t->n; i++)
		if ((t->pkey[i] & 0x7fff) == (pkey & 0x7fff) && t->pkey[i] & 0x7fff)
			found |= t->pkey[i];
	return found;
}

uint16_t probe_pkey(const struct probe *p)
{
	uint16_t pkey = p->cfg.pkey ? p->cfg.pkey : p->cfg.ifc.pkey;

	if (!pkey && probe_has(p, ASK_PKEYS))
		pkey = p->pkeys.pkey[0];
	return pkey & 0x7fff ? pkey | IB_PKEY_FULL : 0;
}

bool probe_is_broadcast(const ib_gid *mgid, uint16_t pkey)
{
	ib_gid want;

	return mgid_broadcast(&want, pkey, mgid_scope(mgid)) == 0 && ib_gid_equal(&want, mgid);
}

/*
 * Return the MGID of the broadcast group. If the interface has the probed P_Key, this is the
 * interface's own broadcast group, with the scope of its link. Otherwise the scope is link-local,
 * the default of RFC 4391.
 */
ib_gid probe_mgid(const struct probe *p)
{
	ib_gid mgid = { { 0 } };
	uint16_t pkey = probe_pkey(p);

	if (probe_is_broadcast(&p->cfg.ifc.broadcast, pkey))
		return p->cfg.ifc.broadcast;
	mgid_broadcast(&mgid, pkey, 2);
	return mgid;
}

ib_gid probe_gid(const struct probe *p)
{
	return ib_gid_of(p->port.gid_prefix ? p->port.gid_prefix : IB_SUBNET_PREFIX_DEFAULT,
			 p->node.port_guid);
}

/* Tell whether the port can exchange LID-routed packets with the SM. */
static bool usable(const struct probe *p)
{
	return probe_has(p, ASK_PORT) && p->port.port_state == IB_PORT_ACTIVE &&
	       ib_lid_is_unicast(p->port.lid) && ib_lid_is_unicast(p->port.sm_lid);
}

static bool sa_works(const struct probe *p)
{
	return usable(p) && probe_has(p, ASK_SA);
}

static bool has_link(const struct probe *p)
{
	return probe_has(p, ASK_PORT) && p->node.node_type != IB_NODE_SWITCH &&
	       p->port.port_state >= IB_PORT_INIT;
}

/* --- requests to subnet management agents */

static void smp(struct probe *p, uint8_t mgmt_class, uint16_t dlid, uint8_t hops, uint16_t attr,
		uint32_t mod)
{
	const struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		.class_specific = hops,
		.tid = p->seq,
		.attr_id = attr,
		.attr_mod = mod,
	};
	struct smp_dr dr = { .mkey = p->cfg.mkey,
			     .dr_slid = IB_LID_PERMISSIVE,
			     .dr_dlid = IB_LID_PERMISSIVE };

	dr.initial_path[1] = p->node.local_port;
	smp_encode(p->sent.mad, &h, &dr, NULL);
	p->sent.qpn = 0;
	p->sent.dlid = dlid;
}

/*
 * Send an SMP by directed route to the agent of the probed port's node (@hops 0), or to the agent
 * at the other end of the link (@hops 1).
 */
static bool by_route(struct probe *p, uint8_t hops, uint16_t attr, uint32_t mod)
{
	smp(p, MAD_CLASS_SM_DR, IB_LID_PERMISSIVE, hops, attr, mod);
	return true;
}

static bool by_lid(struct probe *p, uint16_t dlid, uint16_t attr, uint32_t mod)
{
	smp(p, MAD_CLASS_SM_LID, dlid, 0, attr, mod);
	return true;
}

/*
 * Return: the port number for a request about the end port of the node that sent @i. If the node is
 * a switch, this is port 0, which has the LID of the switch. If the node is a CA, it is the port
 * that sent @i
 */
static uint8_t port_of(const struct smp_node_info *i)
{
	return i->node_type == IB_NODE_SWITCH ? 0 : i->local_port;
}

static unsigned int blocks(const struct smp_node_info *i)
{
	unsigned int n = i->pkey_cap < PROBE_PKEYS_MAX ? i->pkey_cap : PROBE_PKEYS_MAX;

	return (n + SMP_PKEYS_PER_BLOCK - 1) / SMP_PKEYS_PER_BLOCK;
}

/*
 * Tell whether to ask for the next block of a P_Key table. Return: false if all blocks were read,
 * or if the last request failed. After a failed request, the table counts as unknown
 */
static bool pkey_block(struct probe *p, const struct smp_node_info *i)
{
	return p->block < blocks(i) && p->reply[p->ask].how != LOST &&
	       p->reply[p->ask].how != REFUSED && p->reply[p->ask].how != MALFORMED;
}

/* --- requests to the SA */

static bool sa(struct probe *p, uint8_t method, uint16_t attr, uint64_t comp_mask, uint64_t sm_key)
{
	const struct mad_hdr h = survey_sa_header(method, attr, p->seq);
	const struct sa_hdr s = { .sm_key = sm_key, .comp_mask = comp_mask };

	sa_mad_encode(p->sent.mad, &h, &s);
	p->sent.qpn = 1;
	p->sent.dlid = p->port.sm_lid;
	return true;
}

static bool path_to(struct probe *p, const ib_gid *dgid, uint16_t pkey)
{
	const struct ib_path_rec rec = { .sgid = probe_gid(p),
					 .dgid = *dgid,
					 .pkey = pkey,
					 .numb_path = 1,
					 .reversible = true };

	if (!sa_works(p))
		return false;
	sa(p, MAD_METHOD_GET, SA_ATTR_PATH_RECORD,
	   PATH_COMP_SGID | PATH_COMP_DGID | PATH_COMP_NUMB_PATH | PATH_COMP_REVERSIBLE |
		   (pkey ? PATH_COMP_PKEY : 0),
	   0);
	ib_path_rec_encode(p->sent.mad + SA_DATA_OFF, &rec);
	return true;
}

static bool group(struct probe *p)
{
	const struct ib_mcmember_rec rec = { .mgid = probe_mgid(p) };

	if (!sa_works(p) || !probe_pkey(p))
		return false;
	sa(p, MAD_METHOD_GET, SA_ATTR_MCMEMBER_RECORD, MCM_COMP_MGID, 0);
	ib_mcmember_rec_encode(p->sent.mad + SA_DATA_OFF, &rec);
	return true;
}

/* Ask whether a port is a member of the broadcast group. An earlier answer has shown that the group exists. */
static bool member(struct probe *p, const ib_gid *port_gid)
{
	const struct ib_mcmember_rec rec = { .mgid = probe_mgid(p), .port_gid = *port_gid };

	if (!probe_has(p, ASK_GROUP) || !p->cfg.sm_key)
		return false;
	sa(p, MAD_METHOD_GET, SA_ATTR_MCMEMBER_RECORD, MCM_COMP_MGID | MCM_COMP_PORT_GID,
	   p->cfg.sm_key);
	ib_mcmember_rec_encode(p->sent.mad + SA_DATA_OFF, &rec);
	return true;
}

static bool groups(struct probe *p)
{
	const struct ib_mcmember_rec rec = { .pkey = probe_pkey(p) };

	if (!sa_works(p) || !rec.pkey)
		return false;
	sa(p, MAD_METHOD_GET_TABLE, SA_ATTR_MCMEMBER_RECORD, MCM_COMP_PKEY, 0);
	ib_mcmember_rec_encode(p->sent.mad + SA_DATA_OFF, &rec);
	return true;
}

static bool fill_member(struct probe *p)
{
	const ib_gid own = probe_gid(p);

	switch (p->ask) {
	case ASK_MEMBER:
		return p->cfg.ifc.name[0] && p->cfg.ifc.up && member(p, &own);
	case ASK_PEER_MEMBER:
		return probe_has(p, ASK_PATH) && member(p, &p->cfg.peer);
	default:
		return false;
	}
}

static bool fill_sa(struct probe *p)
{
	const ib_gid own = probe_gid(p);

	switch (p->ask) {
	case ASK_SA:
		return usable(p) && sa(p, MAD_METHOD_GET, SA_ATTR_CLASS_PORT_INFO, 0, 0);
	case ASK_SELF:
		return path_to(p, &own, 0);
	case ASK_GROUP:
		return group(p);
	case ASK_GROUPS:
		return groups(p);
	case ASK_PATH:
		return p->cfg.has_peer && probe_pkey(p) && path_to(p, &p->cfg.peer, probe_pkey(p));
	case ASK_PATH_ANY:
		return p->reply[ASK_PATH].how == REFUSED && path_to(p, &p->cfg.peer, 0);
	default:
		return fill_member(p);
	}
}

static bool fill_peer(struct probe *p)
{
	const struct ib_path_rec *path = probe_has(p, ASK_PATH) ? &p->path : &p->path_any;
	bool known = probe_has(p, ASK_PATH) || probe_has(p, ASK_PATH_ANY);

	if (!known || !ib_lid_is_unicast(path->dlid))
		return false;
	switch (p->ask) {
	case ASK_PEER_NODE:
		return by_lid(p, path->dlid, SMP_ATTR_NODE_INFO, 0);
	case ASK_PEER_PORT:
		return probe_has(p, ASK_PEER_NODE) &&
		       by_lid(p, path->dlid, SMP_ATTR_PORT_INFO, port_of(&p->peer_node));
	case ASK_PEER_PKEYS:
		return probe_has(p, ASK_PEER_NODE) && pkey_block(p, &p->peer_node) &&
		       by_lid(p, path->dlid, SMP_ATTR_PKEY_TABLE, p->block);
	default:
		return false;
	}
}

bool probe_fill(struct probe *p)
{
	switch (p->ask) {
	case ASK_NODE:
		return by_route(p, 0, SMP_ATTR_NODE_INFO, 0);
	case ASK_PORT:
		return probe_has(p, ASK_NODE) &&
		       by_route(p, 0, SMP_ATTR_PORT_INFO, port_of(&p->node));
	case ASK_PKEYS:
		return probe_has(p, ASK_PORT) && pkey_block(p, &p->node) &&
		       by_route(p, 0, SMP_ATTR_PKEY_TABLE, p->block);
	case ASK_SLTOVL:
		return usable(p) && p->node.node_type != IB_NODE_SWITCH && p->port.oper_vls > 1 &&
		       p->port.cap_mask & SMP_CAP_IS_SL_MAP && by_route(p, 0, SMP_ATTR_SLTOVL, 0);
	case ASK_LINK_NODE:
		return has_link(p) && by_route(p, 1, SMP_ATTR_NODE_INFO, 0);
	case ASK_LINK_PORT:
		return probe_has(p, ASK_LINK_NODE) &&
		       by_route(p, 1, SMP_ATTR_PORT_INFO, p->link_node.local_port);
	case ASK_SM:
		return usable(p) && by_lid(p, p->port.sm_lid, SMP_ATTR_SM_INFO, 0);
	case ASK_PEER_NODE:
	case ASK_PEER_PORT:
	case ASK_PEER_PKEYS:
		return fill_peer(p);
	default:
		return fill_sa(p);
	}
}
