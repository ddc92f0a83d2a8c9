/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A survey of a fabric in which all agents answer must return an equal fabric. Other tests are
 * about faults that only a survey can find, and about bounds.
 */
#include "survey_rig.h"

static struct chk_fabric *read_all(struct chk_fabric *real)
{
	struct rig r;
	struct chk_fabric *f;

	rig_init(&r, real);
	f = rig_read(&r);
	assert_int_equal(r.st.lost + r.st.refused + r.st.unexpected, 0);
	assert_int_equal(r.st.sent, r.st.answered);
	return f;
}

static void test_healthy_fabrics_are_healthy_when_read(void **state)
{
	struct chk_fabric *f;

	(void)state;
	rig_healthy(read_all(rig_ring(1)));
	rig_healthy(read_all(rig_ring(2)));
	f = read_all(rig_ring(3));
	assert_int_equal(f->n, 6);
	for (unsigned int i = 0; i < f->n; i++) {
		struct chk_node *n = f->node[i];

		assert_true(!n->sw || (n->sw->known && n->sw->mft_known && n->sw->lft_len == 64));
		assert_non_null(n->port[n->sw ? 0 : 1].pkeys);
		assert_int_equal(n->port[n->sw ? 0 : 1].lid, rig_lid(f, n->desc));
	}
	rig_healthy(f);
}

static void test_ports_of_a_ca_are_each_asked_by_their_own(void **state)
{
	struct chk_fabric *f = read_all(rig_fabric(
		"Switch 4 \"a\"\n[1] \"b\"[1]\n[2] \"h1\"[1]\n[3] \"h2\"[1]\n\nSwitch 4 \"b\"\n"
		"[2] \"h2\"[2]\n[3] \"h1\"[2]\n\nHca 2 \"h1\"\n\nHca 2 \"h2\"\n"));

	(void)state;
	assert_int_equal(f->n, 4);
	for (unsigned int p = 1; p <= 2; p++) {
		assert_true(rig_node(f, "h1")->port[p].known && rig_node(f, "h2")->port[p].known);
		assert_true(rig_node(f, "h1")->port[p].lid && rig_node(f, "h2")->port[p].lid);
		assert_non_null(rig_node(f, "h2")->port[p].counters);
	}
	rig_healthy(f);
}

static void test_two_cas_back_to_back(void **state)
{
	struct chk_fabric *f = rig_fabric("Hca 1 \"h1\"\n[1] \"h2\"[1]\n\nHca 1 \"h2\"\n\n"
					  "Switch 1 \"alone\"\n");

	(void)state;
	f = read_all(f);
	assert_int_equal(f->n, 2);
	rig_healthy(f);
}

static void test_faults_of_tables_are_seen(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_route(f, "s1", "h3", 1);
	rig_route(f, "s2", "h3", 2);
	rig_finds(read_all(f), CHK_LFT_LOOP, "s1/1 > s2/2");

	f = rig_ring(3);
	assert_int_equal(chk_set_mft(f, rig_node(f, "s3")->sw, 0xc02a, 0, 1 << 1), 0);
	rig_finds(read_all(f), CHK_MFT_DEAD_END, "s3: sends MLID 0xc02a to port 1");
}

static void test_lanes_of_a_credit_loop_are_read(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct chk_wait w[CHK_WAITS_MAX];
	uint32_t n;

	(void)state;
	for (unsigned int i = 0; i < 9; i++) {
		char sw[] = { 's', (char)('1' + i / 3), 0 }, to[] = { 'h', (char)('1' + i % 3), 0 };

		if (i / 3 != i % 3)
			rig_route(f, sw, to, 1); /* clockwise */
	}
	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int p = 0; p <= f->node[i]->nports; p++)
			f->node[i]->port[p].pi.oper_vls = 3;
	f = read_all(f);
	n = chk_credit_waits(f, w);
	assert_int_equal(n, 3);
	for (uint32_t i = 0; i < n; i++) {
		/* SLs 0, 4 and 8 use VL 0 on every link */
		const struct chk_path path = { w[i].slid, w[i].dlid, (uint8_t)(4 * i) };
		const struct chk_turn *t = &w[i].want;

		assert_int_equal(f->node[t->node]->port[t->out].sltovl[t->in][7], 3);
		assert_int_equal(chk_add_path(f, &path), 0);
	}
	rig_finds(f, CHK_CREDIT_LOOP, "make 3 links wait");
}

