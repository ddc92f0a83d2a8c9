/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "verbs/priv.h"

/* Octets of the largest payload that is put into the packet's hdr[], with room for headers before it; a larger payload gets a buffer */
#define IN_HDR 92

/* --- buffers */

static unsigned int post_chain(struct verbs_qp *q, unsigned int n)
{
	struct verbs_port *p = q->port;
	struct ibv_recv_wr wr[VERBS_CHAIN], *bad = NULL;
	struct ibv_sge sge[VERBS_CHAIN];

	for (unsigned int k = 0; k < n; k++) {
		uint32_t slot = q->idle[q->nidle - 1 - k];

		sge[k] = (struct ibv_sge){
			.addr = (uintptr_t)verbs_slot(p, slot),
			.length = VERBS_SLOT,
			.lkey = p->mr->lkey,
		};
		wr[k] = (struct ibv_recv_wr){
			.wr_id = slot,
			.next = k + 1 < n ? &wr[k + 1] : NULL,
			.sg_list = &sge[k],
			.num_sge = 1,
		};
	}
	if (!ibv_post_recv(q->h, wr, &bad))
		return n;
	return bad >= wr && bad < wr + n ? (unsigned int)(bad - wr) : 0;
}

/* Buffers that the adapter does not accept now are posted after the next poll. */
void verbs_rx_fill(struct verbs_qp *q)
{
	while (q->nidle) {
		unsigned int n = q->nidle < VERBS_CHAIN ? q->nidle : VERBS_CHAIN;
		unsigned int taken = post_chain(q, n);

		q->nidle -= taken;
		if (taken < n)
			return;
	}
}

/* --- packets */

static struct pkt *copy_payload(struct pkt_pool *pool, const uint8_t *data, uint32_t len)
{
	struct pkt *p = pkt_alloc(pool);
	struct pkt_buf *b = NULL;

	if (!p)
		return NULL;
	if (len <= IN_HDR) {
		memcpy(pkt_push(p, len), data, len);
		return p;
	}
	b = pkt_buf_alloc_small(pool);
	if (!b) {
		pkt_free(p);
		return NULL;
	}
	memcpy(b->data, data, len);
	pkt_add_slice(p, b, b->data, len);
	pkt_buf_put(b);
	return p;
}

/*
 * Makes a packet of a completion. Return: false if the completion gives no packet. The reason is
 * then counted.
 */
static bool packet(struct verbs_qp *q, const struct ibv_wc *wc, struct ca_wc *ret)
{
	struct verbs_port *p = q->port;
	const uint8_t *buf = verbs_slot(p, (uint32_t)wc->wr_id);
	struct pkt *pkt;

	if (wc->byte_len <= VERBS_GRH || wc->byte_len > VERBS_SLOT) {
		p->stats.rx_short++;
		return false;
	}
	pkt = copy_payload(p->pool, buf + VERBS_GRH, wc->byte_len - VERBS_GRH);
	if (!pkt) {
		p->stats.rx_no_mem++;
		return false;
	}
	*ret = (struct ca_wc){
		.pkt = pkt,
		.src_qp = wc->src_qp,
		.slid = wc->slid,
		.pkey_index = q->pkey_index,
		.sl = wc->sl,
		.dlid_path_bits = wc->dlid_path_bits,
	};
	if (wc->wc_flags & p->rx_csum)
		frame_info(pkt)->csum = FRAME_CSUM_OK;
	/* The GRH is copied to the beginning of hdr[], which is free until headers are pushed. */
	static_assert(PKT_HDR_MAX - IN_HDR >= VERBS_GRH, "the payload leaves room for the GRH");
	if (wc->wc_flags & IBV_WC_GRH)
		ret->grh = memcpy(pkt->hdr, buf, VERBS_GRH);
	if (!list_empty(&p->taps))
		verbs_tap_received(q, ret);
	return true;
}

/* Takes one completion, and records its receive slot, which will be posted again. */
static bool take(struct verbs_qp *q, const struct ibv_wc *wc, struct ca_wc *ret)
{
	bool ok = false;

	if (wc->status == IBV_WC_SUCCESS) {
		ok = packet(q, wc, ret);
	} else {
		q->port->stats.rx_error++;
		q->broken = true;
	}
	q->idle[q->nidle++] = (uint32_t)wc->wr_id;
	return ok;
}

static unsigned int more(struct verbs_qp *q, unsigned int max)
{
	int n;

	if (q->stash_n || q->port->dead)
		return q->stash_n;
	n = ibv_poll_cq(q->rcq, (int)(max < VERBS_BATCH ? max : VERBS_BATCH), q->stash);
	q->stash_at = 0;
	q->stash_n = n > 0 ? (unsigned int)n : 0;
	return q->stash_n;
}

unsigned int verbs_poll(struct ca_qp *qp, struct ca_wc *v, unsigned int n)
{
	struct verbs_qp *q = verbs_qp_of(qp);
	unsigned int got = 0;

	while (got < n && more(q, n - got))
		for (; got < n && q->stash_n; q->stash_n--)
			got += take(q, &q->stash[q->stash_at++], &v[got]);
	if (q->broken)
		verbs_qp_mend(q);
	else if (!q->stopped)
		verbs_rx_fill(q);
	return got;
}

/* A packet that arrives before the CQ is armed makes no event, so poll once more afterwards. */
bool verbs_arm(struct ca_qp *qp)
{
	struct verbs_qp *q = verbs_qp_of(qp);

	if (more(q, VERBS_BATCH))
		return false;
	if (q->port->dead || q->stopped)
		return true;
	ibv_req_notify_cq(q->rcq, 0);
	return !more(q, VERBS_BATCH);
}
