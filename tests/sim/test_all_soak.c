/* SPDX-License-Identifier: BSD-2-Clause */
/* check.sh: all */

/*
 * A lab with random events: SMs end and restart with other LIDs, partitions lose and gain members,
 * all cables are pulled at once, hosts restart, and receivers join and leave, while packets are
 * lost. When the events stop, everything must work as before, even for receivers that joined their
 * group at the start. Each seed makes a small lab with one profile and one partition. The first
 * SEEDS_MIXED seeds also make a lab that has 200 interfaces with random profiles and partitions.
 * SOAK_SEED=N runs only the labs of this seed, LAB_VERBOSE=1 shows the log.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/all_lab_check.h"
#include "check.h"
#include "util/text.h"

#define SEEDS 40
#define SEEDS_MIXED 10 /* seeds of labs with random profiles; tests/night/seeds.sh runs more */
#define ROUNDS 3
#define INTERFACES 200 /* number of interfaces of a lab with mixed profiles */

/*
 * P_Key of the partition of all ports, and P_Keys of partitions to which ports are added one by one
 */
#define PKEY_ALL 0xffff
static const uint16_t pkeys[] = { 0x8001, 0x8002, 0x8003 };

struct soak {
	struct lab l;
	struct lab_count c;
	struct prng r;
	struct sm_cfg sm;
	struct sm_lid_entry *lids;
	uint64_t seed;
	bool *want, *member, *in_part; /* each indexed by host */
	unsigned int sl;
	unsigned int mtu; /* enum ib_mtu_code of the groups that the SM creates */
	uint32_t qkey;
	char *conf;
	bool faulty;
	bool mixed; /* the lab has random profiles and partitions */
};

static void add_partition(struct soak *s, struct text *t, uint16_t pkey)
{
	text_add(t, "Lab%u=0x%04x, ipoib, defmember=full, sl=%u, mtu=%u, Q_Key=0x%x: SELF", pkey,
		 pkey & 0x7fff, s->sl, s->mtu, s->qkey + pkey);
	for (unsigned int i = 0; i < s->c.n; i++) {
		struct lab_host *h = &s->l.host[i];

		if (s->in_part[i] && h->pkey == pkey)
			text_add(t, ", 0x%016llx",
				 (unsigned long long)fabric_node_node(h->node)
					 ->port[h->port]
					 .guids[0]);
	}
	text_add(t, ";\n");
}

/*
 * Make the partition file of the SM. The file creates groups for the profiles whose hosts do not
 * create any.
 */
static const char *conf_of(struct soak *s)
{
	size_t size = 1024 + s->c.n * 32;
	struct text t = { .buf = s->conf = realloc(s->conf, size), .size = size };

	text_add(&t,
		 "Default=0x7fff, ipoib, mtu=%u : mgid=ff12:3333::1, mtu=%u\n"
		 "mgid=ff12::255.255.255.255, mtu=%u\nALL=full;\n",
		 s->mtu, s->mtu, s->mtu);
	for (unsigned int i = 0; i < ARRAY_SIZE(pkeys); i++)
		add_partition(s, &t, pkeys[i]);
	return s->conf;
}

/*
 * Tell whether the MGID of the profile's broadcast group is the same for all P_Keys. Such a profile
 * has only one link in the whole subnet.
 */
static bool one_link(const struct ipoib_profile *p)
{
	struct ipoib_map first = ipoib_profile_map(p, pkeys[0], 0, 0);
	struct ipoib_map second = ipoib_profile_map(p, pkeys[1], 0, 0);
	ib_gid a, b;

	return !p->mgid_broadcast(&a, &first) && !p->mgid_broadcast(&b, &second) &&
	       !memcmp(&a, &b, sizeof(a));
}

static void draw_link(struct lab_host *h, void *ctx)
{
	struct soak *s = ctx;
	unsigned int rows = 0;

	h->pkey = pkeys[0];
	h->shape = (h->index + s->seed) % 2 ? ETH_SHAPE_ETHERNET : ETH_SHAPE_INFINIBAND;
	if (!s->mixed)
		return;
	while (ipoib_profile_at(rows))
		rows++;
	h->profile = ipoib_profile_at(prng_below(&s->r, rows));
	h->pkey = pkeys[prng_below(&s->r, ARRAY_SIZE(pkeys))];
	if (one_link(h->profile) || prng_below(&s->r, 4) == 0)
		h->pkey = PKEY_ALL;
	h->router = h->profile->reports && prng_below(&s->r, 32) == 0;
}

static bool on_one_link(const struct lab_host *a, const struct lab_host *b)
{
	const struct ipoib_profile *p = ipoib_link_profile(a->link),
				   *q = ipoib_link_profile(b->link);

	return a->pkey == b->pkey && p->mgid_broadcast == q->mgid_broadcast &&
	       p->encap.write == q->encap.write;
}

static void some_of_all(struct soak *s, bool *v, unsigned int of)
{
	for (unsigned int i = 0; i < s->c.n; i++)
		v[i] = prng_below(&s->r, of) == 0;
}

