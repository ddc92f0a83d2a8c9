/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <string.h>

/*
 * Checks of P_Key tables. A port must have the P_Keys that OpenSM's file partitions.conf gives it.
 * A switch port that enforces P_Keys must accept the P_Keys of the port at the other end of its
 * link.
 */

/*
 * --- membership as OpenSM derives it from partitions.conf: if several rules of a partition apply
 * to a port, the most specific of them counts. Of equally specific rules, the last one counts
 */

static bool name_fits(const char *name, const char *desc)
{
	size_t len = strlen(name);

	return strncmp(name, desc, len) == 0 && (!desc[len] || desc[len] == ' ');
}

static int rank(const struct sm_partition_rule *r, const struct chk_node *n,
		const struct chk_port *p, bool is_sm)
{
	switch (r->kind) {
	case SM_MEMBER_GUID:
		return r->guid == p->guid ? 3 : 0;
	case SM_MEMBER_NAME:
		return name_fits(r->name, n->desc) ? 3 : 0;
	case SM_MEMBER_SELF:
		return is_sm ? 3 : 0;
	case SM_MEMBER_ALL_CAS:
		return n->type == IB_NODE_CA ? 2 : 0;
	case SM_MEMBER_ALL_SWITCHES:
		return n->type == IB_NODE_SWITCH ? 2 : 0;
	case SM_MEMBER_ALL_ROUTERS:
		return n->type == IB_NODE_ROUTER ? 2 : 0;
	case SM_MEMBER_ALL:
		return 1;
	}
	return 0;
}

static enum sm_membership membership(const struct sm_partition *part, const struct chk_node *n,
				     const struct chk_port *p, bool is_sm)
{
	enum sm_membership m = part->pkey == 0x7fff ? SM_MEMBER_LIMITED : SM_MEMBER_NONE;
	int best = 1;

	if (part->pkey == 0x7fff && is_sm)
		return SM_MEMBER_FULL;
	for (size_t i = 0; i < part->nrules; i++) {
		int k = rank(&part->rule[i], n, p, is_sm);

		if (k >= best) {
			best = k;
			m = part->rule[i].membership;
		}
	}
	return m;
}

/* --- a port's table */

static bool has(const struct chk_port *p, uint16_t pkey)
{
	for (unsigned int i = 0; i < p->npkeys; i++)
		if (p->pkeys[i] == pkey)
			return true;
	return false;
}

struct place {
	struct chk *c;
	const struct chk_node *n;
	const struct chk_port *p;
};

static void want(const struct place *x, const struct sm_partition *part, uint16_t pkey, bool wanted)
{
	const char *kind = pkey & IB_PKEY_FULL ? "full" : "limited";

	if (has(x->p, pkey) == wanted || (wanted && x->p->pkeys_gaps))
		return;
	if (wanted)
		chk_add(x->c, CHK_PKEY_MISSING, x->n, x->p->num, pkey,
			"should be a %s member of partition %s, but its table lacks P_Key 0x%04x",
			kind, part->name, pkey);
	else
		chk_add(x->c, CHK_PKEY_EXTRA, x->n, x->p->num, pkey,
			"has P_Key 0x%04x, but should not be a %s member of partition %s", pkey,
			kind, part->name);
}

/* Report P_Keys that belong to no partition of the configuration */
static void strangers(const struct place *x, const struct sm_partitions *ps)
{
	for (unsigned int i = 0; i < x->p->npkeys; i++) {
		uint16_t pkey = x->p->pkeys[i];

		if ((pkey & 0x7fff) && !sm_partitions_find(ps, pkey & 0x7fff))
			chk_add(x->c, CHK_PKEY_EXTRA, x->n, x->p->num, pkey,
				"has P_Key 0x%04x, of which there is no partition", pkey);
	}
}

static bool is_manager(const struct chk *c, const struct chk_port *p)
{
	return p->pi.sm_lid &&
	       c->by_lid[p->pi.sm_lid < IB_LID_MCAST_MIN ? p->pi.sm_lid : 0].port == p;
}

static void port(struct chk *c, const struct sm_partitions *ps, const struct chk_node *n,
		 const struct chk_port *p)
{
	struct place x = { c, n, p };

	for (size_t i = 0; i < ps->n; i++) {
		const struct sm_partition *part = &ps->part[i];
		enum sm_membership m = membership(part, n, p, is_manager(c, p));

		want(&x, part, part->pkey | IB_PKEY_FULL,
		     m == SM_MEMBER_FULL || m == SM_MEMBER_BOTH);
		want(&x, part, part->pkey, m == SM_MEMBER_LIMITED || m == SM_MEMBER_BOTH);
	}
	strangers(&x, ps);
}

void chk_partitions(struct chk *c, const struct sm_partitions *ps)
{
	for (uint32_t i = 0; i < c->f->n; i++) {
		const struct chk_node *n = c->f->node[i];

		for (unsigned int k = 0; k <= n->nports; k++) {
			const struct chk_port *p = &n->port[k];

			/*
			 * Skip CA ports that are not Active, because the subnet manager may not have written
			 * their tables yet.
			 */
			if (chk_is_end(n, p) && p->pkeys && p->lid &&
			    (n->sw || chk_carries(c->f, p)))
				port(c, ps, n, p);
		}
	}
}

/* --- switches that enforce P_Keys */

/*
 * Tell whether packets with this P_Key pass a table: an entry must have the same low 15 bits, and
 * at least one of the two P_Keys must be that of a full member
 */
static bool passes(const struct chk_port *table, uint16_t pkey)
{
	for (unsigned int i = 0; i < table->npkeys; i++)
		if (ib_pkey_match(table->pkeys[i], pkey))
			return true;
	return false;
}

static void enforced(struct chk *c, const struct chk_node *n, const struct chk_port *p,
		     const struct chk_port *ca)
{
	const char *way = p->pi.part_enforce_in && p->pi.part_enforce_out ? "both ways"
			  : p->pi.part_enforce_in			  ? "inbound"
									  : "outbound";

	for (unsigned int i = 0; i < ca->npkeys; i++)
		if ((ca->pkeys[i] & 0x7fff) && !passes(p, ca->pkeys[i] | IB_PKEY_FULL))
			chk_add(c, CHK_PKEY_ENFORCED, n, p->num, ca->pkeys[i],
				"enforces P_Keys %s without 0x%04x, which the port behind it has",
				way, ca->pkeys[i]);
}

void chk_enforcement(struct chk *c)
{
	for (uint32_t i = 0; i < c->nsw; i++) {
		const struct chk_node *n = c->sw[i];

		for (unsigned int k = 1; k <= n->nports; k++) {
			const struct chk_port *p = &n->port[k];
			const struct chk_node *m = chk_peer(c->f, p);

			if (m && !m->sw && p->pkeys && !p->pkeys_gaps &&
			    m->port[p->peer_port].pkeys &&
			    (p->pi.part_enforce_in || p->pi.part_enforce_out) &&
			    chk_carries(c->f, p))
				enforced(c, n, p, &m->port[p->peer_port]);
		}
	}
}
