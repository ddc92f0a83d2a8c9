/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "inst_rig.h"
#include "os/writer.h"
#include "cmd/cmd.h"
#include "ctl/priv.h"
#include "inst/fab.h"
#include "inst/fab_sm.h"
#include "os/file.h"

/*
 * Tests of commands of the control protocol on an instance that has a fabric (two switches with two
 * cables, four CAs; the SM is on Switch1) but no interfaces. The test needs no privileges, and time
 * is virtual.
 */

struct rig {
	struct inst in;
	struct ctl ctl;
	int peer;
	int fd; /* descriptor to send with the next request; -1: none */
	ns_t now;
};

static void settle(struct rig *r)
{
	struct epoll_event ev[16];

	for (int i = 0; i < 10000; i++) {
		int n = epoll_wait(r->in.loop.epfd, ev, 16, 0);

		for (int k = 0; k < n; k++) {
			struct loop_fd *f = ev[k].data.ptr;

			if (f->fn)
				f->fn(f, ev[k].events, r->now);
		}
		if (!inst_work(&r->in, r->now) && !n)
			return;
	}
	fail_msg("the instance does not come to rest");
}

/* Let the time @span pass, and run each timer at its deadline. */
static void run_for(struct rig *r, ns_t span)
{
	ns_t end = r->now + span;

	for (;;) {
		ns_t next = timers_next(&r->in.loop.timers);

		settle(r);
		next = timers_next(&r->in.loop.timers);
		if (next > end)
			break;
		r->now = next > r->now ? next : r->now;
	}
	r->now = end;
	settle(r);
}

static int add_fabric(struct rig *r)
{
	const struct conf_fabric cfg = { .name = "lab", .crc = CONF_CRC_FULL, .sm_embedded = true };
	struct topo *t = topo_gen_demo(4, 2);
	char err[INST_ERR_MAX];
	int status = t ? fab_add(&r->in, &cfg, t, err) : -ENOMEM;

	topo_free(t);
	return status;
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int s[2];

	if (!r)
		return -1;
	if (inst_rig_init(&r->in) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s))
		return -1;
	r->now = r->in.loop.now;
	r->peer = s[1];
	r->fd = -1;
	ctl_init(&r->ctl, &r->in, cmd_tables);
	*state = r;
	if (add_fabric(r) || ctl_client_add(&r->ctl.control, s[0]))
		return -1;
	run_for(r, NS_SEC(1));
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	struct ctl_client *c, *tmp;

	close(r->peer);
	list_for_each_safe (c, tmp, &r->ctl.clients, link) {
		ctl_client_drop(c);
		ctl_client_free(c);
	}
	timer_cancel(&r->in.loop.timers, &r->ctl.reaper);
	for (unsigned int k = 0; k < r->in.nfabs; k++)
		fab_destroy(r->in.fab[k]);
	free(r->in.fab);
	assert_int_equal(pkt_pool_pkts_used(r->in.pool), 0);
	pkt_pool_destroy(r->in.pool);
	loop_fini(&r->in.loop);
	free(r);
	return 0;
}

/* --- talking */

static void request(struct rig *r, const char *cmd, json_t *args)
{
	struct proto_client c = { .fd = r->peer };

	assert_int_equal(proto_send_fd(&c, cmd, args, r->fd), 0);
	json_decref(args);
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	settle(r);
}

/*
 * Read the lines of the answer that have arrived. Rows are appended to @rows. Returns the end
 * object, or NULL if it has not arrived
 */
static json_t *collect(struct rig *r, json_t *rows)
{
	static char buf[1 << 20];
	json_t *end = NULL;
	size_t len = 0;
	char *line, *nl;
	ssize_t n;

	while ((n = recv(r->peer, buf + len, sizeof(buf) - len, 0)) > 0) {
		len += (size_t)n;
		settle(r);
	}
	for (line = buf; (nl = memchr(line, '\n', len - (size_t)(line - buf))); line = nl + 1) {
		json_t *o = json_loadb(line, (size_t)(nl - line), 0, NULL);

		assert_non_null(o);
		assert_null(end);
		if (json_object_get(o, "row"))
			json_array_append(rows, json_object_get(o, "row"));
		else
			end = json_incref(json_object_get(o, "end"));
		json_decref(o);
	}
	assert_ptr_equal(line, buf + len);
	return end;
}

/* Send a request that must succeed, and return the rows of its answer */
static json_t *rows_of(struct rig *r, const char *cmd, json_t *args)
{
	json_t *rows = json_array(), *end;

	request(r, cmd, args);
	end = collect(r, rows);
	assert_non_null(end);
	if (json_integer_value(json_object_get(end, "status")))
		fail_msg("%s: %s", cmd, json_string_value(json_object_get(end, "error")));
	json_decref(end);
	return rows;
}

static void refused(struct rig *r, const char *cmd, json_t *args, const char *why)
{
	json_t *rows = json_array(), *end;
	const char *error;

	request(r, cmd, args);
	end = collect(r, rows);
	assert_non_null(end);
	assert_int_equal(json_integer_value(json_object_get(end, "status")), PROTO_EXIT_USAGE);
	error = json_string_value(json_object_get(end, "error"));
	if (!error || !strstr(error, why))
		fail_msg("%s: '%s' does not say '%s'", cmd, error ? error : "", why);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	json_decref(end);
}

static void ok(struct rig *r, const char *cmd, json_t *args)
{
	json_decref(rows_of(r, cmd, args));
}

/* Return the row whose member @key is the text @value */
static json_t *row_with(json_t *rows, const char *key, const char *value)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		const char *s = json_string_value(json_object_get(row, key));

		if (s && !strcmp(s, value))
			return row;
	}
	fail_msg("no row with %s %s", key, value);
	return NULL;
}

static long long num(const json_t *row, const char *key)
{
	const json_t *v = json_object_get(row, key);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

static const char *str(const json_t *row, const char *key)
{
	const json_t *v = json_object_get(row, key);

	assert_true(json_is_string(v));
	return json_string_value(v);
}

static unsigned int count(json_t *rows, const char *key, const char *value)
{
	unsigned int n = 0;
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		const char *s = json_string_value(json_object_get(row, key));

		n += s && !strcmp(s, value);
	}
	return n;
}

/* --- fabrics */

static void test_fabric_show_counts_what_the_topology_has(void **state)
{
	json_t *rows = rows_of(*state, "fabric show", NULL), *row = json_array_get(rows, 0), *sm;

	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(str(row, "fabric"), "lab");
	assert_int_equal(num(row, "switches"), 2);
	assert_int_equal(num(row, "cas"), 4);
	assert_int_equal(num(row, "links"), 6); /* four CAs and two cables between the switches */
	assert_int_equal(num(row, "links_up"), 6);
	sm = json_object_get(row, "sm");
	assert_string_equal(str(sm, "state"), "master");
	assert_string_equal(str(sm, "port"), "Switch1/0");
	assert_int_equal(num(json_object_get(sm, "last_sweep"), "end_ports"), 6);
	json_decref(rows);
}

