/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The whole stack on virtual time: random topologies, loss, reordering, links that go and come.
 * A failing seed is named; LAB_SEED=N runs that one alone, LAB_VERBOSE=1 shows what happens.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/all_lab.h"
#include "check.h"
#include "fabric/fault.h"
#include "sm/group.h"
#include "util/prng.h"

#define SEEDS 50

struct msg {
	uint32_t magic, from, to, seq;
};

struct count {
	uint32_t *got; /* [nhosts * nhosts]: from * nhosts + to */
	uint32_t *group; /* by receiver */
	uint32_t n;
	uint32_t wrong;
};

static void on_rx(struct lab *l, struct lab_host *to, const struct ipoib_rx *r, const uint8_t *data,
		  size_t len)
{
	struct count *c = l->ctx;
	struct msg m;

	if (len != sizeof(m)) {
		c->wrong++;
		return;
	}
	memcpy(&m, data, sizeof(m));
	if (m.magic == 0x6d756c74) {
		c->group[to->index]++;
	} else if (m.magic == 0x756e6963 && m.to == to->index && m.from < c->n) {
		c->got[m.from * c->n + m.to]++;
		/* Where the sender is known, it is the right one. */
		if (r->src && r->src->lladdr.qpn != l->host[m.from].addr.qpn)
			c->wrong++;
	} else {
		c->wrong++;
	}
}

static struct topo *random_topo(struct prng *r, uint64_t seed)
{
	struct topo_gen_random g = { .seed = seed };

	g.switches = 1 + prng_below(r, 30);
	g.cas = 2 + prng_below(r, 99);
	g.max_ca_ports = 1 + prng_below(r, 2);
	g.extra_links = prng_below(r, g.switches + 1);
	return topo_gen_random(&g);
}

/* Which hosts the cables that are up connect to the SM's node. */
static void flood(struct lab *l, bool *node_seen, struct fabric_node *from)
{
	unsigned int i = 0;

	while (fabric_node_at(l->f, i) != from)
		i++;
	if (node_seen[i])
		return;
	node_seen[i] = true;
	if (fabric_node_hca(from))
		return; /* a CA does not forward */
	for (unsigned int p = 1; p <= fabric_node_node(from)->info.nports; p++) {
		struct fabric_port *port = fabric_node_port(from, p),
				   *peer = fabric_port_peer(port);

		if (peer && fabric_link_state(port) == FABRIC_LINK_UP)
			flood(l, node_seen, fabric_port_node(peer));
	}
}

static void reachable(struct lab *l, bool *want)
{
	bool *seen = calloc(fabric_nnodes(l->f), sizeof(*seen));

	for (unsigned int i = 0; i < fabric_nnodes(l->f); i++) {
		if (!fabric_node_hca(fabric_node_at(l->f, i))) {
			flood(l, seen, fabric_node_at(l->f, i)); /* the SM's: the first switch */
			break;
		}
	}
	for (unsigned int i = 0; i < l->nhosts; i++) {
		struct lab_host *h = &l->host[i];
		struct fabric_port *port = fabric_node_port(h->node, h->port);
		struct fabric_port *peer = fabric_port_peer(port);

		want[i] = false;
		if (!peer || fabric_link_state(port) != FABRIC_LINK_UP)
			continue;
		for (unsigned int k = 0; k < fabric_nnodes(l->f); k++)
			if (fabric_node_at(l->f, k) == fabric_port_node(peer))
				want[i] = seen[k];
	}
	free(seen);
}

static void faults_on(struct lab *l)
{
	static const char *const spec[] = { "loss 2%", "reorder 5% 1ms" };
	char err[128];

	for (unsigned int i = 0; i < fabric_nnodes(l->f); i++) {
		struct fabric_node *n = fabric_node_at(l->f, i);

		for (unsigned int p = 1; p <= fabric_node_node(n)->info.nports; p++) {
			struct fabric_port *port = fabric_node_port(n, p);
			struct fault_spec s;

			for (int k = 0; k < 2 && fabric_port_peer(port); k++) {
				assert_int_equal(fault_parse(&s, spec[k], err, sizeof(err)), 0);
				assert_int_equal(fabric_fault_add(port, &s, NULL), 0);
			}
		}
	}
}

static void faults_off(struct lab *l)
{
	struct fault_info i;

	while (fabric_fault_next(l->f, 0, &i))
		assert_int_equal(fabric_fault_del(l->f, i.id, l->now), 0);
}

