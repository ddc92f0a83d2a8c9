/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests an SA's answers about the members of groups, and answers that an SA should not send. */
#include <errno.h>

#include "check_rig.h"
#include "survey/sa.h"
#include "wire/records.h"
#include "wire/sa.h"

#define STEP 56

struct message {
	uint8_t octets[SA_DATA_OFF + 4 * STEP];
	size_t len;
};

static struct message table(uint16_t status, uint16_t words)
{
	const struct mad_hdr h = { .base_version = 1,
				   .mgmt_class = MAD_CLASS_SA,
				   .class_version = 2,
				   .method = MAD_METHOD_GET_TABLE_RESP,
				   .status = status,
				   .attr_id = SA_ATTR_MCMEMBER_RECORD };
	const struct sa_hdr sa = { .attr_offset = words };
	struct message m = { .len = SA_DATA_OFF };

	sa_mad_encode(m.octets, &h, &sa);
	return m;
}

static void add(struct message *m, uint64_t port_guid, uint16_t mlid, uint8_t join_state)
{
	const struct ib_mcmember_rec rec = { .port_gid = ib_gid_of(0xfe80ull << 48, port_guid),
					     .mlid = mlid,
					     .join_state = join_state };

	memset(m->octets + m->len, 0, STEP);
	ib_mcmember_rec_encode(m->octets + m->len, &rec);
	m->len += STEP;
}

static void test_question(void **state)
{
	uint8_t mad[MAD_LEN];
	struct sa_mad m;

	(void)state;
	survey_ask_members(mad, 0x1122, 7);
	assert_int_equal(sa_mad_decode(&m, mad, sizeof(mad)), 0);
	assert_int_equal(m.mad.method, MAD_METHOD_GET_TABLE);
	assert_int_equal(m.mad.attr_id, SA_ATTR_MCMEMBER_RECORD);
	assert_int_equal(m.mad.class_version, 2);
	assert_int_equal(m.sa.sm_key, 0x1122);
	assert_int_equal(m.sa.comp_mask, 0);
	assert_int_equal(m.rmpp.flags, 0);
}

static void test_members_are_taken_and_judged(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct message m = table(0, STEP / 8);

	(void)state;
	for (unsigned int i = 1; i <= 3; i++) {
		char s[] = { 's', (char)('0' + i), 0 };

		assert_int_equal(chk_set_mft(f, rig_node(f, s)->sw, 0xc000, 0, i == 1 ? 1 << 3 : 0),
				 0);
	}
	add(&m, rig_node(f, "h1")->port[1].guid, 0xc000, MCM_JOIN_FULL);
	add(&m, rig_node(f, "h2")->port[1].guid, 0xc000, MCM_JOIN_SEND_ONLY_NON);
	add(&m, 0, 0xc001, 0); /* a group without members */
	assert_int_equal(survey_take_members(f, m.octets, m.len), 0);
	assert_int_equal(f->members, CHK_MEMBERS_KNOWN);
	assert_int_equal(f->nmembers, 2);
	rig_healthy(f);

	f = rig_ring(3);
	assert_int_equal(chk_set_mft(f, rig_node(f, "s1")->sw, 0xc000, 0, 0), 0);
	assert_int_equal(survey_take_members(f, m.octets, m.len), 0);
	rig_finds(f, CHK_MFT_MISSES, "h1/1: is a member of");
}

static void test_answers_without_members(void **state)
{
	struct chk_fabric *f = rig_ring(1);
	struct message m = table(SA_STATUS_NO_RECORDS, 0);

	(void)state;
	assert_int_equal(f->members, CHK_MEMBERS_UNASKED);
	assert_int_equal(survey_take_members(f, m.octets, m.len), 0);
	/* "No records" means that there are no members */
	assert_int_equal(f->members, CHK_MEMBERS_KNOWN);
	m = table(SA_STATUS_DENIED, 0);
	assert_int_equal(survey_take_members(f, m.octets, m.len), -EPROTO);
	assert_int_equal(f->members, CHK_MEMBERS_REFUSED);
	m = table(0, STEP / 8);
	add(&m, 0, 0xc000, 0);
	assert_int_equal(survey_take_members(f, m.octets, m.len), -EACCES);
	assert_int_equal(f->members, CHK_MEMBERS_UNNAMED);
	m = table(0, 2);
	assert_int_equal(survey_take_members(f, m.octets, m.len), -EBADMSG);
	m = table(0, STEP / 8);
	m.octets[3] = MAD_METHOD_GET_RESP;
	assert_int_equal(survey_take_members(f, m.octets, m.len), -EBADMSG);
	for (size_t len = 0; len < SA_DATA_OFF; len++)
		assert_int_equal(survey_take_members(f, m.octets, len), -EBADMSG);
	assert_int_equal(f->nmembers, 0);
	rig_healthy(f);
}

static void test_paths(void **state)
{
	const struct ib_path_rec rec = { .slid = 4, .dlid = 9, .sl = 5 };
	struct chk_fabric *f = rig_ring(1);
	uint8_t mad[MAD_LEN];
	struct sa_mad m;
	struct ib_path_rec asked;

	(void)state;
	survey_ask_path(mad, 4, 9, 7);
	assert_int_equal(sa_mad_decode(&m, mad, sizeof(mad)), 0);
	assert_int_equal(m.mad.method, MAD_METHOD_GET);
	assert_int_equal(m.sa.comp_mask, PATH_COMP_SLID | PATH_COMP_DLID | PATH_COMP_NUMB_PATH);
	assert_int_equal(ib_path_rec_decode(&asked, m.data, m.data_len), 0);
	assert_true(asked.slid == 4 && asked.dlid == 9 && asked.numb_path == 1);

	/* mad[] still contains the request */
	assert_int_equal(survey_take_path(f, mad, sizeof(mad)), -EBADMSG);
	mad[3] = MAD_METHOD_GET_RESP;
	ib_path_rec_encode(mad + SA_DATA_OFF, &rec);
	assert_int_equal(survey_take_path(f, mad, SA_DATA_OFF + 8), -EBADMSG);
	assert_int_equal(survey_take_path(f, mad, sizeof(mad)), 0);
	assert_int_equal(f->npaths, 1);
	assert_true(f->path[0].slid == 4 && f->path[0].dlid == 9 && f->path[0].sl == 5);
	be16_put(mad + MAD_OFF_STATUS, SA_STATUS_NO_RECORDS);
	assert_int_equal(survey_take_path(f, mad, sizeof(mad)), -EPROTO);
	chk_fabric_free(f);
}

static void test_lid_of_the_sa(void **state)
{
	struct chk_fabric *f = rig_ring(1), *none = chk_fabric_create(1000);

	(void)state;
	assert_int_equal(survey_sa_lid(f), 1); /* node 0 is the switch */
	assert_int_equal(survey_sa_lid(none), 0);
	chk_fabric_free(f);
	chk_fabric_free(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_members_are_taken_and_judged),
		cmocka_unit_test(test_answers_without_members),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_lid_of_the_sa),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