static void test_lft_above_the_top_is_not_there(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_node(f, "s2")->sw->si.lft_top = 5;
	rig_finds(read_all(f), CHK_LFT_HOLE, "s2: has no route to 1 LID: 6 (h3/1)");
}

static void test_two_switches_with_one_guid(void **state)
{
	struct chk_fabric *f = rig_ring(4);
	struct chk_report r;
	const struct chk_opts o = { 0 };

	(void)state;
	rig_node(f, "s3")->guid = rig_node(f, "s1")->guid;
	rig_node(f, "s3")->sys_guid = rig_node(f, "s1")->sys_guid;
	f = read_all(f);
	assert_int_equal(chk_run(f, &o, &r), 0);
	assert_true(r.n >= 1);
	assert_int_equal(r.finding[0].kind, CHK_SAME_NODE_GUID);
	assert_string_equal(r.finding[0].where, "s1");
	chk_report_fini(&r);
	chk_fabric_free(f);
}

static void test_two_cas_with_one_guid(void **state)
{
	struct chk_fabric *f = rig_ring(3);

	(void)state;
	rig_node(f, "h3")->guid = rig_node(f, "h2")->guid;
	rig_node(f, "h3")->sys_guid = rig_node(f, "h2")->sys_guid;
	f = read_all(f);
	assert_int_equal(f->n, 5);
	assert_int_equal(f->ntwins, 1);
	chk_fabric_free(f);
}

static void test_two_cas_with_one_guid_at_one_switch(void **state)
{
	struct chk_fabric *f = rig_fabric("Switch 4 \"a\"\n[1] \"h1\"[1]\n[2] \"h2\"[1]\n"
					  "[3] \"h3\"[1]\n\nHca 1 \"h1\"\n\nHca 1 \"h2\"\n\n"
					  "Hca 1 \"h3\"\n");

	(void)state;
	rig_node(f, "h3")->guid = rig_node(f, "h2")->guid;
	rig_node(f, "h3")->sys_guid = rig_node(f, "h2")->sys_guid;
	f = read_all(f);
	assert_int_equal(f->n, 3);
	assert_int_equal(f->ntwins, 1);
	assert_int_equal(f->twin[0].behind, rig_node(f, "a")->index);
	assert_int_equal(f->twin[0].behind_port, 3);
	chk_fabric_free(f);
}

static uint8_t guid_of_s1[8], guid_of_s3[8];

/*
 * Let s3 answer like s1, but as if it had more ports than s1. Let it also answer as if it had
 * received the request at a port that s1 does not have.
 */
static void larger_twin(uint8_t *mad)
{
	uint8_t *info = mad + SMP_DATA_OFF;

	if (mad_attr(mad) != SMP_ATTR_NODE_INFO || memcmp(info + 12, guid_of_s3, 8) != 0)
		return;
	memcpy(info + 12, guid_of_s1, 8);
	info[3] = 254;
	info[36] = 150;
}

static void test_twin_with_a_port_that_the_first_lacks(void **state)
{
	const struct chk_opts o = { 0 };
	struct chk_report rep;
	struct chk_fabric *f;
	struct rig r;

	(void)state;
	rig_init(&r, rig_ring(4));
	be64_put(guid_of_s1, rig_node(r.real, "s1")->guid);
	be64_put(guid_of_s3, rig_node(r.real, "s3")->guid);
	r.twist = larger_twin;
	f = rig_read(&r);
	assert_int_equal(f->ntwins, 2); /* one behind s2, one behind s4 */
	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int k = 1; k <= f->node[i]->nports; k++) {
			const struct chk_port *p = &f->node[i]->port[k];

			assert_true(!chk_peer(f, p) || p->peer_port <= chk_peer(f, p)->nports);
		}
	assert_int_equal(chk_run(f, &o, &rep), 0);
	assert_int_equal(rep.finding[0].kind, CHK_SAME_NODE_GUID);
	chk_report_fini(&rep);
	chk_fabric_free(f);
}

/* --- silence */

static struct chk_fabric *silent(const char *node, uint16_t attr, uint16_t status)
{
	struct rig r;
	struct chk_fabric *f;

	rig_init(&r, rig_ring(3));
	r.silent = node;
	r.silent_attr = attr;
	r.status = status;
	f = rig_read(&r);
	assert_true(status ? r.st.refused : r.st.lost);
	return f;
}

