/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

#include <errno.h>
#include <stdlib.h>

/*
 * DOC: Reports
 *
 * IBTA 13.4.9: a Report is repeated until its ReportResp comes, and dropped after 4 repetitions. At
 * most 256 Reports are open, which means sent and not answered yet.
 *
 * A subscriber that never answers must not keep other subscribers from getting Reports, however
 * many subscriptions it has. So a subscription is called "proven" if its last Report was answered.
 * All subscriptions of one port that are not proven share 4 places for open Reports. If all 4
 * places are taken, further Reports to these subscriptions are held until a place is free. If the
 * last Report of a subscription was not answered, the subscription gets one Report at a time.
 * Reports that arise meanwhile are lost.
 */

#define WINDOW 256
#define UNPROVEN 4 /* most open Reports to the unproven subscriptions of one port together */
#define TIMEOUT_MS 300
#define RETRIES 4
/* delay after which a Report is tried again when the MAD endpoint was full */
#define BUSY_DELAY NS_MSEC(50)

struct report {
	struct list link;
	struct sa *sa;
	struct sa_subscription *sub;
	struct mad_tx *tx; /* transaction of the open Report; NULL: not sent */
	struct sm_source *source; /* counters of the subscriber's port */
	/* true if the Report has one of the UNPROVEN places of the subscriber's port */
	bool unproven;
	struct mad_notice notice;
};

static void to_send(struct sa *sa, struct report *p)
{
	list_del(&p->link);
	list_add_tail(&sa->reports, &p->link);
}

/*
 * Queue the oldest held Report for @source, because one of the UNPROVEN places of @source is free.
 */
static void release(struct sa *sa, const struct sm_source *source)
{
	struct report *p;

	list_for_each (p, &sa->held, link) {
		if (p->source != source)
			continue;
		to_send(sa, p);
		return;
	}
}

static void report_free(struct report *p)
{
	struct sa *sa = p->sa;

	if (p->tx) {
		mad_cancel(p->tx);
		sa->nopen--;
	}
	list_del(&p->link);
	sa->nreports--;
	p->sub->nreports--;
	if (p->unproven) {
		p->source->unproven--;
		release(sa, p->source);
	}
	free(p);
}

static void lose(struct sa *sa, struct sa_subscription *s)
{
	sa->stats.reports_lost++;
	s->lost++;
}

static void forget(struct list *head, const struct sa_subscription *s)
{
	struct report *p, *tmp;

	list_for_each_safe (p, tmp, head, link) {
		if (p->sub == s)
			report_free(p);
	}
}

/* Record that a subscriber has answered, and queue all its Reports that are held. */
static void prove(struct sa *sa, struct sa_subscription *s)
{
	struct report *p, *tmp;

	s->silent = false;
	if (s->proven)
		return;
	s->proven = true;
	list_for_each_safe (p, tmp, &sa->held, link) {
		if (p->sub == s)
			to_send(sa, p);
	}
}

/* Record that a subscriber has not answered, and drop its other Reports that were not sent yet. */
static void disprove(struct sa *sa, struct sa_subscription *s)
{
	unsigned int before = s->nreports;

	s->proven = false;
	s->silent = true;
	forget(&sa->held, s);
	forget(&sa->reports, s);
	sa->stats.reports_lost += before - s->nreports;
	s->lost += before - s->nreports;
	lose(sa, s);
}

static void reports_send(struct sa *sa, ns_t now);

static void report_done(void *ctx, int status, const struct mad_addr *from, const void *mad,
			size_t len, ns_t now)
{
	struct report *p = ctx;
	struct sa *sa = p->sa;

	p->tx = NULL;
	sa->nopen--;
	if (status == 0) {
		sa->stats.reports_answered++;
		prove(sa, p->sub);
	} else if (status == -ETIMEDOUT) {
		disprove(sa, p->sub);
	} else {
		lose(sa, p->sub);
	}
	report_free(p);
	if (status != -ECANCELED)
		reports_send(sa, now);
}

static int report_send(struct report *p, ns_t now)
{
	const struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = MAD_METHOD_REPORT,
		.attr_id = SA_ATTR_NOTICE,
	};
	const struct sa_hdr sa = { 0 };
	uint8_t mad[MAD_LEN];
	const struct mad_req req = {
		.to = p->sub->addr,
		.mad = mad,
		.len = sizeof(mad),
		.timeout_ms = TIMEOUT_MS,
		.retries = RETRIES,
		.done = report_done,
		.ctx = p,
	};

	sa_mad_encode(mad, &h, &sa);
	mad_notice_encode(mad + SA_DATA_OFF, &p->notice);
	return mad_request(p->sa->agent, &req, &p->tx, now);
}

/*
 * Send a Report; hold it if its subscription is not proven and the subscriber's port has no free
 * place; drop it if sending fails. Return: 0; -EBUSY if the MAD endpoint has no room for the Report
 * now
 */
static int report_start(struct sa *sa, struct report *p, ns_t now)
{
	int err;

	if (!p->sub->proven && p->source->unproven >= UNPROVEN) {
		list_del(&p->link);
		list_add_tail(&sa->held, &p->link);
		return 0;
	}
	err = report_send(p, now);
	if (err == -EBUSY)
		return err;
	if (err) {
		lose(sa, p->sub);
		report_free(p);
		return 0;
	}
	p->unproven = !p->sub->proven;
	p->source->unproven += p->unproven;
	sa->nopen++;
	sa->stats.reports++;
	p->sub->reports++;
	list_del(&p->link);
	list_add_tail(&sa->open, &p->link);
	return 0;
}

static void reports_send(struct sa *sa, ns_t now)
{
	struct report *p, *tmp;

	list_for_each_safe (p, tmp, &sa->reports, link) {
		if (sa->nopen >= WINDOW)
			return;
		if (report_start(sa, p, now)) {
			timer_arm(sm_timers(sa->sm), &sa->report_timer, now + BUSY_DELAY);
			return;
		}
	}
}

static void report_timer(struct timer *t, ns_t now)
{
	reports_send(container_of(t, struct sa, report_timer), now);
}

void sa_reports_init(struct sa *sa)
{
	list_init(&sa->reports);
	list_init(&sa->open);
	list_init(&sa->held);
	timer_init(&sa->report_timer, report_timer);
}

void sa_report(struct sa *sa, struct sa_subscription *s, const struct mad_notice *n, ns_t now)
{
	bool room = sa->nreports < SA_MAX_REPORTS && !(s->silent && s->nreports);
	struct report *p = room ? calloc(1, sizeof(*p)) : NULL;

	if (!p) {
		lose(sa, s);
		return;
	}
	p->sa = sa;
	p->sub = s;
	p->source = sm_source_of(sa->sm, s->addr.lid);
	p->notice = *n;
	s->nreports++;
	list_add_tail(&sa->reports, &p->link);
	sa->nreports++;
	reports_send(sa, now);
}

void sa_reports_forget(struct sa *sa, const struct sa_subscription *s)
{
	/*
	 * Free the held Reports first, because each Report that is freed later may release a held
	 * Report, and this held Report must not belong to @s.
	 */
	forget(&sa->held, s);
	forget(&sa->reports, s);
	forget(&sa->open, s);
	if (list_empty(&sa->reports))
		timer_cancel(sm_timers(sa->sm), &sa->report_timer);
	/*
	 * Do not send the other Reports here, because a caller of this function walks the list of
	 * subscriptions. The timer sends the Reports.
	 */
	else
		timer_arm(sm_timers(sa->sm), &sa->report_timer, 0);
}
