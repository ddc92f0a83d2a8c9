/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <string.h>

#include "mad/smi.h"

#define NPORTS 4

/*
 * A directed-route SMP at one node, and the result of the node's subnet management interface (SMI)
 */
struct at {
	uint8_t mad[MAD_LEN];
	uint8_t port; /* port by which the SMI sends the SMP */
};

static struct at smp(bool returning, uint8_t ptr, uint8_t cnt)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SM_DR,
		.class_version = 1,
		.method = returning ? MAD_METHOD_GET_RESP : MAD_METHOD_GET,
		.status = returning ? MAD_STATUS_DR_D : 0,
		.class_specific = (uint16_t)(ptr << 8 | cnt),
		.attr_id = SMP_ATTR_NODE_INFO,
	};
	struct smp_dr dr = { .dr_slid = IB_LID_PERMISSIVE, .dr_dlid = IB_LID_PERMISSIVE };
	struct at a = { .port = 0xee };

	for (unsigned int i = 1; i < 64; i++) {
		dr.initial_path[i] = (uint8_t)(1 + i % NPORTS);
		dr.return_path[i] = (uint8_t)(1 + (i + 1) % NPORTS);
	}
	smp_encode(a.mad, &h, &dr, NULL);
	return a;
}

static enum smi_verdict recv_at(struct at *a, bool is_switch, uint8_t in_port)
{
	return smi_recv(a->mad, is_switch, in_port, NPORTS, &a->port);
}

static enum smi_verdict send_at(struct at *a, bool is_switch)
{
	return smi_send(a->mad, is_switch, NPORTS, &a->port);
}

static uint8_t ptr_of(const struct at *a)
{
	return a->mad[SMP_OFF_HOP_PTR];
}

static void test_I1_send_at_hop_0_leaves_by_initial_path_1(void **state)
{
	struct at a = smp(false, 0, 3);

	(void)state;
	assert_int_equal(send_at(&a, false), SMI_FORWARD);
	assert_int_equal(ptr_of(&a), 1);
	assert_int_equal(a.port, 2);
}

static void test_I1_send_refuses_a_route_under_way(void **state)
{
	(void)state;
	for (unsigned int ptr = 1; ptr < 256; ptr++) {
		struct at a = smp(false, (uint8_t)ptr, 3);

		assert_int_equal(send_at(&a, true), SMI_DISCARD);
		assert_int_equal(ptr_of(&a), ptr);
	}
}

static void test_I1_switch_forwards_and_records_the_ingress(void **state)
{
	struct at a = smp(false, 2, 5);

	(void)state;
	assert_int_equal(recv_at(&a, true, 4), SMI_FORWARD);
	assert_int_equal(ptr_of(&a), 3);
	assert_int_equal(a.port, 1 + 3 % NPORTS);
	assert_int_equal(a.mad[SMP_OFF_RETURN_PATH + 2], 4);
}

static void test_I1_ca_does_not_forward(void **state)
{
	struct at a = smp(false, 2, 5), b = smp(true, 3, 5);

	(void)state;
	assert_int_equal(recv_at(&a, false, 1), SMI_DISCARD);
	assert_int_equal(recv_at(&b, false, 1), SMI_DISCARD);
}

static void test_I1_end_of_route_records_increments_and_is_local(void **state)
{
	for (unsigned int sw = 0; sw < 2; sw++) {
		struct at a = smp(false, 5, 5);

		assert_int_equal(recv_at(&a, sw, 3), SMI_LOCAL);
		assert_int_equal(ptr_of(&a), 6);
		assert_int_equal(a.mad[SMP_OFF_RETURN_PATH + 5], 3);
	}
	(void)state;
}

static void test_I1_pointer_0_from_the_wire_is_discarded(void **state)
{
	struct at a = smp(false, 0, 5);

	(void)state;
	assert_int_equal(recv_at(&a, true, 3), SMI_DISCARD);
}

static void test_I1_pointer_beyond_the_count_is_discarded(void **state)
{
	(void)state;
	for (unsigned int returning = 0; returning < 2; returning++) {
		for (unsigned int ptr = 7; ptr < 256; ptr++) {
			struct at a = smp(returning, (uint8_t)ptr, 5);

			assert_int_equal(recv_at(&a, true, 3), SMI_DISCARD);
		}
	}
}

