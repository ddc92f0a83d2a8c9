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
 * The length of a frame is known only after it has been read. If the rest of the current buffer has
 * room for the longest frame, one read() puts the virtio-net header and the frame there:
 *
 *	cur	|frame|frame|vnet|......rest......|
 *
 * Otherwise one readv() fills the rest first, and then a spare buffer, in which it leaves a gap as
 * long as the rest:
 *
 *	cur	|frame|frame|vnet|...rest...|
 *	spare	|   gap as long as rest     |.....continued.....|
 *
 * A frame that fits into the rest stays in it. The tail of a longer frame stays in the spare
 * buffer; the head of this frame is copied to the gap before the tail, and the spare buffer becomes
 * the current buffer. To make such copies rare, a rest shorter than the last frame is not used.
 */

#define RX_ALIGN 64u /* each frame in a buffer starts at a cache line */
#define RX_REST 2048u /* if fewer octets are left in a buffer, no frame is read into them */

static_assert(PKT_BUF_SIZE - RX_ALIGN >= TAP_FRAME_MAX, "a fresh buffer takes any frame");
static_assert(VNET_LEN_MAX <= RX_ALIGN, "the header is before the first frame of a buffer");
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

/* Makes the spare buffer, if there is one, the current buffer, whose first frame begins at @off. */
static void rx_next_buf(struct tap_rx *rx, uint32_t off)
{
	if (rx->cur)
		pkt_buf_put(rx->cur);
	rx->cur = rx->spare;
	rx->spare = NULL;
	rx->off = off;
}

static bool rx_fits(const struct tap_rx *rx)
{
	return PKT_BUF_SIZE - rx->off >= TAP_FRAME_MAX;
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
		rx->off = RX_ALIGN;
	rest = PKT_BUF_SIZE - rx->off;
	if (!rx->cur || rest < RX_REST || rest < rx->expect)
		rx_next_buf(rx, RX_ALIGN);
	if (!rx->cur)
		rx->cur = pkt_buf_alloc(rx->pool);
	if (rx->cur && !rx_fits(rx) && !rx->spare)
		rx->spare = pkt_buf_alloc(rx->pool);
	return rx->cur && (rx_fits(rx) || rx->spare) ? 0 : -ENOBUFS;
}

/* Reads a frame, with its virtio-net header of @hlen octets before it */
static ssize_t rx_read(const struct tap *t, struct tap_rx *rx, uint32_t hlen)
{
	uint32_t rest = PKT_BUF_SIZE - rx->off;
	struct iovec iov[2] = { { rx->cur->data + rx->off - hlen, hlen + rest } };
	ssize_t got;

	if (!rx_fits(rx))
		iov[1] = (struct iovec){ rx->spare->data + rest, PKT_BUF_SIZE - rest };
	do
		got = iov[1].iov_len ? readv(t->fd, iov, 2)
				     : read(t->fd, iov[0].iov_base, iov[0].iov_len);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Attaches the frame of @len octets, which rx_read() has read, to @p as the payload. */
static void rx_place(struct tap_rx *rx, struct pkt *p, uint32_t len)
{
	uint32_t rest = PKT_BUF_SIZE - rx->off;
	const uint8_t *data;

	if (len > rest) {
		/* without a spare buffer, rx_read() cannot have read more than the rest of .cur */
		assert(rx->spare);
		memcpy(rx->spare->data, rx->cur->data + rx->off, rest);
		rx_next_buf(rx, 0);
	}
	data = rx->cur->data + rx->off;
	if (len <= TAP_SMALL) {
		memcpy(pkt_push(p, len), data, len);
		return;
	}
	pkt_add_slice(p, rx->cur, data, len);
	/* the virtio-net header of the next frame is between the frames */
	rx->off += (len + VNET_LEN_MAX + RX_ALIGN - 1) & ~(RX_ALIGN - 1);
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
		struct virtio_net_hdr h;
		ssize_t got = rx_read(t, rx, hlen);
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
		memcpy(&h, rx_peek(rx) - hlen, sizeof(h));
		if (vnet_decode(&ret->vnet, &h, rx_peek(rx), len, t->kind)) {
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
