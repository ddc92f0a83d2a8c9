/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests topology files: both dialects (ibsim's and ibnetdiscover's), the messages and line numbers
 * of every class of error, and GUIDs that are assigned as in ibsim.
 */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo_check.h"
#include "util/list.h"

/* A file in ibsim's dialect: quoted names, no GUIDs, comments, and masks of rates. */
static const char sim_net[] = "# two switches, a loop between them\n"
			      "\n"
			      "Switch\t8 \"Switch1\"\n"
			      "[1]\t\"Hca1\"[1]\n"
			      "[2]\t\"Hca2\"[2]   w=2 s=4\n"
			      "# in the middle of a record\n"
			      "[3]\t\"Switch2\"[3]\n"
			      "[4]\t\"Switch2\"[4]\n"
			      "\n"
			      "Switch 8 \"Switch2\" # \"leaf two\"\n"
			      "[3]\t\"Switch1\"[3]\n"
			      "[4]\t\"Switch1\"[4]\n"
			      "\n"
			      "Hca\t2 \"Hca1\"\n"
			      "[1]\t\"Switch1\"[1]\n"
			      "\n"
			      "Hca\t2 \"Hca2\"\n"
			      "[2]\t\"Switch1\"[2]  w=3 s=7 e=15\n";

static void test_ibsim_dialect(void **state)
{
	struct topo *t = topo_ok(sim_net);
	const struct topo_node *sw1, *sw2, *h2;
	struct topo_rate r;
	uint32_t i;

	assert_int_equal(t->n, 4);
	sw1 = t->node[0];
	sw2 = t->node[1];
	h2 = t->node[3];
	assert_string_equal(sw1->name, "Switch1");
	assert_string_equal(sw1->desc, "Switch1");
	assert_string_equal(sw2->desc, "leaf two");
	assert_int_equal(sw1->type, IB_NODE_SWITCH);
	assert_int_equal(h2->type, IB_NODE_CA);
	assert_int_equal(sw1->nports, 8);
	assert_int_equal(sw1->port[4].peer, 1);
	assert_int_equal(sw1->port[4].peer_port, 4);
	assert_int_equal(sw2->port[4].peer, 0);
	assert_int_equal(sw1->port[2].peer, 3);
	assert_int_equal(h2->port[1].peer, TOPO_NO_PEER);
	/*
	 * Both masks of widths (2 and 3) contain 4x, and both masks of speeds (4 and 7) contain
	 * QDR. One end has no extended speed.
	 */
	r = topo_rate(t, 3, 2);
	assert_int_equal(r.width, 2);
	assert_int_equal(r.speed, 4);
	assert_int_equal(r.ext, 0);
	/* ibsim's default is 4x SDR */
	r = topo_rate(t, 0, 3);
	assert_int_equal(r.width, 2);
	assert_int_equal(r.speed, 1);
	assert_int_equal(topo_find(t, "leaf two", &i), 0);
	assert_int_equal(i, 1);
	assert_int_equal(topo_find(t, "Switch3", &i), -ENOENT);
	topo_free(t);
}

/*
 * If the file has no GUIDs, they are assigned as in ibsim. The first CA gets the GUID 0x100000, and
 * the GUID of the next CA is higher by the number of ports of the CA before it + 1. The first
 * switch gets 0x200000, and each further switch gets the next number. Port i of a CA has the GUID
 * of its node + i.
 */
static void test_guids_as_ibsim_assigns(void **state)
{
	struct topo *t = topo_ok(sim_net);

	assert_int_equal(t->node[0]->node_guid, 0x200000);
	assert_int_equal(t->node[0]->port[0].guid, 0x200000);
	assert_int_equal(t->node[1]->node_guid, 0x200001);
	assert_int_equal(t->node[2]->node_guid, 0x100000);
	assert_int_equal(t->node[2]->port[2].guid, 0x100002);
	assert_int_equal(t->node[3]->node_guid, 0x100003);
	assert_int_equal(t->node[3]->port[1].guid, 0x100004);
	assert_int_equal(t->node[3]->sys_guid, 0x100003);
	topo_free(t);
}

/*
 * "=V" sets the GUID of the next node to V. A later "+N" sets the GUID of the next node to V + N,
 * however many nodes came between. A vendid applies to the next node only, a devid to all later
 * nodes.
 */
