/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_rig.h"

#include <stdio.h>
#include <string.h>

/* Tests of the commands about a fabric, its links and its faults. */

static void test_fabric_show_counts_what_the_topology_has(void **state)
{
	json_t *rows = cmd_rig_rows(*state, "fabric show", NULL), *row = json_array_get(rows, 0),
	       *sm;

	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(cmd_row_str(row, "fabric"), "lab");
	assert_int_equal(cmd_row_num(row, "switches"), 2);
	assert_int_equal(cmd_row_num(row, "cas"), 4);
	assert_int_equal(cmd_row_num(row, "links"),
			 6); /* four CAs and two cables between the switches */
	assert_int_equal(cmd_row_num(row, "links_up"), 6);
	sm = json_object_get(row, "sm");
	assert_string_equal(cmd_row_str(sm, "state"), "master");
	assert_string_equal(cmd_row_str(sm, "port"), "Switch1/0");
	assert_int_equal(cmd_row_num(json_object_get(sm, "last_sweep"), "end_ports"), 6);
	json_decref(rows);
}

static void test_fabric_nodes_and_ports(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows = cmd_rig_rows(r, "fabric node show", NULL), *row, *peer;

	assert_int_equal(json_array_size(rows), 6);
	assert_string_equal(cmd_row_str(cmd_row_with(rows, "node", "Switch2"), "type"), "switch");
	assert_string_equal(cmd_row_str(cmd_row_with(rows, "node", "Hca4"), "type"), "ca");
	json_decref(rows);

	rows = cmd_rig_rows(r, "fabric port show", json_pack("{s:s}", "port", "Hca1/1"));
	assert_int_equal(json_array_size(rows), 1);
	row = json_array_get(rows, 0);
	assert_string_equal(cmd_row_str(row, "link"), "up");
	assert_string_equal(cmd_row_str(row, "state"), "Active");
	assert_true(cmd_row_num(row, "lid") > 0);
	assert_true(cmd_row_num(json_object_get(row, "counters"), "rcv_pkts") > 0);
	/* The port to which Hca1/1 is connected must name Hca1/1 as its peer. */
	peer = cmd_rig_rows(r, "fabric port show",
			    json_pack("{s:s}", "port", cmd_row_str(row, "peer")));
	assert_string_equal(cmd_row_str(json_array_get(peer, 0), "peer"), "Hca1/1");
	json_decref(peer);
	json_decref(rows);

	rows = cmd_rig_rows(r, "fabric port show", json_pack("{s:s}", "node", "Switch1"));
	assert_true(json_array_size(rows) > 4);
	assert_string_equal(cmd_row_str(json_array_get(rows, 0), "port"), "Switch1/0");
	json_decref(rows);
	cmd_rig_refused(r, "fabric port show", json_pack("{s:s}", "port", "Hca1/2"),
			"no such port");
	cmd_rig_refused(r, "fabric port show", json_pack("{s:s}", "port", "Hca9/1"),
			"no such node");
	cmd_rig_refused(r, "fabric port show", json_pack("{s:s}", "node", "Hca9"), "no such node");
	cmd_rig_refused(r, "fabric port show",
			json_pack("{s:s, s:s}", "node", "Hca1", "fabric", "x"), "no such fabric");
}

/*
 * The LFT of Switch1 must have an entry for every LID of the subnet. The entry of a CA at Switch1
 * must be the port of this CA.
 */
static void test_fabric_lft_leads_to_every_lid(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows = cmd_rig_rows(r, "fabric lft show", json_pack("{s:s}", "node", "Switch1"));
	json_t *ports = cmd_rig_rows(r, "fabric port show", json_pack("{s:s}", "node", "Switch1"));
	json_t *row = cmd_row_with(rows, "destination", "Hca1/1");
	char port[32];

	assert_int_equal(json_array_size(rows), 6);
	snprintf(port, sizeof(port), "Switch1/%lld", cmd_row_num(row, "port"));
	assert_string_equal(cmd_row_str(cmd_row_with(ports, "port", port), "peer"), "Hca1/1");
	assert_int_equal(cmd_row_num(cmd_row_with(rows, "destination", "Switch1/0"), "port"), 0);
	json_decref(rows);
	json_decref(ports);
	cmd_rig_refused(r, "fabric lft show", json_pack("{s:s}", "node", "Hca1"),
			"expected a switch");
	cmd_rig_refused(r, "fabric lft show", NULL, "node");
	cmd_rig_refused(r, "fabric mft show", json_pack("{s:s}", "node", "Hca1"),
			"expected a switch");
}