static void flap_links(struct lab *l, struct prng *r)
{
	for (int k = 0; k < 6; k++) {
		struct fabric_node *n = fabric_node_at(l->f, prng_below(r, fabric_nnodes(l->f)));
		unsigned int p = 1 + prng_below(r, fabric_node_node(n)->info.nports);
		struct fabric_port *port = fabric_node_port(n, p);

		if (fabric_port_peer(port))
			fabric_link_set(port, fabric_link_state(port) != FABRIC_LINK_UP, l->now);
		lab_run(l, NS_MSEC(200) + NS_MSEC(prng_below(r, 1500)));
	}
}

static void check_pairs(struct lab *l, struct count *c, const bool *want, uint64_t seed)
{
	memset(c->got, 0, (size_t)c->n * c->n * sizeof(*c->got));
	for (unsigned int a = 0; a < c->n; a++) {
		for (unsigned int b = 0; b < c->n; b++) {
			struct msg m = { 0x756e6963, a, b, 0 };

			if (want[a] && want[b] && a != b)
				lab_send(&l->host[a], &l->host[b], &m, sizeof(m));
		}
		lab_run(l, NS_MSEC(50));
	}
	lab_run(l, NS_SEC(5));
	for (unsigned int a = 0; a < c->n; a++)
		for (unsigned int b = 0; b < c->n; b++)
			if (c->got[a * c->n + b] != (want[a] && want[b] && a != b))
				fail_msg("seed %llu: %u -> %u: %u packets arrived",
					 (unsigned long long)seed, a, b, c->got[a * c->n + b]);
	assert_int_equal(c->wrong, 0);
}

static void check_group(struct lab *l, struct count *c, const bool *want, struct prng *r,
			uint64_t seed)
{
	static const uint8_t group[4] = { 239, 1, 2, 3 };
	struct msg m = { 0x6d756c74, 0, 0, 0 };
	bool *member = calloc(c->n, sizeof(*member));
	unsigned int sent = 0;

	for (unsigned int i = 0; i < c->n; i++) {
		member[i] = prng_below(r, 3) == 0;
		if (member[i])
			assert_int_equal(
				ipoib_mcast_add(l->host[i].link, IPOIB_IPV4, group, l->now), 0);
	}
	lab_run(l, NS_SEC(3));
	memset(c->group, 0, c->n * sizeof(*c->group));
	for (unsigned int i = 0; i < c->n && sent < 3; i++) {
		if (!want[i])
			continue;
		m.from = i;
		lab_send_group(&l->host[i], group, &m, sizeof(m));
		lab_run(l, NS_SEC(3));
		for (unsigned int k = 0; k < c->n; k++)
			if (c->group[k] != (member[k] && want[k] && k != i))
				fail_msg("seed %llu: group packet of %u: %u got %u",
					 (unsigned long long)seed, i, k, c->group[k]);
		memset(c->group, 0, c->n * sizeof(*c->group));
		sent++;
	}
	free(member);
}

struct belief {
	struct lab *l;
	struct lab_host *h;
	uint64_t seed;
	unsigned int groups;
};

static void one_belief(void *ctx, const struct sac_group_info *i)
{
	struct belief *b = ctx;
	struct sm_group *g = sm_group_find(b->l->sm, &i->mgid);
	struct sm_mcmember *m =
		g ? sm_group_member(g, ib_gid_guid(&sac_port(b->h->sac)->gid)) : NULL;

	if (!i->have)
		return;
	b->groups++;
	if (!m || m->join_state != i->have)
		fail_msg("seed %llu: host %u has join state %u, the SA knows %u",
			 (unsigned long long)b->seed, b->h->index, i->have, m ? m->join_state : 0);
}

/* The SA's members are those that believe to be one, with the same states; and nobody else. */
static void check_beliefs(struct lab *l, const bool *want, uint64_t seed)
{
	unsigned int believed = 0, known = 0;

	for (unsigned int i = 0; i < l->nhosts; i++) {
		struct belief b = { .l = l, .h = &l->host[i], .seed = seed };

		if (want[i])
			sac_group_each(l->host[i].sac, one_belief, &b);
		believed += b.groups;
	}
	for (struct sm_group *g = sm_group_next(l->sm, NULL); g; g = sm_group_next(l->sm, g))
		known += g->nmembers;
	if (known != believed)
		fail_msg("seed %llu: the SA has %u members, the interfaces believe %u",
			 (unsigned long long)seed, known, believed);
}

