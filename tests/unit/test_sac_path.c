/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "sac_rig.h"

struct waiter {
	struct sac_path_wait w;
	int calls, status;
	struct ib_path_rec rec;
};

static void got(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now)
{
	struct waiter *x = container_of(w, struct waiter, w);

	assert_false(w->waiting);
	assert_true((status == 0) == (rec != NULL));
	x->calls++;
	x->status = status;
	if (rec)
		x->rec = *rec;
}

static struct sac_path_key key_to(unsigned int n)
{
	return (struct sac_path_key){ peer_gid(RIG_LID), peer_gid(n), RIG_PKEY, 0 };
}

static int get(struct sac_rig *r, struct waiter *x, unsigned int n)
{
	struct sac_path_key key = key_to(n);

	*x = (struct waiter){ .w.done = got };
	return sac_path_get(r->sac, &key, &x->w, &x->rec, r->now);
}

static void test_R50_one_query_as_linux_asks_serves_all_waiters(void **state)
{
	ib_gid peer = peer_gid(9);
	struct waiter w[3];
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sa_path_add(&r.sa, &peer, 9);
	for (int i = 0; i < 3; i++)
		assert_int_equal(get(&r, &w[i], 9), -EINPROGRESS);
	assert_int_equal(w[0].calls, 0);
	sac_rig_run(&r, NS_MSEC(1));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(w[i].calls, 1);
		assert_int_equal(w[i].status, 0);
		assert_int_equal(w[i].rec.dlid, 9);
	}
	assert_int_equal(r.sa.path_asks, 1);
	assert_int_equal(r.sa.last_comp_mask, 0x340c | PATH_COMP_REVERSIBLE);
	assert_int_equal(r.sa.last_to.lid, SA_LID);
	assert_int_equal(r.sa.last_path.pkey, RIG_PKEY);
	assert_int_equal(r.sa.last_path.numb_path, 1);
	assert_true(r.sa.last_path.reversible);
	/* The first query has put the path into the cache. */
	assert_int_equal(get(&r, &w[0], 9), 0);
	assert_int_equal(w[0].rec.dlid, 9);
	assert_int_equal(r.sa.path_asks, 1);
	sac_rig_fini(&r);
}

/*
 * The user may use a cached path until SAC_PATH_TTL after the arrival of the SA's answer. Later
 * queries that the cache answers must not extend this time.
 */
static void test_cached_path_says_how_long_it_lives(void **state)
{
	struct sac_path_key key = key_to(9);
	ib_gid peer = peer_gid(9);
	struct sac_rig r;
	struct waiter w;
	ns_t until;

	sac_rig_init(&r, false, 1);
	sa_path_add(&r.sa, &peer, 9);
	assert_int_equal(sac_path_until(r.sac, &key, r.now), r.now);
	assert_int_equal(get(&r, &w, 9), -EINPROGRESS);
	sac_rig_run(&r, NS_MSEC(1));
	until = sac_path_until(r.sac, &key, r.now);
	assert_in_range(until, r.now + SAC_PATH_TTL - NS_MSEC(2), r.now + SAC_PATH_TTL);
	sac_rig_run(&r, NS_SEC(100));
	assert_int_equal(get(&r, &w, 9), 0);
	assert_int_equal(sac_path_until(r.sac, &key, r.now), until);
	sac_rig_run(&r, until - r.now);
	assert_int_equal(sac_path_until(r.sac, &key, r.now), r.now);
	sac_rig_fini(&r);
}

static void test_path_keys_differ_by_pkey_and_tclass(void **state)
{
	struct sac_path_key key = key_to(9);
	ib_gid peer = peer_gid(9);
	struct waiter w[3] = { { .w.done = got }, { .w.done = got }, { .w.done = got } };
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sa_path_add(&r.sa, &peer, 9);
	sac_path_get(r.sac, &key, &w[0].w, &w[0].rec, r.now);
	key.pkey = 0x8002;
	sac_path_get(r.sac, &key, &w[1].w, &w[1].rec, r.now);
	key.tclass = 4;
	sac_path_get(r.sac, &key, &w[2].w, &w[2].rec, r.now);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.sa.path_asks, 3);
	assert_int_equal(r.sa.last_path.tclass, 4);
	sac_rig_fini(&r);
}

