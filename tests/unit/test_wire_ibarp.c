/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/ibarp.h"

#include <errno.h>

#include "check.h"
#include "wire/arp.h"

/*
 * IBARP request of draft-pelissier-ipoib-encaparp-00 §6.3, figure "IBA payload section of an IBARP
 * packet", row by row. The figure's first row (Reserved16, Ethertype) is the encapsulation, and is
 * left out. The values are those of the table in §6.4.
 *
 * The fields have 2 + 2 + 1 + 1 + 2 octets, then twice 8 + 4 + 4 + 5 * 4 + 4: 88 in all. With the
 * encapsulation there are 92 octets, as in the preceding figure of the draft ("IBARP contents (92
 * bytes)"). HLEN is 32 = 8 + 4 + 4 + 16, which does not include the second copy of GID[127-96].
 */
static const uint8_t request[] = {
	0x00, 0x20, 0x08, 0x00, /* Hardware Type 32, Protocol Type 0x0800 */
	0x20, 0x04, 0x00, 0x01, /* HLEN 32, PLEN 4, Operation 1 */
	0x00, 0x02, 0xc9, 0x03, /* Sender EUI-64[63-32] */
	0x00, 0x00, 0x00, 0x05, /* Sender EUI-64[31-0] */
	0x00, 0x00, 0x00, 0x48, /* Reserved8, Sender QPN */
	0x80, 0x00, 0x0b, 0x1b, /* Sender QKey */
	0xfe, 0x80, 0x00, 0x00, /* SenderGID[127-96] */
	0xfe, 0x80, 0x00, 0x00, /* SenderGID[127-96] */
	0x00, 0x00, 0x00, 0x00, /* SenderGID[95-64] */
	0x00, 0x02, 0xc9, 0x03, /* SenderGID[63-32] */
	0x00, 0x00, 0x00, 0x05, /* SenderGID[31-0] */
	0x0a, 0x04, 0x00, 0x05, /* Sender IP Address 10.4.0.5 */
	0x00, 0x02, 0xc9, 0x03, /* Target EUI-64[63-32] */
	0x00, 0x00, 0x00, 0x07, /* Target EUI-64[31-0] */
	0x00, 0x12, 0x34, 0x56, /* Reserved8, Target QPN */
	0x01, 0x23, 0x45, 0x67, /* Target QKey */
	0xfe, 0x80, 0x00, 0x00, /* TargetGID[127-96] */
	0xfe, 0x80, 0x00, 0x00, /* TargetGID[127-96] */
	0x00, 0x00, 0x00, 0x00, /* TargetGID[95-64] */
	0x00, 0x02, 0xc9, 0x03, /* TargetGID[63-32] */
	0x00, 0x00, 0x00, 0x07, /* TargetGID[31-0] */
	0x0a, 0x04, 0x00, 0x07, /* Target IP Address 10.4.0.7 */
};

/* Offsets in request[] */
#define SPA 44 /* Sender IP Address */
#define TARGET 48 /* Target EUI-64 */
#define AGAIN 28 /* second copy of SenderGID[127-96] */

static void check_fields(const struct ibarp_pkt *a)
{
	static const uint8_t spa[4] = { 10, 4, 0, 5 }, tpa[4] = { 10, 4, 0, 7 };

	assert_int_equal(a->op, ARP_OP_REQUEST);
	assert_int_equal(a->sender.eui64, 0x0002c90300000005);
	assert_int_equal(a->sender.lladdr.qpn, 0x48);
	assert_true(a->sender.has_qkey);
	assert_int_equal(a->sender.qkey, 0x80000b1b);
	assert_memory_equal(a->sender.lladdr.gid.raw, request + AGAIN, 16);
	assert_memory_equal(a->spa, spa, 4);
	assert_int_equal(a->target.eui64, 0x0002c90300000007);
	assert_int_equal(a->target.lladdr.qpn, 0x123456);
	assert_int_equal(a->target.qkey, 0x01234567);
	assert_memory_equal(a->target.lladdr.gid.raw, request + TARGET + 20, 16);
	assert_memory_equal(a->tpa, tpa, 4);
}

static void test_P20_P23_ibarp_both_directions(void **state)
{
	uint8_t in[IBARP_LEN], out[IBARP_LEN];
	struct ibarp_pkt a;

	assert_int_equal(sizeof(request), IBARP_LEN);
	assert_int_equal(IBARP_LEN + IPOIB_HDR_LEN, 92);
	assert_int_equal(ibarp_decode(&a, request, sizeof(request)), 0);
	check_fields(&a);
	memset(out, 0xff, sizeof(out));
	ibarp_encode(out, &a);
	assert_memory_equal(out, request, sizeof(out));
	/* Reserved octets must be ignored on receive, and be sent as 0. */
	memcpy(in, request, sizeof(in));
	in[16] = in[TARGET + 8] = 0x80;
	assert_int_equal(ibarp_decode(&a, in, sizeof(in)), 0);
	ibarp_encode(out, &a);
	assert_memory_equal(out, request, sizeof(out));
	a.op = ARP_OP_REPLY;
	ibarp_encode(out, &a);
	assert_int_equal(be16_at(out + 6), 2);
	assert_int_equal(ibarp_decode(&a, out, sizeof(out)), 0);
	assert_int_equal(a.op, ARP_OP_REPLY);
}