static void dump_drops(struct lab *l)
{
	const struct sa_stats *s = sa_stats(l->sa);

	for (int d = 0; d < FABRIC_DROP_MAX; d++)
		if (fabric_stats(l->f)->drops[d])
			fprintf(stderr, "fabric: %s %llu\n", fabric_drop_name(d),
				(unsigned long long)fabric_stats(l->f)->drops[d]);
	for (unsigned int i = 0; i < l->nhosts; i++)
		for (int d = 0; d < HCA_DROP_MAX; d++)
			if (hca_drops(fabric_node_hca(l->host[i].node), d))
				fprintf(stderr, "host %u: %s %llu\n", i, hca_drop_name(d),
					(unsigned long long)hca_drops(
						fabric_node_hca(l->host[i].node), d));
	fprintf(stderr,
		"sa: requests %llu answers %llu not-master %llu requester %llu sm-key %llu "
		"malformed %llu "
		"busy %llu\n",
		(unsigned long long)s->requests, (unsigned long long)s->answers,
		(unsigned long long)s->drop_not_master, (unsigned long long)s->drop_requester,
		(unsigned long long)s->drop_sm_key, (unsigned long long)s->drop_malformed,
		(unsigned long long)s->drop_busy);
}

static void wait_up(struct lab *l, const bool *want, ns_t most, uint64_t seed, const char *when)
{
	for (ns_t t = 0; t < most; t += NS_SEC(1)) {
		if (lab_all_up(l, want))
			return;
		lab_run(l, NS_SEC(1));
	}
	if (getenv("LAB_VERBOSE"))
		dump_drops(l);
	for (unsigned int i = 0; i < l->nhosts; i++) {
		struct ipoib_link_info info;

		ipoib_link_info(l->host[i].link, &info);
		if (want[i] && !l->host[i].carrier)
			fail_msg("seed %llu: %s: host %u (%s/%u) is %s: %s",
				 (unsigned long long)seed, when, i,
				 fabric_node_name(l->host[i].node), l->host[i].port,
				 ipoib_link_state_name(info.state), info.reason);
	}
}

static void one_seed(uint64_t seed)
{
	struct prng r;
	struct topo *t;
	struct lab l;
	struct count c = { 0 };
	bool *want;

	prng_seed(&r, seed);
	t = random_topo(&r, seed);
	assert_non_null(t);
	lab_create(&l, &(struct lab_cfg){ .topo = t,
					  .seed = seed,
					  .crc = seed % 3 ? HCA_CRC_OFF : HCA_CRC_FULL,
					  .verbose = getenv("LAB_VERBOSE") != NULL });
	topo_free(t);
	c.n = l.nhosts;
	c.got = calloc((size_t)c.n * c.n, sizeof(*c.got));
	c.group = calloc(c.n, sizeof(*c.group));
	want = calloc(c.n, sizeof(*want));
	l.rx = on_rx;
	l.ctx = &c;

	faults_on(&l);
	lab_run(&l, NS_SEC(1));
	reachable(&l, want);
	wait_up(&l, want, NS_SEC(120), seed, "under loss");
	flap_links(&l, &r);
	faults_off(&l);
	lab_run(&l, NS_SEC(30));
	reachable(&l, want);
	wait_up(&l, want, NS_SEC(60), seed, "after the faults");
	check_pairs(&l, &c, want, seed);
	check_group(&l, &c, want, &r, seed);
	check_beliefs(&l, want, seed);
	lab_destroy(&l);
	free(c.got);
	free(c.group);
	free(want);
}

static void test_sim_random_topologies_settle(void **state)
{
	const char *only = getenv("LAB_SEED");

	if (only) {
		one_seed(strtoull(only, NULL, 0));
		return;
	}
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		one_seed(seed);
}

static void test_sim_four_hosts_three_switches(void **state)
{
	struct topo *t = topo_gen_demo(4, 3);
	bool want[4] = { true, true, true, true };
	struct count c = { .n = 4 };
	uint32_t got[16], group[4];
	struct lab l;

	lab_create(&l, &(struct lab_cfg){
			       .topo = t, .seed = 1, .verbose = getenv("LAB_VERBOSE") != NULL });
	topo_free(t);
	c.got = got;
	c.group = group;
	l.rx = on_rx;
	l.ctx = &c;
	wait_up(&l, want, NS_SEC(5), 1, "at the start");
	check_pairs(&l, &c, want, 1);
	check_beliefs(&l, want, 1);
	lab_destroy(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sim_four_hosts_three_switches),
		cmocka_unit_test(test_sim_random_topologies_settle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
