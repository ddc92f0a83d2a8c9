/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "route/route.h"
#include "sm/priv.h"

#define SUBNET_TIMEOUT_UNIT 4096ull /* duration of SubnetTimeOut 0 in ns */
#define TRAP_INTERVAL_MIN NS_MSEC(100)
#define TRAP_INTERVAL_MAX NS_SEC(2)

struct sm_cfg sm_cfg_default(void)
{
	return (struct sm_cfg){
		.subnet_timeout = 18,
		.life = 18,
		.max_mtu_code = IB_MTU_4096,
		/*
		 * OpenSM uses code 5, too; when OpenSM becomes master, it takes down links that
		 * have another code
		 */
		.oper_vls = 5,
		.prefix = IB_SUBNET_PREFIX_DEFAULT,
		.sm_key = SM_KEY_DEFAULT,
		.max_smps = 32,
		.timeout_ms = 100,
		.retries = 3,
		.sweep_interval = NS_SEC(10),
		.poll_interval = NS_SEC(1),
		.poll_misses = 3,
		.audit_rate = 2000,
		.max_mlids = 1024,
		.outside_nodes = 2048,
		.partial_sweeps = true,
	};
}

static bool cfg_valid(const struct sm_cfg *c)
{
	return c->priority <= 15 && c->lmc <= 7 && c->sm_sl <= 15 && c->subnet_timeout <= 31 &&
	       c->life <= 31 && ib_mtu_octets(c->max_mtu_code) && c->oper_vls >= 1 &&
	       c->oper_vls <= 5 && c->mkey_protect <= 3 && c->max_smps && c->timeout_ms &&
	       c->sweep_interval && c->poll_interval && c->poll_misses && c->max_mlids &&
	       c->outside_nodes && c->max_mlids <= IB_LID_MCAST_MAX - IB_LID_MCAST_MIN + 1 &&
	       c->prefix && (!c->nlids || c->lids);
}

static void trap_repress(struct sm *sm, const struct mad_addr *from, const void *mad, ns_t now)
{
	uint8_t reply[MAD_LEN];

	memcpy(reply, mad, sizeof(reply));
	reply[3] = MAD_METHOD_TRAP_REPRESS;
	mad_reply(sm->agent, from, reply, sizeof(reply), now);
}

static void trap_log(struct sm *sm, const struct mad_notice *n)
{
	const struct sm_port *p = sm->db ? sm_db_port_by_lid(sm->db, n->issuer_lid) : NULL;

	sm_info(sm, "trap %u of LID %u (\"%s\")", n->trap, n->issuer_lid,
		p ? p->node->desc : "unknown");
}

/* Return the interval at which SMAs may repeat a trap (13.4.9): SubnetTimeOut, within TRAP_INTERVAL_MIN and _MAX. */
static ns_t trap_interval(const struct sm *sm)
{
	ns_t ns = SUBNET_TIMEOUT_UNIT << sm->cfg.subnet_timeout;

	return ns_max(TRAP_INTERVAL_MIN, ns_min(ns, TRAP_INTERVAL_MAX));
}

/*
 * Request the sweep that a trap requires. Trap 128 names a switch that has a changed port. After
 * any other trap, the whole subnet may have changed.
 */
static void kick_by_trap(struct sm *sm, struct sm_source *src, uint16_t trap, uint16_t lid,
			 ns_t now)
{
	ns_t at = pace_promise(&src->sweeps, SM_SWEEPS_BURST, trap_interval(sm), now);
	const struct sm_port *p = sm->db ? sm_db_port_by_lid(sm->db, lid) : NULL;

	sm_dbg(sm, "another sweep: trap");
	at = ns_max(ns_max(at, sm->rest_until), now + SM_KICK_DELAY);
	if (trap == MAD_TRAP_LINK_STATE && p && p->node->sw)
		sm_sweep_suspect(sm, p->node->info.node_guid, at);
	else
		sm_sweep_again(sm, at);
}