static void test_I32_refused_path_backs_off_and_doubles(void **state)
{
	unsigned int before;
	struct waiter w;
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	assert_int_equal(get(&r, &w, 9), -EINPROGRESS);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(w.status, SA_STATUS_NO_RECORDS);
	/*
	 * A user asks for the path every 10 ms for 40 s, and the SA refuses. The SA must get
	 * requests only after pauses of 1, 2, 4, 8 and 16 s, each up to a quarter longer.
	 */
	for (int i = 0; i < 4000; i++) {
		int st = get(&r, &w, 9);

		assert_true(st == SA_STATUS_NO_RECORDS || st == -EINPROGRESS);
		sac_rig_run(&r, NS_MSEC(10));
	}
	assert_in_range(r.sa.path_asks, 5, 6);
	before = r.sa.path_asks;
	for (int i = 0; i < 6000; i++) {
		get(&r, &w, 9);
		sac_rig_run(&r, NS_MSEC(10));
	}
	assert_in_range(r.sa.path_asks - before, 3, 4); /* one request every 16 to 20 s */
	sac_rig_fini(&r);
}

static void test_H34_a_query_is_tried_as_its_user_says(void **state)
{
	struct waiter w = { .w.done = got, .w.tries = { .timeout_ms = 30, .retries = 1 } };
	struct sac_path_key key = key_to(9);
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	r.sa.deaf = true;
	assert_int_equal(sac_path_get(r.sac, &key, &w.w, &w.rec, r.now), -EINPROGRESS);
	sac_rig_run(&r, NS_MSEC(59));
	assert_int_equal(w.calls, 0);
	assert_int_equal(r.sa.retries, 1);
	sac_rig_run(&r, NS_MSEC(20));
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.status, -ETIMEDOUT);
	sac_rig_fini(&r);
}

static void test_silent_sa_times_out_after_retries_with_one_tid(void **state)
{
	struct waiter w;
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	r.sa.deaf = true;
	assert_int_equal(get(&r, &w, 9), -EINPROGRESS);
	sac_rig_run(&r, NS_MSEC(SAC_TRY_MS * (SAC_RETRIES + 1) - 1));
	assert_int_equal(w.calls, 0);
	assert_int_equal(r.sa.requests, 1);
	assert_int_equal(r.sa.retries, SAC_RETRIES);
	sac_rig_run(&r, NS_SEC(1) / 2);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.status, -ETIMEDOUT);
	assert_int_equal(get(&r, &w, 9), -ETIMEDOUT);
	sac_rig_fini(&r);
}

static void test_queries_are_paced(void **state)
{
	static struct waiter w[200];
	struct sac_stats st;
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	for (unsigned int i = 0; i < 200; i++) {
		ib_gid peer = peer_gid(100 + i);

		sa_path_add(&r.sa, &peer, (uint16_t)(100 + i));
		assert_int_equal(get(&r, &w[i], 100 + i), -EINPROGRESS);
	}
	sac_stats(r.sac, &st);
	assert_int_equal(st.open, SAC_MAX_OPEN);
	assert_int_equal(st.queued, 200 - SAC_MAX_OPEN);
	sac_rig_run(&r, NS_MSEC(5));
	assert_int_equal(r.sa.max_open, SAC_MAX_OPEN);
	for (int i = 0; i < 200; i++)
		assert_int_equal(w[i].rec.dlid, 100 + i);
	assert_true(sac_idle(r.sac));
	sac_rig_fini(&r);
}

static void test_path_is_asked_again_after_its_ttl(void **state)
{
	ib_gid peer = peer_gid(9);
	struct waiter w;
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sa_path_add(&r.sa, &peer, 9);
	get(&r, &w, 9);
	sac_rig_run(&r, SAC_PATH_TTL - NS_SEC(1));
	assert_int_equal(get(&r, &w, 9), 0);
	sac_rig_run(&r, NS_SEC(2));
	assert_int_equal(get(&r, &w, 9), -EINPROGRESS);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(r.sa.path_asks, 2);
	sac_rig_fini(&r);
}

static void test_reregister_forgets_paths_and_asks_open_ones_again(void **state)
{
	ib_gid peer = peer_gid(9), other = peer_gid(10);
	struct waiter w, open;
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sa_path_add(&r.sa, &peer, 9);
	get(&r, &w, 9);
	sac_rig_run(&r, NS_MSEC(1));
	r.sa.deaf = true;
	get(&r, &open, 10);
	sac_rig_run(&r, NS_MSEC(1));
	r.sa.deaf = false;
	sa_path_add(&r.sa, &other, 10);
	r.port.sm_lid = 2; /* another SM's LID */
	sac_rig_port(&r, true);
	assert_int_equal(get(&r, &w, 9), -EINPROGRESS);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(open.calls, 1);
	assert_int_equal(open.rec.dlid, 10);
	assert_int_equal(r.sa.last_to.lid, 2);
	sac_rig_fini(&r);
}

