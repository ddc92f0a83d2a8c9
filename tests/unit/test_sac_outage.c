/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>

#include "sac_rig.h"
#include "wire/mgid.h"

/*
 * Outages of the SA. While no SA runs on the SM's host, the host itself answers requests with an
 * error, as Linux does.
 */

#define GROUPS 40

struct user {
	struct sac_group_ref ref;
	unsigned int granted, failed;
	int status;
};

static struct user users[GROUPS];
static struct sac_rig r;
static unsigned int warnings, infos;
static char last[512];

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	(void)sink;
	warnings += lvl <= LOG_LVL_WARN;
	infos += lvl == LOG_LVL_INFO;
	vsnprintf(last, sizeof(last), fmt, ap);
}

static const struct log_sink sink = { .emit = emit, .max = LOG_LVL_INFO };

static int setup(void **state)
{
	(void)state;
	memset(users, 0, sizeof(users));
	sac_rig_log = &sink;
	sac_rig_init(&r, false, 3);
	sac_rig_log = NULL;
	warnings = infos = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sac_rig_fini(&r);
	return 0;
}

static void done(struct sac_group_ref *ref, int status, const struct ib_mcmember_rec *rec, ns_t now)
{
	struct user *u = container_of(ref, struct user, ref);

	(void)rec;
	(void)now;
	u->status = status;
	u->granted += !status;
	u->failed += status != 0;
}

static void join_all(void)
{
	for (unsigned int i = 0; i < GROUPS; i++) {
		struct sac_join j = {
			.create = true,
			.rec = { .pkey = RIG_PKEY,
				 .join_state = MCM_JOIN_FULL,
				 .qkey = 0x80000b1b,
				 .mtu_code = IB_MTU_2048,
				 .rate_code = 3 },
		};
		uint8_t addr[4] = { 239, 0, 0, (uint8_t)i };

		assert_int_equal(mgid_from_ipv4(&j.rec.mgid, addr, RIG_PKEY, 2), 0);
		users[i].ref.done = done;
		assert_int_equal(sac_group_join(r.sac, &users[i].ref, &j, r.now), 0);
	}
}

static unsigned int granted(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < GROUPS; i++)
		n += users[i].granted != 0;
	return n;
}

static void test_no_sa_there_is_no_refusal(void **state)
{
	static const uint16_t statuses[] = { MAD_STATUS_BAD_ATTR, MAD_STATUS_BAD_METHOD,
					     MAD_STATUS_BAD_VERSION, MAD_STATUS_BUSY };
	struct sac_stats st;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(statuses); i++) {
		r.sa.absent = statuses[i];
		join_all();
		sac_rig_run(&r, NS_MSEC(10));
		assert_int_equal(users[0].status, statuses[i] == MAD_STATUS_BUSY ? -EBUSY : -ENXIO);
		assert_true(sac_status_is_outage(users[0].status));
		sac_stats(r.sac, &st);
		assert_int_equal(st.refused, 0);
	}
	assert_true(st.absent >= 3 * GROUPS && st.busy >= GROUPS);
}

/*
 * While there is no SA, the client repeats the join of each group only every few seconds. No notice
 * reports that the SA is back, but the client must join every group within some seconds of the SA's
 * return.
 */
static void test_an_sa_that_is_back_without_a_word_is_found(void **state)
{
	unsigned int asked;
	ns_t back;

	(void)state;
	r.sa.absent = MAD_STATUS_BAD_ATTR;
	join_all();
	sac_rig_run(&r, NS_SEC(60));
	assert_int_equal(granted(), 0);
	asked = r.sa.requests;
	sac_rig_run(&r, NS_SEC(60));
	assert_in_range((r.sa.requests - asked) / GROUPS, 10, 16);
	r.sa.absent = 0;
	back = r.now;
	while (granted() < GROUPS && r.now < back + NS_SEC(30))
		sac_rig_run(&r, NS_MSEC(10));
	assert_in_range(r.now - back, NS_MSEC(1), SAC_BACKOFF_ABSENT * 5 / 4 + NS_MSEC(20));
}

/*
 * The first answer of an SA, of whatever kind, must make the client repeat all waiting requests at
 * once.
 */
static void test_the_first_answer_hurries_all(void **state)
{
	ns_t first = 0;

	(void)state;
	r.sa.absent = MAD_STATUS_BAD_ATTR;
	join_all();
	sac_rig_run(&r, NS_SEC(60));
	r.sa.absent = 0;
	while (granted() < GROUPS) {
		sac_rig_run(&r, NS_MSEC(1));
		if (!first && granted())
			first = r.now;
	}
	assert_in_range(r.now - first, 0, NS_MSEC(3));
}