/*
 * `fabric map` lists the cables by name, and `fabric load` lists three numbers for each cable. A
 * program combines the two answers, so both must list the cables in the same order.
 */
static void test_fabric_map_and_load_agree(void **state)
{
	struct ctl_rig *r = *state;
	json_t *map = cmd_rig_rows(r, "fabric map", NULL),
	       *load = cmd_rig_rows(r, "fabric load", NULL);
	json_t *part =
		cmd_rig_rows(r, "fabric map", json_pack("{s:i, s:i}", "from", 1, "count", 2));
	json_t *row = cmd_row_with(map, "node", "Hca1"), *cable;
	size_t i;

	assert_int_equal(json_array_size(map), 6);
	assert_int_equal(json_array_size(load), 6);
	json_array_foreach(map, i, cable)
	{
		assert_int_equal(3 * json_array_size(json_object_get(cable, "cables")),
				 json_array_size(json_object_get(json_array_get(load, i), "v")));
	}
	assert_int_equal(json_array_size(part), 2);
	assert_true(json_equal(json_array_get(part, 0), json_array_get(map, 1)));
	assert_string_equal(cmd_row_str(row, "type"), "ca");
	cable = json_array_get(json_object_get(row, "cables"), 0);
	assert_int_equal(json_integer_value(json_array_get(cable, 0)), 1);
	assert_int_equal(strncmp(json_string_value(json_array_get(cable, 2)), "Switch", 6), 0);
	assert_true(json_is_false(json_array_get(cable, 3)));
	json_decref(map);
	json_decref(load);
	json_decref(part);
	cmd_rig_refused(r, "fabric map", json_pack("{s:i}", "count", 0), "count");
	cmd_rig_refused(r, "fabric load", json_pack("{s:s}", "fabric", "x"), "no such fabric");
}

/* Checks that the switch at @hop, "NODE/PORT", sends packets for Hca4/1 to PORT, as its LFT says */
static void assert_hop_is_in_the_lft(struct ctl_rig *r, const char *hop)
{
	char node[64], port[96];
	json_t *rows;

	snprintf(node, sizeof(node), "%s", hop);
	*strrchr(node, '/') = '\0';
	rows = cmd_rig_rows(r, "fabric lft show", json_pack("{s:s}", "node", node));
	snprintf(port, sizeof(port), "%s/%lld", node,
		 cmd_row_num(cmd_row_with(rows, "destination", "Hca4/1"), "port"));
	assert_string_equal(hop, port);
	json_decref(rows);
}

/*
 * The first hop must be the source's own port. Each further hop must be a port of the node to which
 * the previous hop leads, and this port must be the LFT entry of the destination. The last hop must
 * lead to the destination.
 */
static void test_fabric_route_follows_the_tables(void **state)
{
	struct ctl_rig *r = *state;
	json_t *hops = cmd_rig_rows(r, "fabric route",
				    json_pack("{s:s, s:s}", "from", "Hca1/1", "to", "Hca4/1"));
	size_t n = json_array_size(hops), i;
	json_t *hop;

	assert_int_equal(n, 3); /* Hca1 and Hca4 are at different switches */
	assert_string_equal(cmd_row_str(json_array_get(hops, 0), "port"), "Hca1/1");
	assert_string_equal(cmd_row_str(json_array_get(hops, n - 1), "peer"), "Hca4/1");
	json_array_foreach(hops, i, hop)
	{
		const char *port = cmd_row_str(hop, "port"), *peer;
		size_t node = (size_t)(strrchr(port, '/') - port) + 1;

		if (!i)
			continue;
		peer = cmd_row_str(json_array_get(hops, i - 1), "peer");
		assert_int_equal(strncmp(peer, port, node), 0); /* "NODE/" is the same */
		assert_hop_is_in_the_lft(r, port);
	}
	json_decref(hops);
	cmd_rig_refused(r, "fabric route", json_pack("{s:s}", "from", "Hca1/1"), "to");
	cmd_rig_refused(r, "fabric route",
			json_pack("{s:s, s:s}", "from", "Hca1/1", "to", "Switch1/1"), "no LID");
}