static void test_what_does_not_answer_is_named(void **state)
{
	(void)state;
	rig_finds(silent("h2", 0, 0), CHK_NO_ANSWER,
		  "s2/3: the link is up, but what is behind it does not answer");
	rig_finds(silent("s2", SMP_ATTR_LFT, 0), CHK_NO_ANSWER,
		  "s2: does not answer 1 requests for attribute 0x0019 of subnet management");
	rig_finds(silent("s2", SMP_ATTR_MFT, 0x000c), CHK_REFUSED,
		  "s2: refuses 2 requests for attribute 0x001b of subnet management with status "
		  "0x000c");
	rig_finds(
		silent("h3", PMA_ATTR_PORT_COUNTERS, 0), CHK_NO_ANSWER,
		"h3/1: does not answer 2 requests for attribute 0x0012 of performance management");
}

/*
 * `uipoib fabric check` surveys the fabric a second time to confirm findings. The second survey
 * must read counters, too, because otherwise it could not confirm that a PMA is silent.
 */
static void test_a_mute_performance_agent_is_confirmed(void **state)
{
	const struct chk_opts o = { 0 };
	struct chk_report first, again;
	struct chk_fabric *f;
	struct rig r;

	(void)state;
	f = silent("h3", PMA_ATTR_PORT_COUNTERS, 0);
	assert_int_equal(chk_run(f, &o, &first), 0);
	chk_fabric_free(f);
	rig_init(&r, rig_ring(3));
	r.silent = "h3";
	r.silent_attr = PMA_ATTR_PORT_COUNTERS;
	r.cfg = survey_cfg_again(&r.cfg);
	f = rig_read(&r);
	assert_int_equal(chk_run(f, &o, &again), 0);
	chk_report_confirm(&first, &again);
	assert_int_equal(first.n, 1);
	assert_int_equal(first.finding[0].kind, CHK_NO_ANSWER);
	chk_report_fini(&first);
	chk_report_fini(&again);
	chk_fabric_free(f);
}

/* Check that all findings are of @kind, which is a kind about agents that do not answer. */
static void only_silence(struct chk_fabric *f, const struct chk_opts *o, enum chk_kind kind)
{
	struct chk_report r;

	assert_int_equal(chk_run(f, o, &r), 0);
	rig_print(&r);
	assert_true(r.n > 0);
	for (uint32_t i = 0; i < r.n; i++)
		assert_int_equal(r.finding[i].kind, kind);
	chk_report_fini(&r);
	chk_fabric_free(f);
}

static void test_ports_that_were_not_read_are_no_dead_ends(void **state)
{
	const struct chk_opts o = { 0 };

	(void)state;
	only_silence(silent("s2", SMP_ATTR_PORT_INFO, 0), &o, CHK_NO_ANSWER);
	only_silence(silent("s2", SMP_ATTR_PORT_INFO, 0x000c), &o, CHK_REFUSED);
}

static void test_own_port_that_is_mute_gives_an_empty_fabric(void **state)
{
	struct chk_fabric *f = silent("h1", 0, 0);

	(void)state;
	assert_int_equal(f->n, 0);
	chk_fabric_free(f);
}

static void test_lost_without_a_word_of_the_transport(void **state)
{
	struct survey_cfg cfg = survey_cfg_default();
	struct survey *s = survey_create(&cfg);
	struct survey_mad m;

	(void)state;
	assert_true(survey_next(s, &m, 0));
	assert_false(survey_next(s, &m, 0));
	assert_int_equal(survey_deadline(s), cfg.patience);
	assert_false(survey_next(s, &m, cfg.patience));
	assert_true(survey_done(s) || survey_stats(s)->lost == 1);
	survey_free(s);
}

/* --- agents that are busy */

static void test_busy_agent_is_asked_again(void **state)
{
	struct chk_fabric *f;
	struct rig r;

	(void)state;
	rig_init(&r, rig_ring(3));
	r.silent = "s2";
	r.silent_attr = SMP_ATTR_LFT;
	r.status = MAD_STATUS_BUSY;
	r.times = 3;
	f = rig_read(&r);
	assert_int_equal(r.hits, 3);
	assert_int_equal(r.st.busy, 3);
	assert_int_equal(r.st.refused, 0);
	assert_int_equal(r.st.sent, r.st.answered + r.st.busy);
	rig_healthy(f);
}

