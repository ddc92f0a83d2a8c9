/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A train (one descriptor for the packets of a super-frame) must have the same effects as its
 * packets. The same random traffic is sent through two labs, only one of which uses trains, and the
 * same events happen in both. The IP packets that arrive, their times, all counters, captures and
 * traces must be equal. Super-frames are segmented before the comparison, by a segmenter in this
 * file that works like the kernel's. TRAINS_SEEDS=N runs N seeds, TRAINS_SEED=N runs only that
 * seed.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fabric/capture.h"
#include "fabric/fault.h"
#include "fabric/trace.h"
#include "unit/all_lab_check.h"
#include "util/prng.h"
#include "crc/crc.h"
#include "wire/inet.h"

#define SEEDS 50
#define ROUNDS 40
#define HOSTS 5
#define FLOWS 12 /* flows that each host sends */
#define FAULTS 4
#define POKES 6
#define DHCP_PORT 67
#define LEN_MAX 70000

/* Kinds of data that the test compares after each round */
enum part {
	PART_IP, /* IP packets that hosts received, with their times, in the order of each flow */
	PART_PORTS, /* counters of all ports */
	PART_HCAS, /* drops of HCAs by reason */
	PART_FABRIC, /* drops of nodes by reason, packets moved, and packets in queues */
	PART_ETH,
	PART_LINKS, /* counters of IPoIB links */
	PART_FAULTS,
	PART_CAPTURES,
	PART_TRACES,
	PARTS,
};
static const char *const part_names[PARTS] = {
	"IP packets",  "port counters", "drops of HCAs", "fabric", "eth counters",
	"IPoIB links", "faults",	"captures",	 "traces",
};

struct flow {
	uint32_t seq;
	uint16_t id;
};

/*
 * A value in a node that the test has changed without the SM; .was is the former value, which the
 * test restores later
 */
struct poke {
	void *at;
	uint8_t was[2];
	size_t len;
};

struct run {
	struct lab l;
	struct prng r;
	struct flow flow[HOSTS][FLOWS];
	/*
	 * Checksums over the packets that arrived, by receiving host and slot(). Packets that
	 * belong to no flow are in slot 0.
	 */
	uint64_t ip[HOSTS][4 * HOSTS * FLOWS + 4];
	uint64_t captured, traced;
	struct fabric_port *port[512]; /* ports with cables */
	unsigned int nports;
	unsigned int fault[FAULTS], nfaults;
	struct capture *capture;
	bool tracing;
	struct poke poke[POKES];
	unsigned int npokes;
	uint64_t part[ROUNDS + 1][PARTS];
	/*
	 * .got: number of IP packets that arrived; .whole: number of super-frames with several
	 * packets that arrived
	 */
	uint64_t got, whole;
	/* number of these super-frames that were made of datagrams, and those with one identification */
	uint64_t coalesced, fixed_id;
};

static struct run run[2];

static void mix(uint64_t *h, const void *p, size_t len)
{
	uint64_t v = (uint64_t)crc32_update(CRC32_INIT, p, len) << 17 ^ len;

	*h = (*h ^ v) * 0x9e3779b97f4a7c15ull;
	*h ^= *h >> 29;
}

static void mix_u64(uint64_t *h, uint64_t v)
{
	*h = (*h ^ v) * 0x9e3779b97f4a7c15ull;
	*h ^= *h >> 29;
}

/* --- IP packets that hosts receive */

