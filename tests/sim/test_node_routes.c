/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node/node.h"
#include "util/list.h"

/*
 * Nodes are joined directly by links with a delay of one microsecond; there is no fabric. SMPs with
 * directed routes, LID routes and combined routes cross the chain from end to end and back.
 *
 *	CA A --- 1 S1 2 --- 1 S2 2 --- ... --- 1 Sn 2 --- CA B
 *
 * LIDs: 1 (A), 2 .. n+1 (S1 .. Sn), n+2 (B).
 */

#define MAX_SWITCHES 63
#define MAX_NODES (MAX_SWITCHES + 2)
#define WIRE NS_USEC(1)

struct net;

struct end {
	struct net *net;
	unsigned int index;
	struct node n;
};

struct packet {
	struct timer timer;
	struct net *net;
	struct list link;
	unsigned int to; /* index of the node at which the packet arrives */
	uint8_t port; /* port at which the packet arrives */
	struct mad_addr addr; /* address as the sender gave it */
	uint16_t slid;
	uint8_t mad[MAD_LEN];
};

static struct net {
	struct timers timers;
	struct log_sink log;
	ns_t now;
	unsigned int nswitches, nnodes;
	struct end end[MAX_NODES];
	struct list packets;
	unsigned int crossed; /* number of links that all packets together have crossed */
	struct mad_agent *agent;
} net;

static uint16_t lid_of(unsigned int index)
{
	return (uint16_t)(index + 1);
}

static void link_send(struct net *w, unsigned int from, uint8_t port, const struct mad_addr *to,
		      uint16_t slid, const uint8_t *mad);

/* Forward a LID-routed packet from node @at along the chain towards its DLID. */
static void lid_forward(struct net *w, unsigned int at, const struct mad_addr *to, uint16_t slid,
			const uint8_t *mad)
{
	uint8_t port = lid_of(at) < to->lid ? 2 : 1;

	if (at == 0 || at == w->nnodes - 1)
		port = 1;
	link_send(w, at, port, to, slid, mad);
}

static void deliver(struct net *w, const struct packet *p)
{
	struct end *e = &w->end[p->to];
	struct mad_addr from = p->addr;
	uint8_t mad[MAD_LEN];

	memcpy(mad, p->mad, sizeof(mad));
	if (p->addr.lid != IB_LID_PERMISSIVE && p->addr.lid != lid_of(p->to)) {
		assert_true(node_is_switch(&e->n));
		lid_forward(w, p->to, &p->addr, p->slid, mad);
		return;
	}
	from.lid = p->slid;
	from.qpn = p->addr.qp;
	from.port = p->port;
	node_mad_rx(&e->n, p->port, &from, mad, w->now);
}

static void packet_arrive(struct timer *t, ns_t now)
{
	struct packet *p = container_of(t, struct packet, timer);
	struct packet copy = *p;

	(void)now;
	list_del(&p->link);
	free(p);
	deliver(copy.net, &copy);
}

static void link_send(struct net *w, unsigned int from, uint8_t port, const struct mad_addr *to,
		      uint16_t slid, const uint8_t *mad)
{
	struct packet *p = calloc(1, sizeof(*p));
	bool up = from == w->nnodes - 1 || (from != 0 && port == 1);

	assert_non_null(p);
	assert_true(port == 1 || (port == 2 && node_is_switch(&w->end[from].n)));
	p->net = w;
	p->to = up ? from - 1 : from + 1;
	p->port = up && p->to != 0 ? 2 : 1;
	p->addr = *to;
	p->slid = slid;
	memcpy(p->mad, mad, MAD_LEN);
	w->crossed++;
	list_add_tail(&w->packets, &p->link);
	timer_init(&p->timer, packet_arrive);
	timer_arm(&w->timers, &p->timer, w->now + WIRE);
}

static int xmit(void *ctx, uint8_t egress, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct end *e = ctx;
	bool is_switch = node_is_switch(&e->n);
	uint16_t slid = e->n.port[is_switch ? 0 : 1].pi.lid;

	(void)now;
	if (to->lid == IB_LID_PERMISSIVE)
		link_send(e->net, e->index, egress, to, IB_LID_PERMISSIVE, mad);
	else
		lid_forward(e->net, e->index, to, slid, mad);
	return 0;
}

static void event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	(void)ctx;
	(void)port;
	(void)ev;
	(void)now;
}

static const struct node_ops ops = { .xmit = xmit, .event = event };

static void run(ns_t for_ns)
{
	ns_t end = net.now + for_ns, next;

	while ((next = timers_next(&net.timers)) <= end) {
		if (next > net.now)
			net.now = next;
		timers_run(&net.timers, net.now);
	}
	net.now = end;
}

