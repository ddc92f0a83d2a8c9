/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_rig.h"

#include <string.h>

#include "inst/fab_sm.h"

/* Tests of the commands about counters, events and traces. */

static void test_stats_are_those_that_moved_unless_all_are_wanted(void **state)
{
	struct ctl_rig *r = *state;
	json_t *some = cmd_rig_rows(r, "stats show", NULL);
	json_t *all = cmd_rig_rows(r, "stats show", json_pack("{s:b}", "details", 1));
	size_t i;
	json_t *row;

	json_array_foreach(some, i, row)
	{
		assert_true(cmd_row_num(row, "value") > 0);
		assert_string_equal(
			cmd_row_str(cmd_row_with(all, "counter", cmd_row_str(row, "counter")),
				    "counter"),
			cmd_row_str(row, "counter"));
	}
	assert_true(json_array_size(all) > json_array_size(some));
	assert_true(cmd_rows_count(some, "layer", "sm") > 0);
	/*
	 * with "details", each node has a row for every reason for which this node can drop packets
	 */
	assert_int_equal(cmd_rows_count(all, "counter", "drop_hop_limit"), 6);
	assert_int_equal(cmd_rows_count(all, "counter", "drop_hca_qkey"), 4);
	json_decref(some);
	json_decref(all);
}

static void test_monitor_tells_sweeps_traps_and_ports(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows = json_array(), *trap;

	cmd_rig_request(r, "monitor", NULL);
	assert_null(cmd_rig_collect(r, rows));
	assert_int_equal(json_array_size(rows), 0);
	fabric_link_set(fabric_node_port(fabric_node_find(r->in.fab[0]->fabric, "Hca4"), 1), false,
			r->now);
	cmd_rig_run_for(r, NS_SEC(1));
	assert_null(cmd_rig_collect(r, rows));
	trap = cmd_row_with(rows, "event", "trap");
	assert_true(cmd_row_num(trap, "trap") == 128);
	assert_string_equal(cmd_row_str(trap, "issuer"), "Switch2/0");
	assert_string_equal(cmd_row_str(trap, "peer"), "Hca4/1");
	assert_memory_equal(cmd_row_str(trap, "port"), "Switch2/", strlen("Switch2/"));
	assert_string_equal(cmd_row_str(trap, "link"), "down");
	assert_int_equal(cmd_rows_count(rows, "event", "trap"), 1);
	assert_true(cmd_row_num(cmd_row_with(rows, "event", "sweep"), "links") == 5);
	assert_string_equal(cmd_row_str(cmd_row_with(rows, "event", "end_port"), "what"),
			    "out of service");
	json_decref(rows);
}

/*
 * Hca4 receives a packet of Hca1 with a wrong Q_Key: the trap must reach the SM over the fabric,
 * and the monitor must name both ends of the packet.
 */
static void test_monitor_names_both_ends_of_a_packet_with_a_wrong_key(void **state)
{
	struct ctl_rig *r = *state;
	struct node *to = fabric_node_node(fabric_node_find(r->in.fab[0]->fabric, "Hca4"));
	const struct node *from = fabric_node_node(fabric_node_find(r->in.fab[0]->fabric, "Hca1"));
	struct notice_violation v = { .slid = from->port[1].pi.lid,
				      .dlid = to->port[1].pi.lid,
				      .key = 0xb1b };
	json_t *rows = json_array(), *trap;

	cmd_rig_request(r, "monitor", NULL);
	node_qkey_violation(to, 1, &v, r->now);
	cmd_rig_run_for(r, NS_SEC(1));
	assert_null(cmd_rig_collect(r, rows));
	trap = cmd_row_with(rows, "event", "trap");
	assert_int_equal(cmd_row_num(trap, "trap"), 258);
	assert_string_equal(cmd_row_str(trap, "issuer"), "Hca4/1");
	assert_string_equal(cmd_row_str(trap, "from"), "Hca1/1");
	assert_string_equal(cmd_row_str(trap, "to"), "Hca4/1");
	assert_string_equal(cmd_row_str(trap, "qkey"), "0x00000b1b");
	json_decref(rows);
}

static void test_monitor_tells_drops_once(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows = json_array();

	cmd_rig_request(r, "monitor", NULL);
	fabric_node_node(fabric_node_find(r->in.fab[0]->fabric, "Hca4"))->dropped += 3;
	cmd_rig_run_for(r, NS_MSEC(1500));
	assert_null(cmd_rig_collect(r, rows));
	assert_int_equal(cmd_rows_count(rows, "event", "drop"), 1);
	assert_int_equal(cmd_row_num(cmd_row_with(rows, "counter", "mads_dropped"), "count"), 3);
	assert_string_equal(cmd_row_str(cmd_row_with(rows, "event", "drop"), "object"), "Hca4");
	json_array_clear(rows);
	cmd_rig_run_for(r, NS_SEC(3));
	assert_null(cmd_rig_collect(r, rows));
	assert_int_equal(cmd_rows_count(rows, "event", "drop"), 0);
	json_decref(rows);
}

