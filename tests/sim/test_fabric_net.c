/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole fabrics on virtual time: random topologies with loops, parallel cables and CAs with several
 * ports. Every port sends to every other port, and then links fail under load. The number of a
 * failing seed is printed.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "../unit/fabric_rig.h"
#include "fabric/capture.h"
#include "fabric/fault.h"
#include "util/prng.h"

#define MAX_HOSTS 64
#define SEEDS 24

struct host {
	struct fabric_node *node;
	struct hca_qp *qp;
	uint16_t lid;
	uint8_t port;
	uint64_t got;
};

struct net {
	struct rig r;
	struct host host[MAX_HOSTS];
	unsigned int nhosts;
	struct prng prng;
};

static struct net net;

/* Make one QP on each CA port */
static void add_hosts(void)
{
	for (unsigned int i = 0; i < fabric_nnodes(net.r.f); i++) {
		struct fabric_node *fn = fabric_node_at(net.r.f, i);
		struct hca *h = fabric_node_hca(fn);

		for (unsigned int k = 1; h && k <= hca_node(h)->info.nports; k++) {
			struct hca_qp_attr attr = { .port = (uint8_t)k,
						    .qkey = 0x1b,
						    .rx_depth = 512 };
			struct host *x = &net.host[net.nhosts++];

			assert_true(net.nhosts <= MAX_HOSTS);
			x->node = fn;
			x->port = (uint8_t)k;
			x->lid = hca_node(h)->port[k].pi.lid;
			assert_int_equal(hca_qp_create(h, &attr, x, &x->qp), 0);
		}
	}
}

static void net_init(unsigned int seed, enum hca_crc crc)
{
	struct topo_gen_random g = { .seed = seed,
				     .cas = 6 + seed % 10,
				     .switches = 1 + seed % 8,
				     .max_ca_ports = 1 + seed % 3,
				     .extra_links = seed % 9 };

	memset(&net, 0, sizeof(net));
	net.r.cfg.crc = crc;
	net.r.cfg.seed = seed;
	prng_seed(&net.prng, seed);
	rig_init_topo(&net.r, topo_gen_random(&g));
	rig_configure(&net.r);
	add_hosts();
}

static void net_fini(void)
{
	rig_fini(&net.r);
}

static void drain(struct host *x)
{
	struct hca_wc wc[32];
	unsigned int n;

	while ((n = hca_poll(x->qp, wc, 32))) {
		x->got += n;
		for (unsigned int i = 0; i < n; i++)
			pkt_free(wc[i].pkt);
	}
}

static void drain_all(void)
{
	for (unsigned int i = 0; i < net.nhosts; i++)
		drain(&net.host[i]);
}

static void send_one(const struct host *from, const struct host *to, unsigned int len)
{
	struct hca_ah_attr attr = { .port = from->port, .dlid = to->lid };
	struct hca_send s = { .dest_qp = hca_qp_num(to->qp), .qkey = 0x1b };
	static const uint8_t data[4096];

	assert_int_equal(hca_ah_create(fabric_node_hca(from->node), &attr, &s.ah), 0);
	s.pkt = pkt_from_data(net.r.pool, data, len);
	assert_non_null(s.pkt);
	assert_int_equal(hca_post_send(from->qp, &s, 1, net.r.now), 1);
	hca_ah_destroy(s.ah);
}

static uint64_t all_drops(void)
{
	uint64_t n = 0;

	for (int d = 0; d < FABRIC_DROP_MAX; d++)
		n += fabric_stats(net.r.f)->drops[d];
	return n;
}

