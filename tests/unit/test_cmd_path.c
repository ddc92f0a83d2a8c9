/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helper/priv.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"

/*
 * Tests `path get` on an instance with a fabric and two interfaces, uib0@h1 and uib1@h1. The
 * interfaces have neither IPoIB links nor network devices, so no kernel resolves addresses. An IP
 * address is found only if the test assigns it to uib1. The test acts as the helper process, and
 * time is virtual.
 */

struct rig {
	struct ctl_rig c;
	struct inst_host host;
	struct inst_iface iface[2];
	struct netdev_helper helper;
	int served; /* the helper's end of the socket */
	struct helper_req req; /* the latest request to the helper */
};

static int add_iface(struct rig *r, unsigned int k)
{
	struct conf_port where = { .fabric = "lab", .port = 1 };
	struct inst_iface *i = &r->iface[k];
	char err[INST_ERR_MAX];

	snprintf(where.node, sizeof(where.node), "Hca%u", k + 1);
	snprintf(i->name, sizeof(i->name), "uib%u", k);
	i->inst = &r->c.in;
	i->host = &r->host;
	i->ifindex = (int)(7 + k);
	i->ifc.pkey = 0xffff;
	list_add_tail(&r->c.in.ifaces, &i->link);
	list_add_tail(&r->host.ifaces, &i->on_host);
	return port_get(&r->c.in, &where, &i->port, err);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int s[2];

	if (!r || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, s))
		return -1;
	if (ctl_rig_init(&r->c))
		return -1;
	r->helper.sock = s[0];
	r->helper.pidfd = -1;
	r->served = s[1];
	helper_jobs_init(&r->helper);
	r->c.in.helper = r->host.helper = &r->helper;
	r->host.inst = &r->c.in;
	r->host.ns = 1;
	snprintf(r->host.name, sizeof(r->host.name), "h1");
	list_init(&r->host.ifaces);
	rtnl_attach(&r->host.rtnl, -1);
	*state = r;
	if (cmd_rig_fabric(&r->c.in) || add_iface(r, 0) || add_iface(r, 1))
		return -1;
	r->c.peer = ctl_rig_client(&r->c);
	cmd_rig_run_for(&r->c, NS_SEC(1));
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	struct inst_port *p, *next;

	ctl_rig_drop_clients(&r->c);
	for (unsigned int k = 0; k < 2; k++) {
		list_del(&r->iface[k].link);
		list_del(&r->iface[k].on_host);
	}
	list_for_each_safe (p, next, &r->c.in.ports, link)
		port_close(p);
	helper_jobs_fini(&r->helper);
	close(r->helper.sock);
	close(r->served);
	ctl_rig_fini(&r->c);
	free(r);
	return 0;
}

/* --- talking */

static void ask(int sock, const char *cmd, const char *args)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "{\"v\":1,\"cmd\":\"%s\",\"args\":{%s}}\n", cmd, args);

	assert_int_equal(send(sock, text, (size_t)n, MSG_NOSIGNAL), n);
}

static void send_to(int sock, const char *args)
{
	ask(sock, "path get", args);
}