static void node_make(unsigned int i)
{
	bool is_switch = i > 0 && i <= net.nswitches;
	uint64_t guid = 0x100 + i;
	struct node_cfg cfg = {
		.type = is_switch ? IB_NODE_SWITCH : IB_NODE_CA,
		.nports = is_switch ? 2 : 1,
		.node_guid = guid,
		.port_guids = &guid,
		.desc = "node",
	};
	struct end *e = &net.end[i];

	e->net = &net;
	e->index = i;
	assert_int_equal(node_init(&e->n, &cfg, &ops, e, &net.timers, &net.log), 0);
	for (uint8_t p = 1; p <= cfg.nports; p++)
		node_link(&e->n, p, true, net.now);
	e->n.port[is_switch ? 0 : 1].pi.lid = lid_of(i);
}

static void net_up(unsigned int nswitches)
{
	struct mad_agent_cfg c = { .mgmt_class = MAD_CLASS_SM_LID, .class_version = 1 };

	memset(&net, 0, sizeof(net));
	timers_init(&net.timers);
	list_init(&net.packets);
	net.nswitches = nswitches;
	net.nnodes = nswitches + 2;
	for (unsigned int i = 0; i < net.nnodes; i++)
		node_make(i);
	assert_int_equal(mad_agent_add(net.end[0].n.port[1].ep, &c, &net.agent), 0);
}

static void net_down(void)
{
	for (unsigned int i = 0; i < net.nnodes; i++)
		node_fini(&net.end[i].n);
	while (!list_empty(&net.packets)) {
		struct packet *p = list_first(&net.packets, struct packet, link);

		timer_cancel(&net.timers, &p->timer);
		list_del(&p->link);
		free(p);
	}
	assert_int_equal(timers_next(&net.timers), NS_NEVER);
	timers_fini(&net.timers);
}

static struct answer {
	unsigned int calls;
	int status;
	uint16_t mad_status;
	uint64_t guid;
	uint8_t local_port;
	uint8_t return_path[64];
} ans;

static void done(void *ctx, int status, const struct mad_addr *from, const void *mad, size_t len,
		 ns_t now)
{
	struct smp_node_info i;

	(void)ctx;
	(void)from;
	(void)len;
	(void)now;
	ans.calls++;
	ans.status = status;
	if (status)
		return;
	ans.mad_status = mad_status(mad);
	assert_int_equal(((const uint8_t *)mad)[SMP_OFF_HOP_PTR], 0);
	assert_int_equal(smp_node_info_decode(&i, (const uint8_t *)mad + SMP_DATA_OFF, 64), 0);
	ans.guid = i.node_guid;
	ans.local_port = i.local_port;
	memcpy(ans.return_path, (const uint8_t *)mad + SMP_OFF_RETURN_PATH, 64);
}

/* Returns the directed route from A to the node that is @hops links away along the chain. */
static struct smp_dr dr_to(unsigned int hops)
{
	struct smp_dr dr = { .dr_slid = IB_LID_PERMISSIVE, .dr_dlid = IB_LID_PERMISSIVE };

	for (unsigned int i = 1; i <= hops; i++)
		dr.initial_path[i] = i == 1 ? 1 : 2;
	return dr;
}

static void ask(uint8_t mgmt_class, unsigned int hops, const struct smp_dr *dr, struct mad_addr to)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		.class_specific = (uint16_t)hops,
		.attr_id = SMP_ATTR_NODE_INFO,
	};
	uint8_t mad[MAD_LEN];
	struct mad_req req = {
		.to = to,
		.mad = mad,
		.len = sizeof(mad),
		.timeout_ms = 100,
		.done = done,
	};

	smp_encode(mad, &h, dr, NULL);
	memset(&ans, 0, sizeof(ans));
	net.crossed = 0;
	assert_int_equal(mad_request(net.agent, &req, NULL, net.now), 0);
	assert_int_equal(ans.calls, 0);
	run(NS_SEC(1));
	assert_int_equal(ans.calls, 1);
}

static void test_I1_walk_to_every_hop_and_back(void **state)
{
	(void)state;
	net_up(8);
	for (unsigned int hops = 1; hops <= 9; hops++) {
		struct smp_dr dr = dr_to(hops);

		ask(MAD_CLASS_SM_DR, hops, &dr, mad_addr_smp_dr());
		assert_int_equal(ans.status, 0);
		assert_int_equal(ans.mad_status, MAD_STATUS_DR_D);
		assert_int_equal(ans.guid, 0x100 + hops);
		assert_int_equal(ans.local_port, 1);
		assert_int_equal(net.crossed, 2 * hops);
		for (unsigned int i = 1; i <= hops; i++)
			assert_int_equal(ans.return_path[i], 1);
	}
	net_down();
}