static void everybody_to_everybody(enum hca_crc crc)
{
	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		net_init(seed, crc);
		for (unsigned int i = 0; i < net.nhosts; i++) {
			for (unsigned int k = 0; k < net.nhosts; k++)
				send_one(&net.host[i], &net.host[k], prng_below(&net.prng, 4097));
			rig_settle(&net.r);
			drain_all();
		}
		for (unsigned int i = 0; i < net.nhosts; i++) {
			if (net.host[i].got != net.nhosts)
				print_message("seed %u\n", seed);
			assert_int_equal(net.host[i].got, net.nhosts);
		}
		assert_int_equal(all_drops(), 0);
		net_fini();
	}
}

static void test_everybody_reaches_everybody(void **state)
{
	everybody_to_everybody(HCA_CRC_LAZY);
}

static void test_everybody_reaches_everybody_with_crcs(void **state)
{
	everybody_to_everybody(HCA_CRC_FULL);
	everybody_to_everybody(HCA_CRC_ICRC);
}

/*
 * For each cable, check that the port at one end has sent as many words as the port at the other
 * end has received.
 */
static void check_counters(unsigned int seed)
{
	for (unsigned int i = 0; i < fabric_nnodes(net.r.f); i++) {
		struct fabric_node *fn = fabric_node_at(net.r.f, i);
		struct node *n = fabric_node_node(fn);

		for (unsigned int k = 1; k <= n->info.nports; k++) {
			struct fabric_port *peer = fabric_port_peer(fabric_node_port(fn, k));
			const struct node_counters *a = &n->port[k].cnt, *b;

			if (!peer)
				continue;
			b = &fabric_node_node(fabric_port_node(peer))
				     ->port[fabric_port_num(peer)]
				     .cnt;
			if (a->xmit_data != b->rcv_data)
				print_message("seed %u\n", seed);
			assert_int_equal(a->xmit_data, b->rcv_data);
			assert_int_equal(a->xmit_pkts, b->rcv_pkts);
			assert_int_equal(a->ucast_xmit, b->ucast_rcv);
			assert_int_equal(a->mcast_xmit, b->mcast_rcv);
		}
	}
}

static void test_counters_agree_on_both_ends(void **state)
{
	for (unsigned int seed = 100; seed < 110; seed++) {
		net_init(seed, HCA_CRC_LAZY);
		for (unsigned int i = 0; i < 500; i++)
			send_one(&net.host[prng_below(&net.prng, net.nhosts)],
				 &net.host[prng_below(&net.prng, net.nhosts)],
				 prng_below(&net.prng, 2000));
		rig_settle(&net.r);
		check_counters(seed);
		drain_all();
		net_fini();
	}
}

/* Write the MFTs of a multicast tree whose root is the first switch; every CA port is a member. */
static void make_tree(uint16_t mlid, const ib_gid *g)
{
	unsigned int n = fabric_nnodes(net.r.f);

	for (unsigned int i = 0; i < net.nhosts; i++)
		assert_int_equal(hca_attach(net.host[i].qp, g, mlid), 0);
	/*
	 * The links on which unicast packets travel to the first switch form a tree, so use these
	 * links.
	 */
	for (unsigned int i = 0; i < n; i++) {
		struct fabric_node *fn = fabric_node_at(net.r.f, i);
		struct node *nd = fabric_node_node(fn);
		uint16_t root = fabric_node_node(fabric_node_at(net.r.f, 0))->port[0].pi.lid;

		for (unsigned int k = 1; nd->sw && k <= nd->info.nports; k++) {
			struct fabric_port *peer = fabric_port_peer(fabric_node_port(fn, k));
			struct node *pn = peer ? fabric_node_node(fabric_port_node(peer)) : NULL;

			if (!pn)
				continue;
			if (!pn->sw || nd->sw->lft[root] == k ||
			    pn->sw->lft[root] == fabric_port_num(peer))
				node_mft_own(nd->sw)[mlid - 0xc000][k / 64] |= 1ull << k % 64;
		}
	}
}

