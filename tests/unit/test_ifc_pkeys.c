/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/pkeys.h"

#include <errno.h>
#include <string.h>

#include "check.h"

/*
 * Tests ifc_pkeys with a port whose P_Key table the test writes. The test logs the calls of .came,
 * for a P_Key that is new in the table, and of .gone, for one that is no longer there.
 */

#define TABLE 100
#define LOG 2000

static uint16_t table[TABLE];
static uint16_t log_pkey[LOG];
static bool log_came[LOG];
static unsigned int nlog;
static uint16_t refused; /* the P_Key for which came() fails */

static int port_query(struct ca *ca, struct ca_port_attr *ret)
{
	*ret = (struct ca_port_attr){ .pkey_tbl_len = TABLE };
	return 0;
}

static int pkey_query(struct ca *ca, uint16_t index, uint16_t *ret)
{
	if (index >= TABLE)
		return -EINVAL;
	*ret = table[index];
	return 0;
}

static const struct ca_ops ca_ops = { .port_query = port_query, .pkey_query = pkey_query };

static void told(bool came, uint16_t pkey)
{
	assert_true(nlog < LOG);
	log_came[nlog] = came;
	log_pkey[nlog++] = pkey;
}

static int on_came(void *ctx, uint16_t pkey, ns_t now)
{
	told(true, pkey);
	return pkey == refused ? -ENOMEM : 0;
}

static void on_gone(void *ctx, uint16_t pkey, ns_t now)
{
	told(false, pkey);
}

static const struct ifc_pkeys_ops ops = { .came = on_came, .gone = on_gone };
static struct ca ca = { .ops = &ca_ops };
static struct timers timers;
static struct ifc_set set;
static struct ifc_port port;

static void start(struct ifc_pkeys *k, const uint16_t *only, unsigned int nonly)
{
	timers_fini(&timers);
	timers_init(&timers);
	set.timers = &timers;
	refused = 0;
	ifc_port_init(&port, &set);
	port.ca = &ca;
	memset(table, 0, sizeof(table));
	nlog = 0;
	*k = (struct ifc_pkeys){ .ops = &ops, .only = only, .nonly = nonly };
	assert_int_equal(ifc_pkeys_start(k, &port), 0);
	assert_true(port.dirty && set.ports_dirty);
}

static void update_at(struct ifc_pkeys *k, ns_t now)
{
	timers_run(&timers, now);
	port.dirty = set.ports_dirty = false;
	ifc_pkeys_update(k, &ca, now);
}

static void update(struct ifc_pkeys *k)
{
	nlog = 0;
	update_at(k, 0);
}

/*
 * Let time pass until @until, and call ifc_pkeys_update() whenever a timer fires. The table does
 * not change.
 */
static void pass(struct ifc_pkeys *k, ns_t until)
{
	ns_t next;

	while ((next = timers_next(&timers)) <= until) {
		timers_run(&timers, next);
		assert_true(port.dirty && set.ports_dirty);
		update_at(k, next);
	}
	timers_run(&timers, until);
}

static unsigned int times_told(uint16_t pkey)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nlog; i++)
		n += log_came[i] && log_pkey[i] == pkey;
	return n;
}

static void test_H30_pkeys_that_come_and_go_are_told_once(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	update(&k);
	assert_int_equal(nlog, 0);
	table[0] = 0xffff;
	table[3] = 0x0014;
	update(&k);
	assert_int_equal(nlog, 2);
	assert_true(log_came[0] && log_came[1]);
	assert_int_equal(log_pkey[0], 0x8014);
	assert_int_equal(log_pkey[1], 0xffff);
	/*
	 * A P_Key has moved in the table, and then gets another membership bit. The P_Key still
	 * belongs to the same link, so nothing may be reported.
	 */
	table[3] = 0;
	table[5] = 0x8014;
	update(&k);
	assert_int_equal(nlog, 0);
	table[6] = 0x0014;
	update(&k);
	assert_int_equal(nlog, 0);
	/*
	 * One P_Key leaves the table and another P_Key is new. The P_Key that leaves must be
	 * reported first.
	 */
	table[5] = 0x8001;
	table[6] = 0;
	update(&k);
	assert_int_equal(nlog, 2);
	assert_false(log_came[0]);
	assert_int_equal(log_pkey[0], 0x8014);
	assert_true(log_came[1]);
	assert_int_equal(log_pkey[1], 0x8001);
	ifc_pkeys_stop(&k);
	assert_true(list_empty(&port.pkeys));
	ifc_pkeys_stop(&k);
}

static void test_H30_invalid_pkeys_are_none(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	table[0] = 0x8000;
	table[1] = 0x0000;
	update(&k);
	assert_int_equal(nlog, 0);
	ifc_pkeys_stop(&k);
}

static void fill(unsigned int n)
{
	memset(table, 0, sizeof(table));
	for (unsigned int i = 0; i < n; i++)
		table[i] = (uint16_t)(0x8000 + n - i);
}

static void test_H30_a_table_is_told_in_order(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	fill(20);
	update(&k);
	assert_int_equal(nlog, 20);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(log_pkey[i], 0x8001 + i);
	assert_int_equal(timers_next(&timers), NS_NEVER);
	memset(table, 0, sizeof(table));
	update(&k);
	assert_int_equal(nlog, 20);
	ifc_pkeys_stop(&k);
}

