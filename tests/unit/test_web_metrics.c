/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/metrics.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "util/list.h"

/*
 * Rows of the control protocol become text in the format 0.0.4 of Prometheus. A strict parser,
 * which accepts only valid text, reads every text that a test makes.
 */

/* --- a strict parser */

static const char *expect(const char *p, const char *what)
{
	if (strncmp(p, what, strlen(what)))
		fail_msg("expected '%s' at '%.60s'", what, p);
	return p + strlen(what);
}

static const char *skip_name(const char *p)
{
	const char *from = p;

	while (isalnum((unsigned char)*p) || *p == '_')
		p++;
	if (p == from || isdigit((unsigned char)*from))
		fail_msg("no name at '%.60s'", from);
	return p;
}

/*
 * Skip a quoted value. The value must have no control characters, and must have a backslash only
 * before a backslash or a quote.
 */
static const char *skip_value(const char *p)
{
	p = expect(p, "\"");
	for (; *p != '"'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			fail_msg("a control character at '%.60s'", p);
		if (*p == '\\' && *++p != '\\' && *p != '"')
			fail_msg("a wrong escape at '%.60s'", p - 1);
	}
	return p + 1;
}

static const char *skip_sample(const char *p, const char *name, size_t len)
{
	if (skip_name(p) != p + len || strncmp(p, name, len))
		fail_msg("'%.60s' does not belong to '%.*s'", p, (int)len, name);
	p += len;
	do {
		p = expect(skip_name(p + 1), "=");
		p = skip_value(p);
	} while (*p == ',');
	p = expect(p, "} ");
	p += strspn(p, "0123456789");
	return expect(p, "\n");
}

/*
 * Check that all lines of a metric are together, and follow the metric's HELP and TYPE lines. Check
 * that no set of labels occurs twice.
 */
static void check_format(const char *text)
{
	const char *p = text;

	while (*p) {
		const char *name = expect(p, "# HELP "), *end = skip_name(name), *type;
		size_t len = (size_t)(end - name);
		char type_line[256];
		bool counter;

		snprintf(type_line, sizeof(type_line), "# TYPE %.*s ", (int)len, name);
		assert_ptr_equal(strstr(text, type_line), strchr(name, '\n') + 1);
		assert_null(strstr(end, type_line) ? strstr(strstr(end, type_line) + 1, type_line)
						   : NULL);
		type = expect(strchr(name, '\n') + 1, type_line);
		counter = !strncmp(type, "counter\n", 8);
		assert_int_equal(counter, !strncmp(end - 6, "_total", 6));
		p = expect(type, counter ? "counter\n" : "gauge\n");
		while (*p && *p != '#') {
			const char *next = skip_sample(p, name, len);
			size_t labels = (size_t)(strstr(p, "} ") - p) + 2;
			char line[4096];

			snprintf(line, sizeof(line), "\n%.*s", (int)labels, p);
			if (strstr(next - 1, line))
				fail_msg("twice: %s", line);
			p = next;
		}
	}
}

/* --- rows */

struct rig {
	struct web_rows rows;
	char *text;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	r->rows = (struct web_rows){ json_array(), json_array(), json_array() };
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	json_decref(r->rows.nodes);
	json_decref(r->rows.links);
	json_decref(r->rows.stats);
	free(r->text);
	free(r);
	return 0;
}

static const char *make(struct rig *r)
{
	size_t len;

	free(r->text);
	r->text = NULL;
	assert_int_equal(web_metrics(&r->text, &len, &r->rows), 0);
	assert_int_equal(len, strlen(r->text));
	check_format(r->text);
	return r->text;
}

static json_t *add_node(struct rig *r, const char *fabric, const char *name, const char *type,
			const char *guid)
{
	json_t *n = json_pack("{s:s, s:s, s:s, s:s, s:i, s:[]}", "fabric", fabric, "node", name,
			      "type", type, "node_guid", guid, "lid", 7, "ports");

	assert_non_null(n);
	json_array_append_new(r->rows.nodes, n);
	return n;
}

