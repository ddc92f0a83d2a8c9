/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

/*
 * DOC: Feeds
 *
 * A stage of a sweep sends up to three SMPs for each port of the subnet, or one for each block of each LFT. A
 * feed goes through the ports or blocks, and makes the SMPs of a port or block only when the SMP queue of the
 * sweep can send them. So only a few SMPs, not hundreds of thousands, are in memory at a time.
 */

static bool port_more(struct smpq_source *src, ns_t now)
{
	struct sm_feed *f = container_of(src, struct sm_feed, source);
	struct sm *sm = f->sm;
	const struct sm_db *db = sm->next;

	while (f->at < db->nnodes) {
		struct sm_node *n = db->node[f->at];

		while (f->item <= n->info.nports && !n->lost) {
			struct sm_port *p = &n->port[f->item++];

			if (!p->known)
				continue;
			f->fn(sm, p, now);
			if (!list_empty(&sm->sweepq.wait))
				return true;
		}
		f->at++;
		f->item = 0;
	}
	return false;
}

void sm_feed_ports(struct sm *sm, struct sm_feed *f,
		   void (*fn)(struct sm *, struct sm_port *, ns_t), ns_t now)
{
	*f = (struct sm_feed){ .source.more = port_more, .sm = sm, .fn = fn };
	smpq_add_source(&sm->sweepq, &f->source, now);
}

static bool lft_more(struct smpq_source *src, ns_t now)
{
	struct sm_feed *f = container_of(src, struct sm_feed, source);
	struct sm *sm = f->sm;

	while (f->at < f->end) {
		struct sm_node *n = sm->next->sw[f->at];

		while (f->item < sm_fdb_lft_blocks(n->sw->fdb) && !n->lost) {
			if (sm_lft_block(sm, n, f->item++, now))
				return true;
		}
		if (!n->lost)
			sm_switch_info_write(sm, n, now);
		f->at++;
		f->item = 0;
	}
	return false;
}

void sm_feed_lfts(struct sm *sm, uint32_t first, uint32_t n, ns_t now)
{
	struct sm_feed *f = &sm->lft_feed;

	*f = (struct sm_feed){ .source.more = lft_more, .sm = sm, .at = first, .end = first + n };
	smpq_add_source(&sm->sweepq, &f->source, now);
}