static void test_fabric_nodes_and_ports(void **state)
{
	struct rig *r = *state;
	json_t *rows = rows_of(r, "fabric node show", NULL), *row, *peer;

	assert_int_equal(json_array_size(rows), 6);
	assert_string_equal(str(row_with(rows, "node", "Switch2"), "type"), "switch");
	assert_string_equal(str(row_with(rows, "node", "Hca4"), "type"), "ca");
	json_decref(rows);

	rows = rows_of(r, "fabric port show", json_pack("{s:s}", "port", "Hca1/1"));
	assert_int_equal(json_array_size(rows), 1);
	row = json_array_get(rows, 0);
	assert_string_equal(str(row, "link"), "up");
	assert_string_equal(str(row, "state"), "Active");
	assert_true(num(row, "lid") > 0);
	assert_true(num(json_object_get(row, "counters"), "rcv_pkts") > 0);
	/* The port to which Hca1/1 is connected must name Hca1/1 as its peer. */
	peer = rows_of(r, "fabric port show", json_pack("{s:s}", "port", str(row, "peer")));
	assert_string_equal(str(json_array_get(peer, 0), "peer"), "Hca1/1");
	json_decref(peer);
	json_decref(rows);

	rows = rows_of(r, "fabric port show", json_pack("{s:s}", "node", "Switch1"));
	assert_true(json_array_size(rows) > 4);
	assert_string_equal(str(json_array_get(rows, 0), "port"), "Switch1/0");
	json_decref(rows);
	refused(r, "fabric port show", json_pack("{s:s}", "port", "Hca1/2"), "no such port");
	refused(r, "fabric port show", json_pack("{s:s}", "port", "Hca9/1"), "no such node");
	refused(r, "fabric port show", json_pack("{s:s}", "node", "Hca9"), "no such node");
	refused(r, "fabric port show", json_pack("{s:s, s:s}", "node", "Hca1", "fabric", "x"),
		"no such fabric");
}

/*
 * The LFT of Switch1 must have an entry for every LID of the subnet. The entry of a CA at Switch1
 * must be the port of this CA.
 */
static void test_fabric_lft_leads_to_every_lid(void **state)
{
	struct rig *r = *state;
	json_t *rows = rows_of(r, "fabric lft show", json_pack("{s:s}", "node", "Switch1"));
	json_t *ports = rows_of(r, "fabric port show", json_pack("{s:s}", "node", "Switch1"));
	json_t *row = row_with(rows, "destination", "Hca1/1");
	char port[32];

	assert_int_equal(json_array_size(rows), 6);
	snprintf(port, sizeof(port), "Switch1/%lld", num(row, "port"));
	assert_string_equal(str(row_with(ports, "port", port), "peer"), "Hca1/1");
	assert_int_equal(num(row_with(rows, "destination", "Switch1/0"), "port"), 0);
	json_decref(rows);
	json_decref(ports);
	refused(r, "fabric lft show", json_pack("{s:s}", "node", "Hca1"), "expected a switch");
	refused(r, "fabric lft show", NULL, "node");
	refused(r, "fabric mft show", json_pack("{s:s}", "node", "Hca1"), "expected a switch");
}

/*
 * `fabric map` lists the cables by name, and `fabric load` lists three numbers for each cable. A
 * program combines the two answers, so both must list the cables in the same order.
 */
static void test_fabric_map_and_load_agree(void **state)
{
	struct rig *r = *state;
	json_t *map = rows_of(r, "fabric map", NULL), *load = rows_of(r, "fabric load", NULL);
	json_t *part = rows_of(r, "fabric map", json_pack("{s:i, s:i}", "from", 1, "count", 2));
	json_t *row = row_with(map, "node", "Hca1"), *cable;
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
	assert_string_equal(str(row, "type"), "ca");
	cable = json_array_get(json_object_get(row, "cables"), 0);
	assert_int_equal(json_integer_value(json_array_get(cable, 0)), 1);
	assert_int_equal(strncmp(json_string_value(json_array_get(cable, 2)), "Switch", 6), 0);
	assert_true(json_is_false(json_array_get(cable, 3)));
	json_decref(map);
	json_decref(load);
	json_decref(part);
	refused(r, "fabric map", json_pack("{s:i}", "count", 0), "count");
	refused(r, "fabric load", json_pack("{s:s}", "fabric", "x"), "no such fabric");
}

/*
 * The first hop must be the source's own port, and each further hop must be the port in the LFT
 * entry of the switch to which the previous hop leads.
 */
static void test_fabric_route_follows_the_tables(void **state)
{
	struct rig *r = *state;
	json_t *hops = rows_of(r, "fabric route",
			       json_pack("{s:s, s:s}", "from", "Hca1/1", "to", "Hca4/1"));
	size_t n = json_array_size(hops), i;
	json_t *hop;

	assert_int_equal(n, 3); /* Hca1 and Hca4 are at different switches */
	assert_string_equal(str(json_array_get(hops, 0), "port"), "Hca1/1");
	assert_string_equal(str(json_array_get(hops, n - 1), "peer"), "Hca4/1");
	json_array_foreach(hops, i, hop)
	{
		char node[64];

		if (!i)
			continue;
		snprintf(node, sizeof(node), "%s", str(hop, "port"));
		*strrchr(node, '/') = '\0';
		assert_int_equal(
			strncmp(str(json_array_get(hops, i - 1), "peer"), node, strlen(node)), 0);
	}
	json_decref(hops);
	refused(r, "fabric route", json_pack("{s:s}", "from", "Hca1/1"), "to");
	refused(r, "fabric route", json_pack("{s:s, s:s}", "from", "Hca1/1", "to", "Switch1/1"),
		"no LID");
}

/*
 * `fabric mft show` must have a row for each switch that forwards packets with this MLID, with the
 * ports to which the switch forwards. No group has this MLID, so at first there must be no row.
 * Then the test sets an MFT entry of Switch2.
 */
static void test_fabric_mft_of_an_mlid(void **state)
{
	struct rig *r = *state;
	struct fabric_node *n = fabric_node_find(r->in.fab[0]->fabric, "Switch2");
	json_t *rows = rows_of(r, "fabric mft show", json_pack("{s:i}", "mlid", 0xc123));

	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	node_mft_own(fabric_node_node(n)->sw)[0x123][0] = 6;
	rows = rows_of(r, "fabric mft show", json_pack("{s:i}", "mlid", 0xc123));
	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(str(json_array_get(rows, 0), "node"), "Switch2");
	assert_int_equal(json_array_size(json_object_get(json_array_get(rows, 0), "ports")), 2);
	json_decref(rows);
	node_mft_own(fabric_node_node(n)->sw)[0x123][0] = 0;
	refused(r, "fabric mft show", json_pack("{s:i}", "mlid", 5), "mlid");
}

