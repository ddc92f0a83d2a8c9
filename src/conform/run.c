/* SPDX-License-Identifier: BSD-2-Clause */
#include "conform/conform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conform/case.h"
#include "world/sm.h"

const char *conform_verdict_name(enum conform_verdict v)
{
	static const char *const names[] = { "NOT RUN", "PASS", "FAIL", "INCONCLUSIVE", "NA" };

	return names[v];
}

struct suite {
	struct conform_report *rep;
	struct run *run; /* array with one element for each result */
	struct world *w;
	const struct conform_cfg *cfg;
	const struct conform_profile *profile;
	bool dead; /* true after the link went down and did not come up again */
	/* true if the DUT's port is no longer Active, so that the SM has to set it up again */
	bool port_fell;
	void (*progress)(void *ctx, const struct conform_result *r);
	void *ctx;
};

/* --- which cases */

static struct conform_result *find(const struct conform_report *rep, const char *id, size_t len)
{
	for (size_t i = 0; i < rep->n; i++)
		if (!strncmp(rep->v[i].c->id, id, len) && !rep->v[i].c->id[len])
			return &rep->v[i];
	return NULL;
}

/*
 * Call @fn for each case that @c names in .after, until @fn returns true. Return: the result for
 * which @fn returned true; NULL: none
 */
static struct conform_result *each_after(const struct conform_report *rep,
					 const struct conform_case *c,
					 bool (*fn)(struct conform_result *r))
{
	for (const char *p = c->after ? c->after : ""; *p;) {
		size_t len = strcspn(p, " ");
		struct conform_result *r = find(rep, p, len);

		if (r && fn(r))
			return r;
		p += len + (p[len] == ' ');
	}
	return NULL;
}

static bool names(const char *word, const char *id)
{
	size_t clause = strcspn(id, "/");

	return !strcmp(word, id) || (strlen(word) == clause && !strncmp(word, id, clause));
}

/*
 * Select a case: store 1 in its .first. When a selected case runs, the number of its first packet
 * replaces the 1. Return: false, so that each_after() continues.
 */
static bool select_one(struct conform_result *r)
{
	r->first = 1;
	return false;
}

static size_t selected(const struct conform_report *rep)
{
	size_t n = 0;

	for (size_t i = 0; i < rep->n; i++)
		n += rep->v[i].first;
	return n;
}

static const char *select_cases(struct conform_report *rep, const char *const *words)
{
	size_t before;

	for (; words && *words; words++) {
		bool known = false;

		for (size_t i = 0; i < rep->n; i++)
			if (names(*words, rep->v[i].c->id)) {
				rep->v[i].first = 1;
				known = true;
			}
		if (!known)
			return *words;
	}
	/*
	 * Select the cases on which selected cases depend, and repeat this until no new case is
	 * found.
	 */
	do {
		before = selected(rep);
		for (size_t i = 0; i < rep->n; i++)
			if (rep->v[i].first)
				each_after(rep, rep->v[i].c, select_one);
	} while (selected(rep) != before);
	return NULL;
}

/* --- one case */

static bool blocks(struct conform_result *r)
{
	if (r->exempt)
		return false;
	if (r->c->watch)
		return r->verdict == CONFORM_FAIL;
	return r->verdict != CONFORM_PASS;
}

static bool failed(struct conform_result *r)
{
	return r->verdict == CONFORM_FAIL;
}

static bool inapplicable(struct conform_result *r)
{
	return r->verdict == CONFORM_NA && !r->exempt;
}

static bool inconclusive_one(struct conform_result *r)
{
	return r->verdict == CONFORM_INCONCLUSIVE || r->verdict == CONFORM_NOT_RUN;
}

static bool passed(struct conform_result *r)
{
	return r->verdict == CONFORM_PASS;
}

static bool is_sum(const struct conform_case *c)
{
	return !c->run && !c->watch;
}

/* Give a verdict to a case that has judged nothing */
static void nothing_judged(struct suite *s, struct conform_result *r)
{
	r->because = each_after(s->rep, r->c, inapplicable);
	r->verdict = r->because ? CONFORM_NA : CONFORM_INCONCLUSIVE;
	if (r->because)
		snprintf(r->why, sizeof(r->why), "%s does not apply", r->because->c->id);
	else
		snprintf(r->why, sizeof(r->why), "the DUT sent nothing that could be judged");
}

