/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses_dut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conform/case.h"
#include "clauses/profile.h"
#include "crc/crc.h"

/*
 * Runs the conformance suite against a small DUT (clauses_dut.h) on virtual time. Tests the
 * verdicts, the results that depend on other results, and that every run ends
 */

static struct dut d;
static struct conform_report rep;

static int clean(void **state)
{
	conform_report_fini(&rep);
	memset(&d, 0, sizeof(d));
	return 0;
}

static void is(const char *id, enum conform_verdict v)
{
	const struct conform_result *r = dut_result(&rep, id);

	if (r->verdict != v)
		fail_msg("%s: %s (%s), expected %s", id, conform_verdict_name(r->verdict), r->why,
			 conform_verdict_name(v));
}

static void test_a_right_dut_passes_bring_up_join_and_arp(void **state)
{
	static const char *const pass[] = {
		"U1",	     "I1",	  "I2/node-info", "I5/init",   "I5/skip", "I5/lid",
		"I5/mtu",    "I5/nop",	  "I7",		  "I5/active", "I2/lid",  "I5/attribute",
		"R23",	     "I18",	  "R49",	  "R5",	       "R6",	  "R7",
		"R9",	     "R13",	  "R15",	  "R20",       "R28",	  "R65",
		"R56/reply", "R48/reply", "U2",		  "I3",	       "I4",	  "R22",
		"R29",	     "R30/sent",  "R31",	  "R52",       "R46/arp", "R47/sent"
	};

	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	for (size_t i = 0; i < sizeof(pass) / sizeof(pass[0]); i++)
		is(pass[i], CONFORM_PASS);
	assert_false(rep.interrupted);
}

/*
 * Clause R11 requires that the group ID of an IPv4 multicast group has only 28 bits. The suite must
 * not apply this clause to a broadcast group, whatever the group's P_Key is, because its group ID
 * has 32 bits (R13)
 */
static void test_R11_does_not_judge_broadcast_groups(void **state)
{
	d.flaw = FLAW_OTHER_PARTITION;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("R23", CONFORM_PASS);
	is("R11", CONFORM_INCONCLUSIVE);
}

static void test_a_silent_dut_fails_the_link_and_nothing_else(void **state)
{
	d.flaw = FLAW_SILENT;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("U1", CONFORM_FAIL);
	assert_int_equal(conform_count(&rep, CONFORM_FAIL), 1);
	assert_int_equal(conform_count(&rep, CONFORM_PASS), 0);
	assert_true(rep.took < NS_SEC(14));
}

static void test_a_failure_explains_what_could_not_be_judged(void **state)
{
	const struct conform_result *r;

	d.flaw = FLAW_NO_D_BIT;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("I2/node-info", CONFORM_FAIL);
	is("I5/active", CONFORM_INCONCLUSIVE);
	is("R23", CONFORM_INCONCLUSIVE);
	for (r = dut_result(&rep, "R23"); r->because;)
		r = r->because;
	assert_string_equal(r->c->id, "I2/node-info");
}

static void test_R23_a_join_without_PortGID_is_seen(void **state)
{
	d.flaw = FLAW_NO_PORT_GID;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("R23", CONFORM_FAIL);
	assert_non_null(strstr(dut_result(&rep, "R23")->why, "does not name PortGID"));
	assert_int_equal(dut_result(&rep, "R23")->seen.len, 290);
	is("R28", CONFORM_INCONCLUSIVE);
}

static void test_R30_the_expected_packet_differs_in_the_field_and_has_right_crcs(void **state)
{
	const struct conform_result *r;
	uint8_t copy[256];

	d.flaw = FLAW_RESERVED;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("R30/sent", CONFORM_FAIL);
	is("R29", CONFORM_PASS);
	r = dut_result(&rep, "R30/sent");
	assert_int_equal(r->seen.len, r->expected.len);
	/* offset 31: after LRH, BTH and DETH (28 octets), the fourth octet of the payload */
	assert_int_equal(r->seen.data[31], 1);
	assert_int_equal(r->expected.data[31], 0);
	memcpy(copy, r->expected.data, r->expected.len);
	crc_put(copy, r->expected.len - 6);
	assert_memory_equal(copy, r->expected.data, r->expected.len);
}

