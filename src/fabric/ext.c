/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fabric_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crc/crc.h"
#include "wire/ipoib_hdr.h"

/* External ends of links, and conversion between packets and octets on the wire. */

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
	end->ext = &(const struct fabric_ext_ops){ 0 }; /* no callbacks from here on */
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
		if (!end->ext->inside)
			v[i]->flags |= PKT_OUTSIDE;
		if (end->f->cfg.crc != HCA_CRC_LAZY)
			v[i]->flags &= ~(uint32_t)(PKT_VCRC_OK | PKT_ICRC_OK);
		fabric_port_send(end, v[i]);
	}
}

void fabric_ext_rx_error(struct fabric_port *end, bool physical)
{
	struct node_port *np = end->peer ? end->peer->np : NULL;

	if (np)
		node_count_rcv(np, physical ? NODE_RCV_LOCAL_PHYSICAL : NODE_RCV_MALFORMED);
}

/*
 * Return the number of octets that are copied to hdr[] of struct pkt: the headers from LRH to DETH
 * of a UD packet. The same number is used for all other packets, because these octets include all
 * headers that a switch reads.
 */
static size_t headers_of(const uint8_t *lrh)
{
	return ib_ud_hdr_len(ib_lrh_has_grh(lrh));
}

/*
 * Return PadCnt of the BTH, which is the number of pad octets before the ICRC; 0 for a packet
 * without BTH.
 */
static size_t pad_of(const uint8_t *lrh, size_t len)
{
	size_t bth = ib_bth_off(lrh), pad;

	if (!ib_lrh_has_bth(lrh) || len < bth + IB_BTH_LEN + CRCS)
		return 0;
	pad = ib_bth_pad(lrh + bth);
	return len >= bth + IB_BTH_LEN + pad + CRCS ? pad : 0;
}

static void take_body(struct pkt *p, struct pkt_buf *b, const uint8_t *data, size_t len)
{
	size_t hdr = headers_of(data);

	/* A small packet is kept in hdr[] alone and gets no payload slice. */
	if (len <= PKT_HDR_MAX / 2 || len <= hdr)
		hdr = len;
	memcpy(pkt_push(p, (unsigned int)hdr), data, hdr);
	if (len > hdr)
		pkt_add_slice(p, b, data + hdr, (uint32_t)(len - hdr));
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
	p->vl = ib_lrh_vl(lrh);
	p->flags = PKT_CRC;
	*ret = p;
	return 0;
}

uint8_t *fabric_own_octet(const struct pkt *p, uint32_t off)
{
	const struct pkt_slice *s = &p->slice[0];

	return s->buf->data + (s->data - s->buf->data) + off;
}

void fabric_pkt_seal(struct pkt *p)
{
	if (p->flags & PKT_CRC)
		return;
	crc_pkt_seal(p);
}

size_t fabric_pkt_to_wire(const struct pkt *p, uint8_t *buf, size_t size)
{
	size_t len = (size_t)p->len + p->tail_len, body;

	if (p->tail_len < CRCS || len > size || len < IB_LRH_LEN + CRCS)
		return 0;
	pkt_copy_out(p, 0, buf, p->len);
	memcpy(buf + p->len, p->tail, p->tail_len);
	if (p->flags & PKT_CRC)
		return len;
	body = len - CRCS;
	if (body >= IB_LRH_LEN + IB_BTH_LEN)
		crc_put(buf, body);
	return len;
}
