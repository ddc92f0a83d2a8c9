/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <inttypes.h>

#include "route/route.h"

/*
 * DOC: Sweeps
 *
 * A heavy sweep is a sequence of stages. Each stage queues SMPs, or feeds that make SMPs
 * (sm/feed.c). When the queue is idle, the stage is over and the next one begins. Discovery fills a
 * new database (sm->next), which is published after the last stage.
 *
 * Nodes that do not answer are left out. Another sweep looks for them after one second, and further
 * sweeps after pauses that double each time. But if a trap has come during the sweep, the sweep
 * starts its discovery again: the route to these nodes may be broken while another route exists.
 *
 * A light sweep reads PortStateChange of every switch and the state of the SM's own port. In a
 * quiet subnet there are only light sweeps. If the SM knows which switches have changed ports, and
 * knows of no other change, a partial sweep follows (sm/partial.c).
 */

static const char *const stage_name[] = {
	[SM_STAGE_IDLE] = "idle",	  [SM_STAGE_DISCOVER] = "discover",
	[SM_STAGE_ELECT] = "elect",	  [SM_STAGE_LIDS] = "lids",
	[SM_STAGE_PKEYS] = "pkeys",	  [SM_STAGE_ROUTE] = "route",
	[SM_STAGE_MCAST] = "mcast",	  [SM_STAGE_ARM] = "arm",
	[SM_STAGE_ACTIVATE] = "activate", [SM_STAGE_UP] = "up",
};

const char *sm_stage_name(enum sm_stage st)
{
	return (unsigned int)st < ARRAY_SIZE(stage_name) ? stage_name[st] : "?";
}

static void request(struct sm *sm, ns_t at)
{
	if (timer_armed(&sm->timer) && sm->timer_heavy && sm->timer.deadline <= at)
		return;
	sm->timer_heavy = true;
	timer_arm(sm->timers, &sm->timer, at);
}

void sm_sweep_request(struct sm *sm, ns_t at)
{
	sm->whole = true;
	request(sm, at);
}

static void request_again(struct sm *sm, ns_t at)
{
	if (sm->stage == SM_STAGE_IDLE) {
		request(sm, at);
		return;
	}
	sm->again_at = sm->again ? ns_min(sm->again_at, at) : at;
	sm->again = true;
}

void sm_sweep_again(struct sm *sm, ns_t at)
{
	sm->whole = true;
	request_again(sm, at);
}

void sm_sweep_suspect(struct sm *sm, uint64_t node_guid, ns_t at)
{
	sm_part_suspect(sm, node_guid);
	request_again(sm, at);
}

/*
 * Return the length of the rest that follows a sweep. During the rest, traps start no sweep. So
 * sweeps take only a limited share of the time, even if traps arrive all the time.
 */
static ns_t rest(ns_t took)
{
	return ns_min(SM_REST * took, SM_REST_MAX);
}

static void schedule_light(struct sm *sm, ns_t now)
{
	const struct sm_port *self = sm->db->self;
	ns_t after = sm->cfg.sweep_interval;

	if (self->num && self->pi.port_state < IB_PORT_INIT)
		after = ns_min(after, SM_DOWN_INTERVAL);
	sm->timer_heavy = false;
	timer_arm(sm->timers, &sm->timer, after == NS_NEVER ? NS_NEVER : now + after);
}

static void schedule_retry(struct sm *sm, ns_t now)
{
	sm_sweep_request(sm, now + sm->retry_delay);
	sm->retry_delay *= 2;
	if (sm->retry_delay > ns_min(sm->cfg.sweep_interval, SM_RETRY_MAX))
		sm->retry_delay = ns_min(sm->cfg.sweep_interval, SM_RETRY_MAX);
	if (sm->retry_delay < SM_RETRY_MIN)
		sm->retry_delay = SM_RETRY_MIN;
}

void sm_sweep_abort(struct sm *sm)
{
	smpq_cancel(&sm->sweepq);
	sm_router_destroy(sm->router);
	sm->router = NULL;
	timer_cancel(sm->timers, &sm->slice);
	sm_part_end(sm);
	sm->whole = true;
	if (sm->routed == sm->next)
		sm->routed = sm->db;
	sm_db_destroy(sm->next);
	sm->next = NULL;
	sm->stage = SM_STAGE_IDLE;
	timer_cancel(sm->timers, &sm->timer);
}

