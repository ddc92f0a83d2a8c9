/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline/cmdline.h"
#include "util/escape.h"

#define COLS_MAX 24

void cli_print(FILE *f, const char *fmt, ...)
{
	va_list ap;
	char *s, *line, *rest;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) >= 0) {
		rest = s;
		while ((line = strsep(&rest, "\n"))) {
			text_print_escaped(f, line);
			if (rest)
				fputc('\n', f);
		}
		free(s);
	}
	va_end(ap);
}

void cli_print_lines(int indent, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		cli_print(stdout, "%*s%.*s\n", indent, "", (int)n, text);
		text += n + (text[n] != '\0');
	}
}

int cli_flush(int status)
{
	int err = fflush(stdout) ? errno : ferror(stdout) ? EIO : 0;

	if (!err)
		return status;
	return cli_error(status ? status : PROTO_EXIT_FAILED, "standard output: %s", strerror(err));
}

/*
 * Prints JSON, and escapes DEL, because Jansson escapes all ASCII control characters but DEL. DEL
 * can only be inside a string.
 */
static int put_json(const char *text, size_t len, void *file)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == 0x7f)
			fputs("\\u007f", file);
		else
			putc(text[i], file);
	}
	return 0;
}

/*
 * Print only ASCII, because terminals interpret U+009B as ESC [, and JSON does not escape this
 * character.
 */
void cli_print_json(json_t *doc)
{
	json_dump_callback(doc, put_json, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(doc);
}

/* --- values */

static json_t *lookup(const json_t *row, const char *key)
{
	const char *dot;

	while ((dot = strchr(key, '.'))) {
		char part[64];

		snprintf(part, sizeof(part), "%.*s", (int)(dot - key), key);
		row = json_object_get(row, part);
		key = dot + 1;
	}
	return json_object_get(row, key);
}

static void print_value(FILE *f, json_t *v);

/* Print the members in one line, as in "qkey 1, icrc 2". */
static void print_members(FILE *f, json_t *v)
{
	bool first = true;
	const char *key;
	json_t *one;

	if (!json_object_size(v))
		fputc('-', f);
	json_object_foreach(v, key, one)
	{
		cli_print(f, "%s%s ", first ? "" : ", ", key);
		print_value(f, one);
		first = false;
	}
}

static void print_value(FILE *f, json_t *v)
{
	size_t i;
	json_t *one;

	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_NULL:
		fputc('-', f);
		break;
	case JSON_STRING:
		text_print_escaped(f, *json_string_value(v) ? json_string_value(v) : "-");
		break;
	case JSON_INTEGER:
		fprintf(f, "%lld", (long long)json_integer_value(v));
		break;
	case JSON_REAL:
		fprintf(f, "%g", json_real_value(v));
		break;
	case JSON_TRUE:
		fputs("yes", f);
		break;
	case JSON_FALSE:
		fputs("no", f);
		break;
	case JSON_ARRAY:
		if (!json_array_size(v))
			fputc('-', f);
		json_array_foreach(v, i, one)
		{
			if (i)
				fputc(' ', f);
			print_value(f, one);
		}
		break;
	case JSON_OBJECT:
		print_members(f, v);
		break;
	}
}

static void print_dev(FILE *f, const json_t *row)
{
	const char *host = json_string_value(json_object_get(row, "host"));

	print_value(f, json_object_get(row, "ifname"));
	if (host && *host)
		cli_print(f, "@%s", host);
}

char *cli_text(const json_t *row, const char *key)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f) {
		if (!strcmp(key, "@dev"))
			print_dev(f, row);
		else
			print_value(f, lookup(row, key));
		fclose(f);
	}
	if (!text) {
		cli_error(PROTO_EXIT_FAILED, "out of memory");
		exit(PROTO_EXIT_FAILED);
	}
	return text;
}

/* --- tables */

static size_t col_width(const struct cli_col *c, const json_t *rows)
{
	size_t width = strlen(c->head), i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		char *text = cli_text(row, c->key);

		if (strlen(text) > width)
			width = strlen(text);
		free(text);
	}
	return width;
}

static void print_cell(const struct cli_col *c, const char *text, size_t width, bool last)
{
	if (c->right)
		printf("%*s", (int)width, text);
	else if (last)
		fputs(text, stdout);
	else
		printf("%-*s", (int)width, text);
	fputs(last ? "\n" : "  ", stdout);
}

static void print_table(const struct cli_col *cols, const json_t *rows)
{
	size_t width[COLS_MAX], n = 0, i;
	json_t *row;

	for (; cols[n].key && n < COLS_MAX; n++)
		width[n] = col_width(&cols[n], rows);
	for (size_t k = 0; k < n; k++)
		print_cell(&cols[k], cols[k].head, width[k], k + 1 == n);
	json_array_foreach(rows, i, row)
	{
		for (size_t k = 0; k < n; k++) {
			char *text = cli_text(row, cols[k].key);

			print_cell(&cols[k], text, width[k], k + 1 == n);
			free(text);
		}
	}
}

/* --- blocks */

static void print_member(const char *key, json_t *v, int indent)
{
	size_t i;
	json_t *one;

	if (json_is_object(v)) {
		cli_print(stdout, "%*s%s\n", indent, "", key);
		cli_print_block(v, indent + 4);
	} else if (json_is_array(v) && json_is_object(json_array_get(v, 0))) {
		cli_print(stdout, "%*s%s\n", indent, "", key);
		json_array_foreach(v, i, one)
		{
			printf("%*s-\n", indent + 2, "");
			cli_print_block(one, indent + 4);
		}
	} else {
		cli_print(stdout, "%*s%s ", indent, "", key);
		print_value(stdout, v);
		putchar('\n');
	}
}

void cli_print_block(json_t *row, int indent)
{
	const char *key;
	json_t *v;

	json_object_foreach(row, key, v) print_member(key, v, indent);
}

static void print_blocks(const struct cli_show *s, const json_t *rows)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		for (const char *const *t = s->title; *t; t++) {
			char *text = cli_text(row, *t);

			printf("%s%s", t == s->title ? "" : " ", text);
			free(text);
		}
		putchar('\n');
		cli_print_block(row, 4);
	}
}

/* --- the choice of a form */

void cli_print_rows(const struct cli_show *s, json_t *rows)
{
	if (cli_opts.json) {
		cli_print_json(json_pack("{s:i, s:O}", "schema", PROTO_SCHEMA, s->object, rows));
	} else if (!json_array_size(rows)) {
		if (s->none)
			printf("%s\n", s->none);
	} else if (cli_opts.details) {
		print_blocks(s, rows);
	} else {
		print_table(s->cols, rows);
	}
}

static void add_row(void *ctx, json_t *row)
{
	json_array_append(ctx, row);
}

int cli_show(const struct cli_show *s, int argc, char **argv)
{
	json_t *args, *rows;
	int status = cli_args(&args, s->keys, argc, argv);

	if (status)
		return status;
	rows = json_array();
	status = cli_call(s->cmd, args, add_row, rows);
	/*
	 * Rows that came before an error are shown, too. For example, the command that shows a
	 * route reports an error if the route ends in a loop.
	 */
	if (!status || json_array_size(rows))
		cli_print_rows(s, rows);
	json_decref(rows);
	return status;
}
