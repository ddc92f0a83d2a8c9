/* SPDX-License-Identifier: BSD-2-Clause */
#include "layout/draw.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "util/list.h"

/*
 * Tests the pictures (SVG and DOT) that src/layout makes from rows of the control protocol. Some
 * names in the rows contain quotes and markup.
 */

struct rig {
	json_t *nodes, *ports;
	struct layout l;
	char *text;
	size_t len;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	r->nodes = json_array();
	r->ports = json_array();
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	json_decref(r->nodes);
	json_decref(r->ports);
	layout_free(&r->l);
	free(r->text);
	free(r);
	return 0;
}

static void add_node(struct rig *r, const char *fabric, const char *name, const char *type)
{
	json_t *row = json_pack("{s:s, s:s, s:s}", "fabric", fabric, "node", name, "type", type);

	assert_non_null(row);
	if (!strcmp(type, "switch"))
		json_object_set_new(row, "lid", json_integer(7));
	json_array_append_new(r->nodes, row);
}

/* Add the two rows of a cable, one for each end of the cable */
static void add_cable(struct rig *r, const char *fabric, const char *a, const char *b,
		      const char *link)
{
	json_array_append_new(r->ports,
			      json_pack("{s:s, s:s, s:s, s:s, s:s}", "fabric", fabric, "port", a,
					"peer", b, "link", link, "speed", "4xEDR"));
	json_array_append_new(r->ports,
			      json_pack("{s:s, s:s, s:s, s:s, s:s}", "fabric", fabric, "port", b,
					"peer", a, "link", link, "speed", "4xEDR"));
}

