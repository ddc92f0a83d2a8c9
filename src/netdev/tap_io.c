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
 * The length of a frame is known only after it has been read. So one readv() fills the rest of the
 * current buffer first, and then a spare buffer, in which it leaves a gap as long as the rest:
 *
 *	cur	|frame|frame|......rest......|
 *	spare	|     gap as long as rest    |.....continued.....|
 *
 * A frame that fits into the rest stays in it. The tail of a longer frame stays in the spare
 * buffer; the head of this frame is copied to the gap before the tail, and the spare buffer becomes
 * the current buffer. To make such copies rare, a rest shorter than the last frame is not used.
 */

#define RX_ALIGN 64u /* each frame in a buffer starts at a cache line */
#define RX_REST 2048u /* if fewer octets are left in a buffer, no frame is read into them */

static_assert(PKT_BUF_SIZE >= TAP_FRAME_MAX, "a fresh buffer takes any frame");
static_assert(sizeof(struct virtio_net_hdr) == 10, "the legacy header, as tap_open() asks for");
static_assert(TAP_FRAME_MAX >= 65536 + 22, "an Ethernet header and two VLAN tags");

/* The virtio-net header of a TAP of either kind (enum tap_kind) */
union vnet_buf {
	struct virtio_net_hdr h;
	uint8_t octets[VNET_LEN_MAX];
};
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

/* Makes sure that .cur and .spare together have room for the longest frame. */
static int rx_prepare(struct tap_rx *rx)
{
	uint32_t rest;

	/*
	 * If all frames in the buffer .cur have been freed, use this buffer again, because it may
	 * still be in the CPU's cache.
	 */
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

static ssize_t rx_readv(const struct tap *t, struct tap_rx *rx, union vnet_buf *h)
{
	uint32_t rest = PKT_BUF_SIZE - rx->off;
	struct iovec iov[3] = {
		{ h, vnet_len(t->kind) },
		{ rx->cur->data + rx->off, rest },
	};
	int n = 2;
	ssize_t got;

	if (rest < TAP_FRAME_MAX)
		iov[n++] = (struct iovec){ rx->spare->data + rest, PKT_BUF_SIZE - rest };
	do
		got = readv(t->fd, iov, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Attaches the frame of @len octets, which rx_readv() has read, to @p as the payload. */
static void rx_place(struct tap_rx *rx, struct pkt *p, uint32_t len)
{
	uint32_t rest = PKT_BUF_SIZE - rx->off;
	const uint8_t *data;

	if (len > rest) {
		/* without a spare buffer, rx_readv() cannot have read more than the rest of .cur */
		assert(rx->spare);
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

/*
 * Returns a pointer to the headers of the frame, which are contiguous. The caller reads the
 * EtherType in these headers before rx_place() joins the two parts of the frame.
 */
static const uint8_t *rx_peek(const struct tap_rx *rx)
{
	/*
	 * rx_prepare() has replaced .cur if fewer than RX_REST octets were left in it, so the
	 * headers of the frame do not continue in the spare buffer.
	 */
	return rx->cur->data + rx->off;
}

int tap_read(struct tap *t, struct tap_rx *rx, struct tap_frame *ret)
{
	struct pkt *p = pkt_alloc(rx->pool);
	uint32_t hlen = vnet_len(t->kind);

	if (!p || rx_prepare(rx)) {
		pkt_free(p);
		t->stats.rx_nobuf++;
		return -ENOBUFS;
	}
	for (;;) {
		union vnet_buf h;
		ssize_t got = rx_readv(t, rx, &h);
		uint32_t len;

		if (got < 0) {
			pkt_free(p);
			return (int)got;
		}
		if (got < (ssize_t)hlen) {
			t->stats.rx_bad++;
			continue;
		}
		len = (uint32_t)got - hlen;
		if (vnet_decode(&ret->vnet, &h.h, rx_peek(rx), len, t->kind)) {
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

int tap_write(struct tap *t, const struct tap_vnet *vnet, struct iovec *iov, unsigned int n)
{
	union vnet_buf hdr = { .octets = { 0 } };
	ssize_t put;

	if (vnet)
		vnet_encode(&hdr.h, vnet);
	iov[0] = (struct iovec){ &hdr, vnet_len(t->kind) };
	do
		put = writev(t->fd, iov, (int)n + 1);
	while (put < 0 && errno == EINTR);
	if (put < 0) {
		t->stats.tx_err++;
		return -errno;
	}
	t->stats.tx_frames++;
	t->stats.tx_octets += (uint64_t)put - vnet_len(t->kind);
	return 0;
}
