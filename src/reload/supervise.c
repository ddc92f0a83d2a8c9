/* SPDX-License-Identifier: BSD-2-Clause */
#include "reload/supervise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "conf/diff.h"
#include "os/file.h"
#include "partition/partition.h"
#include "reload/make.h"
#include "util/escape.h"
#include "util/text.h"

/* --- waiting for clients */

static void await(struct reload *r)
{
	if (r->awaits.fd < 0 && proto_connect(&r->awaits, r->name))
		return;
	if (proto_send(&r->awaits, "reload await", NULL))
		proto_close(&r->awaits);
}

void reload_open(struct reload *r)
{
	r->awaits = (struct proto_client){ .fd = -1, .fds = { -1, -1 } };
	await(r);
}

int reload_fd(const struct reload *r)
{
	return r->awaits.fd;
}

void reload_reap(struct reload *r)
{
	for (unsigned int k = 0; k < r->nhelpers; k++)
		if (waitpid(r->helper[k], NULL, WNOHANG) == r->helper[k])
			r->helper[k--] = r->helper[--r->nhelpers];
}

static void keep_helper(struct reload *r, pid_t pid)
{
	pid_t *v = pid > 0 ? realloc(r->helper, (r->nhelpers + 1) * sizeof(*v)) : NULL;

	if (!v)
		return; /* without memory the helper stays a zombie when it has ended */
	r->helper = v;
	v[r->nhelpers++] = pid;
}

void reload_close(struct reload *r)
{
	proto_close(&r->awaits);
	if (r->conf == &r->own)
		conf_free(&r->own);
	/* A helper process ends as soon as the daemon has ended, and then has nothing left to do but to remove its namespaces. */
	for (unsigned int k = 0; k < r->nhelpers; k++)
		waitpid(r->helper[k], NULL, 0);
	free(r->helper);
}

/* --- a reload */

static void free_texts(struct reload_job *job, struct reload_text *texts)
{
	for (size_t i = 0; i < job->ntexts; i++)
		free(texts[i].text);
	free(texts);
}

/* Reads and parses the partitions of a fabric, so that a fault in them is found before anything changes. */
static int read_text(struct reload_text *t, const struct conf_fabric *f, char *err)
{
	struct sm_partitions *ps;
	int status = file_read(f->partitions, &t->text, &t->len);

	if (status) {
		snprintf(err, RELOAD_TEXT_MAX, "partitions %s: %s", f->partitions,
			 strerror(-status));
		return PROTO_EXIT_USAGE;
	}
	t->file = f->partitions;
	snprintf(t->fabric, sizeof(t->fabric), "%s", f->name);
	status = sm_partitions_parse(&ps, f->partitions, t->text, t->len, err, RELOAD_TEXT_MAX);
	if (status)
		return PROTO_EXIT_USAGE;
	sm_partitions_free(ps);
	return 0;
}

static int read_texts(struct reload_job *job, struct reload_text *texts, const struct conf *is,
		      char *err)
{
	int status = 0;

	for (size_t i = 0; !status && i < is->nfabrics; i++) {
		if (!is->fabric[i].partitions || !is->fabric[i].sm_embedded)
			continue;
		status = read_text(&texts[job->ntexts], &is->fabric[i], err);
		job->ntexts += texts[job->ntexts].text != NULL;
	}
	return status;
}

/* @missing: as in struct reload_job */
static int apply(struct reload *r, const struct conf *is, const struct conf_diff *d, bool *missing,
		 char *err)
{
	struct reload_text *texts = calloc(is->nfabrics + 1, sizeof(*texts));
	struct reload_job job = {
		.name = r->name, .was = r->conf, .diff = d, .missing = missing, .texts = texts
	};
	pid_t helper = 0;
	int status;

	if (!texts) {
		snprintf(err, RELOAD_TEXT_MAX, "out of memory");
		return PROTO_EXIT_FAILED;
	}
	status = read_texts(&job, texts, is, err);
	if (!status)
		status = reload_make(&job, &helper, err, RELOAD_TEXT_MAX);
	keep_helper(r, helper);
	free_texts(&job, texts);
	return status;
}

static void list(struct text *t, const struct conf_diff *d, enum conf_fate fate, const char *word)
{
	const char *between = t->len ? "; " : "";

	for (size_t i = 0; i < d->nrows; i++) {
		const struct conf_diff_row *row = &d->row[i];
		const struct conf_iface *f = row->is ? row->is : row->was;

		if (row->fate != fate)
			continue;
		text_add(t, "%s%s%s%s", between, *word ? word : "", f->name, *f->host ? "@" : "");
		text_add(t, "%s", f->host);
		if (row->key)
			text_add(t, " (%s)", row->key);
		word = "";
		between = ", ";
	}
}

