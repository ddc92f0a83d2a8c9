/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/cm_sidr.h"

#include "check.h"
#include "layout.h"

/*
 * The tables of IBTA 12.11 begin after the MAD header, but the functions under test read and write
 * this header, too. So test only the octets after it.
 */
#define BODY (MAD_LEN - MAD_HDR_LEN)

#define TRIM(name, type)                                                    \
	static int name##_body_decode(type *ret, const void *p, size_t len) \
	{                                                                   \
		uint8_t mad[MAD_LEN] = { 0 };                               \
                                                                            \
		memcpy(mad + MAD_HDR_LEN, p, len);                          \
		return name##_decode(ret, mad, MAD_HDR_LEN + len);          \
	}                                                                   \
	static void name##_body_encode(void *p, const type *h)              \
	{                                                                   \
		uint8_t mad[MAD_LEN];                                       \
                                                                            \
		name##_encode(mad, 0, h);                                   \
		memcpy(p, mad + MAD_HDR_LEN, BODY);                         \
	}

TRIM(sidr_req, struct sidr_req)
TRIM(sidr_rep, struct sidr_rep)

#define Q(member, bit, width) FIELD(struct sidr_req, member, bit, width)
static const struct field req_fields[] = {
	/* IBTA 12.11.1, table "SIDR_REQ message contents" */
	Q(request_id, 0, 32),
	Q(pkey, 32, 16),
	Q(service_id, 64, 64),
	Q(priv, 128, 1728),
};
LAYOUT(req_layout, struct sidr_req, sidr_req_body_decode, sidr_req_body_encode, BODY, BODY,
       req_fields);

#define R(member, bit, width) FIELD(struct sidr_rep, member, bit, width)
static const struct field rep_fields[] = {
	/* IBTA 12.11.2, table "SIDR_REP message contents" */
	R(request_id, 0, 32),  R(status, 32, 8), R(info_len, 40, 8), R(qpn, 64, 24),
	R(service_id, 96, 64), R(qkey, 160, 32), R(info, 192, 576),  R(priv, 768, 1088),
};
LAYOUT(rep_layout, struct sidr_rep, sidr_rep_body_decode, sidr_rep_body_encode, BODY, BODY,
       rep_fields);

#define G(member, bit, width) FIELD(struct sidr_group, member, bit, width)
static const struct field group_fields[] = {
	/* Draft encaparp-00, 6.2: the fields in the drawing of the private data */
	G(ver, 0, 4),	 G(sl, 4, 4),	      G(tclass, 8, 8),
	G(dlid, 16, 16), G(hop_limit, 32, 8), G(flow_label, 44, 20),
	G(pkey, 80, 16), G(qkey, 96, 32),     G(dgid, 128, 128),
};
LAYOUT(group_layout, struct sidr_group, sidr_group_decode, sidr_group_encode, SIDR_GROUP_LEN,
       SIDR_GROUP_LEN, group_fields);

static void test_sidr_req_layout(void **state)
{
	layout_check(&req_layout);
}

static void test_sidr_rep_layout(void **state)
{
	layout_check(&rep_layout);
}

static void test_P19_private_data_layout(void **state)
{
	layout_check(&group_layout);
}

/*
 * The drawing in draft-pelissier-ipoib-encaparp-00, 6.2, one 32-bit word after the other:
 *
 *	Ver 1, SL 5, TClass 0xa6, DLID 0xc07b		1|5|a6|c07b	15 a6 c0 7b
 *	HopLmt 0x3f, Resv. 0, FlowLabel 0x9abcd		3f|0|9abcd	3f 09 ab cd
 *	Resv. 0, PKey 0x8123				0000|8123	00 00 81 23
 *	QKey 0x00000b1b					00000b1b	00 00 0b 1b
 *	DGID ff12:401b:8123::ffff:ffff, 4 words		ff12401b 81230000 00000000 ffffffff
 */