static void test_guid_settings(void **state)
{
	struct topo *t =
		topo_ok("vendid=0x2c9\ndevid=0xb924\nsysimgguid=0x77\nhcaguids=0xa000\n"
			"Hca 1 \"a\"\n\nCa 1 \"b\"\n\ncaguid+0x100\nCa 1 \"c\"\n\n"
			"switchguid=0xb000(b00f) # chassis\nSwitch 2 \"s\"\n\nSwitch 2 \"t\"\n");

	assert_int_equal(t->node[0]->vendor_id, 0x2c9);
	assert_int_equal(t->node[0]->sys_guid, 0x77);
	assert_int_equal(t->node[1]->vendor_id, 0);
	assert_int_equal(t->node[1]->device_id, 0xb924);
	assert_int_equal(t->node[1]->sys_guid, 0xa002);
	assert_int_equal(t->node[0]->node_guid, 0xa000);
	assert_int_equal(t->node[1]->node_guid, 0xa002);
	assert_int_equal(t->node[2]->node_guid, 0xa100);
	assert_int_equal(t->node[3]->node_guid, 0xb000);
	assert_int_equal(t->node[3]->port[0].guid, 0xb00f);
	assert_int_equal(t->node[4]->port[0].guid, 0xb001);
	topo_free(t);
}

/* Output of ibnetdiscover for a switch with an enhanced port 0 and a CA with two ports. */
static const char ibnet[] =
	"#\n# Topology file: generated on Sat Nov 21 02:28:56 2026\n#\n"
	"# Initiated from node 0002c90300000200 port 0002c90300000201\n\n"
	"vendid=0x2c9\ndevid=0xb924\nsysimgguid=0x2c90200000103\n"
	"switchguid=0x2c90200000100(2c90200000100)\n"
	"Switch\t24 \"S-0002c90200000100\"\t\t# \"leaf; 1 base port 9\" enhanced port 0 lid 3 lmc "
	"0\n"
	"[1]\t\"H-0002c90300000200\"[1](2c90300000201) \t\t# \"h1 HCA-1\" lid 5 4xQDR\n"
	"[7]\t\"H-0002c90300000200\"[2](2c903000002aa) \t\t# \"h1 HCA-1\" lid 6 12xEDR\n\n"
	"vendid=0x2c9\ndevid=0x1003\nsysimgguid=0x2c90300000203\ncaguid=0x2c90300000200\n"
	"Ca\t2 \"H-0002c90300000200\"\t\t# \"h1 HCA-1\"\n"
	"[1](2c90300000201) \t\"S-0002c90200000100\"[1]\t\t# lid 5 lmc 2 \"leaf; 1\" lid 3 4xQDR\n"
	"[2](2c903000002aa) \t\"S-0002c90200000100\"[7]\t\t# lid 6 lmc 0 \"leaf; 1\" lid 3 "
	"12xEDR\n";

static void test_ibnetdiscover_dialect(void **state)
{
	struct topo *t = topo_ok(ibnet);
	const struct topo_node *sw = t->node[0], *ca = t->node[1];
	struct topo_rate r;

	assert_string_equal(sw->desc, "leaf; 1 base port 9");
	assert_true(sw->enhanced_port0);
	assert_int_equal(sw->port[0].lid, 3);
	assert_int_equal(sw->node_guid, 0x2c90200000100);
	assert_int_equal(sw->sys_guid, 0x2c90200000103);
	assert_int_equal(sw->port[0].guid, 0x2c90200000100);
	assert_int_equal(sw->device_id, 0xb924);
	assert_int_equal(ca->device_id, 0x1003);
	assert_int_equal(ca->port[1].guid, 0x2c90300000201);
	/* The port's GUID is the one in the file, not the node's GUID + 2. */
	assert_int_equal(ca->port[2].guid, 0x2c903000002aa);
	assert_int_equal(ca->port[1].lid, 5);
	assert_int_equal(ca->port[1].lmc, 2);
	assert_int_equal(ca->port[2].lid, 6);
	r = topo_rate(t, 0, 1);
	assert_int_equal(r.width, 2);
	assert_int_equal(r.speed, 4);
	assert_int_equal(r.ext, 0);
	r = topo_rate(t, 0, 7);
	assert_int_equal(r.width, 8);
	assert_int_equal(r.speed, 4);
	assert_int_equal(r.ext, 2);
	topo_free(t);
}

static void test_print_is_what_ibnetdiscover_prints(void **state)
{
	struct topo *t = topo_ok("Switch 8 \"Switch1\"\n[4] \"Hca2\"[1]\n\nHca 2 \"Hca2\"\n");
	size_t len;
	char *s = topo_print(t, false, &len);

	assert_non_null(s);
	assert_int_equal(len, strlen(s));
	assert_string_equal(
		s, "#\n# Topology file: made by uipoib\n#\n\n"
		   "vendid=0x0\ndevid=0x0\nsysimgguid=0x200000\n"
		   "switchguid=0x200000(200000)\n"
		   "Switch\t8 \"S-0000000000200000\"\t\t# \"Switch1\" base port 0 lid 0 lmc 0\n"
		   "[4]\t\"H-0000000000100000\"[1](100001) \t\t# \"Hca2\" lid 0 4xSDR\n\n"
		   "vendid=0x0\ndevid=0x0\nsysimgguid=0x100000\ncaguid=0x100000\n"
		   "Ca\t2 \"H-0000000000100000\"\t\t# \"Hca2\"\n"
		   "[1](100001) \t\"S-0000000000200000\"[4]\t\t# lid 0 lmc 0 \"Switch1\" lid 0 "
		   "4xSDR\n");
	free(s);
	topo_free(t);
}