/*
 * `fabric mft show` must have a row for each switch that forwards packets with the requested MLID.
 * The row lists the ports to which the switch forwards them. No group has MLID 0xc123, so at first
 * there must be no row. Then the test sets an MFT entry of Switch2.
 */
static void test_fabric_mft_of_an_mlid(void **state)
{
	struct ctl_rig *r = *state;
	struct fabric_node *n = fabric_node_find(r->in.fab[0]->fabric, "Switch2");
	json_t *rows = cmd_rig_rows(r, "fabric mft show", json_pack("{s:i}", "mlid", 0xc123));

	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	node_mft_own(fabric_node_node(n)->sw)[0x123][0] = 6;
	rows = cmd_rig_rows(r, "fabric mft show", json_pack("{s:i}", "mlid", 0xc123));
	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(cmd_row_str(json_array_get(rows, 0), "node"), "Switch2");
	assert_int_equal(json_array_size(json_object_get(json_array_get(rows, 0), "ports")), 2);
	json_decref(rows);
	node_mft_own(fabric_node_node(n)->sw)[0x123][0] = 0;
	cmd_rig_refused(r, "fabric mft show", json_pack("{s:i}", "mlid", 5), "mlid");
}

static long long lft_port(struct ctl_rig *r, long long lid)
{
	json_t *rows = cmd_rig_rows(r, "fabric lft show", json_pack("{s:s}", "node", "Switch1"));
	long long port = -1;
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (cmd_row_num(row, "lid") == lid)
			port = cmd_row_num(row, "port");
	}
	json_decref(rows);
	return port;
}

static void lft_set_refused(struct ctl_rig *r, int lid, int port, const char *why)
{
	cmd_rig_refused(r, "fabric lft set",
			json_pack("{s:s, s:i, s:i}", "node", "Switch1", "lid", lid, "port", port),
			why);
}

/*
 * Set an LFT entry without the SM. The SM's audit must find the change within a minute, and restore
 * the entry.
 */
static void test_fabric_lft_entry_is_set(void **state)
{
	struct ctl_rig *r = *state;
	long long was = lft_port(r, 1);

	cmd_rig_ok(r, "fabric lft set",
		   json_pack("{s:s, s:i, s:i}", "node", "Switch1", "lid", 1, "port", 255));
	assert_int_equal(lft_port(r, 1), -1);
	cmd_rig_ok(r, "fabric lft set",
		   json_pack("{s:s, s:i, s:i}", "node", "Switch1", "lid", 1, "port",
			     was != 1 ? 1 : 2));
	assert_int_equal(lft_port(r, 1), was != 1 ? 1 : 2);
	cmd_rig_run_for(r, NS_SEC(70));
	assert_int_equal(lft_port(r, 1), was);
	lft_set_refused(r, 1, 254, "port: expected a number from 0 to ");
	lft_set_refused(r, 1, 256, "port: expected a number from 0 to 255");
	lft_set_refused(r, 0, 1, "lid: expected a number from 1 to ");
	lft_set_refused(r, 0xbfff, 1, "lid: expected a number from 1 to ");
	cmd_rig_refused(r, "fabric lft set", json_pack("{s:s, s:i}", "node", "Switch1", "lid", 1),
			"expected a LID and a port");
	cmd_rig_refused(r, "fabric lft set",
			json_pack("{s:s, s:i, s:i}", "node", "Hca1", "lid", 1, "port", 1),
			"expected a switch");
}