static void test_I1_hop_count_is_63_at_most(void **state)
{
	(void)state;
	for (unsigned int returning = 0; returning < 2; returning++) {
		struct at a = smp(returning, 2, 63), b = smp(returning, 2, 64);
		struct at c = smp(returning, returning ? 64 : 0, 63);
		struct at d = smp(returning, returning ? 65 : 0, 64);

		assert_int_equal(recv_at(&a, true, 3), SMI_FORWARD);
		assert_int_equal(recv_at(&b, true, 3), SMI_DISCARD);
		assert_int_equal(send_at(&c, true), SMI_FORWARD);
		assert_int_equal(send_at(&d, true), SMI_DISCARD);
	}
}

static void test_I1_port_above_numports_discards(void **state)
{
	static const uint8_t bad[] = { 0, NPORTS + 1, 255 };

	(void)state;
	for (unsigned int i = 0; i < sizeof(bad); i++) {
		struct at a = smp(false, 2, 5), b = smp(true, 3, 5), c = smp(false, 0, 5);
		struct at d = smp(true, 6, 5);

		a.mad[SMP_OFF_INITIAL_PATH + 3] = bad[i];
		assert_int_equal(recv_at(&a, true, 1), SMI_DISCARD);
		b.mad[SMP_OFF_RETURN_PATH + 2] = bad[i];
		assert_int_equal(recv_at(&b, true, 1), SMI_DISCARD);
		c.mad[SMP_OFF_INITIAL_PATH + 1] = bad[i];
		assert_int_equal(send_at(&c, true), SMI_DISCARD);
		d.mad[SMP_OFF_RETURN_PATH + 5] = bad[i];
		assert_int_equal(send_at(&d, true), SMI_DISCARD);
	}
}

static void test_I1_response_leaves_by_the_return_path(void **state)
{
	struct at a = smp(true, 6, 5);

	(void)state;
	assert_int_equal(send_at(&a, false), SMI_FORWARD);
	assert_int_equal(ptr_of(&a), 5);
	assert_int_equal(a.port, 1 + 6 % NPORTS);
}

static void test_I1_response_is_forwarded_backwards(void **state)
{
	struct at a = smp(true, 5, 5), b = smp(true, 2, 5);
	uint8_t before[64];

	(void)state;
	memcpy(before, a.mad + SMP_OFF_RETURN_PATH, sizeof(before));
	assert_int_equal(recv_at(&a, true, 1), SMI_FORWARD);
	assert_int_equal(ptr_of(&a), 4);
	assert_int_equal(a.port, 1 + 5 % NPORTS);
	assert_memory_equal(a.mad + SMP_OFF_RETURN_PATH, before, sizeof(before));
	assert_int_equal(recv_at(&b, true, 1), SMI_FORWARD);
	assert_int_equal(ptr_of(&b), 1);
	assert_int_equal(b.port, 1 + 2 % NPORTS);
}

static void test_I1_response_ends_at_pointer_1(void **state)
{
	for (unsigned int sw = 0; sw < 2; sw++) {
		struct at a = smp(true, 1, 5);

		assert_int_equal(recv_at(&a, sw, 1), SMI_LOCAL);
		assert_int_equal(ptr_of(&a), 0);
	}
	(void)state;
}

static void test_I1_response_from_its_start_needs_a_lid_routed_part(void **state)
{
	struct at a = smp(true, 6, 5);

	(void)state;
	assert_int_equal(recv_at(&a, true, 1), SMI_DISCARD);
}

static void test_I2_no_hops_is_local_both_ways(void **state)
{
	struct at a = smp(false, 0, 0);

	(void)state;
	assert_int_equal(send_at(&a, false), SMI_LOCAL);
	assert_int_equal(ptr_of(&a), 1);
	smi_make_response(a.mad, 0);
	assert_int_equal(send_at(&a, false), SMI_LOCAL);
	assert_int_equal(ptr_of(&a), 0);
}

/*
 * Make an SMP with a combined route, on its way to the destination or, if @returning, on its way
 * back. The route has three parts: from LID 5 to the switch with LID 7 by LID, then two hops by
 * port numbers, then to LID 9 by LID.
 */
static struct at combined(bool returning, uint8_t ptr)
{
	struct at a = smp(returning, ptr, 2);

	be16_put(a.mad + SMP_OFF_DR_SLID, 5);
	be16_put(a.mad + SMP_OFF_DR_DLID, 9);
	return a;
}

