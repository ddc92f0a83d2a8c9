/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "sac/op.h"
#include "text/print.h"

/*
 * Subscriptions by InformInfo (IBTA 13.4.8.3, 15.4.4) and the Reports that the SA sends for them. RFC 4391 §10
 * demands that a sender subscribes to the traps for created and deleted groups. Each port has one subscription for
 * each trap.
 */

static void inform_step(struct sac_inform *i, ns_t now);

static void inform_fill(struct sac_op *op, uint8_t mad[MAD_LEN])
{
	struct sac_inform *i = container_of(op, struct sac_inform, op);
	struct mad_inform_info info = {
		.lid_begin = 0xffff, /* traps of any source */
		.generic = true,
		.subscribe = !i->sac->closing,
		.type = 0xffff,
		.trap = i->trap,
		.qpn = IB_QP1,
		.resp_time = 19, /* 4.096 us x 2^19 = 2 s */
		.producer = 0xffffff,
	};

	sac_op_headers(op, mad, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0);
	mad_inform_info_encode(mad + SA_DATA_OFF, &info);
}

static void inform_done(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now)
{
	struct sac_inform *i = container_of(op, struct sac_inform, op);
	struct sac *s = i->sac;
	bool was = sac_subscribed(s);
	char text[SAC_STATUS_LEN];

	if (s->closing) {
		i->subscribed = false;
		return;
	}
	i->subscribed = !status;
	if (!status) {
		i->failures = 0;
		if (!was && sac_subscribed(s))
			sac_groups_verify(s, now);
		return;
	}
	i->status = status;
	if (!i->failures++)
		sac_log(s, sac_status_is_outage(status) ? LOG_LVL_DEBUG : LOG_LVL_WARN,
			"sa: subscription to trap %u: %s", i->trap,
			sac_status_print(text, sizeof(text), status));
	timer_arm(s->timers, &i->retry, now + sac_backoff(s, i->failures, status));
}

static void inform_submit(struct sac_inform *i, ns_t now)
{
	i->op.fill = inform_fill;
	i->op.done = inform_done;
	sac_op_submit(i->sac, &i->op, false, now);
}

static bool reports_wanted(const struct sac *s)
{
	const struct sac_user *u;

	list_for_each (u, &s->users, link)
		if (!u->no_reports)
			return true;
	return false;
}

static void inform_step(struct sac_inform *i, ns_t now)
{
	struct sac *s = i->sac;

	if (i->op.active || i->subscribed || s->closing || !sac_usable(s))
		return;
	if (!reports_wanted(s))
		return;
	inform_submit(i, now);
}

static void inform_retry(struct timer *t, ns_t now)
{
	inform_step(container_of(t, struct sac_inform, retry), now);
}

static void inform_start(struct timer *t, ns_t now)
{
	struct sac *s = container_of(t, struct sac, inform_start);

	for (int n = 0; n < SAC_NTRAPS; n++)
		if (!timer_armed(&s->inform[n].retry))
			inform_step(&s->inform[n], now);
}

void sac_inform_init(struct sac *s)
{
	timer_init(&s->inform_start, inform_start);
	for (int n = 0; n < SAC_NTRAPS; n++) {
		struct sac_inform *i = &s->inform[n];

		i->sac = s;
		i->trap = (uint16_t)(MAD_TRAP_GID_IN_SERVICE + n);
		timer_init(&i->retry, inform_retry);
	}
}

void sac_inform_fini(struct sac *s)
{
	for (int n = 0; n < SAC_NTRAPS; n++) {
		sac_op_cancel(&s->inform[n].op);
		timer_cancel(s->timers, &s->inform[n].retry);
	}
	timer_cancel(s->timers, &s->inform_start);
}

void sac_inform_forget(struct sac *s)
{
	for (int n = 0; n < SAC_NTRAPS; n++) {
		struct sac_inform *i = &s->inform[n];

		sac_op_cancel(&i->op);
		timer_cancel(s->timers, &i->retry);
		i->subscribed = false;
		i->failures = 0;
	}
}

void sac_inform_resume(struct sac *s, ns_t now)
{
	for (int n = 0; n < SAC_NTRAPS; n++)
		inform_step(&s->inform[n], now);
}

void sac_inform_hurry(struct sac *s, ns_t now)
{
	for (int n = 0; n < SAC_NTRAPS; n++) {
		struct sac_inform *i = &s->inform[n];

		if (timer_armed(&i->retry) && sac_status_is_outage(i->status))
			timer_arm(s->timers, &i->retry, now);
	}
}

