/* SPDX-License-Identifier: BSD-2-Clause */
#include "conform/conform.h"

#include <string.h>

#include "conform/case.h"

/*
 * Writes the report for other programs, as JSON and as JUnit's XML. All texts of the report come
 * from this program; they are ASCII, except the sign §, which is UTF-8.
 */

static void json_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		if ((unsigned char)*s >= ' ')
			fputc(*s, f);
	}
	fputc('"', f);
}

static void json_member(FILE *f, const char *name, const char *value)
{
	fprintf(f, ",\"%s\":", name);
	json_string(f, value);
}

static void json_octets(FILE *f, const char *name, const struct conform_octets *o)
{
	if (!o->data)
		return;
	fprintf(f, ",\"%s\":\"", name);
	for (size_t i = 0; i < o->len; i++)
		fprintf(f, "%02x", o->data[i]);
	fputc('"', f);
}

void conform_print_json(FILE *f, const struct conform_report *r)
{
	const char *sep = "";

	fprintf(f,
		"{\"schema\":1,\"seconds\":%.1f,\"packets\":%llu,\"interrupted\":%s,\"conform\":[",
		(double)r->took / 1e9, (unsigned long long)r->packets,
		r->interrupted ? "true" : "false");
	for (size_t i = 0; i < r->n; i++) {
		const struct conform_result *v = &r->v[i];

		if (v->verdict == CONFORM_NOT_RUN)
			continue;
		fprintf(f, "%s\n{\"case\":", sep);
		json_string(f, v->c->id);
		fprintf(f, ",\"clause\":\"%.*s\"", (int)strcspn(v->c->id, "/"), v->c->id);
		json_member(f, "result", conform_verdict_name(v->verdict));
		json_member(f, "title", v->c->title);
		json_member(f, "section", v->c->section);
		json_member(f, "text", v->c->text);
		fprintf(f, ",\"checks\":%u", v->checked);
		if (*v->why)
			json_member(f, "why", v->why);
		if (v->because)
			json_member(f, "because", v->because->c->id);
		json_octets(f, "seen", &v->seen);
		json_octets(f, "expected", &v->expected);
		fputc('}', f);
		sep = ",";
	}
	fprintf(f, "\n]}\n");
}

static void xml(FILE *f, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			fputc(*s, f);
		}
	}
}

void conform_print_junit(FILE *f, const struct conform_report *r)
{
	size_t ran = r->n - conform_count(r, CONFORM_NOT_RUN);

	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"uipoib conform\" "
		"tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\" time=\"%.1f\">\n",
		ran, conform_count(r, CONFORM_FAIL),
		conform_count(r, CONFORM_INCONCLUSIVE) + conform_count(r, CONFORM_NA),
		(double)r->took / 1e9);
	for (size_t i = 0; i < r->n; i++) {
		const struct conform_result *v = &r->v[i];

		if (v->verdict == CONFORM_NOT_RUN)
			continue;
		fprintf(f, "<testcase classname=\"%.*s\" name=\"%s: ", (int)strcspn(v->c->id, "/"),
			v->c->id, v->c->id);
		xml(f, v->c->title);
		fprintf(f, "\">");
		if (v->verdict != CONFORM_PASS) {
			fprintf(f, "<%s message=\"%s: ",
				v->verdict == CONFORM_FAIL ? "failure" : "skipped",
				conform_verdict_name(v->verdict));
			xml(f, v->why);
			fprintf(f, "\"/>");
		}
		fprintf(f, "</testcase>\n");
	}
	fprintf(f, "</testsuite>\n");
}