static void test_multicast_reaches_each_member_once(void **state)
{
	ib_gid g = { { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1 } };

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		net_init(seed, HCA_CRC_LAZY);
		make_tree(0xc007, &g);
		for (unsigned int i = 0; i < net.nhosts; i++) {
			struct host *from = &net.host[i];
			struct hca_ah_attr attr = { .port = from->port,
						    .dlid = 0xc007,
						    .has_grh = true };
			struct hca_send s = { .dest_qp = IB_QPN_MCAST, .qkey = 0x1b };

			attr.dgid = g;
			assert_int_equal(hca_ah_create(fabric_node_hca(from->node), &attr, &s.ah),
					 0);
			s.pkt = pkt_from_data(net.r.pool, "x", 1);
			assert_int_equal(hca_post_send(from->qp, &s, 1, net.r.now), 1);
			hca_ah_destroy(s.ah);
			rig_settle(&net.r);
			drain_all();
		}
		/* Clause I9: the sender is a member and gets a copy of its own packet, too. */
		for (unsigned int i = 0; i < net.nhosts; i++) {
			if (net.host[i].got != net.nhosts)
				print_message("seed %u\n", seed);
			assert_int_equal(net.host[i].got, net.nhosts);
		}
		assert_int_equal(fabric_stats(net.r.f)->drops[FABRIC_DROP_HOPS], 0);
		net_fini();
	}
}

static struct fabric_port *any_cable(void)
{
	for (;;) {
		unsigned int n = prng_below(&net.prng, fabric_nnodes(net.r.f));
		struct fabric_node *fn = fabric_node_at(net.r.f, n);
		unsigned int np = fabric_node_node(fn)->info.nports;
		struct fabric_port *p = fabric_node_port(fn, 1 + prng_below(&net.prng, np));

		if (p && fabric_port_peer(p))
			return p;
	}
}

static void any_fault(void)
{
	static const char *const texts[] = { "loss 20%",      "corrupt 20%",  "damage 20%",
					     "duplicate 20%", "truncate 20%", "reorder 20% 3ms",
					     "delay 2ms 2ms", "cut",	      "stall" };
	struct fault_spec s;
	struct fault_info i;
	char err[64];

	if (prng_below(&net.prng, 2) && fabric_fault_next(net.r.f, 0, &i)) {
		assert_int_equal(fabric_fault_del(net.r.f, i.id, net.r.now), 0);
		return;
	}
	assert_int_equal(
		fault_parse(&s, texts[prng_below(&net.prng, ARRAY_SIZE(texts))], err, sizeof(err)),
		0);
	assert_int_equal(fabric_fault_add(any_cable(), &s, NULL), 0);
}

/*
 * Links fail at random. The fabric must neither leak memory nor hang, and when all links are up
 * again, all packets must arrive.
 */
static void test_chaos(void **state)
{
	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		struct fault_info i;

		net_init(seed, seed % 2 ? HCA_CRC_FULL : HCA_CRC_LAZY);
		for (unsigned int step = 0; step < 200; step++) {
			for (unsigned int k = 0; k < 10; k++)
				send_one(&net.host[prng_below(&net.prng, net.nhosts)],
					 &net.host[prng_below(&net.prng, net.nhosts)],
					 prng_below(&net.prng, 2000));
			if (prng_below(&net.prng, 4) == 0)
				fabric_run(net.r.f, net.r.now);
			if (prng_below(&net.prng, 8) == 0)
				fabric_link_set(any_cable(), prng_below(&net.prng, 2), net.r.now);
			if (prng_below(&net.prng, 8) == 0)
				any_fault();
			rig_pass(&net.r, prng_below(&net.prng, 4000000));
			drain_all();
			rig_configure(&net.r);
		}
		while (fabric_fault_next(net.r.f, 0, &i))
			assert_int_equal(fabric_fault_del(net.r.f, i.id, net.r.now), 0);
		for (unsigned int n = 0; n < fabric_nnodes(net.r.f); n++) {
			struct fabric_node *fn = fabric_node_at(net.r.f, n);

			for (unsigned int k = 1; k <= fabric_node_node(fn)->info.nports; k++)
				fabric_link_set(fabric_node_port(fn, k), true, net.r.now);
		}
		rig_pass(&net.r, NS_SEC(1));
		drain_all();
		rig_configure(&net.r);
		for (unsigned int k = 0; k < net.nhosts; k++)
			net.host[k].got = 0;
		for (unsigned int a = 0; a < net.nhosts; a++)
			send_one(&net.host[a], &net.host[(a + 1) % net.nhosts], 100);
		rig_settle(&net.r);
		drain_all();
		for (unsigned int k = 0; k < net.nhosts; k++) {
			if (net.host[k].got != 1)
				print_message("seed %u host %u\n", seed, k);
			assert_int_equal(net.host[k].got, 1);
		}
		net_fini();
	}
}

