/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/membership.h"

#include <string.h>

static bool name_matches(const char *name, const char *desc)
{
	size_t first = strcspn(desc, " ");

	return strcmp(name, desc) == 0 || (strlen(name) == first && memcmp(name, desc, first) == 0);
}

/* Return how specific the rule is if it applies to the port; 0: the rule does not apply to the port. */
static int rule_fits(const struct sm_partition_rule *r, const struct sm_port *p, bool is_self)
{
	uint8_t type = p->node->info.node_type;

	switch (r->kind) {
	case SM_MEMBER_GUID:
		return r->guid == p->guid ? 3 : 0;
	case SM_MEMBER_NAME:
		return name_matches(r->name, p->node->desc) ? 3 : 0;
	case SM_MEMBER_SELF:
		return is_self ? 3 : 0;
	case SM_MEMBER_ALL:
		return 1;
	case SM_MEMBER_ALL_CAS:
		return type == IB_NODE_CA ? 2 : 0;
	case SM_MEMBER_ALL_SWITCHES:
		return type == IB_NODE_SWITCH ? 2 : 0;
	case SM_MEMBER_ALL_ROUTERS:
		return type == IB_NODE_ROUTER ? 2 : 0;
	}
	return 0;
}

enum sm_membership sm_partition_membership(const struct sm_partition *part, const struct sm_port *p,
					   bool is_self)
{
	enum sm_membership m = SM_MEMBER_NONE;
	int best = 1;

	if (part->pkey == 0x7fff) {
		if (is_self) /* the SA must be able to exchange packets with all ports */
			return SM_MEMBER_FULL;
		m = SM_MEMBER_LIMITED;
	}
	for (size_t i = 0; i < part->nrules; i++) {
		int fit = rule_fits(&part->rule[i], p, is_self);

		if (fit >= best) {
			best = fit;
			m = part->rule[i].membership;
		}
	}
	return m;
}

bool sm_pkeys_contain(const uint16_t *v, size_t n, uint16_t pkey)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i] == pkey)
			return true;
	}
	return false;
}

bool sm_pkeys_arrange(uint16_t *table, const uint16_t *old, size_t n, const uint16_t *want,
		      size_t nwant, uint16_t index0)
{
	size_t slot = 0;

	memset(table, 0, n * sizeof(*table));
	if (index0)
		table[0] = index0;
	for (size_t i = 0; i < n; i++) {
		if (old[i] && !table[i] && sm_pkeys_contain(want, nwant, old[i]) &&
		    !sm_pkeys_contain(table, n, old[i]))
			table[i] = old[i];
	}
	for (size_t i = 0; i < nwant; i++) {
		if (sm_pkeys_contain(table, n, want[i]))
			continue;
		while (slot < n && table[slot])
			slot++;
		if (slot == n)
			return false;
		table[slot] = want[i];
	}
	return true;
}

/*
 * Tell whether a member has the P_Key. The table of a port that did not answer is unknown, so the
 * next sweep decides about such a port.
 */
static bool has_pkey(const struct sm_db *db, const struct sm_mcmember *m, uint16_t pkey)
{
	const struct sm_port *p = sm_db_port_by_guid(db, m->port_guid);

	return !p || p->node->lost || sm_port_pkey(p, pkey);
}

struct sm_mcmember *sm_group_outsider(const struct sm_db *db, const struct sm_group *g)
{
	struct sm_mcmember *m;

	list_for_each (m, &g->members, link) {
		if (!has_pkey(db, m, g->rec.pkey))
			return m;
	}
	return NULL;
}