static void sweep_fail(struct sm *sm, int err, ns_t now)
{
	sm_err(sm, "sweep %" PRIu64 " failed in stage %s: %s", sm->sweep.number,
	       sm_stage_name(sm->stage),
	       err == -EIO	? "our own node does not answer"
	       : err == -EACCES ? "our own port has another M_Key"
				: "out of memory");
	sm_sweep_abort(sm);
	schedule_retry(sm, now);
}

static void enter(struct sm *sm, enum sm_stage st, ns_t now)
{
	sm->stage = st;
	sm->sweep.stage_started = now;
}

/*
 * Compare the end ports of the old and the new database, and report each difference to the listeners; the SA makes a
 * trap 64 or 65 of it. If a port has disappeared, its memberships end; the port registers again when it is back.
 */
static void tell_ports(struct sm *sm, const struct sm_db *old, ns_t now)
{
	struct sm_port *p;

	for (p = old ? sm_db_end_port(old, NULL) : NULL; p; p = sm_db_end_port(old, p)) {
		ib_gid gid = sm_port_gid(old, p);

		if (sm_db_port_by_guid(sm->db, p->guid))
			continue;
		sm_info(sm, "\"%s\" port %u (LID %u) is gone", p->node->desc, p->num, p->lid);
		sm_group_drop_port(sm, p->guid, now);
		sm_emit_port(sm, &gid, false, now);
	}
	for (p = sm_db_end_port(sm->db, NULL); p; p = sm_db_end_port(sm->db, p)) {
		ib_gid gid = sm_port_gid(sm->db, p);

		if (!old || !sm_db_port_by_guid(old, p->guid))
			sm_emit_port(sm, &gid, true, now);
	}
}

/*
 * End memberships before the new database is published: the SA reports trap 67 only to ports that
 * have the group's P_Key in the published database, and ports that lose this P_Key need the Report.
 */
static void revise_memberships(struct sm *sm, ns_t now)
{
	if (!sm->parts_new && !sm->sweep.pkey_blocks)
		return;
	sm_partition_revise(sm, sm->next, now);
	sm->parts_new = sm->again || sm->incomplete;
}

static void publish(struct sm *sm, ns_t now)
{
	struct sm_db *old = sm->db == sm->next ? NULL : sm->db;
	bool recheck, partial = sm->part.on;
	const struct sm_sweep *sw = &sm->sweep;

	revise_memberships(sm, now);
	if (partial)
		sm_part_publish(sm, now);
	sm->db = sm->routed = sm->next;
	sm->next = NULL;
	sm->part.on = false;
	sm->db->generation = ++sm->generation;
	sm->stage = SM_STAGE_IDLE;
	sm->sweep.ended = now;
	sm->last = sm->sweep;
	/*
	 * If this SM became master in this sweep, the discovery did not clear PortStateChange, so another
	 * sweep has to read the ports that may have changed.
	 */
	recheck = sm->incomplete || sm->better_to_come || sm_db_changes_unread(sm->db);
	sm_info(sm,
		"SUBNET UP: %s %" PRIu64 ", %u nodes (%u switches), %u links, %u SMPs, %" PRIu64
		" us",
		partial ? "partial sweep" : "sweep", sw->number, sw->nodes, sw->switches, sw->links,
		sw->smps, (sw->ended - sw->started) / 1000);

	sm->rest_until = now + rest(sw->ended - sw->started);
	if (sm->again)
		request(sm, ns_max(now + SM_KICK_DELAY, sm->again_at));
	else if (recheck)
		schedule_retry(sm, now);
	else
		schedule_light(sm, now);
	if (!recheck)
		sm->retry_delay = SM_RETRY_MIN;
	sm_emit_stage(sm, now);
	if (partial)
		return;
	tell_ports(sm, old, now);
	sm_lid_tell(sm, old, now);
	/* Limit the LIDs kept for absent ports: invented GUIDs could use up memory and LIDs. */
	sm_lid_book_purge(&sm->lids, sm->db, sm->cfg.outside_nodes);
	sm_learn_reset(sm, now);
	sm_audit_published(sm, now);
	sm_db_destroy(old);
}

/*
 * If no SMP is in flight, no answer will continue the computation of routes. Continue the computation by a timer,
 * so that other events are handled between two slices.
 */
