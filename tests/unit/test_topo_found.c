/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests topologies as tools print them for real clusters: all rates, routers, remarks of the tools,
 * and contradictions.
 */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/stats.h"
#include "topo_check.h"
#include "util/list.h"

/*
 * Every rate as ibnetdiscover prints it, and the widths and speeds that a port with this rate must
 * have enabled.
 */
static void test_rates_of_ibnetdiscover(void **state)
{
	static const struct {
		const char *text;
		uint8_t width, speed, ext;
	} rates[] = {
		{ "1xSDR", 1, 1, 0 },  { "2xHDR", 16, 4, 4 },  { "4xSDR", 2, 1, 0 },
		{ "4xDDR", 2, 2, 0 },  { "8xDDR", 4, 2, 0 },   { "4xQDR", 2, 4, 0 },
		{ "12xQDR", 8, 4, 0 }, { "4xFDR10", 2, 4, 0 }, { "4xFDR", 2, 4, 1 },
		{ "4xEDR", 2, 4, 2 },  { "4xHDR", 2, 4, 4 },   { "4xNDR", 2, 4, 8 },
		{ "4xXDR", 2, 4, 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		char text[256], buf[16];
		struct topo_rate r;
		struct topo *t;

		snprintf(text, sizeof(text),
			 "Switch 4 \"S\" # \"s\"\n[1] \"H\"[1] # \"h\" lid 5 %s s=4 w=2 v=5\n\n"
			 "Ca 1 \"H\" # \"h\"\n[1] \"S\"[1] # lid 5 lmc 0 \"s\" lid 3 %s\n",
			 rates[i].text, rates[i].text);
		t = topo_ok(text);
		r = topo_rate(t, 0, 1);
		assert_int_equal(r.width, rates[i].width);
		assert_int_equal(r.speed, rates[i].speed);
		assert_int_equal(r.ext, rates[i].ext);
		assert_string_equal(topo_rate_print(buf, sizeof(buf), r), rates[i].text);
		topo_check_round_trip(t, true);
		topo_free(t);
	}
}

/*
 * ibnetdiscover could not read the rate of a switch's port. At the switch's end of the link it then
 * prints "4x???" if it does not know the speed, or "??SDR" if it does not know the width. The
 * parser must take the rate from the other end of the link. A width that neither end knows is 4x.
 */
static void test_rate_that_nobody_could_read_is_the_other_ends(void **state)
{
	struct topo *t = topo_ok(
		"Switch 4 \"S\"\n[1] \"H\"[1] # \"h\" lid 5 4x???\n[2] \"I\"[1] # \"i\" lid 6 "
		"??SDR\n\n"
		"Ca 1 \"H\"\n[1] \"S\"[1] # lid 5 lmc 0 \"s\" lid 3 4xHDR\n\nCa 1 \"I\"\n");
	char buf[16];

	assert_string_equal(topo_rate_print(buf, sizeof(buf), topo_rate(t, 0, 1)), "4xHDR");
	assert_string_equal(topo_rate_print(buf, sizeof(buf), topo_rate(t, 0, 2)), "4xSDR");
	topo_check_round_trip(t, true);
	topo_free(t);
}

/* A CA is cabled to another CA. On this line ibnetdiscover prints a blank before the GUID. */
static void test_back_to_back(void **state)
{
	struct topo *t =
		topo_ok("caguid=0x10\nCa\t1 \"H-10\"\t\t# \"a\"\n"
			"[1](11) \t\"H-20\"[1] (2a) \t\t# lid 1 lmc 0 \"b\" lid 2 4xEDR\n\n"
			"caguid=0x20\nCa\t1 \"H-20\"\t\t# \"b\"\n"
			"[1](2a) \t\"H-10\"[1] (11) \t\t# lid 2 lmc 0 \"a\" lid 1 4xEDR\n");
	char *s = topo_print(t, true, NULL);

	assert_int_equal(t->node[1]->port[1].guid, 0x2a);
	assert_non_null(
		strstr(s, "[1](11) \t\"H-20\"[1] (2a) \t\t# lid 1 lmc 0 \"b\" lid 2 4xEDR\n"));
	free(s);
	topo_check_round_trip(t, false);
	topo_free(t);
}

/* Descriptions can contain any characters, because they can come from a node-name-map file. */
static void test_descriptions_with_quotes_and_utf8(void **state)
{
	struct topo *t = topo_ok(
		"Switch\t4 \"S-1\"\t\t# \"Rack \"A\" lid 7\" enhanced port 0 lid 3 lmc 0\n"
		"[1]\t\"H-2\"[1](9) \t\t# \"caf\xc3\xa9 \"x\" base port 0 lid 9\" lid 5 4xFDR\n\n"
		"caguid=0x8\nCa\t1 \"H-2\"\t\t# \"caf\xc3\xa9 \"x\" base port 0 lid 9\"\n"
		"[1](9) \t\"S-1\"[1]\t\t# lid 5 lmc 0 \"Rack \"A\" lid 7\" lid 3 4xFDR\n");

	assert_string_equal(t->node[0]->desc, "Rack \"A\" lid 7");
	assert_string_equal(t->node[1]->desc, "caf\xc3\xa9 \"x\" base port 0 lid 9");
	assert_int_equal(t->node[0]->port[0].lid, 3);
	assert_true(t->node[0]->enhanced_port0);
	assert_int_equal(t->node[1]->port[1].lid, 5);
	topo_check_round_trip(t, true);
	topo_free(t);
}

static void test_long_description_is_cut_between_characters(void **state)
{
	char text[256];
	struct topo *t;

	/*
	 * 63 octets, then a character of two octets, which does not fit into the 64 octets of a
	 * description.
	 */
	snprintf(text, sizeof(text),
		 "Switch 4 \"S\" # \"%063d\xc3\xa9 more\" base port 0 lid 3 lmc 0\n", 1);
	t = topo_ok(text);
	assert_int_equal(strlen(t->node[0]->desc), 63);
	assert_int_equal(t->node[0]->port[0].lid, 3);
	topo_check_round_trip(t, true);
	topo_free(t);
}

/* --- lenient */

struct remarks {
	unsigned int n[TOPO_NOTE_MAX];
	char text[4096];
};

static void on_note(void *ctx, enum topo_note kind, const char *text)
{
	struct remarks *r = ctx;
	size_t len = strlen(r->text);

	r->n[kind]++;
	snprintf(r->text + len, sizeof(r->text) - len, "%s\n", text);
}

static struct topo *found(const char *text, struct remarks *r)
{
	struct topo_sink sink = { on_note, r };
	struct topo_err err;
	struct topo *t = NULL;

	memset(r, 0, sizeof(*r));
	if (topo_parse_found(&t, "t", text, strlen(text), &sink, &err))
		fail_msg("%s", err.text);
	return t;
}

static void test_found_router_is_left_out_with_its_cables(void **state)
{
	struct remarks r;
	struct topo *t = found(
		"switchguid=0x1\nSwitch 4 \"S-1\" # \"s\" base port 0 lid 1 lmc 0\n"
		"[1] \"H-2\"[1](3) # \"h\" lid 2 4xEDR\n[2] \"R-4\"[1](5) # \"r\" lid 3 4xEDR\n\n"
		"vendid=0x77\nsysimgguid=0x99\nrtguid=0x4\nRt 2 \"R-4\" # \"r\"\n"
		"[1](5) \"S-1\"[2] # lid 3 lmc 0 \"s\" lid 1 4xEDR\n\n"
		"caguid=0x2\nCa 1 \"H-2\" # \"h\"\n[1](3) \"S-1\"[1] # lid 2 lmc 0 \"s\" lid 1 "
		"4xEDR\n",
		&r);

	assert_int_equal(t->n, 2);
	assert_int_equal(t->node[0]->port[2].peer, TOPO_NO_PEER);
	assert_int_equal(t->node[0]->port[1].peer, 1);
	/* The attributes before the router's record must not apply to the node after it. */
	assert_int_equal(t->node[1]->vendor_id, 0);
	assert_int_equal(t->node[1]->sys_guid, 2);
	assert_int_equal(r.n[TOPO_NOTE_LEFT_OUT], 2);
	assert_string_equal(r.text, "t:9: routers are not supported: ' 2 \"R-4\" # \"r\"'\n"
				    "t:4: node \"R-4\" is not defined\n");
	topo_check_round_trip(t, true);
	topo_free(t);
}

static void test_found_words_of_tools_in_the_middle_of_a_record(void **state)
{
	struct remarks r;
	struct topo *t =
		found("ibwarn: [2718] mad_rpc: _do_madrpc failed; dport (Lid 4)\n"
		      "Switch 4 \"s\"\n[1] \"h\"[1]\n"
		      "src/query_smp.c:227; mad (DR path slid 0; dlid 0; 0,1,2) bad status 110\n"
		      "[2] \"h\"[2]\n\nCa 2 \"h\"\n",
		      &r);

	assert_int_equal(t->node[0]->port[1].peer, 1);
	assert_int_equal(t->node[0]->port[2].peer, 1);
	assert_int_equal(r.n[TOPO_NOTE_LEFT_OUT], 2);
	assert_non_null(strstr(r.text, "t:4: expected Switch, Ca, Hca"));
	topo_free(t);
}

static void test_found_contradiction_keeps_the_first(void **state)
{
	struct remarks r;
	struct topo *t = found("Switch 4 \"a\"\n[1] \"b\"[1]\n[2] \"c\"[1]\n\n"
			       "Switch 4 \"b\"\n[2] \"a\"[1]\n\nSwitch 4 \"c\"\n[1] \"a\"[2]\n",
			       &r);

	assert_int_equal(t->node[0]->port[1].peer, 1);
	assert_int_equal(t->node[0]->port[1].peer_port, 1);
	assert_int_equal(t->node[1]->port[2].peer, TOPO_NO_PEER);
	assert_int_equal(t->node[0]->port[2].peer, 2);
	assert_int_equal(r.n[TOPO_NOTE_LEFT_OUT], 1);
	assert_non_null(strstr(r.text, "t:6: port 2 of \"b\" to port 1 of \"a\", but line 2 "));
	topo_check_round_trip(t, true);
	topo_free(t);
}

/*
 * If the parser leaves out a line, it must ignore the port GUIDs in this line, too. Without the
 * line the port has no cable, and a topology file cannot give GUIDs of ports without cables.
 */
static void test_found_guids_of_a_line_that_is_left_out_do_not_count(void **state)
{
	struct remarks r;
	struct topo *t = found("caguid=0x100\nCa 2 \"A\"\n[1](501) \"S\"[1]\n\n"
			       "caguid=0x200\nCa 2 \"B\"\n[1](201) \"S\"[2]\n"
			       "[2](777) \"B\"[1](201)\n\nSwitch 4 \"S\"\n",
			       &r);

	assert_int_equal(r.n[TOPO_NOTE_LEFT_OUT], 1);
	assert_int_equal(t->node[1]->port[2].peer, TOPO_NO_PEER);
	assert_int_equal(t->node[1]->port[1].guid, 0x201);
	assert_int_equal(t->node[1]->port[2].guid, 0x202);
	topo_check_round_trip(t, true);
	topo_free(t);
	/* A line that was left out must not contradict a later line. */
	t = found("caguid=0x200\nCa 2 \"B\"\n[1](201) \"S\"[2]\n[2](777) \"B\"[1](201)\n"
		  "\nSwitch 4 \"S\"\n[3] \"B\"[2](333)\n",
		  &r);
	assert_int_equal(r.n[TOPO_NOTE_LEFT_OUT], 1);
	assert_int_equal(t->node[0]->port[2].guid, 0x333);
	assert_int_equal(t->node[0]->port[2].peer, 1);
	topo_check_round_trip(t, true);
	topo_free(t);
}

static void test_found_second_node_of_a_name_or_guid_is_left_out(void **state)
{
	struct remarks r;
	struct topo *t =
		found("caguid=0x5\nCa 1 \"h\" # \"one\"\n[1] \"s\"[1]\n\n"
		      "caguid=0x9\nCa 1 \"h\" # \"two\"\n[1] \"s\"[2]\n\n"
		      "caguid=0x5\nCa 1 \"i\" # \"three\"\n[1] \"s\"[3]\n\nSwitch 4 \"s\"\n",
		      &r);

	assert_int_equal(t->n, 2);
	assert_string_equal(t->node[0]->desc, "one");
	assert_int_equal(t->node[1]->port[2].peer, TOPO_NO_PEER);
	assert_int_equal(t->node[1]->port[3].peer, TOPO_NO_PEER);
	assert_int_equal(r.n[TOPO_NOTE_LEFT_OUT], 2);
	topo_free(t);
}

static void test_found_still_refuses(void **state)
{
	static const char twice[] =
		"caguid=0x10\nCa 1 \"a\"\n\ncaguid=0x20\nCa 1 \"b\"\n\nSwitch 2 \"s\"\n"
		"[1] \"b\"[1](11)\n";
	struct remarks r = { 0 };
	struct topo_sink sink = { on_note, &r };
	struct topo *t = NULL;
	struct topo_err err;
	char noise[1100 * 6 + 1] = "";

	assert_int_equal(topo_parse_found(&t, "t", "# nothing\n", 10, &sink, &err), -EINVAL);
	assert_int_equal(topo_parse_found(&t, "t", twice, strlen(twice), &sink, &err), -EINVAL);
	assert_non_null(strstr(err.text, "port GUID 0x11 belongs to \"a\" and to \"b\""));
	for (int i = 0; i < 1100; i++)
		strcat(noise, "noise\n");
	assert_int_equal(topo_parse_found(&t, "t", noise, strlen(noise), &sink, &err), -EINVAL);
	assert_non_null(strstr(err.text, "t:1001: "));
}

/* A subnet has 49,151 unicast LIDs, so a topology with more ports must be refused. */
static void test_more_ports_than_lids_is_refused(void **state)
{
	size_t len;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);
	struct topo_err err;
	struct topo *t = NULL;

	for (int s = 0; s < 197; s++) {
		fprintf(f, "Switch 254 \"s%d\"\n", s);
		for (int p = 1; p <= 250; p++)
			fprintf(f, "[%d] \"h%d\"[1]\n", p, s * 250 + p - 1);
		fputc('\n', f);
	}
	for (int h = 0; h < 197 * 250; h++)
		fprintf(f, "Ca 1 \"h%d\"\n\n", h);
	fclose(f);
	assert_int_equal(topo_parse(&t, "t", text, len, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "49447 ports need a LID each, a subnet has 49151"));
	free(text);
}

