/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses_dut.h"

#include <errno.h>
#include <string.h>

#include "clauses/chapters.h"
#include "conform/case.h"

/*
 * On a busy machine packets and steps of the hook program come late. The tests check, on virtual
 * time, that no verdict depends on such delays.
 *
 * A case does not run if a case in its .after has failed, and the DUT of clauses_dut.h fails many
 * cases. So each test copies the tested cases into a profile of its own. In the copies, .after
 * names only R56/reply, the check of the reply to ARP.
 */

static struct dut d;
static struct conform_report rep;
static struct conform_case cases[2];
static struct conform_chapter chapter = { "late", cases, 0 };

static int clean(void **state)
{
	conform_report_fini(&rep);
	memset(&d, 0, sizeof(d));
	return 0;
}

static const struct conform_case *find(const struct conform_chapter *c, const char *id)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->v[i].id, id))
			return &c->v[i];
	fail_msg("no case %s", id);
	return NULL;
}

static void add(const struct conform_chapter *c, const char *id)
{
	cases[chapter.n] = *find(c, id);
	cases[chapter.n++].after = "R56/reply";
}

static void run(void)
{
	const struct conform_chapter *const chapters[] = { &chapter_bringup, &chapter_join,
							   &chapter_link,    &chapter_arp,
							   &chapter,	     NULL };
	const struct conform_profile profile = { .wire = &world_wire_rfc4391,
						 .chapters = chapters };

	d.own_profile = &profile;
	assert_int_equal(dut_run(&d, &rep, NULL, true), 0);
}

static void is(const char *id, enum conform_verdict v)
{
	const struct conform_result *r = dut_result(&rep, id);

	if (r->verdict != v)
		fail_msg("%s: %s (%s), expected %s", id, conform_verdict_name(r->verdict), r->why,
			 conform_verdict_name(v));
}

static void run_limited(enum dut_flaw flaw)
{
	d.flaw = flaw;
	chapter.n = 0;
	add(&chapter_encap, "R3");
	add(&chapter_limited, "I7/limited");
	run();
}

static void test_R3_accepts_the_old_pkey_of_a_packet_that_the_answer_overtook(void **state)
{
	run_limited(FLAW_OVERTAKEN);
	is("I7/limited", CONFORM_PASS);
	is("R3", CONFORM_PASS);
}

static void test_R3_fails_if_the_dut_stays_a_limited_member(void **state)
{
	run_limited(FLAW_KEEPS_LIMITED);
	is("I7/limited", CONFORM_PASS);
	is("R3", CONFORM_FAIL);
	assert_non_null(strstr(dut_result(&rep, "R3")->why, "0x7fff"));
}

static void run_lease(bool has_dhcp)
{
	d.has_dhcp = has_dhcp;
	d.hook_status = -EAGAIN; /* the hook's step has not ended yet */
	chapter.n = 0;
	add(&chapter_dhcp, "D1/lease");
	run();
}

static void test_D1_a_client_without_a_lease_fails_though_the_step_has_not_ended(void **state)
{
	run_lease(true);
	is("D1/lease", CONFORM_FAIL);
	assert_non_null(strstr(dut_result(&rep, "D1/lease")->why, "was answered"));
}

static void test_D1_a_step_that_starts_no_client_in_time_is_no_failure(void **state)
{
	run_lease(false);
	is("D1/lease", CONFORM_INCONCLUSIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			test_R3_accepts_the_old_pkey_of_a_packet_that_the_answer_overtook, clean),
		cmocka_unit_test_teardown(test_R3_fails_if_the_dut_stays_a_limited_member, clean),
		cmocka_unit_test_teardown(
			test_D1_a_client_without_a_lease_fails_though_the_step_has_not_ended,
			clean),
		cmocka_unit_test_teardown(
			test_D1_a_step_that_starts_no_client_in_time_is_no_failure, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
