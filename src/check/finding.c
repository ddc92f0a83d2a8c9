/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names */

void chk_name(struct text *t, const struct chk_node *n)
{
	if (n->desc[0])
		text_add(t, "%s", n->desc);
	else
		text_add(t, "0x%016" PRIx64, n->guid);
}

void chk_name_port(struct text *t, const struct chk_node *n, unsigned int port)
{
	chk_name(t, n);
	if (port || !n->sw)
		text_add(t, "/%u", port);
}

void chk_name_link(struct text *t, const struct chk_fabric *f, const struct chk_node *n,
		   unsigned int port)
{
	const struct chk_node *peer = chk_peer(f, &n->port[port]);

	chk_name_port(t, n, port);
	if (!peer)
		return;
	text_add(t, " to ");
	chk_name_port(t, peer, n->port[port].peer_port);
}

/* --- the report */

/* Add an entry to the list. Return: the entry; NULL if the list is full or memory ran out */
static struct chk_finding *next_entry(struct chk *c)
{
	struct chk_report *r = c->r;
	struct chk_finding *v;

	if (r->n >= CHK_FINDINGS_MAX)
		return NULL;
	if (!(r->n & (r->n - 1))) {
		v = realloc(r->finding, (r->n ? 2 * (size_t)r->n : 1) * sizeof(*v));
		if (!v) {
			c->no_memory = true;
			return NULL;
		}
		r->finding = v;
	}
	return &r->finding[r->n++];
}

/* Add a finding. @x has all members but the text, which @fmt makes. */
static void add(struct chk *c, const struct chk_finding *x, const char *fmt, va_list ap)
{
	struct chk_finding *e = next_entry(c);

	if (chk_kind_info(x->kind)->note)
		c->r->notes++;
	else
		c->r->faults++;
	if (!e) {
		c->r->left_out++;
		return;
	}
	*e = *x;
	vsnprintf(e->what, sizeof(e->what), fmt, ap);
}

void chk_add(struct chk *c, enum chk_kind kind, const struct chk_node *n, int port, uint64_t about,
	     const char *fmt, ...)
{
	struct chk_finding x = { .kind = kind, .guid = n->guid, .about = about };
	struct text t = TEXT_IN(x.where);
	va_list ap;

	if (port < 0)
		chk_name(&t, n);
	else
		chk_name_port(&t, n, (unsigned int)port);
	va_start(ap, fmt);
	add(c, &x, fmt, ap);
	va_end(ap);
}

void chk_add_where(struct chk *c, enum chk_kind kind, const char *where, uint64_t about,
		   const char *fmt, ...)
{
	struct chk_finding x = { .kind = kind, .about = about };
	va_list ap;

	snprintf(x.where, sizeof(x.where), "%s", where);
	va_start(ap, fmt);
	add(c, &x, fmt, ap);
	va_end(ap);
}

void chk_report_fini(struct chk_report *r)
{
	free(r->finding);
	*r = (struct chk_report){ 0 };
}

/*
 * Compares two findings for qsort() and bsearch(). Findings of the same kind at the same place count
 * as equal, because their texts may differ from one reading to the next.
 */
static int compare(const void *a, const void *b)
{
	const struct chk_finding *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->about != y->about)
		return x->about < y->about ? -1 : 1;
	return strcmp(x->where, y->where);
}

static bool has(const struct chk_report *r, const struct chk_finding *x)
{
	return r->n && bsearch(x, r->finding, r->n, sizeof(*x), compare);
}

/*
 * Tell whether a finding of this kind follows from two readings, so that it needs no confirmation
 * by another reading.
 */
static bool is_seen_twice(enum chk_kind kind)
{
	return kind == CHK_COUNTER_GROWS || kind == CHK_COUNTER_MOVES;
}

void chk_report_confirm(struct chk_report *r, struct chk_report *again)
{
	uint32_t n = 0;

	if (r->left_out || again->left_out)
		return;
	if (again->n)
		qsort(again->finding, again->n, sizeof(*again->finding), compare);
	r->faults = r->notes = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct chk_finding *x = &r->finding[i];

		if (!is_seen_twice(x->kind) && !has(again, x))
			continue;
		if (chk_kind_info(x->kind)->note)
			r->notes++;
		else
			r->faults++;
		r->finding[n++] = *x;
	}
	r->n = n;
}

/* --- agents that did not answer */

static void silence(struct chk *c, const struct chk_silence *s)
{
	const struct chk_node *n = c->f->node[s->node];
	const char *class = s->pma ? "performance management" : "subnet management";
	uint64_t about = s->attr | (uint64_t)s->pma << 16;

	if (s->behind && s->status)
		chk_add(c, CHK_REFUSED, n, s->port, about,
			"what is behind it answers NodeInfo with status 0x%04x or wrong values",
			s->status);
	else if (s->behind)
		chk_add(c, CHK_NO_ANSWER, n, s->port, about,
			"the link is up, but what is behind it does not answer subnet management");
	else if (s->status)
		chk_add(c, CHK_REFUSED, n, s->port, about,
			"refuses %u requests for attribute 0x%04x of %s with status 0x%04x",
			s->count, s->attr, class, s->status);
	else
		chk_add(c, CHK_NO_ANSWER, n, s->port, about,
			"does not answer %u requests for attribute 0x%04x of %s", s->count, s->attr,
			class);
}

void chk_silences(struct chk *c)
{
	for (uint32_t i = 0; i < c->f->nsilences; i++)
		silence(c, &c->f->silence[i]);
	if (c->f->cut)
		chk_add_where(c, CHK_CUT, "the fabric", 0,
			      "is larger than this program reads: %u nodes were read", c->f->n);
	if (c->f->late)
		chk_add_where(
			c, CHK_CUT, "the fabric", 0,
			"was not read to its end in the time that there was: %u nodes were read",
			c->f->n);
}

/* --- all checks */

int chk_run(const struct chk_fabric *f, const struct chk_opts *o, struct chk_report *ret)
{
	struct chk c = { .f = f, .r = ret };
	int err;

	*ret = (struct chk_report){ 0 };
	err = chk_index(&c);
	if (err)
		return err;
	chk_silences(&c);
	chk_guids(&c);
	chk_lids(&c);
	chk_links(&c);
	chk_managers(&c);
	chk_lft(&c);
	chk_credits(&c);
	chk_mft(&c);
	chk_members(&c);
	if (o->partitions)
		chk_partitions(&c, o->partitions);
	chk_enforcement(&c);
	chk_growth(&c);
	chk_index_fini(&c);
	ret->steps = c.steps;
	return c.no_memory ? -ENOMEM : 0;
}
