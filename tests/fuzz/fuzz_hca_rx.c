/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Packets of any content arrive at both ports of a simulated HCA that has QPs and attachments to
 * multicast groups. Before delivery the target corrects lengths, CRCs and fields of the headers, so
 * that the fuzzer gets past the first checks. The first octets of the input decide what the target
 * corrects.
 *
 * There must be no crash and no leak, and each packet is polled, dispatched as a MAD, or counted
 * under exactly one reason.
 */

#include <stdlib.h>

#include "hca/hca.h"
#include "crc/crc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LID1 0x0020
#define QPN 0x48
#define QKEY 0x0b1b
#define MLID 0xc005
#define CONTROL 8 /* octets of control before the packet */

enum mend {
	MEND_LENGTHS = 1 << 0,
	MEND_CRC = 1 << 1,
	MEND_TAIL = 1 << 2, /* tail_len gets the length that PadCnt requires */
	MEND_UNICAST = 1 << 3, /* addresses, QPN and keys become those of a QP */
	MEND_MCAST = 1 << 4,
	MEND_MAD = 1 << 5,
	IN_SLICE = 1 << 6, /* the headers are in a slice, not in hdr[] */
	PORT_2 = 1 << 7,
};

/*
 * Bits of ctl[5]. LEAVE_X: field X keeps the octets of the input, although other fields are
 * corrected. The two highest bits are the state of the ports
 */
enum leave {
	MAD_PERMISSIVE = 1 << 0,
	LEAVE_QKEY = 1 << 1,
	LEAVE_GID = 1 << 2,
	LEAVE_DLID = 1 << 3,
	LEAVE_QPN = 1 << 4,
	LEAVE_NXT_HDR = 1 << 5,
	/* state of both ports: 3, 2, 1, 0 stand for Down, Initialize, Armed, Active */
	STATE_SHIFT = 6,
};

static struct {
	struct timers timers;
	struct log_sink log;
	struct pkt_pool *pool;
	struct hca *h;
	struct hca_qp *qp[3];
	struct pkt_queue out;
} f;

static void on_xmit(void *ctx, uint8_t port, struct pkt *p, ns_t now)
{
	/* The HCA sends only answers of its own agents. The CRCs of these packets must be right. */
	if (crc_pkt_check(p) != CRC_OK)
		abort();
	pkt_free(p);
}

static void on_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
}

static void on_ready(void *ctx, struct hca_qp *qp)
{
}

static const struct hca_ops ops = { on_xmit, on_event, on_ready };

static const ib_gid mgid = { { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1 } };

static void set_up(uint8_t state)
{
	static const uint64_t guids[] = { 0x11, 0x12 };
	struct hca_cfg cfg = { .node = { .type = IB_NODE_CA,
					 .nports = 2,
					 .node_guid = 0x10,
					 .sys_guid = 0x10,
					 .port_guids = guids,
					 .desc = "fuzz" } };
	struct hca_qp_attr a = { .port = 1, .qkey = QKEY, .rx_depth = 2 };

	timers_init(&f.timers);
	f.pool = pkt_pool_create(64, 16);
	if (!f.pool || hca_create(&f.h, &cfg, &ops, NULL, &f.timers, f.pool, &f.log))
		abort();
	for (unsigned int i = 1; i <= 2; i++) {
		struct node_port *np = &hca_node(f.h)->port[i];

		node_link(hca_node(f.h), (uint8_t)i, true, 0);
		np->pi.lid = (uint16_t)(LID1 * i);
		np->pi.lmc = 1;
		np->pi.port_state = state;
		np->pi.neighbor_mtu = IB_MTU_2048;
		np->pkeys[1] = 0x8001;
	}
	for (unsigned int i = 0; i < 3; i++) {
		a.port = i == 2 ? 2 : 1;
		a.qpn_hint = QPN + i;
		if (hca_qp_create(f.h, &a, NULL, &f.qp[i]) || hca_attach(f.qp[i], &mgid, MLID))
			abort();
	}
}

static void tear_down(void)
{
	hca_destroy(f.h);
	if (pkt_pool_pkts_used(f.pool) || pkt_pool_bufs_used(f.pool))
		abort();
	pkt_pool_destroy(f.pool);
	timers_fini(&f.timers);
}

static void mend_mad(uint8_t *o, uint8_t *bth, const uint8_t *ctl)
{
	bool gmp = ctl[4] & 1;

	o[0] = gmp ? 0 : 0xf0;
	be32_put(bth + 4, gmp);
	be32_put(bth + 12, IB_QP1_QKEY);
	if (ctl[5] & MAD_PERMISSIVE)
		be16_put(o + 2, IB_LID_PERMISSIVE);
}

