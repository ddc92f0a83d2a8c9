/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/priv.h"
#include "text/print.h"

struct probe *probe_create(const struct probe_cfg *cfg)
{
	struct probe *p = calloc(1, sizeof(*p));

	if (p)
		*p = (struct probe){ .cfg = *cfg, .seq = 1 };
	return p;
}

void probe_free(struct probe *p)
{
	free(p);
}

/* --- the sequence of requests */

/*
 * Store the outcome of the open request. A P_Key table has several blocks, so probe_next() repeats
 * the questions ASK_PKEYS and ASK_PEER_PKEYS, for the next block (p->block) each time, until
 * probe_fill() returns false.
 */
static void done_with(struct probe *p, enum probe_outcome how, uint16_t status, ns_t now)
{
	struct probe_reply *r = &p->reply[p->ask];

	p->open = false;
	*r = (struct probe_reply){ how, status, now - p->sent_at };
	p->block++;
}

bool probe_next(struct probe *p, struct survey_mad *ret, ns_t now)
{
	if (p->open && now >= p->sent_at + p->cfg.patience) {
		p->nlost++;
		done_with(p, LOST, 0, now);
	}
	if (p->open)
		return false;
	for (; p->ask < ASK_KINDS; p->ask++, p->block = 0) {
		bool table = p->ask == ASK_PKEYS || p->ask == ASK_PEER_PKEYS;

		p->sent = (struct survey_mad){ .qpn = 0 };
		if ((p->block && !table) || !probe_fill(p))
			continue;
		p->open = true;
		p->sent_at = now;
		p->seq++;
		p->nsent++;
		*ret = p->sent;
		return true;
	}
	return false;
}

static bool answers(const struct probe *p, const void *mad, size_t len)
{
	return p->open && len >= MAD_HDR_LEN &&
	       survey_fits(mad, mad_class(p->sent.mad), (uint32_t)mad_tid(p->sent.mad),
			   mad_attr(p->sent.mad), mad_attr_mod(p->sent.mad));
}

void probe_recv(struct probe *p, const void *mad, size_t len, ns_t now)
{
	uint16_t status;

	if (!answers(p, mad, len) || mad_method(mad) != (mad_method(p->sent.mad) | MAD_METHOD_RESP))
		return;
	status = mad_status(mad);
	if (mad_class(mad) == MAD_CLASS_SM_DR)
		status &= (uint16_t)~MAD_STATUS_DR_D;
	if (status)
		done_with(p, REFUSED, status, now);
	else
		done_with(p, probe_take(p, mad, len) ? ANSWERED : MALFORMED, 0, now);
}

void probe_lost(struct probe *p, const void *mad, size_t len, ns_t now)
{
	if (!answers(p, mad, len))
		return;
	p->nlost++;
	done_with(p, LOST, 0, now);
}

ns_t probe_deadline(const struct probe *p)
{
	if (probe_done(p))
		return NS_NEVER;
	return p->open ? p->sent_at + p->cfg.patience : 0;
}

bool probe_done(const struct probe *p)
{
	return !p->open && p->ask == ASK_KINDS;
}

/* --- the report */

void probe_found(struct probe_case *c, enum probe_kind kind, const char *fmt, ...)
{
	struct probe_finding *f = &c->r->finding[c->r->n];
	va_list ap;

	if (c->r->n == PROBE_FINDINGS_MAX)
		return;
	c->r->n++;
	f->kind = kind;
	va_start(ap, fmt);
	vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
	if (probe_kind_info(kind)->note)
		c->r->notes++;
	else
		c->r->faults++;
}

void probe_tell(struct probe_case *c, const char *name, const char *fmt, ...)
{
	struct probe_fact *f = &c->r->fact[c->r->nfacts];
	va_list ap;

	if (c->r->nfacts == PROBE_FACTS_MAX)
		return;
	c->r->nfacts++;
	f->name = name;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

const char *probe_status(char ret[80], const struct probe_reply *r)
{
	if (r->how == LOST)
		return "no answer";
	if (r->how == MALFORMED)
		return "an answer that does not fit the question";
	snprintf(ret, 80, "status 0x%04x (%s)", r->status, print_sa_status(r->status));
	return ret;
}

void probe_judge(const struct probe *p, struct probe_report *ret)
{
	struct probe_case c = { p, ret };

	*ret = (struct probe_report){ .sent = p->nsent, .lost = p->nlost };
	if (probe_judge_port(&c)) {
		probe_judge_managers(&c);
		if (probe_judge_pkey(&c))
			probe_judge_group(&c);
	}
	probe_judge_if(&c);
	probe_judge_peer(&c);
}
