/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "node/priv.h"

/*
 * DOC: Traps
 *
 * Each end port has one slot for each trap number. The trap in a slot is sent to the SM again and again, with the same
 * TID, until the SM represses the trap. It is sent at most once in an interval that PortInfo:SubnetTimeOut gives
 * (13.4.9). If the event happens again before the TrapRepress, a new trap is sent after the TrapRepress, because the
 * SM may have read the state before the second event.
 */

#define INTERVAL_MIN NS_MSEC(100)
#define INTERVAL_MAX NS_SEC(60)
#define SUBNET_TIMEOUT_UNIT 4096ull /* duration in ns that SubnetTimeOut 0 means */

static const uint16_t slot_traps[] = {
	MAD_TRAP_LINK_STATE, MAD_TRAP_CAP_CHANGE, MAD_TRAP_BAD_MKEY,
	MAD_TRAP_BAD_PKEY,   MAD_TRAP_BAD_QKEY,	  MAD_TRAP_SWITCH_BAD_PKEY,
};
#define SLOTS ARRAY_SIZE(slot_traps)

enum trap_state {
	TRAP_IDLE, /* there is no trap in the slot */
	TRAP_QUEUED, /* the trap waits for its timer before it is sent; a newer trap replaces it */
	TRAP_SENT, /* the trap was sent; the timer repeats it until the SM sends a TrapRepress */
	TRAP_SENT_AGAIN, /* as TRAP_SENT, but a newer trap (.next) is sent after the TrapRepress */
};

struct node_trap {
	struct node_port *p;
	struct timer timer;
	enum trap_state state;
	uint64_t tid;
	ns_t next_at; /* earliest time at which the rate limit allows the next trap */
	struct mad_notice notice, next;
};

static const char *state_name(enum trap_state s)
{
	static const char *const names[] = { "IDLE", "QUEUED", "SENT", "SENT_AGAIN" };

	return names[s];
}

static void trap_set_state(struct node_trap *t, enum trap_state s, ns_t deadline)
{
	if (t->state != s)
		log_to(t->p->node->log, LOG_LVL_DEBUG, "node: %s port %u: trap %u %s -> %s",
		       t->p->node->desc, t->p->num, t->notice.trap, state_name(t->state),
		       state_name(s));
	t->state = s;
	timer_arm(t->p->node->timers, &t->timer, deadline);
}

static ns_t interval(const struct node_port *p)
{
	ns_t ns = SUBNET_TIMEOUT_UNIT << p->pi.subnet_timeout;

	if (ns < INTERVAL_MIN)
		return INTERVAL_MIN;
	return ns < INTERVAL_MAX ? ns : INTERVAL_MAX;
}

static void trap_send(struct node_trap *t, ns_t now)
{
	struct node_port *p = t->p;
	struct mad_addr to = mad_addr_smp_lid(p->pi.sm_lid);
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = SMP_CLASS_VERSION,
		.method = MAD_METHOD_TRAP,
		.tid = t->tid,
		.attr_id = MAD_ATTR_NOTICE,
	};
	uint8_t data[MAD_NOTICE_GID_LEN], mad[MAD_LEN];
	struct smp_dr dr = { 0 };

	mad_notice_encode(data, &t->notice);
	smp_encode(mad, &h, &dr, data);
	/* If the trap cannot be sent, it counts as lost on the link, and the timer repeats it. */
	(void)p->node->ops->xmit(p->node->ctx, p->num, &to, mad, now);
}

static void trap_timer(struct timer *tm, ns_t now)
{
	struct node_trap *t = container_of(tm, struct node_trap, timer);

	if (!t->p->pi.sm_lid) {
		trap_set_state(t, TRAP_IDLE, NS_NEVER);
		return;
	}
	t->next_at = now + interval(t->p);
	trap_set_state(t, t->state == TRAP_QUEUED ? TRAP_SENT : t->state, t->next_at);
	trap_send(t, now);
}