static void slice_next(struct sm *sm, ns_t now)
{
	if (sm->router && smpq_idle(&sm->sweepq))
		timer_arm(sm->timers, &sm->slice, now + 1);
}

static void route_more(struct sm *sm, ns_t now)
{
	int err = sm_route_more(sm, now);

	if (err) {
		sweep_fail(sm, err, now);
		return;
	}
	slice_next(sm, now);
	sm_sweep_advance(sm, now);
}

static void slice_timer(struct timer *t, ns_t now)
{
	route_more(container_of(t, struct sm, slice), now);
}

static int stage_start(struct sm *sm, ns_t now)
{
	int err = 0;

	switch (sm->stage) {
	case SM_STAGE_ELECT:
		sm_elect_start(sm, now);
		return 0;
	case SM_STAGE_LIDS:
		err = sm->part.on ? 0 : sm_lid_assign(sm);
		if (err)
			return err;
		if (!sm->part.on)
			sm_pkeys_read(sm, now);
		sm_ports_start(sm, now);
		return 0;
	case SM_STAGE_PKEYS:
		if (!sm->part.on)
			sm_pkeys_start(sm, now);
		sm_qos_start(sm, now);
		return 0;
	case SM_STAGE_ROUTE:
		err = sm_route_start(sm, now);
		slice_next(sm, now);
		return err;
	case SM_STAGE_MCAST:
		/* From here on, joins use the topology of the new LFTs. */
		sm->routed = sm->next;
		if (!sm->part.on)
			sm_partition_groups(sm, now);
		sm_mcast_start(sm, now);
		return 0;
	case SM_STAGE_ARM:
		sm_arm_start(sm, now);
		return 0;
	case SM_STAGE_ACTIVATE:
		sm_activate_start(sm, now);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Complete a stage that has all its answers. Return: false if the sweep ends with this stage */
static bool stage_finish(struct sm *sm, ns_t now)
{
	int err = sm->sweepq.failed ? -ENOMEM : 0;

	if (!err && sm->stage == SM_STAGE_DISCOVER && sm->part.on)
		sm_part_discovered(sm);
	else if (!err && sm->stage == SM_STAGE_DISCOVER)
		err = sm_discover_finish(sm);
	if (err) {
		sweep_fail(sm, err, now);
		return false;
	}
	sm->sweep.stage = sm->stage;
	sm->sweep.smps = (uint32_t)sm->sweepq.sent;
	sm->sweep.timeouts = (uint32_t)sm->sweepq.timeouts;
	sm_emit_stage(sm, now);
	return sm->stage != SM_STAGE_ELECT || sm_elect_finish(sm, now);
}

static bool stage_done(const struct sm *sm)
{
	return sm->stage != SM_STAGE_IDLE && !sm->router && smpq_idle(&sm->sweepq) &&
	       (sm->stage != SM_STAGE_MCAST || sm_mcast_idle(sm));
}

static bool must_rediscover(const struct sm *sm)
{
	return sm->stage == SM_STAGE_DISCOVER && sm->incomplete && sm->again &&
	       !sm->sweepq.failed && sm->rediscoveries < SM_REDISCOVERIES;
}

static void discover(struct sm *sm, ns_t now)
{
	int err;

	sm->incomplete = sm->again = sm->sweepq.failed = sm->whole = false;
	sm_part_end(sm);
	sm->part.nsuspects = 0;
	sm->heavy_sweeps++;
	sm->sweep.partial = false;
	sm_db_destroy(sm->next);
	enter(sm, SM_STAGE_DISCOVER, now);
	err = sm_discover_start(sm, now);
	if (err)
		sweep_fail(sm, err, now);
	else
		sm_sweep_advance(sm, now);
}

/*
 * Return the stage after the present one. A partial sweep has no stage ELECT, because it reads no
 * end ports and so finds no other SMs.
 *
 * Packets to a link that is not Active are lost. So links whose two switches already forward data
 * become Active in a first round, before the stage ROUTE. A heavy sweep makes the other links
 * Active in a second round, when their switches have the new tables.
 */
static enum sm_stage next_stage(const struct sm *sm)
{
	switch (sm->stage) {
	case SM_STAGE_DISCOVER:
		return sm->part.on ? SM_STAGE_LIDS : SM_STAGE_ELECT;
	case SM_STAGE_PKEYS:
		return sm->db ? SM_STAGE_ARM : SM_STAGE_ROUTE;
	case SM_STAGE_ACTIVATE:
		return sm->part.on || sm->routed != sm->next ? SM_STAGE_ROUTE : SM_STAGE_UP;
	case SM_STAGE_MCAST:
		return sm->part.on ? SM_STAGE_UP : SM_STAGE_ARM;
	default:
		return sm->stage + 1;
	}
}

static void discover_links(struct sm *sm, ns_t now)
{
	sm->again = sm->sweepq.failed = false;
	sm->partial_sweeps++;
	sm_part_start(sm);
	enter(sm, SM_STAGE_DISCOVER, now);
	sm_sweep_advance(sm, now);
}

void sm_sweep_advance(struct sm *sm, ns_t now)
{
	if (sm->advancing)
		return;
	sm->advancing = true;
	while (stage_done(sm)) {
		int err;

		if (sm_part_gave_up(sm)) {
			/*
			 * The partial sweep may have given its number to the published database, and members and
			 * trees store indices of switches together with this number. The next database has other
			 * indices and therefore needs another number.
			 */
			sm->sweep.number = ++sm->sweeps;
			discover(sm, now);
			continue;
		}
		if (must_rediscover(sm)) {
			sm->rediscoveries++;
			sm->heavy_sweeps--;
			discover(sm, now);
			continue;
		}
		if (sm->part.on && sm->stage == SM_STAGE_DISCOVER && sm_part_more(sm, now))
			continue;
		if (!stage_finish(sm, now))
			break;
		enter(sm, next_stage(sm), now);
		if (sm->stage == SM_STAGE_UP) {
			sm->sweep.stage = SM_STAGE_UP;
			publish(sm, now);
			break;
		}
		err = stage_start(sm, now);
		if (err) {
			sweep_fail(sm, err, now);
			break;
		}
	}
	sm->advancing = false;
}

static void sweep_start(struct sm *sm, ns_t now)
{
	if (sm->stage != SM_STAGE_IDLE ||
	    (sm->state != SMP_SM_MASTER && sm->state != SMP_SM_DISCOVERING))
		return;
	sm_audit_pause(sm);
	sm->sweep = (struct sm_sweep){ .number = ++sm->sweeps, .started = now };
	sm->rediscoveries = 0;
	sm->smps_total += sm->sweepq.sent;
	sm->timeouts_total += sm->sweepq.timeouts;
	sm->sweepq.sent = sm->sweepq.timeouts = 0;
	if (sm_part_possible(sm))
		discover_links(sm, now);
	else
		discover(sm, now);
}

void sm_light_over(struct sm *sm, ns_t now)
{
	if (sm->light_changed)
		sm_sweep_request(sm, now);
	else if (sm->part.nsuspects)
		request(sm, now);
	else if (!timer_armed(&sm->timer))
		schedule_light(sm, now);
}

static void sweep_timer(struct timer *t, ns_t now)
{
	struct sm *sm = container_of(t, struct sm, timer);

	if (sm->timer_heavy)
		sweep_start(sm, now);
	else
		sm_light_start(sm, now);
}

static void on_sweepq_idle(void *ctx, ns_t now)
{
	struct sm *sm = ctx;

	if (sm->router)
		route_more(sm, now);
	else
		sm_sweep_advance(sm, now);
}

struct smpq_cfg sm_smpq_cfg(struct sm *sm, void (*idle)(void *ctx, ns_t now))
{
	return (struct smpq_cfg){
		.agent = sm->agent,
		.timers = sm->timers,
		.mkey = sm->cfg.mkey,
		.max_open = sm->cfg.max_smps,
		.timeout_ms = sm->cfg.timeout_ms,
		.retries = sm->cfg.retries,
		.ctx = sm,
		.idle = idle,
	};
}

void sm_sweep_init(struct sm *sm)
{
	struct smpq_cfg c = sm_smpq_cfg(sm, on_sweepq_idle);

	c.useless = sm_outside_useless;
	smpq_init(&sm->sweepq, &c);
	c.useless = NULL;
	c.idle = NULL;
	smpq_init(&sm->bgq, &c);
	timer_init(&sm->timer, sweep_timer);
	timer_init(&sm->slice, slice_timer);
	sm->retry_delay = SM_RETRY_MIN;
}

void sm_sweep_fini(struct sm *sm)
{
	sm_sweep_abort(sm);
	smpq_cancel(&sm->bgq);
	sm->light_open = 0;
}
