/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp/queue.h"

#include "train/train.h"

static bool is_mgmt(struct pkt *p)
{
	const uint8_t *lrh = pkt_hdr(p);
	size_t bth = ib_bth_off(lrh);

	if (p->vl == IB_VL15)
		return true;
	return ib_lrh_has_bth(lrh) && pkt_hdr_len(p) >= bth + IB_BTH_LEN &&
	       ib_bth_dest_qp(lrh + bth) == IB_QP1;
}

static struct pkt_queue *queue_of(struct udp_queue *q, struct pkt *p)
{
	return is_mgmt(p) ? &q->mgmt : &q->data;
}

unsigned int udp_queue_add(struct udp_queue *q, struct pkt *p)
{
	struct pkt_queue *to = queue_of(q, p);
	unsigned int room = to->n < UDP_QUEUE_DEPTH ? UDP_QUEUE_DEPTH - to->n : 0, lost;
	struct pkt *first;

	if (pkt_count(p) <= room) {
		pkt_queue_add(to, p);
		return 0;
	}
	first = room ? train_split_link(p, room) : NULL;
	if (first)
		pkt_queue_add(to, first);
	lost = pkt_count(p);
	pkt_free(p);
	return lost;
}

unsigned int udp_queue_take(struct udp_queue *q, struct pkt **v, unsigned int max)
{
	unsigned int n = 0, packets = 0;

	while (packets < max && (q->mgmt.n || q->data.n)) {
		v[n] = pkt_queue_pop(q->mgmt.n ? &q->mgmt : &q->data);
		packets += pkt_count(v[n++]);
	}
	return n;
}

void udp_queue_return(struct udp_queue *q, struct pkt **v, unsigned int n, unsigned int done)
{
	unsigned int gone = 0;

	while (gone < n && pkt_count(v[gone]) <= done)
		done -= pkt_count(v[gone++]);
	if (gone < n && done)
		train_skip_link(v[gone], done);
	for (unsigned int i = n; i > gone; i--)
		pkt_queue_push(queue_of(q, v[i - 1]), v[i - 1]);
	pkt_free_batch(v, gone);
}

static unsigned int purge(struct pkt_queue *q)
{
	unsigned int n = q->n;

	pkt_queue_purge(q);
	return n;
}

unsigned int udp_queue_purge(struct udp_queue *q)
{
	return purge(&q->mgmt) + purge(&q->data);
}