static const char *draw(struct rig *r, void (*fn)(const struct layout *l, FILE *out))
{
	FILE *f;

	layout_free(&r->l);
	free(r->text);
	r->text = NULL;
	assert_int_equal(layout_rows(&r->l, r->nodes, r->ports), 0);
	assert_int_equal(layout_place(&r->l), 0);
	f = open_memstream(&r->text, &r->len);
	assert_non_null(f);
	fn(&r->l, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(strlen(r->text), r->len);
	return r->text;
}

static unsigned int count(const char *text, const char *part)
{
	unsigned int n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

/* --- checkers */

/*
 * Check that @p is XML of the kind that layout_svg() may write: elements are nested, attributes are
 * quoted, and '&' only begins a character reference.
 */
static void check_xml(const char *p)
{
	char open[16][16];
	unsigned int depth = 0;

	for (; *p; p++) {
		size_t n;

		assert_true((unsigned char)*p >= 0x20 || *p == '\n');
		if (*p == '&') {
			assert_int_equal(p[1], '#');
			n = strspn(p + 2, "0123456789");
			assert_true(n && p[2 + n] == ';');
		}
		if (*p != '<')
			continue;
		if (p[1] == '/') {
			assert_true(depth > 0);
			n = strlen(open[--depth]);
			assert_memory_equal(p + 2, open[depth], n);
			assert_int_equal(p[2 + n], '>');
			p += 2 + n;
			continue;
		}
		n = strcspn(++p, " >/");
		assert_true(n && n < sizeof(open[0]) && islower((unsigned char)*p));
		assert_true(depth < ARRAY_SIZE(open));
		memcpy(open[depth], p, n);
		open[depth++][n] = '\0';
		for (p += n; *p != '>'; p++) {
			assert_true(*p && *p != '<');
			if (*p == '"')
				p += 1 + strcspn(p + 1, "\"<");
			if (*p == '/')
				depth--;
		}
	}
	assert_int_equal(depth, 0);
}

/*
 * Check the DOT text @p: each quoted string ends on its line, the braces are balanced, and only
 * letters, digits and punctuation of DOT occur outside quotes.
 */
static void check_dot(const char *p)
{
	bool quoted = false;
	unsigned int braces = 0;

	for (; *p; p++) {
		assert_true((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t');
		if (*p == '\\') {
			assert_true(quoted && (p[1] == '"' || p[1] == '\\' || p[1] == 'n'));
			p++;
		} else if (*p == '"') {
			quoted = !quoted;
		} else if (!quoted) {
			braces += *p == '{';
			braces -= *p == '}';
			assert_true(isalnum((unsigned char)*p) || strchr("{}[]=;,- \t\n", *p));
		} else {
			assert_true(*p != '\n');
		}
	}
	assert_false(quoted);
	assert_int_equal(braces, 0);
}

/* --- cases */

static void test_demo_fabric(void **state)
{
	struct rig *r = *state;
	const char *svg, *dot;

	add_node(r, "lab", "Switch1", "switch");
	add_node(r, "lab", "Switch2", "switch");
	add_node(r, "lab", "Hca1", "ca");
	add_cable(r, "lab", "Hca1/1", "Switch1/1", "up");
	add_cable(r, "lab", "Switch1/2", "Switch2/1", "down");
	/* the peer of this link is in another process */
	add_cable(r, "lab", "Switch1/3", "udp:127.0.0.1:5001", "up");
	svg = draw(r, layout_svg);
	check_xml(svg);
	assert_int_equal(count(svg, "<path"), 2);
	assert_int_equal(count(svg, "<path class=\"down\""), 1);
	assert_int_equal(count(svg, "<g class=\"switch\">"), 2);
	assert_int_equal(count(svg, "<g class=\"ca\">"), 1);
	assert_non_null(strstr(svg, "<title>Switch1/1 - Hca1/1 4xEDR up</title>"));
	assert_non_null(strstr(svg, ">LID 7</text>"));
	dot = draw(r, layout_dot);
	check_dot(dot);
	assert_int_equal(count(dot, " -- "), 2);
	assert_non_null(strstr(dot, "label=\"Switch2\\nLID 7\""));
	/* the edge goes from the lower level to the higher one */
	assert_non_null(
		strstr(dot, "n2 -- n0 [taillabel=\"1\", headlabel=\"1\", tooltip=\"4xEDR\"];"));
	assert_non_null(strstr(dot, "style=dashed"));
}

static void test_cable_between_two_ports_of_a_node(void **state)
{
	struct rig *r = *state;

	add_node(r, "lab", "Switch1", "switch");
	add_cable(r, "lab", "Switch1/1", "Switch1/2", "up");
	check_xml(draw(r, layout_svg));
	assert_int_equal(r->l.nlinks, 1);
}

static void test_equal_names_in_two_fabrics(void **state)
{
	struct rig *r = *state;

	add_node(r, "a", "S", "switch");
	add_node(r, "a", "H", "ca");
	add_node(r, "b", "S", "switch");
	add_node(r, "b", "H", "ca");
	add_cable(r, "a", "S/1", "H/1", "up");
	add_cable(r, "b", "S/1", "H/1", "up");
	draw(r, layout_dot);
	assert_int_equal(r->l.nlinks, 2);
	assert_int_equal(r->l.link[0].a + r->l.link[0].b, 1);
	assert_int_equal(r->l.link[1].a + r->l.link[1].b, 5);
}

static void test_hostile_names_stay_inside(void **state)
{
	static const char *const hostile[] = {
		"</text><script>alert(1)</script>",
		"\"/><script>",
		"&lt;",
		"&",
		"]]>",
		"\"]; evil [label=\"",
		"\\",
		"\\\"",
		"\\N",
		"a\nb",
		"\x1b]0;x\a",
		"a/b/c",
		"\xe2\x80\xaegnp",
		"",
		"}{",
		"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		"\xc3\xa9"
		"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
	};
	struct rig *r = *state;
	char long_name[2000], a[64], b[64];

	memset(long_name, '<', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	for (size_t k = 0; k < ARRAY_SIZE(hostile); k++) {
		add_node(r, "lab", hostile[k], k & 1 ? "ca" : "switch");
		snprintf(a, sizeof(a), "%s/1", hostile[k]);
		snprintf(b, sizeof(b), "%s/2", hostile[k ? k - 1 : 0]);
		add_cable(r, "lab", a, b, "up");
	}
	add_node(r, "lab", long_name, "switch");
	check_xml(draw(r, layout_svg));
	assert_int_equal(r->l.nlinks, ARRAY_SIZE(hostile));
	assert_null(strstr(r->text, "<script"));
	check_dot(draw(r, layout_dot));
}

static void test_folded_cas_have_a_number(void **state)
{
	struct rig *r = *state;
	char name[32], port[32];

	add_node(r, "lab", "S", "switch");
	for (unsigned int k = 0; k < LAYOUT_FOLD + 1; k++) {
		snprintf(name, sizeof(name), "H%u", k);
		add_node(r, "lab", name, "ca");
		snprintf(name, sizeof(name), "H%u/1", k);
		snprintf(port, sizeof(port), "S/%u", k + 1);
		add_cable(r, "lab", name, port, "up");
	}
	assert_non_null(strstr(draw(r, layout_svg), ">129 CAs</text>"));
	check_xml(r->text);
	assert_int_equal(count(r->text, "<path"), 0);
	assert_non_null(strstr(draw(r, layout_dot), "\\n129 CAs\""));
	check_dot(r->text);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_demo_fabric),
		CASE(test_cable_between_two_ports_of_a_node),
		CASE(test_equal_names_in_two_fabrics),
		CASE(test_hostile_names_stay_inside),
		CASE(test_folded_cas_have_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
