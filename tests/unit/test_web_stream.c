/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/stream.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

/*
 * Tests the ring of events and its readers, without sockets. The tests call a reader as the HTTP
 * library does, with much or little room for the answer.
 */

#define FIRST 1000

struct rig {
	struct web_ring ring;
	struct web_stream s;
	char got[1u << 16];
	size_t len;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	web_ring_init(&r->ring, FIRST);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	web_ring_fini(&r->ring);
	free(r);
	return 0;
}

static void push(struct rig *r, int n)
{
	web_ring_push(&r->ring, "n", json_pack("{s:i}", "n", n));
}

static void start(struct rig *r, const uint64_t *since, ns_t now)
{
	web_stream_start(&r->s, &r->ring, since, now);
	r->len = 0;
	r->got[0] = '\0';
}

/*
 * Read all events, at most @max octets at a time. Returns what the last web_stream_read() returned.
 */
static long read_all(struct rig *r, size_t max, ns_t now)
{
	long n;

	while ((n = web_stream_read(&r->s, r->got + r->len, max, now)) > 0) {
		assert_true((size_t)n <= max);
		r->len += (size_t)n;
		assert_true(r->len < sizeof(r->got) - max);
	}
	r->got[r->len] = '\0';
	return n;
}

static bool has(const struct rig *r, const char *text)
{
	return strstr(r->got, text);
}

static void test_events_come_in_order_however_small_the_reads(void **state)
{
	struct rig *r = *state;

	for (size_t max = 1; max < 100; max += 7) {
		uint64_t since = r->ring.next - 1;

		start(r, &since, 0);
		push(r, 1);
		push(r, 2);
		assert_int_equal(read_all(r, max, 0), 0);
		assert_non_null(
			strstr(strstr(r->got, "data: {\"n\":1}\n\n"), "data: {\"n\":2}\n\n"));
		assert_false(has(r, "reset"));
		assert_false(web_stream_ready(&r->s, 0));
	}
}

static void test_a_reader_goes_on_where_it_was(void **state)
{
	struct rig *r = *state;
	uint64_t since = FIRST + 1;

	for (int n = 0; n < 4; n++)
		push(r, n);
	start(r, &since, 0);
	read_all(r, 64, 0);
	assert_false(has(r, "{\"n\":1}"));
	assert_true(has(r, "id: 1002\nevent: n\ndata: {\"n\":2}\n\n"));
	assert_true(has(r, "{\"n\":3}"));
}

static void test_without_a_number_only_later_events_come(void **state)
{
	struct rig *r = *state;

	push(r, 1);
	start(r, NULL, 0);
	push(r, 2);
	read_all(r, 64, 0);
	assert_false(has(r, "{\"n\":1}"));
	assert_true(has(r, "{\"n\":2}"));
}

/*
 * A client gives the number of the last event that it has. This number may be too old, or be that
 * of another server. The client must then be told to fetch a new snapshot, because it has missed
 * events.
 */
static void test_missed_events_are_told(void **state)
{
	static const uint64_t wrong[] = { 0, FIRST - 2, FIRST + 9, UINT64_MAX };
	struct rig *r = *state;
	uint64_t since = FIRST - 1;

	push(r, 1);
	for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
		start(r, &wrong[k], 0);
		read_all(r, 64, 0);
		assert_true(has(r, "event: reset\n"));
		assert_false(has(r, "{\"n\":1}"));
	}
	start(r, &since, 0);
	read_all(r, 64, 0);
	assert_false(has(r, "reset"));
	assert_true(has(r, "{\"n\":1}"));
}

static void test_the_ring_is_bounded_by_number(void **state)
{
	struct rig *r = *state;
	size_t len;

	for (int n = 0; n < WEB_RING_EVENTS + 10; n++)
		push(r, n);
	assert_int_equal(r->ring.next - r->ring.first, WEB_RING_EVENTS);
	assert_null(web_ring_at(&r->ring, FIRST + 9, &len));
	assert_non_null(strstr(web_ring_at(&r->ring, FIRST + 10, &len), "{\"n\":10}"));
	assert_null(web_ring_at(&r->ring, r->ring.next, &len));
}

