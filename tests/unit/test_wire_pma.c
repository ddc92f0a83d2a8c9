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

#define R(member, bit) FIELD(struct pma_rcv_error_details, member, bit, 16)
static const struct field rcv_fields[] = {
	FIELD(struct pma_rcv_error_details, port_select, 8, 8),
	R(counter_select, 16),
	R(local_physical, 32),
	R(malformed, 48),
	R(buffer_overrun, 64),
	R(dlid_mapping, 80),
	R(vl_mapping, 96),
	R(looping, 112),
};
LAYOUT(rcv_layout, struct pma_rcv_error_details, pma_rcv_error_details_decode,
       pma_rcv_error_details_encode, 16, 16, rcv_fields);

#define X(member, bit) FIELD(struct pma_xmit_discard_details, member, bit, 16)
static const struct field xmit_fields[] = {
	FIELD(struct pma_xmit_discard_details, port_select, 8, 8),
	X(counter_select, 16),
	X(inactive, 32),
	X(neighbor_mtu, 48),
	X(sw_lifetime, 64),
	X(sw_hoq_lifetime, 80),
};
LAYOUT(xmit_layout, struct pma_xmit_discard_details, pma_xmit_discard_details_decode,
       pma_xmit_discard_details_encode, 12, 12, xmit_fields);

#define S(i) FIELD(struct pma_data_sl, words[i], 32 + 32 * (i), 32)
static const struct field sl_fields[] = {
	FIELD(struct pma_data_sl, port_select, 8, 8),
	FIELD(struct pma_data_sl, counter_select, 16, 16),
	S(0),
	S(1),
	S(7),
	S(8),
	S(14),
	S(15),
};
LAYOUT(sl_layout, struct pma_data_sl, pma_data_sl_decode, pma_data_sl_encode, 68, 68, sl_fields);

#define P(member, bit, width) FIELD(struct pma_samples_control, member, bit, width)
static const struct field control_fields[] = {
	/* IBTA 16.1.3.2, table "PortSamplesControl" */
	P(op_code, 0, 8),
	P(port_select, 8, 8),
	P(tick, 16, 8),
	P(counter_width, 29, 3),
	P(counter_masks_0_9, 34, 30),
	P(counter_masks_10_14, 65, 15),
	P(mechanisms, 80, 8),
	P(status, 94, 2),
	P(option_mask, 96, 64),
	P(vendor_mask, 160, 64),
	P(start, 224, 32),
	P(interval, 256, 32),
	P(tag, 288, 16),
	P(select[0], 304, 16),
	P(select[1], 320, 16),
	P(select[14], 528, 16),
	P(samples_only_option_mask, 576, 64),
};
LAYOUT(control_layout, struct pma_samples_control, pma_samples_control_decode,
       pma_samples_control_encode, 80, 80, control_fields);

#define Q(member, bit, width) FIELD(struct pma_samples_result, member, bit, width)
static const struct field result_fields[] = {
	/* IBTA 16.1.3.4, table "PortSamplesResult" */
	Q(tag, 0, 16),	       Q(status, 30, 2),	Q(counter[0], 32, 32),
	Q(counter[1], 64, 32), Q(counter[14], 480, 32),
};
LAYOUT(result_layout, struct pma_samples_result, pma_samples_result_decode,
       pma_samples_result_encode, 64, 64, result_fields);

static void test_details_layout(void **state)
{
	layout_check(&rcv_layout);
	layout_check(&xmit_layout);
}

/*
 * The attribute has one counter for each of the 16 SLs, and the table above lists only some of
 * them. If all bits on the wire are ones, all 16 counters must be set.
 */
static void test_data_sl_layout(void **state)
{
	struct pma_data_sl d;
	uint8_t ones[PMA_DATA_SL_LEN], out[PMA_DATA_SL_LEN];

	layout_check_fields(&sl_layout);
	memset(ones, 0xff, sizeof(ones));
	assert_int_equal(pma_data_sl_decode(&d, ones, sizeof(ones) - 1), -EBADMSG);
	assert_int_equal(pma_data_sl_decode(&d, ones, sizeof(ones)), 0);
	pma_data_sl_encode(out, &d);
	assert_int_equal(out[0], 0);
	assert_memory_equal(out + 1, ones + 1, sizeof(out) - 1);
}

static void test_samples_layout(void **state)
{
	layout_check_fields(&control_layout);
	layout_check_fields(&result_layout);
}

static void test_port_counters_layout(void **state)
{
	layout_check(&counters_layout);
}

static void test_port_counters_ext_layout(void **state)
{
	layout_check(&ext_layout);
}

/* Answers to `perfquery` and `perfquery -x`, recorded from ibsim 0.10 under OpenSM 3.3.23 */

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
		cmocka_unit_test(test_details_layout),
		cmocka_unit_test(test_data_sl_layout),
		cmocka_unit_test(test_samples_layout),
		cmocka_unit_test(test_port_counters_layout),
		cmocka_unit_test(test_port_counters_golden),
		cmocka_unit_test(test_port_counters_ext_layout),
		cmocka_unit_test(test_port_counters_ext_golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