/*
 * Every setting that ibsim accepts: the GUIDs at which ibsim begins to number nodes, vendor and
 * device IDs, LIDs, and descriptions without quotes. The masks of widths and speeds (w=, s= and e=)
 * differ at the two ends of some links.
 */
static const char rich_net[] = "# comments\n"
			       "switchguids=0x3000\n"
			       "hcaguids=0x5000\n"
			       "vendid=0x2c9\n"
			       "devid=0x1234\n"
			       "sysimgguid=0x77\n"
			       "Switch 12 \"core\" # \"the core\" \n"
			       "[1] \"leaf1\"[12] w=3 s=7\n"
			       "[2] \"leaf1\"[11] s=2\n"
			       "[3] \"leaf2\"[12]\n"
			       "\n"
			       "devid=0x99\n"
			       "Switch 12 \"leaf1\" # leaf one base port 0 lid 3 lmc 0\n"
			       "[1] \"ha\"[1] w=1\n"
			       "[2] \"hb\"[2]\n"
			       "[12] \"core\"[1] w=2 s=4\n"
			       "[11] \"core\"[2] s=3\n"
			       "\n"
			       "Switch 12 \"leaf2\"\n"
			       "[12] \"core\"[3]\n"
			       "[4] \"ha\"[2] w=3 s=7\n"
			       "[5] \"hc\" w=3 s=7 e=7\n"
			       "\n"
			       "Hca 2 \"ha\" # \"host a\"\n"
			       "[1] \"leaf1\"[1] w=1\n"
			       "[2] \"leaf2\"[4] w=3 s=7\n"
			       "\n"
			       "caguid+0x100\n"
			       "Hca 3 \"hb\"\n"
			       "[2] \"leaf1\"[2]\n"
			       "\n"
			       "Ca 1 \"hc\"\n"
			       "[1] \"leaf2\"[5] w=2 s=5 e=3\n";

/*
 * The output of Debian's ibnetdiscover for rich_net under Debian's ibsim 0.10, but with the nodes
 * in the order of rich_net
 */
static const char rich_discovered[] =
	"#\n"
	"# Topology file: made by uipoib\n"
	"#\n"
	"\n"
	"vendid=0x2c9\n"
	"devid=0x1234\n"
	"sysimgguid=0x77\n"
	"switchguid=0x3000(3000)\n"
	"Switch\t12 \"S-0000000000003000\"\t\t# \"the core\" base port 0 lid 0 lmc 0\n"
	"[1]\t\"S-0000000000003001\"[12]\t\t# \"leaf one\" lid 3 4xQDR\n"
	"[2]\t\"S-0000000000003001\"[11]\t\t# \"leaf one\" lid 3 4xDDR\n"
	"[3]\t\"S-0000000000003002\"[12]\t\t# \"leaf2\" lid 0 4xSDR\n"
	"\n"
	"vendid=0x0\n"
	"devid=0x99\n"
	"sysimgguid=0x3001\n"
	"switchguid=0x3001(3001)\n"
	"Switch\t12 \"S-0000000000003001\"\t\t# \"leaf one\" base port 0 lid 3 lmc 0\n"
	"[1]\t\"H-0000000000005000\"[1](5001) \t\t# \"host a\" lid 0 1xSDR\n"
	"[2]\t\"H-0000000000005100\"[2](5102) \t\t# \"hb\" lid 0 4xSDR\n"
	"[11]\t\"S-0000000000003000\"[2]\t\t# \"the core\" lid 0 4xDDR\n"
	"[12]\t\"S-0000000000003000\"[1]\t\t# \"the core\" lid 0 4xQDR\n"
	"\n"
	"vendid=0x0\n"
	"devid=0x99\n"
	"sysimgguid=0x3002\n"
	"switchguid=0x3002(3002)\n"
	"Switch\t12 \"S-0000000000003002\"\t\t# \"leaf2\" base port 0 lid 0 lmc 0\n"
	"[4]\t\"H-0000000000005000\"[2](5002) \t\t# \"host a\" lid 0 4xQDR\n"
	"[5]\t\"H-0000000000005104\"[1](5105) \t\t# \"hc\" lid 0 4xEDR\n"
	"[12]\t\"S-0000000000003000\"[3]\t\t# \"the core\" lid 0 4xSDR\n"
	"\n"
	"vendid=0x0\n"
	"devid=0x99\n"
	"sysimgguid=0x5000\n"
	"caguid=0x5000\n"
	"Ca\t2 \"H-0000000000005000\"\t\t# \"host a\"\n"
	"[1](5001) \t\"S-0000000000003001\"[1]\t\t# lid 0 lmc 0 \"leaf one\" lid 3 1xSDR\n"
	"[2](5002) \t\"S-0000000000003002\"[4]\t\t# lid 0 lmc 0 \"leaf2\" lid 0 4xQDR\n"
	"\n"
	"vendid=0x0\n"
	"devid=0x99\n"
	"sysimgguid=0x5100\n"
	"caguid=0x5100\n"
	"Ca\t3 \"H-0000000000005100\"\t\t# \"hb\"\n"
	"[2](5102) \t\"S-0000000000003001\"[2]\t\t# lid 0 lmc 0 \"leaf one\" lid 3 4xSDR\n"
	"\n"
	"vendid=0x0\n"
	"devid=0x99\n"
	"sysimgguid=0x5104\n"
	"caguid=0x5104\n"
	"Ca\t1 \"H-0000000000005104\"\t\t# \"hc\"\n"
	"[1](5105) \t\"S-0000000000003002\"[5]\t\t# lid 0 lmc 0 \"leaf2\" lid 0 4xEDR\n";

