/* SPDX-License-Identifier: BSD-2-Clause */
#include "relay/way.h"

#include <errno.h>
#include <linux/virtio_net.h>
#include <string.h>
#include <unistd.h>

#include "eth/csum.h"
#include "train/train.h"
#include "crc/crc.h"
#include "wire/ib_hdr.h"

#define IPOIB_LEN 4 /* the encapsulation header of RFC 4391: EtherType and 2 reserved octets */
#define IB_HDR_LEN (IB_LRH_LEN + IB_BTH_LEN + IB_DETH_LEN)

/*
 * Largest numbers of frames and octets that are read from one TAP before the other TAP is read,
 * even if more frames are waiting.
 */
#define READ_FRAMES 64
#define READ_OCTETS (256 * 1024)

/* --- writing */

static enum count_drop write_drop(int err)
{
	switch (err) {
	case -EIO:
		return DROP_DOWN;
	case -EAGAIN:
	case -ENOBUFS:
	case -ENOMEM:
		return DROP_NO_ROOM;
	}
	return DROP_REFUSED;
}

/* Count a frame of @n packets as written if @err is 0, and as dropped otherwise. */
static void count_written(struct way *w, int err, unsigned int n, uint32_t octets)
{
	if (err) {
		w->count.drops[write_drop(err)] += n;
		return;
	}
	w->count.frames_written++;
	w->count.octets_written += octets;
}

static void drop(struct way *w, enum count_drop why, struct pkt *p)
{
	w->count.drops[why]++;
	pkt_free(p);
}

/* --- mode whole */

/*
 * Returns the number of packets in a frame. A frame with an invalid virtio-net header counts as one
 * packet, because the kernel will refuse the whole frame.
 */
static unsigned int packets_of(const struct virtio_net_hdr *h, const uint8_t *frame, size_t len)
{
	uint8_t type = h->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN;
	unsigned int l4 = h->csum_start, l4_len = 8;

	if (type == VIRTIO_NET_HDR_GSO_NONE || !h->gso_size || l4 + 20 > len)
		return 1;
	if (type == VIRTIO_NET_HDR_GSO_TCPV4 || type == VIRTIO_NET_HDR_GSO_TCPV6)
		l4_len = (frame[l4 + 12] >> 4) * 4u;
	if (l4 + l4_len >= len)
		return 1;
	return (unsigned int)((len - l4 - l4_len + h->gso_size - 1) / h->gso_size);
}

static int forward_whole(struct way *w)
{
	static _Thread_local uint8_t buf[sizeof(struct virtio_net_hdr) + TAP_FRAME_MAX];
	size_t octets = 0;

	for (unsigned int i = 0; i < READ_FRAMES && octets < READ_OCTETS; i++) {
		ssize_t got = read(w->from->fd, buf, sizeof(buf));
		struct virtio_net_hdr h;
		unsigned int n;
		uint32_t len;

		if (got < 0)
			return errno == EINTR ? 0 : -errno;
		if (got < (ssize_t)sizeof(h))
			continue;
		memcpy(&h, buf, sizeof(h));
		len = (uint32_t)got - (uint32_t)sizeof(h);
		n = packets_of(&h, buf + sizeof(h), len);
		w->count.frames_read++;
		w->count.octets_read += len;
		w->count.super_frames += n > 1;
		w->count.packets += n;
		octets += len;
		count_written(w, write(w->to->fd, buf, (size_t)got) < 0 ? -errno : 0, n, len);
	}
	return 0;
}

/* --- the link of mode crc */

/* Puts the headers of a UD packet before the IP packet of @f, and appends the CRCs. */
static void link_send(struct way *w, struct flight *f)
{
	struct ib_ud_hdr h = {
		.lrh = { .lnh = IB_LNH_LOCAL, .dlid = 2, .slid = 1 },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY,
			 .pkey = 0xffff,
			 .dest_qp = 0x200,
			 .psn = w->psn },
		.deth = { .qkey = 0x0b1b, .src_qp = 0x100 },
	};
	uint8_t *encap;

	w->psn = (w->psn + 1) & 0xffffff;
	memcpy(f->eth, pkt_hdr(f->pkt), ETH_HLEN);
	pkt_trim_head(f->pkt, ETH_HLEN);
	encap = pkt_push(f->pkt, IPOIB_LEN);
	memcpy(encap, f->eth + 2 * ETH_ALEN, 2);
	memset(encap + 2, 0, 2);
	ib_ud_hdr_encode(pkt_push(f->pkt, IB_HDR_LEN), &h, f->pkt->len - IB_HDR_LEN);
	crc_pkt_seal(f->pkt);
	w->count.sealed++;
}

/*
 * Verify the CRCs of a packet that has crossed the link, remove the headers that link_send() has
 * added, and put the packet's Ethernet header before the packet again.
 */
static enum count_drop link_receive(struct way *w, struct flight *f)
{
	struct pkt *p = f->pkt;

