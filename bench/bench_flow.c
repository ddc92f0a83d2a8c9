/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Measures what one flow between two hosts costs, against the number of other things:
 *
 *	bench_flow ROUNDS neighbours|groups|hops|hosts NUMBER...
 *
 *	neighbours	both interfaces know NUMBER neighbours (1 to 1,000,000), which have sent them a datagram each
 *	groups		the sender has sent to NUMBER groups (1 to 1,000), and the receiver is a member of all of them; the flow is to one
 *			of them
 *	hops		there are NUMBER switches between the hosts (1 to 64); otherwise there are three
 *	hosts		the fabric has NUMBER hosts (2 to 240), each with an interface; otherwise it has two
 *
 * Each NUMBER is a lab (tests/unit/all_lab.h), which runs the interfaces and the fabric as the daemon does, with crc = lazy, and has
 * a queue in place of each TAP. So the work of the kernel is not in the figures. The flow consists of datagrams of 64 octets, and, to
 * a single host, also of super-frames of TCP. All labs are measured in turn in each round. The virtual time of a lab passes as
 * fast as the machine's time while the flow runs, so that sweeps of tables, which are spread evenly over IPOIB_SWEEP, have their
 * share in the figures.
 *
 * Prints the values of each round as bench/net_report.py reads them. The rows are called neighbours10, neighbours1000, and so on.
 * The figures are ns per datagram (datagram) and per super-frame (super_frame). After the last round, when all other neighbours
 * have been idle for so long that they are removed, the figure pause is the longest CPU time in us that the work of 1 ms of
 * virtual time takes, without packets of the flow, in one IPOIB_SWEEP. It includes the sweeps of the SM.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit/all_lab.h"
#include "wire/inet.h"

#define PLACES_MAX 16
#define BATCH 64 /* datagrams, as many as a turn of a TAP in the daemon */
#define FRAMES 16 /* super-frames, eight turns */
#define WARM NS_MSEC(5)
#define LENGTH NS_MSEC(30) /* of a measurement */
#define PAUSES 3 /* sweeps of which the longest pause is measured */
#define SEGMENT 2004 /* octets of TCP payload in a packet of MTU 2044 */
#define SUPER (32 * SEGMENT)

enum kind { DATAGRAM, FRAME, KINDS };
static const char *const figures[KINDS] = { "datagram", "super_frame" };

struct place {
	unsigned int number;
	struct lab l;
	uint64_t got;
};

static struct place place[PLACES_MAX];
static bool to_group;
static const uint8_t flow_group[4] = { 239, 1, 0, 0 };

static void die(const char *what)
{
	fprintf(stderr, "bench_flow: %s\n", what);
	exit(1);
}

static ns_t clock_of(clockid_t which)
{
	struct timespec ts;

	clock_gettime(which, &ts);
	return NS_SEC(ts.tv_sec) + ts.tv_nsec;
}

/* --- the flow */

/* Puts a frame of IPv4 into the TAP of the first host. */
static void send_frame(struct lab *l, const uint8_t *hw, const uint8_t dst[4], enum kind kind)
{
	static uint8_t b[14 + 40 + SUPER];
	static uint32_t seq;
	size_t len = kind == FRAME ? 40 + SUPER : 64;
	uint8_t *ip = b + 14, *l4 = ip + 20;
	struct lab_host *from = &l->host[0];
	struct pkt *p;

	lab_put_head(from, b, hw, ETH_P_IPV4);
	memset(ip, 0, 40);
	ip[0] = 0x45;
	be16_put(ip + 2, (uint16_t)len);
	ip[8] = 64;
	ip[9] = kind == FRAME ? 6 : 17;
	be32_put(ip + 12, 0x0a000001);
	memcpy(ip + 16, dst, 4);
	be16_put(ip + 10, inet_fold(inet_sum(0, ip, 20)));
	be16_put(l4, 5001);
	be16_put(l4 + 2, 5001);
	if (kind == FRAME) {
		be32_put(l4 + 4, seq += SUPER);
		l4[12] = 0x50;
		l4[13] = 0x10;
	} else {
		be16_put(l4 + 4, (uint16_t)(len - 20));
	}
	p = pkt_from_data(l->pool, b, 14 + len);
	if (!p)
		die("no packet buffer");
	if (kind == FRAME)
		*frame_info(p) = (struct frame_info){ .csum = FRAME_CSUM_PARTIAL,
						      .csum_start = 20,
						      .csum_offset = 16,
						      .gso = FRAME_GSO_TCP4,
						      .gso_size = SEGMENT };
	lab_frame(from, p);
}