/* Give a verdict to a case that has neither run() nor watch(), from the verdicts of the cases in its .after */
static void sum_up(struct suite *s, struct conform_result *r)
{
	if ((r->because = each_after(s->rep, r->c, failed)))
		r->verdict = CONFORM_FAIL;
	else if ((r->because = each_after(s->rep, r->c, inconclusive_one)))
		r->verdict = CONFORM_INCONCLUSIVE;
	else if (each_after(s->rep, r->c, passed))
		r->verdict = CONFORM_PASS;
	else if ((r->because = each_after(s->rep, r->c, inapplicable)))
		r->verdict = CONFORM_NA;
	if (r->because)
		snprintf(r->why, sizeof(r->why), "the result of %s is %s", r->because->c->id,
			 conform_verdict_name(r->because->verdict));
	r->checked = r->verdict == CONFORM_PASS;
}

static void finish(struct suite *s, size_t i)
{
	struct conform_result *r = &s->rep->v[i];
	FILE *f;

	if (!s->run[i].decided && is_sum(r->c)) {
		sum_up(s, r);
	} else if (!s->run[i].decided) {
		r->verdict = CONFORM_PASS;
		if (!r->checked)
			nothing_judged(s, r);
	}
	if (r->verdict == CONFORM_FAIL && !r->because)
		r->because = each_after(s->rep, r->c, failed);
	if (r->verdict == CONFORM_FAIL && s->w->io->capture) {
		f = s->w->io->capture(s->w->io->ctx, r->c->id);
		if (f) {
			world_log_pcap(&s->w->log, r->first, r->last, f);
			fclose(f);
		}
	}
	if (s->progress)
		s->progress(s->ctx, r);
}

static const char *hindrance(struct suite *s, struct conform_result *r)
{
	if (s->w->interrupted)
		return "interrupted";
	r->because = each_after(s->rep, r->c, blocks);
	if (r->because)
		return r->because->c->id;
	if (s->dead)
		return "the link went down and did not come back";
	return NULL;
}

/* Return: the reason why a case does not apply to the DUT's profile; NULL: it applies */
static const char *exempt(const struct conform_profile *p, const struct conform_case *c)
{
	for (const struct conform_reason *e = p->exempt; e && e->id; e++)
		if (names(e->id, c->id))
			return e->why;
	return NULL;
}

/*
 * Tell whether the only cause of a case's verdict can be that the DUT's port was down. This is
 * possible if the case found no fault in any packet
 */
static bool may_be_the_link(const struct conform_result *r)
{
	return r->verdict == CONFORM_INCONCLUSIVE || (r->verdict == CONFORM_FAIL && !r->seen.len);
}

/*
 * Ask the DUT whether its port has left Active. Each end of the link decides by itself whether the
 * other end has been silent for too long. So on a busy machine the DUT's end may have gone down
 * although the suite's end received packets all the time.
 */
static bool port_left_active(struct world *w)
{
	struct sm_request q = { .method = MAD_METHOD_GET, .attr = SMP_ATTR_PORT_INFO, .mod = 1 };
	const struct seen *s;
	struct smp_port_info pi;

	if (!w->dut.active || !w->up || w->interrupted || world_sm_ask(w, &q, &s))
		return false;
	smp_port_info_decode(&pi, sm_attr_data(s), SMP_DATA_LEN);
	if (pi.port_state == IB_PORT_ACTIVE)
		return false;
	w->dut.active = false;
	return true;
}

/* Run a case. Return: true if its result is invalid: the link or the DUT's port went down */
static bool link_spoiled(struct suite *s, size_t i)
{
	struct run *run = &s->run[i];
	unsigned int downs = s->w->downs;
	bool judged;

	run->res->c->run(run);
	run->res->last = s->w->log.last;
	judged = run->decided ? !may_be_the_link(run->res) : run->res->checked > 0;
	if (run->decided && judged)
		return false;
	if (!judged)
		s->port_fell = port_left_active(s->w);
	return s->port_fell || s->w->downs != downs;
}

static bool set_up(struct suite *s)
{
	if (s->w->up && !s->port_fell)
		return true;
	s->dead = !world_sm_restore(s->w);
	s->port_fell = false;
	return !s->dead;
}

/*
 * Run a case. If the link went down meanwhile, and this can be the cause of the verdict, the
 * verdict says nothing about the DUT. In this case set the link and the port up again, and run the
 * case once more. A case without .after is not repeated. If there is still no valid verdict, the
 * case is INCONCLUSIVE
 */
static void run_with_link(struct suite *s, size_t i)
{
	struct conform_result *r = &s->rep->v[i];

	if (!link_spoiled(s, i))
		return;
	if (r->c->after && !s->w->interrupted && set_up(s)) {
		*r = (struct conform_result){ .c = r->c, .first = s->w->log.last + 1 };
		s->run[i] = (struct run){ .w = s->w, .res = r, .since = r->first };
		if (!link_spoiled(s, i))
			return;
	}
	s->run[i].decided = false; /* the verdict was about the link, not about the DUT */
	inconclusive(&s->run[i], "the link went down");
}