/* Return the text that has arrived at @sock; "" if no text has arrived */
static const char *heard(int sock)
{
	static char text[4096];
	ssize_t n = recv(sock, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void ends(struct rig *r, int sock, const char *what)
{
	const char *text = heard(sock);

	if (!strstr(text, what))
		fail_msg("'%s' does not say '%s'", text, what);
}

static bool next_request(struct rig *r)
{
	return recv(r->served, &r->req, sizeof(r->req), 0) == sizeof(r->req);
}

static void helper_answers(struct rig *r, int err, const char *text)
{
	struct helper_rsp rsp = { .seq = r->req.seq, .err = err };

	snprintf(rsp.text, sizeof(rsp.text), "%s", text);
	assert_int_equal(send(r->served, &rsp, sizeof(rsp), 0), sizeof(rsp));
	assert_int_equal(netdev_helper_dispatch(&r->helper), 0);
}

static void give_address(struct rig *r)
{
	r->iface[1].addr[0] = (struct conf_addr){ 4, 24, { 10, 4, 0, 2 } };
	r->iface[1].naddrs = 1;
}

#define ADDRESS "\"address\":\"10.4.0.2\",\"dev\":\"uib0\""

/* --- resolving */

static void test_path_get_resolves_and_then_asks_the_SA(void **state)
{
	struct rig *r = *state;

	send_to(r->c.peer, ADDRESS);
	ctl_rig_spin(&r->c);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_NEIGH_USE);
	helper_answers(r, 0, "");
	give_address(r);
	cmd_rig_run_for(&r->c, NS_SEC(1));
	ends(r, r->c.peer, "\"record\":");
}

/*
 * The kernel knows the address before the helper handles the request to resolve the address. The
 * refusal that the helper then sends must not end the client's query.
 */
static void test_path_get_a_late_refusal_of_the_helper_is_of_no_matter(void **state)
{
	struct rig *r = *state;

	send_to(r->c.peer, ADDRESS);
	ctl_rig_spin(&r->c);
	assert_true(next_request(r));
	give_address(r);
	r->c.now += NS_MSEC(20);
	ctl_rig_spin(&r->c);
	assert_string_equal(heard(r->c.peer),
			    ""); /* the SA has got the query, but its answer has not arrived */
	helper_answers(r, -ENODEV, "resolving: No such device");
	cmd_rig_run_for(&r->c, NS_SEC(1));
	ends(r, r->c.peer, "\"record\":");
}

static void test_path_get_the_helper_refuses(void **state)
{
	struct rig *r = *state;

	send_to(r->c.peer, ADDRESS);
	ctl_rig_spin(&r->c);
	assert_true(next_request(r));
	helper_answers(r, -ENODEV, "resolving: No such device");
	ctl_rig_spin(&r->c);
	ends(r, r->c.peer, "resolving: No such device\",\"errno\":\"ENODEV\"");
}

/* --- errors */

static void test_H33_path_get_says_which_error(void **state)
{
	static const struct {
		const char *args, *want;
	} bad[] = {
		{ "\"address\":\"10.4.0.2\",\"dev\":\"uib9\"", "ENODEV" },
		{ "\"address\":\"10.4.0.2\",\"host\":\"h9\"", "ENODEV" },
		{ "\"dev\":\"uib0\"", "EINVAL" },
		{ "\"address\":\"10.4.0\",\"dev\":\"uib0\"", "EINVAL" },
		{ "\"address\":\"0.0.0.0\",\"dev\":\"uib0\"", "EADDRNOTAVAIL" },
		{ "\"address\":\"127.0.0.1\",\"dev\":\"uib0\"", "EADDRNOTAVAIL" },
		{ "\"address\":\"224.0.0.1\",\"dev\":\"uib0\"", "EADDRNOTAVAIL" },
		{ "\"address\":\"255.255.255.255\",\"dev\":\"uib0\"", "EADDRNOTAVAIL" },
		{ "\"address\":\"::\",\"dev\":\"uib0\"", "EADDRNOTAVAIL" },
		{ "\"address\":\"::1\",\"dev\":\"uib0\"", "EADDRNOTAVAIL" },
		{ "\"address\":\"ff02::1\",\"dev\":\"uib0\",\"ip\":true", "EADDRNOTAVAIL" },
	};
	struct rig *r = *state;
	char want[32];

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		send_to(r->c.peer, bad[i].args);
		ctl_rig_spin(&r->c);
		snprintf(want, sizeof(want), "\"errno\":\"%s\"", bad[i].want);
		ends(r, r->c.peer, want);
	}
}

static void test_H33_path_get_nobody_has_the_address(void **state)
{
	struct rig *r = *state;

	send_to(r->c.peer, ADDRESS);
	ctl_rig_spin(&r->c);
	assert_true(next_request(r));
	helper_answers(r, 0, "");
	cmd_rig_run_for(&r->c, NS_SEC(5));
	ends(r, r->c.peer, "nobody on the link has it\",\"errno\":\"ENXIO\"");
}

/*
 * First the SA answers that no port has the address. Then the test takes the link down, so the SA
 * does not answer.
 */
