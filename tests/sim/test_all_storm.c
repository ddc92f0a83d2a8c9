/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The storm of requests after a ClientReregister: a thousand interfaces join their groups again,
 * subscribe again and ask for paths, all at the same time, and the SA is too slow for all of them.
 * The link to the SA carries a burst of at most BURST packets in every slot. A slot is a period
 * whose length each test chooses. When the queue in front of this link is full, further packets are
 * dropped.
 */
#include "unit/all_lab.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "fabric/fault.h"
#include "sa/sa.h"

#define LEAVES 40
#define SPINES 4
#define AT_LEAF 25
#define HOSTS (LEAVES * AT_LEAF)
/* number of peers to which a host sends in the storm; it has sent to half of these peers before */
#define PEERS 8
#define BURST 256
#define SEND_EVERY NS_MSEC(200) /* interval at which a host sends a packet to each of its peers */

static char *topology(void)
{
	char *t = malloc(1u << 20);
	size_t n = 0;

	assert_non_null(t);
	n += (size_t)sprintf(t + n, "Switch 1 \"Manager\"\n[1] \"Spine1\"[%d]\n", LEAVES + 1);
	for (int s = 1; s <= SPINES; s++) {
		n += (size_t)sprintf(t + n, "\nSwitch %d \"Spine%d\"\n", LEAVES + 1, s);
		for (int l = 1; l <= LEAVES; l++)
			n += (size_t)sprintf(t + n, "[%d] \"Leaf%d\"[%d]\n", l, l, AT_LEAF + s);
	}
	for (int l = 1; l <= LEAVES; l++) {
		n += (size_t)sprintf(t + n, "\nSwitch %d \"Leaf%d\"\n", AT_LEAF + SPINES, l);
		for (int h = 1; h <= AT_LEAF; h++)
			n += (size_t)sprintf(t + n, "[%d] \"Hca%d-%d\"[1]\n", h, l, h);
	}
	for (int l = 1; l <= LEAVES; l++) {
		for (int h = 1; h <= AT_LEAF; h++)
			n += (size_t)sprintf(t + n, "\nHca 1 \"Hca%d-%d\"\n[1] \"Leaf%d\"[%d]\n", l,
					     h, l, h);
	}
	return t;
}

struct storm {
	struct lab lab;
	struct fabric_port *port; /* port that leads to the SA */
	unsigned int deepest; /* largest number of packets that waited at .port at one time */
	bool *got; /* [from * HOSTS + to]: true if a packet of host .from has arrived at host .to */
	unsigned int pairs; /* number of pairs of hosts between which a packet has arrived */
	ns_t since;
	/*
	 * [HOSTS]: for each host, the time after .since at which the last of its peers received a
	 * packet of the host for the first time
	 */
	ns_t *last;
};