/* Sends a batch, and returns the time that the lab took for it. */
static ns_t send_batch(struct place *pl, enum kind kind, unsigned int n)
{
	struct lab *l = &pl->l;
	uint8_t hw[6], dst[4] = { 10, 0, 0, 2 };
	ns_t start;

	if (to_group) {
		lab_broadcast_hw(&l->host[0], hw);
		memcpy(dst, flow_group, sizeof(dst));
	} else {
		memcpy(hw, lab_mac(&l->host[0], &l->host[1]), sizeof(hw));
	}
	for (unsigned int i = 0; i < n; i++)
		send_frame(l, hw, dst, kind);
	start = clock_of(CLOCK_MONOTONIC);
	lab_run(l, 0);
	return clock_of(CLOCK_MONOTONIC) - start;
}

/* Returns the ns per frame of a flow of frames of this kind, which lasts for @length. */
static double flow(struct place *pl, enum kind kind, ns_t length)
{
	unsigned int n = kind == FRAME ? FRAMES : BATCH;
	uint64_t sent = 0, before = pl->got;
	ns_t total = 0;

	while (total < length) {
		ns_t took = send_batch(pl, kind, n), start = clock_of(CLOCK_MONOTONIC);

		lab_run(&pl->l, took);
		total += took + (clock_of(CLOCK_MONOTONIC) - start);
		sent += n;
	}
	if (pl->got - before != sent)
		die("a frame of the flow was lost");
	return (double)total / (double)sent;
}

static void on_frame(struct lab *l, struct lab_host *to, const struct eth_frame *f)
{
	struct place *pl = l->ctx;

	if (to->index == 1)
		pl->got++;
}

/* --- what is around the flow */

static struct topo *line(unsigned int switches, unsigned int hosts)
{
	struct topo *t = topo_create();
	uint32_t sw[64], ca;
	char name[24];

	for (unsigned int i = 0; i < switches; i++) {
		snprintf(name, sizeof(name), "Switch%u", i + 1);
		topo_add_node(t, IB_NODE_SWITCH, 250, name, NULL, &sw[i]);
		if (i)
			topo_link(t, sw[i - 1], 249, sw[i], 250);
	}
	for (unsigned int i = 0; i < hosts; i++) {
		snprintf(name, sizeof(name), "Hca%u", i + 1);
		topo_add_node(t, IB_NODE_CA, 1, name, NULL, &ca);
		topo_link(t, ca, 1, sw[i == 1 ? switches - 1 : 0], 1 + i);
	}
	return t;
}

static void wait_up(struct lab *l)
{
	for (int i = 0; i < 1000 && !lab_all_up(l, NULL); i++)
		lab_run(l, NS_MSEC(10));
	if (!lab_all_up(l, NULL))
		die("the hosts did not come up");
	lab_run(l, NS_SEC(15)); /* the SM's sweeps after the start */
}

static void many_neighbours(struct lab_host *h, void *ctx)
{
	h->neighbours = IPOIB_NEIGH_LIMIT;
}

/*
 * Makes neighbours as a stranger can: host @h receives a broadcast datagram of each, with a GRH that has
 * the GID of the neighbour.
 */
static void add_neighbours(struct lab *l, struct lab_host *h, unsigned int n)
{
	uint8_t b[4 + 28] = { 8, 0, 0, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17 };

	memset(b + 4 + 16, 0xff, 4);
	for (unsigned int i = 0; i < n; i++) {
		uint8_t grh[40] = { 0x60 };
		struct ipoib_rx rx = { .grh = grh,
				       .src_qp = 0x100 + i,
				       .slid = (uint16_t)(100 + i % 40000) };
		ib_gid gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x0002c90300000000ull + i);

		memcpy(grh + 8, gid.raw, sizeof(gid.raw));
		grh[24] = 0xff;
		rx.pkt = pkt_from_data(l->pool, b, sizeof(b));
		if (!rx.pkt)
			die("no packet buffer");
		eth_rx(h->ifc.eth, NULL, &rx, 1, l->now);
	}
}

static void set_neighbours(struct place *pl)
{
	struct ipoib_link_info info;

	for (unsigned int i = 0; i < 2; i++) {
		add_neighbours(&pl->l, &pl->l.host[i], pl->number);
		ipoib_link_info(pl->l.host[i].link, &info);
		if (info.neighs < pl->number)
			die("the table of neighbours is too small");
	}
	lab_run(&pl->l,
		2 * IPOIB_SWEEP); /* From now on, the steps of sweeps of the full table follow each other. */
}

