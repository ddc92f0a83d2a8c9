/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "mad/smi.h"

/*
 * DOC: Election of the master
 *
 * IBTA 14.4. Every discovery asks every other end port with the capability IsSM for its SMInfo.
 *
 *	DISCOVERING  another master, or a better SM, was found  -> STANDBY
 *	             none was found                             -> MASTER
 *	STANDBY      poll_misses polls in a row were not answered by a
 *	             master, or Set(SMInfo) DISCOVER came       -> DISCOVERING
 *	             HANDOVER came                              -> DISCOVERING, then MASTER
 *	             DISABLE came                               -> NOT_ACTIVE
 *	MASTER       a better SM was found, and either answered HANDOVER or sent
 *	             ACKNOWLEDGE (IBTA requires it; OpenSM never sends it) -> STANDBY
 *	NOT_ACTIVE   Set(SMInfo) STANDBY came                   -> STANDBY
 *
 * The better SM has the higher priority, or the same priority and the lower GUID. A master sends HANDOVER when
 * its own sweep finds a better SM whose state is STANDBY or MASTER.
 */

static const char *const state_name[] = {
	[SMP_SM_NOT_ACTIVE] = "not active",
	[SMP_SM_DISCOVERING] = "discovering",
	[SMP_SM_STANDBY] = "standby",
	[SMP_SM_MASTER] = "master",
};

const char *sm_state_name(enum smp_sm_state st)
{
	return (unsigned int)st < ARRAY_SIZE(state_name) ? state_name[st] : "?";
}

static struct smp_sm_info self_info(const struct sm *sm)
{
	return (struct smp_sm_info){
		.guid = sm->guid,
		.sm_key = 0, /* the caller sets the key if may_know_key() allows it */
		.act_count = sm_act_count(sm),
		.priority = sm->cfg.priority,
		.state = (uint8_t)sm->state,
	};
}

static bool better(const struct smp_sm_info *a, const struct smp_sm_info *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->guid < b->guid;
}

static void db_drop(struct sm *sm, ns_t now)
{
	struct sm_db *old = sm->db;

	sm->db = sm->routed = NULL;
	sm_learn_reset(sm, now);
	sm_audit_pause(sm);
	sm_db_destroy(old);
}

void sm_set_state(struct sm *sm, enum smp_sm_state st, ns_t now)
{
	enum smp_sm_state old = sm->state;

	if (st == old)
		return;
	sm_info(sm, "%s -> %s", sm_state_name(old), sm_state_name(st));
	sm->state = st;
	sm->act_count++;
	timer_cancel(sm->timers, &sm->poll);
	if (st == SMP_SM_MASTER) {
		sm->take_over = false;
		sm->master_guid = sm->guid;
		sm->handover_guid = 0;
		sm->handover_tries = 0;
	}
	if (old == SMP_SM_MASTER) {
		sm_sweep_abort(sm);
		sm_mcast_cancel(sm, -ECANCELED, now);
		sm_groups_clear(sm, now);
		smpq_cancel(&sm->bgq);
		sm->light_open = 0;
		db_drop(sm, now);
		/*
		 * The new master may assign other LIDs. If this SM becomes master again, it keeps the LIDs that
		 * it then finds on the ports.
		 */
		sm_lid_book_forget(&sm->lids);
	}
	if (st == SMP_SM_STANDBY) {
		sm_sweep_abort(sm);
		sm->poll_missed = 0;
		timer_arm(sm->timers, &sm->poll, now + sm->cfg.poll_interval);
	}
	if (st == SMP_SM_NOT_ACTIVE)
		sm_sweep_abort(sm);
	sm_emit_state(sm, now);
}

static void rediscover(struct sm *sm, const char *why, ns_t now)
{
	sm_info(sm, "discovering: %s", why);
	if (sm->stage != SM_STAGE_IDLE) {
		sm_sweep_again(sm, now);
		return;
	}
	sm_set_state(sm, SMP_SM_DISCOVERING, now);
	sm_sweep_request(sm, now);
}

