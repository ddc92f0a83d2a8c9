/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fabric_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/crc.h"
#include "wire/inet.h"
#include "wire/ipoib_hdr.h"

/* Links to the outside, and packets as octets. */

#define CRCS (IB_ICRC_LEN + IB_VCRC_LEN)

int fabric_ext_attach(struct fabric_port *port, const char *label, const struct fabric_ext_ops *ops,
		      void *ctx, struct fabric_port **ret)
{
	struct fabric_port *end;

	if (port->kind != PORT_CA && port->kind != PORT_SWITCH)
		return -EINVAL;
	if (port->link)
		return -EBUSY;
	end = calloc(1, sizeof(*end));
	if (!end)
		return -ENOMEM;
	end->label = strdup(label);
	if (!end->label || fabric_link_new(port->f, port, end)) {
		free(end->label);
		free(end);
		return -ENOMEM;
	}
	end->kind = PORT_EXT;
	end->f = port->f;
	end->ext = ops;
	end->ext_ctx = ctx;
	end->wanted = true;
	list_init(&end->devs);
	*ret = end;
	return 0;
}

void fabric_ext_detach(struct fabric_port *end, ns_t now)
{
	struct fabric *f = end->f;

	end->carrier = false;
	end->ext = &(const struct fabric_ext_ops){ 0 }; /* it hears nothing of this any more */
	fabric_link_update(end->link, true, now);
	fabric_link_free(end->link);
	while (!list_empty(&end->devs)) {
		struct fabric_dev *d = list_first(&end->devs, struct fabric_dev, on_port);

		fabric_dev_del(d);
		d->ops->gone(d);
	}
	fabric_unready(f, end);
	free(end->label);
	free(end);
}

void fabric_ext_carrier(struct fabric_port *end, bool on, ns_t now)
{
	end->carrier = on;
	fabric_link_update(end->link, true, now);
}

void fabric_ext_rx(struct fabric_port *end, struct pkt **v, unsigned int n, ns_t now)
{
	end->f->now = now;
	for (unsigned int i = 0; i < n; i++) {
		v[i]->hops = PKT_HOPS;
		fabric_port_send(end, v[i]);
	}
}

void fabric_ext_rx_error(struct fabric_port *end, bool physical)
{
	struct node_port *np = end->peer ? end->peer->np : NULL;

	if (np)
		node_count_rcv(np, physical ? NODE_RCV_LOCAL_PHYSICAL : NODE_RCV_MALFORMED);
}

/* LRH .. DETH of a packet that has them; for others what a switch looks at. */
static size_t headers_of(const uint8_t *lrh)
{
	return ib_ud_hdr_len((lrh[1] & 3) == IB_LNH_GLOBAL);
}

/* Octets of padding before the ICRC: only a BTH says them. */
static size_t pad_of(const uint8_t *lrh, size_t len)
{
	unsigned int kind = lrh[1] & 3;
	size_t bth = IB_LRH_LEN + (kind == IB_LNH_GLOBAL ? IB_GRH_LEN : 0);
	size_t pad;

	if ((kind != IB_LNH_LOCAL && kind != IB_LNH_GLOBAL) || len < bth + IB_BTH_LEN + CRCS)
		return 0;
	pad = lrh[bth + 1] >> 4 & 3;
	return len >= bth + IB_BTH_LEN + pad + CRCS ? pad : 0;
}

static void take_body(struct pkt *p, struct pkt_buf *b, const uint8_t *data, size_t len)
{
	size_t hdr = headers_of(data);

	/* What is small lies in hdr[] alone. */
	if (len <= PKT_HDR_MAX / 2 || len <= hdr)
		hdr = len;
	memcpy(pkt_push(p, (unsigned int)hdr), data, hdr);
	if (len > hdr)
		pkt_add_slice(p, b, data + hdr, (uint32_t)(len - hdr));
}

int fabric_pkt_from_wire(struct pkt **ret, struct pkt_pool *pool, const void *data, size_t len)
{
	struct pkt_buf *b;
	int status;

	if (len > IB_PKT_MAX)
		return -EBADMSG;
	b = pkt_buf_alloc(pool);
	if (!b)
		return -ENOBUFS;
	memcpy(b->data, data, len);
	status = fabric_pkt_from_buf(ret, pool, b, b->data, len);
	pkt_buf_put(b);
	return status;
}

