/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/import.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "os/file.h"
#include "conf/import_priv.h"
#include "topo/stats.h"
#include "util/list.h"
#include "util/escape.h"

/* Keys of the report, indexed by kind of remark. Each key counts the remarks of its kind. */
static const char *const note_keys[] = {
	[TOPO_NOTE_LEFT_OUT] = "left_out",
	[TOPO_NOTE_ONE_SIDED] = "one_sided",
	[TOPO_NOTE_SAME_DESC] = "same_description",
	[TOPO_NOTE_SAME_LID] = "same_lid",
	[TOPO_NOTE_CUT_DESC] = "cut_description",
	[TOPO_NOTE_SLOWER] = "slower",
	[TOPO_NOTE_ALONE] = "no_cable",
};
static_assert(ARRAY_SIZE(note_keys) == TOPO_NOTE_MAX, "every remark has a key");

int import_fail(struct import *im, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(im->err, IMPORT_ERR_MAX, fmt, ap);
	va_end(ap);
	return status;
}

/*
 * Make a JSON string of a text that may have octets that are not UTF-8, which JSON does not allow.
 */
static json_t *text_json(const char *text)
{
	char *utf8 = text_utf8(text);
	json_t *v = utf8 ? json_string(utf8) : NULL;

	free(utf8);
	return v;
}

static void on_note(void *ctx, enum topo_note kind, const char *text)
{
	struct import *im = ctx;

	json_array_append_new(json_object_get(im->notes, note_keys[kind]), text_json(text));
}

static void step(const struct import *im, const char *what)
{
	if (im->o->step)
		im->o->step(im->name, what);
}

/* --- reading */

static bool begins(const char *p, const char *word)
{
	return strncmp(p, word, strlen(word)) == 0;
}