static void test_fabric_group_is_the_broadcast_group(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows = cmd_rig_rows(r, "fabric group show", NULL), *row;

	row = cmd_row_with(rows, "mgid", "ff12:401b:ffff::ffff:ffff");
	assert_string_equal(cmd_row_str(row, "mlid"), "0xc000");
	assert_string_equal(cmd_row_str(row, "qkey"), "0x80000b1b");
	assert_true(json_is_true(json_object_get(row, "broadcast")));
	/* the broadcast group has no member, because the instance has no interface */
	assert_int_equal(cmd_row_num(row, "nmembers"), 0);
	json_decref(rows);
	rows = cmd_rig_rows(r, "fabric partition show", NULL);
	row = cmd_row_with(rows, "pkey", "0xffff");
	assert_int_equal(json_array_size(json_object_get(row, "full_members")), 6);
	json_decref(rows);
}

static void test_fabric_link_set_takes_the_port_down_and_up(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows;

	cmd_rig_ok(r, "fabric link set", json_pack("{s:s, s:b}", "port", "Hca2/1", "up", 0));
	rows = cmd_rig_rows(r, "fabric port show", json_pack("{s:s}", "port", "Hca2/1"));
	assert_string_equal(cmd_row_str(json_array_get(rows, 0), "link"), "disabled");
	assert_string_equal(cmd_row_str(json_array_get(rows, 0), "state"), "Down");
	json_decref(rows);

	cmd_rig_ok(r, "fabric link set", json_pack("{s:s, s:b}", "port", "Hca2/1", "up", 1));
	/*
	 * meanwhile the link trains, the switch sends a trap, and the SM makes the sweep that the
	 * trap requests
	 */
	cmd_rig_run_for(r, NS_SEC(1));
	rows = cmd_rig_rows(r, "fabric port show", json_pack("{s:s}", "port", "Hca2/1"));
	assert_string_equal(cmd_row_str(json_array_get(rows, 0), "link"), "up");
	assert_string_equal(cmd_row_str(json_array_get(rows, 0), "state"), "Active");
	json_decref(rows);
	cmd_rig_refused(r, "fabric link set", json_pack("{s:s}", "port", "Hca2/1"), "up: missing");
	cmd_rig_refused(r, "fabric link set", json_pack("{s:b}", "up", 1), "port: missing");
	cmd_rig_refused(r, "fabric link set", json_pack("{s:s, s:b}", "port", "Switch1/0", "up", 1),
			"no cable");
}

static void test_fabric_sweep_is_heavy(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows = cmd_rig_rows(r, "fabric sm show", NULL);
	long long before = cmd_row_num(json_array_get(rows, 0), "heavy_sweeps");

	json_decref(rows);
	cmd_rig_ok(r, "fabric sweep", NULL);
	cmd_rig_run_for(r, NS_MSEC(100));
	rows = cmd_rig_rows(r, "fabric sm show", NULL);
	assert_int_equal(cmd_row_num(json_array_get(rows, 0), "heavy_sweeps"), before + 1);
	json_decref(rows);
}