static void test_a_flood_ends_and_the_log_keeps_its_bound(void **state)
{
	d.flaw = FLAW_FLOOD;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("U1", CONFORM_PASS);
	assert_true(rep.packets > 4500);
	assert_true(rep.overwritten > 0);
}

static void test_a_flood_ends_with_every_profile(void **state)
{
	static const char *const profiles[] = { "v4mc01", "v6ib00", "encaparp00", "hld2002" };

	for (unsigned int i = 0; i < 4; i++) {
		memset(&d, 0, sizeof(d));
		d.flaw = FLAW_FLOOD;
		d.profile = profiles[i];
		assert_int_equal(dut_run(&d, &rep, NULL, true), 0);
		is("U1", CONFORM_PASS);
		conform_report_fini(&rep);
	}
}

static void test_garbled_packets_end_with_results(void **state)
{
	unsigned int failed = 0;

	static const char *const profiles[] = { "rfc4391", "v4mc01", "v6ib00", "encaparp00",
						"hld2002" };

	for (uint64_t seed = 1; seed <= 150; seed++) {
		memset(&d, 0, sizeof(d));
		d.flaw = FLAW_GARBLED;
		d.profile = profiles[seed % 5];
		prng_seed(&d.rng, seed);
		assert_int_equal(dut_run(&d, &rep, NULL, true), 0);
		failed += conform_count(&rep, CONFORM_FAIL) > 0;
		assert_true(rep.took < NS_SEC(600));
		conform_report_fini(&rep);
	}
	assert_true(failed > 100);
}

static void test_a_dut_that_dies_ends_with_results(void **state)
{
	d.flaw = FLAW_DIES;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("R23", CONFORM_PASS);
	is("R56/reply", CONFORM_INCONCLUSIVE);
	is("I6", CONFORM_INCONCLUSIVE);
	assert_int_equal(conform_count(&rep, CONFORM_FAIL), 0);
	assert_true(rep.took < NS_SEC(60));
}

static void test_a_case_whose_link_was_down_at_the_dut_is_run_again(void **state)
{
	d.flaps = 1;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("R56/reply", CONFORM_PASS);
	is("R48/reply", CONFORM_PASS);
}

static void test_a_case_whose_link_was_down_twice_is_no_failure(void **state)
{
	d.flaps = 2;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("R56/reply", CONFORM_INCONCLUSIVE);
	assert_string_equal(dut_result(&rep, "R56/reply")->why, "the link went down");
	/* later cases still get verdicts: case I6 fails, because this DUT has no M_Key */
	is("I6", CONFORM_FAIL);
}

static void test_an_interrupt_keeps_the_results_so_far(void **state)
{
	d.interrupt_at = NS_SEC(1000) + NS_MSEC(4900);
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	assert_true(rep.interrupted);
	is("U1", CONFORM_PASS);
	is("R54", CONFORM_INCONCLUSIVE);
	assert_string_equal(dut_result(&rep, "R54")->why, "interrupted");
}

static void test_an_interrupt_before_the_link_is_up_is_no_failure(void **state)
{
	d.flaw = FLAW_SILENT;
	d.interrupt_at = NS_SEC(1000) + NS_SEC(2);
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("U1", CONFORM_INCONCLUSIVE);
	assert_string_equal(dut_result(&rep, "U1")->why, "interrupted");
	assert_int_equal(conform_count(&rep, CONFORM_FAIL), 0);
}

static void test_a_clause_runs_with_what_it_needs(void **state)
{
	static const char *const words[] = { "R7", NULL };

	assert_int_equal(dut_run(&d, &rep, words, false), 0);
	is("R7", CONFORM_PASS);
	is("R23", CONFORM_PASS);
	is("R6", CONFORM_NOT_RUN);
	assert_int_equal(conform_count(&rep, CONFORM_PASS), 6);
}

