/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the findings of src/check about P_Keys: P_Keys of ports that differ from a partitions.conf,
 * and switches that enforce wrong P_Keys. Also tests the findings about counters that grow.
 */
#include "check_rig.h"

static const char conf[] = "Default=0x7fff, ipoib : ALL=full;\n"
			   "Blue=0x8001 : \"h1\"=full, \"h2\"=limited, \"h3\"=both;\n";

static void table(struct chk_fabric *f, const char *name, const uint16_t *pkeys, unsigned int n)
{
	struct chk_node *node = rig_node(f, name);
	struct chk_port *p = &node->port[node->sw ? 0 : 1];

	if (strchr(name, '/'))
		fail();
	p->pkeys = chk_alloc(f, 32, sizeof(*p->pkeys));
	p->npkeys = 32;
	memcpy(p->pkeys, pkeys, n * sizeof(*pkeys));
}
#define TABLE(f, name, ...)                                  \
	do {                                                 \
		static const uint16_t v[] = { __VA_ARGS__ }; \
		table(f, name, v, sizeof(v) / 2);            \
	} while (0)

static struct sm_partitions *parse(const char *text)
{
	struct sm_partitions *ps;
	char err[512] = "";

	if (sm_partitions_parse(&ps, "test.conf", text, strlen(text), err, sizeof(err)) < 0)
		fail_msg("%s", err);
	return ps;
}

static void finds(struct chk_fabric *f, const char *text, enum chk_kind kind, const char *words)
{
	struct sm_partitions *ps = parse(text);
	const struct chk_opts o = { .partitions = ps };
	struct chk_report r;

	if (words) {
		rig_finds_with(f, &o, kind, words);
	} else {
		assert_int_equal(chk_run(f, &o, &r), 0);
		rig_print(&r);
		assert_int_equal(r.n, 0);
		chk_report_fini(&r);
		chk_fabric_free(f);
	}
	sm_partitions_free(ps);
}

static struct chk_fabric *right(void)
{
	struct chk_fabric *f = rig_ring(3);

	TABLE(f, "h1", 0xffff, 0x8001);
	TABLE(f, "h2", 0xffff, 0, 0x0001);
	TABLE(f, "h3", 0xffff, 0x8001, 0x0001);
	TABLE(f, "s1", 0xffff);
	return f;
}

static void test_right_tables(void **state)
{
	(void)state;
	finds(right(), conf, 0, NULL);
}

static void test_missing_pkeys(void **state)
{
	struct chk_fabric *f = right();

	(void)state;
	rig_node(f, "h2")->port[1].pkeys[2] = 0;
	finds(f, conf, CHK_PKEY_MISSING,
	      "h2/1: should be a limited member of partition Blue, but its table lacks P_Key "
	      "0x0001");

	f = right();
	rig_node(f, "h3")->port[1].pkeys[1] = 0;
	finds(f, conf, CHK_PKEY_MISSING, "h3/1: should be a full member of partition Blue");
}

/*
 * A part of a P_Key table was not read, so struct chk_fabric has zeros in this part. A P_Key that
 * could be in this part must not be reported as missing.
 */
static void test_gaps_of_tables_prove_nothing(void **state)
{
	struct chk_fabric *f = right();
	struct chk_port *p;

	(void)state;
	p = &rig_node(f, "h2")->port[1];
	p->pkeys[0] = p->pkeys[2] = 0;
	p->pkeys_gaps = true;
	finds(f, conf, 0, NULL);

	f = right();
	p = &rig_node(f, "s2")->port[3];
	p->pi.part_enforce_in = true;
	p->pkeys = chk_alloc(f, 32, sizeof(*p->pkeys));
	p->npkeys = 32;
	p->pkeys_gaps = true;
	finds(f, conf, 0, NULL);
}

static void test_extra_pkeys(void **state)
{
	struct chk_fabric *f = right();

	(void)state;
	rig_node(f, "h2")->port[1].pkeys[1] = 0x8001;
	finds(f, conf, CHK_PKEY_EXTRA,
	      "h2/1: has P_Key 0x8001, but should not be a full member of partition Blue");

	f = right();
	rig_node(f, "s1")->port[0].pkeys[5] = 0x8002;
	finds(f, conf, CHK_PKEY_EXTRA, "s1: has P_Key 0x8002, of which there is no partition");
}

static void test_rules_of_a_name_win_and_the_manager_is_full(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	/*
	 * The port with LID 1, here port 0 of s1, counts as the port of the SM. So it is a full
	 * member of the default partition 0x7fff. The other ports, which this partitions.conf does
	 * not name, are limited members of the default partition.
	 */
	TABLE(f, "s1", 0xffff);
	TABLE(f, "h1", 0x7fff, 0x8005);
	TABLE(f, "h2", 0x7fff, 0x0005);
	finds(f, "A=0x8005 : \"h2\"=limited, ALL_CAS=full;\n", 0, NULL);
}