void sac_inform_stop(struct sac *s, ns_t now)
{
	for (int n = 0; n < SAC_NTRAPS; n++) {
		struct sac_inform *i = &s->inform[n];
		bool asked = i->subscribed || i->op.active;

		sac_op_cancel(&i->op);
		timer_cancel(s->timers, &i->retry);
		/*
		 * The SA identifies a subscriber by LID and QP. So on a port that the kernel's
		 * IPoIB uses, too, an unsubscription would also end the kernel's subscription.
		 */
		if (asked && !s->shared && sac_usable(s))
			inform_submit(i, now);
		i->subscribed = false;
	}
}

bool sac_subscribed(const struct sac *s)
{
	return s->inform[MAD_TRAP_MC_CREATED - MAD_TRAP_GID_IN_SERVICE].subscribed &&
	       s->inform[MAD_TRAP_MC_DELETED - MAD_TRAP_GID_IN_SERVICE].subscribed;
}

/*
 * Answers a Report of the SA. An SA that gets no ReportResp repeats the Report, and may drop the
 * subscription in the end.
 */
static void report_answer(struct sac *s, const struct mad_addr *from, const uint8_t *mad, ns_t now)
{
	uint8_t resp[MAD_LEN];
	struct mad_hdr h;

	memcpy(resp, mad, sizeof(resp));
	if (mad_hdr_decode(&h, resp, sizeof(resp)))
		return;
	h.method = MAD_METHOD_REPORT_RESP;
	h.status = 0;
	mad_hdr_encode(resp, &h);
	mad_reply(s->agent, from, resp, sizeof(resp), now);
}

static void report_act(struct sac *s, const struct mad_notice *n, ns_t now)
{
	ib_gid gid = mad_notice_get_gid(n);
	char text[PRINT_GID_LEN];

	sac_log(s, LOG_LVL_DEBUG, "sa: trap %u for %s", n->trap,
		print_gid(text, sizeof(text), &gid));
	switch (n->trap) {
	case MAD_TRAP_GID_IN_SERVICE:
		sac_paths_forget_gid(s, &gid);
		sac_tell(s, SAC_EV_GID_IN, &gid, now);
		break;
	case MAD_TRAP_GID_OUT_OF_SERVICE:
		sac_paths_forget_gid(s, &gid);
		sac_tell(s, SAC_EV_GID_OUT, &gid, now);
		break;
	case MAD_TRAP_MC_CREATED:
		sac_tell(s, SAC_EV_GROUP_CREATED, &gid, now);
		break;
	case MAD_TRAP_MC_DELETED:
		/*
		 * Call the users before the group is joined again. Then a sender drops its state of
		 * the deleted group. After the join, it would drop its state of the new group with
		 * the same MGID instead.
		 */
		sac_groups_deleted(s, &gid);
		sac_tell(s, SAC_EV_GROUP_DELETED, &gid, now);
		sac_groups_resume(s, &gid, now);
		break;
	}
}

static bool report_ours(const struct mad_notice *n)
{
	return n->generic && n->trap >= MAD_TRAP_GID_IN_SERVICE && n->trap <= MAD_TRAP_MC_DELETED;
}

/*
 * Tells whether a MAD came from QP1 of the SM's port. Any port of the partition can send a forged
 * Report to QP1, so Reports from other ports are ignored. The check does not detect a forged SLID;
 * the fabric must prevent forged SLIDs.
 */
static bool from_sa(const struct sac *s, const struct mad_addr *from)
{
	return sac_usable(s) && from->lid == s->port.sm_lid && from->qpn == IB_QP1;
}

void sac_report_recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	struct sac *s = ctx;
	struct mad_notice n;
	struct sa_mad sm;

	if (!from_sa(s, from)) {
		s->stats.reports_foreign++;
		return;
	}
	if (len != MAD_LEN || sa_mad_decode(&sm, mad, len) || sm.mad.method != MAD_METHOD_REPORT ||
	    sm.mad.attr_id != SA_ATTR_NOTICE || mad_notice_decode(&n, sm.data, sm.data_len)) {
		s->stats.reports_ignored++;
		return;
	}
	report_answer(s, from, mad, now);
	if (!report_ours(&n) || s->closing) {
		s->stats.reports_ignored++;
		return;
	}
	s->stats.reports++;
	report_act(s, &n, now);
}