int fabric_pkt_from_buf(struct pkt **ret, struct pkt_pool *pool, struct pkt_buf *b,
			const uint8_t *data, size_t len)
{
	const uint8_t *lrh = data;
	size_t tail;
	struct pkt *p;

	if (len < IB_LRH_LEN + CRCS || len > IB_PKT_MAX)
		return -EBADMSG;
	if ((be16_at(lrh + 4) & 0x7ffu) * 4 + IB_VCRC_LEN != len)
		return -EBADMSG;
	tail = pad_of(lrh, len) + CRCS;
	p = pkt_alloc(pool);
	if (!p)
		return -ENOBUFS;
	take_body(p, b, data, len - tail);
	memcpy(p->tail, lrh + len - tail, tail);
	p->tail_len = (uint8_t)tail;
	p->vl = lrh[0] >> 4;
	p->flags = PKT_CRC;
	*ret = p;
	return 0;
}

/* Where the checksum is that a link in memory left partial, and what it must be. 0: none */
static uint32_t csum_of(const struct pkt *p, const uint8_t *buf, uint16_t *ret)
{
	uint32_t l4 = (uint32_t)headers_of(buf) + IPOIB_HDR_LEN + p->csum_start;
	uint16_t sum;

	if (!(p->flags & PKT_CSUM_PARTIAL) || l4 + p->csum_offset + 2u > p->len)
		return 0;
	/* The field holds the sum of the pseudo header: it takes part as it is. */
	sum = inet_fold(inet_sum(0, buf + l4, p->len - l4));
	*ret = sum ? sum : 0xffff;
	return l4 + p->csum_offset;
}

uint8_t *fabric_own_octet(const struct pkt *p, uint32_t off)
{
	const struct pkt_slice *s = &p->slice[0];

	return s->buf->data + (s->data - s->buf->data) + off;
}

/* The field may be in the payload, which others may share. */
static void complete_csum(struct pkt *p)
{
	uint8_t buf[IB_PKT_MAX], *at;
	uint32_t off, hdr;
	uint16_t sum;

	if (p->len > sizeof(buf))
		return;
	pkt_copy_out(p, 0, buf, p->len);
	off = csum_of(p, buf, &sum);
	hdr = pkt_hdr_len(p);
	if (!off || (off + 2 > hdr && pkt_unshare(p)))
		return;
	for (unsigned int i = 0; i < 2; i++, off++) {
		at = off < hdr ? pkt_hdr(p) + off : fabric_own_octet(p, off - hdr);
		*at = (uint8_t)(i ? sum : sum >> 8);
	}
	p->flags &= ~(uint32_t)PKT_CSUM_PARTIAL;
}

void fabric_pkt_seal(struct pkt *p)
{
	if (p->flags & PKT_CRC)
		return;
	if (p->flags & PKT_CSUM_PARTIAL)
		complete_csum(p);
	crc_pkt_seal(p);
}

static void put_crcs(uint8_t *buf, size_t len)
{
	uint32_t icrc = crc_icrc(buf, len);
	uint16_t vcrc;

	for (unsigned int i = 0; i < IB_ICRC_LEN; i++)
		buf[len + i] = (uint8_t)(icrc >> 8 * i);
	vcrc = crc_vcrc(buf, len + IB_ICRC_LEN);
	buf[len + IB_ICRC_LEN] = (uint8_t)vcrc;
	buf[len + IB_ICRC_LEN + 1] = (uint8_t)(vcrc >> 8);
}

size_t fabric_pkt_to_wire(const struct pkt *p, uint8_t *buf, size_t size)
{
	size_t len = (size_t)p->len + p->tail_len, body;
	uint32_t csum_at;
	uint16_t csum;

	if (p->tail_len < CRCS || len > size || len < IB_LRH_LEN + CRCS)
		return 0;
	pkt_copy_out(p, 0, buf, p->len);
	memcpy(buf + p->len, p->tail, p->tail_len);
	if (p->flags & PKT_CRC)
		return len;
	csum_at = csum_of(p, buf, &csum);
	if (csum_at)
		be16_put(buf + csum_at, csum);
	body = len - CRCS;
	if (body >= IB_LRH_LEN + IB_BTH_LEN)
		put_crcs(buf, body);
	return len;
}