static void test_same_as_ibnetdiscover_under_ibsim(void **state)
{
	struct topo *t = topo_ok(rich_net);
	char *s = topo_print(t, false, NULL);

	assert_string_equal(s, rich_discovered);
	free(s);
	topo_free(t);
}

static void test_print_parse_round_trip(void **state)
{
	static const char *const texts[] = { sim_net, ibnet };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct topo *t = topo_ok(texts[i]);

		topo_check_round_trip(t, true);
		topo_check_round_trip(t, false);
		topo_free(t);
	}
	for (unsigned int seed = 0; seed < 50; seed++) {
		struct topo_gen_random g = { seed, 1 + seed % 9, 1 + seed % 7, 1 + seed % 3,
					     seed % 11 };
		struct topo *t = topo_gen_random(&g);

		assert_non_null(t);
		topo_check_round_trip(t, true);
		topo_check_round_trip(t, false);
		topo_free(t);
	}
}

static void test_peer_without_port_is_port_1(void **state)
{
	struct topo *t = topo_ok("Switch 4 \"s\"\n[3] \"h\"\n\nHca 2 \"h\"\n[1] \"s\"[3]\n");

	assert_int_equal(t->node[0]->port[3].peer_port, 1);
	topo_free(t);
}

static void test_cable_given_at_one_end(void **state)
{
	struct topo *t = topo_ok("Switch 4 \"s\"\n[3] \"h\"[2] w=1 s=7 e=15\n\nHca 2 \"h\"\n");
	struct topo_rate r = topo_rate(t, 1, 2);

	assert_int_equal(t->node[1]->port[2].peer, 0);
	assert_int_equal(t->node[1]->port[2].peer_port, 3);
	assert_int_equal(r.width, 1);
	assert_int_equal(r.ext, 8);
	topo_free(t);
}

static void test_global_rates(void **state)
{
	struct topo *t = topo_ok("width=3\nspeed=7\nextspeed=3\nSwitch 2 \"s\"\n[1] \"h\"[1]\n"
				 "[2] \"h\"[2] s=0\n\nHca 2 \"h\"\n");
	char buf[16];

	assert_string_equal(topo_rate_print(buf, sizeof(buf), topo_rate(t, 0, 1)), "4xEDR");
	assert_string_equal(topo_rate_print(buf, sizeof(buf), topo_rate(t, 0, 2)), "4xEDR");
	assert_int_equal(t->node[0]->port[2].rate.speed, 4);
	topo_free(t);
}

static void test_modules(void **state)
{
	struct topo *t = topo_ok("module \"A\"\nSwitch 4 \"s\"\n[1] \"B#s\"[1]\n[2] \"h\"[1]\n\n"
				 "Hca 1 \"h\"\n\nmodule = \"B\"\nSwitch 4 \"s\"\n\nmodule \"\"\n"
				 "Switch 4 \"top\"\n[1] \"A#s\"[3]\n");

	assert_string_equal(t->node[0]->name, "A#s");
	assert_string_equal(t->node[1]->name, "A#h");
	assert_string_equal(t->node[2]->name, "B#s");
	assert_string_equal(t->node[3]->name, "top");
	assert_int_equal(t->node[0]->port[1].peer, 2);
	assert_int_equal(t->node[0]->port[2].peer, 1);
	assert_int_equal(t->node[0]->port[3].peer, 3);
	topo_check_round_trip(t, false);
	topo_free(t);
}

/* --- include */

