/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

#include "util/heap.h"
#include "util/list.h"

#define PIECE 1000
#define EXPECTED (48u << 20)

static void *piece[EXPECTED / 2 / PIECE];

static void test_pieces_of_an_expected_size_do_not_extend_the_heap(void **state)
{
	void *end, *volatile large;

	(void)state;
	heap_expect(EXPECTED);
	end = sbrk(0);
	/* glibc examines the end of the heap when 64 KiB or more are freed */
	large = malloc(100000);
	assert_non_null(large);
	free(large);
	assert_ptr_equal(sbrk(0), end);
	for (size_t i = 0; i < ARRAY_SIZE(piece); i++) {
		piece[i] = malloc(PIECE);
		assert_non_null(piece[i]);
	}
	assert_ptr_equal(sbrk(0), end);
	for (size_t i = 0; i < ARRAY_SIZE(piece); i++)
		free(piece[i]);
}

static void test_a_small_size_reserves_nothing(void **state)
{
	void *end = sbrk(0);

	(void)state;
	heap_expect(1u << 20);
	assert_ptr_equal(sbrk(0), end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_small_size_reserves_nothing),
		cmocka_unit_test(test_pieces_of_an_expected_size_do_not_extend_the_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