static void test_H33_path_get_the_SA_fails(void **state)
{
	struct rig *r = *state;

	send_to(r->c.peer, "\"address\":\"fe80::dead:beef\",\"dev\":\"uib0\"");
	cmd_rig_run_for(&r->c, NS_SEC(1));
	ends(r, r->c.peer, "\"errno\":\"EHOSTUNREACH\"");
	assert_int_equal(
		fabric_link_set(fabric_node_port(r->iface[0].port->node, 1), false, r->c.now), 0);
	cmd_rig_run_for(&r->c, NS_SEC(1));
	send_to(r->c.peer, "\"address\":\"fe80::dead:bee0\",\"dev\":\"uib0\"");
	cmd_rig_run_for(&r->c, NS_SEC(100));
	ends(r, r->c.peer, "\"errno\":\"ENETDOWN\"");
}

/* --- many clients */

static void test_path_get_leaves_half_of_the_clients_to_commands(void **state)
{
	enum { HALF = CTL_CLIENTS_MAX / 2 };
	struct rig *r = *state;
	int fd[HALF], other[HALF - 1];

	for (int i = 0; i < HALF; i++) {
		fd[i] = ctl_rig_client(&r->c);
		assert_true(fd[i] >= 0);
		send_to(fd[i], ADDRESS);
		shutdown(fd[i], SHUT_WR);
		ctl_rig_spin(&r->c);
		assert_string_equal(heard(fd[i]), "");
	}
	send_to(r->c.peer, ADDRESS);
	ctl_rig_spin(&r->c);
	ends(r, r->c.peer, "path get: 32 requests wait already\",\"errno\":\"EBUSY\"");
	for (int i = 0; i < HALF - 1; i++) {
		other[i] = ctl_rig_client(&r->c);
		assert_true(other[i] >= 0);
	}
	/*
	 * When one of the waiting clients has closed its connection, the server must accept the
	 * request of another client.
	 */
	close(fd[0]);
	ctl_rig_spin(&r->c);
	send_to(r->c.peer, ADDRESS);
	ctl_rig_spin(&r->c);
	assert_string_equal(heard(r->c.peer), "");
	for (int i = 1; i < HALF; i++) {
		close(fd[i]);
		close(other[i - 1]);
	}
	ctl_rig_spin(&r->c);
}

/*
 * A program sends a request, and shuts down its sending side. When the server has sent the answer,
 * the program must no longer count against the limit of clients, even if it has not read the
 * answer.
 */
static void test_path_get_an_answered_question_takes_no_place(void **state)
{
	struct rig *r = *state;
	unsigned int before = r->c.ctl.control.nclients;
	int fd = ctl_rig_client(&r->c);

	send_to(fd, ADDRESS);
	shutdown(fd, SHUT_WR);
	ctl_rig_spin(&r->c);
	assert_int_equal(r->c.ctl.control.nclients, before + 1);
	give_address(r);
	cmd_rig_run_for(&r->c, NS_SEC(1));
	assert_int_equal(r->c.ctl.control.nclients, before);
	ends(r, fd, "\"record\":");
	close(fd);
}

/* --- interfaces on a port that belongs to no soft fabric */

static void test_a_port_of_no_soft_fabric(void **state)
{
	struct rig *r = *state;
	struct inst_fabric *fab = r->iface[0].port->fab;

	r->iface[0].port->fab = NULL;
	r->iface[0].host = r->iface[1].host = &r->host;
	ask(r->c.peer, "trace", "\"from\":\"uib0\",\"to\":\"uib1\",\"family\":4");
	ctl_rig_spin(&r->c);
	ends(r, r->c.peer,
	     "uib0@h1: the port Hca1/1 is none of a soft fabric, so nothing shows the way of its "
	     "packets");
	/*
	 * The test assigns the requested address to uib1. The port of uib1 belongs to a soft
	 * fabric, but the port of uib0 belongs to none here. So `path get` on uib0 must not take
	 * uib1 as the owner of the address.
	 */
	give_address(r);
	send_to(r->c.peer, ADDRESS);
	ctl_rig_spin(&r->c);
	assert_true(next_request(r));
	assert_int_equal(r->req.op, HELPER_NEIGH_USE);
	helper_answers(r, -ENODEV, "resolving: No such device");
	cmd_rig_run_for(&r->c, NS_SEC(5));
	ends(r, r->c.peer, "ENODEV");
	r->iface[0].port->fab = fab;
}