/*
 * Make the request without the second copies of SenderGID[127-96] and TargetGID[127-96]. The result
 * has 84 octets with the encapsulation.
 */
static void single(uint8_t ret[IBARP_LEN_SINGLE])
{
	memcpy(ret, request, AGAIN - 4);
	memcpy(ret + AGAIN - 4, request + AGAIN, TARGET + 16 - AGAIN);
	memcpy(ret + TARGET + 12, request + TARGET + 20, IBARP_LEN - TARGET - 20);
}

static void test_P20_ibarp_without_the_second_copies(void **state)
{
	uint8_t in[IBARP_LEN + 8] = { 0 };
	struct ibarp_pkt a;

	single(in);
	assert_int_equal(IBARP_LEN_SINGLE + IPOIB_HDR_LEN, 84);
	/*
	 * If further octets follow this short message, the octets together can be enough for the
	 * layout of the figure. The decoder must choose the layout in which the GID contains the
	 * EUI-64.
	 */
	for (size_t len = IBARP_LEN_SINGLE; len <= sizeof(in); len++) {
		memset(&a, 0, sizeof(a));
		assert_int_equal(ibarp_decode(&a, in, len), 0);
		check_fields(&a);
	}
}

/*
 * A GID that is not at index 0 of its port does not contain the EUI-64. The decoder must then use
 * the layout of the figure.
 */
static void test_P20_ibarp_with_a_gid_that_does_not_contain_the_eui64(void **state)
{
	uint8_t in[IBARP_LEN];
	struct ibarp_pkt a;

	memcpy(in, request, sizeof(in));
	in[15] = 0x99;
	assert_int_equal(ibarp_decode(&a, in, sizeof(in)), 0);
	assert_int_equal(a.sender.eui64, 0x0002c90300000099);
	assert_memory_equal(a.sender.lladdr.gid.raw, request + AGAIN, 16);
	assert_memory_equal(a.target.lladdr.gid.raw, request + TARGET + 20, 16);
}

static void test_P23_ibarp_refuses_other_types_and_lengths(void **state)
{
	uint8_t in[600] = { 0 };
	struct ibarp_pkt a;

	for (unsigned int at = 0; at < 8; at++)
		for (unsigned int v = 0; v < 256; v++) {
			bool ok = v == request[at] || (at == 4 && v == IBARP_HW_LEN) ||
				  (at == 7 && v == 2);

			memcpy(in, request, sizeof(request));
			in[at] = (uint8_t)v;
			assert_int_equal(ibarp_decode(&a, in, sizeof(in)), ok ? 0 : -EPROTO);
		}
}

static void test_P20_ibarp_truncated(void **state)
{
	uint8_t in[IBARP_LEN];
	struct ibarp_pkt a, was;

	memset(&was, 0x5a, sizeof(was));
	a = was;
	for (size_t len = 0; len < IBARP_LEN_SINGLE; len++)
		assert_int_equal(ibarp_decode(&a, request, len), -EBADMSG);
	/* A sender whose HLEN includes the second copy of GID[127-96] must also send this copy. */
	memcpy(in, request, sizeof(in));
	in[4] = IBARP_HW_LEN;
	for (size_t len = 0; len < IBARP_LEN; len++)
		assert_int_equal(ibarp_decode(&a, in, len), -EBADMSG);
	assert_memory_equal(&a, &was, sizeof(a));
	assert_int_equal(ibarp_decode(&a, in, sizeof(in)), 0);
	check_fields(&a);
}

/* IBARP and IPv4 have the same EtherType, 0x0800, so the content must tell them apart. */
static void test_P22_ibarp_is_told_from_ipv4(void **state)
{
	uint8_t p[IBARP_LOOK];

	assert_true(ibarp_is(request, sizeof(request)));
	assert_true(ibarp_is(request, IBARP_LOOK));
	for (size_t len = 0; len < IBARP_LOOK; len++)
		assert_false(ibarp_is(request, len));
	for (unsigned int at = 0; at < 6; at++) {
		memcpy(p, request, sizeof(p));
		p[at] ^= 0x41;
		/*
		 * ibarp_is() does not look at protocol type and HLEN, because ibarp_decode() checks
		 * them.
		 */
		assert_int_equal(ibarp_is(p, sizeof(p)), at >= 2 && at <= 4);
	}
}

