/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The subnet manager is absent for a time. Its process has ended, and the port on which it ran
 * answers requests to the SA with an error, as a port of a Linux host does. Meanwhile paths and
 * groups in use must still work, and a host that starts must show why it waits. After an SM or an
 * SA has started again, all hosts must work again within a time limit.
 */
#include "check.h"

#include <string.h>

#include "unit/all_lab_check.h"

#define HOSTS 24
#define SWITCHES 4
#define SEED 5
/* Time in which a new SM starts, sweeps, and lets all ports join */
#define BACK_WITH_AN_SM NS_MSEC(500)
/*
 * A port that gets no notice of the new SA sends its next request to the SA after at most the
 * largest back-off with jitter.
 */
#define BACK_WITH_AN_SA (SAC_BACKOFF_ABSENT * 5 / 4 + NS_MSEC(500))

static struct {
	struct lab l;
	struct lab_count c;
	bool want[HOSTS], member[HOSTS];
} f;

static int setup(void **state)
{
	struct topo *topo = topo_gen_demo(HOSTS, SWITCHES);

	(void)state;
	memset(&f, 0, sizeof(f));
	lab_create(&f.l, &(struct lab_cfg){ .topo = topo, .seed = SEED });
	topo_free(topo);
	lab_count_init(&f.c, &f.l);
	memset(f.want, true, sizeof(f.want));
	lab_wait_up(&f.l, f.want, NS_SEC(10), SEED, "at the start");
	for (unsigned int i = 0; i < HOSTS; i += 3) {
		f.member[i] = true;
		assert_int_equal(ipoib_mcast_add(f.l.host[i].link, IPOIB_IPV4, lab_group, f.l.now),
				 0);
	}
	lab_run(&f.l, NS_SEC(3));
	lab_check_group(&f.l, &f.c, f.want, f.member, SEED);
	lab_check_pairs(&f.l, &f.c, f.want, SEED);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	lab_destroy(&f.l);
	lab_count_fini(&f.c);
	return 0;
}

static struct sac_stats stats_of(unsigned int host)
{
	struct sac_stats st;

	sac_stats(f.l.host[host].sac, &st);
	return st;
}

static void reregister_all(void)
{
	for (unsigned int i = 0; i < HOSTS; i++)
		sac_reregister(f.l.host[i].sac, f.l.now);
}

static const char *reason_of(unsigned int host)
{
	static struct ipoib_link_info i;

	ipoib_link_info(f.l.host[host].link, &i);
	return i.reason;
}

static bool all_are(enum ipoib_link_state state)
{
	for (unsigned int i = 0; i < HOSTS; i++) {
		struct ipoib_link_info info;

		ipoib_link_info(f.l.host[i].link, &info);
		if (info.state != state)
			return false;
	}
	return true;
}

static void works_within(ns_t most)
{
	ns_t start = f.l.now;

	while (!all_are(IPOIB_LINK_UP) && f.l.now < start + most)
		lab_run(&f.l, NS_MSEC(10));
	assert_true(all_are(IPOIB_LINK_UP));
	lab_run(&f.l, start + most - f.l.now);
	lab_check_pairs(&f.l, &f.c, f.want, SEED);
	lab_check_group(&f.l, &f.c, f.want, f.member, SEED);
	lab_check_beliefs(&f.l, f.want, SEED);
}

/*
 * Stop the SM, and let all hosts register again at the SA, as after a ClientReregister, while no SA
 * answers. Let the time @d pass, and check that the hosts still work.
 */
static void away(ns_t d)
{
	lab_sm_stop(&f.l);
	reregister_all();
	lab_run(&f.l, d);
	/* Check that paths and groups that were in use before still work. */
	lab_check_pairs(&f.l, &f.c, f.want, SEED);
	lab_check_group(&f.l, &f.c, f.want, f.member, SEED);
	assert_true(lab_all_up(&f.l, f.want));
	assert_true(all_are(IPOIB_LINK_REJOINING));
	assert_non_null(strstr(reason_of(0), "again: no SA there"));
	assert_true(stats_of(0).absent > 0);
	assert_int_equal(stats_of(0).refused, 0);
}

static void test_traffic_goes_on_without_an_sm_and_all_register_with_the_next(void **state)
{
	static const ns_t times[] = { NS_SEC(1), NS_SEC(10), NS_SEC(100) };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(times); i++) {
		away(times[i]);
		lab_sm_start(&f.l, NULL, NULL);
		works_within(BACK_WITH_AN_SM);
	}
}

/*
 * Only the SA is replaced, so the SM sets no ClientReregister when the new SA starts. The ports
 * must find the new SA by repeated requests.
 */
static void test_an_sa_that_is_back_is_found(void **state)
{
	(void)state;
	sa_destroy(f.l.sa);
	reregister_all();
	lab_run(&f.l, NS_SEC(60));
	assert_true(lab_all_up(&f.l, f.want));
	assert_true(all_are(IPOIB_LINK_REJOINING));
	assert_int_equal(sa_create(&f.l.sa, f.l.sm), 0);
	works_within(BACK_WITH_AN_SA);
}

/*
 * A host that starts without an SM must show why it waits, and must be up as soon as an SM has
 * started.
 */
static void test_who_starts_without_an_sm_is_up_with_it(void **state)
{
	struct lab_host *h = &f.l.host[7];

	(void)state;
	lab_sm_stop(&f.l);
	lab_host_restart(h);
	lab_run(&f.l, NS_SEC(30));
	assert_false(h->carrier);
	assert_non_null(strstr(reason_of(7), "no SA there"));
	lab_sm_start(&f.l, NULL, NULL);
	works_within(BACK_WITH_AN_SM);
}

static void works_up_again(const struct lab_host *h)
{
	for (ns_t end = f.l.now + NS_SEC(1); !h->carrier && f.l.now < end;)
		lab_run(&f.l, NS_MSEC(1));
	assert_true(h->carrier);
}

/*
 * No SA answers the request for a path. As soon as an SA has started, the host must repeat the
 * request.
 */
static void test_a_path_that_failed_is_there_with_the_sm(void **state)
{
	struct lab_host *h = &f.l.host[1];
	bool only[HOSTS] = { false, true, true };
	uint32_t word = 0;

	(void)state;
	lab_host_restart(h); /* a restarted host has no paths */
	works_up_again(h);
	lab_sm_stop(&f.l);
	for (unsigned int i = 0; i < 200; i++) {
		lab_send(h, &f.l.host[2], &word, sizeof(word));
		lab_run(&f.l, NS_MSEC(100));
	}
	assert_true(ipoib_link_stats(h->link)->drops[IPOIB_DROP_NO_PATH] > 150);
	lab_sm_start(&f.l, NULL, NULL);
	lab_run(&f.l, BACK_WITH_AN_SM);
	f.c.wrong = 0;
	lab_check_pairs(&f.l, &f.c, only, SEED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
		CASE(test_traffic_goes_on_without_an_sm_and_all_register_with_the_next),
		CASE(test_an_sa_that_is_back_is_found),
		CASE(test_who_starts_without_an_sm_is_up_with_it),
		CASE(test_a_path_that_failed_is_there_with_the_sm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