static struct smp_cmd master_cmd(const struct sm *sm, uint8_t method, uint32_t mod,
				 smp_done_fn *done)
{
	struct smp_cmd c = {
		.method = method,
		.attr = SMP_ATTR_SM_INFO,
		.mod = mod,
		.nhops = sm->master_nhops,
		.done = done,
	};
	struct smp_sm_info info = self_info(sm);

	memcpy(c.path, sm->master_path, sizeof(c.path));
	info.sm_key = sm->cfg.sm_key;
	if (method == MAD_METHOD_SET)
		smp_sm_info_encode(c.data, &info);
	return c;
}

static void on_poll(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data, ns_t now)
{
	struct sm *sm = ctx;
	struct smp_sm_info info;

	if (sm->state != SMP_SM_STANDBY)
		return;
	if (status == 0 && smp_sm_info_decode(&info, data, SMP_DATA_LEN) == 0 &&
	    info.guid == sm->master_guid && info.state == SMP_SM_MASTER)
		sm->poll_missed = 0;
	else if (++sm->poll_missed >= sm->cfg.poll_misses) {
		rediscover(sm, "the master does not answer as one", now);
		return;
	}
	timer_arm(sm->timers, &sm->poll, now + sm->cfg.poll_interval);
}

static void poll_timer(struct timer *t, ns_t now)
{
	struct sm *sm = container_of(t, struct sm, poll);
	struct smp_cmd c = master_cmd(sm, MAD_METHOD_GET, 0, on_poll);

	if (!smpq_add(&sm->bgq, &c, now))
		timer_arm(sm->timers, &sm->poll, now + sm->cfg.poll_interval);
}

static struct sm_other *other_add(struct sm *sm)
{
	if (sm->nothers == sm->others_cap) {
		uint32_t cap = sm->others_cap ? 2 * sm->others_cap : 4;
		struct sm_other *v = realloc(sm->others, cap * sizeof(*v));

		if (!v)
			return NULL;
		sm->others = v;
		sm->others_cap = cap;
	}
	return &sm->others[sm->nothers++];
}

static void on_sm_info(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		       ns_t now)
{
	struct sm *sm = ctx;
	struct smp_sm_info info;
	struct sm_other *o;

	/* Ignore an SM that does not answer. It has probably ended since this sweep read IsSM from its PortInfo. */
	if (status || smp_sm_info_decode(&info, data, SMP_DATA_LEN))
		return;
	o = other_add(sm);
	if (!o)
		return;
	info.guid = cmd->port->guid;
	*o = (struct sm_other){ .port_guid = cmd->port->guid, .info = info };
}

void sm_elect_start(struct sm *sm, ns_t now)
{
	struct sm_db *db = sm->next;

	sm->nothers = 0;
	for (struct sm_port *p = sm_db_end_port(db, NULL); p; p = sm_db_end_port(db, p)) {
		struct smp_cmd c;

		if (p == db->self || !(p->pi.cap_mask & SMP_CAP_IS_SM) ||
		    (p->pi.cap_mask & SMP_CAP_IS_SM_DISABLED))
			continue;
		c = sm_cmd_port(p, MAD_METHOD_GET, SMP_ATTR_SM_INFO, 0, on_sm_info);
		smpq_add(&sm->sweepq, &c, now);
	}
}

/*
 * Store the SM that is to be polled. Copy the directed route to it from the database of this sweep, because the
 * database may be freed before the polls.
 */
static void remember_master(struct sm *sm, const struct sm_other *o)
{
	struct sm_port *p = sm_db_port_by_guid(sm->next, o->port_guid);
	struct smp_cmd c;

	sm->master_guid = o->port_guid;
	if (!p)
		return;
	c = sm_cmd_port(p, MAD_METHOD_GET, SMP_ATTR_SM_INFO, 0, NULL);
	sm->master_nhops = c.nhops;
	memcpy(sm->master_path, c.path, sizeof(sm->master_path));
}

/* Return the best SM that is in one of @states (bit mask of states); NULL: none */
static const struct sm_other *best_of(const struct sm *sm, unsigned int states)
{
	const struct sm_other *best = NULL;

	for (uint32_t i = 0; i < sm->nothers; i++) {
		const struct sm_other *o = &sm->others[i];

		if (o->info.state <= SMP_SM_MASTER && (states >> o->info.state & 1) &&
		    (!best || better(&o->info, &best->info)))
			best = o;
	}
	return best;
}

