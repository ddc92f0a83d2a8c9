/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that LFTs and MFTs are read from files in the formats of ibroute, dump_fts and OpenSM
 * 3.3.23.
 */
#include "check_rig.h"

#include <errno.h>

static const char topo[] = "switchguid=0x200000\nSwitch 5 \"s1\"\n[1] \"s2\"[2]\n[5] \"h1\"[1]\n\n"
			   "switchguid=0x200001\nSwitch 5 \"s2\"\n[5] \"h2\"[1]\n\n"
			   "Hca 1 \"h1\"\n\nHca 1 \"h2\"\n";

/* Return the fabric of topo[] with LIDs, and without LFTs */
static struct chk_fabric *bare(void)
{
	struct chk_fabric *f = rig_fabric(topo);

	for (uint32_t i = 0; i < f->n; i++)
		if (f->node[i]->sw) {
			free(f->node[i]->sw->lft);
			f->node[i]->sw->lft = NULL;
			f->node[i]->sw->lft_len = 0;
		}
	return f;
}

static int reads(struct chk_fabric *f, const char *text, unsigned int *ret_unknown, char *ret_err)
{
	struct chk_err err = { "" };
	int status = chk_read_tables(f, "t", text, strlen(text), ret_unknown, &err);

	strcpy(ret_err, err.text);
	return status;
}

static void good(struct chk_fabric *f, const char *text, unsigned int unknown)
{
	unsigned int n = 99;
	char err[320];

	if (reads(f, text, &n, err) < 0)
		fail_msg("%s", err);
	assert_int_equal(n, unknown);
}

static void test_dump_fts(void **state)
{
	struct chk_fabric *f = bare();

	(void)state;
	good(f,
	     "Unicast lids [0x0-0x4] of switch DR path slid 0; dlid 0; 0,1 guid 0x0000000000200000 "
	     "(s1):\n"
	     "  Lid  Out   Destination\n"
	     "       Port     Info \n"
	     "0x0001 000 : (Switch portguid 0x0000000000200000: 's1')\n"
	     "0x0002 001 : (Switch portguid 0x0000000000200001: 's2')\n"
	     "0x0003 005 : (Channel Adapter portguid 0x0000000000100001: 'h1')\n"
	     "0x0004 001 : (Channel Adapter portguid 0x0000000000100003: 'h2')\n"
	     "4 valid lids dumped \n"
	     "Unicast lids [0x0-0x4] of switch Lid 2 guid 0x0000000000200001 (s2):\r\n"
	     "0x0001 002\n0x0002 000\n0x0003 2\n0x0004 005\n",
	     0);
	rig_healthy(f);
}

static void test_opensm_lfts_dump(void **state)
{
	struct chk_fabric *f = bare();

	(void)state;
	good(f,
	     "Unicast lids [0-4] of switch Lid 1 guid 0x0000000000200000 ('s1'):\n"
	     "0x0001 000 # Switch portguid 0x0000000000200000: 's1'\n"
	     "0x0002 001 # Switch portguid 0x0000000000200001: 's2'\n"
	     "0x0003 005 # Channel Adapter portguid 0x0000000000100001: 'h1'\n"
	     "4 lids dumped\n",
	     0);
	/* the file has no table of s2, and the table of s1 has no route to h2 */
	rig_finds(f, CHK_LFT_HOLE, "s1: has no route to 1 LID: 4 (h2/1)");
}

static void test_opensm_fdbs(void **state)
{
	struct chk_fabric *f = bare();

	(void)state;
	good(f,
	     "dump_ucast_routes: Switch 0x0000000000200000\n"
	     "LID    : Port : Hops : Optimal\n"
	     "0x0001 : 000  : 00   : yes\n"
	     "0x0002 : 001  : 01   : No 1 hop path possible via port 0x002!\n"
	     "0x0003 : 005  : 01   : yes\n"
	     "0x0004 : UNREACHABLE\n"
	     "dump_ucast_routes: Switch 0x00000000002fffff\n"
	     "LID    : Port : Hops : Optimal\n"
	     "0x0001 : 001  : 00   : yes\n",
	     1);
	rig_finds(f, CHK_LFT_HOLE, "s1: has no route to 1 LID: 4 (h2/1)");
}