/*
 * --- lazy CRCs (computed only when something needs them) must have the same visible results as
 * full CRCs
 */

/*
 * Everything that a run shows: captures of all links, counters of all ports, drops, and the packets
 * that arrived
 */
struct view {
	uint8_t *capture;
	size_t len, size;
	struct node_counters *port;
	size_t nports;
	uint64_t drops[FABRIC_DROP_MAX], hca_drops[HCA_DROP_MAX];
	uint64_t got[MAX_HOSTS];
};

static int view_write(void *ctx, const void *data, size_t len)
{
	struct view *v = ctx;

	if (v->len + len > v->size) {
		v->size = (v->len + len) * 2;
		v->capture = realloc(v->capture, v->size);
		assert_non_null(v->capture);
	}
	memcpy(v->capture + v->len, data, len);
	v->len += len;
	return 0;
}

static bool is_first_end(const struct fabric_port *p)
{
	char a[FABRIC_NAME_MAX], b[FABRIC_NAME_MAX];
	const struct fabric_port *peer = fabric_port_peer(p);

	return peer &&
	       strcmp(fabric_port_name(p, a, sizeof(a)), fabric_port_name(peer, b, sizeof(b))) < 0;
}

/* Record both directions of each cable */
static void capture_all(struct capture *c)
{
	for (unsigned int i = 0; i < fabric_nnodes(net.r.f); i++) {
		struct fabric_node *fn = fabric_node_at(net.r.f, i);

		for (unsigned int k = 1; k <= fabric_node_node(fn)->info.nports; k++) {
			struct fabric_port *p = fabric_node_port(fn, k);

			if (is_first_end(p))
				assert_int_equal(capture_add_link(c, p), 0);
		}
	}
}

static void view_node(struct view *v, struct fabric_node *fn)
{
	const struct node *n = fabric_node_node(fn);

	v->port = realloc(v->port, (v->nports + n->info.nports + 1) * sizeof(*v->port));
	assert_non_null(v->port);
	for (unsigned int k = n->sw ? 0 : 1; k <= n->info.nports; k++)
		v->port[v->nports++] = n->port[k].cnt;
	for (int d = 0; d < HCA_DROP_MAX && fabric_node_hca(fn); d++)
		v->hca_drops[d] += hca_drops(fabric_node_hca(fn), d);
}

static void view_take(struct view *v)
{
	for (unsigned int n = 0; n < fabric_nnodes(net.r.f); n++)
		view_node(v, fabric_node_at(net.r.f, n));
	memcpy(v->drops, fabric_stats(net.r.f)->drops, sizeof(v->drops));
	for (unsigned int k = 0; k < net.nhosts; k++)
		v->got[k] = net.host[k].got;
}

static void view_free(struct view *v)
{
	free(v->capture);
	free(v->port);
}