static void test_port_down_ends_waits(void **state)
{
	struct waiter w;
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	get(&r, &w, 9);
	sac_rig_port(&r, false);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.status, -ENETDOWN);
	assert_int_equal(get(&r, &w, 9), -ENETDOWN);
	sac_rig_fini(&r);
}

static void test_cancelled_wait_is_not_called_but_its_answer_is_cached(void **state)
{
	ib_gid peer = peer_gid(9);
	struct waiter w;
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sa_path_add(&r.sa, &peer, 9);
	get(&r, &w, 9);
	sac_path_cancel(&w.w);
	sac_rig_run(&r, NS_MSEC(1));
	assert_int_equal(w.calls, 0);
	assert_int_equal(get(&r, &w, 9), 0);
	sac_rig_fini(&r);
}

static void twist_dlid(struct fake_sa *sa, uint8_t *mad)
{
	be16_put(mad + SA_DATA_OFF + 40, 0xc001);
}

static void twist_dgid(struct fake_sa *sa, uint8_t *mad)
{
	mad[SA_DATA_OFF + 8 + 15] ^= 1;
}

static void twist_attr(struct fake_sa *sa, uint8_t *mad)
{
	be16_put(mad + 16, SA_ATTR_NODE_RECORD);
}

static void test_answers_that_are_none_are_refused(void **state)
{
	void (*twist[])(struct fake_sa *, uint8_t *) = { twist_dlid, twist_dgid, twist_attr };

	for (size_t i = 0; i < ARRAY_SIZE(twist); i++) {
		ib_gid peer = peer_gid(9);
		struct waiter w;
		struct sac_rig r;

		sac_rig_init(&r, false, 1);
		sa_path_add(&r.sa, &peer, 9);
		r.sa.twist = twist[i];
		get(&r, &w, 9);
		sac_rig_run(&r, NS_SEC(5));
		assert_int_equal(w.calls, 1);
		assert_int_equal(w.status, -EBADMSG);
		sac_rig_fini(&r);
	}
}

static int seen;

static void look(void *ctx, const struct sac_path_info *i)
{
	unsigned int *waiters = ctx;

	seen++;
	*waiters += i->waiters;
}

static void test_paths_are_listed(void **state)
{
	unsigned int waiters = 0;
	struct waiter w[2];
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	get(&r, &w[0], 9);
	get(&r, &w[1], 9);
	seen = 0;
	sac_path_some(r.sac, &(uint64_t){ 0 }, &(unsigned int){ UINT32_MAX }, look, &waiters);
	assert_int_equal(seen, 1);
	assert_int_equal(waiters, 2);
	sac_rig_fini(&r);
}

/*
 * An unused entry of the cache must be removed after its lifetime and the longest back-off, even if
 * users often ask for other paths meanwhile.
 */
static void test_path_that_nobody_asks_for_is_freed(void **state)
{
	ib_gid peers[] = { peer_gid(9), peer_gid(10) };
	unsigned int waiters = 0;
	struct waiter w[2];
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	sa_path_add(&r.sa, &peers[0], 9);
	sa_path_add(&r.sa, &peers[1], 10);
	get(&r, &w[0], 9);
	for (ns_t end = r.now + SAC_PATH_TTL + SAC_BACKOFF_MAX + NS_SEC(31); r.now < end;) {
		get(&r, &w[1], 10);
		sac_rig_run(&r, NS_SEC(10));
	}
	seen = 0;
	sac_path_some(r.sac, &(uint64_t){ 0 }, &(unsigned int){ UINT32_MAX }, look, &waiters);
	assert_int_equal(seen, 1);
	sac_rig_fini(&r);
}

/*
 * The SA does not answer, and callers ask for more paths than the cache has room for. The further callers are
 * refused, and their requests are as cheap as those before.
 */
