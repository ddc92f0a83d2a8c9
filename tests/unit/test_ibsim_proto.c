/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "ibsim/proto.h"
#include "ibsim_golden.h"

#include <errno.h>
#include <string.h>

static void test_ibsim_pkt_golden(void **state)
{
	static const struct {
		const uint8_t *raw;
		struct ibsim_pkt want;
		uint8_t mgmt_class, method;
	} v[] = {
		{ golden_get_node_info, { 0xffff, 0xffff, 0, 0, 0, 256, { 0 } }, 0x81, 0x01 },
		{ golden_lost_back, { 0xffff, 0xffff, 0, 0, 110, 256, { 0 } }, 0x81, 0x01 },
		{ golden_table, { 1, 0, 1, 1, 0, 256, { 0 } }, 0x03, 0x12 },
		{ golden_table_resp, { 4, 1, 1, 1, 0, 120, { 0 } }, 0x03, 0x92 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct ibsim_pkt k;

		assert_int_equal(ibsim_pkt_decode(&k, v[i].raw, IBSIM_PKT_LEN), 0);
		assert_int_equal(k.dlid, v[i].want.dlid);
		assert_int_equal(k.slid, v[i].want.slid);
		assert_int_equal(k.dest_qp, v[i].want.dest_qp);
		assert_int_equal(k.src_qp, v[i].want.src_qp);
		assert_int_equal(k.status, v[i].want.status);
		assert_int_equal(k.len, v[i].want.len);
		assert_int_equal(mad_class(k.mad), v[i].mgmt_class);
		assert_int_equal(mad_method(k.mad), v[i].method);
	}
}

/*
 * Compare the encoded packets with packets of ibsim. The padding is not compared, because it is
 * memory that the sender did not set.
 */
static void test_ibsim_pkt_encode_golden(void **state)
{
	const uint8_t *const v[] = { golden_get_node_info, golden_got_node_info, golden_lost,
				     golden_lost_back, golden_table };
	uint8_t raw[IBSIM_PKT_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct ibsim_pkt k;

		assert_int_equal(ibsim_pkt_decode(&k, v[i], IBSIM_PKT_LEN), 0);
		ibsim_pkt_encode(raw, &k);
		assert_memory_equal(raw, v[i], 20);
		assert_memory_equal(raw + 24, v[i] + 24, IBSIM_PKT_LEN - 24);
	}
}

/*
 * A MAD is shorter than its field in the packet. The octets after the MAD, which the client did not
 * clear, must be read as zeros.
 */
static void test_ibsim_pkt_behind_its_length_is_zero(void **state)
{
	static const uint8_t zero[MAD_LEN];
	struct ibsim_pkt k;

	(void)state;
	assert_true(memcmp(golden_table_resp + 32 + 120, zero, 136) != 0);
	assert_int_equal(ibsim_pkt_decode(&k, golden_table_resp, IBSIM_PKT_LEN), 0);
	assert_memory_equal(k.mad, golden_table_resp + 32, 120);
	assert_memory_equal(k.mad + 120, zero, MAD_LEN - 120);
}

static void test_ibsim_pkt_every_wrong_length(void **state)
{
	uint8_t raw[IBSIM_PKT_LEN + 64] = { 0 };
	struct ibsim_pkt k;

	(void)state;
	memcpy(raw, golden_table, IBSIM_PKT_LEN);
	for (size_t n = 0; n < sizeof(raw); n++)
		assert_int_equal(ibsim_pkt_decode(&k, raw, n), n == IBSIM_PKT_LEN ? 0 : -EBADMSG);
}

static void test_ibsim_pkt_every_wrong_mad_length(void **state)
{
	uint8_t raw[IBSIM_PKT_LEN];
	struct ibsim_pkt k;

	(void)state;
	memcpy(raw, golden_table, sizeof(raw));
	for (unsigned int n = 0; n < 600; n++) {
		be64_put(raw + 24, n);
		assert_int_equal(ibsim_pkt_decode(&k, raw, sizeof(raw)),
				 n >= MAD_HDR_LEN && n <= MAD_LEN ? 0 : -EBADMSG);
	}
	be64_put(raw + 24, 1ull << 32 | 256);
	assert_int_equal(ibsim_pkt_decode(&k, raw, sizeof(raw)), -EBADMSG);
	be64_put(raw + 24, 1ull << 63 | 256);
	assert_int_equal(ibsim_pkt_decode(&k, raw, sizeof(raw)), -EBADMSG);
}

static void test_ibsim_ctl_golden(void **state)
{
	static const struct {
		const uint8_t *raw;
		uint32_t type, client, len;
	} v[] = {
		{ golden_connect, IBSIM_CTL_CONNECT, 0, 44 },
		{ golden_connected, IBSIM_CTL_CONNECT, 0, 44 },
		{ golden_ask_vendor, IBSIM_CTL_GET_VENDOR, 1, 24 },
		{ golden_vendor, IBSIM_CTL_GET_VENDOR, 1, 24 },
		{ golden_ask_node_info, IBSIM_CTL_GET_NODE_INFO, 1, 64 },
		{ golden_node_info, IBSIM_CTL_GET_NODE_INFO, 1, 64 },
		{ golden_ask_port_info, IBSIM_CTL_GET_PORT_INFO, 1, 64 },
		{ golden_port_info, IBSIM_CTL_GET_PORT_INFO, 1, 64 },
		{ golden_ask_pkeys, IBSIM_CTL_GET_PKEYS, 1, 64 },
		{ golden_pkeys, IBSIM_CTL_GET_PKEYS, 1, 64 },
		{ golden_disconnect, IBSIM_CTL_DISCONNECT, 1, 0 },
		{ golden_disconnected, IBSIM_CTL_DISCONNECT, 1, 0 },
	};
	uint8_t raw[IBSIM_CTL_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct ibsim_ctl m;

		assert_int_equal(ibsim_ctl_decode(&m, v[i].raw, IBSIM_CTL_LEN), 0);
		assert_int_equal(m.type, v[i].type);
		assert_int_equal(m.client, v[i].client);
		assert_int_equal(m.len, v[i].len);
		ibsim_ctl_encode(raw, &m);
		assert_memory_equal(raw, v[i].raw, sizeof(raw));
	}
}

static void test_ibsim_ctl_every_wrong_length_and_magic(void **state)
{
	uint8_t raw[IBSIM_CTL_LEN + 64] = { 0 };
	struct ibsim_ctl m;

	(void)state;
	memcpy(raw, golden_connect, IBSIM_CTL_LEN);
	for (size_t n = 0; n < sizeof(raw); n++)
		assert_int_equal(ibsim_ctl_decode(&m, raw, n), n == IBSIM_CTL_LEN ? 0 : -EBADMSG);
	for (unsigned int bit = 0; bit < 32; bit++) {
		raw[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(ibsim_ctl_decode(&m, raw, IBSIM_CTL_LEN), -EBADMSG);
		raw[bit / 8] ^= 1 << bit % 8;
	}
	for (uint32_t len = 0; len < 200; len++) {
		memcpy(raw + 12, &len, sizeof(len));
		assert_int_equal(ibsim_ctl_decode(&m, raw, IBSIM_CTL_LEN),
				 len <= IBSIM_CTL_DATA ? 0 : -EBADMSG);
	}
}

static void test_ibsim_client_info_golden(void **state)
{
	struct ibsim_client_info i;
	uint8_t raw[IBSIM_CLIENT_INFO_LEN];

	(void)state;
	assert_int_equal(ibsim_client_info_decode(&i, golden_connect + 16, sizeof(raw)), 0);
	assert_int_equal(i.id, 0x53e5);
	assert_int_equal(i.qp, 0);
	assert_false(i.issm);
	assert_string_equal(i.node, "Hca2");
	i.id = 1;
	ibsim_client_info_encode(raw, &i);
	assert_memory_equal(raw, golden_connected + 16, sizeof(raw));
}

static void test_ibsim_client_info_wrong(void **state)
{
	struct ibsim_client_info i = { .id = 7 };
	uint8_t raw[IBSIM_CLIENT_INFO_LEN];

	(void)state;
	for (size_t n = 0; n <= IBSIM_CTL_DATA; n++)
		assert_int_equal(ibsim_client_info_decode(&i, golden_connect + 16, n),
				 n == sizeof(raw) ? 0 : -EBADMSG);
	memcpy(raw, golden_connect + 16, sizeof(raw));
	memset(raw + 12, 'x', IBSIM_NODE_MAX);
	assert_int_equal(ibsim_client_info_decode(&i, raw, sizeof(raw)), -EBADMSG);
	raw[sizeof(raw) - 1] = 0;
	assert_int_equal(ibsim_client_info_decode(&i, raw, sizeof(raw)), 0);
	assert_int_equal(strlen(i.node), IBSIM_NODE_MAX - 1);
}

static void test_ibsim_vendor_golden(void **state)
{
	uint8_t raw[IBSIM_VENDOR_LEN];
	const struct ibsim_vendor v = { .hw_ver = 0xa1, .fw_ver = 1 };

	(void)state;
	ibsim_vendor_encode(raw, &v);
	assert_memory_equal(raw, golden_vendor + 16, sizeof(raw));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ibsim_pkt_golden),
		cmocka_unit_test(test_ibsim_pkt_encode_golden),
		cmocka_unit_test(test_ibsim_pkt_behind_its_length_is_zero),
		cmocka_unit_test(test_ibsim_pkt_every_wrong_length),
		cmocka_unit_test(test_ibsim_pkt_every_wrong_mad_length),
		cmocka_unit_test(test_ibsim_ctl_golden),
		cmocka_unit_test(test_ibsim_ctl_every_wrong_length_and_magic),
		cmocka_unit_test(test_ibsim_client_info_golden),
		cmocka_unit_test(test_ibsim_client_info_wrong),
		cmocka_unit_test(test_ibsim_vendor_golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