/* Send a Get of the PMA's ClassPortInfo from a random CA port to a random CA port. */
static void send_mad(void)
{
	struct mad_hdr h = { .base_version = 1,
			     .mgmt_class = MAD_CLASS_PERF,
			     .class_version = 1,
			     .method = MAD_METHOD_GET,
			     .attr_id = MAD_ATTR_CLASS_PORT_INFO };
	const struct host *from = &net.host[prng_below(&net.prng, net.nhosts)];
	struct mad_addr to = mad_addr_gmp(net.host[prng_below(&net.prng, net.nhosts)].lid, 0);
	struct node *n = fabric_node_node(from->node);
	uint8_t mad[MAD_LEN] = { 0 };

	mad_hdr_encode(mad, &h);
	(void)n->ops->xmit(n->ctx, from->port, &to, mad, net.r.now);
}

/*
 * Add the fault "damage" or "corrupt" to 16 random cables. "damage" corrects the VCRC, so its
 * packets are damaged but have a correct VCRC.
 */
static void bad_cables(void)
{
	struct fault_spec s;
	char err[64];

	for (unsigned int i = 0; i < 16; i++) {
		assert_int_equal(
			fault_parse(&s, i % 2 ? "corrupt 20%" : "damage 20%", err, sizeof(err)), 0);
		assert_int_equal(fabric_fault_add(any_cable(), &s, NULL), 0);
	}
}

static void view_run(struct view *v, unsigned int seed, enum hca_crc crc)
{
	struct capture_cfg cfg = { .format = CAPTURE_PCAPNG, .write = view_write, .ctx = v };
	struct capture *c;

	memset(v, 0, sizeof(*v));
	net_init(seed, crc);
	assert_int_equal(capture_create(&c, net.r.f, &cfg), 0);
	capture_all(c);
	bad_cables();
	for (unsigned int step = 0; step < 100; step++) {
		for (unsigned int k = 0; k < 10; k++)
			send_one(&net.host[prng_below(&net.prng, net.nhosts)],
				 &net.host[prng_below(&net.prng, net.nhosts)],
				 prng_below(&net.prng, 2000));
		send_mad();
		if (prng_below(&net.prng, 8) == 0)
			any_fault();
		rig_pass(&net.r, prng_below(&net.prng, 4000000));
		drain_all();
	}
	view_take(v);
	capture_destroy(c);
	net_fini();
}

static void test_lazy_crcs_look_like_full_ones(void **state)
{
	struct view full, lazy;
	uint64_t vcrc = 0, icrc = 0;

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		view_run(&full, seed, HCA_CRC_FULL);
		view_run(&lazy, seed, HCA_CRC_LAZY);
		if (full.len != lazy.len || memcmp(full.capture, lazy.capture, full.len) != 0)
			print_message("seed %u\n", seed);
		assert_int_equal(full.len, lazy.len);
		assert_memory_equal(full.capture, lazy.capture, full.len);
		assert_int_equal(full.nports, lazy.nports);
		assert_memory_equal(full.port, lazy.port, full.nports * sizeof(*full.port));
		assert_memory_equal(full.drops, lazy.drops, sizeof(full.drops));
		assert_memory_equal(full.hca_drops, lazy.hca_drops, sizeof(full.hca_drops));
		assert_memory_equal(full.got, lazy.got, sizeof(full.got));
		vcrc += lazy.drops[FABRIC_DROP_VCRC] + lazy.hca_drops[HCA_DROP_VCRC];
		icrc += lazy.hca_drops[HCA_DROP_ICRC];
		view_free(&full);
		view_free(&lazy);
	}
	assert_in_range(vcrc, 100, UINT64_MAX);
	assert_in_range(icrc, 100, UINT64_MAX);
}

/*
 * --- lengths in words of 4 octets, from LRH to ICRC, of an IPoIB ping of 1000 octets and of a MAD
 */

#define PING_WORDS 266 /* 266 = (8 + 12 + 8 + 4 + 20 + 8 + 1000 + 4) / 4 */
#define MAD_WORDS 72