static void run_one(struct suite *s, size_t i)
{
	struct conform_result *r = &s->rep->v[i];
	struct run *run = &s->run[i];
	const char *why = hindrance(s, r);

	if (!why && r->c->after && !set_up(s))
		why = hindrance(s, r);
	r->first = r->last = s->w->log.last + 1;
	run->since = r->first;
	if (run->decided)
		r->because = NULL;
	else if (r->c->slow && !s->cfg->slow)
		not_applicable(run, "it takes minutes; --slow judges it");
	else if (why && r->because && r->because->verdict == CONFORM_NA)
		not_applicable(run, "%s does not apply", why);
	else if (why && r->because)
		inconclusive(run, "%s has to pass first", why);
	else if (why)
		inconclusive(run, "%s", why);
	else
		run_with_link(s, i);
	if (s->w->interrupted && !r->checked)
		inconclusive(run, "interrupted");
	finish(s, i);
	world_log_release(&s->w->kept);
}

static void watch_all(void *ctx, const struct seen *p)
{
	struct suite *s = ctx;

	for (size_t i = 0; i < s->rep->n; i++) {
		struct run *run = &s->run[i];

		if (!run->res->first || !run->res->c->watch || run->decided)
			continue;
		run->res->c->watch(run, p);
		if (run->decided) {
			/* The packets that belong to a failure are this packet and the 50 packets before it. */
			run->res->first = p->n > 50 ? p->n - 50 : 1;
			run->res->last = p->n;
		}
	}
}

/* --- all */

static void add_result(struct suite *s, const struct conform_case *c)
{
	struct conform_result *r = &s->rep->v[s->rep->n];
	struct run *run = &s->run[s->rep->n++];
	const char *why = exempt(s->profile, c);

	r->c = c;
	r->first = !s->cfg->clauses || !*s->cfg->clauses;
	*run = (struct run){ .w = s->w, .res = r };
	r->exempt = why;
	if (why)
		not_applicable(run, "%s", why);
}

static int make_results(struct suite *s)
{
	struct conform_report *rep = s->rep;
	/* number of results plus 1, so that calloc() is never called for zero elements */
	size_t n = 1;

	for (const struct conform_chapter *const *c = s->profile->chapters; *c; c++)
		n += (*c)->n;
	rep->v = calloc(n, sizeof(*rep->v));
	s->run = calloc(n, sizeof(*s->run));
	s->w = calloc(1, sizeof(*s->w));
	if (!rep->v || !s->run || !s->w)
		return -ENOMEM;
	rep->n = 0;
	for (const struct conform_chapter *const *c = s->profile->chapters; *c; c++)
		for (size_t k = 0; k < (*c)->n; k++)
			add_result(s, &(*c)->v[k]);
	return 0;
}

static void run_all(struct suite *s)
{
	ns_t began = s->w->now;

	s->w->watch = watch_all;
	s->w->watch_ctx = s;
	for (size_t i = 0; i < s->rep->n; i++)
		if (s->rep->v[i].first && s->rep->v[i].c->run)
			run_one(s, i);
	for (size_t i = 0; i < s->rep->n; i++)
		if (s->rep->v[i].first && s->rep->v[i].c->watch)
			finish(s, i);
	for (size_t i = 0; i < s->rep->n; i++)
		if (s->rep->v[i].first && is_sum(s->rep->v[i].c))
			finish(s, i);
	s->rep->interrupted = s->w->interrupted;
	s->rep->took = s->w->now - began;
	s->rep->packets = s->w->log.from_dut;
	s->rep->overwritten = s->w->log.overwritten;
}

int conform_run(struct conform_report *ret, const struct conform_cfg *cfg,
		const struct world_io *io,
		void (*progress)(void *ctx, const struct conform_result *r), void *ctx,
		const char **ret_unknown)
{
	struct suite s = { .rep = ret, .cfg = cfg, .progress = progress, .ctx = ctx };
	struct world_cfg world = cfg->world;
	int err;

	s.profile = cfg->profile;
	world.wire = s.profile->wire;

	*ret = (struct conform_report){ 0 };
	err = make_results(&s);
	if (!err && (*ret_unknown = select_cases(ret, cfg->clauses)))
		err = -ENOENT;
	if (!err)
		err = world_init(s.w, io, &world);
	if (!err) {
		if (s.profile->prepare)
			s.profile->prepare(s.w);
		run_all(&s);
		world_fini(s.w);
	}
	free(s.run);
	free(s.w);
	if (err)
		conform_report_fini(ret);
	return err;
}

void conform_report_fini(struct conform_report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].seen.data);
		free(r->v[i].expected.data);
	}
	free(r->v);
	*r = (struct conform_report){ 0 };
}

size_t conform_count(const struct conform_report *r, enum conform_verdict v)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->v[i].verdict == v;
	return n;
}