static void test_H30_a_full_table_is_told_within_seconds(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	fill(TABLE);
	update(&k);
	assert_int_equal(nlog, 64);
	pass(&k, NS_SEC(10));
	assert_int_equal(nlog, TABLE);
	for (unsigned int i = 0; i < TABLE; i++)
		assert_int_equal(log_pkey[i], 0x8001 + i);
	assert_int_equal(timers_next(&timers), NS_NEVER);
	memset(table, 0, sizeof(table));
	update(&k);
	/*
	 * The rate of reports is limited only for P_Keys that appear. P_Keys that disappear are
	 * reported at once.
	 */
	assert_int_equal(nlog, TABLE);
	ifc_pkeys_stop(&k);
}

/*
 * An SM, or an attacker in its place, writes the table a thousand times a second. The number of
 * reports must stay bounded.
 */
static void test_H30_a_table_that_flaps_makes_bounded_work(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	nlog = 0;
	for (ns_t ms = 0; ms < 10000; ms++) {
		fill(ms % 2 ? 40 : 0);
		/*
		 * P_Key 0x9000 is in the table all the time. It must be reported once, although
		 * other P_Keys change.
		 */
		table[TABLE - 1] = 0x9000;
		update_at(&k, NS_MSEC(ms));
	}
	assert_int_equal(times_told(0x9000), 1);
	assert_true(nlog <= 2 * (64 + 100) + 2);
	assert_true(nlog >= 2 * (64 + 90));
	fill(40);
	pass(&k, NS_SEC(30));
	for (uint16_t i = 0; i < 40; i++)
		assert_true(times_told(0x8001 + i) >= 1);
	assert_int_equal(k.n, 40);
	ifc_pkeys_stop(&k);
	assert_int_equal(timers_next(&timers), NS_NEVER);
}

static void test_H30_a_pkey_that_flaps_keeps_no_other_waiting(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	nlog = 0;
	for (ns_t ms = 0; ms < 3000; ms++) {
		fill(ms % 2);
		update_at(&k, NS_MSEC(ms));
	}
	fill(3);
	update_at(&k, NS_SEC(3));
	for (ns_t ms = 3000; ms < 3500; ms++) {
		fill(3);
		if (ms % 2)
			table[2] = 0; /* remove the lowest P_Key, 0x8001 */
		update_at(&k, NS_MSEC(ms));
	}
	assert_int_equal(times_told(0x8002), 1);
	assert_int_equal(times_told(0x8003), 1);
	ifc_pkeys_stop(&k);
}

static void test_H30_a_pkey_without_success_is_told_again(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	fill(3);
	refused = 0x8002;
	update(&k);
	assert_int_equal(nlog, 3);
	assert_int_equal(k.n, 2);
	/*
	 * The call of came() for 0x8002 failed. Updates and other P_Keys must neither make the next
	 * call come earlier, nor delay it.
	 */
	for (ns_t ms = 1; ms < 500; ms++)
		update_at(&k, NS_MSEC(ms));
	fill(4);
	update_at(&k, NS_MSEC(500));
	assert_int_equal(times_told(0x8004), 1);
	assert_int_equal(times_told(0x8002), 1);
	pass(&k, NS_SEC(1));
	assert_int_equal(times_told(0x8002), 2);
	pass(&k, NS_SEC(600));
	/*
	 * While came() fails, it is called again after 1, 2, 4, ... 64 s, and then every 64 s.
	 */
	assert_int_equal(times_told(0x8002), 1 + 7 + (600 - 127) / 64);
	refused = 0;
	pass(&k, NS_SEC(700));
	assert_int_equal(k.n, 4);
	assert_int_equal(timers_next(&timers), NS_NEVER);
	/* came() for 0x8005 never succeeded, so gone() must not be called for it. */
	refused = 0x8005;
	fill(5);
	update_at(&k, NS_SEC(701));
	assert_int_equal(k.n, 4);
	nlog = 0;
	fill(4);
	update_at(&k, NS_SEC(702));
	assert_int_equal(nlog, 0);
	assert_int_equal(timers_next(&timers), NS_NEVER);
	ifc_pkeys_stop(&k);
}

static void test_H31_pkeys_are_compared_with_a_list(void **state)
{
	static const uint16_t only[] = { 0x0014, 0x8015 };
	struct ifc_pkeys k;

	(void)state;
	start(&k, only, 2);
	table[0] = 0xffff;
	table[1] = 0x8014;
	table[2] = 0x0015;
	table[3] = 0x8016;
	update(&k);
	assert_int_equal(nlog, 2);
	assert_int_equal(log_pkey[0], 0x8014);
	assert_int_equal(log_pkey[1], 0x8015);
	ifc_pkeys_stop(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H30_pkeys_that_come_and_go_are_told_once),
		cmocka_unit_test(test_H30_invalid_pkeys_are_none),
		cmocka_unit_test(test_H30_a_table_is_told_in_order),
		cmocka_unit_test(test_H30_a_full_table_is_told_within_seconds),
		cmocka_unit_test(test_H30_a_table_that_flaps_makes_bounded_work),
		cmocka_unit_test(test_H30_a_pkey_that_flaps_keeps_no_other_waiting),
		cmocka_unit_test(test_H30_a_pkey_without_success_is_told_again),
		cmocka_unit_test(test_H31_pkeys_are_compared_with_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
