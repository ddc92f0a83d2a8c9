/* SPDX-License-Identifier: BSD-2-Clause */
#include "conform/conform.h"

#include <string.h>

#include "conform/case.h"
#include "text/print.h"

/* The report as text for a terminal */

/*
 * Follow the chain of .because to its end. Return: the result of the case that failed first and
 * explains all failures in the chain
 */
static const struct conform_result *root(const struct conform_result *r)
{
	while (r->because)
		r = r->because;
	return r;
}

void conform_print_result(FILE *f, const struct conform_result *r)
{
	fprintf(f, "%-12s  %-14s  %s\n", conform_verdict_name(r->verdict), r->c->id, r->c->title);
	if (r->verdict != CONFORM_PASS)
		fprintf(f, "%30s  %s\n", "", r->why);
}

/* --- side by side */

/* Split @text, which print_packet() has written, into lines. Return: the number of lines */
static size_t split(char *text, char **line, size_t max)
{
	size_t n = 0;

	for (char *p = text; *p && n < max; n++) {
		line[n] = p;
		p += strcspn(p, "\n");
		if (*p)
			*p++ = 0;
	}
	return n;
}

#define LINES 32
#define TEXT_MAX 4096

static void decoded(FILE *f, const struct conform_result *r)
{
	static char a[TEXT_MAX], b[TEXT_MAX];
	char *seen[LINES], *expected[LINES] = { NULL };
	size_t n = split(print_packet(a, sizeof(a), r->seen.data, r->seen.len), seen, LINES), m = 0;

	if (r->expected.data)
		m = split(print_packet(b, sizeof(b), r->expected.data, r->expected.len), expected,
			  LINES);
	for (size_t i = 0; i < n; i++) {
		bool differs = i < m && strcmp(seen[i], expected[i]);

		fprintf(f, "    %s %s\n", differs ? "seen    " : "        ", seen[i]);
		if (differs)
			fprintf(f, "    expected %s\n", expected[i]);
	}
}

static void octets(FILE *f, const struct conform_result *r)
{
	const struct conform_octets *s = &r->seen, *e = &r->expected;

	for (size_t at = 0; at < s->len; at += 16) {
		size_t n = s->len - at < 16 ? s->len - at : 16;
		bool differs = e->data && memcmp(s->data + at, e->data + at, n);

		/* If the packet is long, print only the lines that differ. */
		if (e->data && !differs && s->len > 96)
			continue;
		fprintf(f, "    %04zx  ", at);
		for (size_t i = 0; i < 16; i++)
			i < n ? fprintf(f, "%02x", s->data[at + i]) : fprintf(f, "  ");
		if (differs) {
			fprintf(f, "  expected ");
			for (size_t i = 0; i < n; i++)
				fprintf(f, "%02x", e->data[at + i]);
		}
		fputc('\n', f);
		if (!e->data && at >= 256)
			break;
	}
}

static void consequences(FILE *f, const struct conform_report *rep, const struct conform_result *of)
{
	const char *sep = "    explains: ";

	for (size_t i = 0; i < rep->n; i++)
		if (rep->v[i].because && root(&rep->v[i]) == of) {
			fprintf(f, "%s%s %s", sep, rep->v[i].c->id,
				conform_verdict_name(rep->v[i].verdict));
			sep = ", ";
		}
	if (*sep == ',')
		fputc('\n', f);
}

static void failure(FILE *f, const struct conform_report *rep, const struct conform_result *r)
{
	fprintf(f, "\n%s  %s: %s\n    %s: %s\n    %s\n", conform_verdict_name(r->verdict), r->c->id,
		r->c->title, r->c->section, r->c->text, r->why);
	if (r->because)
		fprintf(f, "    probably because of %s\n", root(r)->c->id);
	if (r->seen.data) {
		decoded(f, r);
		octets(f, r);
	}
	consequences(f, rep, r);
}

void conform_print_summary(FILE *f, const struct conform_report *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].verdict == CONFORM_FAIL)
			failure(f, r, &r->v[i]);
	fprintf(f,
		"\n%zu PASS, %zu FAIL, %zu INCONCLUSIVE, %zu NA in %.1f s; %llu packets of the DUT",
		conform_count(r, CONFORM_PASS), conform_count(r, CONFORM_FAIL),
		conform_count(r, CONFORM_INCONCLUSIVE), conform_count(r, CONFORM_NA),
		(double)r->took / 1e9, (unsigned long long)r->packets);
	if (r->overwritten)
		fprintf(f, ", %llu of them no longer in the log at the end",
			(unsigned long long)r->overwritten);
	fprintf(f, "%s\n", r->interrupted ? "; interrupted" : "");
}