static long long lft_port(struct rig *r, long long lid)
{
	json_t *rows = rows_of(r, "fabric lft show", json_pack("{s:s}", "node", "Switch1"));
	long long port = -1;
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (num(row, "lid") == lid)
			port = num(row, "port");
	}
	json_decref(rows);
	return port;
}

static void lft_set_refused(struct rig *r, int lid, int port, const char *why)
{
	refused(r, "fabric lft set",
		json_pack("{s:s, s:i, s:i}", "node", "Switch1", "lid", lid, "port", port), why);
}

/*
 * Set an LFT entry without the SM. The SM's audit must find the change within a minute, and restore
 * the entry.
 */
static void test_fabric_lft_entry_is_set(void **state)
{
	struct rig *r = *state;
	long long was = lft_port(r, 1);

	ok(r, "fabric lft set",
	   json_pack("{s:s, s:i, s:i}", "node", "Switch1", "lid", 1, "port", 255));
	assert_int_equal(lft_port(r, 1), -1);
	ok(r, "fabric lft set",
	   json_pack("{s:s, s:i, s:i}", "node", "Switch1", "lid", 1, "port", was != 1 ? 1 : 2));
	assert_int_equal(lft_port(r, 1), was != 1 ? 1 : 2);
	run_for(r, NS_SEC(70));
	assert_int_equal(lft_port(r, 1), was);
	lft_set_refused(r, 1, 254, "port: expected a number from 0 to ");
	lft_set_refused(r, 1, 256, "port: expected a number from 0 to 255");
	lft_set_refused(r, 0, 1, "lid: expected a number from 1 to ");
	lft_set_refused(r, 0xbfff, 1, "lid: expected a number from 1 to ");
	refused(r, "fabric lft set", json_pack("{s:s, s:i}", "node", "Switch1", "lid", 1),
		"expected a LID and a port");
	refused(r, "fabric lft set",
		json_pack("{s:s, s:i, s:i}", "node", "Hca1", "lid", 1, "port", 1),
		"expected a switch");
}

static void test_fabric_group_is_the_broadcast_group(void **state)
{
	struct rig *r = *state;
	json_t *rows = rows_of(r, "fabric group show", NULL), *row;

	row = row_with(rows, "mgid", "ff12:401b:ffff::ffff:ffff");
	assert_string_equal(str(row, "mlid"), "0xc000");
	assert_string_equal(str(row, "qkey"), "0x80000b1b");
	assert_true(json_is_true(json_object_get(row, "broadcast")));
	/* the broadcast group has no member, because the instance has no interface */
	assert_int_equal(num(row, "nmembers"), 0);
	json_decref(rows);
	rows = rows_of(r, "fabric partition show", NULL);
	row = row_with(rows, "pkey", "0xffff");
	assert_int_equal(json_array_size(json_object_get(row, "full_members")), 6);
	json_decref(rows);
}

static void test_fabric_link_set_takes_the_port_down_and_up(void **state)
{
	struct rig *r = *state;
	json_t *rows;

	ok(r, "fabric link set", json_pack("{s:s, s:b}", "port", "Hca2/1", "up", 0));
	rows = rows_of(r, "fabric port show", json_pack("{s:s}", "port", "Hca2/1"));
	assert_string_equal(str(json_array_get(rows, 0), "link"), "disabled");
	assert_string_equal(str(json_array_get(rows, 0), "state"), "Down");
	json_decref(rows);

	ok(r, "fabric link set", json_pack("{s:s, s:b}", "port", "Hca2/1", "up", 1));
	/* meanwhile the link trains, and the switch's trap makes the SM sweep */
	run_for(r, NS_SEC(1));
	rows = rows_of(r, "fabric port show", json_pack("{s:s}", "port", "Hca2/1"));
	assert_string_equal(str(json_array_get(rows, 0), "link"), "up");
	assert_string_equal(str(json_array_get(rows, 0), "state"), "Active");
	json_decref(rows);
	refused(r, "fabric link set", json_pack("{s:s}", "port", "Hca2/1"), "up: missing");
	refused(r, "fabric link set", json_pack("{s:b}", "up", 1), "port: missing");
	refused(r, "fabric link set", json_pack("{s:s, s:b}", "port", "Switch1/0", "up", 1),
		"no cable");
}

static void test_fabric_sweep_is_heavy(void **state)
{
	struct rig *r = *state;
	json_t *rows = rows_of(r, "fabric sm show", NULL);
	long long before = num(json_array_get(rows, 0), "heavy_sweeps");

	json_decref(rows);
	ok(r, "fabric sweep", NULL);
	run_for(r, NS_MSEC(100));
	rows = rows_of(r, "fabric sm show", NULL);
	assert_int_equal(num(json_array_get(rows, 0), "heavy_sweeps"), before + 1);
	json_decref(rows);
}

/* Return the row of the subnet manager on @port; NULL if there is none */
static json_t *sm_of(struct rig *r, const char *port)
{
	json_t *rows = rows_of(r, "fabric sm show", NULL), *row = NULL;

	for (size_t k = 0; k < json_array_size(rows) && !row; k++) {
		row = json_array_get(rows, k);
		row = strcmp(str(row, "port"), port) ? NULL : json_incref(row);
	}
	json_decref(rows);
	return row;
}

static void sm_state_is(struct rig *r, const char *port, const char *state)
{
	json_t *row = sm_of(r, port);

	assert_non_null(row);
	assert_string_equal(str(row, "state"), state);
	json_decref(row);
}

static void test_sm_restarts_with_nothing(void **state)
{
	struct rig *r = *state;
	json_t *row;

	ok(r, "fabric sm restart", NULL);
	run_for(r, NS_SEC(1));
	sm_state_is(r, "Switch1/0", "master");
	row = sm_of(r, "Switch1/0");
	assert_true(num(row, "heavy_sweeps") <= 2);
	json_decref(row);
	refused(r, "fabric sm restart", json_pack("{s:s}", "port", "Switch2/0"),
		"Switch2/0: no subnet manager of this instance");
}