static void soak_init(struct soak *s, uint64_t seed, bool mixed)
{
	struct topo_gen_random g = { .seed = seed };
	struct topo *t;

	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->mixed = mixed;
	prng_seed(&s->r, seed);
	g.switches = 1 + prng_below(&s->r, 10);
	g.cas = mixed ? INTERFACES : 2 + prng_below(&s->r, 25);
	g.max_ca_ports = mixed ? 1 : 1 + prng_below(&s->r, 2);
	g.extra_links = prng_below(&s->r, g.switches + 1);
	t = topo_gen_random(&g);
	assert_non_null(t);
	s->sm = sm_cfg_default();
	s->sm.lmc = (uint8_t)prng_below(&s->r, 3);
	s->sl = prng_below(&s->r, 8);
	s->mtu = IB_MTU_2048;
	s->qkey = 0x80001000;
	lab_create(&s->l, &(struct lab_cfg){ .topo = t,
					     .seed = seed,
					     .setup = draw_link,
					     .setup_ctx = s,
					     .sidr = true,
					     .sm = &s->sm,
					     .crc = seed % 3 ? HCA_CRC_LAZY : HCA_CRC_FULL,
					     .verbose = getenv("LAB_VERBOSE") != NULL });
	topo_free(t);
	lab_count_init(&s->c, &s->l);
	s->c.same_link = on_one_link;
	s->want = calloc(s->c.n, sizeof(*s->want));
	s->member = calloc(s->c.n, sizeof(*s->member));
	s->in_part = calloc(s->c.n, sizeof(*s->in_part));
	s->lids = calloc(s->c.n, sizeof(*s->lids));
	memset(s->in_part, true, s->c.n * sizeof(*s->in_part));
	some_of_all(s, s->member, 2);
	lab_partitions(&s->l, conf_of(s));
	for (unsigned int i = 0; i < s->c.n; i++)
		if (s->member[i])
			lab_receive(&s->l.host[i], lab_group);
}

static void soak_fini(struct soak *s)
{
	lab_destroy(&s->l);
	lab_count_fini(&s->c);
	free(s->want);
	free(s->member);
	free(s->in_part);
	free(s->lids);
	free(s->conf);
}

static void pass(struct soak *s, ns_t most)
{
	lab_run(&s->l, NS_USEC(prng_below(&s->r, (uint32_t)(most / NS_USEC(1)))));
}

/* --- events */

static void pull_all_cables(struct soak *s)
{
	for (unsigned int up = 0; up < 2; up++) {
		for (unsigned int i = 0; i < s->c.n; i++) {
			struct lab_host *h = &s->l.host[i];

			fabric_link_set(fabric_node_port(h->node, h->port), up, s->l.now);
			if (prng_below(&s->r, 4) == 0)
				pass(s, NS_MSEC(20));
		}
		pass(s, NS_SEC(3));
	}
}

static void flap_one(struct soak *s)
{
	struct fabric_node *n = fabric_node_at(s->l.f, prng_below(&s->r, fabric_nnodes(s->l.f)));
	unsigned int p = 1 + prng_below(&s->r, fabric_node_node(n)->info.nports);
	struct fabric_port *port = fabric_node_port(n, p);

	if (!fabric_port_peer(port))
		return;
	fabric_link_set(port, false, s->l.now);
	pass(s, NS_SEC(2));
	fabric_link_set(port, true, s->l.now);
}

/* Make for the next SM a table that gives each port the LID of another port. */
static void other_lids(struct soak *s)
{
	unsigned int step = 1u << s->sm.lmc, by = prng_below(&s->r, s->c.n);

	for (unsigned int i = 0; i < s->c.n; i++) {
		struct lab_host *h = &s->l.host[i];

		s->lids[i].port_guid = fabric_node_node(h->node)->port[h->port].guids[0];
		s->lids[i].lid = (uint16_t)(64 + step * ((i + by) % s->c.n));
	}
	s->sm.lids = s->lids;
	s->sm.nlids = s->c.n;
}

static void restart_sm(struct soak *s)
{
	lab_sm_stop(&s->l);
	pass(s, NS_SEC(4));
	if (prng_below(&s->r, 2))
		flap_one(s);
	s->sm.lids = NULL;
	s->sm.nlids = 0;
	if (prng_below(&s->r, 2))
		other_lids(s);
	if (prng_below(&s->r, 2))
		s->qkey++;
	if (prng_below(&s->r, 2))
		s->sl = prng_below(&s->r, 8);
	if (prng_below(&s->r, 2))
		s->mtu = IB_MTU_2048 + prng_below(&s->r, 2);
	lab_sm_start(&s->l, &s->sm, conf_of(s));
}

static void reload_partitions(struct soak *s)
{
	for (unsigned int k = 0; k < 3; k++) {
		some_of_all(s, s->in_part, 2);
		if (prng_below(&s->r, 3) == 0)
			s->qkey++;
		if (prng_below(&s->r, 3) == 0)
			s->sl = prng_below(&s->r, 8);
		lab_partitions(&s->l, conf_of(s));
		pass(s, NS_MSEC(100));
	}
	for (unsigned int i = 0; i < s->c.n; i++)
		s->in_part[i] |= prng_below(&s->r, 4) != 0;
	lab_partitions(&s->l, conf_of(s));
}