static void test_ports_whose_table_was_not_read(void **state)
{
	(void)state;
	finds(rig_ring(3), conf, 0, NULL);
}

/* --- enforcement */

static struct chk_fabric *enforcing(uint16_t second)
{
	struct chk_fabric *f = right();
	struct chk_port *p = &rig_node(f, "s2")->port[3];

	p->pi.part_enforce_in = p->pi.part_enforce_out = true;
	p->pkeys = chk_alloc(f, 32, sizeof(*p->pkeys));
	p->npkeys = 32;
	p->pkeys[0] = 0xffff;
	p->pkeys[1] = second;
	return f;
}

static void test_enforcement(void **state)
{
	(void)state;
	rig_healthy(enforcing(0x0001));
	rig_healthy(enforcing(0x8001));
	rig_finds(enforcing(0x8002), CHK_PKEY_ENFORCED,
		  "s2/3: enforces P_Keys both ways without 0x0001, which the port behind it has");
}

/* --- counters */

static struct chk_counters *counted(struct chk_fabric *f, const char *node, unsigned int port)
{
	struct chk_port *p = &rig_node(f, node)->port[port];

	p->counters = chk_alloc(f, 1, sizeof(*p->counters));
	p->counters->at_ms[0] = 1000;
	p->counters->at_ms[1] = 4210;
	p->counters->nread = 2;
	return p->counters;
}

static void test_counters_that_grow(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct chk_counters *k = counted(f, "s1", 2);

	(void)state;
	k->first.symbol_errors = 10;
	k->last.symbol_errors = 300;
	k->last.link_downed = 2;
	rig_finds(f, CHK_COUNTER_GROWS,
		  "s1/2: within 3.2 s: SymbolErrorCounter by 290 to 300, LinkDownedCounter by 2 to "
		  "2");
}

static void test_growth_that_a_healthy_fabric_has(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct chk_counters *k = counted(f, "s1", 2);

	(void)state;
	k->last.symbol_errors = 1;
	k->last.xmit_discards = 300;
	rig_finds(
		f, CHK_COUNTER_MOVES,
		"s1/2: within 3.2 s: SymbolErrorCounter by 1 to 1, PortXmitDiscards by 300 to 300");

	f = rig_ring(3);
	k = counted(f, "s1", 2);
	k->at_ms[1] = 31000; /* in milliseconds; the second reading is 30 s after the first */
	k->last.symbol_errors = 4;
	rig_finds(f, CHK_COUNTER_MOVES, "s1/2: within 30.0 s: SymbolErrorCounter by 4 to 4");

	f = rig_ring(3);
	k = counted(f, "s1", 2);
	k->last.symbol_errors = 2;
	rig_finds(f, CHK_COUNTER_GROWS, "s1/2: within 3.2 s: SymbolErrorCounter by 2 to 2");
}

static void test_counter_that_cannot_grow(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct chk_counters *k = counted(f, "s1", 2);

	(void)state;
	k->first.rcv_errors = k->last.rcv_errors = 0xffff;
	k->first.excessive_overruns = k->last.excessive_overruns = 15;
	k->first.link_downed = k->last.link_downed = 254;
	rig_finds(f, CHK_COUNTER_FULL,
		  "s1/2: PortRcvErrors is 65535, ExcessiveBufferOverrunErrors is 15, which is the "
		  "most");
}

static void test_counters_that_do_not_grow(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct chk_counters *k = counted(f, "h1", 1);

	(void)state;
	/* errors that were counted before the first reading */
	k->first.rcv_errors = k->last.rcv_errors = 77;
	k->first.xmit_discards = 5; /* somebody has cleared the counter between the readings */
	k->last.xmit_pkts = 1000000;
	k->last.xmit_wait = 1000;
	/* multicast packets increase this counter, too, without a fault */
	k->last.rcv_switch_relay_errors = 9;
	rig_healthy(f);

	f = rig_ring(3);
	k = counted(f, "h1", 1);
	k->nread = 1; /* the second reading was lost */
	k->last.rcv_errors = 1;
	rig_healthy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right_tables),
		cmocka_unit_test(test_missing_pkeys),
		cmocka_unit_test(test_gaps_of_tables_prove_nothing),
		cmocka_unit_test(test_extra_pkeys),
		cmocka_unit_test(test_rules_of_a_name_win_and_the_manager_is_full),
		cmocka_unit_test(test_ports_whose_table_was_not_read),
		cmocka_unit_test(test_enforcement),
		cmocka_unit_test(test_counters_that_grow),
		cmocka_unit_test(test_growth_that_a_healthy_fabric_has),
		cmocka_unit_test(test_counter_that_cannot_grow),
		cmocka_unit_test(test_counters_that_do_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