static void on_trap(struct sm *sm, const struct mad_addr *from, const void *mad, ns_t now)
{
	struct sm_listener *l, *tmp;
	struct sm_source *src;
	struct mad_notice n;

	if (sm->state != SMP_SM_MASTER ||
	    mad_notice_decode(&n, (const uint8_t *)mad + SMP_DATA_OFF, MAD_NOTICE_LEN))
		return;
	sm->traps++;
	trap_repress(sm, from, mad, now);
	if (!n.generic)
		return;
	src = sm_source_of(sm, from->lid);
	if (n.trap == MAD_TRAP_LINK_STATE || n.trap == MAD_TRAP_CAP_CHANGE ||
	    n.trap == MAD_TRAP_SYSGUID_CHANGE)
		kick_by_trap(sm, src, n.trap, from->lid, now);
	if (!pace_take(&src->reports, SM_REPORTS_BURST, trap_interval(sm) / 8, now)) {
		sm->traps_many++;
		return;
	}
	trap_log(sm, &n);
	if (n.trap == MAD_TRAP_BAD_MKEY)
		sm_mkey_renew(sm, from->lid, now);
	list_for_each_safe (l, tmp, &sm->listeners, link) {
		if (l->ops->notice)
			l->ops->notice(l->ctx, &n, now);
	}
}

static void on_smp(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	uint8_t reply[MAD_LEN];
	struct sm *sm = ctx;

	if (len != MAD_LEN)
		return;
	if (mad_method(mad) == MAD_METHOD_TRAP) {
		if (mad_attr(mad) == SMP_ATTR_NOTICE)
			on_trap(sm, from, mad, now);
		return;
	}
	if (mad_attr(mad) != SMP_ATTR_SM_INFO)
		return;
	memcpy(reply, mad, sizeof(reply));
	if (sm_elect_recv(sm, reply, now))
		mad_reply(sm->agent, from, reply, sizeof(reply), now);
}

static int agent_register(struct sm *sm)
{
	struct mad_agent_cfg c = {
		.qp = 0,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.recv = on_smp,
		.ctx = sm,
	};

	mad_agent_cfg_method(&c, MAD_METHOD_GET);
	mad_agent_cfg_method(&c, MAD_METHOD_SET);
	mad_agent_cfg_method(&c, MAD_METHOD_TRAP);
	return mad_agent_add(sm->ep, &c, &sm->agent);
}

static int sm_init(struct sm *sm)
{
	int err = agent_register(sm);

	if (err)
		return err;
	sm_sweep_init(sm);
	sm_learn_init(sm);
	sm_audit_init(sm);
	sm_elect_init(sm);
	err = sm_groups_init(sm);
	if (err)
		return err;
	err = sm_lid_seed(sm, sm->cfg.lids, sm->cfg.nlids);
	if (err)
		return err;
	sm->cfg.lids = NULL; /* the caller's array is valid during sm_create() only */
	sm->cfg.nlids = 0;
	sm->parts = sm_partitions_default();
	return sm->parts ? 0 : -ENOMEM;
}

int sm_create(struct sm **ret, struct mad_ep *ep, const struct sm_cfg *cfg, struct timers *timers,
	      const struct log_sink *log)
{
	struct sm *sm;
	int err;

	if (!cfg_valid(cfg))
		return -EINVAL;
	sm = calloc(1, sizeof(*sm));
	if (!sm)
		return -ENOMEM;
	sm->ep = ep;
	sm->timers = timers;
	sm->log = log;
	sm->cfg = *cfg;
	sm->state = SMP_SM_NOT_ACTIVE;
	list_init(&sm->listeners);
	list_init(&sm->group_list);
	list_init(&sm->mft_jobs);
	list_init(&sm->mft_waits);
	list_init(&sm->learn_walks);
	list_init(&sm->learn_waits);
	/* sm_destroy() cancels all queues, even if sm_init() fails before it configures them */
	smpq_init(&sm->sweepq, &(struct smpq_cfg){ .timers = timers });
	smpq_init(&sm->bgq, &(struct smpq_cfg){ .timers = timers });
	smpq_init(&sm->learnq, &(struct smpq_cfg){ .timers = timers });
	smpq_init(&sm->auditq, &(struct smpq_cfg){ .timers = timers });

	err = sm_init(sm);
	if (err) {
		sm_destroy(sm);
		return err;
	}
	*ret = sm;
	return 0;
}

void sm_destroy(struct sm *sm)
{
	struct sm_listener *l, *tmp;

	if (!sm)
		return;
	list_for_each_safe (l, tmp, &sm->listeners, link)
		list_del(&l->link);
	sm_sweep_fini(sm);
	sm_audit_fini(sm);
	sm_learn_fini(sm);
	sm_elect_fini(sm);
	sm_mcast_cancel(sm, -ECANCELED, 0);
	sm_groups_fini(sm);
	sm_lid_book_fini(&sm->lids);
	sm_outside_fini(sm);
	sm_partitions_free(sm->parts);
	sm_db_destroy(sm->db);
	mad_agent_del(sm->agent);
	free(sm);
}

