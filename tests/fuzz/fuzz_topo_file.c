/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text must be either accepted as a topology, or refused with a message. The printed text of an
 * accepted topology must be parsed to the same topology. The strict reader (topo_parse) and the
 * lenient reader (topo_found) share one grammar, and the corpus has files for both. If the strict
 * reader accepts a text, the lenient reader must accept the text, too, and leave out no line. When
 * the lenient reader leaves out a line, it must report the line.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topo/stats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The content of a file that the topology includes: the part of the input after the first 0 octet.
 */
struct rest {
	const uint8_t *p;
	size_t len;
};

static int read_rest(void *ctx, const char *file, char **ret, size_t *ret_len)
{
	const struct rest *r = ctx;

	if (!r->p)
		return -ENOENT;
	*ret = malloc(r->len + 1);
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, r->p, r->len);
	*ret_len = r->len;
	return 0;
}

static void check_print(const struct topo *t, bool keep)
{
	struct topo_err err;
	struct topo *u = NULL;
	size_t len, len2;
	char *a = topo_print(t, keep, &len), *b;

	assert(a);
	assert(topo_parse(&u, "again", a, len, NULL, &err) == 0);
	b = topo_print(u, keep, &len2);
	assert(b && len == len2 && !memcmp(a, b, len));
	free(a);
	free(b);
	topo_free(u);
}

static void on_note(void *ctx, enum topo_note kind, const char *text)
{
	assert(kind < TOPO_NOTE_MAX && strncmp(text, "f:", 2) == 0);
	*(unsigned int *)ctx += kind == TOPO_NOTE_LEFT_OUT;
}

static void check_found(const char *text, size_t len, bool strict)
{
	unsigned int left_out = 0;
	struct topo_sink sink = { on_note, &left_out };
	struct topo_stats st;
	struct topo *t = NULL;
	struct topo_err err;

	if (topo_parse_found(&t, "f", text, len, &sink, &err)) {
		assert(!t && !strict && err.text[0]);
		return;
	}
	assert(!strict || !left_out);
	assert(topo_stats_get(&st, t, "f", &sink) == 0);
	assert(st.switches + st.cas == t->n);
	check_print(t, false);
	check_print(t, true);
	topo_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = memchr(data, 0, size);
	struct rest rest = { cut ? cut + 1 : NULL, cut ? (size_t)(data + size - cut - 1) : 0 };
	struct topo_reader rd = { read_rest, &rest };
	struct topo *t = NULL;
	struct topo_err err;
	int rc;

	memset(&err, 0, sizeof(err));
	/*
	 * First parse the text without included files, because check_found() compares the result
	 * with that of the lenient reader, which does not support included files.
	 */
	rc = topo_parse(&t, "f", (const char *)data, cut ? (size_t)(cut - data) : size, NULL, &err);
	check_found((const char *)data, cut ? (size_t)(cut - data) : size, rc == 0);
	topo_free(t);
	t = NULL;
	rc = topo_parse(&t, "f", (const char *)data, cut ? (size_t)(cut - data) : size, &rd, &err);
	if (rc) {
		assert(!t && err.text[0]);
		return 0;
	}
	check_print(t, false);
	check_print(t, true);
	topo_free(t);
	return 0;
}