/*
 * If the record of a CA gives no LID and no rate, these must be taken from the record of the switch
 * at the other end.
 */
static void test_lid_and_rate_of_an_end_without_a_line(void **state)
{
	struct topo *t = topo_ok("Switch 4 \"S\" # \"s\" base port 0 lid 1 lmc 0\n"
				 "[1] \"H\"[2] # \"h\" lid 5 4xHDR\n\nCa 2 \"H\" # \"h\"\n");
	char buf[16];

	assert_int_equal(t->node[1]->port[2].lid, 5);
	assert_string_equal(topo_rate_print(buf, sizeof(buf), topo_rate(t, 1, 2)), "4xHDR");
	topo_check_round_trip(t, true);
	topo_free(t);
}

static void test_stats(void **state)
{
	struct remarks r;
	struct topo_sink sink = { on_note, &r };
	struct topo_stats s;
	struct topo *t =
		topo_ok("Switch 8 \"S\" # \"s\" base port 0 lid 1 lmc 0\n"
			"[1] \"A\"[1] # \"h\" lid 2 4xHDR\n[2] \"B\"[1] # \"h\" lid 2 4xHDR\n"
			"[3] \"C\"[1] # \"c\" lid 9 4xFDR10\n\n"
			"Ca 1 \"A\" # \"h\"\n[1] \"S\"[1] # lid 2 lmc 0 \"s\" lid 1 4xHDR\n\n"
			"Ca 1 \"B\" # \"h\"\n[1] \"S\"[2] # lid 2 lmc 0 \"s\" lid 1 4xHDR\n\n"
			"Ca 2 \"C\" # \"c\"\n\nCa 1 \"D\" # \"d\"\n");

	memset(&r, 0, sizeof(r));
	assert_int_equal(topo_stats_get(&s, t, "t", &sink), 0);
	assert_int_equal(s.switches, 1);
	assert_int_equal(s.cas, 4);
	assert_int_equal(s.links, 3);
	assert_int_equal(s.ends, 4); /* a port without a cable needs no LID */
	assert_int_equal(s.lids, 4);
	assert_int_equal(s.top_lid, 9);
	assert_int_equal(s.nrates, 2);
	assert_string_equal(s.rate[0].name, "4xHDR");
	assert_int_equal(s.rate[0].links, 2);
	assert_string_equal(s.rate[1].name, "4xFDR10");
	assert_string_equal(r.text, "t:4: no line of \"c\" has this cable\n"
				    "t:4: 4xFDR10 runs as QDR\n"
				    "t:14: \"d\" has no cable\n"
				    "t:10: LID 2 of \"h\" is that of \"h\" too\n"
				    "t:9: \"h\" is described as the CA of line 6\n");
	topo_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates_of_ibnetdiscover),
		cmocka_unit_test(test_rate_that_nobody_could_read_is_the_other_ends),
		cmocka_unit_test(test_back_to_back),
		cmocka_unit_test(test_descriptions_with_quotes_and_utf8),
		cmocka_unit_test(test_long_description_is_cut_between_characters),
		cmocka_unit_test(test_found_router_is_left_out_with_its_cables),
		cmocka_unit_test(test_found_words_of_tools_in_the_middle_of_a_record),
		cmocka_unit_test(test_found_contradiction_keeps_the_first),
		cmocka_unit_test(test_found_guids_of_a_line_that_is_left_out_do_not_count),
		cmocka_unit_test(test_found_second_node_of_a_name_or_guid_is_left_out),
		cmocka_unit_test(test_found_still_refuses),
		cmocka_unit_test(test_more_ports_than_lids_is_refused),
		cmocka_unit_test(test_lid_and_rate_of_an_end_without_a_line),
		cmocka_unit_test(test_stats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