static void test_an_unknown_clause_is_refused(void **state)
{
	static const char *const words[] = { "R7", "R7777", NULL };

	assert_int_equal(dut_run(&d, &rep, words, false), -ENOENT);
}

static void test_without_a_hook_a_case_that_needs_it_is_inconclusive(void **state)
{
	static const char *const words[] = { "R67", NULL };

	assert_int_equal(dut_run(&d, &rep, words, false), 0);
	is("R67", CONFORM_INCONCLUSIVE);
	assert_non_null(strstr(dut_result(&rep, "R67")->why, "--hook"));
}

static void test_R67_a_receiver_that_does_not_join_fails(void **state)
{
	static const char *const words[] = { "R67", NULL };

	assert_int_equal(dut_run(&d, &rep, words, true), 0);
	assert_int_equal(d.hooks, 1);
	is("R67", CONFORM_FAIL);
}

static void test_a_hook_that_fails_makes_no_failure(void **state)
{
	static const char *const words[] = { "R67", NULL };

	d.hook_status = 127;
	assert_int_equal(dut_run(&d, &rep, words, true), 0);
	is("R67", CONFORM_INCONCLUSIVE);
}

static void test_a_step_that_the_hook_cannot_do_does_not_apply(void **state)
{
	static const char *const words[] = { "R67", NULL };

	d.hook_status = 77;
	assert_int_equal(dut_run(&d, &rep, words, true), 0);
	is("R67", CONFORM_NA);
	assert_non_null(strstr(dut_result(&rep, "R67")->why, "status 77"));
}

static void test_a_hook_that_does_not_end_makes_no_failure(void **state)
{
	static const char *const words[] = { "R67", NULL };

	d.hook_status = -EAGAIN;
	assert_int_equal(dut_run(&d, &rep, words, true), 0);
	is("R67", CONFORM_INCONCLUSIVE);
}

static void test_M10_a_dut_with_another_map_is_seen(void **state)
{
	static const char *const words[] = { "M10", "R7", "M14", "R56/reply", NULL };

	d.profile = "v4mc01";
	assert_int_equal(dut_run(&d, &rep, words, true), 0);
	is("M7", CONFORM_PASS);
	is("M10", CONFORM_FAIL);
	is("R28", CONFORM_INCONCLUSIVE);
	assert_string_equal(dut_result(&rep, "R28")->because->c->id, "M10");
	is("R7", CONFORM_NA);
}

static void test_an_exempt_case_stops_no_other_one(void **state)
{
	static const char *const words[] = { "R56/reply", NULL };

	d.profile = "linux";
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	is("R65", CONFORM_NA);
	is("R65/again", CONFORM_NA);
	conform_report_fini(&rep);
	memset(&d, 0, sizeof(d));
	d.profile = "v4mc01";
	assert_int_equal(dut_run(&d, &rep, words, false), 0);
	/*
	 * R28 may run only if neither R7 nor M10, the cases in its .after, fails. R7 does not
	 * apply, and M10 fails, so R28 must not run
	 */
	is("R28", CONFORM_INCONCLUSIVE);
	assert_string_equal(dut_result(&rep, "R28")->because->c->id, "M10");
}

static void test_a_sum_has_the_result_of_its_parts(void **state)
{
	static const char *const words[] = { "M14", "M1", NULL };

	d.profile = "v4mc01";
	assert_int_equal(dut_run(&d, &rep, words, true), 0);
	is("R23", CONFORM_PASS);
	is("R24", CONFORM_INCONCLUSIVE); /* no IPoIB link has come up */
	is("M14", CONFORM_INCONCLUSIVE);
	assert_string_equal(dut_result(&rep, "M14")->because->c->id, "R24");
}