static void test_sm_hands_over_to_a_better_one_and_back(void **state)
{
	struct rig *r = *state;
	json_t *rows;

	refused(r, "fabric sm start", NULL, "port: missing");
	refused(r, "fabric sm start", json_pack("{s:s}", "port", "Switch2/1"),
		"expected port 0 of a switch or a port of a CA");
	refused(r, "fabric sm start", json_pack("{s:s}", "port", "Switch1/0"),
		"Switch1/0 has a subnet manager already, and 'uipoib fabric sm' shows ours. "
		"Stop it first, or choose another port");
	refused(r, "fabric sm start", json_pack("{s:s, s:i}", "port", "Switch2/0", "priority", 16),
		"priority: expected a number from 0 to 15");
	assert_null(sm_of(r, "Switch2/0"));

	ok(r, "fabric sm start", json_pack("{s:s, s:i}", "port", "Switch2/0", "priority", 3));
	ok(r, "fabric sm start", json_pack("{s:s}", "port", "Hca3/1"));
	run_for(r, NS_SEC(1));
	sm_state_is(r, "Switch1/0", "standby");
	sm_state_is(r, "Switch2/0", "master");
	sm_state_is(r, "Hca3/1", "standby");
	rows = rows_of(r, "fabric show", NULL);
	assert_string_equal(str(json_object_get(json_array_get(rows, 0), "sm"), "port"),
			    "Switch2/0");
	json_decref(rows);

	/*
	 * `fabric sm stop` stops the SM on the named port, or the master if no port is named. A
	 * standby becomes master when the stopped SM has not answered three polls.
	 */
	ok(r, "fabric sm stop", json_pack("{s:s}", "port", "Hca3/1"));
	ok(r, "fabric sm stop", NULL);
	assert_null(sm_of(r, "Switch2/0"));
	run_for(r, NS_SEC(5));
	sm_state_is(r, "Switch1/0", "master");
	ok(r, "fabric sm stop", NULL);
	refused(r, "fabric sm stop", NULL, "external, or stopped");
	refused(r, "fabric sweep", NULL, "external, or stopped");
	rows = rows_of(r, "fabric group show", NULL);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	ok(r, "fabric sm start", json_pack("{s:s}", "port", "Hca1/1"));
	run_for(r, NS_SEC(1));
	sm_state_is(r, "Hca1/1", "master");
}

static void test_lid_is_changed(void **state)
{
	struct rig *r = *state;
	json_t *rows;

	ok(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "Hca2/1", "lid", 100));
	run_for(r, NS_SEC(1));
	rows = rows_of(r, "fabric port show", json_pack("{s:s}", "port", "Hca2/1"));
	assert_int_equal(num(json_array_get(rows, 0), "lid"), 100);
	json_decref(rows);
	refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "Hca1/1", "lid", 100),
		"lid 100: another port has it");
	refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "Hca1/1", "lid", 0xc000),
		"lid: expected a number from 1 to 49151");
	refused(r, "fabric lid set", json_pack("{s:s}", "port", "Hca1/1"), "lid: missing");
	refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "Switch1/1", "lid", 7),
		"port 'Switch1/1': expected port 0 of a switch or a port of a CA");
	refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "0x", "lid", 7),
		"port '0x': expected NODE/PORT or a GUID");
	refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "0x123", "lid", 7),
		"lid 7: the subnet manager does not know this port");
	rows = rows_of(r, "fabric port show", json_pack("{s:s}", "port", "Hca3/1"));
	ok(r, "fabric lid set",
	   json_pack("{s:s, s:i}", "port", str(json_array_get(rows, 0), "port_guid"), "lid", 103));
	json_decref(rows);
	run_for(r, NS_SEC(1));
	rows = rows_of(r, "fabric port show", json_pack("{s:s}", "port", "Hca3/1"));
	assert_int_equal(num(json_array_get(rows, 0), "lid"), 103);
	json_decref(rows);
	ok(r, "fabric sm stop", NULL);
	ok(r, "fabric sm start", json_pack("{s:s}", "port", "Switch1/0"));
	refused(r, "fabric lid set", json_pack("{s:s, s:i}", "port", "Hca1/1", "lid", 101),
		"lid 101: no subnet manager of this instance is master");
}