/* Return the sum of 16-bit words (RFC 1071). */
static uint16_t sum16(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += (i & 1) ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint16_t pseudo(const uint8_t *ip, uint8_t proto, uint32_t len)
{
	bool v6 = ip[0] >> 4 == 6;

	return sum16(ip + (v6 ? 8 : 12), v6 ? 32 : 8, proto + (len >> 16) + (len & 0xffff));
}

/*
 * Returns the slot of an IP packet: the index in run.ip[host] of the checksum to which the packet
 * belongs. The source address contains the number of the packet's flow. Each flow has two
 * destination ports and two destination addresses. Each combination of these has its own slot,
 * because coalescing must treat the combinations as separate flows.
 */
static unsigned int slot(const uint8_t *ip)
{
	bool v4 = ip[0] >> 4 == 4,
	     ours = v4 ? ip[12] == 10 && ip[13] == 9 : ip[8] == 0xfd && ip[9] == 9;
	unsigned int l3 = v4 ? (ip[0] & 15) * 4u : ip[6] == 60 ? 48 : 40, flow = ip[v4 ? 15 : 23];

	if (!ours)
		return 0;
	assert_true(flow < HOSTS * FLOWS);
	return 4 * flow + 4 + 2 * (v4 && ip[16] == 0xff) + (be16_at(ip + l3 + 2) == DHCP_PORT);
}

static void got_ip(struct run *x, const struct lab_host *to, const uint8_t *ip, uint32_t len)
{
	uint64_t *h = &x->ip[to->index][slot(ip)];
	uint8_t head[12];

	/*
	 * Leave out the identification of packets with DF. The identification has no meaning (RFC
	 * 6864), and coalescing changes it: in a super-frame that is joined from two super-frames,
	 * the identifications of all packets are computed from the first packet.
	 */
	memcpy(head, ip, sizeof(head));
	if (ip[0] >> 4 == 4 && (ip[6] & 0x60) == 0x40)
		head[4] = head[5] = head[10] = head[11] = 0;
	mix_u64(h, x->l.now);
	mix(h, head, sizeof(head));
	mix(h, ip + sizeof(head), len - sizeof(head));
	x->got++;
}

/*
 * Account for packet @k of a super-frame. Its IP length, identification, sequence number, flags and
 * checksums are those that the kernel's segmentation would give it.
 */
static void got_segment(struct run *x, const struct lab_host *to, const uint8_t *super,
			uint32_t hlen, uint32_t l3, uint32_t at, uint32_t n, bool first, bool last,
			unsigned int k)
{
	static uint8_t b[9000];
	bool v6 = super[0] >> 4 == 6, udp = super[v6 ? 6 : 9] == 17;
	uint8_t *l4 = b + l3;
	uint16_t csum;

	assert_true(hlen + n <= sizeof(b));
	memcpy(b, super, hlen);
	memcpy(b + hlen, super + hlen + at, n);
	be16_put(b + (v6 ? 4 : 2), (uint16_t)(hlen + n - (v6 ? 40 : 0)));
	if (!v6) {
		be16_put(b + 4, (uint16_t)(be16_at(b + 4) + k));
		be16_put(b + 10, 0);
		be16_put(b + 10, (uint16_t)~sum16(b, 20, 0));
	}
	if (udp) {
		be16_put(l4 + 4, (uint16_t)(8 + n));
	} else {
		be32_put(l4 + 4, be32_at(l4 + 4) + at);
		if (!last)
			l4[13] &= 0xf6;
		if (!first)
			l4[13] &= 0x7f;
	}
	be16_put(l4 + (udp ? 6 : 16), 0);
	csum = (uint16_t)~sum16(l4, hlen - l3 + n, pseudo(b, udp ? 17 : 6, hlen - l3 + n));
	be16_put(l4 + (udp ? 6 : 16), udp && !csum ? 0xffff : csum);
	got_ip(x, to, b, hlen + n);
}

static void got_super(struct run *x, const struct lab_host *to, const struct frame_info *info,
		      const uint8_t *ip, uint32_t len)
{
	bool v6 = ip[0] >> 4 == 6, udp = info->gso == FRAME_GSO_UDP;
	uint32_t l3 = v6 ? 40 : 20, hlen = l3 + (udp ? 8 : (ip[l3 + 12] >> 4) * 4u);

	assert_int_equal(info->csum, FRAME_CSUM_PARTIAL);
	assert_int_equal(info->csum_start, l3);
	assert_int_equal(info->csum_offset, udp ? 6 : 16);
	assert_int_equal(be16_at(ip + (v6 ? 4 : 2)), len - (v6 ? 40 : 0));
	assert_int_equal(ip[v6 ? 6 : 9], udp ? 17 : 6);
	assert_int_equal(be16_at(ip + l3 + info->csum_offset), pseudo(ip, udp ? 17 : 6, len - l3));
	if (!v6)
		assert_int_equal(sum16(ip, 20, 0), 0xffff);
	if (udp)
		assert_int_equal(be16_at(ip + l3 + 4), len - l3);
	assert_true(info->gso_size && len > hlen);
	for (uint32_t at = 0, k = 0; at < len - hlen; at += info->gso_size, k++) {
		uint32_t n = len - hlen - at < info->gso_size ? len - hlen - at : info->gso_size;

		got_segment(x, to, ip, hlen, l3, at, n, !at, at + n == len - hlen, k);
	}
	x->whole++;
	x->coalesced += info->coalesced > 0;
	x->fixed_id += info->fixed_id;
}

static void on_frame(struct lab *l, struct lab_host *to, const struct eth_frame *f)
{
	struct run *x = container_of(l, struct run, l);
	const struct frame_info *info = frame_info_const(f->first);
	struct iovec iov[ETH_FRAME_PARTS];
	unsigned int n = eth_frame_iov(f, iov);
	uint32_t len = 0, head = (uint32_t)lab_head_len(to);
	static uint8_t b[LEN_MAX];

	for (unsigned int i = 0; i < n; len += (uint32_t)iov[i++].iov_len)
		memcpy(b + len, iov[i].iov_base, iov[i].iov_len);
	assert_int_equal(len, f->len);
	assert_true(len >= head + 20);
	assert_false(info->gso == FRAME_GSO_UDP ? to->no_uso : info->gso && to->no_tso);
	if (info->gso)
		got_super(x, to, info, b + head, len - head);
	else
		got_ip(x, to, b + head, len - head);
}

/* --- IP packets that hosts send */

struct draw {
	bool v6, udp, gso;
	uint32_t l3, l4, payload, size;
	uint8_t flags;
	uint16_t port;
	bool mf, df, wrong_len, all; /* all: the packet is for the broadcast address */
	unsigned int burst; /* number of such frames */
	bool fixed_id; /* the frames of the burst have the same identification */
};

static struct draw draw_frame(struct prng *r, unsigned int f)
{
	struct draw d = { .v6 = f & 1,
			  .udp = f & 2,
			  .gso = prng_below(r, 6) > 0,
			  .flags = 0x10,
			  .port = prng_below(r, 12) ? 5000 : DHCP_PORT,
			  .df = prng_below(r, 2),
			  .mf = !prng_below(r, 24),
			  .wrong_len = !prng_below(r, 40),
			  .all = !prng_below(r, 20) };
	static const uint8_t odd[] = { 0x80, 0x40, 0xc0, 0x01, 0x09, 0x02, 0x20, 0x04 };

	d.all &= !d.v6;
	d.l3 = d.v6 ? 40 : 20;
	if (!prng_below(r, 12))
		d.l3 += 8;
	d.l4 = d.udp ? 8 : 20 + 4 * prng_below(r, 4);
	if (prng_below(r, 3))
		d.flags |= 0x08;
	if (!prng_below(r, 5))
		d.flags |= odd[prng_below(r, sizeof(odd))];
	d.size = 1 + prng_below(r, 2044 - d.l3 - d.l4);
	if (prng_below(r, 2))
		d.size = 2044 - d.l3 - d.l4;
	if (!prng_below(r, 16))
		d.size += 1000; /* TCP segments above the MTU are cut, datagrams are dropped */
	if (d.size < 8)
		d.size = 8;
	d.payload = d.gso ? 1 + prng_below(r, prng_below(r, 3) ? 60000 : 3 * d.size)
			  : 1 + prng_below(r, 2044 - d.l3 - d.l4);
	if (d.gso && d.payload > d.size * 128)
		d.payload = d.size * 128;
	d.burst = 1;
	if (d.udp && !d.gso && prng_below(r, 3)) {
		d.payload = 1 + prng_below(r, 300);
		d.burst = 1 + prng_below(r, 150);
		d.fixed_id = !prng_below(r, 3);
	}
	return d;
}

static uint32_t put_headers(const struct draw *d, uint8_t *b, unsigned int from, unsigned int to,
			    unsigned int f, const struct flow *w)
{
	uint32_t len = d->l3 + d->l4 + d->payload, l4_len = d->l4 + d->payload;
	uint8_t proto = d->udp ? 17 : 6, *l4 = b + d->l3, flow = (uint8_t)(from * FLOWS + f);

	if (d->wrong_len)
		len -= d->payload;
	if (d->v6) {
		b[0] = 0x60;
		be16_put(b + 4, (uint16_t)(len - 40));
		b[6] = d->l3 > 40 ? 60 : proto;
		b[7] = 64;
		b[8] = b[24] = 0xfd;
		b[9] = b[25] = 9;
		b[23] = flow;
		b[39] = (uint8_t)to;
		if (d->l3 > 40) {
			b[40] = proto;
			b[42] = 1;
			b[43] = 4;
		}
	} else {
		b[0] = (uint8_t)(0x40 | d->l3 / 4);
		be16_put(b + 2, (uint16_t)len);
		be16_put(b + 4, w->id);
		b[6] = (uint8_t)((d->df ? 0x40 : 0) | (d->mf ? 0x20 : 0));
		b[8] = 64;
		b[9] = proto;
		memcpy(b + 12, "\x0a\x09\x00", 3);
		b[15] = flow;
		memcpy(b + 16, d->all ? "\xff\xff\xff\xff" : "\x0a\x09\x01\x00", 4);
		memset(b + 20, 1, d->l3 - 20);
		be16_put(b + 10, (uint16_t)~sum16(b, d->l3, 0));
	}
	be16_put(l4, 4000);
	be16_put(l4 + 2, d->port);
	if (d->udp) {
		be16_put(l4 + 4, (uint16_t)l4_len);
	} else {
		be32_put(l4 + 4, w->seq);
		l4[12] = (uint8_t)(d->l4 / 4 << 4);
		l4[13] = d->flags;
		memset(l4 + 20, 1, d->l4 - 20);
	}
	be16_put(l4 + (d->udp ? 6 : 16), pseudo(b, proto, l4_len));
	return d->l3 + d->l4;
}

static void send_drawn(struct run *x, struct draw d, unsigned int from, unsigned int f)
{
	static uint8_t b[LEN_MAX];
	unsigned int n = x->l.nhosts, to = (from + 1 + f % (n - 1)) % n;
	struct lab_host *h = &x->l.host[from];
	struct flow *w = &x->flow[from][f];
	uint32_t head = (uint32_t)lab_head_len(h), hlen;
	uint8_t hw[IPOIB_ALEN];
	struct pkt *p;

	memset(b, 0, head + d.l3 + d.l4 + d.payload);
	if (d.all)
		lab_broadcast_hw(h, hw);
	else if (h->shape == ETH_SHAPE_INFINIBAND)
		ipoib_lladdr_encode(hw, &x->l.host[to].addr);
	else
		memcpy(hw, lab_mac(h, &x->l.host[to]), 6);
	lab_put_head(h, b, hw, d.v6 ? ETH_P_IPV6_ : ETH_P_IPV4);
	hlen = head + put_headers(&d, b + head, from, to, f, w);
	for (uint32_t i = 0; i < d.payload; i += 8)
		be32_put(b + hlen + i, w->seq + i);
	w->seq += d.payload;
	if (!d.fixed_id)
		w->id = (uint16_t)(w->id + (d.gso ? d.payload / d.size + 1 : 1));
	p = pkt_from_data(x->l.pool, b, hlen + d.payload);
	assert_non_null(p);
	*frame_info(p) = (struct frame_info){
		.csum = FRAME_CSUM_PARTIAL,
		.csum_start = (uint16_t)d.l3,
		.csum_offset = d.udp ? 6 : 16,
	};
	if (d.gso) {
		frame_info(p)->gso = d.udp ? FRAME_GSO_UDP : d.v6 ? FRAME_GSO_TCP6 : FRAME_GSO_TCP4;
		frame_info(p)->gso_size = (uint16_t)d.size;
	}
	lab_frame(h, p);
}

/* Sends a frame, or a burst of datagrams that differ sometimes from those before. */
static void send_frames(struct run *x)
{
	unsigned int from = prng_below(&x->r, x->l.nhosts), f = prng_below(&x->r, FLOWS);
	struct draw d = draw_frame(&x->r, f);

	for (unsigned int i = 0; i < d.burst; i++) {
		struct draw one = d;

		if (d.burst > 1 && !prng_below(&x->r, 20))
			one.payload = 1 + prng_below(&x->r, d.payload + 3);
		if (d.burst > 1 && !prng_below(&x->r, 40))
			x->flow[from][f].id += 7;
		send_drawn(x, one, from, prng_below(&x->r, 40) ? f : (f + 4) % FLOWS);
	}
}

/* --- events in the fabric */

static struct fabric_port *any_port(struct run *x)
{
	return x->port[prng_below(&x->r, x->nports)];
}

static void toggle_link(struct run *x)
{
	struct fabric_port *p = any_port(x);
	bool on = fabric_link_state(p) == FABRIC_LINK_DISABLED;

	assert_int_equal(fabric_link_set(p, on, x->l.now), 0);
}

static void fault_off(struct run *x, unsigned int i)
{
	assert_int_equal(fabric_fault_del(x->l.f, x->fault[i], x->l.now), 0);
	x->fault[i] = x->fault[--x->nfaults];
}

static void fault_on(struct run *x, enum fault_kind kind)
{
	struct fault_spec s = { .kind = kind, .ppm = 200000 };

	if (kind == FAULT_REORDER || kind == FAULT_DELAY)
		s.delay = NS_USEC(1) * (1 + prng_below(&x->r, 5000));
	if (kind == FAULT_DELAY)
		s.jitter = NS_USEC(1) * prng_below(&x->r, 500);
	if (kind == FAULT_DELAY || kind == FAULT_CUT || kind == FAULT_STALL)
		s.ppm = 0;
	if (kind != FAULT_STALL)
		s.cls = prng_below(&x->r, 2) ? FAULT_DATA : FAULT_ALL;
	assert_int_equal(fabric_fault_add(any_port(x), &s, &x->fault[x->nfaults]), 0);
	x->nfaults++;
}

static void change_faults(struct run *x)
{
	enum fault_kind kind = prng_below(&x->r, FAULT_KINDS);

	if (x->nfaults == FAULTS || (x->nfaults && prng_below(&x->r, 2)))
		fault_off(x, prng_below(&x->r, x->nfaults));
	else
		fault_on(x, prng_below(&x->r, 3) ? kind : FAULT_STALL);
}

static int put_capture(void *ctx, const void *data, size_t len)
{
	struct run *x = ctx;

	mix(&x->captured, data, len);
	return 0;
}

static void change_capture(struct run *x)
{
	struct capture_cfg c = { .format = CAPTURE_PCAPNG, .write = put_capture, .ctx = x };

	if (x->capture) {
		capture_destroy(x->capture);
		x->capture = NULL;
		return;
	}
	assert_int_equal(capture_create(&x->capture, x->l.f, &c), 0);
	if (prng_below(&x->r, 4))
		assert_int_equal(capture_add_link(x->capture, any_port(x)), 0);
	else
		assert_int_equal(capture_add_end_ports(x->capture), 0);
}

static bool match(void *ctx, const struct pkt *p)
{
	assert_false(pkt_is_train(p));
	return p->vl != IB_VL15;
}

static void traced(void *ctx, const struct fabric_trace_event *ev)
{
	struct run *x = ctx;
	static uint8_t b[IB_PKT_MAX];
	uint64_t v = (uint64_t)ev->kind << 56 | (uint64_t)ev->in_port << 48 |
		     (uint64_t)ev->out_port << 40 | (uint64_t)(uint8_t)ev->drop << 32 |
		     (uint64_t)(uint8_t)ev->hca_drop << 24;

	mix_u64(&x->traced, v);
	mix_u64(&x->traced, ev->now);
	mix(&x->traced, b, fabric_pkt_to_wire(ev->pkt, b, sizeof(b)));
}

static void change_trace(struct run *x)
{
	struct fabric_trace t = { .match = match, .event = traced, .ctx = x };

	x->tracing = !x->tracing;
	fabric_trace_set(x->l.f, x->tracing ? &t : NULL);
}

static void poke_back(struct run *x)
{
	struct poke *k = &x->poke[--x->npokes];

	memcpy(k->at, k->was, k->len);
}

static void poke(struct run *x, void *at, size_t len, unsigned int value)
{
	struct poke *k = &x->poke[x->npokes];

	if (x->npokes == POKES)
		return;
	x->npokes++;
	*k = (struct poke){ .at = at, .len = len };
	memcpy(k->was, at, len);
	memcpy(at, &value, len);
}

/* Change the MTU, the P_Keys, an SLtoVL table or a route at a random port, without the SM. */
static void poke_any(struct run *x)
{
	struct fabric_port *p = any_port(x);
	struct node *n = fabric_node_node(fabric_port_node(p));
	struct node_port *np = &n->port[fabric_port_num(p)];
	unsigned int what = prng_below(&x->r, 7), any = prng_below(&x->r, 1000);

	switch (what) {
	case 0:
		return poke(x, &np->pi.neighbor_mtu, 1, IB_MTU_256 + any % 4);
	case 1:
		return poke(x, &np->pi.mtu_cap, 1, IB_MTU_256 + any % 4);
	case 2:
		return poke(x, &np->pkeys[0], 2, 0x8000 | any);
	case 3:
		return poke(x, &np->pi.part_enforce_in, 1, 1);
	case 4:
		return poke(x, &np->pi.part_enforce_out, 1, 1);
	case 5:
		if (n->sw)
			poke(x,
			     &node_sltovl_own(
				     n)[any % ((n->info.nports + 1u) * (n->info.nports + 1u))][0],
			     1, any % 2 ? IB_VL15 : 1);
		return;
	default:
		if (n->sw)
			poke(x, &n->sw->lft[1 + any % 20], 1, any % (n->info.nports + 2u));
	}
}

/* Find a port of @n, other than @except, whose cable leads to @to. NULL: there is no such port. */
static struct fabric_port *other_way(struct fabric_node *n, const struct fabric_port *except,
				     const struct fabric_node *to)
{
	for (unsigned int k = 1; k <= fabric_node_node(n)->info.nports; k++) {
		struct fabric_port *p = fabric_node_port(n, k), *peer = fabric_port_peer(p);

		if (p != except && peer && fabric_port_node(peer) == to)
			return p;
	}
	return NULL;
}

/*
 * Change routes so that two switches send the packets for a host to each other, over one cable and
 * back over another one, until the hop limit of the fabric drops the packets.
 */
static void make_loop(struct run *x)
{
	struct fabric_port *p = any_port(x), *q = fabric_port_peer(p), *back;
	struct fabric_node *a = fabric_port_node(p), *b = fabric_port_node(q);
	const struct lab_host *h = &x->l.host[prng_below(&x->r, x->l.nhosts)];
	uint16_t lid = fabric_node_node(h->node)->port[h->port].pi.lid;

	if (!fabric_node_node(a)->sw || !fabric_node_node(b)->sw)
		return;
	back = other_way(b, q, a);
	if (!back)
		return;
	poke(x, &fabric_node_node(a)->sw->lft[lid], 1, fabric_port_num(p));
	poke(x, &fabric_node_node(b)->sw->lft[lid], 1, fabric_port_num(back));
}

static void one_event(struct run *x)
{
	switch (prng_below(&x->r, 9)) {
	case 0:
		return toggle_link(x);
	case 1:
	case 2:
	case 3:
		return change_faults(x);
	case 4:
		return change_capture(x);
	case 5:
		return change_trace(x);
	case 6:
		return poke_any(x);
	case 7:
		return make_loop(x);
	default:
		if (x->npokes)
			poke_back(x);
	}
}

/* --- rounds */

static void note(struct run *x, uint64_t part[PARTS])
{
	struct fabric *f = x->l.f;
	struct fault_info info;

	mix(&part[PART_IP], x->ip, sizeof(x->ip));
	for (unsigned int i = 0; i < fabric_nnodes(f); i++) {
		struct fabric_node *fn = fabric_node_at(f, i);
		struct node *n = fabric_node_node(fn);

		for (unsigned int k = 0; k <= n->info.nports; k++) {
			mix(&part[PART_PORTS], &n->port[k].cnt, sizeof(n->port[k].cnt));
			mix_u64(&part[PART_PORTS], n->port[k].pi.pkey_violations);
			mix_u64(&part[PART_PORTS], n->port[k].pi.qkey_violations);
		}
		for (unsigned int d = 0; fabric_node_hca(fn) && d < HCA_DROP_MAX; d++)
			mix_u64(&part[PART_HCAS], hca_drops(fabric_node_hca(fn), d));
		for (unsigned int d = 0; d < FABRIC_DROP_MAX; d++)
			mix_u64(&part[PART_FABRIC], fabric_node_drops(fn, d));
	}
	mix(&part[PART_FABRIC], fabric_stats(f), sizeof(*fabric_stats(f)));
	mix_u64(&part[PART_FABRIC], fabric_queued(f));
	for (unsigned int i = 0; i < x->nports; i++) {
		struct fabric_send_queue q = fabric_send_queue(x->port[i]);

		mix_u64(&part[PART_FABRIC], q.waiting);
		mix_u64(&part[PART_FABRIC], q.sent);
	}
	for (unsigned int i = 0; i < x->l.nhosts; i++) {
		struct eth_stats e = *eth_if_stats(x->l.host[i].ifc.eth);

		/* the two labs can coalesce the same packets into different numbers of frames */
		e.rx_frames = 0;
		mix(&part[PART_ETH], &e, sizeof(e));
		mix(&part[PART_LINKS], ipoib_link_stats(x->l.host[i].link),
		    sizeof(struct ipoib_stats));
	}
	for (unsigned int id = 0; fabric_fault_next(f, id, &info); id = info.id) {
		mix_u64(&part[PART_FAULTS], info.seen);
		mix_u64(&part[PART_FAULTS], info.hit);
		mix_u64(&part[PART_FAULTS], info.held);
	}
	part[PART_CAPTURES] = x->captured;
	part[PART_TRACES] = x->traced;
}

static void find_ports(struct run *x)
{
	for (unsigned int i = 0; i < fabric_nnodes(x->l.f); i++) {
		struct fabric_node *n = fabric_node_at(x->l.f, i);

		for (unsigned int k = 1; k <= fabric_node_node(n)->info.nports; k++) {
			struct fabric_port *p = fabric_node_port(n, k);

			if (fabric_port_peer(p) && x->nports < ARRAY_SIZE(x->port))
				x->port[x->nports++] = p;
		}
	}
}

static void draw_tap(struct lab_host *h, void *ctx)
{
	h->no_tso = !prng_below(ctx, 4);
	h->no_uso = !prng_below(ctx, 3);
	h->shape = prng_below(ctx, 3) ? ETH_SHAPE_ETHERNET : ETH_SHAPE_INFINIBAND;
}

static enum hca_crc crc_of(uint64_t seed)
{
	static const enum hca_crc crcs[] = { HCA_CRC_LAZY, HCA_CRC_FULL, HCA_CRC_LAZY,
					     HCA_CRC_ICRC };

	return crcs[seed % ARRAY_SIZE(crcs)];
}

static void begin(struct run *x, uint64_t seed, bool trains)
{
	struct topo_gen_random g = { .seed = seed, .max_ca_ports = 1 };
	struct prng setup;
	struct topo *t;

	memset(x, 0, sizeof(*x));
	prng_seed(&x->r, seed);
	prng_seed(&setup, seed);
	g.cas = 2 + prng_below(&x->r, HOSTS - 1);
	g.switches = 1 + prng_below(&x->r, 3);
	g.extra_links = prng_below(&x->r, 5);
	t = topo_gen_random(&g);
	assert_non_null(t);
	lab_create(&x->l,
		   &(struct lab_cfg){
			   .topo = t,
			   .seed = seed,
			   .crc = crc_of(seed),
			   .setup = draw_tap,
			   .setup_ctx = &setup,
			   .trains = trains,
			   .data_depth = prng_below(&x->r, 2) ? 0 : 100 + prng_below(&x->r, 200),
			   .rq_depth = prng_below(&x->r, 2) ? 0 : 50 + prng_below(&x->r, 300),
			   .verbose = getenv("LAB_VERBOSE") != NULL });
	topo_free(t);
	assert_true(x->l.nhosts >= 2 && x->l.nhosts <= HOSTS);
	x->l.frame = on_frame;
	find_ports(x);
	lab_wait_up(&x->l, NULL, NS_SEC(30), seed, "at the start");
	for (unsigned int a = 0; a < x->l.nhosts; a++)
		for (unsigned int b = 0; b < x->l.nhosts; b++)
			if (a != b)
				lab_send(&x->l.host[a], &x->l.host[b], "hello", 5);
	lab_run(&x->l, NS_SEC(1));
}

static void end(struct run *x)
{
	while (x->npokes)
		poke_back(x);
	while (x->nfaults)
		fault_off(x, 0);
	if (x->capture)
		change_capture(x);
	if (x->tracing)
		change_trace(x);
	for (unsigned int i = 0; i < x->nports; i++)
		fabric_link_set(x->port[i], true, x->l.now);
	lab_run(&x->l, NS_SEC(5));
	note(x, x->part[ROUNDS]);
	lab_destroy(&x->l);
}

static void one_run(struct run *x, uint64_t seed, bool trains)
{
	begin(x, seed, trains);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		for (unsigned int i = prng_below(&x->r, 8); i; i--)
			send_frames(x);
		if (prng_below(&x->r, 2))
			one_event(x);
		lab_run(&x->l, NS_USEC(1) * prng_below(&x->r, prng_below(&x->r, 4) ? 1000 : 40000));
		note(x, x->part[round]);
	}
	end(x);
}