/*
 * Check that the .after of case @c names no combined case. Case @c waits for the verdicts of the
 * cases in its .after. Combined cases get their verdicts only after all other cases have run, so
 * case @c would never run
 */
static void runs_after_no_sum(const struct conform_chapter *const *chapters,
			      const struct conform_case *c)
{
	for (const struct conform_chapter *const *k = chapters; *k; k++)
		for (size_t i = 0; i < (*k)->n; i++) {
			const struct conform_case *sum = &(*k)->v[i];
			const char *at = c->after ? strstr(c->after, sum->id) : NULL;
			size_t len = strlen(sum->id);

			if (sum->run || sum->watch || !c->run || !at)
				continue;
			if ((at == c->after || at[-1] == ' ') && (!at[len] || at[len] == ' '))
				fail_msg("%s waits for the sum %s", c->id, sum->id);
		}
}

static void test_no_case_waits_for_a_sum(void **state)
{
	const struct conform_profile *p;

	for (unsigned int i = 0; (p = conform_profile_at(i)); i++)
		for (const struct conform_chapter *const *k = p->chapters; *k; k++)
			for (size_t n = 0; n < (*k)->n; n++)
				runs_after_no_sum(p->chapters, &(*k)->v[n]);
}

static unsigned int reasons_for(const struct conform_reason *v, const char *clause)
{
	unsigned int n = 0;

	for (; v && v->id; v++)
		n += !strcmp(v->id, clause);
	return n;
}

/* Return 1 if the profile has a case for the clause, and 0 otherwise */
static unsigned int has_case(const struct conform_profile *p, const char *clause)
{
	size_t len = strlen(clause);

	for (const struct conform_chapter *const *k = p->chapters; *k; k++)
		for (size_t i = 0; i < (*k)->n; i++) {
			const char *id = (*k)->v[i].id;

			if (!strncmp(id, clause, len) && (!id[len] || id[len] == '/'))
				return 1;
		}
	return 0;
}

static void test_H1_to_H35_each_have_a_case_or_one_reason(void **state)
{
	const struct conform_profile *p = conform_profile_find("hld2002");
	char clause[8];

	for (int i = 1; i <= 35; i++) {
		unsigned int n;

		snprintf(clause, sizeof(clause), "H%d", i);
		n = has_case(p, clause) + reasons_for(p->exempt, clause) +
		    reasons_for(p->unseen, clause) + reasons_for(conform_unseen, clause);
		if (n != 1)
			fail_msg("%s has %u of: cases, a reason", clause, n);
	}
}

/*
 * A combined case gets its verdict from the cases that its .after names. The profile must contain
 * each of these cases; a combined case without these cases would test nothing
 */
static void test_sums_of_hld2002_name_cases_that_there_are(void **state)
{
	const struct conform_profile *p = conform_profile_find("hld2002");

	for (const struct conform_chapter *const *k = p->chapters; *k; k++)
		for (size_t i = 0; i < (*k)->n; i++) {
			const struct conform_case *c = &(*k)->v[i];
			char names[256], *at = names, *name;

			if (c->run || c->watch)
				continue;
			snprintf(names, sizeof(names), "%s", c->after);
			while ((name = strsep(&at, " ")))
				if (!has_case(p, name))
					fail_msg("%s names %s", c->id, name);
		}
}

static void test_a_slow_case_runs_only_if_it_is_wanted(void **state)
{
	static const char *const words[] = { "M23", NULL };

	d.profile = "v4mc01";
	assert_int_equal(dut_run(&d, &rep, words, true), 0);
	is("M23", CONFORM_NA);
	assert_non_null(strstr(dut_result(&rep, "M23")->why, "--slow"));
}

static void test_no_case_passes_without_a_check(void **state)
{
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	for (size_t i = 0; i < rep.n; i++)
		assert_true(rep.v[i].verdict != CONFORM_PASS || rep.v[i].checked > 0);
	/*
	 * this DUT sends no multicast, so clause R33, which is about senders of multicast, cannot
	 * be judged
	 */
	is("R33", CONFORM_INCONCLUSIVE);
}