/* "added uib1@h1; removed uib2@h2; replaced uib3@h3 (mtu); kept 4" */
static void describe(const struct conf_diff *d, char *out)
{
	struct text t = { .buf = out, .size = RELOAD_TEXT_MAX };

	*out = 0;
	list(&t, d, CONF_ADDED, "added ");
	list(&t, d, CONF_REMOVED, "removed ");
	list(&t, d, CONF_REPLACED, "replaced ");
	text_add(&t, "%skept %u", t.len ? "; " : "", d->n[CONF_KEPT]);
}

/*
 * The next reload has to add the interfaces that are missing, so the configuration that the instance has now lacks them. Returns
 * their number.
 */
static unsigned int drop_missing(struct conf *is, const struct conf_diff *d, const bool *missing)
{
	unsigned int n = 0;

	for (size_t k = is->nifaces; k-- > 0;)
		for (size_t i = 0; i < d->nrows; i++)
			if (missing[i] && d->row[i].is == &is->iface[k]) {
				conf_drop_iface(is, k);
				n++;
				break;
			}
	return n;
}

/* The instance has the configuration @is now. */
static void adopt(struct reload *r, const struct conf *is)
{
	if (r->conf == &r->own)
		conf_free(&r->own);
	r->own = *is;
	r->conf = &r->own;
}

/* Makes the changes. Return: as reload(); with @ret_changed, @is is taken */
static int change(struct reload *r, struct conf *is, const struct conf_diff *d, char *out,
		  bool *ret_changed)
{
	bool *missing = calloc(d->nrows + 1, sizeof(*missing));
	int status;

	if (!missing) {
		snprintf(out, RELOAD_TEXT_MAX, "out of memory");
		return PROTO_EXIT_FAILED;
	}
	status = apply(r, is, d, missing, out);
	if (!status)
		describe(d, out);
	*ret_changed = !status || drop_missing(is, d, missing);
	if (*ret_changed)
		adopt(r, is);
	free(missing);
	return status;
}

/*
 * Returns 0 with a description of the changes in @out, or an exit status with a message
 * @ret_changed:	true if the instance has another configuration now, also after a failure
 */
static int reload(struct reload *r, char *out, bool *ret_changed)
{
	struct conf is;
	struct conf_diff d;
	int status = conf_load_with(&is, r->file, r->over, out);

	*ret_changed = false;
	if (status)
		return PROTO_EXIT_USAGE;
	status = conf_diff(&d, r->conf, &is, out);
	if (status) {
		conf_free(&is);
		return PROTO_EXIT_USAGE;
	}
	status = change(r, &is, &d, out, ret_changed);
	conf_diff_free(&d);
	if (!*ret_changed)
		conf_free(&is);
	return status;
}

/* Tells the instance the outcome, which it writes to its log, and with @asked to the clients that wait for it. */
static void report(struct reload *r, int status, const char *text, bool asked, bool changed)
{
	/* JSON allows only UTF-8, and the text may have a name of a file. */
	char err[256], *utf8 = text_utf8(text);
	json_t *args = json_pack("{s:i, s:s, s:b, s:b}", "status", status, "text", utf8 ? utf8 : "",
				 "asked", asked, "changed", changed);
	struct proto_client c;

	free(utf8);
	if (!proto_connect(&c, r->name))
		proto_call(&c, "reload done", args, NULL, NULL, err, sizeof(err), NULL);
	proto_close(&c);
	json_decref(args);
}

static void run(struct reload *r, bool asked)
{
	char text[RELOAD_TEXT_MAX] = "", outcome[RELOAD_TEXT_MAX + 64];
	bool changed;
	int status;

	reload_reap(r);
	if (r->said)
		r->said(r->ctx, NULL);
	status = reload(r, text, &changed);
	report(r, status, text, asked, changed);
	snprintf(outcome, sizeof(outcome), "%s: %s", status ? "not reloaded" : "reloaded", text);
	if (r->said)
		r->said(r->ctx, outcome);
}

void reload_serve(struct reload *r)
{
	json_t *msg;
	bool asked;

	if (proto_recv(&r->awaits, 1000, &msg)) {
		proto_close(&r->awaits); /* the instance ends */
		return;
	}
	asked = !json_integer_value(json_object_get(json_object_get(msg, "end"), "status"));
	json_decref(msg);
	if (!asked) {
		proto_close(&r->awaits);
		return;
	}
	run(r, true);
	await(r);
}

void reload_now(struct reload *r)
{
	run(r, false);
}
