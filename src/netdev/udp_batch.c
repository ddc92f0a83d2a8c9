/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/udp_batch.h"

#include <string.h>

void udp_batch_begin(struct udp_batch *b, bool gso)
{
	b->gso = gso;
	b->nmsgs = b->npackets = b->nparts = 0;
	b->used = 0;
}

/* Tells whether a packet of @len octets can be the next datagram of the message */
static bool fits(const struct udp_msg *m, uint32_t len)
{
	return !m->closed && m->packets < UDP_BATCH_SEGS && len <= m->seg &&
	       m->octets + len <= UDP_BATCH_OCTETS;
}

static struct udp_msg *msg_for(struct udp_batch *b, uint32_t len)
{
	struct udp_msg *m = b->nmsgs ? &b->msg[b->nmsgs - 1] : NULL;

	if (!m || !b->gso || !fits(m, len)) {
		m = &b->msg[b->nmsgs++];
		*m = (struct udp_msg){ .first_part = b->nparts, .seg = (uint16_t)len };
	}
	m->packets++;
	m->octets += len;
	m->closed = len < m->seg;
	return m;
}

static void add_part(struct udp_batch *b, struct udp_msg *m, const void *data, size_t len)
{
	union {
		const void *in;
		void *out;
	} octets = { .in = data }; /* struct iovec has no pointer to const */

	b->part[b->nparts++] = (struct iovec){ octets.out, len };
	m->nparts++;
}

/*
 * Adds a copy of some octets to the message. If the message's last part ends where the copy begins,
 * the last part is extended.
 */
static void add_copy(struct udp_batch *b, struct udp_msg *m, const void *data, size_t len)
{
	struct iovec *last = m->nparts ? &b->part[b->nparts - 1] : NULL;
	uint8_t *at = b->room + b->used;

	memcpy(at, data, len);
	b->used += (uint32_t)len;
	if (last && (uint8_t *)last->iov_base + last->iov_len == at)
		last->iov_len += len;
	else
		add_part(b, m, at, len);
}

bool udp_batch_add(struct udp_batch *b, const struct pkt *p)
{
	uint32_t len = p->len + p->tail_len;
	struct udp_msg *m;

	if (b->npackets == PKT_BATCH)
		return false;
	m = msg_for(b, len);
	b->len[b->npackets++] = len;
	add_copy(b, m, p->hdr + p->head, pkt_hdr_len(p));
	for (unsigned int i = 0; i < p->nslices; i++)
		add_part(b, m, p->slice[i].data, p->slice[i].len);
	add_copy(b, m, p->tail, p->tail_len);
	return true;
}
