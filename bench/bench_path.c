/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Measures one part of the data path, for one payload size and one CRC mode:
 *
 *	bench_path encode|hop|decode|line1|line17 SIZE|train CRC PACKETS
 *
 *	encode	hca_post_send(): headers, pad, CRCs
 *	hop	one switch: VCRC, LFT, egress queue, link (the difference between line17 and line1, divided by 16)
 *	decode	hca_rx() and hca_poll(): all checks, receive queue
 *	lineN	from post to poll over N switches
 *
 * "train" stands for trains of 32 packets of TCP, with an MTU of 2044; decoding them is the difference between line1 and the
 * other two parts.
 *
 * Prints ns per packet, or per train. For instructions per packet, bench/run.sh runs the program under callgrind
 * with two numbers of packets, and divides the difference in instructions by the difference in
 * packets.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabric/fabric.h"
#include "crc/crc.h"
#include "train/train.h"

#define QKEY 0x80000b1bu
#define TRAIN 0 /* as a size */
#define TRAIN_PACKETS 32
#define SEGMENT 2004 /* octets of payload in a packet of TCP with MTU 2044 */

static enum hca_crc crc;
static struct pkt_pool *pool;
static struct timers timers;
static uint8_t data[4096];
static unsigned int batch; /* packets or trains that are sent together */

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_path: %s\n", what);
	exit(1);
}

/* --- encode and decode are measured on a single HCA, whose port this program brings up itself */

static struct pkt *caught;
static bool catch_one;

static void on_xmit(void *ctx, uint8_t port, struct pkt *p, ns_t now)
{
	if (catch_one)
		caught = p;
	else
		pkt_free(p);
}

static const struct hca_ops sink_ops = { .xmit = on_xmit };

static struct hca *make_hca(uint64_t guid, uint16_t lid)
{
	uint64_t port_guid = guid + 1;
	struct hca_cfg c = { .node = { .type = IB_NODE_CA,
				       .nports = 1,
				       .sys_guid = guid,
				       .node_guid = guid,
				       .port_guids = &port_guid,
				       .desc = "bench" },
			     .crc = crc,
			     .trains = true };
	struct hca *h;
	struct smp_port_info *pi;

	if (hca_create(&h, &c, &sink_ops, NULL, &timers, pool, NULL))
		die("hca_create");
	node_link(hca_node(h), 1, true, 1);
	pi = &hca_node(h)->port[1].pi;
	pi->lid = lid;
	pi->port_state = IB_PORT_ACTIVE;
	pi->neighbor_mtu = IB_MTU_4096;
	return h;
}

static struct hca_qp *make_qp(struct hca *h, uint32_t qpn)
{
	struct hca_qp_attr a = { .port = 1, .qkey = QKEY, .rx_depth = 256, .qpn_hint = qpn };
	struct hca_qp *qp;

	if (hca_qp_create(h, &a, NULL, &qp))
		die("hca_qp_create");
	return qp;
}

static struct hca_ah *make_ah(struct hca *h, uint16_t dlid)
{
	struct hca_ah_attr a = { .port = 1, .dlid = dlid };
	struct hca_ah *ah;

	if (hca_ah_create(h, &a, &ah))
		die("hca_ah_create");
	return ah;
}

/* Make a train of the TCP super-frame whose payload is in @buf. */
static struct pkt *make_train(struct pkt_buf *buf)
{
	uint8_t h[44] = { 8, 0, 0, 0, 0x45 }, *ip = h + 4;
	struct pkt *p = pkt_alloc(pool);

	if (!p || pkt_add_slice(p, buf, buf->data, TRAIN_PACKETS * SEGMENT))
		die("out of packets");
	be16_put(ip + 2, 40 + TRAIN_PACKETS * SEGMENT);
	ip[9] = 6;
	ip[32] = 0x50;
	memcpy(pkt_push(p, sizeof(h)), h, sizeof(h));
	*frame_info(p) = (struct frame_info){
		.gso = FRAME_GSO_TCP4,
		.gso_size = SEGMENT,
		.csum_start = 20,
		.csum_offset = 16,
		.csum = FRAME_CSUM_PARTIAL,
	};
	if (train_make(p, 4, 2044) || pkt_count(p) != TRAIN_PACKETS)
		die("no train was made");
	return p;
}

/*
 * Make a packet whose payload is a slice of one shared buffer, as in the packets that are cut from
 * a super-frame (segmentation).
 */
static struct pkt *make_payload(struct pkt_buf *buf, unsigned int size)
{
	struct pkt *p;

	if (size == TRAIN)
		return make_train(buf);
	p = pkt_alloc(pool);
	if (!p || pkt_add_slice(p, buf, buf->data, size))
		die("out of packets");
	return p;
}

static double encode(unsigned int size, unsigned long n)
{
	struct hca *h = make_hca(0x100, 1);
	struct hca_qp *qp = make_qp(h, 0x100);
	struct hca_ah *ah = make_ah(h, 2);
	struct pkt_buf *buf = pkt_buf_alloc(pool);
	struct hca_send s[PKT_BATCH];
	double start = seconds();

	memcpy(buf->data, data, sizeof(data));
	for (unsigned long i = 0; i < n; i += batch) {
		for (unsigned int k = 0; k < batch; k++)
			s[k] = (struct hca_send){ make_payload(buf, size), ah, 0x200, QKEY };
		hca_post_send(qp, s, batch, 1);
	}
	return seconds() - start;
}