/* --- path show */

#define PATHS 1000

static void on_path(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now)
{
	(void)w, (void)status, (void)rec, (void)now;
}

/* Makes the cache of uib0's port know PATHS paths, all of which failed, because no port has such a GID. */
static void fill_cache(struct rig *r)
{
	struct sac *sac = r->iface[0].port->ifc.sac;
	static struct sac_path_wait wait[PATHS];
	struct ib_path_rec rec;

	for (unsigned int k = 0; k < PATHS; k++) {
		struct sac_path_key key = { .sgid = sac_port(sac)->gid, .pkey = 0xffff };

		key.dgid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x1000 + k);
		wait[k] = (struct sac_path_wait){ .done = on_path };
		assert_int_equal(sac_path_get(sac, &key, &wait[k], &rec, r->c.now), -EINPROGRESS);
	}
	cmd_rig_run_for(&r->c, NS_SEC(1));
}

static size_t rows_now(struct ctl_rig *c, int peer, json_t *rows, json_t **ret_end)
{
	size_t before = json_array_size(rows);
	int other = c->peer;

	c->peer = peer;
	*ret_end = cmd_rig_collect(c, rows);
	c->peer = other;
	return json_array_size(rows) - before;
}

/* All clients together get one slice in 2 ms, and take turns. */
static void test_path_show_sends_a_large_cache_in_slices(void **state)
{
	struct rig *r = *state;
	int peer[2] = { r->c.peer, ctl_rig_client(&r->c) };
	json_t *rows[2] = { json_array(), json_array() }, *end[2] = { NULL };
	unsigned int turns = 0;

	fill_cache(r);
	for (unsigned int k = 0; k < 2; k++)
		ask(peer[k], "path show", "");
	while (!end[0] || !end[1]) {
		size_t got[2] = { 0 };

		cmd_rig_settle(&r->c);
		for (unsigned int k = 0; k < 2; k++)
			if (!end[k])
				got[k] = rows_now(&r->c, peer[k], rows[k], &end[k]);
		assert_true(!got[0] || !got[1]);
		assert_in_range(got[0] + got[1], 0, 100);
		/* the first client asks first, and so it may be two slices ahead */
		assert_in_range(json_array_size(rows[0]) + 200 - json_array_size(rows[1]), 0, 400);
		turns += got[0] || got[1];
		r->c.now += NS_MSEC(2);
	}
	assert_in_range(turns, 2 * PATHS / 100, 2 * PATHS / 32);
	for (unsigned int k = 0; k < 2; k++) {
		assert_int_equal(json_integer_value(json_object_get(end[k], "status")),
				 PROTO_EXIT_OK);
		assert_int_equal(cmd_rows_count(rows[k], "state", "failed"), PATHS);
		json_decref(rows[k]);
		json_decref(end[k]);
	}
	close(peer[1]);
}

/* The port that is being shown is closed between two slices; the answer goes on with the next port. */
static void test_path_show_a_port_is_closed_in_the_middle(void **state)
{
	struct rig *r = *state;
	json_t *rows = json_array(), *end;
	size_t shown;

	fill_cache(r);
	send_to(r->c.peer, "\"address\":\"fe80::1\",\"dev\":\"uib1\"");
	cmd_rig_run_for(&r->c, NS_SEC(1));
	heard(r->c.peer);
	cmd_rig_request(&r->c, "path show", NULL);
	assert_null(cmd_rig_collect(&r->c, rows));
	shown = json_array_size(rows);
	assert_in_range(shown, 1, 100);
	assert_int_equal(cmd_rows_count(rows, "port", "Hca1/1"), shown);
	list_del(&r->iface[0].link);
	port_close(r->iface[0].port);
	cmd_rig_run_for(&r->c, NS_SEC(1));
	end = cmd_rig_collect(&r->c, rows);
	assert_non_null(end);
	assert_int_equal(cmd_rows_count(rows, "port", "Hca1/1"), shown);
	assert_int_equal(cmd_rows_count(rows, "port", "Hca2/1"), 1);
	json_decref(rows);
	json_decref(end);
}

