/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/vnet.h"

#include <errno.h>
#include <net/ethernet.h>
#include <string.h>

/* A constant of Linux 6.2, which older headers lack */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define IB_LINK_LEN \
	44 /* struct ibtap_header of kmod/ibtap.h: two addresses of 20 octets, encapsulation */
#define IB_TYPE_OFF 40
#define TCP_CWR 0x80
#define VLAN_TAG_LEN 4
#define VLAN_TAGS 2

unsigned int vnet_len(enum tap_kind kind)
{
	return kind == TAP_INFINIBAND ? 12 : 10;
}

unsigned int vnet_link_len(enum tap_kind kind)
{
	return kind == TAP_INFINIBAND ? IB_LINK_LEN : sizeof(struct ether_header);
}

/*
 * Return the EtherType; in an Ethernet frame, this is the EtherType after at most two VLAN tags.
 * Return 0 if the frame is too short.
 */
static uint16_t inner_ethertype(const uint8_t *frame, size_t len, enum tap_kind kind)
{
	uint16_t type = 0;

	if (kind == TAP_INFINIBAND)
		return (uint16_t)(frame[IB_TYPE_OFF] << 8 | frame[IB_TYPE_OFF + 1]);
	for (size_t off = 2 * ETH_ALEN; off <= 2 * ETH_ALEN + VLAN_TAGS * VLAN_TAG_LEN;
	     off += VLAN_TAG_LEN) {
		if (len < off + 2)
			return 0;
		type = (uint16_t)(frame[off] << 8 | frame[off + 1]);
		if (type != ETHERTYPE_VLAN && type != 0x88a8)
			break;
	}
	return type;
}