static int read_part(void *ctx, const char *file, char **ret, size_t *len)
{
	const char *text = NULL;

	if (!strcmp(file, "leaf.net"))
		text = "Switch 4 \"leaf\"\n[1] \"h\"[1]\n";
	else if (!strcmp(file, "bad.net"))
		text = "Switch 4 \"leaf\"\nbogus\n";
	else if (!strcmp(file, "self.net"))
		text = "include \"self.net\"\n";
	if (!text)
		return -ENOENT;
	*ret = strdup(text);
	*len = strlen(text);
	return 0;
}

static int parse_inc(const char *text, struct topo **t, struct topo_err *err)
{
	static const struct topo_reader rd = { .read = read_part };

	return topo_parse(t, "main.net", text, strlen(text), &rd, err);
}

static void test_include(void **state)
{
	struct topo_err err;
	struct topo *t = NULL;

	assert_int_equal(parse_inc("include \"leaf.net\"\nHca 1 \"h\"\n", &t, &err), 0);
	assert_int_equal(t->node[0]->port[1].peer, 1);
	topo_free(t);
	t = NULL;
	assert_int_equal(parse_inc("\ninclude \"none.net\"\n", &t, &err), -ENOENT);
	assert_string_equal(err.text,
			    "main.net:2: include \"none.net\": No such file or directory");
	assert_int_equal(parse_inc("include \"bad.net\"\n", &t, &err), -EINVAL);
	assert_memory_equal(err.text, "bad.net:2: expected", 19);
	assert_int_equal(parse_inc("include \"self.net\"\n", &t, &err), -EINVAL);
	assert_memory_equal(err.text, "self.net:1: include \"self.net\": too many", 40);
	/*
	 * After the lines of an included file, an error must be reported with the line number of
	 * the including file.
	 */
	assert_int_equal(parse_inc("include \"leaf.net\"\n\nx\n", &t, &err), -EINVAL);
	assert_memory_equal(err.text, "main.net:3:", 11);
	assert_null(t);
}

/*
 * --- every class of error: the message must name the faulty line. It must also name the text that
 * was expected, or the other line that contradicts the faulty line
 */