static void write_file(char path[32], const char *text)
{
	int fd;

	snprintf(path, 32, "/tmp/uipoib-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Let the next request pass the text @text in a sealed memory file, as the command line does. */
static void with_text(struct rig *r, const char *text)
{
	r->fd = file_seal(text, strlen(text));
	assert_true(r->fd >= 0);
}

static json_t *named(const char *file)
{
	return json_pack("{s:s}", "file", file);
}

static void test_sm_has_the_priority_of_the_configuration(void **state)
{
	const struct conf_fabric conf = { .name = "other", .sm_embedded = true, .sm_priority = 9 };
	struct rig *r = *state;
	struct topo *t = topo_gen_demo(2, 1);
	char err[INST_ERR_MAX];
	json_t *rows;

	assert_int_equal(fab_add(&r->in, &conf, t, err), 0);
	topo_free(t);
	rows = rows_of(r, "fabric sm show", json_pack("{s:s}", "fabric", "other"));
	assert_int_equal(num(json_array_get(rows, 0), "priority"), 9);
	json_decref(rows);
}

static void test_sm_restarts_with_its_partitions(void **state)
{
	struct rig *r = *state;
	json_t *rows;

	with_text(r, "Default=0x7fff, ipoib : ALL=full ;\nblue=0x0001, ipoib : ALL=full ;\n");
	ok(r, "fabric partition load", named("p.conf"));
	ok(r, "fabric sm restart", NULL);
	ok(r, "fabric sm start", json_pack("{s:s, s:i}", "port", "Hca1/1", "priority", 1));
	run_for(r, NS_SEC(1));
	sm_state_is(r, "Hca1/1", "master");
	rows = rows_of(r, "fabric group show", NULL);
	row_with(rows, "mgid", "ff12:401b:8001::ffff:ffff");
	json_decref(rows);
}

static void test_fabric_partitions_are_loaded_whole_or_not_at_all(void **state)
{
	struct rig *r = *state;
	json_t *rows;

	with_text(r, "Default=0x7fff, ipoib : ALL=full ;\nblue=0x0001, ipoib : ALL=full ;\n");
	ok(r, "fabric partition load", named("p.conf"));
	run_for(r, NS_SEC(1));
	rows = rows_of(r, "fabric group show", NULL);
	row_with(rows, "mgid", "ff12:401b:8001::ffff:ffff");
	json_decref(rows);

	with_text(r, "green=0x0002, ipoib : ALL=full ;\nred=0x0000 : ALL ;\n");
	refused(r, "fabric partition load", named("p.conf"), "p.conf:2: ");
	rows = rows_of(r, "fabric partition show", NULL);
	assert_int_equal(count(rows, "partition", "blue"), 1);
	assert_int_equal(count(rows, "partition", "green"), 0);
	json_decref(rows);
}

/*
 * The instance must neither open a path that a client names, nor read from a descriptor on which a
 * client could make the instance wait. So the instance must accept partitions only from a sealed
 * memory file.
 */
static void test_fabric_partitions_come_from_a_sealed_file_alone(void **state)
{
	struct rig *r = *state;
	int p[2], unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	refused(r, "fabric partition load", named("/etc/hostname"),
		"expected a sealed memory file");
	assert_int_equal(pipe(p), 0);
	r->fd = p[0];
	refused(r, "fabric partition load", named("a pipe"), "expected a sealed memory file");
	close(p[1]);
	r->fd = unsealed;
	refused(r, "fabric partition load", named("x"), "expected a sealed memory file");
	r->fd = open("/etc/hostname", O_RDONLY);
	refused(r, "fabric partition load", named("x"), "expected a sealed memory file");
	with_text(r, "Default=0x7fff : ALL=full ;\n");
	refused(r, "fabric partition load", NULL, "file: missing");
}

/* --- faults */

static void test_fault_hits_and_goes(void **state)
{
	struct rig *r = *state;
	json_t *rows = rows_of(r, "fault add",
			       json_pack("{s:s, s:s}", "port", "Hca3/1", "fault", "loss 100%"));
	long long id = num(json_array_get(rows, 0), "id");

	assert_string_equal(str(json_array_get(rows, 0), "fault"), "loss 100%");
	json_decref(rows);
	ok(r, "fabric sweep", NULL); /* all answers to this sweep are lost */
	run_for(r, NS_SEC(2));
	rows = rows_of(r, "fault show", NULL);
	assert_int_equal(json_array_size(rows), 1);
	assert_true(num(json_array_get(rows, 0), "hit") > 0);
	json_decref(rows);

	ok(r, "fault del", json_pack("{s:I}", "id", (json_int_t)id));
	rows = rows_of(r, "fault show", NULL);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	refused(r, "fault del", json_pack("{s:I}", "id", (json_int_t)id), "no such fault");
	ok(r, "fault add", json_pack("{s:s, s:s}", "port", "Hca3/1", "fault", "loss 1%"));
	ok(r, "fault add", json_pack("{s:s, s:s}", "port", "Hca1/1", "fault", "cut"));
	ok(r, "fault clear", NULL);
	rows = rows_of(r, "fault show", NULL);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	refused(r, "fault del", NULL, "id: missing");
	refused(r, "fault add", json_pack("{s:s, s:s}", "port", "Hca3/1", "fault", "loss"),
		"fault:");
	refused(r, "fault add", json_pack("{s:s}", "port", "Hca3/1"), "fault: missing");
	refused(r, "fault add", json_pack("{s:s, s:s}", "port", "Switch1/0", "fault", "cut"),
		"no cable");
}

/* --- captures */

/*
 * Send `capture start` with the socket @sock, whose other end belongs to the writer of the file,
 * and then close @sock. Returns the row of the capture. If @why is not NULL, the request must be
 * refused with the reason @why, and the function returns NULL
 */
static json_t *capture_file(struct rig *r, const char *path, int sock, const char *link,
			    const char *why)
{
	struct proto_client c = { .fd = r->peer };
	json_t *rows = json_array(), *end, *args = json_pack("{s:s}", "file", path);

	if (link)
		json_object_set_new(args, "link", json_string(link));
	assert_true(sock >= 0);
	assert_int_equal(proto_send_fd(&c, "capture start", args, sock), 0);
	json_decref(args);
	close(sock);
	settle(r);
	end = collect(r, rows);
	assert_non_null(end);
	assert_int_equal(json_integer_value(json_object_get(end, "status")),
			 why ? PROTO_EXIT_USAGE : 0);
	if (why)
		assert_non_null(strstr(json_string_value(json_object_get(end, "error")), why));
	json_decref(end);
	return rows;
}

static int writer_to(const char *path)
{
	int out = open(path, O_WRONLY | O_CLOEXEC), sock;

	assert_true(out >= 0);
	assert_int_equal(writer_fork(&sock, out, true), 0);
	close(out);
	return sock;
}

/*
 * Wait for the end object of an answer that is late because the instance waits for the report of a
 * writer process
 */
static json_t *late_answer(struct rig *r, json_t *rows)
{
	struct pollfd p = { .fd = r->in.loop.epfd, .events = POLLIN };
	json_t *end;

	while (!(end = collect(r, rows))) {
		assert_int_equal(poll(&p, 1, 20000), 1);
		settle(r);
	}
	return end;
}

static void test_capture_to_a_file(void **state)
{
	struct rig *r = *state;
	char path[32];
	json_t *rows, *end;
	long long id;
	FILE *f;

	write_file(path, "what the file had before");
	rows = capture_file(r, path, writer_to(path), "Hca1/1", NULL);
	id = num(json_array_get(rows, 0), "id");
	json_decref(rows);
	json_decref(capture_file(r, path, writer_to(path), NULL, "writing it already"));
	json_decref(capture_file(r, "/dev/null", open("/dev/null", O_WRONLY), NULL,
				 "not a stream socket"));
	ok(r, "fabric sweep", NULL);
	run_for(r, NS_SEC(1));
	rows = rows_of(r, "capture show", NULL);
	assert_true(num(json_array_get(rows, 0), "packets") > 0);
	assert_string_equal(str(json_array_get(rows, 0), "link"), "Hca1/1");
	json_decref(rows);
	rows = json_array();
	request(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id));
	end = late_answer(r, rows);
	assert_int_equal(num(end, "status"), 0);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_int_equal(fgetc(f), 0x0a); /* the block type of pcapng */
	fseek(f, 0, SEEK_END);
	assert_true(ftell(f) > num(json_array_get(rows, 0), "packets") * 64);
	fclose(f);
	json_decref(rows);
	json_decref(end);
	unlink(path);
	refused(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id), "no such capture");
	/*
	 * The request names a file but passes no descriptor. It must be refused, because the
	 * instance does not open files that clients name.
	 */
	refused(r, "capture start", json_pack("{s:s}", "file", path), "descriptor");
}

static void test_capture_at_no_port(void **state)
{
	struct rig *r = *state;

	refused(r, "capture start", json_pack("{s:s}", "dev", "uib9"), "no such interface");
	refused(r, "capture start", json_pack("{s:s}", "port", "verbs:none0/1"),
		"port 'verbs:none0/1': expected verbs:DEVICE/PORT of an interface");
	refused(r, "capture start", json_pack("{s:s}", "port", "Hca1/1"), "expected verbs:");
	refused(r, "capture start",
		json_pack("{s:s,s:s}", "port", "verbs:none0/1", "link", "Hca1/1"), "exclude");
}

/*
 * Start a capture whose writer process is the test itself. Returns the id of the capture;
 * *@ret_sock is the writer's end of the socket
 */