static void compare(uint64_t seed)
{
	for (unsigned int round = 0; round <= ROUNDS; round++)
		for (unsigned int i = 0; i < PARTS; i++)
			if (run[0].part[round][i] != run[1].part[round][i])
				fail_msg("seed %llu: %s differ after round %u of %u",
					 (unsigned long long)seed, part_names[i], round, ROUNDS);
}

static void one_seed(uint64_t seed)
{
	one_run(&run[0], seed, false);
	one_run(&run[1], seed, true);
	compare(seed);
}

static void test_trains_are_their_packets(void **state)
{
	const char *only = getenv("TRAINS_SEED"), *most = getenv("TRAINS_SEEDS");
	unsigned long long seeds = most ? strtoull(most, NULL, 10) : SEEDS;
	uint64_t got = 0, whole[HCA_CRC_LAZY + 1] = { 0 }, coalesced = 0, fixed_id = 0;

	if (only) {
		one_seed(strtoull(only, NULL, 10));
		return;
	}
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		one_seed(seed);
		got += run[1].got;
		whole[crc_of(seed)] += run[1].whole;
		coalesced += run[1].coalesced;
		fixed_id += run[1].fixed_id;
	}
	/* Check that enough traffic has arrived to make the comparison meaningful. */
	assert_true(got > seeds * 500);
	assert_true(coalesced > seeds && fixed_id > seeds / 10);
	for (unsigned int i = 0; i < ARRAY_SIZE(whole) && seeds >= SEEDS; i++)
		assert_true(whole[i] > seeds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trains_are_their_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
