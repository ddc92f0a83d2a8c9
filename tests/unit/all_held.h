/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ALL_HELD_H
#define TESTS_ALL_HELD_H

/*
 * Counts objects of a lab (struct lab) at one moment: those of its interfaces, and what its SA
 * stores. A test that compares two such counts finds objects that were not freed.
 */

#include "hca/priv.h"
#include "sa/sa.h"
#include "sm/group.h"
#include "unit/all_lab.h"

struct held {
	unsigned int pkts, bufs;
	size_t timers;
	/*
	 * totals over all HCAs: QPs, multicast groups to which QPs are attached, and address
	 * handles
	 */
	size_t qps, groups;
	unsigned int ahs;
	/* number of group memberships and of event subscriptions (InformInfo) that the SA stores */
	unsigned int members, subscriptions;
};

static inline unsigned int list_len(const struct list *l)
{
	const struct list *n;
	unsigned int len = 0;

	for (n = l->next; n != l; n = n->next)
		len++;
	return len;
}

static inline struct held held(const struct lab *lab)
{
	const struct sa_subscription *s = NULL;
	const struct sm_group *g = NULL;
	struct held h = {
		.pkts = pkt_pool_pkts_used(lab->pool),
		.bufs = pkt_pool_bufs_used(lab->pool),
		.timers = lab->timers.n,
	};

	for (unsigned int i = 0; i < lab->nhosts; i++) {
		const struct hca *hca = fabric_node_hca(lab->host[i].node);

		h.qps += hca->qps.n;
		h.groups += hca->groups.n;
		h.ahs += list_len(&hca->ahs);
	}
	while (lab->sm && (g = sm_group_next(lab->sm, g)))
		h.members += g->nmembers;
	while (lab->sa && (s = sa_subscription_next(lab->sa, s)))
		h.subscriptions++;
	return h;
}

#endif
