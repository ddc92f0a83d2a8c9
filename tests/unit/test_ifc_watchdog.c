/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/watchdog.h"

#include <stdio.h>

#include "check.h"

/* Tests the transmit watchdog. The test sets the length of the send queue, and time is virtual. */

static struct ca_send_queue queue;
static unsigned int flushes;
static char last_line[256];

static struct ca_send_queue fake_queue(struct ca *ca)
{
	return queue;
}

static unsigned int fake_flush(struct ca *ca, ns_t now)
{
	unsigned int n = queue.waiting;

	queue.waiting = 0;
	flushes++;
	return n;
}

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	assert_int_equal(lvl, LOG_LVL_WARN);
	vsnprintf(last_line, sizeof(last_line), fmt, ap);
}

static const struct ca_ops ops = { .send_queue = fake_queue, .send_flush = fake_flush };
static struct ca ca = { .ops = &ops };
static const struct log_sink sink = { .emit = emit, .max = LOG_LVL_WARN };
static struct timers timers;
static struct ifc_set set;
static struct ifc_port port;
static struct ifc iface;
static ns_t now;

static int setup(void **state)
{
	static const struct ifc_cfg cfg = {
		.name = "uib0",
		.link_name = "uib0@h1",
		.pkey = 0xffff,
		.log = &sink,
		.sq_depth = 8,
		.tx_timeout = NS_MSEC(100),
	};

	timers_init(&timers);
	queue = (struct ca_send_queue){ 0 };
	flushes = 0;
	last_line[0] = '\0';
	now = NS_SEC(1);
	ifc_set_init(&set, &timers, NULL, NULL);
	ifc_port_init(&port, &set);
	port.ca = &ca;
	ifc_init(&iface, &port, &cfg, NULL, NULL);
	return 0;
}

static int teardown(void **state)
{
	timer_cancel(&timers, &iface.watchdog.timer);
	ifc_set_fini(&set);
	timers_fini(&timers);
	return 0;
}

static void pass(ns_t dt)
{
	for (ns_t end = now + dt; now < end; now += NS_MSEC(1))
		timers_run(&timers, now);
	timers_run(&timers, now);
}

static void test_H15_packets_that_do_not_leave_in_time_are_a_timeout(void **state)
{
	queue.waiting = 3;
	ifc_watchdog_posted(&iface, now);
	pass(NS_MSEC(99));
	assert_int_equal(iface.watchdog.timeouts, 0);
	pass(NS_MSEC(2));
	assert_int_equal(iface.watchdog.timeouts, 1);
	assert_int_equal(iface.watchdog.discarded, 3);
	assert_int_equal(flushes, 1);
	assert_string_equal(last_line,
			    "uib0@h1: transmit timeout: no packet left the port for 100 ms; 3 "
			    "that waited were discarded");
	/* The time-out has emptied the send queue, so no further time-out may follow. */
	pass(NS_SEC(1));
	assert_int_equal(iface.watchdog.timeouts, 1);
	assert_true(timers_next(&timers) == NS_NEVER);
	/*
	 * A packet that is posted later must have the whole time-out again. The log must not get a
	 * second line until a packet has been sent.
	 */
	last_line[0] = '\0';
	queue.waiting = 1;
	ifc_watchdog_posted(&iface, now);
	pass(NS_MSEC(99));
	assert_int_equal(iface.watchdog.timeouts, 1);
	pass(NS_MSEC(2));
	assert_int_equal(iface.watchdog.timeouts, 2);
	assert_string_equal(last_line, "");
	queue = (struct ca_send_queue){ .waiting = 1, .sent = 1 };
	ifc_watchdog_posted(&iface, now);
	pass(NS_MSEC(101));
	assert_int_equal(iface.watchdog.timeouts, 3);
	assert_string_not_equal(last_line, "");
}

static void test_H15_a_slow_queue_is_no_timeout(void **state)
{
	queue.waiting = 7;
	for (unsigned int n = 0; n < 50; n++) {
		ifc_watchdog_posted(&iface, now);
		queue.sent++;
		pass(NS_MSEC(90));
	}
	assert_int_equal(iface.watchdog.timeouts, 0);
	/*
	 * Packets are posted all the time, but none is sent. The time-out must come all the same.
	 */
	for (unsigned int n = 0; n < 30; n++) {
		ifc_watchdog_posted(&iface, now);
		pass(NS_MSEC(10));
		if (iface.watchdog.timeouts)
			break;
	}
	assert_int_equal(iface.watchdog.timeouts, 1);
}

static void test_H34_sq_depth_stops_a_tap_whose_port_is_stalled(void **state)
{
	queue = (struct ca_send_queue){ .waiting = 7, .stalled = true };
	assert_false(ifc_watchdog_block(&iface, now));
	queue.waiting = 8;
	assert_true(ifc_watchdog_block(&iface, now));
	pass(NS_MSEC(50));
	assert_true(list_empty(&iface.tx_link));
	/* The port sends packets again. */
	queue = (struct ca_send_queue){ .waiting = 0, .sent = 8 };
	pass(IFC_STALL_POLL);
	assert_false(list_empty(&iface.tx_link));
	assert_int_equal(iface.watchdog.timeouts, 0);
	assert_false(ifc_watchdog_block(&iface, now));
	list_del(&iface.tx_link);
	list_init(&iface.tx_link);
}

static void test_H15_a_timeout_lets_the_tap_go_on(void **state)
{
	queue = (struct ca_send_queue){ .waiting = 8, .stalled = true };
	assert_true(ifc_watchdog_block(&iface, now));
	pass(NS_MSEC(101));
	assert_int_equal(iface.watchdog.timeouts, 1);
	assert_int_equal(iface.watchdog.discarded, 8);
	assert_false(list_empty(&iface.tx_link));
	list_del(&iface.tx_link);
	list_init(&iface.tx_link);
}

static void test_a_full_queue_that_moves_is_not_stalled(void **state)
{
	queue.waiting = 8;
	assert_false(ifc_watchdog_block(&iface, now));
	assert_true(timers_next(&timers) == NS_NEVER);
}

/*
 * The CA reports that a stall of its send queue has ended. The TAP must be read again without a
 * poll of the CA.
 */
static void test_a_report_of_room_lets_the_tap_go_on(void **state)
{
	queue = (struct ca_send_queue){ .waiting = 8, .stalled = true };
	assert_true(ifc_watchdog_block(&iface, now));
	ifc_watchdog_room(&iface);
	assert_true(list_empty(&iface.tx_link)); /* the send queue is still full */
	queue = (struct ca_send_queue){ .waiting = 4, .sent = 4 };
	ifc_watchdog_room(&iface);
	assert_false(list_empty(&iface.tx_link));
	list_del(&iface.tx_link);
	list_init(&iface.tx_link);
	ifc_watchdog_room(&iface);
	assert_true(list_empty(&iface.tx_link)); /* no TAP waited */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_H15_packets_that_do_not_leave_in_time_are_a_timeout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_H15_a_slow_queue_is_no_timeout, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_H34_sq_depth_stops_a_tap_whose_port_is_stalled,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_H15_a_timeout_lets_the_tap_go_on, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_full_queue_that_moves_is_not_stalled, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_report_of_room_lets_the_tap_go_on, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