static void test_reports_name_every_result(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	d.flaw = FLAW_RESERVED;
	assert_int_equal(dut_run(&d, &rep, NULL, false), 0);
	conform_print_summary(f, &rep);
	conform_print_json(f, &rep);
	conform_print_junit(f, &rep);
	conform_print_list(f, conform_profile_find("rfc4391"));
	fclose(f);
	assert_non_null(strstr(text, "FAIL  R30/sent"));
	assert_non_null(strstr(text, "expected IPoIB") ? strstr(text, "expected IPoIB")
						       : strstr(text, "  expected "));
	assert_non_null(
		strstr(text, "\"case\":\"R30/sent\",\"clause\":\"R30\",\"result\":\"FAIL\""));
	assert_non_null(strstr(text, "<failure message=\"FAIL: Reserved"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_right_dut_passes_bring_up_join_and_arp, clean),
		cmocka_unit_test_teardown(test_R11_does_not_judge_broadcast_groups, clean),
		cmocka_unit_test_teardown(test_a_silent_dut_fails_the_link_and_nothing_else, clean),
		cmocka_unit_test_teardown(test_a_failure_explains_what_could_not_be_judged, clean),
		cmocka_unit_test_teardown(test_R23_a_join_without_PortGID_is_seen, clean),
		cmocka_unit_test_teardown(
			test_R30_the_expected_packet_differs_in_the_field_and_has_right_crcs,
			clean),
		cmocka_unit_test_teardown(test_a_flood_ends_and_the_log_keeps_its_bound, clean),
		cmocka_unit_test_teardown(test_a_flood_ends_with_every_profile, clean),
		cmocka_unit_test_teardown(test_garbled_packets_end_with_results, clean),
		cmocka_unit_test_teardown(test_a_dut_that_dies_ends_with_results, clean),
		cmocka_unit_test_teardown(test_a_case_whose_link_was_down_at_the_dut_is_run_again,
					  clean),
		cmocka_unit_test_teardown(test_a_case_whose_link_was_down_twice_is_no_failure,
					  clean),
		cmocka_unit_test_teardown(test_an_interrupt_keeps_the_results_so_far, clean),
		cmocka_unit_test_teardown(test_an_interrupt_before_the_link_is_up_is_no_failure,
					  clean),
		cmocka_unit_test_teardown(test_a_clause_runs_with_what_it_needs, clean),
		cmocka_unit_test_teardown(test_an_unknown_clause_is_refused, clean),
		cmocka_unit_test_teardown(test_without_a_hook_a_case_that_needs_it_is_inconclusive,
					  clean),
		cmocka_unit_test_teardown(test_R67_a_receiver_that_does_not_join_fails, clean),
		cmocka_unit_test_teardown(test_a_hook_that_fails_makes_no_failure, clean),
		cmocka_unit_test_teardown(test_a_step_that_the_hook_cannot_do_does_not_apply,
					  clean),
		cmocka_unit_test_teardown(test_a_hook_that_does_not_end_makes_no_failure, clean),
		cmocka_unit_test_teardown(test_M10_a_dut_with_another_map_is_seen, clean),
		cmocka_unit_test_teardown(test_an_exempt_case_stops_no_other_one, clean),
		cmocka_unit_test_teardown(test_a_sum_has_the_result_of_its_parts, clean),
		cmocka_unit_test(test_no_case_waits_for_a_sum),
		cmocka_unit_test(test_H1_to_H35_each_have_a_case_or_one_reason),
		cmocka_unit_test(test_sums_of_hld2002_name_cases_that_there_are),
		cmocka_unit_test_teardown(test_a_slow_case_runs_only_if_it_is_wanted, clean),
		cmocka_unit_test_teardown(test_no_case_passes_without_a_check, clean),
		cmocka_unit_test_teardown(test_reports_name_every_result, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
