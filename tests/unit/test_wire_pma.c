/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/pma.h"

#include "check.h"
#include "layout.h"

#define C(member, bit, width) FIELD(struct pma_port_counters, member, bit, width)
static const struct field counters_fields[] = {
	/* IBTA 16.1.3.5, table "PortCounters" */
	C(port_select, 8, 8),
	C(counter_select, 16, 16),
	C(symbol_errors, 32, 16),
	C(link_recovers, 48, 8),
	C(link_downed, 56, 8),
	C(rcv_errors, 64, 16),
	C(rcv_remphys_errors, 80, 16),
	C(rcv_switch_relay_errors, 96, 16),
	C(xmit_discards, 112, 16),
	C(xmit_constraint_errors, 128, 8),
	C(rcv_constraint_errors, 136, 8),
	C(counter_select2, 144, 8),
	C(local_link_integrity_errors, 152, 4),
	C(excessive_overruns, 156, 4),
	C(vl15_dropped, 176, 16),
	C(xmit_data, 192, 32),
	C(rcv_data, 224, 32),
	C(xmit_pkts, 256, 32),
	C(rcv_pkts, 288, 32),
	C(xmit_wait, 320, 32),
};
LAYOUT(counters_layout, struct pma_port_counters, pma_port_counters_decode,
       pma_port_counters_encode, 44, 44, counters_fields);

#define E(member, bit, width) FIELD(struct pma_port_counters_ext, member, bit, width)
static const struct field ext_fields[] = {
	/* IBTA 16.1.4.11, table "PortCountersExtended" */
	E(port_select, 8, 8),	     E(counter_select, 16, 16),	 E(xmit_data, 64, 64),
	E(rcv_data, 128, 64),	     E(xmit_pkts, 192, 64),	 E(rcv_pkts, 256, 64),
	E(ucast_xmit_pkts, 320, 64), E(ucast_rcv_pkts, 384, 64), E(mcast_xmit_pkts, 448, 64),
	E(mcast_rcv_pkts, 512, 64),
};
LAYOUT(ext_layout, struct pma_port_counters_ext, pma_port_counters_ext_decode,
       pma_port_counters_ext_encode, 72, 72, ext_fields);

static void test_port_counters_layout(void **state)
{
	layout_check(&counters_layout);
}

static void test_port_counters_ext_layout(void **state)
{
	layout_check(&ext_layout);
}

/* Answers to `perfquery` and `perfquery -x`: ibsim 0.10 under OpenSM 3.3.23 */

static void test_port_counters_golden(void **state)
{
	struct pma_port_counters c;
	uint8_t b[44] = { 0 }, out[44];

	b[1] = 1;
	layout_hex(b + 24, 16, "00000cf0 00000cf0 0000002e 0000002e");
	assert_int_equal(pma_port_counters_decode(&c, b, sizeof(b)), 0);
	assert_int_equal(c.port_select, 1);
	assert_int_equal(c.xmit_data, 3312);
	assert_int_equal(c.rcv_data, 3312);
	assert_int_equal(c.xmit_pkts, 46);
	assert_int_equal(c.rcv_pkts, 46);
	pma_port_counters_encode(out, &c);
	assert_memory_equal(out, b, sizeof(b));
}

static void test_port_counters_ext_golden(void **state)
{
	struct pma_port_counters_ext c;
	uint8_t b[72] = { 0 }, out[72];

	b[1] = 1;
	layout_hex(b + 8, 32,
		   "0000000000000cf0 0000000000000cf0 000000000000002e 000000000000002e");
	assert_int_equal(pma_port_counters_ext_decode(&c, b, sizeof(b)), 0);
	assert_int_equal(c.port_select, 1);
	assert_int_equal(c.xmit_data, 3312);
	assert_int_equal(c.rcv_data, 3312);
	assert_int_equal(c.xmit_pkts, 46);
	assert_int_equal(c.rcv_pkts, 46);
	assert_int_equal(c.mcast_rcv_pkts, 0);
	pma_port_counters_ext_encode(out, &c);
	assert_memory_equal(out, b, sizeof(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port_counters_layout),
		cmocka_unit_test(test_port_counters_golden),
		cmocka_unit_test(test_port_counters_ext_layout),
		cmocka_unit_test(test_port_counters_ext_golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