/* Make the trap slots of a port at its first trap, because most end ports never raise a trap. */
static int slots_create(struct node_port *end)
{
	end->traps = calloc(SLOTS, sizeof(*end->traps));
	if (!end->traps)
		return -ENOMEM;
	for (unsigned int i = 0; i < SLOTS; i++) {
		end->traps[i].p = end;
		timer_init(&end->traps[i].timer, trap_timer);
	}
	return 0;
}

/* Return the slot for a trap number; NULL if memory ran out, so that the trap is lost */
static struct node_trap *slot_of(struct node_port *end, uint16_t trap)
{
	if (!end->traps && slots_create(end))
		return NULL;
	for (unsigned int i = 0; i < SLOTS; i++)
		if (slot_traps[i] == trap)
			return &end->traps[i];
	return NULL;
}

static void trap_queue(struct node_trap *t, const struct mad_notice *n, ns_t now)
{
	t->notice = *n;
	t->tid = ++t->p->node->trap_tid;
	trap_set_state(t, TRAP_QUEUED, now > t->next_at ? now : t->next_at);
}

static void trap_raise(struct node_port *end, const struct mad_notice *n, ns_t now)
{
	struct node_trap *t;

	if (!end->pi.sm_lid)
		return; /* no SM has set the port's SM LID yet, so there is no destination */
	t = slot_of(end, n->trap);
	if (!t)
		return;
	switch (t->state) {
	case TRAP_IDLE:
		trap_queue(t, n, now);
		break;
	case TRAP_QUEUED:
		t->notice = *n;
		break;
	case TRAP_SENT:
	case TRAP_SENT_AGAIN:
		t->next = *n;
		trap_set_state(t, TRAP_SENT_AGAIN, t->next_at);
		break;
	}
}

static struct mad_notice notice_of(const struct node_port *end, uint16_t trap, uint8_t type)
{
	struct mad_notice n = {
		.generic = true,
		.type = type,
		.producer = end->node->info.node_type,
		.trap = trap,
		.issuer_lid = end->pi.lid,
	};

	mad_notice_lid(&n, end->pi.lid);
	return n;
}

/*
 * Empty the slot of a trap that the SM has repressed. If a newer trap waits in the slot, send the
 * newer trap.
 */
static void trap_done(struct node_trap *t, ns_t now)
{
	struct mad_notice next = t->next;
	bool again = t->state == TRAP_SENT_AGAIN;

	trap_set_state(t, TRAP_IDLE, NS_NEVER);
	if (again)
		trap_queue(t, &next, now);
}

bool node_trap_repress(struct node_port *end, const void *smp, ns_t now)
{
	if (mad_attr(smp) != MAD_ATTR_NOTICE)
		return false;
	for (unsigned int i = 0; end->traps && i < SLOTS; i++) {
		struct node_trap *t = &end->traps[i];

		if (t->state < TRAP_SENT || t->tid != mad_tid(smp))
			continue;
		trap_done(t, now);
		return true;
	}
	return false;
}

/* Find the slot with the oldest notice that the SM has not acknowledged; NULL: none */
static struct node_trap *oldest(struct node_port *end)
{
	struct node_trap *found = NULL;

	for (unsigned int i = 0; end->traps && i < SLOTS; i++) {
		struct node_trap *t = &end->traps[i];

		if (t->state != TRAP_IDLE && (!found || t->tid < found->tid))
			found = t;
	}
	return found;
}

uint16_t sma_get_notice(struct sma_req *r)
{
	const struct node_trap *t = oldest(r->end);
	uint8_t data[MAD_NOTICE_GID_LEN];

	if (!t)
		return 0;
	mad_notice_encode(data, &t->notice);
	memcpy(r->data, data, SMP_DATA_LEN);
	return 0;
}

/*
 * Handle a Set(Notice). If it has the trap number of the oldest notice, it acknowledges that notice,
 * as a TrapRepress does (13.4.8.2).
 */
uint16_t sma_set_notice(struct sma_req *r)
{
	struct node_trap *t = oldest(r->end);
	struct mad_notice n;

	mad_notice_decode(&n, r->data, SMP_DATA_LEN);
	if (t && t->notice.trap == n.trap)
		trap_done(t, r->now);
	return 0;
}