static void on_rx(struct lab *l, struct lab_host *to, const struct ipoib_lladdr *src,
		  const uint8_t *data, size_t len)
{
	struct storm *s = l->ctx;
	uint32_t from;

	(void)src;
	if (len < sizeof(from))
		return;
	from = (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
	assert_true(from < HOSTS);
	if (s->got[from * HOSTS + to->index])
		return;
	s->got[from * HOSTS + to->index] = true;
	s->pairs++;
	s->last[from] = l->now - s->since;
}

/*
 * Returns the number of the i-th peer of a host. The peers of one host are at different leaf
 * switches.
 */
static unsigned int peer_of(unsigned int host, unsigned int i)
{
	return (host + 1 + i * (HOSTS / PEERS + 1)) % HOSTS;
}

/* Let each host send a packet to those of its peers that have the numbers @first to @end - 1. */
static void send_all(struct storm *s, unsigned int first, unsigned int end)
{
	uint8_t data[64] = { 0 };

	for (unsigned int h = 0; h < HOSTS; h++) {
		be32_put(data, h);
		for (unsigned int i = first; i < end; i++) {
			lab_send(&s->lab.host[h], &s->lab.host[peer_of(h, i)], data, sizeof(data));
		}
		if (h % 50 == 49)
			lab_run(&s->lab,
				0); /* the frames use the lab's buffers until they are sent */
	}
}

/* Stop the link to the SA for the time of a slot, and then forward the packets that waited. */
static void slot(struct storm *s, ns_t length)
{
	const struct fault_spec stall = { .kind = FAULT_STALL };
	struct fabric_send_queue q;
	unsigned int id;

	assert_int_equal(fabric_fault_add(s->port, &stall, &id), 0);
	lab_run(&s->lab, length);
	q = fabric_send_queue(s->port);
	assert_true(q.waiting <= BURST);
	if (q.waiting > s->deepest)
		s->deepest = q.waiting;
	assert_int_equal(fabric_fault_del(s->lab.f, id, s->lab.now), 0);
	lab_run(&s->lab, 0);
}

static void storm_init(struct storm *s)
{
	struct topo_err err;
	struct topo *t;
	char *text = topology();

	memset(s, 0, sizeof(*s));
	assert_int_equal(topo_parse(&t, "storm", text, strlen(text), NULL, &err), 0);
	free(text);
	lab_create(&s->lab, &(struct lab_cfg){ .topo = t,
					       .seed = 1,
					       .crc = HCA_CRC_LAZY,
					       .data_depth = BURST,
					       .verbose = getenv("LAB_VERBOSE") != NULL });
	topo_free(t);
	assert_int_equal(s->lab.nhosts, HOSTS);
	s->lab.rx = on_rx;
	s->lab.ctx = s;
	s->got = calloc((size_t)HOSTS * HOSTS, sizeof(*s->got));
	s->last = calloc(HOSTS, sizeof(*s->last));
	assert_non_null(s->got);
	assert_non_null(s->last);
	s->port = fabric_node_port(fabric_node_find(s->lab.f, "Spine1"), LEAVES + 1);
	for (unsigned int i = 0; i < 600 && !lab_all_up(&s->lab, NULL); i++)
		lab_run(&s->lab, NS_MSEC(100));
	assert_true(lab_all_up(&s->lab, NULL));
}

static void storm_fini(struct storm *s)
{
	lab_destroy(&s->lab);
	free(s->got);
	free(s->last);
}

static void count_valid(void *ctx, const struct sac_path_info *i)
{
	*(unsigned int *)ctx += i->state == SAC_PATH_VALID;
}

/*
 * Returns the number of hosts that, since the storm began, have got from the SA a path to each of
 * their peers.
 */
static unsigned int hosts_with_paths(const struct storm *s)
{
	unsigned int hosts = 0;

	for (unsigned int h = 0; h < HOSTS; h++) {
		unsigned int n = 0;

		sac_path_some(s->lab.host[h].sac, &(uint64_t){ 0 }, &(unsigned int){ UINT32_MAX },
			      count_valid, &n);
		hosts += n >= PEERS;
	}
	return hosts;
}

static unsigned int hosts_subscribed(const struct storm *s)
{
	unsigned int n = 0;

	for (unsigned int h = 0; h < HOSTS; h++)
		n += sac_subscribed(s->lab.host[h].sac);
	return n;
}

/*
 * Give a host another LID. This makes the SM send ClientReregister to all ports, which starts the
 * storm.
 */
static void begin(struct storm *s)
{
	const struct lab_host *h = &s->lab.host[HOSTS / 2];
	uint16_t lid = fabric_node_node(h->node)->port[h->port].pi.lid == 0xb000 ? 0xb001 : 0xb000;

	memset(s->got, 0, (size_t)HOSTS * HOSTS * sizeof(*s->got));
	s->pairs = s->deepest = 0;
	s->since = s->lab.now;
	assert_int_equal(sm_set_lid(s->lab.sm, fabric_node_node(h->node)->port[h->port].guids[0],
				    lid, s->lab.now),
			 0);
}

static bool is_over(const struct storm *s)
{
	return s->pairs == HOSTS * PEERS && hosts_with_paths(s) == HOSTS &&
	       hosts_subscribed(s) == HOSTS;
}

static uint64_t dropped_at(const struct storm *s, const char *node)
{
	return fabric_node_drops(fabric_node_find(s->lab.f, node), FABRIC_DROP_QUEUE);
}

/*
 * Run a storm, and check that it ends.
 *
 * @length:	length of a slot; the SA gets at most BURST requests in this time
 * @limit:	time within which every host must have its paths and subscriptions
 */
static void storm(struct storm *s, ns_t length, ns_t limit)
{
	const struct sa_stats before = *sa_stats(s->lab.sa), *st;
	uint64_t drops = dropped_at(s, "Spine1");
	ns_t last = 0, next;

	begin(s);
	next = s->since + NS_MSEC(50);
	while (!is_over(s) && s->lab.now - s->since < limit) {
		if (s->lab.now >= next) {
			send_all(s, 0, PEERS);
			next += SEND_EVERY;
		}
		slot(s, length);
	}
	for (unsigned int h = 0; h < HOSTS; h++)
		last = s->last[h] > last ? s->last[h] : last;
	st = sa_stats(s->lab.sa);
	drops = dropped_at(s, "Spine1") - drops;
	print_message(
		"packets between all peers after %.2f s, all paths and subscriptions after %.2f s; "
		"%llu requests, %llu dropped\n",
		(double)last / 1e9, (double)(s->lab.now - s->since) / 1e9,
		(unsigned long long)(st->requests - before.requests), (unsigned long long)drops);
	if (!is_over(s))
		fail_msg("%u of %u pairs, %u hosts have their paths, %u are subscribed", s->pairs,
			 HOSTS * PEERS, hosts_with_paths(s), hosts_subscribed(s));
	assert_int_equal(s->deepest, BURST); /* the queue in front of the SA was full */
	assert_true(drops > 0);
	/* The queue in front of the SA must have dropped all lost packets. */
	assert_int_equal(fabric_stats(s->lab.f)->drops[FABRIC_DROP_QUEUE], dropped_at(s, "Spine1"));
	/*
	 * Every host has asked for a path to each peer, and has repeated only requests that were
	 * not answered.
	 */
	assert_true(st->paths - before.paths >= HOSTS * PEERS);
	assert_true(st->paths - before.paths <= 2 * HOSTS * PEERS);
	assert_int_equal(st->drop_busy + st->drop_quota, before.drop_busy + before.drop_quota);
}

static void test_a_thousand_clients_after_client_reregister(void **state)
{
	struct storm s;

	storm_init(&s);
	send_all(&s, 0, PEERS / 2);
	lab_run(&s.lab, NS_SEC(10));
	assert_int_equal(s.pairs, HOSTS * PEERS / 2);
	storm(&s, NS_MSEC(10), NS_SEC(5));
	lab_run(&s.lab, NS_SEC(10));
	storm(&s, NS_MSEC(50), NS_SEC(20)); /* a slower SA */
	storm_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thousand_clients_after_client_reregister),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