static void test_I1_hop_count_63_works_and_64_does_not(void **state)
{
	struct smp_dr dr = dr_to(63);

	(void)state;
	net_up(63);
	ask(MAD_CLASS_SM_DR, 63, &dr, mad_addr_smp_dr());
	assert_int_equal(ans.status, 0);
	assert_int_equal(ans.guid, 0x100 + 63);
	ask(MAD_CLASS_SM_DR, 64, &dr, mad_addr_smp_dr());
	assert_int_equal(ans.status, -ETIMEDOUT);
	assert_int_equal(net.crossed, 0);
	net_down();
}

static void test_I1_forwarding_through_a_ca_is_discarded(void **state)
{
	struct smp_dr dr = dr_to(4);

	(void)state;
	net_up(2);
	ask(MAD_CLASS_SM_DR, 4, &dr, mad_addr_smp_dr());
	assert_int_equal(ans.status, -ETIMEDOUT);
	assert_int_equal(net.crossed, 3);
	assert_int_equal(net.end[3].n.dropped, 1);
	net_down();
}

static void test_I1_ports_that_do_not_exist_or_are_down(void **state)
{
	static const uint8_t bad[] = { 0, 3, 255 };
	struct smp_dr dr;

	(void)state;
	net_up(3);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		dr = dr_to(3);
		dr.initial_path[2] = bad[i];
		ask(MAD_CLASS_SM_DR, 3, &dr, mad_addr_smp_dr());
		assert_int_equal(ans.status, -ETIMEDOUT);
		assert_int_equal(net.crossed, 1);
		assert_int_equal(net.end[1].n.dropped, i + 1);
	}
	/*
	 * The route names port 2 of the CA A, which has only one port, so A must not send the SMP.
	 */
	dr = dr_to(3);
	dr.initial_path[1] = 2;
	ask(MAD_CLASS_SM_DR, 3, &dr, mad_addr_smp_dr());
	assert_int_equal(ans.status, -ETIMEDOUT);
	assert_int_equal(net.crossed, 0);
	dr = dr_to(3);
	node_link(&net.end[2].n, 2, false, net.now);
	ask(MAD_CLASS_SM_DR, 3, &dr, mad_addr_smp_dr());
	assert_int_equal(ans.status, -ETIMEDOUT);
	assert_int_equal(net.crossed, 2);
	assert_int_equal(net.end[2].n.dropped, 1);
	net_down();
}

static void test_I1_return_into_a_port_that_went_down(void **state)
{
	struct smp_dr dr = dr_to(3);

	(void)state;
	net_up(3);
	/*
	 * The request arrives, but the route of the response leads to a port that is Down, so the
	 * response is dropped.
	 */
	net.end[2].n.port[1].pi.port_state = IB_PORT_DOWN;
	ask(MAD_CLASS_SM_DR, 3, &dr, mad_addr_smp_dr());
	assert_int_equal(ans.status, -ETIMEDOUT);
	assert_int_equal(net.end[2].n.dropped, 1);
	net_down();
}

static void test_I2_no_hops_reaches_the_own_sma(void **state)
{
	struct smp_dr dr = dr_to(0);

	(void)state;
	net_up(1);
	ask(MAD_CLASS_SM_DR, 0, &dr, mad_addr_smp_dr());
	assert_int_equal(ans.status, 0);
	assert_int_equal(ans.guid, 0x100);
	assert_int_equal(ans.local_port, 1);
	assert_int_equal(net.crossed, 0);
	net_down();
}

static void test_I2_no_hops_on_a_switch(void **state)
{
	struct mad_agent_cfg c = { .mgmt_class = MAD_CLASS_SM_LID, .class_version = 1 };
	struct smp_dr dr = dr_to(0), one = dr_to(1);

	(void)state;
	net_up(1);
	assert_int_equal(mad_agent_add(net.end[1].n.port[0].ep, &c, &net.agent), 0);
	ask(MAD_CLASS_SM_DR, 0, &dr, mad_addr_smp_dr());
	assert_int_equal(ans.status, 0);
	assert_int_equal(ans.guid, 0x101);
	assert_int_equal(ans.local_port, 0);
	/*
	 * A switch sends an SMP whose route begins at its port 0. The SMP must leave by the port
	 * that the route names.
	 */
	one.initial_path[1] = 2;
	ask(MAD_CLASS_SM_DR, 1, &one, mad_addr_smp_dr());
	assert_int_equal(ans.guid, 0x102);
	net_down();
}