static void test_agent_that_stays_busy_is_named(void **state)
{
	struct chk_fabric *f = silent("s2", SMP_ATTR_LFT, MAD_STATUS_BUSY);

	(void)state;
	rig_finds(f, CHK_REFUSED,
		  "s2: refuses 1 requests for attribute 0x0019 of subnet management with status "
		  "0x0001");
}

/* --- subnet managers */

static void add_manager(struct chk_fabric *f, const char *name, uint8_t state)
{
	struct chk_node *n = rig_node(f, name);
	const struct chk_manager m = { .node = n->index,
				       .port = n->sw ? 0 : 1,
				       .info = { .priority = 3, .state = state } };

	n->port[m.port].pi.cap_mask |= SMP_CAP_IS_SM;
	assert_int_equal(chk_add_manager(f, &m), 0);
}

static struct chk_fabric *with_managers(uint8_t state_of_second)
{
	struct chk_fabric *f = rig_ring(3);

	add_manager(f, "s1", SMP_SM_MASTER);
	add_manager(f, "h3", state_of_second);
	return f;
}

static void test_two_masters(void **state)
{
	(void)state;
	rig_healthy(read_all(with_managers(SMP_SM_STANDBY)));
	/*
	 * There are two masters. All ports name the same one as their SM, so the only finding must
	 * be that there are two.
	 */
	rig_finds(read_all(with_managers(SMP_SM_MASTER)), CHK_TWO_MASTERS,
		  "is a master subnet manager (priority 3), and so is");
}

static void test_manager_that_does_not_answer_is_no_fault(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct rig r;

	(void)state;
	rig_node(f, "h2")->port[1].pi.cap_mask |= SMP_CAP_IS_SM;
	rig_init(&r, f);
	f = rig_read(&r);
	assert_int_equal(r.st.lost, 1);
	rig_healthy(f);
}

/* Most ports name LID 3 as the LID of the SM, but the master has LID 1, so most ports are wrong. */
static void test_master_decides_which_lid_is_right(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	const struct chk_opts o = { 0 };
	struct chk_report r;

	(void)state;
	add_manager(f, "s1", SMP_SM_MASTER);
	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int p = 0; p <= f->node[i]->nports; p++)
			if (f->node[i]->port[p].pi.sm_lid && strcmp(f->node[i]->desc, "h2") != 0)
				f->node[i]->port[p].pi.sm_lid = 3;
	f = read_all(f);
	assert_int_equal(chk_run(f, &o, &r), 0);
	assert_int_equal(r.n, 5);
	for (uint32_t i = 0; i < r.n; i++) {
		assert_int_equal(r.finding[i].kind, CHK_OTHER_SM);
		assert_non_null(strstr(r.finding[i].what,
				       "has LID 3 as that of its subnet manager, "
				       "but the master has LID 1"));
	}
	chk_report_fini(&r);
	chk_fabric_free(f);
}

/* --- counters */

static void errors(struct rig *r)
{
	rig_node(r->real, "s2")->port[1].counters->first.symbol_errors = 9;
}

static void test_counters_that_grow(void **state)
{
	struct chk_fabric *f = rig_ring(3);
	struct rig r;

	(void)state;
	rig_node(f, "s2")->port[1].counters = chk_alloc(f, 1, sizeof(struct chk_counters));
	rig_node(f, "s2")->port[1].counters->first.symbol_errors = 4;
	rig_init(&r, f);
	r.between = errors;
	rig_finds(rig_read(&r), CHK_COUNTER_GROWS,
		  "s2/1: within 1.0 s: SymbolErrorCounter by 5 to 9");
}

/* --- bounds */

static void test_window_and_rate_are_kept(void **state)
{
	struct rig r;

	(void)state;
	rig_init(&r, rig_ring(30));
	r.cfg.window = 4;
	r.cfg.per_second = 500;
	chk_fabric_free(rig_read(&r));
	assert_int_equal(r.most_open, 4);
	assert_in_range(r.most_in_100ms, 40, 50 + 4);

	/*
	 * Without a bound on the rate, only the window must bound the requests: at most 16 may be
	 * open at a time.
	 */
	rig_init(&r, rig_ring(30));
	r.cfg.per_second = 1000000;
	chk_fabric_free(rig_read(&r));
	assert_int_equal(r.most_open, 16);
	assert_true(r.most_in_100ms > 500);
}