static const struct {
	const char *text, *err;
} bad[] = {
	{ "", "t:0: expected a Switch or Ca, found none in the whole file" },
	{ "\n# nothing\n\n", "t:3: expected a Switch or Ca, found none in the whole file" },
	{ "Hca 1 \"a\"\n\nfoo\n",
	  "t:3: expected Switch, Ca, Hca, a port in brackets or a setting, found 'foo'" },
	{ "Switchx 1 \"a\"\n", "t:1: expected Switch, Ca, Hca, a port in brackets or a setting, "
			       "found 'Switchx 1 \"a\"'" },
	{ "Switch \"a\"\n", "t:1: expected a number of ports between 1 and 254, found '\"a\"'" },
	{ "Switch 0 \"a\"\n",
	  "t:1: expected a number of ports between 1 and 254, found '0 \"a\"'" },
	{ "Switch 255 \"a\"\n",
	  "t:1: expected a number of ports between 1 and 254, found '255 \"a\"'" },
	{ "Switch 8\n",
	  "t:1: expected a quoted name of 1 to 64 characters, found the end of the line" },
	{ "Switch 8 \"a\n", "t:1: expected a quoted name of 1 to 64 characters, found '\"a'" },
	{ "Switch 8 \"\"\n", "t:1: expected a quoted name of 1 to 64 characters, found '\"\"'" },
	{ "Switch 8 \"a#b\"\n", "t:1: expected a name without '#' and '@', found \"a#b\"" },
	{ "Switch 8 \"a\" b\n", "t:1: expected '#' or the end of the line, found 'b'" },
	{ "Switch 8 \"a\"\n\nHca 1 \"a\"\n", "t:3: node \"a\" was defined on line 1 already" },
	{ "switchguid=0x5\nSwitch 8 \"a\"\nswitchguid=0x5\nSwitch 8 \"b\"\n",
	  "t:4: node \"b\": GUID 0x5 belongs to another node already" },
	{ "[1] \"a\"[1]\n", "t:1: expected a Switch or Ca before its ports, found a port" },
	{ "Switch 8 \"a\"\n\n[1] \"b\"[1]\n",
	  "t:3: expected a Switch or Ca before its ports, found a port" },
	{ "Switch 8 \"a\"\n[9] \"b\"[1]\n",
	  "t:2: expected a port between 1 and 8 of \"a\", found 9" },
	{ "Switch 8 \"a\"\n[0] \"b\"[1]\n",
	  "t:2: expected a port between 1 and 254 in brackets, found '[0] \"b\"[1]'" },
	{ "Switch 8 \"a\"\n[1 \"b\"[1]\n", "t:2: expected ']', found ' \"b\"[1]'" },
	{ "Switch 8 \"a\"\n[1]\n",
	  "t:2: expected the quoted name of the other end, found the end of the line" },
	{ "Switch 8 \"a\"\n[1] \"b\"[x]\n",
	  "t:2: expected a port between 1 and 254 in brackets, found '[x]'" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1](zz)\n", "t:2: expected a port GUID and ')', found 'zz)'" },
	{ "Switch 8 \"a\"\n[1](5) \"b\"[1]\n\nHca 1 \"b\"\n",
	  "t:2: port 1 of switch \"a\" has no GUID of its own" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1] w=32\n", "t:2: expected w= and a mask between 1 and 31" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1] s=8\n", "t:2: expected s= and a mask between 0 and 7" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1] x=8\n",
	  "t:2: expected w=, s=, e=, '#' or the end of the line, found 'x=8'" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1] # \"b\" lid 1 4xTURBO\n",
	  "t:2: expected a rate like 4xQDR, found '4xTURBO'" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1] # \"b\" lid 1 3xQDR\n",
	  "t:2: expected a rate like 4xQDR, found '3xQDR'" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1]\n[1] \"b\"[1]\n\nHca 1 \"b\"\n",
	  "t:3: port 1 of \"a\" was given on line 2 already" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1]\n", "t:2: node \"b\" is not defined" },
	{ "Switch 8 \"a\"\n[1] \"b\"[2]\n\nHca 1 \"b\"\n",
	  "t:2: expected a port between 1 and 1 of \"b\", found 2" },
	{ "Switch 8 \"a\"\n[1] \"a\"[1]\n", "t:2: port 1 of \"a\": connected to itself" },
	{ "Switch 8 \"a\"\n[1] \"a\"[2]\n[2] \"a\"[3]\n",
	  "t:3: port 2 of \"a\" to port 3 of \"a\", but line 2 connects port 2 of \"a\" to port 1 "
	  "of \"a\"" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1]\n[2] \"b\"[1]\n\nHca 1 \"b\"\n",
	  "t:3: port 2 of \"a\" to port 1 of \"b\", but line 2 connects port 1 of \"b\" to port 1 "
	  "of \"a\"" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1]\n\nHca 2 \"b\"\n[1] \"a\"[2]\n",
	  "t:5: port 1 of \"b\" to port 2 of \"a\", but line 2 connects port 1 of \"b\" to port 1 "
	  "of \"a\"" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1]\n\nHca 2 \"b\"\n[2] \"a\"[1]\n",
	  "t:5: port 2 of \"b\" to port 1 of \"a\", but line 2 connects port 1 of \"a\" to port 1 "
	  "of \"b\"" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1] w=1\n\nHca 2 \"b\"\n[1] \"a\"[1] w=2\n",
	  "t:2: port 1 of \"a\": the two ends enable no common width or speed" },
	{ "Switch 8 \"a\"\n[1] \"b\"[1](51)\n\nHca 2 \"b\"\n[1](52) \"a\"[1]\n",
	  "t:5: port 1 of \"b\" has port GUID 0x52 here, 0x51 before" },
	{ "caguid=0x10\nHca 1 \"a\"\n\ncaguid=0x11\nHca 1 \"b\"\n\nSwitch 2 \"s\"\n[1] "
	  "\"b\"[1](11)\n",
	  "t:5: port GUID 0x11 belongs to \"a\" and to \"b\"" },
	{ "caguid=0xffffffffffffffff\nHca 1 \"a\"\n", "t:2: \"a\" has a GUID of 0" },
	{ "vendid 5\n", "t:1: expected '=', found '5'" },
	{ "vendid=0x1000000\n", "t:1: expected a number in range, found '0x1000000'" },
	{ "devid=zz\n", "t:1: expected a number in range, found 'zz'" },
	{ "devid=1 2\n", "t:1: expected the end of the line, found '2'" },
	{ "caguid:1\n", "t:1: expected '=' or '+', found ':1'" },
	{ "caguid=0\n", "t:1: expected a GUID, found '0'" },
	{ "switchguid=0x10000000000000000\n", "t:1: expected a GUID, found '0x10000000000000000'" },
	{ "switchguid=0x1(x)\n", "t:1: expected a port GUID, found 'x)'" },
	{ "switchguid=0x1(5\n", "t:1: expected ')', found the end of the line" },
	{ "width=0\n", "t:1: expected a mask between 1 and 31, found 0" },
	{ "extspeed=16\n", "t:1: expected a mask between 0 and 15, found 16" },
	{ "module \"a@b\"\n", "t:1: expected a module name without '#' and '@', found \"a@b\"" },
	{ "module \"123456789012345678901\"\n", "t:1: expected a quoted module name of at most 20 "
						"characters, found '\"123456789012345678901\"'" },
	{ "include \"x\"\n", "t:1: include \"x\": files are not read here" },
	{ "include x\n", "t:1: expected a quoted file name, found 'x'" },
	{ "do Link \"a\"\n", "t:1: console commands and port aliases of ibsim are not supported" },
	{ "rtguid=0x5\nRt 2 \"r\"\n", "t:2: routers are not supported: ' 2 \"r\"'" },
	{ "???\t2 \"?-5\"\n", "t:1: a node of unknown type is not supported" },
	{ "Switch 2 \"a\"\n@[1] \"x\"\n",
	  "t:2: console commands and port aliases of ibsim are not supported" },
	{ "Switch 2 \"a\"\n[1] \"x@y\"\n",
	  "t:2: port aliases of ibsim (\"x@y\") are not supported" },
	{ "Switch 2 \"a\001\"\n", "t:1: expected text, found the control character 0x01" },
	{ "Switch 2 \"a\" # \"b\177\"\n", "t:1: expected text, found the control character 0x7f" },
};