static size_t rows_of(struct rig *r, const char *dev, const char *port)
{
	json_t *rows = json_array(), *end;
	size_t n;

	cmd_rig_request(&r->c, "path show", json_pack("{s:s}", "dev", dev));
	cmd_rig_run_for(&r->c, NS_SEC(1));
	end = cmd_rig_collect(&r->c, rows);
	assert_non_null(end);
	n = cmd_rows_count(rows, "port", port);
	assert_int_equal(json_array_size(rows), n);
	json_decref(rows);
	json_decref(end);
	return n;
}

static void test_path_show_of_one_interface(void **state)
{
	struct rig *r = *state;

	fill_cache(r);
	send_to(r->c.peer, "\"address\":\"fe80::1\",\"dev\":\"uib1\"");
	cmd_rig_run_for(&r->c, NS_SEC(1));
	heard(r->c.peer);
	assert_int_equal(rows_of(r, "uib0", "Hca1/1"), PATHS);
	assert_int_equal(rows_of(r, "uib1", "Hca2/1"), 1);
}

/*
 * A client reads less than it gets. Its buffer has what it has not read yet, and not the whole answer; all rows arrive
 * complete, because each line is read as JSON.
 */
static void test_path_show_to_a_slow_client_needs_little_memory(void **state)
{
	struct rig *r = *state;
	static char got[1 << 20];
	size_t len = 0, rows = 0, cap = 0;
	struct ctl_client *c;
	int s[2], small = 4096;

	fill_cache(r);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	assert_int_equal(setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	assert_int_equal(ctl_client_add(&r->c.ctl.control, s[0]), 0);
	c = list_entry(r->c.ctl.clients.prev, struct ctl_client, link);
	ask(s[1], "path show", "");
	while (!memmem(got, len, "\"end\"", 5)) {
		size_t upto = len + 20000;

		cmd_rig_settle(&r->c);
		if (cap < c->out_cap)
			cap = c->out_cap;
		while (len < upto) {
			ssize_t n = recv(s[1], got + len, upto - len, 0);

			if (n <= 0)
				break;
			len += (size_t)n;
			cmd_rig_settle(&r->c);
		}
		r->c.now += NS_MSEC(2);
	}
	for (char *line = got, *nl; (nl = memchr(line, '\n', len - (size_t)(line - got)));
	     line = nl + 1) {
		json_t *o = json_loadb(line, (size_t)(nl - line), 0, NULL);

		assert_non_null(o);
		rows += json_object_get(o, "row") != NULL;
		json_decref(o);
	}
	assert_int_equal(rows, PATHS);
	assert_in_range(cap, 1, len / 2);
	close(s[1]);
}

static void test_path_show_a_client_leaves_in_the_middle(void **state)
{
	struct rig *r = *state;
	json_t *rows = json_array();
	unsigned int before = r->c.ctl.control.nclients;

	fill_cache(r);
	cmd_rig_request(&r->c, "path show", NULL);
	assert_null(cmd_rig_collect(&r->c, rows));
	close(r->c.peer);
	r->c.peer = -1;
	cmd_rig_run_for(&r->c, NS_SEC(1));
	assert_int_equal(r->c.ctl.control.nclients, before - 1);
	json_decref(rows);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_path_get_resolves_and_then_asks_the_SA),
		CASE(test_path_get_a_late_refusal_of_the_helper_is_of_no_matter),
		CASE(test_path_get_the_helper_refuses),
		CASE(test_H33_path_get_says_which_error),
		CASE(test_H33_path_get_nobody_has_the_address),
		CASE(test_H33_path_get_the_SA_fails),
		CASE(test_path_get_leaves_half_of_the_clients_to_commands),
		CASE(test_path_get_an_answered_question_takes_no_place),
		CASE(test_a_port_of_no_soft_fabric),
		CASE(test_path_show_sends_a_large_cache_in_slices),
		CASE(test_path_show_a_port_is_closed_in_the_middle),
		CASE(test_path_show_of_one_interface),
		CASE(test_path_show_to_a_slow_client_needs_little_memory),
		CASE(test_path_show_a_client_leaves_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