static long long capture_here(struct rig *r, const char *path, int *ret_sock)
{
	long long id;
	json_t *rows;
	int sock;

	assert_int_equal(writer_pair(&sock, ret_sock), 0);
	rows = capture_file(r, path, sock, NULL, NULL);
	id = num(json_array_get(rows, 0), "id");
	json_decref(rows);
	return id;
}

static void send_report(int sock, int32_t status)
{
	assert_int_equal(send(sock, &status, sizeof(status), MSG_NOSIGNAL), sizeof(status));
}

/*
 * A disk hangs, so the writer neither reads packets nor sends reports. This may delay only the
 * answer to `capture stop`.
 */
static void test_a_hanging_disk_delays_the_end_of_its_capture_alone(void **state)
{
	struct rig *r = *state;
	static uint8_t buf[65536];
	json_t *rows, *end;
	int sock;
	long long id = capture_here(r, "/slow", &sock);

	for (int i = 0; i < 20; i++) {
		sm_kick(fab_sm(r->in.fab[0])->sm, "test", r->now);
		run_for(r, NS_SEC(1));
	}
	rows = json_array();
	request(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id));
	assert_null(collect(r, rows)); /* no answer yet */
	run_for(r, NS_SEC(100));
	assert_null(collect(r, rows));

	/* the stream ends, because the instance has closed its end of the socket */
	while (recv(sock, buf, sizeof(buf), 0) > 0)
		settle(r);
	send_report(sock, 0);
	settle(r);
	assert_null(collect(r, rows));
	send_report(sock, 0);
	close(sock);
	settle(r);
	end = collect(r, rows);
	assert_int_equal(num(end, "status"), 0);
	assert_true(num(json_array_get(rows, 0), "packets") > 0);
	assert_int_equal(num(json_array_get(rows, 0), "missed"), 0);
	assert_true(list_empty(&r->in.captures.list));
	json_decref(rows);
	json_decref(end);
}

/*
 * The writer reports an error when it starts, or reports an error later, or dies. In each case
 * `capture show` and `capture stop` must return the error.
 */
static void test_capture_that_cannot_be_written_keeps_its_error(void **state)
{
	static const int reports[][2] = { { -ENOSPC, -ENOSPC }, { 0, -EFBIG }, { 0, -EPIPE } };
	struct rig *r = *state;

	for (unsigned int i = 0; i < ARRAY_SIZE(reports); i++) {
		json_t *rows, *end;
		int sock;
		long long id = capture_here(r, "/full", &sock);

		send_report(sock, reports[i][0]);
		if (!reports[i][0] && reports[i][1] != -EPIPE)
			send_report(sock, reports[i][1]);
		close(sock);
		settle(r);
		rows = rows_of(r, "capture show", NULL);
		assert_string_equal(str(json_array_get(rows, 0), "error"),
				    strerror(-reports[i][1]));
		json_decref(rows);
		rows = json_array();
		request(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id));
		end = collect(r, rows);
		assert_int_equal(num(end, "status"), PROTO_EXIT_FAILED);
		assert_non_null(strstr(str(end, "error"), strerror(-reports[i][1])));
		json_decref(rows);
		json_decref(end);
	}
}

/*
 * A client stops a capture and closes its connection before the writer is done. The capture must
 * end as soon as the writer is done.
 */
static void test_a_capture_ends_without_the_client_that_stopped_it(void **state)
{
	struct rig *r = *state;
	static uint8_t buf[65536];
	int sock;
	long long id = capture_here(r, "/slow", &sock);

	request(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id));
	settle(r);
	close(r->peer);
	r->peer = dup(STDERR_FILENO);
	settle(r);
	assert_false(list_empty(&r->in.captures.list));
	while (recv(sock, buf, sizeof(buf), 0) > 0)
		settle(r);
	send_report(sock, 0);
	send_report(sock, 0);
	close(sock);
	settle(r);
	assert_true(list_empty(&r->in.captures.list));
}

/*
 * The client itself reads the capture, through a descriptor that the client has passed to the
 * instance. The capture must end when the client closes its connection.
 */
static void test_capture_into_a_descriptor_of_the_client(void **state)
{
	struct rig *r = *state;
	struct proto_client c = { .fd = r->peer };
	static uint8_t buf[65536];
	json_t *rows = json_array();
	int p[2];

	assert_int_equal(writer_pair(&p[1], &p[0]), 0);
	assert_int_equal(proto_send_fd(&c, "capture start", NULL, p[1]), 0);
	close(p[1]);
	settle(r);
	/* the row of the capture has arrived, but no end object, because the capture runs */
	assert_null(collect(r, rows));
	assert_int_equal(json_array_size(rows), 1);
	json_decref(rows);
	assert_true(read(p[0], buf, sizeof(buf)) >= 24);
	assert_false(list_empty(&r->in.captures.list));

	close(r->peer);
	settle(r);
	assert_true(list_empty(&r->in.captures.list));
	r->peer = dup(STDERR_FILENO);
	while (read(p[0], buf, sizeof(buf)) > 0)
		;
	/* end of file: the instance has closed its end of the pipe */
	assert_int_equal(read(p[0], buf, sizeof(buf)), 0);
	close(p[0]);
}

/*
 * The program that reads a capture ends. The capture must end with an error, and the fabric must
 * continue to carry packets.
 */
static void test_capture_whose_reader_goes_keeps_its_error(void **state)
{
	struct rig *r = *state;
	struct proto_client c = { .fd = r->peer };
	json_t *rows = json_array();
	int p[2];

	signal(SIGPIPE, SIG_IGN); /* the daemon ignores SIGPIPE, too */
	assert_int_equal(writer_pair(&p[1], &p[0]), 0);
	assert_int_equal(proto_send_fd(&c, "capture start", NULL, p[1]), 0);
	close(p[1]);
	settle(r);
	assert_null(collect(r, rows));
	close(p[0]);
	sm_kick(fab_sm(r->in.fab[0])->sm, "test", r->now);
	run_for(r, NS_SEC(1));
	assert_int_equal(list_first(&r->in.captures.list, struct capfile, link)->error, -EPIPE);
	json_decref(rows);
}

/*
 * A capture into a pipe must be refused, because the client could clear O_NONBLOCK on the pipe and
 * so make the instance wait.
 */
static void test_capture_into_a_pipe_is_refused(void **state)
{
	struct rig *r = *state;
	struct proto_client c = { .fd = r->peer };
	json_t *rows = json_array(), *end;
	int p[2];

	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	assert_int_equal(proto_send_fd(&c, "capture start", NULL, p[1]), 0);
	settle(r);
	end = collect(r, rows);
	assert_non_null(end);
	assert_non_null(strstr(json_string_value(json_object_get(end, "error")), "stream socket"));
	json_decref(end);
	json_decref(rows);
	close(p[0]);
	close(p[1]);
}