static void test_errors_name_line_and_cause(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct topo_err err = { "" };
		struct topo *t = (struct topo *)&err;
		int rc = topo_parse(&t, "t", bad[i].text, strlen(bad[i].text), NULL, &err);

		if (rc != -EINVAL || strcmp(err.text, bad[i].err))
			print_message("case %zu: %d\n got %s\nwant %s\n", i, rc, err.text,
				      bad[i].err);
		assert_int_equal(rc, -EINVAL);
		assert_string_equal(err.text, bad[i].err);
		assert_ptr_equal(t, &err); /* the output is not written on failure */
	}
}

/* A text is cut at any octet. What remains must be read as a whole or be refused. */
static void test_every_prefix(void **state)
{
	for (size_t len = 0; len < sizeof(ibnet); len++) {
		char *copy = malloc(len ? len : 1);
		struct topo_err err;
		struct topo *t = NULL;

		memcpy(copy, ibnet, len);
		if (topo_parse(&t, "t", copy, len, NULL, &err))
			assert_null(t);
		topo_free(t);
		free(copy);
	}
}

static void test_crlf_and_no_final_newline(void **state)
{
	struct topo *t = topo_ok("Switch 2 \"s\"\r\n[1] \"h\"[1]\r\n\r\nHca 1 \"h\"");

	assert_int_equal(t->node[0]->port[1].peer, 1);
	topo_free(t);
}

static void test_ibnetdiscover_groups(void **state)
{
	struct topo *t =
		topo_ok("Chassis 1 (guid 0x8f10400411f56)\n\nSwitch\t24 \"S-1\"\t\t# \"x\" base "
			"port 0 lid 1 lmc 0 Chassis 1 Line 1 Chip 1\n"
			"[1][ext 13]\t\"H-1\"[1](5) \t\t# \"h\" lid 2 undefined (0)\n\n"
			"Non-Chassis Nodes\n\nCa 1 \"H-1\"\n");

	assert_int_equal(t->node[0]->port[1].peer, 1);
	assert_int_equal(t->node[1]->port[1].guid, 5);
	topo_free(t);
}

/* --- builder */

