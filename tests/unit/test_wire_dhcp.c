/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/dhcp.h"

#include <errno.h>

#include "check.h"

#define FILE_AT 108
#define SNAME_AT 44

static const uint8_t mac[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };

/* A DHCP header with the fields of RFC 2131, figure 1 */
static const uint8_t golden[DHCP_HDR_LEN] = {
	1,    1,    6,	  3, /* op, htype, hlen, hops */
	0xde, 0xad, 0xbe, 0xef, /* xid */
	0x01, 0x02, 0x80, 0x00, /* secs, flags */
	10,   4,    0,	  1, /* ciaddr */
	10,   4,    0,	  2, /* yiaddr */
	10,   4,    0,	  3, /* siaddr */
	10,   4,    0,	  4, /* giaddr */
	0x52, 0x54, 0x00, 0x12, 0x34, 0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

static uint8_t msg[2048], out[2048];

/* Make a DHCP message with @n octets of options, and no options in the fields sname and file. */
static size_t make(const void *options, size_t n)
{
	memset(msg, 0, sizeof(msg));
	memcpy(msg, golden, sizeof(golden));
	be32_put(msg + DHCP_FIXED_LEN, 0x63825363);
	memcpy(msg + DHCP_OPTIONS, options, n);
	return DHCP_OPTIONS + n;
}

static void test_dhcp_header_golden(void **state)
{
	uint8_t b[DHCP_HDR_LEN];
	struct dhcp_hdr h;

	make("\xff", 1);
	assert_int_equal(dhcp_hdr_decode(&h, msg, DHCP_FIXED_LEN), 0);
	assert_int_equal(h.op, DHCP_OP_REQUEST);
	assert_int_equal(h.htype, DHCP_HTYPE_ETHER);
	assert_int_equal(h.hlen, 6);
	assert_int_equal(h.hops, 3);
	assert_int_equal(h.xid, 0xdeadbeef);
	assert_int_equal(h.secs, 0x0102);
	assert_int_equal(h.flags, DHCP_FLAG_BROADCAST);
	assert_memory_equal(h.ciaddr, golden + 12, 4);
	assert_memory_equal(h.yiaddr, golden + 16, 4);
	assert_memory_equal(h.siaddr, golden + 20, 4);
	assert_memory_equal(h.giaddr, golden + 24, 4);
	assert_memory_equal(h.chaddr, golden + 28, 16);
	dhcp_hdr_encode(b, &h);
	assert_memory_equal(b, golden, sizeof(golden));
}

static void test_dhcp_header_truncated(void **state)
{
	struct dhcp_hdr h, was;

	make("\xff", 1);
	memset(&was, 0x5a, sizeof(was));
	h = was;
	for (size_t len = 0; len < DHCP_FIXED_LEN; len++)
		assert_int_equal(dhcp_hdr_decode(&h, msg, len), -EBADMSG);
	msg[2] = 17; /* an address longer than its field */
	assert_int_equal(dhcp_hdr_decode(&h, msg, DHCP_FIXED_LEN), -EBADMSG);
	assert_memory_equal(&h, &was, sizeof(h));
	msg[2] = 16;
	assert_int_equal(dhcp_hdr_decode(&h, msg, DHCP_FIXED_LEN), 0);
}

static void test_dhcp_cookie(void **state)
{
	make("\xff", 1);
	for (size_t len = 0; len < DHCP_OPTIONS; len++)
		assert_false(dhcp_has_options(msg, len));
	assert_true(dhcp_has_options(msg, DHCP_OPTIONS));
	for (size_t at = DHCP_FIXED_LEN; at < DHCP_OPTIONS; at++) {
		msg[at] ^= 1;
		assert_false(dhcp_has_options(msg, DHCP_OPTIONS));
		msg[at] ^= 1;
	}
}

/*
 * The options are cut at every length. The message must be refused unless the cut is between two
 * options.
 */
static void test_dhcp_options_truncated(void **state)
{
	static const uint8_t options[] = { 53, 1, 1, 0, 0, 61, 3, 7, 8, 9, 12, 2, 'h', '2', 255 };
	static const uint8_t good[] = { 0, 3, 4, 5, 10, 14, 15 };

	for (size_t n = 0; n <= sizeof(options); n++) {
		size_t len = make(options, n);
		bool whole = memchr(good, (int)n, sizeof(good)) != NULL;
		struct dhcp_walk w;
		struct dhcp_opt o;
		int more;

		dhcp_walk_init(&w, msg, len);
		while ((more = dhcp_walk_next(&w, &o)) > 0)
			assert_true(o.data + o.len <= msg + len);
		assert_int_equal(more, whole ? 0 : -EBADMSG);
		if (!whole)
			assert_int_equal(dhcp_opt_set(out, sizeof(out), msg, len, 61, mac, 6),
					 -EBADMSG);
	}
}

static void test_dhcp_option_lookup(void **state)
{
	static const uint8_t options[] = { 53, 1, 3, 61, 3, 7, 8, 9, 255, 12, 1, 'x' };
	uint8_t v[4] = { 0 };
	size_t len = make(options, sizeof(options));

	assert_int_equal(dhcp_opt_get(msg, len, 53, v, 4), 1);
	assert_int_equal(v[0], 3);
	assert_int_equal(dhcp_opt_get(msg, len, 61, v, 4), 3);
	assert_memory_equal(v, "\7\10\11", 3);
	assert_int_equal(dhcp_opt_get(msg, len, 61, v, 2), -EMSGSIZE);
	assert_int_equal(dhcp_opt_get(msg, len, 12, v, 4), -ENOENT); /* after the end option */
}

/*
 * RFC 3396: the parts of a split option must be joined. RFC 2131 gives the order of the fields that
 * contain options.
 */
static void test_dhcp_options_in_parts_and_overloaded_fields(void **state)
{
	static const uint8_t options[] = { 52, 1, 3, 61, 2, 'a', 'b', 255 };
	uint8_t v[16];
	size_t len = make(options, sizeof(options));

	memcpy(msg + FILE_AT,
	       "\x3d\x02"
	       "cd\xff",
	       5);
	memcpy(msg + SNAME_AT,
	       "\x3d\x01"
	       "e\x0c\x02h2\xff",
	       8);
	assert_int_equal(dhcp_opt_get(msg, len, 61, v, sizeof(v)), 5);
	assert_memory_equal(v, "abcde", 5);
	assert_int_equal(dhcp_opt_get(msg, len, 12, v, sizeof(v)), 2);
	msg[DHCP_OPTIONS + 2] = 1; /* options also in the field file */
	assert_int_equal(dhcp_opt_get(msg, len, 61, v, sizeof(v)), 4);
	assert_int_equal(dhcp_opt_get(msg, len, 12, v, sizeof(v)), -ENOENT);
	msg[DHCP_OPTIONS + 2] = 2; /* options also in the field sname */
	assert_int_equal(dhcp_opt_get(msg, len, 61, v, sizeof(v)), 3);
	msg[SNAME_AT + 1] = 100; /* this option ends beyond sname, but within the message */
	assert_int_equal(dhcp_opt_get(msg, len, 61, v, sizeof(v)), -EBADMSG);
	/* An option "overload" inside an overloaded field must have no effect. */
	memcpy(msg + SNAME_AT, "\x34\x01\x01\xff", 4);
	assert_int_equal(dhcp_opt_get(msg, len, 61, v, sizeof(v)), 2);
}

static void test_dhcp_set_adds_before_the_end_and_keeps_the_length(void **state)
{
	uint8_t options[60] = { 53, 1, 1, 255 };
	size_t len = make(options, sizeof(options));

	assert_int_equal(len, DHCP_BOOTP_LEN);
	assert_int_equal(dhcp_opt_set(out, sizeof(out), msg, len, 61, mac, 6), len);
	assert_memory_equal(out, msg, DHCP_OPTIONS);
	assert_memory_equal(out + DHCP_OPTIONS, "\x35\1\1\x3d\6\x52\x54\0\x12\x34\x56\xff\0", 13);
	for (size_t i = DHCP_OPTIONS + 13; i < len; i++)
		assert_int_equal(out[i], 0);
}

static void test_dhcp_set_replaces_and_removes_all_parts(void **state)
{
	uint8_t options[70] = { 61, 1, 'a', 53, 1, 3, 61, 1, 'b', 12, 2, 'h', '2', 255 };
	size_t len = make(options, sizeof(options));

	assert_int_equal(dhcp_opt_set(out, sizeof(out), msg, len, 61, mac, 2), len);
	assert_memory_equal(out + DHCP_OPTIONS, "\x35\1\3\x0c\2h2\x3d\2\x52\x54\xff\0", 13);
	assert_int_equal(dhcp_opt_set(out, sizeof(out), msg, len, 61, NULL, 0), len);
	assert_memory_equal(out + DHCP_OPTIONS, "\x35\1\3\x0c\2h2\xff\0", 9);
}

static void test_dhcp_set_in_overloaded_fields(void **state)
{
	static const uint8_t options[] = { 52, 1, 3, 53, 1, 3, 255 };
	uint8_t v[8];
	size_t len = make(options, sizeof(options));
	int n;

	memcpy(msg + FILE_AT, "\x3d\1a\x43\2xy\xff", 8);
	memcpy(msg + SNAME_AT, "\x3d\1b\xff", 4);
	n = dhcp_opt_set(out, sizeof(out), msg, len, 61, mac, 6);
	assert_int_equal(n, DHCP_BOOTP_LEN); /* padded to BOOTP's minimum length */
	assert_int_equal(dhcp_opt_get(out, (size_t)n, 61, v, sizeof(v)), 6);
	assert_memory_equal(v, mac, 6);
	assert_memory_equal(out + FILE_AT, "\x43\2xy\xff\0\0\0", 8);
	assert_memory_equal(out + SNAME_AT, "\xff\0\0\0", 4);
	assert_int_equal(dhcp_opt_get(out, (size_t)n, 67, v, sizeof(v)), 2);
}

/*
 * If there is too little room for the changed message, its padding must become shorter, but no
 * option may be dropped.
 */
static void test_dhcp_set_within_its_room(void **state)
{
	uint8_t options[200] = { 53, 1, 1, 12, 100, [105] = 255 };
	size_t len = make(options, sizeof(options)), need = DHCP_OPTIONS + 105 + 8 + 1;

	assert_int_equal(dhcp_opt_set(out, len, msg, len, 61, mac, 6), len);
	assert_int_equal(dhcp_opt_set(out, need, msg, len, 61, mac, 6), need);
	for (size_t max = 0; max < need; max++) {
		memset(out, 0x5a, sizeof(out));
		assert_int_equal(dhcp_opt_set(out, max, msg, len, 61, mac, 6), -EMSGSIZE);
		for (size_t i = max; i < sizeof(out); i++)
			assert_int_equal(out[i], 0x5a);
	}
}

static void test_D2_client_identifier_of_rfc_4361(void **state)
{
	/* option type 255, IAID, DUID of type 3, hardware type 1, MAC */
	static const uint8_t want[] = { 255, 0,	   0x12, 0x34, 0x56, 0,	   3,	0,
					1,   0x52, 0x54, 0,    0x12, 0x34, 0x56 };
	uint8_t id[DHCP_CLIENT_ID_LEN(6)];

	assert_int_equal(sizeof(want), DHCP_CLIENT_ID_LEN(6));
	dhcp_client_id_make(id, DHCP_HTYPE_ETHER, mac, 6);
	assert_memory_equal(id, want, sizeof(want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dhcp_header_golden),
		cmocka_unit_test(test_dhcp_header_truncated),
		cmocka_unit_test(test_dhcp_cookie),
		cmocka_unit_test(test_dhcp_options_truncated),
		cmocka_unit_test(test_dhcp_option_lookup),
		cmocka_unit_test(test_dhcp_options_in_parts_and_overloaded_fields),
		cmocka_unit_test(test_dhcp_set_adds_before_the_end_and_keeps_the_length),
		cmocka_unit_test(test_dhcp_set_replaces_and_removes_all_parts),
		cmocka_unit_test(test_dhcp_set_in_overloaded_fields),
		cmocka_unit_test(test_dhcp_set_within_its_room),
		cmocka_unit_test(test_D2_client_identifier_of_rfc_4361),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
