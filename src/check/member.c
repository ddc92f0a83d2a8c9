/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <inttypes.h>
#include <stdlib.h>

/*
 * Checks the members that the SA lists for multicast groups: the switch to which a member is
 * connected must forward the group's packets to the member's port.
 */

/* The ports that have members of an MLID */
struct ports {
	/* GUID of the port of the member that was counted last; 0: no member was counted */
	uint64_t guid;
	bool several; /* members are at two ports or more */
};

static void count(struct ports *v, const struct chk_member *m)
{
	struct ports *x = &v[m->mlid - IB_LID_MCAST_MIN];

	x->several = x->several || (x->guid && x->guid != m->port_guid);
	x->guid = m->port_guid;
}

/*
 * Report a member if its switch does not forward the group's packets to it. Only full members and
 * non-members are checked, because send-only members need not receive packets.
 */
static void member(struct chk *c, const struct chk_member *m)
{
	const struct chk_port_guid *at = chk_find_port(c, m->port_guid);
	const struct chk_node *n, *sw;
	const struct chk_port *p;

	if (!at || !(m->join_state & 3))
		return;
	n = at->node;
	p = at->port;
	if (!n->sw && !chk_carries(c->f, p))
		return;
	sw = n->sw ? n : chk_peer(c->f, p);
	if (!sw->sw || !sw->sw->mft_known || sw->sw->mft_gaps ||
	    chk_sends(sw, m->mlid - IB_LID_MCAST_MIN, n->sw ? 0 : p->peer_port))
		return;
	chk_add(c, CHK_MFT_MISSES, n, p->num, m->mlid | (uint64_t)be32_at(m->mgid.raw + 12) << 16,
		"is a member of ff%02x::/MGID ...%08" PRIx32
		" with MLID 0x%04x, but its switch does not send to it",
		m->mgid.raw[1], be32_at(m->mgid.raw + 12), m->mlid);
}

void chk_members(struct chk *c)
{
	struct ports *v = calloc(CHK_MLIDS, sizeof(*v));

	if (!v) {
		c->no_memory = true;
		return;
	}
	for (uint32_t i = 0; i < c->f->nmembers; i++)
		if (ib_lid_is_mcast(c->f->member[i].mlid))
			count(v, &c->f->member[i]);
	/*
	 * OpenSM makes no tree for a group whose members are all at one port, because packets of a
	 * member have no other port to reach.
	 */
	for (uint32_t i = 0; i < c->f->nmembers; i++)
		if (ib_lid_is_mcast(c->f->member[i].mlid) &&
		    v[c->f->member[i].mlid - IB_LID_MCAST_MIN].several)
			member(c, &c->f->member[i]);
	free(v);
}
