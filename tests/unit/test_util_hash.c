/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/hash.h"

#include <stdbool.h>
#include <string.h>

#include "check.h"
#include "util/list.h"
#include "util/prng.h"

/*
 * The test vectors of the SipHash paper, appendix A: the key is 00 01 .. 0f, and the messages are
 * the empty message, 00, 00 01, and so on.
 */
static void test_siphash_vectors(void **state)
{
	const struct hash_key key = { 0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull };
	static const struct {
		size_t len;
		uint64_t hash;
	} v[] = {
		{ 0, 0x726fdb47dd0e0e31ull },  { 1, 0x74f839c593dc67fdull },
		{ 7, 0xab0200f58b01d137ull },  { 8, 0x93f5f5799a932462ull },
		{ 15, 0xa129ca6149be45e5ull }, { 63, 0x958a324ceb064572ull },
	};
	uint8_t msg[64];

	for (size_t i = 0; i < sizeof(msg); i++)
		msg[i] = (uint8_t)i;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		assert_true(hash_siphash(&key, msg, v[i].len) == v[i].hash);
}

static void test_siphash_depends_on_key_and_length(void **state)
{
	const struct hash_key a = { 1, 2 }, b = { 1, 3 };
	const uint8_t zero[8] = { 0 };

	assert_true(hash_siphash(&a, zero, 8) != hash_siphash(&b, zero, 8));
	assert_true(hash_siphash(&a, zero, 8) != hash_siphash(&a, zero, 7));
	assert_true(hash_siphash(&a, zero, 1) != hash_siphash(&a, zero, 0));
}

struct item {
	struct hlink link;
	int id;
};

static void test_htab_empty(void **state)
{
	struct htab t = { 0 };
	struct item it = { 0 };

	assert_null(htab_first(&t, 0));
	assert_null(htab_each(&t, NULL));
	htab_del(&t, &it.link);
	assert_int_equal(t.n, 0);
	htab_fini(&t);
}

/*
 * Compare the hash table with a plain array, through several doublings of the table and with items
 * of equal hashes.
 */
static void test_htab_random_against_an_array(void **state)
{
	static struct item items[1000];
	static bool in[1000];
	struct htab t = { 0 };
	struct prng r;
	size_t n = 0;

	prng_seed(&r, 1);
	memset(in, 0, sizeof(in));
	for (int round = 0; round < 20000; round++) {
		uint32_t i = prng_below(&r, 1000);
		uint64_t hash = i % 300; /* three or four items have the same hash */
		struct hlink *h;
		bool found = false;

		for (h = htab_first(&t, hash); h; h = htab_next(h)) {
			assert_true(h->hash == hash);
			found |= h == &items[i].link;
		}
		assert_int_equal(found, in[i]);
		if (in[i])
			htab_del(&t, &items[i].link);
		else
			assert_int_equal(htab_add(&t, &items[i].link, hash), 0);
		in[i] = !in[i];
		n += in[i] ? 1 : (size_t)-1;
		assert_int_equal(t.n, n);
	}
	for (struct hlink *h = htab_each(&t, NULL); h; h = htab_each(&t, h)) {
		struct item *it = container_of(h, struct item, link);

		assert_true(in[it - items]);
		in[it - items] = false; /* no item is found twice */
		n--;
	}
	assert_int_equal(n, 0);
	htab_fini(&t);
	assert_int_equal(t.n, 0);
}

/* No htab_add() moves more than a few buckets, and no entry is missed or found twice while a table grows. */
static void test_htab_grows_by_a_few_buckets_at_a_time(void **state)
{
	static struct item items[4096];
	struct htab t = { 0 };

	for (size_t n = 0; n < ARRAY_SIZE(items); n++) {
		size_t moved = t.old ? t.moved : 0, walked = 0;

		assert_int_equal(htab_add(&t, &items[n].link, n * 0x9e3779b97f4a7c15ull), 0);
		assert_true(!t.old || t.moved <= moved + 4);
		if (n % 61)
			continue;
		for (struct hlink *h = htab_each(&t, NULL); h; h = htab_each(&t, h))
			walked++;
		assert_int_equal(walked, n + 1);
		for (size_t i = 0; i <= n; i++)
			assert_ptr_equal(htab_first(&t, items[i].link.hash), &items[i].link);
	}
	for (size_t n = 0; n < ARRAY_SIZE(items); n++)
		htab_del(&t, &items[n].link);
	assert_null(htab_each(&t, NULL));
	htab_fini(&t);
}