/*
 * Treat the SM that accepted HANDOVER as the master, and poll it from now on. If that SM does not become master,
 * the polls fail, and this SM discovers again.
 */
static void handed_over(struct sm *sm, ns_t now)
{
	uint64_t to = sm->handover_guid;

	sm->handover_guid = 0;
	sm->handover_tries = 0;
	sm_set_state(sm, SMP_SM_STANDBY, now);
	sm->master_guid = to;
}

static void on_handover(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			ns_t now)
{
	struct sm *sm = ctx;

	if (sm->state != SMP_SM_MASTER || !sm->handover_guid)
		return; /* ACKNOWLEDGE has arrived before this response, or this SM is not the master any more */
	if (status)
		sm_warn(sm, "SM 0x%016" PRIx64 " does not take HANDOVER", sm->handover_guid);
	else
		handed_over(sm, now);
}

static void handover(struct sm *sm, const struct sm_other *o, ns_t now)
{
	struct smp_cmd c;

	if (sm->handover_guid != o->port_guid)
		sm->handover_tries = 0;
	if (sm->handover_tries++ >= SM_HANDOVER_TRIES)
		return;
	sm_info(sm, "handing over to SM 0x%016" PRIx64 " of priority %u", o->port_guid,
		o->info.priority);
	remember_master(sm, o);
	sm->handover_guid = o->port_guid;
	c = master_cmd(sm, MAD_METHOD_SET, SMP_SMINFO_HANDOVER, on_handover);
	sm->master_guid = sm->guid; /* this SM remains the master until the other SM accepts */
	smpq_add(&sm->bgq, &c, now);
}

static bool elect_discovering(struct sm *sm, ns_t now)
{
	struct smp_sm_info self = self_info(sm);
	const struct sm_other *o = best_of(sm, 1u << SMP_SM_MASTER);

	if (!o || sm->take_over) {
		o = best_of(sm, 1u << SMP_SM_STANDBY | 1u << SMP_SM_DISCOVERING);
		if (!o || sm->take_over || !better(&o->info, &self)) {
			sm_set_state(sm, SMP_SM_MASTER, now);
			return true;
		}
	}
	remember_master(sm, o);
	sm_set_state(sm, SMP_SM_STANDBY, now);
	return false;
}

bool sm_elect_finish(struct sm *sm, ns_t now)
{
	struct smp_sm_info self = self_info(sm);
	const struct sm_other *o;

	sm->sweep.sms = sm->nothers + 1;
	sm->better_to_come = false;
	if (sm->state == SMP_SM_DISCOVERING)
		return elect_discovering(sm, now);

	o = best_of(sm, 1u << SMP_SM_MASTER | 1u << SMP_SM_STANDBY);
	if (o && better(&o->info, &self)) {
		handover(sm, o, now);
		return true;
	}
	/*
	 * A better SM that is still DISCOVERING accepts no HANDOVER. No trap reports when this better SM becomes
	 * STANDBY, so another sweep will read its SMInfo again.
	 */
	o = best_of(sm, 1u << SMP_SM_DISCOVERING);
	sm->better_to_come = o && better(&o->info, &self);
	return true;
}

/* Keep the reversed path of a directed-route request, as the route to the SM that sent it. */
static void learn_path(struct sm *sm, const uint8_t *mad)
{
	uint8_t n = mad[SMP_OFF_HOP_CNT];

	if (mad_class(mad) != MAD_CLASS_SM_DR || n > IB_MAX_HOPS)
		return;
	sm->master_nhops = n;
	for (unsigned int i = 1; i <= n; i++)
		sm->master_path[i] = mad[SMP_OFF_RETURN_PATH + n + 1 - i];
}

static void on_ack_sent(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			ns_t now)
{
	struct sm *sm = ctx;

	if (status)
		sm_warn(sm, "the old master does not take the acknowledgement of its HANDOVER");
}

/*
 * Obey a HANDOVER: a standby or discovering SM becomes master in the sweep that follows; a master
 * remains master.
 */
