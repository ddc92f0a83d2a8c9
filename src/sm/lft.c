/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <stdio.h>

#include "route/route.h"

/*
 * This file writes the LFT and SwitchInfo of each switch as soon as the LFT is computed. Blocks
 * that the switch has already acknowledged are not written again.
 */

/*
 * number of steps of the route computation in one slice, which takes some milliseconds; other
 * events are handled between slices
 */
#define SLICE_STEPS 2000000

static void on_lft(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data, ns_t now)
{
	struct sm *sm = ctx;
	struct sm_fdb *f = cmd->node->sw->fdb;

	if (sm_failed(sm, cmd, status, "LinearForwardingTable", now))
		return;
	f->lft_known[cmd->mod] = true;
}

bool sm_lft_block(struct sm *sm, struct sm_node *n, uint32_t block, ns_t now)
{
	const struct sm_fdb *f = n->sw->fdb;
	struct smp_cmd c;

	if (f->lft_known[block])
		return false;
	c = sm_cmd_node(n, MAD_METHOD_SET, SMP_ATTR_LFT, block, on_lft);
	memcpy(c.data, f->lft->port + block * SMP_LFT_PER_BLOCK, SMP_LFT_PER_BLOCK);
	sm->sweep.lft_blocks++;
	smpq_add(&sm->sweepq, &c, now);
	return true;
}

void sm_lft_write(struct sm *sm, struct sm_node *n, ns_t now)
{
	for (uint32_t b = 0; b < sm_fdb_lft_blocks(n->sw->fdb); b++)
		sm_lft_block(sm, n, b, now);
}

static void on_switch_set(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			  ns_t now)
{
	struct smp_switch_info si;

	if (!sm_failed(ctx, cmd, status, "Set(SwitchInfo)", now) &&
	    smp_switch_info_decode(&si, data, SMP_DATA_LEN) == 0)
		cmd->node->sw->si = si;
}

void sm_switch_info_write(struct sm *sm, struct sm_node *n, ns_t now)
{
	struct smp_switch_info *si = &n->sw->si;
	/*
	 * An earlier SM may have set MulticastFDBTop below an MLID that is in use now, and the switch
	 * would drop the packets of this MLID. So set MulticastFDBTop to the last MLID of the MFT.
	 */
	uint16_t mft_top = si->mft_top ? IB_LID_MCAST_MIN - 1 + si->mft_cap : 0;
	struct smp_cmd c;

	if (si->lft_top == n->sw->lft_top && si->life_time == sm->cfg.life &&
	    si->mft_top == mft_top)
		return;
	c = sm_cmd_node(n, MAD_METHOD_SET, SMP_ATTR_SWITCH_INFO, 0, on_switch_set);
	si->lft_top = n->sw->lft_top;
	si->life_time = sm->cfg.life;
	si->mft_top = mft_top;
	/* Write PortStateChange as 0, because writing 1 would clear the bit before a sweep has read the change. */
	si->port_state_change = false;
	smp_switch_info_encode(c.data, si);
	smpq_add(&sm->sweepq, &c, now);
}

/* Store the computed LFT as the LFT that the switch should have. */
static int lft_adopt(struct sm *sm, struct sm_node *n, ns_t now)
{
	const struct sm_db *db = sm->next;

	if (n->lost)
		return 0;
	if (n->sw->si.lft_cap && n->sw->si.lft_cap <= db->top_lid) {
		sm_fault(sm, n->outside, now, "\"%s\" has room for %u LIDs, the subnet needs %u",
			 n->desc, n->sw->si.lft_cap, db->top_lid + 1u);
	}
	return sm_fdb_lft_set(n->sw->fdb, &n->sw->lft);
}

int sm_route_more(struct sm *sm, ns_t now)
{
	uint32_t first = sm->routed_switches;
	struct sm_node *n;
	int err;

	do {
		err = sm_router_run(sm->router, SLICE_STEPS, &n);
		if (!err && n)
			err = lft_adopt(sm, n, now);
		if (!err && n)
			sm->routed_switches++;
	} while (!err && n);
	if (!err || err == -EAGAIN)
		sm_feed_lfts(sm, first, sm->routed_switches - first, now);
	if (err == -EAGAIN)
		return 0;
	sm_router_destroy(sm->router);
	sm->router = NULL;
	return err;
}

/* Record which engine computes the routes. Log when this engine begins or ceases to differ from the configured engine. */
static void engine_note(struct sm *sm)
{
	const char *why = sm_router_why(sm->router), *name = sm_engine_name(sm->cfg.routing);

	sm->routed_by = sm_router_engine(sm->router);
	if (strcmp(why, sm->not_routed) == 0)
		return;
	snprintf(sm->not_routed, sizeof(sm->not_routed), "%s", why);
	if (*why)
		sm_warn(sm, "routing %s does not suit the topology, %s is used: %s", name,
			sm_engine_name(sm->routed_by), why);
	else
		sm_info(sm, "routing %s is used again", name);
}

int sm_route_start(struct sm *sm, ns_t now)
{
	int err;

	if (sm->part.on)
		return sm_part_route(sm, now);
	err = sm_router_create(&sm->router, sm->next, sm->cfg.routing);
	if (err)
		return err;
	engine_note(sm);
	sm->routed_switches = 0;
	return sm_route_more(sm, now);
}