/*
 * §5 of the draft, the figure of the ND option: Type 1, Length 5, Reserved16, EUI-64, Reserved8,
 * QPN, QKey, GID[127-96] twice, GID[95-64], GID[63-32], GID[31-0]. 4 + 8 + 4 + 4 + 5 * 4 = 40
 * octets = 5 * 8.
 */
static const uint8_t opt[] = {
	0x01, 0x05, 0x00, 0x00, /* Type, Length, Reserved */
	0x00, 0x02, 0xc9, 0x03, /* EUI-64[63-32] */
	0x00, 0x00, 0x00, 0x05, /* EUI-64[31-0] */
	0x00, 0x00, 0x00, 0x48, /* Reserved8, QPN */
	0x80, 0x00, 0x0b, 0x1b, /* QKey */
	0xfe, 0x80, 0x00, 0x00, /* GID[127-96] */
	0xfe, 0x80, 0x00, 0x00, /* GID[127-96] */
	0x00, 0x00, 0x00, 0x00, /* GID[95-64] */
	0x00, 0x02, 0xc9, 0x03, /* GID[63-32] */
	0x00, 0x00, 0x00, 0x05, /* GID[31-0] */
};

static void check_opt(const uint8_t *p)
{
	struct nd_port a = { 0 };
	struct nd_opt o;
	size_t pos = 0;

	assert_int_equal(nd_opt_next(&o, p, ND_OPT_IBARP, &pos), 1);
	assert_int_equal(nd_opt_ibarp_decode(&a, &o), 0);
	assert_int_equal(a.eui64, 0x0002c90300000005);
	assert_int_equal(a.lladdr.qpn, 0x48);
	assert_int_equal(a.lladdr.flags, 0);
	assert_true(a.has_qkey);
	assert_int_equal(a.qkey, 0x80000b1b);
	assert_memory_equal(a.lladdr.gid.raw, opt + 24, 16);
	assert_int_equal(a.lid, 0);
}

static void test_P14_option_is_five_units(void **state)
{
	struct nd_opt o = { .type = 1, .len = sizeof(opt), .data = opt };
	uint8_t out[ND_OPT_IBARP];
	struct nd_port a;

	assert_int_equal(sizeof(opt), ND_OPT_IBARP);
	check_opt(opt);
	assert_int_equal(nd_opt_ibarp_decode(&a, &o), 0);
	memset(out, 0xff, sizeof(out));
	nd_opt_ibarp_encode(out, ND_OPT_SLLA, &a);
	assert_memory_equal(out, opt, sizeof(out));
	nd_opt_ibarp_encode(out, ND_OPT_TLLA, &a);
	assert_int_equal(out[0], 2);
	assert_memory_equal(out + 1, opt + 1, sizeof(out) - 1);
}

/*
 * An option of length 5 can lack the second copy of GID[127-96]. The last word of the option is
 * then padding, with any content.
 */
static void test_P14_option_without_the_second_copy(void **state)
{
	uint8_t in[ND_OPT_IBARP];

	memcpy(in, opt, 20);
	memcpy(in + 20, opt + 24, 16);
	for (unsigned int v = 0; v < 256; v++) {
		memset(in + 36, (int)v, 4);
		check_opt(in);
	}
}

static void test_P14_option_of_other_type_or_length_is_refused(void **state)
{
	uint8_t buf[8 * 255] = { 0 };
	struct nd_port a;
	struct nd_opt o;

	memcpy(buf, opt, sizeof(opt));
	for (unsigned int k = 0; k < 512; k++) {
		size_t pos = 0;

		buf[0] = k < 256 ? ND_OPT_TLLA : (uint8_t)k;
		buf[1] = k < 256 ? (uint8_t)k : 5;
		if (!buf[1])
			continue;
		assert_int_equal(nd_opt_next(&o, buf, sizeof(buf), &pos), 1);
		assert_int_equal(nd_opt_ibarp_decode(&a, &o),
				 buf[1] == 5 && (buf[0] == 1 || buf[0] == 2) ? 0 : -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_P20_P23_ibarp_both_directions),
		cmocka_unit_test(test_P20_ibarp_without_the_second_copies),
		cmocka_unit_test(test_P20_ibarp_with_a_gid_that_does_not_contain_the_eui64),
		cmocka_unit_test(test_P23_ibarp_refuses_other_types_and_lengths),
		cmocka_unit_test(test_P20_ibarp_truncated),
		cmocka_unit_test(test_P22_ibarp_is_told_from_ipv4),
		cmocka_unit_test(test_P14_option_is_five_units),
		cmocka_unit_test(test_P14_option_without_the_second_copy),
		cmocka_unit_test(test_P14_option_of_other_type_or_length_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