static void toggle_faults(struct soak *s)
{
	s->faulty = !s->faulty;
	if (s->faulty)
		lab_faults_on(&s->l);
	else
		lab_faults_off(&s->l);
}

static void restart_host(struct soak *s)
{
	struct lab_host *h = &s->l.host[prng_below(&s->r, s->c.n)];

	/*
	 * End the faults before the host restarts. The faults reorder packets, so the leave that
	 * the host sent last could arrive after the first join of the restarted host. InfiniBand
	 * itself keeps the packets of a path in order.
	 */
	if (s->faulty)
		toggle_faults(s);
	lab_host_restart(h);
	if (s->member[h->index])
		lab_receive(h, lab_group);
}

/*
 * Let random hosts receive or stop receiving a group. The group is created with its first receiver
 * and ends with its last one.
 */
static void other_receivers(struct soak *s)
{
	unsigned int of = 1 + prng_below(&s->r, 4);

	for (unsigned int i = 0; i < s->c.n; i++) {
		bool member = prng_below(&s->r, of) == 0;

		if (member && !s->member[i])
			lab_receive(&s->l.host[i], lab_group);
		else if (!member && s->member[i])
			lab_receive_not(&s->l.host[i], lab_group);
		s->member[i] = member;
	}
}

static const struct {
	const char *name;
	void (*fn)(struct soak *s);
} things[] = {
	{ "all cables are pulled", pull_all_cables },
	{ "a link flaps", flap_one },
	{ "the SM restarts", restart_sm },
	{ "partitions change", reload_partitions },
	{ "a host restarts", restart_host },
	{ "faults change", toggle_faults },
	{ "receivers change", other_receivers },
};

static void something(struct soak *s)
{
	unsigned int i = prng_below(&s->r, ARRAY_SIZE(things));

	if (getenv("LAB_VERBOSE"))
		fprintf(stderr, "%12.6f ##### %s\n", (double)s->l.now / 1e9, things[i].name);
	things[i].fn(s);
	pass(s, NS_SEC(3));
}

/* --- checks after the last event */

static bool has_receiver(const struct soak *s, unsigned int sender)
{
	for (unsigned int i = 0; i < s->c.n; i++)
		if (s->member[i] && s->want[i] && i != sender &&
		    on_one_link(&s->l.host[sender], &s->l.host[i]))
			return true;
	return false;
}

/*
 * In some profiles the first packet to a group creates the group. A router joins the new group only
 * after the Report about its creation, so the router misses this packet. So create the groups
 * before the check: each host that takes part in the check sends a packet, unless another host on
 * its link receives the group.
 */
static void make_groups(struct soak *s)
{
	const uint32_t first = 0;

	for (unsigned int i = 0; i < s->c.n; i++)
		if (s->want[i] && !has_receiver(s, i))
			lab_send_group(&s->l.host[i], lab_group, &first, sizeof(first));
	lab_run(&s->l, NS_SEC(3));
}

/*
 * Host 0's packet must arrive at every receiver of the group, and at every multicast router of its
 * link, which receives all groups.
 */
static void check_group(struct soak *s)
{
	bool *hears = calloc(s->c.n, sizeof(*hears));

	make_groups(s);
	for (unsigned int i = 0; i < s->c.n; i++)
		hears[i] = s->member[i] || s->l.host[i].router;
	lab_check_group(&s->l, &s->c, s->want, hears, s->seed);
	free(hears);
}

static void quiet(struct soak *s)
{
	if (s->faulty)
		toggle_faults(s);
	lab_run(&s->l, NS_SEC(60));
	lab_reachable(&s->l, s->want);
	for (unsigned int i = 0; i < s->c.n; i++)
		s->want[i] &= s->in_part[i] || s->l.host[i].pkey == PKEY_ALL;
	lab_wait_up(&s->l, s->want, NS_SEC(60), s->seed, "when it was over");
	lab_warm_up(&s->l, &s->c, s->want);
	lab_check_pairs(&s->l, &s->c, s->want, s->seed);
	check_group(s);
	lab_check_beliefs(&s->l, s->want, s->seed);
}

static void one_lab(uint64_t seed, bool mixed)
{
	struct soak s;

	soak_init(&s, seed, mixed);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int n = 1 + prng_below(&s.r, 6);

		while (n--)
			something(&s);
		quiet(&s);
	}
	soak_fini(&s);
}

static void seeds(unsigned int n, bool mixed)
{
	const char *only = getenv("SOAK_SEED");

	if (only) {
		one_lab(strtoull(only, NULL, 0), mixed);
		return;
	}
	for (uint64_t seed = 1; seed <= n; seed++)
		one_lab(seed, mixed);
}

static void test_sim_soak(void **state)
{
	(void)state;
	seeds(SEEDS, false);
}

static void test_sim_soak_of_200_interfaces_of_all_profiles(void **state)
{
	(void)state;
	seeds(SEEDS_MIXED, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sim_soak),
		cmocka_unit_test(test_sim_soak_of_200_interfaces_of_all_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