void sm_start(struct sm *sm, ns_t now)
{
	if (sm->state != SMP_SM_NOT_ACTIVE)
		return;
	sm_set_state(sm, SMP_SM_DISCOVERING, now);
	sm_sweep_request(sm, now);
}

void sm_kick(struct sm *sm, const char *reason, ns_t now)
{
	if (sm->state != SMP_SM_MASTER && sm->state != SMP_SM_DISCOVERING)
		return;
	sm_dbg(sm, "another sweep: %s", reason);
	sm_sweep_again(sm, now + SM_KICK_DELAY);
}

const struct sm_partitions *sm_partitions(const struct sm *sm)
{
	return sm->parts;
}

void sm_listen(struct sm *sm, struct sm_listener *l)
{
	list_add_tail(&sm->listeners, &l->link);
}

void sm_unlisten(struct sm_listener *l)
{
	list_del(&l->link);
}

void sm_emit_state(struct sm *sm, ns_t now)
{
	struct sm_listener *l, *tmp;

	list_for_each_safe (l, tmp, &sm->listeners, link) {
		if (l->ops->state)
			l->ops->state(l->ctx, sm->state, now);
	}
}

void sm_emit_stage(struct sm *sm, ns_t now)
{
	struct sm_listener *l, *tmp;

	list_for_each_safe (l, tmp, &sm->listeners, link) {
		if (l->ops->stage)
			l->ops->stage(l->ctx, &sm->sweep, now);
	}
}

void sm_emit_port(struct sm *sm, const ib_gid *gid, bool in_service, ns_t now)
{
	struct sm_listener *l, *tmp;

	list_for_each_safe (l, tmp, &sm->listeners, link) {
		if (l->ops->port)
			l->ops->port(l->ctx, gid, in_service, now);
	}
}

void sm_emit_group(struct sm *sm, const struct sm_group *g, bool created, ns_t now)
{
	struct sm_listener *l, *tmp;

	list_for_each_safe (l, tmp, &sm->listeners, link) {
		if (l->ops->group)
			l->ops->group(l->ctx, g, created, now);
	}
}

const struct sm_db *sm_db(const struct sm *sm)
{
	return sm->db;
}

static uint64_t smps_sent(const struct sm *sm)
{
	return sm->smps_total + sm->sweepq.sent + sm->bgq.sent + sm->learnq.sent + sm->auditq.sent;
}

/*
 * Return ActCount of SMInfo, by which other SMs see that this SM works (14.4.1). ActCount counts the SMPs that this
 * SM has sent, and its changes of state.
 */
uint32_t sm_act_count(const struct sm *sm)
{
	return sm->act_count + (uint32_t)smps_sent(sm);
}

void sm_status(const struct sm *sm, struct sm_status *ret)
{
	*ret = (struct sm_status){
		.self = {
			.guid = sm->guid,
			.act_count = sm_act_count(sm),
			.priority = sm->cfg.priority,
			.state = (uint8_t)sm->state,
		},
		.stage = sm->stage,
		.master_guid = sm->master_guid,
		.generation = sm->generation,
		.routing = sm_engine_name(sm->routed_by ? sm->routed_by : sm->cfg.routing),
		.last = sm->last,
		.heavy_sweeps = sm->heavy_sweeps,
		.partial_sweeps = sm->partial_sweeps,
		.light_sweeps = sm->light_sweeps,
		.traps = sm->traps,
		.traps_many = sm->traps_many,
		.smps = smps_sent(sm),
		.timeouts = sm->timeouts_total + sm->sweepq.timeouts + sm->bgq.timeouts +
			    sm->learnq.timeouts + sm->auditq.timeouts,
		.repairs = sm->repairs,
		.others = sm->others,
		.nothers = sm->nothers,
	};
}

struct mad_ep *sm_ep(const struct sm *sm)
{
	return sm->ep;
}

struct timers *sm_timers(const struct sm *sm)
{
	return sm->timers;
}

const struct log_sink *sm_log(const struct sm *sm)
{
	return sm->log;
}

const struct sm_cfg *sm_config(const struct sm *sm)
{
	return &sm->cfg;
}
