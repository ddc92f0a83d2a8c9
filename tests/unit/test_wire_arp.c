/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/arp.h"

#include <errno.h>

#include "check.h"
#include "wire/ipoib_hdr.h"

/*
 * An ARP request with the fields of RFC 826 and the values of RFC 4391 §9.2: hardware type 32,
 * hardware length 20.
 */
static const uint8_t ib_request[] = { 0x00, 0x20, 0x08, 0x00, 20, 4, 0x00, 0x01,
				      /* sender */
				      0x00, 0x00, 0x00, 0x48, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00,
				      0x02, 0xc9, 0x03, 0, 0, 0, 1, 10, 4, 0, 1,
				      /* target */
				      0x00, 0x00, 0x00, 0x49, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00,
				      0x02, 0xc9, 0x03, 0, 0, 0, 2, 10, 4, 0, 4 };

static const uint8_t eth_reply[] = { 0x00, 0x01, 0x08, 0x00, 6, 4, 0x00, 0x02, 2, 0, 0,	 0, 0, 1,
				     10,   4,	 0,    1,    2, 0, 0,	 0,    0, 2, 10, 4, 0, 4 };

static void test_R56_arp_infiniband_both_directions(void **state)
{
	const uint8_t spa[] = { 10, 4, 0, 1 }, tpa[] = { 10, 4, 0, 4 };
	uint8_t out[ARP_IPOIB_LEN];
	struct ipoib_lladdr lladdr;
	struct arp_pkt a;

	assert_int_equal(sizeof(ib_request), ARP_IPOIB_LEN);
	assert_int_equal(arp_decode(&a, ib_request, sizeof(ib_request)), 0);
	assert_int_equal(a.hrd, 32);
	assert_int_equal(a.pro, 0x0800);
	assert_int_equal(a.hln, 20);
	assert_int_equal(a.pln, 4);
	assert_int_equal(a.op, ARP_OP_REQUEST);
	assert_memory_equal(a.spa, spa, 4);
	assert_memory_equal(a.tpa, tpa, 4);
	assert_int_equal(ipoib_lladdr_decode(&lladdr, a.sha, a.hln), 0);
	assert_int_equal(lladdr.qpn, 0x48);
	assert_int_equal(ipoib_lladdr_decode(&lladdr, a.tha, a.hln), 0);
	assert_int_equal(lladdr.qpn, 0x49);
	assert_int_equal(arp_encode(out, &a), ARP_IPOIB_LEN);
	assert_memory_equal(out, ib_request, sizeof(out));
}

static void test_arp_ethernet_both_directions(void **state)
{
	uint8_t out[ARP_ETHER_LEN], padded[46] = { 0 };
	struct arp_pkt a;

	memcpy(padded, eth_reply, sizeof(eth_reply));
	assert_int_equal(arp_decode(&a, padded, sizeof(padded)), 0);
	assert_int_equal(a.hrd, ARP_HRD_ETHER);
	assert_int_equal(a.hln, 6);
	assert_int_equal(a.op, ARP_OP_REPLY);
	assert_memory_equal(a.sha, eth_reply + 8, 6);
	assert_memory_equal(a.tha, eth_reply + 18, 6);
	assert_int_equal(arp_encode(out, &a), ARP_ETHER_LEN);
	assert_memory_equal(out, eth_reply, sizeof(out));
}

static void test_arp_truncated(void **state)
{
	struct arp_pkt a, was;

	memset(&was, 0x5a, sizeof(was));
	a = was;
	for (size_t len = 0; len < ARP_IPOIB_LEN; len++)
		assert_int_equal(arp_decode(&a, ib_request, len), -EBADMSG);
	for (size_t len = 0; len < ARP_ETHER_LEN; len++)
		assert_int_equal(arp_decode(&a, eth_reply, len), -EBADMSG);
	assert_memory_equal(&a, &was, sizeof(a));
}

/* A message must be refused if one of its first six octets (types and lengths) is wrong. */
static void test_R56_arp_refuses_other_types_and_lengths(void **state)
{
	uint8_t in[600] = { 0 };
	struct arp_pkt a;

	for (unsigned int at = 0; at < 6; at++)
		for (unsigned int v = 0; v < 256; v++) {
			memcpy(in, ib_request, sizeof(ib_request));
			in[at] = (uint8_t)v;
			assert_int_equal(arp_decode(&a, in, sizeof(in)),
					 v == ib_request[at] ? 0 : -EPROTO);
		}
}

static void test_I29_rarp_operations(void **state)
{
	uint8_t in[ARP_IPOIB_LEN], out[ARP_IPOIB_LEN];
	struct arp_pkt a;

	memcpy(in, ib_request, sizeof(in));
	for (uint8_t op = ARP_OP_RREQUEST; op <= ARP_OP_RREPLY; op++) {
		in[7] = op;
		assert_int_equal(arp_decode(&a, in, sizeof(in)), 0);
		assert_int_equal(a.op, op);
		arp_encode(out, &a);
		assert_memory_equal(out, in, sizeof(out));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R56_arp_infiniband_both_directions),
		cmocka_unit_test(test_arp_ethernet_both_directions),
		cmocka_unit_test(test_arp_truncated),
		cmocka_unit_test(test_R56_arp_refuses_other_types_and_lengths),
		cmocka_unit_test(test_I29_rarp_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