/* Correct the headers from LRH to DETH; @o is their first octet, @hlen their length. */
static void mend_headers(uint8_t *o, unsigned int hlen, unsigned int mend, const uint8_t *ctl)
{
	uint8_t *bth = o + hlen - IB_BTH_LEN - IB_DETH_LEN;
	bool grh = hlen > 28, mcast = mend & MEND_MCAST;

	o[0] &= 0xf0;
	bth[0] = IB_OP_UD_SEND_ONLY;
	bth[1] &= 0xf0;
	be16_put(bth + 2, ctl[3] & 1 ? 0xffff : 0x8001);
	if (grh)
		o[8] = 0x60 | (o[8] & 0xf);
	if (grh && !(ctl[5] & LEAVE_NXT_HDR))
		o[14] = IB_GRH_NXTHDR;
	if (grh && !(ctl[5] & LEAVE_GID)) {
		ib_gid gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, mend & PORT_2 ? 0x12 : 0x11);

		memcpy(o + 32, mcast ? &mgid : &gid, sizeof(gid));
	}
	if (!(ctl[5] & LEAVE_DLID))
		be16_put(o + 2, mcast ? MLID : (LID1 << !!(mend & PORT_2)) | (ctl[2] & 1));
	if (!(ctl[5] & LEAVE_QPN))
		be32_put(bth + 4, mcast ? IB_QPN_MCAST : QPN + ctl[4] % 4);
	if (!(ctl[5] & LEAVE_QKEY))
		be32_put(bth + 12, QKEY);
	if (mend & MEND_MAD)
		mend_mad(o, bth, ctl);
}

static struct pkt *make_packet(const uint8_t *ctl, const uint8_t *data, size_t size)
{
	uint8_t o[4400];
	unsigned int hlen, pad, mend = ctl[0], in_hdr;
	struct pkt_buf *b;
	struct pkt *p;

	if (size > sizeof(o))
		size = sizeof(o);
	memset(o, 0, sizeof(o));
	memcpy(o, data, size);
	if (mend & MEND_MAD)
		size = 28 + 256 + ((o[1] & 3) == 3 ? 40 : 0);
	hlen = size >= 8 && (o[1] & 3) == 3 ? 68 : 28;
	if (size >= hlen && mend & (MEND_UNICAST | MEND_MCAST | MEND_MAD)) {
		o[1] |= 2;
		hlen = (o[1] & 3) == 3 ? 68 : 28;
		if (size >= hlen)
			mend_headers(o, hlen, mend, ctl);
	}
	pad = -size & 3;
	if (size >= hlen && mend & MEND_LENGTHS) {
		uint8_t *bth = o + hlen - IB_BTH_LEN - IB_DETH_LEN;

		be16_put(o + 4, (uint16_t)((size + pad + 4) / 4));
		if (hlen == 68)
			be16_put(o + 12, (uint16_t)(size + pad + 4 - 48));
		bth[1] = (uint8_t)((bth[1] & ~0x30) | pad << 4);
	}
	p = pkt_alloc(f.pool);
	in_hdr = mend & IN_SLICE ? ctl[1] : 124;
	if (in_hdr > size)
		in_hdr = (unsigned int)size;
	if (in_hdr > PKT_HDR_MAX)
		in_hdr = PKT_HDR_MAX;
	memcpy(pkt_push(p, in_hdr), o, in_hdr);
	if (size > in_hdr) {
		b = pkt_buf_alloc(f.pool);
		memcpy(b->data, o + in_hdr, size - in_hdr);
		pkt_add_slice(p, b, b->data, (uint32_t)(size - in_hdr));
		pkt_buf_put(b);
	}
	memcpy(p->tail, o, PKT_TAIL_MAX);
	p->tail_len = mend & MEND_TAIL ? (uint8_t)(pad + 6) : (ctl[6] & 63) % (PKT_TAIL_MAX + 1);
	if (mend & MEND_CRC && size >= hlen && in_hdr >= hlen)
		crc_pkt_seal(p);
	p->flags |= (ctl[7] & 1 ? PKT_CRC : 0) | (ctl[7] & 2 ? PKT_ICRC : 0);
	return p;
}

static uint64_t drops(void)
{
	uint64_t sum = 0;

	for (unsigned int d = 0; d < HCA_DROP_MAX; d++)
		sum += hca_drops(f.h, d);
	return sum;
}

/*
 * Returns the number of packets that QPs received. A multicast packet counts once, because each QP
 * that is attached to the group gets the same octets.
 */
static unsigned int drain(uint8_t port)
{
	unsigned int taken = 0;

	for (unsigned int i = 0; i < 3; i++) {
		struct hca_wc wc[4];
		unsigned int n = hca_poll(f.qp[i], wc, 4);

		if (n && port != (i == 2 ? 2 : 1))
			abort();
		if (n > taken)
			taken = n;
		for (unsigned int k = 0; k < n; k++) {
			const struct pkt *p = wc[k].pkt;

			if (p->tail_len || p->flags & (PKT_CRC | PKT_ICRC))
				abort();
			if (wc[k].grh &&
			    (wc[k].grh < p->hdr || wc[k].grh + IB_GRH_LEN > p->hdr + PKT_HDR_MAX))
				abort();
			pkt_free(wc[k].pkt);
		}
	}
	return taken;
}

static uint64_t mads(void)
{
	return hca_node(f.h)->smps + hca_node(f.h)->gmps;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pkt *v[4];
	unsigned int n;
	uint64_t before;
	uint8_t port;

	if (size < CONTROL)
		return 0;
	set_up((uint8_t)(IB_PORT_ACTIVE - (data[5] >> STATE_SHIFT)));
	port = data[0] & PORT_2 ? 2 : 1;
	n = 1 + (data[6] >> 6);
	for (unsigned int i = 0; i < n; i++)
		v[i] = make_packet(data, data + CONTROL, size - CONTROL);
	before = drops() + mads();
	hca_rx(f.h, port, v, n, 1);
	if (drain(port) + drops() + mads() - before != n)
		abort();
	timers_run(&f.timers, NS_SEC(1));
	tear_down();
	return 0;
}