static json_t *add_port(json_t *node, const char *port, const char *peer)
{
	json_t *p = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:{s:I, s:I, s:i}}", "port", port,
			      "link", "up", "state", "Active", "phys_state", "LinkUp", "speed",
			      "4xEDR", "lid", 9, "counters", "xmit_data", (json_int_t)250,
			      "rcv_data", (json_int_t)1 << 40, "symbol_errors", 3);

	assert_non_null(p);
	json_object_set_new(p, "peer", peer ? json_string(peer) : json_null());
	json_array_append_new(json_object_get(node, "ports"), p);
	return p;
}

static void add_drop(struct rig *r, const char *object, long long value, bool drop)
{
	json_array_append_new(r->rows.stats,
			      json_pack("{s:s, s:s, s:s, s:b, s:I}", "layer", "switch", "object",
					object, "counter", "drop_vl", "drop", drop, "value",
					(json_int_t)value));
}

static void has(struct rig *r, const char *line)
{
	if (!strstr(make(r), line))
		fail_msg("no '%s' in\n%s", line, r->text);
}

static void has_not(struct rig *r, const char *part)
{
	if (strstr(make(r), part))
		fail_msg("'%s' in\n%s", part, r->text);
}

/* --- cases */

static void test_nothing_gives_no_sample(void **state)
{
	has_not(*state, "{");
}

/*
 * The names must be those of infiniband_exporter and node_exporter. Data must be in octets,
 * although the rows count data in units of four octets.
 */
static void test_ports_have_the_names_of_both_exporters(void **state)
{
	struct rig *r = *state;
	json_t *s = add_node(r, "lab", "Switch1", "switch", "0x0000000000200000");
	json_t *h = add_node(r, "lab", "Hca1", "ca", "0x0000000000100000");

	add_port(s, "Switch1/2", "Hca1/1");
	add_port(h, "Hca1/1", "Switch1/2");
	has(r, "\ninfiniband_switch_port_transmit_data_bytes_total{guid=\"0x0000000000200000\","
	       "port=\"2\","
	       "switch=\"Switch1\",fabric=\"lab\"} 1000\n");
	has(r, "\ninfiniband_switch_port_receive_data_bytes_total{guid=\"0x0000000000200000\",port="
	       "\"2\","
	       "switch=\"Switch1\",fabric=\"lab\"} 4398046511104\n");
	has(r, "\ninfiniband_switch_port_symbol_error_total{guid=\"0x0000000000200000\",port=\"2\","
	       "switch=\"Switch1\",fabric=\"lab\"} 3\n");
	has(r, "\nnode_infiniband_port_data_transmitted_bytes_total{device=\"Hca1\",port=\"1\","
	       "fabric=\"lab\"} 1000\n");
	has(r, "\nnode_infiniband_state_id{device=\"Hca1\",port=\"1\",fabric=\"lab\"} 4\n");
	has(r,
	    "\nnode_infiniband_physical_state_id{device=\"Hca1\",port=\"1\",fabric=\"lab\"} 5\n");
	has(r, "\nnode_infiniband_rate_bytes_per_second{device=\"Hca1\",port=\"1\",fabric=\"lab\"} "
	       "12500000000\n");
	has(r,
	    "\ninfiniband_switch_rate_bytes_per_second{guid=\"0x0000000000200000\",fabric=\"lab\"} "
	    "12500000000\n");
	has(r,
	    "\ninfiniband_switch_uplink_info{guid=\"0x0000000000200000\",port=\"2\",switch="
	    "\"Switch1\","
	    "fabric=\"lab\",uplink=\"Hca1\",uplink_guid=\"0x0000000000100000\",uplink_type=\"CA\","
	    "uplink_port=\"1\",uplink_lid=\"9\"} 1\n");
	has(r, "\nuipoib_port_up{node=\"Switch1\",port=\"2\",fabric=\"lab\"} 1\n");
	/* The rows do not have this counter, so there must be no such metric. */
	has_not(r, "\ninfiniband_switch_port_transmit_wait_total{");
}

static void test_ports_without_a_cable_or_with_a_cable_to_elsewhere(void **state)
{
	struct rig *r = *state;
	json_t *s = add_node(r, "lab", "Switch1", "switch", "0x1");

	add_port(s, "Switch1/0", NULL);
	has_not(r, "port=\"0\"");
	add_port(s, "Switch1/3", "udp:127.0.0.1:5001");
	has(r, "infiniband_switch_port_transmit_data_bytes_total{guid=\"0x1\",port=\"3\"");
	has_not(r, "uplink_info{");
}