static void test_cache_that_is_full_of_open_queries_refuses_more(void **state)
{
	static struct waiter w[SAC_MAX_PATHS + 3];
	struct sac_rig r;

	sac_rig_init(&r, false, 1);
	r.sa.deaf = true;
	for (unsigned int k = 0; k < SAC_MAX_PATHS; k++)
		assert_int_equal(get(&r, &w[k], 100 + k), -EINPROGRESS);
	assert_int_equal(get(&r, &w[SAC_MAX_PATHS], 99), -ENOBUFS);
	/* The users' needs are added up, until a user goes. */
	sac_paths_room(r.sac, SAC_MAX_PATHS);
	sac_paths_room(r.sac, 7);
	sac_paths_room(r.sac, 1);
	sac_paths_room(r.sac, -7);
	assert_int_equal(get(&r, &w[SAC_MAX_PATHS], 99), -EINPROGRESS);
	assert_int_equal(get(&r, &w[SAC_MAX_PATHS + 1], 98), -ENOBUFS);
	/* A path whose query has ended makes room for another one. */
	while (!w[0].calls)
		sac_rig_run(&r, NS_SEC(1));
	assert_int_equal(get(&r, &w[SAC_MAX_PATHS + 1], 98), -EINPROGRESS);
	sac_rig_fini(&r);
}

/*
 * A known path is asked for again, when its lifetime or its back-off has ended. Until the answer comes, @w waits for it, and the
 * SA is silent.
 */
static void ask_again(struct sac_rig *r, struct waiter *w, bool known)
{
	ib_gid peer = peer_gid(9);

	sac_rig_init(r, false, 1);
	if (known)
		sa_path_add(&r->sa, &peer, 9);
	get(r, w, 9);
	sac_rig_run(r, NS_MSEC(1));
	assert_true((w->status == 0) == known);
	sac_rig_run(r, known ? SAC_PATH_TTL : SAC_BACKOFF_MAX);
	r->sa.deaf = true;
	assert_int_equal(get(r, w, 9), -EINPROGRESS);
	sac_rig_run(r, NS_MSEC(1));
	if (!known)
		sa_path_add(&r->sa, &peer, 9);
}

static void test_path_asked_for_again_is_asked_of_a_new_sm(void **state)
{
	for (int known = 0; known < 2; known++) {
		struct waiter w;
		struct sac_rig r;

		ask_again(&r, &w, known);
		r.sa.deaf = false;
		r.port.sm_lid = 2;
		sac_rig_port(&r, true);
		sac_rig_run(&r, NS_MSEC(1));
		assert_int_equal(w.calls, 1);
		assert_int_equal(w.status, 0);
		assert_int_equal(w.rec.dlid, 9);
		sac_rig_fini(&r);
	}
}

/* Other paths fill the cache while somebody waits for the path. */
static void test_path_asked_for_again_is_not_removed_for_another(void **state)
{
	static struct waiter other[SAC_MAX_PATHS];

	for (int known = 0; known < 2; known++) {
		struct waiter w;
		struct sac_rig r;

		ask_again(&r, &w, known);
		for (unsigned int k = 1; k < SAC_MAX_PATHS; k++)
			assert_int_equal(get(&r, &other[k], 100 + k), -EINPROGRESS);
		assert_int_equal(get(&r, &other[0], 100), -ENOBUFS);
		r.sa.deaf = false;
		while (!w.calls)
			sac_rig_run(&r, NS_SEC(1));
		assert_int_equal(w.status, 0);
		sac_rig_fini(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R50_one_query_as_linux_asks_serves_all_waiters),
		cmocka_unit_test(test_cached_path_says_how_long_it_lives),
		cmocka_unit_test(test_path_keys_differ_by_pkey_and_tclass),
		cmocka_unit_test(test_I32_refused_path_backs_off_and_doubles),
		cmocka_unit_test(test_H34_a_query_is_tried_as_its_user_says),
		cmocka_unit_test(test_silent_sa_times_out_after_retries_with_one_tid),
		cmocka_unit_test(test_queries_are_paced),
		cmocka_unit_test(test_path_is_asked_again_after_its_ttl),
		cmocka_unit_test(test_reregister_forgets_paths_and_asks_open_ones_again),
		cmocka_unit_test(test_port_down_ends_waits),
		cmocka_unit_test(test_cancelled_wait_is_not_called_but_its_answer_is_cached),
		cmocka_unit_test(test_answers_that_are_none_are_refused),
		cmocka_unit_test(test_paths_are_listed),
		cmocka_unit_test(test_path_that_nobody_asks_for_is_freed),
		cmocka_unit_test(test_cache_that_is_full_of_open_queries_refuses_more),
		cmocka_unit_test(test_path_asked_for_again_is_asked_of_a_new_sm),
		cmocka_unit_test(test_path_asked_for_again_is_not_removed_for_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
