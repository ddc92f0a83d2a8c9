/* SPDX-License-Identifier: BSD-2-Clause */
#include "path/answer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "check.h"

/*
 * PathRecord (IBTA 15.2.5.16) with DGID fe80::2:c903:0:9, SGID fe80::2:c903:0:5, DLID 0x1234, SLID
 * 0x5678, RawTraffic and reserved bits set, FlowLabel 0xabcde, HopLimit 0x3f, TClass 0x5a, P_Key
 * 0x8001, QoSClass 0xfff, SL 7, MTU 0x84 (exactly 2048), rate 0x83, life 0x92.
 */
#define REC                                \
	"0000000000000000"                 \
	"fe800000000000000002c90300000009" \
	"fe800000000000000002c90300000005" \
	"12345678"                         \
	"fabcde3f"                         \
	"5a"                               \
	"81"                               \
	"8001"                             \
	"fff7"                             \
	"84"                               \
	"83"                               \
	"92"                               \
	"00"                               \
	"000000000000"
#define ROW "{\"row\":{\"ifname\":\"uib0\",\"record\":\"" REC "\"}}\n"

static struct ipoib_path_info question(void)
{
	struct ipoib_path_info info;

	memset(&info, 0xee, sizeof(info));
	info.sin_family = AF_INET;
	memcpy(info.addr.v4_addr, "\x0a\x04\x00\x02", 4);
	return info;
}

/*
 * The offsets are those in the drawing of intel-ipoib-linux-hld-2002, section 3.3, with the padding
 * that a C compiler inserts.
 */
static void test_H32_the_structure_is_as_drawn(void **state)
{
	assert_int_equal(sizeof(struct ipoib_path_info), 72);
	assert_int_equal(offsetof(struct ipoib_path_info, sin_family), 0);
	assert_int_equal(offsetof(struct ipoib_path_info, addr), 2);
	assert_int_equal(offsetof(struct ipoib_path_info, dest_gid), 18);
	assert_int_equal(offsetof(struct ipoib_path_info, source_gid), 34);
	assert_int_equal(offsetof(struct ipoib_path_info, dest_lid), 50);
	assert_int_equal(offsetof(struct ipoib_path_info, source_lid), 52);
	assert_int_equal(offsetof(struct ipoib_path_info, flow_lable), 56);
	assert_int_equal(offsetof(struct ipoib_path_info, pkey), 60);
	assert_int_equal(offsetof(struct ipoib_path_info, service_level), 62);
	assert_int_equal(offsetof(struct ipoib_path_info, mtu), 64);
	assert_int_equal(offsetof(struct ipoib_path_info, static_rate), 66);
	assert_int_equal(offsetof(struct ipoib_path_info, packet_lifetime), 68);
	assert_int_equal(offsetof(struct ipoib_path_info, hop_limit), 70);
	assert_int_equal(offsetof(struct ipoib_path_info, tclass), 71);
}

static void test_H32_members_come_from_the_record(void **state)
{
	static const uint8_t want[54] = {
		0xfe, 0x80, 0,	  0,	0,    0,    0, 0,    0, 0x02, 0xc9,
		0x03, 0,    0,	  0,	9, /* dest_gid */
		0xfe, 0x80, 0,	  0,	0,    0,    0, 0,    0, 0x02, 0xc9,
		0x03, 0,    0,	  0,	5, /* source_gid */
		0x12, 0x34, 0x56, 0x78, 0xee, 0xee, /* LIDs, padding */
		0x00, 0x0a, 0xbc, 0xde, /* flow label */
		0x80, 0x01, 0,	  7,	0,    0x84, 0, 0x83, 0, 0x92, /* P_Key, SL, MTU, rate, life time */
		0x3f, 0x5a, /* HopLimit, TClass */
	};
	struct ipoib_path_info info = question(), before = info;

	assert_int_equal(path_info_fill(&info, REC), 0);
	assert_memory_equal((uint8_t *)&info + 18, want, sizeof(want));
	assert_memory_equal(&info, &before, 18);
	assert_int_equal(ntohs(info.pkey), 0x8001);
}