/*
 * Any node can set its NodeDescription, and a topology file can contain any name. A name must not
 * be able to close the quotes around it.
 */
static void test_hostile_names_stay_inside_their_quotes(void **state)
{
	static const char *const hostile[] = {
		"\"} 1\nevil_total{a=\"",
		"\\",
		"\\\"",
		"a\nb",
		"\x1b]0;x\a",
		("\xc2\x9b"
		 "31m"), /* two literals, because 3 would belong to the hexadecimal number */
		"a/b/c",
		"\xe2\x80\xaegnp",
		"{}",
		"# HELP x",
		"",
	};
	struct rig *r = *state;

	for (size_t k = 0; k < ARRAY_SIZE(hostile); k++) {
		char port[64], guid[16];
		json_t *s;

		snprintf(guid, sizeof(guid), "0x%zx", k);
		s = add_node(r, hostile[k], hostile[k], k & 1 ? "ca" : "switch", guid);
		snprintf(port, sizeof(port), "%s/1", hostile[k]);
		add_port(s, port, port);
		add_drop(r, hostile[k], 1, true);
		json_array_append_new(r->rows.links,
				      json_pack("{s:s, s:s, s:b}", "ifname", hostile[k], "host",
						hostile[k], "carrier", 0));
		make(r);
	}
	has(r, "switch=\"\\\"} 1\\\\x0aevil_total{a=\\\"\"");
	has_not(r, "\nevil_total");
	has(r, "object=\"a/b/c\"");
	has(r, "object=\"\\\\x1b]0;x\\\\x07\"");
}

static void test_long_names_are_cut_and_not_overrun(void **state)
{
	struct rig *r = *state;
	char name[3000];
	json_t *s;

	memset(name, '"', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	s = add_node(r, name, name, "switch", "0x1");
	memcpy(name + sizeof(name) - 3, "/1", 3);
	add_port(s, name, name);
	add_drop(r, name, 1, true);
	make(r);
}

/*
 * The format allows each set of labels only once, but two fabrics can have objects of the same
 * name. So the counts of drops of these objects must be added.
 */
static void test_drops_of_equal_names_are_added(void **state)
{
	struct rig *r = *state;

	add_drop(r, "Switch1", 5, true);
	add_drop(r, "Switch2", 1, true);
	add_drop(r, "Switch1", 7, true);
	add_drop(r, "Switch3", 9, false); /* this counter does not count drops */
	has(r,
	    "\nuipoib_drops_total{layer=\"switch\",object=\"Switch1\",counter=\"drop_vl\"} 12\n");
	has(r, "\nuipoib_drops_total{layer=\"switch\",object=\"Switch2\",counter=\"drop_vl\"} 1\n");
	has_not(r, "Switch3");
}

static void test_nodes_of_two_fabrics_with_equal_names(void **state)
{
	struct rig *r = *state;
	json_t *a = add_node(r, "a", "Switch1", "switch", "0x1"),
	       *ah = add_node(r, "a", "H", "ca", "0x2");
	json_t *b = add_node(r, "b", "Switch1", "switch", "0x1"),
	       *bh = add_node(r, "b", "H", "ca", "0x3");

	add_port(a, "Switch1/1", "H/1");
	add_port(ah, "H/1", "Switch1/1");
	add_port(b, "Switch1/1", "H/1");
	add_port(bh, "H/1", "Switch1/1");
	has(r, "fabric=\"a\",uplink=\"H\",uplink_guid=\"0x2\"");
	has(r, "fabric=\"b\",uplink=\"H\",uplink_guid=\"0x3\"");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_gives_no_sample),
		CASE(test_ports_have_the_names_of_both_exporters),
		CASE(test_ports_without_a_cable_or_with_a_cable_to_elsewhere),
		CASE(test_hostile_names_stay_inside_their_quotes),
		CASE(test_long_names_are_cut_and_not_overrun),
		CASE(test_drops_of_equal_names_are_added),
		CASE(test_nodes_of_two_fabrics_with_equal_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
