/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/tap.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "netdev/vnet.h"

/*
 * DOC: Packing of frames that are read
 *
 * How long the next frame is shows only when it has been read. So a read is given the
 * rest of the current buffer and, behind it, a spare buffer from that same offset on:
 *
 *	cur	|frame|frame|......rest......|
 *	spare	|     gap as long as rest    |.....continued.....|
 *
 * A frame that fits into the rest stays there. One that runs over leaves its tail in
 * place in the spare; its head is copied to the gap before it, and the spare becomes the
 * current buffer. To keep that copy rare, a rest shorter than the last frame is given up.
 */

#define RX_ALIGN 64u /* frames start at a cache line */
#define RX_REST 2048u /* a shorter rest is given up */

static_assert(PKT_BUF_SIZE >= TAP_FRAME_MAX, "a fresh buffer takes any frame");
static_assert(sizeof(struct virtio_net_hdr) == 10, "the legacy header, as tap_open() asks for");
static_assert(TAP_SMALL >= 66, "a TCP acknowledgement with time stamps needs no buffer");

void tap_rx_init(struct tap_rx *rx, struct pkt_pool *pool)
{
	*rx = (struct tap_rx){ .pool = pool };
}

void tap_rx_fini(struct tap_rx *rx)
{
	if (rx->cur)
		pkt_buf_put(rx->cur);
	if (rx->spare)
		pkt_buf_put(rx->spare);
	rx->cur = rx->spare = NULL;
}

static void rx_next_buf(struct tap_rx *rx)
{
	if (rx->cur)
		pkt_buf_put(rx->cur);
	rx->cur = rx->spare;
	rx->spare = NULL;
	rx->off = 0;
}

/* See that there is room for the longest frame. */
static int rx_prepare(struct tap_rx *rx)
{
	uint32_t rest;

	/* All frames of it are gone: start over while it is warm. */
	if (rx->cur && rx->cur->refs == 1)
		rx->off = 0;
	rest = PKT_BUF_SIZE - rx->off;
	if (rx->cur && (rest < RX_REST || rest < rx->expect))
		rx_next_buf(rx);
	if (!rx->cur) {
		rx->cur = rx->spare ? rx->spare : pkt_buf_alloc(rx->pool);
		rx->spare = NULL;
		rx->off = 0;
		if (!rx->cur)
			return -ENOBUFS;
	}
	if (PKT_BUF_SIZE - rx->off < TAP_FRAME_MAX && !rx->spare) {
		rx->spare = pkt_buf_alloc(rx->pool);
		if (!rx->spare)
			return -ENOBUFS;
	}
	return 0;
}