static void test_the_ring_is_bounded_by_octets(void **state)
{
	struct rig *r = *state;
	char *big = malloc(WEB_RING_OCTETS / 8);

	memset(big, 'x', WEB_RING_OCTETS / 8 - 1);
	big[WEB_RING_OCTETS / 8 - 1] = '\0';
	for (int n = 0; n < 40; n++) {
		web_ring_push(&r->ring, "big", json_pack("{s:s}", "text", big));
		assert_true(r->ring.octets <= WEB_RING_OCTETS);
	}
	assert_in_range(r->ring.next - r->ring.first, 6, 8);
	free(big);
}

/*
 * There was no memory for an event. So a client must be told to fetch a new snapshot, because it
 * has missed this event.
 */
static void test_an_event_that_could_not_be_made_is_a_gap(void **state)
{
	struct rig *r = *state;
	uint64_t since = FIRST;

	push(r, 1);
	web_ring_push(&r->ring, "n", NULL);
	push(r, 3);
	assert_int_equal(r->ring.failed, 1);
	start(r, &since, 0);
	read_all(r, 64, 0);
	assert_true(has(r, "reset"));
}

static void test_a_reader_that_takes_nothing_is_slow(void **state)
{
	struct rig *r = *state;

	start(r, NULL, 0);
	read_all(r, 64, 0);
	push(r, 1);
	assert_false(web_stream_slow(&r->s, WEB_STREAM_STUCK - 1));
	assert_true(web_stream_slow(&r->s, WEB_STREAM_STUCK));
	read_all(r, 64, WEB_STREAM_STUCK);
	assert_false(web_stream_slow(&r->s, WEB_STREAM_STUCK));
}

/*
 * A reader must read each event within WEB_STREAM_STUCK. Here no event comes for a longer time. The
 * first event after this silence must not make the reader count as slow.
 */
static void test_a_reader_after_a_silence_is_not_slow(void **state)
{
	struct rig *r = *state;
	ns_t now = WEB_STREAM_STUCK + NS_SEC(1);

	start(r, NULL, 0);
	read_all(r, 64, 0);
	assert_false(web_stream_slow(&r->s, now));
	push(r, 1);
	assert_false(web_stream_slow(&r->s, now + NS_MSEC(500)));
	assert_true(web_stream_slow(&r->s, now + WEB_STREAM_STUCK));
}

/*
 * The ring drops an event of which a reader has read only the first octets. The reader cannot get
 * the rest, so its stream must end.
 */
static void test_a_reader_that_is_overtaken_ends(void **state)
{
	struct rig *r = *state;
	uint64_t since = FIRST - 1;

	push(r, 0);
	start(r, &since, 0);
	assert_true(web_stream_read(&r->s, r->got, 20, 0) > 0);
	for (int n = 0; n < WEB_RING_EVENTS; n++)
		push(r, n);
	assert_true(web_stream_slow(&r->s, 0));
	assert_int_equal(read_all(r, 64, 0), -1);
}

static void test_silence_is_broken_by_a_comment(void **state)
{
	struct rig *r = *state;

	start(r, NULL, 0);
	read_all(r, 64, 0);
	r->len = 0;
	assert_false(web_stream_ready(&r->s, WEB_STREAM_BEAT - 1));
	assert_true(web_stream_ready(&r->s, WEB_STREAM_BEAT));
	read_all(r, 64, WEB_STREAM_BEAT);
	assert_string_equal(r->got, ":\n\n");
	assert_false(web_stream_ready(&r->s, WEB_STREAM_BEAT));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_events_come_in_order_however_small_the_reads),
		T(test_a_reader_goes_on_where_it_was),
		T(test_without_a_number_only_later_events_come),
		T(test_missed_events_are_told),
		T(test_the_ring_is_bounded_by_number),
		T(test_the_ring_is_bounded_by_octets),
		T(test_an_event_that_could_not_be_made_is_a_gap),
		T(test_a_reader_that_takes_nothing_is_slow),
		T(test_a_reader_after_a_silence_is_not_slow),
		T(test_a_reader_that_is_overtaken_ends),
		T(test_silence_is_broken_by_a_comment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