/*
 * The reader of a capture is slow, so records wait, but only up to a bound. When this bound is
 * reached, whole records must be left out, so that the output stays valid.
 */
static void test_capture_whose_reader_is_slow_misses_packets(void **state)
{
	struct rig *r = *state;
	struct proto_client c = { .fd = r->peer };
	static uint8_t buf[65536];
	json_t *rows = json_array();
	const struct capture_stats *st;
	struct capfile *cap;
	size_t got = 0;
	ssize_t n;
	int p[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	assert_int_equal(proto_send_fd(&c, "capture start", NULL, p[1]), 0);
	close(p[1]);
	settle(r);
	assert_null(collect(r, rows));
	json_decref(rows);
	cap = list_first(&r->in.captures.list, struct capfile, link);
	cap->size = 256 * 1024; /* a small bound, which is reached soon */
	st = capture_stats(cap->cap);
	for (int i = 0; i < 500 && !st->missed; i++) {
		sm_kick(fab_sm(r->in.fab[0])->sm, "test", r->now);
		run_for(r, NS_SEC(3));
	}
	assert_true(st->missed > 0);
	assert_int_equal(st->error, 0);
	assert_int_equal(cap->error, 0);
	while ((n = recv(p[0], buf, sizeof(buf), MSG_DONTWAIT)) > 0 || cap->len > cap->done) {
		got += n > 0 ? (size_t)n : 0;
		settle(r);
	}
	assert_int_equal(got, st->octets);
	close(p[0]);
}

/* --- counters, events */

static void test_stats_are_those_that_moved_unless_all_are_wanted(void **state)
{
	struct rig *r = *state;
	json_t *some = rows_of(r, "stats show", NULL);
	json_t *all = rows_of(r, "stats show", json_pack("{s:b}", "details", 1));
	size_t i;
	json_t *row;

	json_array_foreach(some, i, row)
	{
		assert_true(num(row, "value") > 0);
		assert_string_equal(str(row_with(all, "counter", str(row, "counter")), "counter"),
				    str(row, "counter"));
	}
	assert_true(json_array_size(all) > json_array_size(some));
	assert_true(count(some, "layer", "sm") > 0);
	/* with "details", each node has a row for every reason for which it can drop packets */
	assert_int_equal(count(all, "counter", "drop_hop_limit"), 6);
	assert_int_equal(count(all, "counter", "drop_hca_qkey"), 4);
	json_decref(some);
	json_decref(all);
}

static void test_monitor_tells_sweeps_traps_and_ports(void **state)
{
	struct rig *r = *state;
	json_t *rows = json_array(), *trap;

	request(r, "monitor", NULL);
	assert_null(collect(r, rows));
	assert_int_equal(json_array_size(rows), 0);
	fabric_link_set(fabric_node_port(fabric_node_find(r->in.fab[0]->fabric, "Hca4"), 1), false,
			r->now);
	run_for(r, NS_SEC(1));
	assert_null(collect(r, rows));
	trap = row_with(rows, "event", "trap");
	assert_true(num(trap, "trap") == 128);
	assert_string_equal(str(trap, "issuer"), "Switch2/0");
	assert_string_equal(str(trap, "peer"), "Hca4/1");
	assert_memory_equal(str(trap, "port"), "Switch2/", strlen("Switch2/"));
	assert_string_equal(str(trap, "link"), "down");
	assert_int_equal(count(rows, "event", "trap"), 1);
	assert_true(num(row_with(rows, "event", "sweep"), "links") == 5);
	assert_string_equal(str(row_with(rows, "event", "end_port"), "what"), "out of service");
	json_decref(rows);
}

/*
 * Hca4 receives a packet of Hca1 with a wrong Q_Key: the trap must reach the SM over the fabric,
 * and the monitor must name both ends of the packet.
 */
static void test_monitor_names_both_ends_of_a_packet_with_a_wrong_key(void **state)
{
	struct rig *r = *state;
	struct node *to = fabric_node_node(fabric_node_find(r->in.fab[0]->fabric, "Hca4"));
	const struct node *from = fabric_node_node(fabric_node_find(r->in.fab[0]->fabric, "Hca1"));
	struct notice_violation v = { .slid = from->port[1].pi.lid,
				      .dlid = to->port[1].pi.lid,
				      .key = 0xb1b };
	json_t *rows = json_array(), *trap;

	request(r, "monitor", NULL);
	node_qkey_violation(to, 1, &v, r->now);
	run_for(r, NS_SEC(1));
	assert_null(collect(r, rows));
	trap = row_with(rows, "event", "trap");
	assert_int_equal(num(trap, "trap"), 258);
	assert_string_equal(str(trap, "issuer"), "Hca4/1");
	assert_string_equal(str(trap, "from"), "Hca1/1");
	assert_string_equal(str(trap, "to"), "Hca4/1");
	assert_string_equal(str(trap, "qkey"), "0x00000b1b");
	json_decref(rows);
}

static void test_monitor_tells_drops_once(void **state)
{
	struct rig *r = *state;
	json_t *rows = json_array();

	request(r, "monitor", NULL);
	fabric_node_node(fabric_node_find(r->in.fab[0]->fabric, "Hca4"))->dropped += 3;
	run_for(r, NS_MSEC(1500));
	assert_null(collect(r, rows));
	assert_int_equal(count(rows, "event", "drop"), 1);
	assert_int_equal(num(row_with(rows, "counter", "mads_dropped"), "count"), 3);
	assert_string_equal(str(row_with(rows, "event", "drop"), "object"), "Hca4");
	json_array_clear(rows);
	run_for(r, NS_SEC(3));
	assert_null(collect(r, rows));
	assert_int_equal(count(rows, "event", "drop"), 0);
	json_decref(rows);
}

/*
 * A client monitors the instance. When a subnet manager is started or stopped, the monitor must
 * report this event and the counters of the manager.
 */
static void test_monitor_tells_of_managers_that_come_and_go(void **state)
{
	struct rig *r = *state;
	struct inst_fabric *f = r->in.fab[0];
	struct fabric_port *at = fabric_node_port(fabric_node_find(f->fabric, "Switch2"), 0);
	char err[INST_ERR_MAX];
	json_t *rows = json_array();

	request(r, "monitor", NULL);
	assert_int_equal(fab_sm_restart(fab_sm(f), r->now, err), 0);
	assert_int_equal(fab_sm_start(f, at, 3, r->now, err), 0);
	run_for(r, NS_SEC(3));
	assert_null(collect(r, rows));
	assert_string_equal(str(row_with(rows, "port", "Switch1/0"), "event"), "sm");
	assert_true(count(rows, "port", "Switch2/0") >= 2);
	assert_int_equal(count(rows, "event", "drop"), 0);

	json_array_clear(rows);
	fab_sm_stop(fab_sm_at(f, at), r->now);
	run_for(r, NS_SEC(5));
	assert_null(collect(r, rows));
	assert_string_equal(str(row_with(rows, "state", "master"), "port"), "Switch1/0");
	assert_int_equal(count(rows, "port", "Switch2/0"), 0);
	json_decref(rows);
}

static void test_trace_needs_an_interface(void **state)
{
	refused(*state, "trace", json_pack("{s:s, s:s}", "from", "h1", "to", "h2"),
		"no such host or interface");
	refused(*state, "trace", json_pack("{s:s}", "from", "h1"), "expected from, to");
	refused(*state, "trace",
		json_pack("{s:s, s:s, s:s}", "from", "h1", "to", "h2", "what", "icmp"),
		"what 'icmp': unknown");
	refused(*state, "trace",
		json_pack("{s:s, s:s, s:s}", "from", "h1", "to", "h2", "what", "tcp"),
		"tcp: expected a port, 1 to 65535");
	refused(*state, "trace",
		json_pack("{s:s, s:s, s:s, s:i}", "from", "h1", "to", "h2", "what", "udp", "port",
			  65536),
		"port");
	refused(*state, "path get", json_pack("{s:s}", "address", "fe80::1"),
		"there is no interface");
}

/* --- the socket */

static void socket_env(char name[PROTO_NAME_MAX], char dir[32])
{
	snprintf(name, PROTO_NAME_MAX, "unit-test-%d", (int)getpid());
	snprintf(dir, 32, "/tmp/uipoib-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	setenv("XDG_RUNTIME_DIR", dir, 1); /* root would use another folder */
}

/*
 * Let many clients connect at the same time with non-blocking sockets, as libuipoib-path does. No
 * connection may be refused.
 */
static void clients_at_once(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd[CTL_CLIENTS_MAX];

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	for (int i = 0; i < CTL_CLIENTS_MAX; i++) {
		fd[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_int_equal(connect(fd[i], (struct sockaddr *)&sa, sizeof(sa)), 0);
	}
	for (int i = 0; i < CTL_CLIENTS_MAX; i++)
		close(fd[i]);
}

static void test_socket_is_private_exclusive_and_removed(void **state)
{
	struct rig *r = *state;
	struct proto_client c;
	char name[PROTO_NAME_MAX], dir[32], path[108], err[INST_ERR_MAX] = "";
	struct inst other = { 0 };
	struct ctl *ctl, *ctl2;
	struct stat st;

	socket_env(name, dir);
	snprintf(r->in.cfg.name, sizeof(r->in.cfg.name), "%s", name);
	snprintf(other.cfg.name, sizeof(other.cfg.name), "%s", name);
	assert_int_equal(loop_init(&other.loop), 0);

	assert_int_equal(ctl_open(&ctl, &r->in, cmd_tables, err), 0);
	assert_int_equal(proto_path(path, sizeof(path), name), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(ctl_open(&ctl2, &other, cmd_tables, err), -EADDRINUSE);
	assert_non_null(strstr(err, name));
	assert_int_equal(proto_connect(&c, name), 0);
	settle(r);
	assert_int_equal(proto_send(&c, "instance show", NULL), 0);
	settle(r);
	proto_close(&c);
	settle(r);
	clients_at_once(path);
	settle(r);
	ctl_close(ctl);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(proto_connect(&c, name), -ENOENT);
	loop_fini(&other.loop);
	rmdir(dir);
}

/* An instance was killed and left its socket file. The next instance must replace the file. */
static void test_socket_of_a_dead_instance_is_replaced(void **state)
{
	struct rig *r = *state;
	char name[PROTO_NAME_MAX], dir[32], path[108], err[INST_ERR_MAX] = "";
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct proto_client c;
	struct ctl *ctl;
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	socket_env(name, dir);
	assert_int_equal(proto_dir(path, sizeof(path), 1), 0);
	assert_int_equal(proto_path(path, sizeof(path), name), 0);
	memcpy(sa.sun_path, path, sizeof(path));
	assert_int_equal(bind(s, (struct sockaddr *)&sa, sizeof(sa)), 0);
	close(s);
	assert_int_equal(proto_connect(&c, name), -ECONNREFUSED);
	snprintf(r->in.cfg.name, sizeof(r->in.cfg.name), "%s", name);
	assert_int_equal(ctl_open(&ctl, &r->in, cmd_tables, err), 0);
	assert_int_equal(proto_connect(&c, name), 0);
	proto_close(&c);
	ctl_close(ctl);
	rmdir(dir);
}

static void test_names_of_instances(void **state)
{
	(void)state;
	assert_true(proto_name_ok("lab"));
	assert_true(proto_name_ok("a.b_c-9"));
	assert_true(proto_name_ok("0123456789012345678901234567890"));
	assert_false(proto_name_ok("01234567890123456789012345678901"));
	assert_false(proto_name_ok(""));
	assert_false(proto_name_ok("."));
	assert_false(proto_name_ok("../x"));
	assert_false(proto_name_ok("a b"));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
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
		CASE(test_sm_restarts_with_nothing),
		CASE(test_sm_restarts_with_its_partitions),
		CASE(test_sm_has_the_priority_of_the_configuration),
		CASE(test_sm_hands_over_to_a_better_one_and_back),
		CASE(test_lid_is_changed),
		CASE(test_fabric_partitions_are_loaded_whole_or_not_at_all),
		CASE(test_fabric_partitions_come_from_a_sealed_file_alone),
		CASE(test_fault_hits_and_goes),
		CASE(test_capture_to_a_file),
		CASE(test_capture_at_no_port),
		CASE(test_capture_into_a_descriptor_of_the_client),
		CASE(test_capture_that_cannot_be_written_keeps_its_error),
		CASE(test_a_hanging_disk_delays_the_end_of_its_capture_alone),
		CASE(test_a_capture_ends_without_the_client_that_stopped_it),
		CASE(test_capture_whose_reader_goes_keeps_its_error),
		CASE(test_capture_into_a_pipe_is_refused),
		CASE(test_capture_whose_reader_is_slow_misses_packets),
		CASE(test_stats_are_those_that_moved_unless_all_are_wanted),
		CASE(test_monitor_tells_sweeps_traps_and_ports),
		CASE(test_monitor_names_both_ends_of_a_packet_with_a_wrong_key),
		CASE(test_monitor_tells_drops_once),
		CASE(test_monitor_tells_of_managers_that_come_and_go),
		CASE(test_trace_needs_an_interface),
		CASE(test_socket_is_private_exclusive_and_removed),
		CASE(test_socket_of_a_dead_instance_is_replaced),
		cmocka_unit_test(test_names_of_instances),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