static void test_opensm_mcfdbs(void **state)
{
	struct chk_fabric *f = rig_fabric(topo);

	(void)state;
	good(f,
	     "\nSwitch 0x0000000000200000\nLID    : Out Port(s)\n0xC000 : 0x001  0x005 \n"
	     "0xC001 : 0x005 \n\n"
	     "Switch 0x0000000000200001\nLID    : Out Port(s)\n0xC000 : 0x005 \n",
	     0);
	/* by these MFTs s2 does not forward packets of MLID 0xc000 to s1 */
	rig_finds(f, CHK_MFT_SPLIT, "MLID 0xc000");
}

static void test_ibroute_m(void **state)
{
	struct chk_fabric *f = rig_fabric(topo);

	(void)state;
	good(f,
	     "Multicast mlids [0xc000-0xc01f] of switch Lid 1 guid 0x0000000000200000 (s1):\n"
	     "            0                   1     \n"
	     "     Ports: 0 1 2 3 4 5 6 7 8 9 0 1 2 \n"
	     " MLid\n"
	     "0xc000        x       x               \n"
	     "0xc001                x               \n"
	     "2 valid mlids dumped \n"
	     "Multicast mlids [0xc000-0xc01f] of switch Lid 2 guid 0x0000000000200001 (s2):\n"
	     "0xc000          x     x               \n",
	     0);
	assert_int_equal(rig_node(f, "s1")->sw->mft[0][0], 1 << 1 | 1 << 5);
	assert_int_equal(rig_node(f, "s1")->sw->mft[1][0], 1 << 5);
	assert_int_equal(rig_node(f, "s2")->sw->mft[0][0], 1 << 2 | 1 << 5);
	rig_healthy(f);
}

static void test_table_without_rows_is_a_table(void **state)
{
	struct chk_fabric *f = bare();

	(void)state;
	good(f, "Unicast lids [0x0-0x0] of switch Lid 1 guid 0x0000000000200000 (s1):\n", 0);
	rig_finds(f, CHK_LFT_HOLE, "s1: has no route to 4 LIDs");
}

static void bad(const char *text, const char *want)
{
	struct chk_fabric *f = bare();
	char err[320];
	unsigned int n;

	assert_int_equal(reads(f, text, &n, err), -EINVAL);
	assert_string_equal(err, want);
	chk_fabric_free(f);
}

static void test_errors_name_the_line(void **state)
{
	(void)state;
	bad("", "t:0: expected a table of ibroute, dump_fts or OpenSM, found 'none'");
	bad("hello\n", "t:1: expected a table of ibroute, dump_fts or OpenSM, found 'hello'");
	bad("0x0001 001\n",
	    "t:1: expected the head of a table before its rows, found '0x0001 001'");
	bad("Unicast lids of switch\n", "t:1: expected guid 0x..., found 'Unicast lids of switch'");
	bad("Unicast lids guid 0x200000 (s1):\n0x0001 256\n",
	    "t:2: expected a port of 0 to 255, found '0x0001 256'");
	bad("Unicast lids guid 0x200000 (s1):\n0xc000 1\n",
	    "t:2: expected a unicast LID, found '0xc000 1'");
	bad("Unicast lids guid 0x100000 (h1):\n",
	    "t:1: expected a switch, not a CA, found 'Unicast lids guid 0x100000 (h1):'");
	bad("Multicast mlids guid 0x200000 (s1):\n0x0001      x\n",
	    "t:2: expected a multicast LID, found '0x0001      x'");
	bad("Multicast mlids guid 0x200000 (s1):\n0xc000      y\n",
	    "t:2: expected x in the column of a port, found '0xc000      y'");
	bad("LID    : Out Port(s)\n",
	    "t:1: expected Switch 0x... before this line, found 'LID    : Out Port(s)'");
	bad("Switch 0x200000\nLID    : Out Port(s)\n0xC000 : 0x100\n",
	    "t:3: expected ports as 0x001, found '0xC000 : 0x100'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dump_fts),
		cmocka_unit_test(test_opensm_lfts_dump),
		cmocka_unit_test(test_opensm_fdbs),
		cmocka_unit_test(test_opensm_mcfdbs),
		cmocka_unit_test(test_ibroute_m),
		cmocka_unit_test(test_table_without_rows_is_a_table),
		cmocka_unit_test(test_errors_name_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