static void test_records_that_are_none(void **state)
{
	static const char *const bad[] = { "", "00", REC "00", NULL };
	struct ipoib_path_info info = question(), before = info;
	char text[] = REC;

	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(path_info_fill(&info, bad[i]), -EPROTO);
	text[17] = 'G';
	assert_int_equal(path_info_fill(&info, text), -EPROTO);
	assert_memory_equal(&info, &before, sizeof(info));
}

static int answer(const char *text, struct ipoib_path_info *info)
{
	return path_answer(text, strlen(text), info);
}

static void test_H33_statuses_of_answers(void **state)
{
	struct ipoib_path_info info = question(), before = info;

	assert_int_equal(answer("{\"end\":{\"status\":1,\"errno\":\"ENXIO\"}}\n", &info), -ENXIO);
	assert_int_equal(answer("{\"end\":{\"status\":4,\"errno\":\"ENETDOWN\"}}\n", &info),
			 -ENETDOWN);
	/* If the name of the error is missing or is no text, the status decides. */
	assert_int_equal(answer("{\"end\":{\"status\":1,\"error\":\"x\"}}\n", &info), -EIO);
	assert_int_equal(answer("{\"end\":{\"status\":1,\"errno\":7}}\n", &info), -EIO);
	assert_int_equal(answer("{\"end\":{\"status\":4}}\n", &info), -ETIMEDOUT);
	assert_int_equal(answer("{\"end\":{}}\n", &info), -EPROTO);
	assert_int_equal(answer("{\"end\":7}\n", &info), -EPROTO);
	assert_int_equal(answer("{\"end\":{\"status\":2}}\n", &info), -EINVAL);
	assert_int_equal(answer("{\"end\":{\"status\":0}}\n", &info), -EPROTO); /* no record */
	assert_int_equal(answer("[]\n", &info), -EPROTO);
	assert_int_equal(answer("rubbish\n", &info), -EPROTO);
	assert_int_equal(answer("{\"row\":{\"record\":7}}\n{\"end\":{\"status\":0}}\n", &info),
			 -EPROTO);
	assert_memory_equal(&info, &before, sizeof(info));
	assert_int_equal(answer(ROW "{\"end\":{\"status\":0}}\n", &info), 0);
	assert_int_equal(info.hop_limit, 0x3f);
}

static void test_an_answer_that_has_not_come_whole(void **state)
{
	static const char whole[] = ROW "{\"end\":{\"status\":0}}\n";
	struct ipoib_path_info info = question(), before = info;

	for (size_t len = 0; len < sizeof(whole) - 1; len++) {
		assert_int_equal(path_answer(whole, len, &info), 1);
		assert_memory_equal(&info, &before, sizeof(info));
	}
}

static void test_questions(void **state)
{
	struct ipoib_path_info a = question(), b = a;

	assert_true(path_info_valid(&a));
	assert_false(path_info_valid(NULL));
	memset(b.dest_gid, 1, 16);
	memset(b.addr.v6_addr + 4, 7, 12); /* these octets are no part of an IPv4 address */
	assert_true(path_info_same(&a, &b));
	b.addr.v4_addr[3]++;
	assert_false(path_info_same(&a, &b));
	b = a;
	b.sin_family = AF_INET6;
	assert_false(path_info_same(&a, &b));
	b.sin_family = AF_UNIX;
	assert_false(path_info_valid(&b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H32_the_structure_is_as_drawn),
		cmocka_unit_test(test_H32_members_come_from_the_record),
		cmocka_unit_test(test_records_that_are_none),
		cmocka_unit_test(test_H33_statuses_of_answers),
		cmocka_unit_test(test_an_answer_that_has_not_come_whole),
		cmocka_unit_test(test_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