static void take_over(struct sm *sm, const uint8_t *mad, ns_t now)
{
	struct smp_cmd ack;

	learn_path(sm, mad);
	if (sm->state == SMP_SM_MASTER) {
		sm_kick(sm, "another master handed over", now);
	} else {
		sm->take_over = true;
		rediscover(sm, "the master hands over", now);
	}
	ack = master_cmd(sm, MAD_METHOD_SET, SMP_SMINFO_ACK, on_ack_sent);
	smpq_add(&sm->bgq, &ack, now);
}

/* Carry out Set(SMInfo). Return: false if this state does not accept the command (IBTA 14.4.1) */
static bool control(struct sm *sm, uint32_t mod, const struct smp_sm_info *from, const uint8_t *mad,
		    ns_t now)
{
	switch (mod) {
	case SMP_SMINFO_HANDOVER:
		if (sm->state == SMP_SM_NOT_ACTIVE)
			return false;
		take_over(sm, mad, now);
		return true;
	case SMP_SMINFO_ACK:
		if (sm->state == SMP_SM_STANDBY && from->guid == sm->master_guid)
			return true; /* the response to HANDOVER, or an earlier ACKNOWLEDGE, has made this SM STANDBY */
		if (sm->state != SMP_SM_MASTER || from->guid != sm->handover_guid)
			return false;
		learn_path(sm, mad);
		handed_over(sm, now);
		return true;
	case SMP_SMINFO_DISABLE:
		if (sm->state != SMP_SM_STANDBY)
			return false;
		sm_set_state(sm, SMP_SM_NOT_ACTIVE, now);
		return true;
	case SMP_SMINFO_STANDBY:
		if (sm->state != SMP_SM_NOT_ACTIVE)
			return false;
		sm->master_guid = from->guid;
		learn_path(sm, mad);
		sm_set_state(sm, SMP_SM_STANDBY, now);
		return true;
	case SMP_SMINFO_DISCOVER:
		if (sm->state != SMP_SM_STANDBY)
			return false;
		rediscover(sm, "the master asks for it", now);
		return true;
	default:
		return false;
	}
}

/*
 * Tell whether the answer to a request may contain the SM_Key. It may if the request carries this
 * SM's M_Key, or if this SM has no M_Key. In both cases the sender could change the ports anyway.
 * OpenSM, too, discloses its SM_Key to such senders, and ignores SMs that do not (14.4.6). So
 * everyone who knows the M_Key can learn the SM_Key.
 */
static bool may_know_key(const struct sm *sm, const uint8_t *mad)
{
	return !sm->cfg.mkey || be64_at(mad + SMP_OFF_MKEY) == sm->cfg.mkey;
}

bool sm_elect_recv(struct sm *sm, uint8_t *mad, ns_t now)
{
	uint16_t status = 0;
	struct smp_sm_info from, self;

	if (mad_method(mad) == MAD_METHOD_SET) {
		if (smp_sm_info_decode(&from, smp_data(mad), SMP_DATA_LEN))
			return false;
		if (sm->cfg.sm_key && from.sm_key != sm->cfg.sm_key) {
			if (pace_take(&sm->key_said, 1, SM_KEY_SAID_EVERY, now))
				sm_warn(sm,
					"Set(SMInfo) of SM 0x%016" PRIx64 " with a wrong SM_Key",
					from.guid);
			return false;
		}
		/* Each of these commands can start a sweep, so the rate of commands is limited. */
		if (!pace_take(&sm->orders, SM_ORDERS_BURST, NS_SEC(1), now) ||
		    !control(sm, mad_attr_mod(mad), &from, mad, now))
			status = MAD_STATUS_BAD_VALUE;
	}
	self = self_info(sm);
	if (may_know_key(sm, mad))
		self.sm_key = sm->cfg.sm_key;
	memset(smp_data(mad), 0, SMP_DATA_LEN);
	smp_sm_info_encode(smp_data(mad), &self);
	if (mad_class(mad) == MAD_CLASS_SM_DR) {
		smi_make_response(mad, status);
	} else {
		mad[3] = MAD_METHOD_GET_RESP;
		be16_put(mad + 4, status);
	}
	return true;
}

void sm_elect_init(struct sm *sm)
{
	timer_init(&sm->poll, poll_timer);
}

void sm_elect_fini(struct sm *sm)
{
	timer_cancel(sm->timers, &sm->poll);
	free(sm->others);
}