static void test_htab_del_of_what_is_not_in_it(void **state)
{
	struct htab t = { 0 };
	struct item a = { 0 }, b = { .link = { .hash = 5 } };

	assert_int_equal(htab_add(&t, &a.link, 5), 0);
	htab_del(&t, &b.link);
	assert_int_equal(t.n, 1);
	assert_ptr_equal(htab_first(&t, 5), &a.link);
	htab_fini(&t);
}

static void test_htab_emptied_while_walking(void **state)
{
	struct item items[100] = { 0 };
	struct htab t = { 0 };
	struct hlink *h, *next;
	int n = 0;

	for (int i = 0; i < 100; i++)
		assert_int_equal(htab_add(&t, &items[i].link, (uint64_t)i * 7), 0);
	for (h = htab_each(&t, NULL); h; h = next, n++) {
		next = htab_each(&t, h);
		htab_del(&t, h);
	}
	assert_int_equal(n, 100);
	assert_int_equal(t.n, 0);
	htab_fini(&t);
}

/* --- htab_some() */

struct seen {
	unsigned int times[8192]; /* number of visits of each item, by .id */
	unsigned int n; /* of this call */
};

static void see(void *ctx, struct hlink *h)
{
	struct seen *s = ctx;

	s->times[container_of(h, struct item, link)->id]++;
	s->n++;
}

/*
 * Items 0 to 999 are in the table all the time; others come and go between the calls, and the table grows
 * up to eight times in the middle of the walk.
 */
static void test_htab_some_visits_each_entry_once_while_others_come_and_go(void **state)
{
	enum { ALL = 8192, STAY = 1000 };
	static struct item items[ALL];
	static struct seen seen;
	static bool in[ALL];

	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct htab t = { 0 };
		struct prng r;
		uint64_t at = 0;
		bool more = true;

		prng_seed(&r, seed);
		memset(&seen, 0, sizeof(seen));
		memset(in, 0, sizeof(in));
		for (int i = 0; i < ALL; i++)
			items[i] = (struct item){ .id = i };
		for (int i = 0; i < STAY; i++)
			assert_int_equal(htab_add(&t, &items[i].link, prng_u64(&r)), 0);
		while (more) {
			unsigned int n = 10;

			seen.n = 0;
			more = htab_some(&t, &at, &n, see, &seen);
			assert_true(!more || n == 0);
			assert_in_range(seen.n, 0, 40);
			for (uint32_t k = prng_below(&r, 200); k; k--) {
				uint32_t i = STAY + prng_below(&r, ALL - STAY);

				if (in[i])
					htab_del(&t, &items[i].link);
				else
					assert_int_equal(htab_add(&t, &items[i].link, prng_u64(&r)),
							 0);
				in[i] = !in[i];
			}
		}
		for (int i = 0; i < STAY; i++)
			assert_int_equal(seen.times[i], 1);
		htab_fini(&t);
	}
}

static void test_htab_some_ends_after_many_empty_buckets(void **state)
{
	static struct item items[4096];
	static struct seen seen;
	struct htab t = { 0 };
	uint64_t at = 0;
	unsigned int calls = 1, n = 5;

	assert_false(htab_some(&t, &at, &n, see, &seen));
	assert_int_equal(n, 4); /* an empty table is not free either */
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		assert_int_equal(htab_add(&t, &items[i].link, i), 0);
	for (size_t i = 1; i < ARRAY_SIZE(items); i++)
		htab_del(&t, &items[i].link);
	while (n = 1, htab_some(&t, &at, &n, see, &seen)) {
		assert_int_equal(n, 0);
		calls++;
	}
	assert_int_equal(seen.n, 1);
	assert_in_range(calls, 4096 / 16, 4096 / 16 + 2);
	htab_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_siphash_vectors),
		cmocka_unit_test(test_siphash_depends_on_key_and_length),
		cmocka_unit_test(test_htab_empty),
		cmocka_unit_test(test_htab_random_against_an_array),
		cmocka_unit_test(test_htab_grows_by_a_few_buckets_at_a_time),
		cmocka_unit_test(test_htab_del_of_what_is_not_in_it),
		cmocka_unit_test(test_htab_emptied_while_walking),
		cmocka_unit_test(test_htab_some_visits_each_entry_once_while_others_come_and_go),
		cmocka_unit_test(test_htab_some_ends_after_many_empty_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