static void test_lid_is_changed(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows;

	cmd_rig_ok(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "Hca2/1", "lid", 100));
	cmd_rig_run_for(r, NS_SEC(1));
	rows = cmd_rig_rows(r, "fabric port show", json_pack("{s:s}", "port", "Hca2/1"));
	assert_int_equal(cmd_row_num(json_array_get(rows, 0), "lid"), 100);
	json_decref(rows);
	cmd_rig_refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "Hca1/1", "lid", 100),
			"lid 100: another port has it");
	cmd_rig_refused(r, "fabric lid set",
			json_pack("{s:s, s:i}", "port", "Hca1/1", "lid", 0xc000),
			"lid: expected a number from 1 to 49151");
	cmd_rig_refused(r, "fabric lid set", json_pack("{s:s}", "port", "Hca1/1"), "lid: missing");
	cmd_rig_refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "Switch1/1", "lid", 7),
			"port 'Switch1/1': expected port 0 of a switch or a port of a CA");
	cmd_rig_refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "0x", "lid", 7),
			"port '0x': expected NODE/PORT or a GUID");
	cmd_rig_refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "0x123", "lid", 7),
			"lid 7: the subnet manager does not know this port");
	rows = cmd_rig_rows(r, "fabric port show", json_pack("{s:s}", "port", "Hca3/1"));
	cmd_rig_ok(r, "fabric lid set",
		   json_pack("{s:s, s:i}", "port",
			     cmd_row_str(json_array_get(rows, 0), "port_guid"), "lid", 103));
	json_decref(rows);
	cmd_rig_run_for(r, NS_SEC(1));
	rows = cmd_rig_rows(r, "fabric port show", json_pack("{s:s}", "port", "Hca3/1"));
	assert_int_equal(cmd_row_num(json_array_get(rows, 0), "lid"), 103);
	json_decref(rows);
	cmd_rig_ok(r, "fabric sm stop", NULL);
	cmd_rig_ok(r, "fabric sm start", json_pack("{s:s}", "port", "Switch1/0"));
	cmd_rig_refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "Hca1/1", "lid", 101),
			"lid 101: no subnet manager of this instance is master");
}

static void test_fault_hits_and_goes(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows = cmd_rig_rows(
		r, "fault add", json_pack("{s:s, s:s}", "port", "Hca3/1", "fault", "loss 100%"));
	long long id = cmd_row_num(json_array_get(rows, 0), "id");

	assert_string_equal(cmd_row_str(json_array_get(rows, 0), "fault"), "loss 100%");
	json_decref(rows);
	cmd_rig_ok(r, "fabric sweep", NULL); /* all answers of Hca3 to this sweep are lost */
	cmd_rig_run_for(r, NS_SEC(2));
	rows = cmd_rig_rows(r, "fault show", NULL);
	assert_int_equal(json_array_size(rows), 1);
	assert_true(cmd_row_num(json_array_get(rows, 0), "hit") > 0);
	json_decref(rows);

	cmd_rig_ok(r, "fault del", json_pack("{s:I}", "id", (json_int_t)id));
	rows = cmd_rig_rows(r, "fault show", NULL);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	cmd_rig_refused(r, "fault del", json_pack("{s:I}", "id", (json_int_t)id), "no such fault");
	cmd_rig_ok(r, "fault add", json_pack("{s:s, s:s}", "port", "Hca3/1", "fault", "loss 1%"));
	cmd_rig_ok(r, "fault add", json_pack("{s:s, s:s}", "port", "Hca1/1", "fault", "cut"));
	cmd_rig_ok(r, "fault clear", NULL);
	rows = cmd_rig_rows(r, "fault show", NULL);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	cmd_rig_refused(r, "fault del", NULL, "id: missing");
	cmd_rig_refused(r, "fault add", json_pack("{s:s, s:s}", "port", "Hca3/1", "fault", "loss"),
			"fault:");
	cmd_rig_refused(r, "fault add", json_pack("{s:s}", "port", "Hca3/1"), "fault: missing");
	cmd_rig_refused(r, "fault add",
			json_pack("{s:s, s:s}", "port", "Switch1/0", "fault", "cut"), "no cable");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, cmd_rig_setup, ctl_rig_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_fabric_show_counts_what_the_topology_has),
		CASE(test_fabric_nodes_and_ports),
		CASE(test_fabric_lft_leads_to_every_lid),
		CASE(test_fabric_map_and_load_agree),
		CASE(test_fabric_route_follows_the_tables),
		CASE(test_fabric_mft_of_an_mlid),
		CASE(test_fabric_lft_entry_is_set),
		CASE(test_fabric_group_is_the_broadcast_group),
		CASE(test_fabric_link_set_takes_the_port_down_and_up),
		CASE(test_fabric_sweep_is_heavy),
		CASE(test_lid_is_changed),
		CASE(test_fault_hits_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