static const char group_octets[] = "15a6c07b 3f09abcd 00008123 00000b1b "
				   "ff12401b 81230000 00000000 ffffffff";

static struct sidr_group golden_group(void)
{
	struct sidr_group g = {
		.ver = 1,
		.sl = 5,
		.tclass = 0xa6,
		.dlid = 0xc07b,
		.hop_limit = 0x3f,
		.flow_label = 0x9abcd,
		.pkey = 0x8123,
		.qkey = 0x0b1b,
	};

	layout_hex(g.dgid.raw, 16, "ff12401b81230000 00000000ffffffff");
	return g;
}

static void test_P19_private_data_octets(void **state)
{
	struct sidr_group g = golden_group();
	uint8_t want[SIDR_GROUP_LEN], got[SIDR_GROUP_LEN];

	assert_int_equal(layout_hex(want, sizeof(want), group_octets), sizeof(want));
	sidr_group_encode(got, &g);
	assert_memory_equal(got, want, sizeof(want));
}

/*
 * A SIDR_REQ:
 *
 *	BaseVersion 1, class 7, ClassVersion 2, method 3	01 07 02 03
 *	Status 0, ClassSpecific 0				0000 0000
 *	TransactionID						0102030405060708
 *	AttributeID 0x0017, reserved, AttributeModifier 0	0017 0000 00000000
 *	RequestID						cafe0001
 *	P_Key 0x8123, reserved					8123 0000
 *	ServiceID, with "IBARP" in its last five octets		0200004942415250
 *	PrivateData						216 octets of 0
 */
static void test_sidr_req_octets(void **state)
{
	struct sidr_req r = {
		.request_id = 0xcafe0001,
		.pkey = 0x8123,
		.service_id = SIDR_SERVICE_ID_DEFAULT,
	};
	uint8_t want[MAD_LEN] = { 0 }, got[MAD_LEN];

	assert_int_equal(layout_hex(want, MAD_LEN,
				    "01070203 00000000 0102030405060708 00170000 00000000 "
				    "cafe0001 81230000 0200004942415250"),
			 40);
	assert_memory_equal(want + 35, "IBARP", 5);
	sidr_req_encode(got, 0x0102030405060708, &r);
	assert_memory_equal(got, want, MAD_LEN);
}

/*
 * A SIDR_REP. The private data begin at octet 24 + 96 = 120:
 *
 *	MAD header as above, but AttributeID 0x0018
 *	RequestID						cafe0001
 *	Status 0, length of additional information 0, reserved	00 00 0000
 *	QPN 0xffffff, reserved					ffffff 00
 *	ServiceID						0200004942415250
 *	Q_Key							00000b1b
 *	additional information					72 octets of 0
 *	PrivateData						32 octets, and 104 of 0
 */
static void test_P18_P19_sidr_rep_octets(void **state)
{
	struct sidr_group g = golden_group();
	struct sidr_rep r = {
		.request_id = 0xcafe0001,
		.qpn = 0xffffff,
		.service_id = SIDR_SERVICE_ID_DEFAULT,
		.qkey = 0x0b1b,
	};
	uint8_t want[MAD_LEN] = { 0 }, got[MAD_LEN];

	assert_int_equal(layout_hex(want, MAD_LEN,
				    "01070203 00000000 0102030405060708 00180000 00000000 "
				    "cafe0001 00000000 ffffff00 0200004942415250 00000b1b"),
			 48);
	layout_hex(want + 120, SIDR_GROUP_LEN, group_octets);
	sidr_group_encode(r.priv, &g);
	sidr_rep_encode(got, 0x0102030405060708, &r);
	assert_memory_equal(got, want, MAD_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sidr_req_layout),
		cmocka_unit_test(test_sidr_rep_layout),
		cmocka_unit_test(test_P19_private_data_layout),
		cmocka_unit_test(test_P19_private_data_octets),
		cmocka_unit_test(test_sidr_req_octets),
		cmocka_unit_test(test_P18_P19_sidr_rep_octets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