void node_trap_link_state(struct node *n, ns_t now)
{
	struct node_port *end = &n->port[0];
	struct mad_notice v = notice_of(end, MAD_TRAP_LINK_STATE, MAD_NOTICE_TYPE_URGENT);

	trap_raise(end, &v, now);
}

void node_trap_cap_change(struct node_port *end, ns_t now)
{
	struct mad_notice v = notice_of(end, MAD_TRAP_CAP_CHANGE, MAD_NOTICE_TYPE_INFO);

	mad_notice_cap_mask(&v, end->pi.cap_mask);
	trap_raise(end, &v, now);
}

void node_trap_bad_mkey(struct node_port *end, const void *smp, ns_t now)
{
	struct mad_notice v = notice_of(end, MAD_TRAP_BAD_MKEY, MAD_NOTICE_TYPE_SECURITY);
	const uint8_t *mad = smp;
	struct notice_mkey k = {
		.method = mad_method(smp),
		.attr = mad_attr(smp),
		.mod = mad_attr_mod(smp),
		.mkey = be64_at(mad + SMP_OFF_MKEY),
		.directed = mad_class(smp) == MAD_CLASS_SM_DR,
	};

	if (k.directed) {
		k.dr_slid = be16_at(mad + SMP_OFF_DR_SLID);
		k.truncated = mad[SMP_OFF_HOP_CNT] > NOTICE_PATH_MAX;
		k.hops = k.truncated ? NOTICE_PATH_MAX : mad[SMP_OFF_HOP_CNT];
		/* Skip octet 0 of the return path, which is reserved because hops count from 1. */
		memcpy(k.path, mad + SMP_OFF_RETURN_PATH + 1, k.hops);
	}
	notice_mkey_encode(&v, &k);
	trap_raise(end, &v, now);
}

struct notice_violation node_violation_of(const struct ib_ud_hdr *h, uint32_t key)
{
	struct notice_violation v = {
		.slid = h->lrh.slid,
		.dlid = h->lrh.dlid,
		.sl = h->lrh.sl,
		.src_qp = h->deth.src_qp,
		.dest_qp = h->bth.dest_qp,
		.key = key,
		.has_gids = h->has_grh,
	};

	if (h->has_grh) {
		v.sgid = h->grh.sgid;
		v.dgid = h->grh.dgid;
	}
	return v;
}

static void trap_bad_key(struct node_port *end, uint16_t trap, const struct notice_violation *v,
			 ns_t now)
{
	struct mad_notice n = notice_of(end, trap, MAD_NOTICE_TYPE_SECURITY);

	notice_violation_encode(&n, v);
	trap_raise(end, &n, now);
}

static void trap_switch_pkey(struct node_port *end, uint8_t port, const struct notice_violation *v,
			     ns_t now)
{
	struct mad_notice n = notice_of(end, MAD_TRAP_SWITCH_BAD_PKEY, MAD_NOTICE_TYPE_SECURITY);
	struct notice_violation at = *v;

	at.switch_lid = end->pi.lid;
	at.port = port;
	notice_violation_encode(&n, &at);
	trap_raise(end, &n, now);
}

static void count16(uint16_t *c)
{
	if (*c < UINT16_MAX)
		(*c)++;
}

void node_pkey_violation(struct node *n, uint8_t port, const struct notice_violation *v, ns_t now)
{
	struct node_port *end = node_end_port(n, port);

	count16(&n->port[port].pi.pkey_violations);
	if (node_is_switch(n) && port)
		trap_switch_pkey(end, port, v, now);
	else
		trap_bad_key(end, MAD_TRAP_BAD_PKEY, v, now);
}

void node_qkey_violation(struct node *n, uint8_t port, const struct notice_violation *v, ns_t now)
{
	struct node_port *end = node_end_port(n, port);

	count16(&end->pi.qkey_violations);
	trap_bad_key(end, MAD_TRAP_BAD_QKEY, v, now);
}

void node_traps_fini(struct node_port *end)
{
	if (!end->traps)
		return;
	for (unsigned int i = 0; i < SLOTS; i++)
		timer_cancel(end->node->timers, &end->traps[i].timer);
	free(end->traps);
	end->traps = NULL;
}