	switch (crc_pkt_check(p)) {
	case CRC_BAD_VCRC:
		return DROP_VCRC;
	case CRC_BAD_ICRC:
	case CRC_BAD_LEN:
		return DROP_ICRC;
	case CRC_OK:
		break;
	}
	w->count.verified++;
	p->flags &= ~(uint32_t)PKT_CRC;
	p->tail_len = 0;
	pkt_trim_head(p, IB_HDR_LEN + IPOIB_LEN);
	memcpy(pkt_push(p, ETH_HLEN), f->eth, ETH_HLEN);
	return DROP_NONE;
}

/* --- modes segment and crc */

static void on_emit(void *ctx, struct eth_frame *f)
{
	struct way *w = ctx;
	struct iovec iov[1 + ETH_FRAME_PARTS];
	struct tap_vnet vnet;
	uint32_t len = f->len;
	int err;

	if (f->n > 1)
		w->count.coalesced += f->n;
	tap_vnet_from_pkt(&vnet, f->first, w->to->kind);
	err = tap_write(w->to, &vnet, iov, eth_frame_iov(f, iov + 1));
	count_written(w, err, f->n, len);
	eth_frame_free(f);
}

/* Return 0 if the frame is too short */
static uint16_t ethertype(struct pkt *p)
{
	const uint8_t *h = pkt_pull(p, ETH_HLEN);

	return h ? be16_at(h + 2 * ETH_ALEN) : 0;
}

/* Pass the packets of the batch to the other end of the link. */
static void arrive(struct way *w)
{
	for (unsigned int i = 0; i < w->n; i++) {
		struct flight *f = &w->batch[i];
		enum count_drop why = w->mode->crc ? link_receive(w, f) : DROP_NONE;

		if (why)
			drop(w, why, f->pkt);
		else
			eth_gro_add(&w->gro, f->pkt, ethertype(f->pkt));
	}
	w->n = 0;
}

/*
 * Send a packet, and take ownership of @p. The Ethernet header is at pkt_hdr(), and the IP packet
 * behind it is not longer than the MTU.
 */
static void send_one(struct way *w, struct pkt *p)
{
	struct flight *f = &w->batch[w->n++];

	f->pkt = p;
	if (w->mode->crc)
		link_send(w, f);
	if (w->n == PKT_BATCH)
		arrive(w);
}

/* Cut a super-frame into packets by train/train.h, as uipoib itself does, and send the packets. */
static enum count_drop send_super(struct way *w, struct pkt *super)
{
	int err = train_make(super, ETH_HLEN, w->mtu);

	if (err)
		return err == -EMSGSIZE ? DROP_TOO_LONG : DROP_HEADER;
	w->count.super_frames++;
	w->count.packets += pkt_count(super);
	while (pkt_is_train(super)) {
		struct pkt *p = train_split(super, 1);

		if (!p) {
			w->count.drops[DROP_MEMORY] += pkt_count(super);
			pkt_free(super);
			return DROP_NONE;
		}
		w->count.cut++;
		send_one(w, p);
	}
	w->count.cut++;
	send_one(w, super);
	return DROP_NONE;
}

static enum count_drop send_single(struct way *w, struct pkt *p)
{
	bool partial = frame_info(p)->csum == FRAME_CSUM_PARTIAL;
	int err;

	w->count.packets++;
	if (p->len > ETH_HLEN + w->mtu)
		return DROP_TOO_LONG;
	err = eth_csum_complete(p, ETH_HLEN);
	if (err)
		return err == -ENOMEM ? DROP_MEMORY : DROP_HEADER;
	w->count.checksums += partial;
	if (!pkt_pull_hdr(p, ETH_HLEN))
		return DROP_HEADER;
	send_one(w, p);
	return DROP_NONE;
}

static void send_frame(struct way *w, struct tap_frame *f)
{
	enum count_drop why = DROP_HEADER;

	if (!tap_vnet_to_pkt(f->pkt, &f->vnet, w->from->kind))
		why = frame_info(f->pkt)->gso ? send_super(w, f->pkt) : send_single(w, f->pkt);
	if (why)
		drop(w, why, f->pkt);
}

static int forward_cut(struct way *w)
{
	size_t octets = 0;
	int err = 0;

	for (unsigned int i = 0; i < READ_FRAMES && octets < READ_OCTETS; i++) {
		struct tap_frame f;

		err = tap_read(w->from, &w->rx, &f);
		if (err)
			break;
		w->count.frames_read++;
		w->count.octets_read += f.pkt->len;
		octets += f.pkt->len;
		send_frame(w, &f);
	}
	arrive(w);
	eth_gro_flush(&w->gro);
	return err;
}

static const struct way_mode modes[] = {
	{ .name = "whole", .forward = forward_whole },
	{ .name = "segment", .forward = forward_cut },
	{ .name = "crc", .forward = forward_cut, .crc = true },
};

const struct way_mode *way_mode_find(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, name))
			return &modes[i];
	return NULL;
}

void way_init(struct way *w, const struct way_mode *mode, unsigned int mtu, struct pkt_pool *pool,
	      struct tap *from, struct tap *to)
{
	*w = (struct way){ .mode = mode, .mtu = mtu, .from = from, .to = to };
	tap_rx_init(&w->rx, pool);
	eth_gro_init(&w->gro, ETH_HLEN, to->offload & TAP_OFFLOAD_TSO,
		     to->offload & TAP_OFFLOAD_USO, on_emit, w);
}