/* The counters are read once a second for all clients, so the second client hears of the drops of the same second. */
static void test_monitor_tells_all_clients_of_drops(void **state)
{
	struct ctl_rig *r = *state;
	struct node *n = fabric_node_node(fabric_node_find(r->in.fab[0]->fabric, "Hca4"));
	int first = r->peer, second = ctl_rig_client(r);
	json_t *rows = json_array();

	cmd_rig_request(r, "monitor", NULL);
	cmd_rig_run_for(r, NS_MSEC(500));
	r->peer = second;
	cmd_rig_request(r, "monitor", NULL);
	n->dropped += 3;
	cmd_rig_run_for(r, NS_MSEC(1000));
	assert_null(cmd_rig_collect(r, rows));
	assert_int_equal(cmd_rows_count(rows, "event", "drop"), 1);
	r->peer = first;
	assert_null(cmd_rig_collect(r, rows));
	assert_int_equal(cmd_rows_count(rows, "event", "drop"), 2);
	/* The first client leaves, and the second one goes on. */
	close(first);
	r->peer = second;
	json_array_clear(rows);
	n->dropped += 5;
	cmd_rig_run_for(r, NS_SEC(2));
	assert_null(cmd_rig_collect(r, rows));
	assert_int_equal(cmd_row_num(cmd_row_with(rows, "event", "drop"), "count"), 5);
	/* Drops while nobody listens are not told to a later client. */
	close(second);
	cmd_rig_run_for(r, NS_SEC(1));
	n->dropped += 7;
	r->peer = ctl_rig_client(r);
	json_array_clear(rows);
	cmd_rig_request(r, "monitor", NULL);
	cmd_rig_run_for(r, NS_SEC(3));
	assert_null(cmd_rig_collect(r, rows));
	assert_int_equal(cmd_rows_count(rows, "event", "drop"), 0);
	json_decref(rows);
}

/*
 * A client monitors the instance. When a subnet manager is started or stopped, the monitor must
 * report this event and the counters of the manager.
 */
static void test_monitor_tells_of_managers_that_come_and_go(void **state)
{
	struct ctl_rig *r = *state;
	struct inst_fabric *f = r->in.fab[0];
	struct fabric_port *at = fabric_node_port(fabric_node_find(f->fabric, "Switch2"), 0);
	char err[INST_ERR_MAX];
	json_t *rows = json_array();

	cmd_rig_request(r, "monitor", NULL);
	assert_int_equal(fab_sm_restart(fab_sm(f), r->now, err), 0);
	assert_int_equal(fab_sm_start(f, at, 3, r->now, err), 0);
	cmd_rig_run_for(r, NS_SEC(3));
	assert_null(cmd_rig_collect(r, rows));
	assert_string_equal(cmd_row_str(cmd_row_with(rows, "port", "Switch1/0"), "event"), "sm");
	assert_true(cmd_rows_count(rows, "port", "Switch2/0") >= 2);
	assert_int_equal(cmd_rows_count(rows, "event", "drop"), 0);

	json_array_clear(rows);
	fab_sm_stop(fab_sm_at(f, at), r->now);
	cmd_rig_run_for(r, NS_SEC(5));
	assert_null(cmd_rig_collect(r, rows));
	assert_string_equal(cmd_row_str(cmd_row_with(rows, "state", "master"), "port"),
			    "Switch1/0");
	assert_int_equal(cmd_rows_count(rows, "port", "Switch2/0"), 0);
	json_decref(rows);
}

static void test_trace_needs_an_interface(void **state)
{
	cmd_rig_refused(*state, "trace", json_pack("{s:s, s:s}", "from", "h1", "to", "h2"),
			"no such host or interface");
	cmd_rig_refused(*state, "trace", json_pack("{s:s}", "from", "h1"), "expected from, to");
	cmd_rig_refused(*state, "trace",
			json_pack("{s:s, s:s, s:s}", "from", "h1", "to", "h2", "what", "icmp"),
			"what 'icmp': unknown");
	cmd_rig_refused(*state, "trace",
			json_pack("{s:s, s:s, s:s}", "from", "h1", "to", "h2", "what", "tcp"),
			"tcp: expected a port, 1 to 65535");
	cmd_rig_refused(*state, "trace",
			json_pack("{s:s, s:s, s:s, s:i}", "from", "h1", "to", "h2", "what", "udp",
				  "port", 65536),
			"port");
	cmd_rig_refused(*state, "path get", json_pack("{s:s}", "address", "fe80::1"),
			"there is no interface");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, cmd_rig_setup, ctl_rig_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_stats_are_those_that_moved_unless_all_are_wanted),
		CASE(test_monitor_tells_sweeps_traps_and_ports),
		CASE(test_monitor_names_both_ends_of_a_packet_with_a_wrong_key),
		CASE(test_monitor_tells_drops_once),
		CASE(test_monitor_tells_all_clients_of_drops),
		CASE(test_monitor_tells_of_managers_that_come_and_go),
		CASE(test_trace_needs_an_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