static void set_groups(struct place *pl)
{
	uint8_t hw[6], group[4];
	struct lab *l = &pl->l;

	lab_broadcast_hw(&l->host[0], hw);
	for (unsigned int i = 0; i < pl->number; i++) {
		be32_put(group, be32_at(flow_group) + i);
		lab_receive(&l->host[1], group);
		lab_run(l, NS_MSEC(5));
		send_frame(l, hw, group, DATAGRAM);
	}
	lab_run(l, NS_SEC(5));
}

static void set_up(struct place *pl, const char *what)
{
	bool hops = !strcmp(what, "hops"), hosts = !strcmp(what, "hosts");
	struct lab_cfg c = { .trains = true, .crc = HCA_CRC_LAZY, .seed = 1, .rq_depth = 4096 };
	struct topo *t = line(hops ? pl->number : 3, hosts ? pl->number : 2);

	c.topo = t;
	if (!strcmp(what, "neighbours"))
		c.setup = many_neighbours;
	lab_create(&pl->l, &c);
	topo_free(t);
	pl->l.ctx = pl;
	pl->l.frame = on_frame;
	wait_up(&pl->l);
	if (!strcmp(what, "neighbours"))
		set_neighbours(pl);
	if (!strcmp(what, "groups"))
		set_groups(pl);
	/* The first frame waits for the path. */
	send_batch(pl, DATAGRAM, 1);
	lab_run(&pl->l, NS_SEC(1));
	pl->got = 0;
}

/* --- figures */

static void print(const char *what, unsigned int number, unsigned int round, const char *figure,
		  double value)
{
	printf("{\"row\": \"%s%u\", \"mtu\": 2044, \"round\": %u, \"figure\": \"%s\", \"value\": "
	       "%.3f}\n",
	       what, number, round, figure, value);
}

static void measure(struct place *pl, const char *what, unsigned int round)
{
	for (unsigned int k = 0; k < (to_group ? 1 : KINDS); k++) {
		flow(pl, k, WARM);
		print(what, pl->number, round, figures[k], flow(pl, k, LENGTH));
	}
}

/* The CPU time is measured, so that a pause of the whole process does not count. */
static void measure_pause(struct place *pl, const char *what, unsigned int round)
{
	ns_t longest = 0;

	if (!round)
		lab_run(&pl->l, IPOIB_NEIGH_IDLE);
	for (ns_t t = 0; t < IPOIB_SWEEP; t += NS_MSEC(1)) {
		ns_t start = clock_of(CLOCK_THREAD_CPUTIME_ID), took;

		lab_run(&pl->l, NS_MSEC(1));
		took = clock_of(CLOCK_THREAD_CPUTIME_ID) - start;
		longest = took > longest ? took : longest;
	}
	print(what, pl->number, round, "pause", (double)longest / 1e3);
}

/* What NUMBER counts, and its limits */
static const struct what {
	const char *name;
	unsigned int min, max;
} whats[] = {
	{ "neighbours", 1, 1000000 },
	{ "groups", 1, 1000 },
	{ "hops", 1, 64 },
	{ "hosts", 2, 240 },
};

static const struct what *what_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(whats); i++)
		if (!strcmp(whats[i].name, name))
			return &whats[i];
	return NULL;
}

static unsigned int number_of(const char *text, const char *name, unsigned int min,
			      unsigned int max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || n < min || n > max) {
		fprintf(stderr, "bench_flow: %s '%s': expected a number from %u to %u\n", name,
			text, min, max);
		exit(2);
	}
	return (unsigned int)n;
}

int main(int argc, char **argv)
{
	unsigned int n = argc > 3 ? (unsigned int)argc - 3 : 0, rounds;
	const struct what *what = n ? what_of(argv[2]) : NULL;

	if (!what || n > PLACES_MAX) {
		fprintf(stderr,
			"usage: bench_flow ROUNDS neighbours|groups|hops|hosts NUMBER...\n");
		return 2;
	}
	rounds = number_of(argv[1], "ROUNDS", 1, 1000);
	to_group = !strcmp(what->name, "groups");
	for (unsigned int i = 0; i < n; i++)
		place[i].number = number_of(argv[3 + i], what->name, what->min, what->max);
	for (unsigned int i = 0; i < n; i++)
		set_up(&place[i], what->name);
	for (unsigned int r = 0; r < rounds; r++)
		for (unsigned int i = 0; i < n; i++)
			measure(&place[(r + i) % n], what->name, r);
	for (unsigned int r = 0; r < PAUSES; r++)
		for (unsigned int i = 0; i < n; i++)
			measure_pause(&place[i], what->name, r);
	return 0;
}