static ssize_t rx_readv(int fd, struct tap_rx *rx, struct virtio_net_hdr *h)
{
	uint32_t rest = PKT_BUF_SIZE - rx->off;
	struct iovec iov[3] = {
		{ h, sizeof(*h) },
		{ rx->cur->data + rx->off, rest },
	};
	int n = 2;
	ssize_t got;

	if (rest < TAP_FRAME_MAX)
		iov[n++] = (struct iovec){ rx->spare->data + rest, PKT_BUF_SIZE - rest };
	do
		got = readv(fd, iov, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Give @p the frame of @len octets that rx_readv() left behind. */
static void rx_place(struct tap_rx *rx, struct pkt *p, uint32_t len)
{
	uint32_t rest = PKT_BUF_SIZE - rx->off;
	const uint8_t *data;

	if (len > rest) {
		assert(rx->spare); /* rx_readv() could not have got more than the rest */
		memcpy(rx->spare->data, rx->cur->data + rx->off, rest);
		rx_next_buf(rx);
	}
	data = rx->cur->data + rx->off;
	if (len <= TAP_SMALL) {
		memcpy(pkt_push(p, len), data, len);
		return;
	}
	pkt_add_slice(p, rx->cur, data, len);
	rx->off += (len + RX_ALIGN - 1) & ~(RX_ALIGN - 1);
	if (rx->off > PKT_BUF_SIZE)
		rx->off = PKT_BUF_SIZE;
	rx->expect = len;
}

/* The frame's first octets, for the EtherType, before rx_place() makes it one piece. */
static const uint8_t *rx_peek(const struct tap_rx *rx)
{
	/* A rest is at least RX_REST octets. */
	return rx->cur->data + rx->off;
}

int tap_read(struct tap *t, struct tap_rx *rx, struct tap_frame *ret)
{
	struct pkt *p = pkt_alloc(rx->pool);

	if (!p || rx_prepare(rx)) {
		pkt_free(p);
		t->stats.rx_nobuf++;
		return -ENOBUFS;
	}
	for (;;) {
		struct virtio_net_hdr h;
		ssize_t got = rx_readv(t->fd, rx, &h);
		uint32_t len;

		if (got < 0) {
			pkt_free(p);
			return (int)got;
		}
		if (got < (ssize_t)sizeof(h)) {
			t->stats.rx_bad++;
			continue;
		}
		len = (uint32_t)got - (uint32_t)sizeof(h);
		if (vnet_decode(&ret->vnet, &h, rx_peek(rx), len)) {
			t->stats.rx_bad++;
			continue;
		}
		rx_place(rx, p, len);
		ret->pkt = p;
		t->stats.rx_frames++;
		t->stats.rx_octets += len;
		return 0;
	}
}

int tap_read_batch(struct tap *t, struct tap_rx *rx, struct tap_frame *ret, unsigned int max)
{
	for (unsigned int n = 0; n < max; n++) {
		int err = tap_read(t, rx, &ret[n]);

		if (!err)
			continue;
		if (n || err == -EAGAIN)
			return (int)n;
		return err;
	}
	return (int)max;
}

void tap_out_init(struct tap_out *o, const struct tap_vnet *vnet)
{
	if (vnet)
		vnet_encode(&o->hdr, vnet);
	else
		memset(&o->hdr, 0, sizeof(o->hdr));
	o->iov[0] = (struct iovec){ &o->hdr, sizeof(o->hdr) };
	o->n = 1;
	o->len = 0;
}

int tap_out_add(struct tap_out *o, const void *data, uint32_t len)
{
	struct iovec *last = &o->iov[o->n - 1];

	if (!len)
		return 0;
	if (len > TAP_FRAME_MAX - o->len)
		return -EMSGSIZE;
	o->len += len;
	/* Segments of one super-frame come back as neighbours. */
	if (o->n > 1 && (const uint8_t *)last->iov_base + last->iov_len == data) {
		last->iov_len += len;
		return 0;
	}
	if (o->n > TAP_OUT_PARTS) {
		o->len -= len;
		return -ENOSPC;
	}
	o->iov[o->n++] = (struct iovec){ (void *)data, len };
	return 0;
}

int tap_out_add_pkt(struct tap_out *o, const struct pkt *p, uint32_t skip)
{
	uint32_t hlen = pkt_hdr_len(p), cut = skip < hlen ? skip : hlen;
	int err = tap_out_add(o, p->hdr + p->head + cut, hlen - cut);

	skip -= cut;
	for (unsigned int i = 0; !err && i < p->nslices; i++) {
		const struct pkt_slice *s = &p->slice[i];

		cut = skip < s->len ? skip : s->len;
		err = tap_out_add(o, s->data + cut, s->len - cut);
		skip -= cut;
	}
	return err;
}

int tap_out_write(struct tap *t, struct tap_out *o)
{
	ssize_t put;

	do
		put = writev(t->fd, o->iov, (int)o->n);
	while (put < 0 && errno == EINTR);
	if (put < 0) {
		t->stats.tx_err++;
		return -errno;
	}
	t->stats.tx_frames++;
	t->stats.tx_octets += o->len;
	return 0;
}

int tap_write(struct tap *t, const struct tap_vnet *vnet, const struct iovec *iov, unsigned int n)
{
	struct tap_out o;

	tap_out_init(&o, vnet);
	for (unsigned int i = 0; i < n; i++) {
		int err;

		if (iov[i].iov_len > TAP_FRAME_MAX)
			return -EMSGSIZE;
		err = tap_out_add(&o, iov[i].iov_base, (uint32_t)iov[i].iov_len);
		if (err)
			return err;
	}
	return tap_out_write(t, &o);
}

int tap_write_pkt(struct tap *t, const struct tap_vnet *vnet, const struct pkt *p)
{
	struct tap_out o;
	int err;

	tap_out_init(&o, vnet);
	err = tap_out_add_pkt(&o, p, 0);
	return err ? err : tap_out_write(t, &o);
}
