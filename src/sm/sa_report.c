/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa_priv.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Reports (IBTA 13.4.9): each is sent until its ReportResp comes, then dropped. A bounded number is under
 * way, so that subscribers who are silent hold up the others for a second or two at most.
 */

#define WINDOW 256
#define TIMEOUT_MS 300
#define RETRIES 4
#define BUSY_DELAY NS_MSEC(50) /* the endpoint has no room */

struct report {
	struct list link;
	struct sa *sa;
	struct sa_subscription *sub;
	struct mad_tx *tx; /* under way */
	struct mad_notice notice;
};

static void report_free(struct report *p)
{
	if (p->tx) {
		mad_cancel(p->tx);
		p->sa->nopen--;
	}
	list_del(&p->link);
	p->sa->nreports--;
	free(p);
}

static void reports_send(struct sa *sa, ns_t now);

static void report_done(void *ctx, int status, const struct mad_addr *from, const void *mad,
			size_t len, ns_t now)
{
	struct report *p = ctx;
	struct sa *sa = p->sa;

	p->tx = NULL;
	sa->nopen--;
	if (status) {
		sa->stats.reports_lost++;
		p->sub->lost++;
	} else {
		sa->stats.reports_answered++;
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

/* Returns 0 if @p is on its way or lost; -EBUSY if the endpoint has no room for it */
static int report_start(struct sa *sa, struct report *p, ns_t now)
{
	int err = report_send(p, now);

	if (err == -EBUSY)
		return err;
	if (err) {
		sa->stats.reports_lost++;
		p->sub->lost++;
		report_free(p);
		return 0;
	}
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
	timer_init(&sa->report_timer, report_timer);
}

void sa_report(struct sa *sa, struct sa_subscription *s, const struct mad_notice *n, ns_t now)
{
	struct report *p = sa->nreports < SA_MAX_REPORTS ? calloc(1, sizeof(*p)) : NULL;

	if (!p) {
		sa->stats.reports_lost++;
		s->lost++;
		return;
	}
	p->sa = sa;
	p->sub = s;
	p->notice = *n;
	list_add_tail(&sa->reports, &p->link);
	sa->nreports++;
	reports_send(sa, now);
}

static void forget(struct list *head, const struct sa_subscription *s)
{
	struct report *p, *tmp;

	list_for_each_safe (p, tmp, head, link) {
		if (p->sub == s)
			report_free(p);
	}
}

void sa_reports_forget(struct sa *sa, const struct sa_subscription *s)
{
	forget(&sa->reports, s);
	forget(&sa->open, s);
	if (list_empty(&sa->reports))
		timer_cancel(sm_timers(sa->sm), &sa->report_timer);
}