static double decode(unsigned int size, unsigned long n)
{
	struct hca *a = make_hca(0x100, 1), *b = make_hca(0x200, 2);
	struct hca_qp *from = make_qp(a, 0x100), *to = make_qp(b, 0x200);
	struct hca_send s = { pkt_from_data(pool, data, size), make_ah(a, 2), 0x200, QKEY };
	struct pkt *v[PKT_BATCH];
	struct hca_wc wc[PKT_BATCH];
	double start;

	catch_one = true;
	hca_post_send(from, &s, 1, 1);
	if (!caught)
		die("nothing was sent");
	start = seconds();
	for (unsigned long i = 0; i < n; i += PKT_BATCH) {
		unsigned int got;

		for (unsigned int k = 0; k < PKT_BATCH; k++)
			v[k] = pkt_clone(caught);
		hca_rx(b, 1, v, PKT_BATCH, 1);
		got = hca_poll(to, wc, PKT_BATCH);
		if (got != PKT_BATCH)
			die("a packet was dropped");
		for (unsigned int k = 0; k < got; k++)
			pkt_free(wc[k].pkt);
	}
	return seconds() - start;
}

/*
 * --- hop is measured on a line of switches between two HCAs. This program writes the LFTs itself
 */

static struct hca_qp *rx_qp;

static struct fabric *make_line(unsigned int switches)
{
	struct topo *t = topo_create();
	struct fabric_cfg c = { .timers = &timers, .pool = pool, .crc = crc, .trains = true };
	struct fabric *f;
	uint32_t prev, next, a, b;
	char name[16];

	topo_add_node(t, IB_NODE_CA, 1, "a", NULL, &a);
	topo_add_node(t, IB_NODE_CA, 1, "b", NULL, &b);
	prev = a;
	for (unsigned int i = 0; i < switches; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		topo_add_node(t, IB_NODE_SWITCH, 2, name, NULL, &next);
		topo_link(t, prev, prev == a ? 1 : 2, next, 1);
		prev = next;
	}
	topo_link(t, prev, 2, b, 1);
	if (fabric_create(&f, t, &c, 1))
		die("fabric_create");
	topo_free(t);
	return f;
}

static void activate(struct fabric *f)
{
	for (unsigned int i = 0; i < fabric_nnodes(f); i++) {
		struct node *n = fabric_node_node(fabric_node_at(f, i));

		for (unsigned int p = 1; p <= n->info.nports; p++) {
			n->port[p].pi.port_state = IB_PORT_ACTIVE;
			n->port[p].pi.neighbor_mtu = IB_MTU_4096;
		}
		if (n->sw) {
			n->sw->lft[1] = 1;
			n->sw->lft[2] = 2;
			n->sw->si.lft_top = 63;
		}
	}
	fabric_node_node(fabric_node_at(f, 0))->port[1].pi.lid = 1;
	fabric_node_node(fabric_node_at(f, 1))->port[1].pi.lid = 2;
}

static double line(unsigned int switches, unsigned int size, unsigned long n)
{
	struct fabric *f = make_line(switches);
	struct hca *a = fabric_node_hca(fabric_node_at(f, 0)),
		   *b = fabric_node_hca(fabric_node_at(f, 1));
	struct pkt_buf *buf = pkt_buf_alloc(pool);
	struct hca_send s[PKT_BATCH];
	struct hca_wc wc[PKT_BATCH];
	struct hca_qp *qp;
	struct hca_ah *ah;
	double start;

	activate(f);
	qp = make_qp(a, 0x100);
	rx_qp = make_qp(b, 0x200);
	ah = make_ah(a, 2);
	start = seconds();
	for (unsigned long i = 0; i < n; i += batch) {
		unsigned int got;

		for (unsigned int k = 0; k < batch; k++)
			s[k] = (struct hca_send){ make_payload(buf, size), ah, 0x200, QKEY };
		hca_post_send(qp, s, batch, 1);
		while (fabric_run(f, 1))
			;
		got = hca_poll(rx_qp, wc, PKT_BATCH);
		if (got != batch)
			die("a packet was dropped");
		for (unsigned int k = 0; k < got; k++)
			pkt_free(wc[k].pkt);
	}
	return seconds() - start;
}

static double hop(unsigned int size, unsigned long n)
{
	return (line(17, size, n) - line(1, size, n)) / 16;
}

static double run(const char *part, unsigned int size, unsigned long n)
{
	if (!strcmp(part, "encode"))
		return encode(size, n);
	if (!strcmp(part, "decode"))
		return size == TRAIN ? line(1, size, n) - hop(size, n) - encode(size, n)
				     : decode(size, n);
	if (!strcmp(part, "hop"))
		return hop(size, n);
	if (!strncmp(part, "line", 4))
		return line((unsigned int)atoi(part + 4), size, n);
	return -1;
}

int main(int argc, char **argv)
{
	unsigned int size = argc > 2 ? (unsigned int)atoi(argv[2]) : 2044;
	unsigned long n = argc > 4 ? strtoul(argv[4], NULL, 0) : 1000000;
	double t;

	if (argc < 4 ||
	    (!size && strcmp(argv[2], "train"))) { /* atoi() makes TRAIN of the word train */
		fprintf(stderr, "usage: bench_path encode|hop|decode|line1|line17 SIZE|train "
				"full|icrc|lazy PACKETS\n");
		return 2;
	}
	crc = !strcmp(argv[3], "full")	 ? HCA_CRC_FULL
	      : !strcmp(argv[3], "icrc") ? HCA_CRC_ICRC
					 : HCA_CRC_LAZY;
	batch = size == TRAIN ? 4 : PKT_BATCH;
	timers_init(&timers);
	pool = pkt_pool_create(8192, 64);
	t = run(argv[1], size, n);
	if (t < 0)
		die("unknown part");
	printf("%.1f\n", t * 1e9 / (double)n);
	return 0;
}