/* Return the first line that is neither empty nor a comment; "" if there is no such line. */
static const char *first_line(const char *p)
{
	while (*p == '#' || *p == '\n' || *p == '\r') {
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	return p;
}

/* Refuse the other output formats of ibnetdiscover, because they do not tell which ports are connected. */
static int check_kind(struct import *im, const char *text, size_t len)
{
	const char *p = first_line(text);

	if (memchr(text, 0, len))
		return import_fail(
			im, -EINVAL,
			"%s: not a text; of a cache `ibnetdiscover --load-cache` makes one",
			im->name);
	if (!*p)
		return import_fail(im, -EINVAL, "%s: no node in it", im->name);
	if (begins(p, "SW ") || begins(p, "CA ") || begins(p, "RT ") || begins(p, "Ca\t :") ||
	    begins(p, "Switch\t :") || begins(p, "Router\t :"))
		return import_fail(
			im, -EINVAL,
			"%s: a report (ibnetdiscover -p, -l, -H, -S or -R), expected what "
			"ibnetdiscover prints without these options",
			im->name);
	if (begins(p, "< ") || begins(p, "> "))
		return import_fail(im, -EINVAL, "%s: a difference of two fabrics", im->name);
	return 0;
}

static int read_topo(struct import *im, const char *text, size_t len)
{
	struct topo_sink sink = { .note = on_note, .ctx = im };
	struct topo_err why = { "" };
	int err = check_kind(im, text, len);

	if (err)
		return err;
	step(im, "finding its nodes and cables");
	err = topo_parse_found(&im->topo, im->name, text, len, &sink, &why);
	return err ? import_fail(im, err, "%s", why.text) : 0;
}

/* --- the report */

static void set_number(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

static int report_fill(struct import *im)
{
	struct topo_sink sink = { .note = on_note, .ctx = im };
	struct topo_stats s;
	json_t *rates = json_object(), *r = im->report;
	int err = topo_stats_get(&s, im->topo, im->name, &sink);

	if (err) {
		json_decref(rates);
		return import_fail(im, err, "out of memory");
	}
	json_object_set_new(r, "file", text_json(im->name));
	set_number(r, "switches", s.switches);
	set_number(r, "cas", s.cas);
	set_number(r, "links", s.links);
	set_number(r, "ports", s.ends);
	set_number(r, "lids", s.lids);
	set_number(r, "top_lid", s.top_lid);
	for (unsigned int i = 0; i < s.nrates; i++)
		set_number(rates, s.rate[i].name, s.rate[i].links);
	json_object_set_new(r, "rates", rates);
	for (size_t k = 0; k < ARRAY_SIZE(note_keys); k++)
		set_number(r, note_keys[k],
			   json_array_size(json_object_get(im->notes, note_keys[k])));
	return 0;
}

static void report_written(struct import *im)
{
	if (im->o->topology)
		json_object_set_new(im->report, "topology", text_json(im->o->topology));
	if (!im->o->config)
		return;
	json_object_set_new(im->report, "config", text_json(im->o->config));
	set_number(im->report, "hosts", im->hosts);
	set_number(im->report, "interfaces", im->ifaces);
}

/* --- parse each text that was made, before it is written to its file */

static int check_topo_text(struct import *im)
{
	struct topo *again = NULL;
	struct topo_err why;
	char *text = NULL;
	size_t len = 0;
	int err = topo_parse(&again, im->o->topology, im->topo_text, im->topo_len, NULL, &why);

	if (err)
		return import_fail(im, err, "the topology does not read back: %s", why.text);
	text = topo_print(again, im->keep_names, &len);
	topo_free(again);
	if (!text)
		return import_fail(im, -ENOMEM, "out of memory");
	if (len != im->topo_len || memcmp(text, im->topo_text, len) != 0)
		err = import_fail(im, -EINVAL, "the topology reads back otherwise");
	free(text);
	return err;
}

static int check_conf_text(struct import *im)
{
	char why[CONF_ERR_MAX];
	struct conf c;
	int err = conf_parse(&c, im->conf_text, im->conf_len, im->o->config, why);

	if (err)
		return import_fail(im, err, "the configuration does not read back: %.400s", why);
	conf_free(&c);
	return 0;
}

static int make_texts(struct import *im)
{
	int err;

	step(im, "making the topology");
	im->keep_names = import_names_ok(im->topo);
	im->topo_text = topo_print(im->topo, im->keep_names, &im->topo_len);
	if (!im->topo_text)
		return import_fail(im, -ENOMEM, "out of memory");
	step(im, "reading the topology back");
	err = check_topo_text(im);
	if (!err && im->o->config)
		err = import_conf_make(im);
	if (!err && im->o->config)
		err = check_conf_text(im);
	return err;
}

int import_make(struct import *im, const char *text, size_t len)
{
	int err = read_topo(im, text, len);

	step(im, "counting");
	if (!err)
		err = report_fill(im);
	if (!err && im->o->strict &&
	    json_integer_value(json_object_get(im->report, note_keys[TOPO_NOTE_LEFT_OUT])))
		return import_fail(im, -EPROTO, "%s: not all of it can be taken", im->name);
	if (!err && im->o->topology)
		err = make_texts(im);
	return err;
}

static int run(struct import *im)
{
	const char *file = strcmp(im->o->file, "-") ? im->o->file : "/dev/stdin";
	char *text;
	size_t len;
	int err;

	step(im, "reading it");
	err = file_read(file, &text, &len);
	if (err)
		return import_fail(im, err, "%s: %s", im->name, strerror(-err));
	err = import_make(im, text, len);
	free(text);
	if (!err && im->o->topology) {
		step(im, "writing");
		err = import_write(im);
	}
	if (!err)
		report_written(im);
	return err;
}

void import_init(struct import *im, const struct import_opts *o, char err[IMPORT_ERR_MAX])
{
	*im = (struct import){
		.o = o,
		.err = err,
		.name = o->file,
		.report = json_object(),
		.notes = json_object(),
	};
	for (size_t k = 0; k < ARRAY_SIZE(note_keys); k++)
		json_object_set_new(im->notes, note_keys[k], json_array());
	json_object_set_new(im->report, "notes", im->notes);
}

void import_free(struct import *im)
{
	topo_free(im->topo);
	free(im->topo_text);
	free(im->conf_text);
	json_decref(im->report);
}

int import_run(const struct import_opts *o, json_t **ret, char err[IMPORT_ERR_MAX])
{
	struct import im;
	int status;

	import_init(&im, o, err);
	status = run(&im);
	if (!status || status == -EPROTO)
		*ret = json_incref(im.report);
	import_free(&im);
	return status;
}
