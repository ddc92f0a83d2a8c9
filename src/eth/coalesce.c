/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/coalesce.h"

#include "eth/priv.h"
#include "wire/ip.h"

static_assert(ETH_GRO_SEGS < 1 << 7, "the number of datagrams fits into frame_info.coalesced");

/* A small buffer is enough for 64 datagrams of 64 octets. */
static struct pkt_buf *buf_alloc(struct pkt_pool *pool, uint32_t n)
{
	struct pkt_buf *b = n <= PKT_SMALL_SIZE ? pkt_buf_alloc_small(pool) : NULL;

	return b ? b : pkt_buf_alloc(pool);
}

/*
 * Makes one packet of a super-frame, with the payload of all its packets in one buffer. Return:
 * NULL if there is no buffer; otherwise the packets of @f, except the returned one, are freed
 */
static struct pkt *to_packet(struct eth_frame *f, unsigned int hlen)
{
	struct pkt *first = f->first;
	struct pkt_buf *b = buf_alloc(first->pool, f->len - hlen);
	uint32_t n = 0, off = hlen;

	if (!b)
		return NULL;
	for (struct pkt *p = first; p; p = p->next) {
		n += (uint32_t)pkt_copy_out(p, off, b->data + n, p->len - off);
		off = 0;
	}
	frame_info(first)->coalesced = f->n & 0x7f;
	f->first = first->next;
	eth_frame_free(f);
	first->next = NULL;
	pkt_replace_payload(first, hlen, b, n);
	return first;
}

static void on_frame(void *ctx, struct eth_frame *f)
{
	struct eth_if *e = ctx;
	const struct eth_send *to = &e->coalescer.to;
	struct pkt *p = f->first;

	if (f->n > 1)
		p = to_packet(f, e->coalescer.gro.l3 + frame_info(p)->csum_start + UDP_LEN);
	if (p) {
		eth_send_pkt(e, p, to->ah, to->dest_qpn, to->qkey, e->now);
		return;
	}
	e->stats.drops[ETH_DROP_NO_MEM] += f->n;
	eth_frame_free(f);
}

void eth_coalesce_init(struct eth_if *e)
{
	eth_gro_init_sent(&e->coalescer.gro, e->profile->encap.len, on_frame, e);
}

static bool may_be_coalesced(const struct eth_if *e, const struct ipoib_tx *t)
{
	const struct frame_info *f = frame_info_const(t->pkt);

	return e->cfg.trains && t->dest_qpn != IB_QPN_MCAST && f->csum == FRAME_CSUM_PARTIAL &&
	       f->csum_offset == 6 && !f->gso && !pkt_pool_is_scarce(t->pkt->pool);
}

static bool same_destination(const struct eth_coalescer *c, const struct ipoib_tx *t)
{
	return c->to.ah == t->ah && c->to.dest_qpn == t->dest_qpn && c->to.qkey == t->qkey &&
	       c->station == frame_info_const(t->pkt)->station;
}

void eth_coalesce(struct eth_if *e, const struct ipoib_tx *t, unsigned int n)
{
	struct eth_coalescer *c = &e->coalescer;

	if (n == 1 || !may_be_coalesced(e, t)) {
		eth_coalesce_flush(e);
		eth_send_pkt(e, t->pkt, t->ah, t->dest_qpn, t->qkey, e->now);
		return;
	}
	if (!same_destination(c, t)) {
		eth_coalesce_flush(e);
		c->to = (struct eth_send){ .ah = t->ah, .dest_qpn = t->dest_qpn, .qkey = t->qkey };
		c->station = frame_info(t->pkt)->station;
	}
	eth_gro_add(&c->gro, t->pkt, t->ethertype);
}

void eth_coalesce_flush(struct eth_if *e)
{
	eth_gro_flush(&e->coalescer.gro);
}