static const char path_text[] = "Switch 4 \"s1\"\n[1] \"h1\"[1]\n[3] \"s2\"[3]\n"
				"Switch 4 \"s2\"\n[1] \"h2\"[1]\n[3] \"s1\"[3]\n"
				"Ca 1 \"h1\"\n[1] \"s1\"[1]\n"
				"Ca 1 \"h2\"\n[1] \"s2\"[1]\n";

static void net_init_path(enum hca_crc crc)
{
	memset(&net, 0, sizeof(net));
	net.r.cfg.crc = crc;
	rig_init(&net.r, path_text);
	rig_configure(&net.r);
	add_hosts();
}

static void words_are(const char *port, unsigned int xmit, unsigned int rcv)
{
	const struct node_counters *c = &rig_np(&net.r, port)->cnt;

	if (c->xmit_data != xmit || c->rcv_data != rcv)
		fail_msg("%s: %llu sent, %llu received", port, (unsigned long long)c->xmit_data,
			 (unsigned long long)c->rcv_data);
	assert_int_equal(c->xmit_sl[0], xmit);
	assert_int_equal(c->rcv_sl[0], rcv);
}

/*
 * The ping's request and answer cross two switches. Every port on the way must count the same
 * number of words, with full CRCs and with lazy ones.
 */
static void test_a_ping_is_266_words_at_every_port(void **state)
{
	static const enum hca_crc crcs[] = { HCA_CRC_FULL, HCA_CRC_LAZY };
	static const char *const ports[] = { "h1/1", "s1/1", "s1/3", "s2/3", "s2/1", "h2/1" };

	for (unsigned int k = 0; k < ARRAY_SIZE(crcs); k++) {
		net_init_path(crcs[k]);
		for (unsigned int i = 0; i < 3; i++) {
			send_one(&net.host[0], &net.host[1], 1032);
			rig_settle(&net.r);
			send_one(&net.host[1], &net.host[0], 1032);
			rig_settle(&net.r);
		}
		drain_all();
		assert_int_equal(net.host[0].got + net.host[1].got, 6);
		for (unsigned int i = 0; i < ARRAY_SIZE(ports); i++)
			words_are(ports[i], 3 * PING_WORDS, 3 * PING_WORDS);
		words_are("s1/0", 0, 0);
		words_are("s2/0", 0, 0);
		net_fini();
	}
}

/*
 * For a MAD to port 0 of the far switch, and for the answer, port 0 must count as many words as
 * every other port on the way.
 */
static void test_a_mad_is_72_words_at_every_port(void **state)
{
	static const char *const ports[] = { "h1/1", "s1/1", "s1/3", "s2/3", "s2/0" };
	struct node *n;
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_PERF,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		.attr_id = MAD_ATTR_CLASS_PORT_INFO,
	};
	struct mad_addr to;
	uint8_t mad[MAD_LEN] = { 0 };

	net_init_path(HCA_CRC_FULL);
	n = rig_np(&net.r, "h1/1")->node;
	to = mad_addr_gmp(rig_lid(&net.r, "s2/0"), 0);
	mad_hdr_encode(mad, &h);
	assert_int_equal(n->ops->xmit(n->ctx, 1, &to, mad, net.r.now), 0);
	rig_settle(&net.r);
	for (unsigned int i = 0; i < ARRAY_SIZE(ports); i++)
		words_are(ports[i], MAD_WORDS, MAD_WORDS);
	words_are("s1/0", 0, 0);
	words_are("h2/1", 0, 0);
	net_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everybody_reaches_everybody),
		cmocka_unit_test(test_everybody_reaches_everybody_with_crcs),
		cmocka_unit_test(test_counters_agree_on_both_ends),
		cmocka_unit_test(test_a_ping_is_266_words_at_every_port),
		cmocka_unit_test(test_a_mad_is_72_words_at_every_port),
		cmocka_unit_test(test_multicast_reaches_each_member_once),
		cmocka_unit_test(test_chaos),
		cmocka_unit_test(test_lazy_crcs_look_like_full_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