static void test_memory_is_bounded(void **state)
{
	struct chk_fabric *f;
	struct rig r;

	(void)state;
	rig_init(&r, rig_ring(30));
	r.cfg.octets_max = 20000;
	f = rig_read(&r);
	assert_true(f->cut);
	assert_true(f->octets <= 20000);
	chk_fabric_free(f);
}

/*
 * A hostile device can pretend to be any number of switches, with tables of any length. The survey
 * must end in a bounded time.
 */
static void test_time_is_bounded(void **state)
{
	const struct chk_opts o = { 0 };
	struct chk_report rep;
	struct chk_fabric *f;
	struct rig r;

	(void)state;
	for (unsigned int ms = 10; ms < 300; ms += 15) {
		rig_init(&r, rig_ring(3));
		r.cfg.per_second = 100;
		r.cfg.within = NS_MSEC(ms);
		r.cfg.counters = false;
		f = rig_read(&r);
		assert_in_range(r.now, 1, NS_MSEC(ms));
		assert_true(f->late);
		/*
		 * Data that were not read must cause no finding about their content. There must be
		 * one finding, which says that data are missing.
		 */
		assert_int_equal(chk_run(f, &o, &rep), 0);
		assert_int_equal(rep.n, 1);
		assert_int_equal(rep.finding[0].kind, CHK_CUT);
		assert_non_null(strstr(rep.finding[0].what, "in the time that there was"));
		chk_report_fini(&rep);
		chk_fabric_free(f);
	}
}

/* --- answers with false content */

static unsigned int turn;

static void wrong_type(uint8_t *mad)
{
	if (mad_attr(mad) == SMP_ATTR_NODE_INFO && ++turn > 1)
		mad[SMP_DATA_OFF + 2] = 9;
}

static void other_attribute(uint8_t *mad)
{
	if (mad_attr(mad) == SMP_ATTR_PORT_INFO)
		mad[17] = SMP_ATTR_SM_INFO;
}

static void test_answers_that_lie(void **state)
{
	struct chk_fabric *f;
	struct rig r;

	(void)state;
	rig_init(&r, rig_ring(3));
	turn = 0;
	r.twist = wrong_type;
	f = rig_read(&r);
	assert_int_equal(f->n, 1);
	assert_int_equal(f->nsilences, 1);
	rig_finds(f, CHK_REFUSED,
		  "h1/1: what is behind it answers NodeInfo with status 0x001c or wrong values");

	rig_init(&r, rig_ring(3));
	r.twist = other_attribute;
	f = rig_read(&r);
	assert_int_equal(f->n, 1);
	assert_int_equal(r.st.unexpected, 1);
	assert_int_equal(r.st.lost, 1); /* the request got no other answer */
	chk_fabric_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy_fabrics_are_healthy_when_read),
		cmocka_unit_test(test_ports_of_a_ca_are_each_asked_by_their_own),
		cmocka_unit_test(test_two_cas_back_to_back),
		cmocka_unit_test(test_faults_of_tables_are_seen),
		cmocka_unit_test(test_lanes_of_a_credit_loop_are_read),
		cmocka_unit_test(test_lft_above_the_top_is_not_there),
		cmocka_unit_test(test_two_switches_with_one_guid),
		cmocka_unit_test(test_two_cas_with_one_guid),
		cmocka_unit_test(test_two_cas_with_one_guid_at_one_switch),
		cmocka_unit_test(test_twin_with_a_port_that_the_first_lacks),
		cmocka_unit_test(test_what_does_not_answer_is_named),
		cmocka_unit_test(test_a_mute_performance_agent_is_confirmed),
		cmocka_unit_test(test_ports_that_were_not_read_are_no_dead_ends),
		cmocka_unit_test(test_own_port_that_is_mute_gives_an_empty_fabric),
		cmocka_unit_test(test_lost_without_a_word_of_the_transport),
		cmocka_unit_test(test_busy_agent_is_asked_again),
		cmocka_unit_test(test_agent_that_stays_busy_is_named),
		cmocka_unit_test(test_two_masters),
		cmocka_unit_test(test_manager_that_does_not_answer_is_no_fault),
		cmocka_unit_test(test_master_decides_which_lid_is_right),
		cmocka_unit_test(test_counters_that_grow),
		cmocka_unit_test(test_window_and_rate_are_kept),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_time_is_bounded),
		cmocka_unit_test(test_answers_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
