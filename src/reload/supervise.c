/* SPDX-License-Identifier: BSD-2-Clause */
#include "reload/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "os/file.h"
#include "partition/partition.h"
#include "reload/make.h"
#include "util/escape.h"
#include "util/text.h"

/*
 * Longest time for which the supervisor waits until the instance has read an outcome. The time is
 * limited, because no signal is handled meanwhile
 */
#define REPORT_MS 20000

/* --- waiting for clients */

static void await(struct reload *r)
{
	if (r->awaits.fd < 0 && proto_connect(&r->awaits, r->name))
		return;
	if (proto_send(&r->awaits, "reload await", NULL))
		proto_close(&r->awaits);
}

/* Tell whether the instance still has to answer a reload */
static bool is_sent(const struct reload *r)
{
	return r->sent.answer.fd >= 0;
}

static void forget_sent(struct reload_sent *s)
{
	proto_close(&s->answer);
	conf_diff_free(&s->diff);
	conf_free(&s->conf);
	free(s->missing);
	s->missing = NULL;
}

void reload_open(struct reload *r)
{
	r->awaits = r->sent.answer = (struct proto_client){ .fd = -1, .fds = { -1, -1 } };
	await(r);
}

int reload_fd(const struct reload *r)
{
	return is_sent(r) ? r->sent.answer.fd : r->awaits.fd;
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
	forget_sent(&r->sent);
	if (r->conf == &r->own)
		conf_free(&r->own);
	/*
	 * These calls do not wait long: the daemon has ended, so each helper process removes its
	 * namespaces and ends.
	 */
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

/* Sends the changes in .sent.diff to the instance. Return: 0, or an exit status with a message in @err */
static int send_diff(struct reload *r, char *err)
{
	const struct conf *is = &r->sent.conf;
	struct reload_text *texts = calloc(is->nfabrics + 1, sizeof(*texts));
	struct reload_job job = {
		.name = r->name, .was = r->conf, .diff = &r->sent.diff, .texts = texts
	};
	pid_t helper = 0;
	int status;

	if (!texts) {
		snprintf(err, RELOAD_TEXT_MAX, "out of memory");
		return PROTO_EXIT_FAILED;
	}
	status = read_texts(&job, texts, is, err);
	if (!status)
		status = reload_make(&job, &helper, &r->sent.answer, err, RELOAD_TEXT_MAX);
	keep_helper(r, helper);
	free_texts(&job, texts);
	return status;
}

/* Reads the file, and sends the changes to the instance. Return: 0, or an exit status with a message in @err */
static int read_and_send(struct reload *r, char *err)
{
	struct reload_sent *s = &r->sent;

	if (conf_load_with(&s->conf, r->file, r->over, err) ||
	    conf_diff(&s->diff, r->conf, &s->conf, err))
		return PROTO_EXIT_USAGE;
	s->missing = calloc(s->diff.nrows + 1, sizeof(*s->missing));
	if (s->missing)
		return send_diff(r, err);
	snprintf(err, RELOAD_TEXT_MAX, "out of memory");
	return PROTO_EXIT_FAILED;
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

/* Write the changes as text, such as "added uib1@h1; removed uib2@h2; replaced uib3@h3 (mtu); kept 4" */
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
 * Removes from the new configuration the interfaces that the instance could not add, so that the next reload adds them.
 * Returns the number of these interfaces.
 */
static unsigned int drop_missing(struct reload_sent *s)
{
	const struct conf_diff *d = &s->diff;
	unsigned int n = 0;

	for (size_t k = s->conf.nifaces; k-- > 0;)
		for (size_t i = 0; i < d->nrows; i++)
			if (s->missing[i] && d->row[i].is == &s->conf.iface[k]) {
				conf_drop_iface(&s->conf, k);
				n++;
				break;
			}
	return n;
}

/* Records that the instance has the configuration that was sent. */
static void adopt(struct reload *r)
{
	if (r->conf == &r->own)
		conf_free(&r->own);
	r->own = r->sent.conf;
	r->sent.conf = (struct conf){ 0 };
	r->conf = &r->own;
}

/*
 * Tells the instance the outcome. The instance writes the outcome to its log, and sends it to the
 * clients that have asked for the reload. If the instance hangs, the request stays in the socket.
 */
static void report(const struct reload *r, int status, const char *text, bool changed)
{
	/* JSON allows only UTF-8, and @text may contain a file name, which can have any octets. */
	char err[256], *utf8 = text_utf8(text);
	json_t *args = json_pack("{s:i, s:s, s:b, s:b}", "status", status, "text", utf8 ? utf8 : "",
				 "asked", r->asked, "changed", changed);
	struct proto_client c;

	free(utf8);
	if (!proto_connect(&c, r->name)) {
		c.timeout_ms = REPORT_MS;
		proto_call(&c, "reload done", args, NULL, NULL, err, sizeof(err), NULL);
	}
	proto_close(&c);
	json_decref(args);
}

/*
 * Ends a reload, and reports its outcome. @changed is true if the instance has made changes: after a success, and
 * after a failure in the middle of the changes.
 */
static void end(struct reload *r, int status, const char *text, bool changed)
{
	char outcome[RELOAD_TEXT_MAX + 64];

	forget_sent(&r->sent);
	report(r, status, text, changed);
	snprintf(outcome, sizeof(outcome), "%s: %s", status ? "not reloaded" : "reloaded", text);
	if (r->said)
		r->said(r->ctx, outcome);
	if (r->asked)
		await(r);
}

static void begin(struct reload *r, bool asked)
{
	char text[RELOAD_TEXT_MAX] = "";
	int status;

	reload_reap(r);
	if (r->said)
		r->said(r->ctx, NULL);
	r->asked = asked;
	r->again = false;
	status = read_and_send(r, text);
	if (status)
		end(r, status, text, false);
}

static void answered(struct reload *r)
{
	struct reload_sent *s = &r->sent;
	char text[RELOAD_TEXT_MAX] = "";
	int status = reload_answer(&s->answer, &s->diff, s->missing, text, sizeof(text));
	bool changed;

	if (status == -EAGAIN)
		return;
	if (!status)
		describe(&s->diff, text);
	changed = !status || drop_missing(s);
	if (changed)
		adopt(r);
	end(r, status, text, changed);
	if (r->again)
		begin(r, false);
}

static void client_asked(struct reload *r)
{
	json_t *msg;
	bool asked;

	if (proto_recv(&r->awaits, 1000, &msg)) {
		proto_close(&r->awaits); /* the instance is ending */
		return;
	}
	asked = !json_integer_value(json_object_get(json_object_get(msg, "end"), "status"));
	json_decref(msg);
	if (asked)
		begin(r, true);
	else
		proto_close(&r->awaits);
}

void reload_serve(struct reload *r)
{
	if (is_sent(r))
		answered(r);
	else
		client_asked(r);
}

void reload_now(struct reload *r)
{
	r->again = is_sent(r);
	if (!r->again)
		begin(r, false);
}