static void test_asked_to_register_all_is_tried_at_once(void **state)
{
	(void)state;
	r.sa.absent = MAD_STATUS_BAD_ATTR;
	join_all();
	sac_rig_run(&r, NS_SEC(60));
	r.sa.absent = 0;
	sac_reregister(r.sac, r.now);
	sac_rig_run(&r, NS_MSEC(5));
	assert_int_equal(granted(), GROUPS);
}

/*
 * The log must have one line when an outage begins, and one line when it ends, with its duration
 * and the number of failed requests, however many groups there are.
 */
static void test_R71_an_outage_is_said_once(void **state)
{
	(void)state;
	r.sa.absent = MAD_STATUS_BAD_ATTR;
	join_all();
	sac_rig_run(&r, NS_SEC(100));
	assert_int_equal(warnings, 1);
	assert_int_equal(infos, 0);
	assert_string_equal(last, "sa: SM LID 1: no SA there; asking on");
	r.sa.absent = 0;
	sac_rig_run(&r, NS_SEC(10));
	assert_int_equal(warnings, 1);
	assert_int_equal(infos, 1);
	assert_non_null(strstr(last, "SM LID 1 answers again; "));
	/* An outage with another cause must be logged, too. */
	r.sa.absent = MAD_STATUS_BUSY;
	sac_reregister(r.sac, r.now);
	sac_rig_run(&r, NS_SEC(10));
	r.sa.absent = 0;
	r.sa.deaf = true;
	sac_rig_run(&r, NS_SEC(60));
	assert_int_equal(warnings, 3);
}

/* --- paths */

static struct sac_path_wait wait;
static int path_status;

static void path_done(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now)
{
	(void)w;
	(void)rec;
	(void)now;
	path_status = status;
}

static int path_get(void)
{
	struct sac_path_key k = { .sgid = peer_gid(RIG_LID),
				  .dgid = peer_gid(9),
				  .pkey = RIG_PKEY };
	struct ib_path_rec rec;
	int err;

	wait.done = path_done;
	path_status = 1;
	err = sac_path_get(r.sac, &k, &wait, &rec, r.now);
	if (err != -EINPROGRESS)
		return err;
	sac_rig_run(&r, NS_MSEC(1));
	return path_status;
}

static void test_a_failed_path_does_not_outlive_the_outage(void **state)
{
	ib_gid gid = peer_gid(9);

	(void)state;
	sa_path_add(&r.sa, &gid, 9);
	r.sa.absent = MAD_STATUS_BAD_ATTR;
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(path_get(), -ENXIO);
		sac_rig_run(&r, NS_SEC(1));
	}
	/* The SA's answer to the joins shows that the SA is back. */
	r.sa.absent = 0;
	join_all();
	sac_rig_run(&r, NS_MSEC(2));
	assert_int_equal(path_get(), 0);
}

/* --- a join whose parameters are outdated */

static void test_a_join_with_old_parameters_is_not_refused_for_them(void **state)
{
	struct sac_join j;
	struct user *u = &users[0];
	struct sa_group *g;

	(void)state;
	join_all();
	sac_rig_run(&r, NS_MSEC(5));
	assert_int_equal(granted(), GROUPS);
	/*
	 * A new SA demands another Q_Key. After the ClientReregister the client sends its joins
	 * again, one of them with the old Q_Key, which the SA refuses. Before this refusal arrives,
	 * the user learns the new Q_Key, and requests a join with it. The client must not report
	 * the refusal of the old join to the user.
	 */
	g = sa_group_find(&r.sa, &u->ref.join.rec.mgid);
	g->refuse = SA_STATUS_REQ_INVALID;
	r.sa.delay = NS_MSEC(10);
	sac_reregister(r.sac, r.now);
	sac_rig_run(&r, NS_MSEC(5));
	g->refuse = 0;
	j = u->ref.join;
	j.rec.qkey = 0xb1b;
	assert_int_equal(sac_group_join(r.sac, &u->ref, &j, r.now), 0);
	sac_rig_run(&r, NS_MSEC(50));
	assert_int_equal(u->failed, 0);
	assert_int_equal(u->granted, 2);
	assert_int_equal(r.sa.last_join.qkey, 0xb1b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
		CASE(test_no_sa_there_is_no_refusal),
		CASE(test_an_sa_that_is_back_without_a_word_is_found),
		CASE(test_the_first_answer_hurries_all),
		CASE(test_asked_to_register_all_is_tried_at_once),
		CASE(test_R71_an_outage_is_said_once),
		CASE(test_a_failed_path_does_not_outlive_the_outage),
		CASE(test_a_join_with_old_parameters_is_not_refused_for_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