static void test_I2_lid_routed(void **state)
{
	struct smp_dr dr = { 0 };

	(void)state;
	net_up(4);
	for (unsigned int i = 1; i < net.nnodes; i++) {
		ask(MAD_CLASS_SM_LID, 0, &dr, mad_addr_smp_lid(lid_of(i)));
		assert_int_equal(ans.status, 0);
		assert_int_equal(ans.mad_status, 0);
		assert_int_equal(ans.guid, 0x100 + i);
		assert_int_equal(net.crossed, 2 * i);
	}
	net_down();
}

/* The SMP is LID-routed from A to S2, and then takes two directed hops to S4. */
static void test_I2_lid_routed_part_first(void **state)
{
	struct smp_dr dr = { .dr_slid = lid_of(0), .dr_dlid = IB_LID_PERMISSIVE };

	(void)state;
	net_up(5);
	dr.initial_path[1] = dr.initial_path[2] = 2;
	ask(MAD_CLASS_SM_DR, 2, &dr, mad_addr_smp_lid(lid_of(2)));
	assert_int_equal(ans.status, 0);
	assert_int_equal(ans.guid, 0x104);
	assert_int_equal(net.crossed, 8);
	net_down();
}

/* The SMP takes two directed hops from A to S2, and is then LID-routed to B. */
static void test_I2_lid_routed_part_last(void **state)
{
	struct smp_dr dr = dr_to(2);

	(void)state;
	net_up(5);
	dr.dr_dlid = lid_of(6);
	ask(MAD_CLASS_SM_DR, 2, &dr, mad_addr_smp_dr());
	assert_int_equal(ans.status, 0);
	assert_int_equal(ans.guid, 0x106);
	assert_int_equal(net.crossed, 12);
	net_down();
}

/*
 * The SMP is LID-routed from A to S2, takes two directed hops to S4, and is then LID-routed to B.
 */
static void test_I2_directed_part_in_the_middle(void **state)
{
	struct smp_dr dr = { .dr_slid = lid_of(0), .dr_dlid = lid_of(6) };

	(void)state;
	net_up(5);
	dr.initial_path[1] = dr.initial_path[2] = 2;
	ask(MAD_CLASS_SM_DR, 2, &dr, mad_addr_smp_lid(lid_of(2)));
	assert_int_equal(ans.status, 0);
	assert_int_equal(ans.guid, 0x106);
	assert_int_equal(net.crossed, 12);
	net_down();
}

/*
 * --- traps from end to end (row I15 of CONFORMANCE.md): the SM is at A, and the switch next to B
 * sends a trap
 */

static unsigned int traps_heard;

static void sm_recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	struct mad_agent **a = ctx;
	uint8_t reply[MAD_LEN];

	assert_int_equal(mad_method(mad), MAD_METHOD_TRAP);
	traps_heard++;
	if (traps_heard < 3)
		return;
	memcpy(reply, mad, len);
	smi_make_response(reply, 0);
	assert_int_equal(mad_reply(*a, from, reply, len, now), 0);
}

static void test_I15_trap_reaches_the_sm_and_is_repressed(void **state)
{
	static struct mad_agent *sm;
	struct mad_agent_cfg c = {
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.recv = sm_recv,
		.ctx = &sm,
	};

	(void)state;
	net_up(3);
	mad_agent_cfg_method(&c, MAD_METHOD_TRAP);
	assert_int_equal(mad_agent_add(net.end[0].n.port[1].ep, &c, &sm), 0);
	net.end[3].n.port[0].pi.sm_lid = lid_of(0);
	traps_heard = 0;
	node_link(&net.end[3].n, 2, false, net.now);
	run(NS_SEC(60));
	assert_int_equal(traps_heard, 3);
	assert_int_equal(timers_next(&net.timers), NS_NEVER);
	net_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I1_walk_to_every_hop_and_back),
		cmocka_unit_test(test_I1_hop_count_63_works_and_64_does_not),
		cmocka_unit_test(test_I1_forwarding_through_a_ca_is_discarded),
		cmocka_unit_test(test_I1_ports_that_do_not_exist_or_are_down),
		cmocka_unit_test(test_I1_return_into_a_port_that_went_down),
		cmocka_unit_test(test_I2_no_hops_reaches_the_own_sma),
		cmocka_unit_test(test_I2_no_hops_on_a_switch),
		cmocka_unit_test(test_I2_lid_routed),
		cmocka_unit_test(test_I2_lid_routed_part_first),
		cmocka_unit_test(test_I2_lid_routed_part_last),
		cmocka_unit_test(test_I2_directed_part_in_the_middle),
		cmocka_unit_test(test_I15_trap_reaches_the_sm_and_is_repressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
