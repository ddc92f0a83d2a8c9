/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>

#include "probe/priv.h"
#include "text/print.h"

/*
 * Judges the peer, which is the node that the user wants to reach: the kernel's neighbour entry for
 * the peer, the path to the peer, and the answers of the peer's subnet management agent.
 */

static bool judge_neigh(struct probe_case *c)
{
	const struct probe_cfg *cfg = &c->p->cfg;

	switch (cfg->neigh) {
	case PROBE_NEIGH_ABSENT:
		if (cfg->has_peer) /* the user may have given a GID in place of an address */
			return true;
		probe_found(c, PROBE_NEIGH_NONE, "%s has no neighbour %s", cfg->ifc.name,
			    cfg->address);
		return false;
	case PROBE_NEIGH_UNRESOLVED:
		probe_found(c, PROBE_NEIGH_FAILED,
			    "%s has no link-layer address for its neighbour %s", cfg->ifc.name,
			    cfg->address);
		return false;
	default:
		return true;
	}
}

/*
 * Report why there is no path to the peer in the partition. If there is a path between the same
 * GIDs in another partition, the report names the field P_Key as the reason. It also gives the
 * P_Key with which there is a path.
 */
static void no_path(struct probe_case *c)
{
	const struct probe *p = c->p;
	const struct probe_reply *r = &p->reply[ASK_PATH];
	char gid[PRINT_GID_LEN], text[80];

	print_gid(gid, sizeof(gid), &p->cfg.peer);
	if (r->how != REFUSED)
		probe_found(c, PROBE_SA_SILENT, "the subnet administrator: %s to Get(PathRecord)",
			    probe_status(text, r));
	else if (probe_has(p, ASK_PATH_ANY))
		probe_found(c, PROBE_PATH_REFUSED,
			    "no path to %s: %s to Get(PathRecord), field P_Key 0x%04x; with P_Key "
			    "0x%04x there is one",
			    gid, probe_status(text, r), probe_pkey(p), p->path_any.pkey);
	else if (p->cfg.neigh == PROBE_NEIGH_ABSENT)
		probe_found(c, PROBE_NEIGH_NONE,
			    "%s has no neighbour %s, and as a GID there is no path to it: %s",
			    p->cfg.ifc.name, p->cfg.address, probe_status(text, r));
	else if (p->cfg.neigh == PROBE_NEIGH_KNOWN)
		probe_found(c, PROBE_NEIGH_STALE,
			    "the neighbour %s of %s has GID %s, to which there is no path: %s",
			    p->cfg.address, p->cfg.ifc.name, gid, probe_status(text, r));
	else
		probe_found(c, PROBE_PEER_UNKNOWN,
			    "no path to %s: %s to Get(PathRecord), field DGID", gid,
			    probe_status(text, r));
}

static unsigned int wanted_mtu(const struct probe *p)
{
	return probe_has(p, ASK_GROUP) ? ib_mtu_octets(p->group.mtu_code) : 0;
}

static void judge_path(struct probe_case *c)
{
	const struct probe *p = c->p;
	unsigned int mtu = ib_mtu_octets(p->path.mtu_code), want = wanted_mtu(p);
	char gid[PRINT_GID_LEN];

	print_gid(gid, sizeof(gid), &p->cfg.peer);
	probe_tell(c, "path", "to %s: LID %u, SL %u, MTU %u, %u Mb/s", gid, p->path.dlid,
		   p->path.sl, mtu, ib_rate_mbps(p->path.rate_code));
	if (want && mtu && mtu < want)
		probe_found(c, PROBE_PATH_MTU,
			    "the path to %s has MTU %u, and the broadcast group %u", gid, mtu,
			    want);
	if (p->reply[ASK_PEER_MEMBER].how == REFUSED &&
	    p->reply[ASK_PEER_MEMBER].status == SA_STATUS_NO_RECORDS)
		probe_found(c, PROBE_PEER_NOT_MEMBER, "%s is no member of the broadcast group",
			    gid);
}

static void judge_peer_pkey(struct probe_case *c)
{
	const struct probe *p = c->p;
	uint16_t pkey = probe_pkey(p), own = probe_own_pkey(&p->pkeys, pkey),
		 its = probe_own_pkey(&p->peer_pkeys, pkey);

	if (!probe_has(p, ASK_PEER_PKEYS))
		return;
	if (!its)
		probe_found(c, PROBE_PEER_PKEY, "the peer's table does not have P_Key 0x%04x",
			    pkey);
	else if (own && !ib_pkey_match(own, its))
		probe_found(c, PROBE_PEER_PKEY,
			    "both ports are limited members of partition 0x%04x", pkey);
}

static void judge_agent(struct probe_case *c)
{
	const struct probe *p = c->p;
	const struct ib_path_rec *path = probe_has(p, ASK_PATH) ? &p->path : &p->path_any;
	unsigned int mtu = ib_mtu_octets(p->peer_port.neighbor_mtu), want = wanted_mtu(p);
	char text[80];

	if (p->reply[ASK_PEER_NODE].how == NOT_ASKED)
		return;
	if (!probe_has(p, ASK_PEER_NODE)) {
		probe_found(c, PROBE_PEER_SILENT, "the peer at LID %u: %s to Get(NodeInfo)",
			    path->dlid, probe_status(text, &p->reply[ASK_PEER_NODE]));
		return;
	}
	if (p->peer_node.port_guid != ib_gid_guid(&p->cfg.peer)) {
		probe_found(
			c, PROBE_PEER_OTHER,
			"at LID %u, to which the path leads, is the port with GUID 0x%016" PRIx64,
			path->dlid, p->peer_node.port_guid);
		return;
	}
	probe_tell(c, "peer", "answers in %.1f ms, MTU %u",
		   (double)p->reply[ASK_PEER_NODE].took / 1e6, mtu);
	judge_peer_pkey(c);
	if (want && probe_has(p, ASK_PEER_PORT) && mtu && mtu < want)
		probe_found(c, PROBE_PEER_MTU,
			    "the peer's link has MTU %u, and the broadcast group %u", mtu, want);
}

void probe_judge_peer(struct probe_case *c)
{
	const struct probe *p = c->p;

	if (!judge_neigh(c) || !p->cfg.has_peer || p->reply[ASK_PATH].how == NOT_ASKED)
		return;
	if (probe_has(p, ASK_PATH))
		judge_path(c);
	else
		no_path(c);
	judge_agent(c);
}