static void test_I2_combined_route_outward(void **state)
{
	struct at a = combined(false, 0);

	(void)state;
	assert_int_equal(send_at(&a, false), SMI_LID_ROUTE);
	assert_int_equal(ptr_of(&a), 0);
	/* at the switch with LID 7, where the directed part of the route begins */
	assert_int_equal(recv_at(&a, true, 3), SMI_FORWARD);
	assert_int_equal(ptr_of(&a), 1);
	assert_int_equal(a.port, 1 + 1 % NPORTS);
	assert_int_equal(recv_at(&a, true, 2), SMI_FORWARD);
	assert_int_equal(ptr_of(&a), 2);
	/* at the switch where the directed part of the route ends */
	assert_int_equal(recv_at(&a, true, 4), SMI_LID_ROUTE);
	assert_int_equal(ptr_of(&a), 3);
	assert_int_equal(a.mad[SMP_OFF_RETURN_PATH + 1], 2);
	assert_int_equal(a.mad[SMP_OFF_RETURN_PATH + 2], 4);
	/* At the destination */
	assert_int_equal(recv_at(&a, false, 1), SMI_LOCAL);
	assert_int_equal(ptr_of(&a), 3);
}

static void test_I2_combined_route_back(void **state)
{
	struct at a = combined(true, 3);

	(void)state;
	a.mad[SMP_OFF_RETURN_PATH + 1] = 2;
	a.mad[SMP_OFF_RETURN_PATH + 2] = 4;
	assert_int_equal(send_at(&a, false), SMI_LID_ROUTE);
	assert_int_equal(recv_at(&a, true, 1), SMI_FORWARD);
	assert_int_equal(ptr_of(&a), 2);
	assert_int_equal(a.port, 4);
	assert_int_equal(recv_at(&a, true, 1), SMI_FORWARD);
	assert_int_equal(ptr_of(&a), 1);
	assert_int_equal(a.port, 2);
	assert_int_equal(recv_at(&a, true, 1), SMI_LID_ROUTE);
	assert_int_equal(ptr_of(&a), 0);
	assert_int_equal(recv_at(&a, false, 1), SMI_LOCAL);
}

static void test_I2_ca_cannot_end_a_directed_part_that_goes_on(void **state)
{
	struct at a = combined(false, 2), b = combined(true, 1);

	(void)state;
	assert_int_equal(recv_at(&a, false, 1), SMI_DISCARD);
	assert_int_equal(recv_at(&b, false, 1), SMI_DISCARD);
}

static void test_make_response(void **state)
{
	struct at a = smp(false, 0, 0);

	(void)state;
	smi_make_response(a.mad, MAD_STATUS_BAD_VALUE);
	assert_int_equal(mad_method(a.mad), MAD_METHOD_GET_RESP);
	assert_int_equal(mad_status(a.mad), 0x801c);
	a.mad[1] = MAD_CLASS_SM_LID;
	smi_make_response(a.mad, MAD_STATUS_BAD_VALUE);
	assert_int_equal(mad_status(a.mad), 0x001c);
	a.mad[3] = MAD_METHOD_TRAP;
	smi_make_response(a.mad, 0);
	assert_int_equal(mad_method(a.mad), MAD_METHOD_TRAP_REPRESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I1_send_at_hop_0_leaves_by_initial_path_1),
		cmocka_unit_test(test_I1_send_refuses_a_route_under_way),
		cmocka_unit_test(test_I1_switch_forwards_and_records_the_ingress),
		cmocka_unit_test(test_I1_ca_does_not_forward),
		cmocka_unit_test(test_I1_end_of_route_records_increments_and_is_local),
		cmocka_unit_test(test_I1_pointer_0_from_the_wire_is_discarded),
		cmocka_unit_test(test_I1_pointer_beyond_the_count_is_discarded),
		cmocka_unit_test(test_I1_hop_count_is_63_at_most),
		cmocka_unit_test(test_I1_port_above_numports_discards),
		cmocka_unit_test(test_I1_response_leaves_by_the_return_path),
		cmocka_unit_test(test_I1_response_is_forwarded_backwards),
		cmocka_unit_test(test_I1_response_ends_at_pointer_1),
		cmocka_unit_test(test_I1_response_from_its_start_needs_a_lid_routed_part),
		cmocka_unit_test(test_I2_no_hops_is_local_both_ways),
		cmocka_unit_test(test_I2_combined_route_outward),
		cmocka_unit_test(test_I2_combined_route_back),
		cmocka_unit_test(test_I2_ca_cannot_end_a_directed_part_that_goes_on),
		cmocka_unit_test(test_make_response),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