static int gso_decode(struct tap_vnet *v, const struct virtio_net_hdr *h, const uint8_t *frame,
		      size_t len, enum tap_kind kind)
{
	v->ecn = h->gso_type & VIRTIO_NET_HDR_GSO_ECN;
	switch (h->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_NONE:
		v->gso = TAP_GSO_NONE;
		return 0;
	case VIRTIO_NET_HDR_GSO_TCPV4:
		v->gso = TAP_GSO_TCP4;
		break;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		v->gso = TAP_GSO_TCP6;
		break;
	case VIRTIO_NET_HDR_GSO_UDP_L4:
		/*
		 * UDP super-frames of IPv4 and of IPv6 have the same GSO type, so the frame's
		 * EtherType decides.
		 */
		switch (inner_ethertype(frame, len, kind)) {
		case ETHERTYPE_IP:
			v->gso = TAP_GSO_UDP4;
			break;
		case ETHERTYPE_IPV6:
			v->gso = TAP_GSO_UDP6;
			break;
		default:
			return -EBADMSG;
		}
		break;
	default:
		return -EBADMSG;
	}
	/*
	 * The kernel makes the checksums of the segments from the partial checksum, so the frame
	 * must have a partial checksum.
	 */
	if (!h->gso_size || !(h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return -EBADMSG;
	v->gso_size = h->gso_size;
	return 0;
}

int vnet_decode(struct tap_vnet *ret, const struct virtio_net_hdr *h, const uint8_t *frame,
		size_t len, enum tap_kind kind)
{
	struct tap_vnet v = { 0 };
	int err;

	if (len < vnet_link_len(kind))
		return -EBADMSG;
	err = gso_decode(&v, h, frame, len, kind);
	if (err)
		return err;
	if (h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		if ((size_t)h->csum_start + h->csum_offset + 2 > len ||
		    h->csum_start < vnet_link_len(kind))
			return -EBADMSG;
		v.needs_csum = true;
		v.csum_start = h->csum_start;
		v.csum_offset = h->csum_offset;
	}
	v.csum_ok = h->flags & VIRTIO_NET_HDR_F_DATA_VALID;
	v.hdr_len = h->hdr_len <= len ? h->hdr_len : 0;
	*ret = v;
	return 0;
}

void vnet_encode(struct virtio_net_hdr *ret, const struct tap_vnet *v)
{
	static const uint8_t type[] = {
		[TAP_GSO_NONE] = VIRTIO_NET_HDR_GSO_NONE,
		[TAP_GSO_TCP4] = VIRTIO_NET_HDR_GSO_TCPV4,
		[TAP_GSO_TCP6] = VIRTIO_NET_HDR_GSO_TCPV6,
		[TAP_GSO_UDP4] = VIRTIO_NET_HDR_GSO_UDP_L4,
		[TAP_GSO_UDP6] = VIRTIO_NET_HDR_GSO_UDP_L4,
	};

	memset(ret, 0, sizeof(*ret));
	ret->gso_type = type[v->gso];
	if (v->gso != TAP_GSO_NONE) {
		ret->gso_size = v->gso_size;
		if (v->ecn)
			ret->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	}
	ret->hdr_len = v->hdr_len;
	if (v->needs_csum) {
		ret->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		ret->csum_start = v->csum_start;
		ret->csum_offset = v->csum_offset;
	} else if (v->csum_ok) {
		ret->flags = VIRTIO_NET_HDR_F_DATA_VALID;
	}
}

/*
 * Tells whether the frame has a VLAN tag. The checksum's position is given as an offset from the
 * Ethernet header, and with a tag it is not certain whether the offset includes the tag.
 */
static bool has_tag(const uint8_t *eth)
{
	return eth[12] == ETHERTYPE_VLAN >> 8 && eth[13] == (ETHERTYPE_VLAN & 0xff);
}

int tap_vnet_to_pkt(struct pkt *p, const struct tap_vnet *v, enum tap_kind kind)
{
	static const uint8_t gso[] = {
		[TAP_GSO_NONE] = FRAME_GSO_NONE, [TAP_GSO_TCP4] = FRAME_GSO_TCP4,
		[TAP_GSO_TCP6] = FRAME_GSO_TCP6, [TAP_GSO_UDP4] = FRAME_GSO_UDP,
		[TAP_GSO_UDP6] = FRAME_GSO_UDP,
	};
	unsigned int link_len = vnet_link_len(kind);
	const uint8_t *link = pkt_pull(p, link_len);
	struct frame_info *f = frame_info(p);

	f->gso = gso[v->gso];
	f->gso_size = v->gso_size;
	f->csum = v->csum_ok ? FRAME_CSUM_OK : FRAME_CSUM_UNKNOWN;
	if (!v->needs_csum)
		return 0;
	if (!link || v->csum_start <= link_len || (kind == TAP_ETHERNET && has_tag(link)))
		return -EBADMSG;
	f->csum = FRAME_CSUM_PARTIAL;
	f->csum_start = (uint16_t)(v->csum_start - link_len);
	f->csum_offset = v->csum_offset;
	return 0;
}

/*
 * Returns the number of octets at the beginning of the frame that the kernel has to put into
 * contiguous memory. With 0, the kernel would put all 64 KiB of the frame into contiguous memory.
 */
static uint16_t hdr_len(const struct pkt *p, uint32_t l4)
{
	if (frame_info_const(p)->gso == FRAME_GSO_UDP)
		return (uint16_t)(l4 + 8);
	if (l4 + 13 > pkt_hdr_len(p))
		return 0;
	return (uint16_t)(l4 + (unsigned int)(p->hdr[p->head + l4 + 12] >> 4) * 4);
}

/*
 * Tells whether CWR is set in a TCP super-frame. The flag GSO_ECN means that only the first segment
 * gets CWR.
 */
static bool has_cwr(const struct pkt *p, uint32_t l4)
{
	uint8_t gso = frame_info_const(p)->gso;

	return (gso == FRAME_GSO_TCP4 || gso == FRAME_GSO_TCP6) && l4 + 14 <= pkt_hdr_len(p) &&
	       (p->hdr[p->head + l4 + 13] & TCP_CWR);
}

void tap_vnet_from_pkt(struct tap_vnet *ret, const struct pkt *p, enum tap_kind kind)
{
	static const enum tap_gso gso[] = {
		[FRAME_GSO_NONE] = TAP_GSO_NONE,
		[FRAME_GSO_TCP4] = TAP_GSO_TCP4,
		[FRAME_GSO_TCP6] = TAP_GSO_TCP6,
		/* the GSO type of the virtio-net header is the same for IPv4 and IPv6 */
		[FRAME_GSO_UDP] = TAP_GSO_UDP4,
	};
	const struct frame_info *f = frame_info_const(p);
	uint32_t l4 = f->csum_start + vnet_link_len(kind);

	*ret = (struct tap_vnet){
		.gso = gso[f->gso],
		.gso_size = f->gso_size,
		.csum_ok = f->csum == FRAME_CSUM_OK,
	};
	if (f->csum != FRAME_CSUM_PARTIAL)
		return;
	ret->csum_ok = false;
	ret->needs_csum = true;
	ret->csum_start = (uint16_t)l4;
	ret->csum_offset = f->csum_offset;
	if (f->gso != FRAME_GSO_NONE)
		ret->hdr_len = hdr_len(p, l4);
	ret->ecn = has_cwr(p, l4);
}