static void test_builder_refuses(void **state)
{
	struct topo *t = topo_create();
	char longer[TOPO_NAME_MAX + 2];
	uint32_t s, h, x = 77;

	memset(longer, 'n', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(topo_add_node(t, IB_NODE_SWITCH, 4, "s", NULL, &s), 0);
	assert_int_equal(topo_add_node(t, IB_NODE_CA, 2, "h", "the host", &h), 0);
	assert_int_equal(topo_add_node(t, IB_NODE_CA, 1, "s", NULL, &x), -EEXIST);
	assert_int_equal(topo_add_node(t, IB_NODE_ROUTER, 1, "r", NULL, &x), -EINVAL);
	assert_int_equal(topo_add_node(t, IB_NODE_CA, 0, "r", NULL, &x), -EINVAL);
	assert_int_equal(topo_add_node(t, IB_NODE_CA, 255, "r", NULL, &x), -EINVAL);
	assert_int_equal(topo_add_node(t, IB_NODE_CA, 1, "", NULL, &x), -EINVAL);
	assert_int_equal(topo_add_node(t, IB_NODE_CA, 1, "a\"b", NULL, &x), -EINVAL);
	assert_int_equal(topo_add_node(t, IB_NODE_CA, 1, longer, NULL, &x), -EINVAL);
	assert_int_equal(topo_add_node(t, IB_NODE_CA, 1, "r", "d\n", &x), -EINVAL);
	assert_int_equal(x, 77);
	assert_int_equal(topo_link(t, s, 1, h, 3), -ERANGE);
	assert_int_equal(topo_link(t, s, 0, h, 1), -ERANGE);
	assert_int_equal(topo_link(t, s, 1, 9, 1), -ENOENT);
	assert_int_equal(topo_link(t, s, 1, s, 1), -EINVAL);
	assert_int_equal(topo_link(t, s, 3, s, 4), 0);
	assert_int_equal(topo_link(t, s, 4, s, 5), -EBUSY);
	assert_int_equal(topo_link(t, s, 1, h, 1), 0);
	assert_int_equal(topo_link(t, s, 1, h, 2), -EBUSY);
	assert_int_equal(topo_link(t, s, 2, h, 1), -EBUSY);
	assert_int_equal(topo_set_guids(t, h, 0x200000), -EEXIST);
	assert_int_equal(topo_set_guids(t, h, 0), -EINVAL);
	assert_int_equal(topo_set_guids(t, h, 0xabc0), 0);
	assert_int_equal(t->node[h]->port[2].guid, 0xabc2);
	assert_int_equal(topo_find(t, "the host", &x), 0);
	assert_int_equal(x, h);
	topo_free(t);
}

static unsigned int cables(const struct topo *t, uint32_t node)
{
	unsigned int n = 0;

	for (unsigned int k = 1; k <= t->node[node]->nports; k++)
		n += t->node[node]->port[k].peer != TOPO_NO_PEER;
	return n;
}

static unsigned int reach(const struct topo *t)
{
	bool *seen = calloc(t->n, sizeof(*seen));
	uint32_t *queue = calloc(t->n, sizeof(*queue));
	unsigned int n = 0, done = 0;

	queue[n++] = 0;
	seen[0] = true;
	while (done < n) {
		const struct topo_node *nd = t->node[queue[done++]];

		for (unsigned int k = 1; k <= nd->nports; k++) {
			uint32_t p = nd->port[k].peer;

			if (p == TOPO_NO_PEER || seen[p])
				continue;
			seen[p] = true;
			queue[n++] = p;
		}
	}
	free(seen);
	free(queue);
	return n;
}

static void test_demo_topology_has_a_loop(void **state)
{
	for (unsigned int sw = 1; sw <= 5; sw++) {
		struct topo *t = topo_gen_demo(7, sw);
		unsigned int ring = 0;

		assert_non_null(t);
		assert_int_equal(t->n, 7 + sw);
		assert_int_equal(reach(t), t->n);
		assert_string_equal(t->node[0]->name, "Switch1");
		assert_string_equal(t->node[sw]->name, "Hca1");
		assert_string_equal(t->node[t->node[sw]->port[1].peer]->name, "Switch1");
		for (uint32_t i = 0; i < sw; i++) {
			for (unsigned int k = 1; k <= t->node[i]->nports; k++)
				ring += t->node[i]->port[k].peer < sw;
			/* each switch has a free port */
			assert_true(cables(t, i) < t->node[i]->nports);
		}
		assert_int_equal(ring, sw > 1 ? 2 * sw : 0);
		topo_free(t);
	}
	assert_null(topo_gen_demo(0, 1));
	assert_null(topo_gen_demo(4, 0));
	assert_null(topo_gen_demo(300, 1));
}

static void test_random_topology_is_connected_and_repeatable(void **state)
{
	for (unsigned int seed = 0; seed < 100; seed++) {
		struct topo_gen_random g = { seed, 12, 5, 3, 6 };
		struct topo *t = topo_gen_random(&g), *u = topo_gen_random(&g);
		char *a = topo_print(t, true, NULL), *b = topo_print(u, true, NULL);

		assert_int_equal(t->n, 17);
		assert_int_equal(reach(t), 17);
		assert_string_equal(a, b);
		for (uint32_t i = 5; i < t->n; i++)
			assert_int_equal(cables(t, i), t->node[i]->nports);
		free(a);
		free(b);
		topo_free(t);
		topo_free(u);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ibsim_dialect),
		cmocka_unit_test(test_guids_as_ibsim_assigns),
		cmocka_unit_test(test_guid_settings),
		cmocka_unit_test(test_ibnetdiscover_dialect),
		cmocka_unit_test(test_print_is_what_ibnetdiscover_prints),
		cmocka_unit_test(test_same_as_ibnetdiscover_under_ibsim),
		cmocka_unit_test(test_print_parse_round_trip),
		cmocka_unit_test(test_peer_without_port_is_port_1),
		cmocka_unit_test(test_cable_given_at_one_end),
		cmocka_unit_test(test_global_rates),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_include),
		cmocka_unit_test(test_errors_name_line_and_cause),
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_crlf_and_no_final_newline),
		cmocka_unit_test(test_ibnetdiscover_groups),
		cmocka_unit_test(test_builder_refuses),
		cmocka_unit_test(test_demo_topology_has_a_loop),
		cmocka_unit_test(test_random_topology_is_connected_and_repeatable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
