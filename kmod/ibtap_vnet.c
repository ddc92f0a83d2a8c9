// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * The virtio-net header of a frame. The kernel's virtio_net_hdr_to_skb() checks less, because it also gets frames
 * whose protocol it does not know. This driver knows the protocol of each frame, so it compares the header of a
 * super-frame with the frame's IP and transport headers. Code that forwards the frame can therefore rely on the
 * header.
 */

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "ibtap_priv.h"

/* Smallest payload of a segment of a TCP super-frame. The kernel makes no smaller segments (TCP_MIN_GSO_SIZE). */
#define MIN_TCP_SEGMENT 8
/*
 * Largest number of segments into which the kernel cuts one send of a UDP socket: UDP_MAX_SEGMENTS
 * since Linux 6.11
 */
#define MAX_UDP_SEGMENTS 128

/* The transport header of a super-frame */
struct transport {
	u8 proto; /* IPPROTO_* */
	unsigned int offset; /* offset of the transport header from the frame's first octet */
	unsigned int len;
	unsigned int check; /* offset of the checksum in the transport header */
};

/* The integers of the virtio-net header are in host byte order, as on a TAP. */
static u16 get(__virtio16 v)
{
	return __virtio16_to_cpu(virtio_legacy_is_little_endian(), v);
}

static __virtio16 put(size_t v)
{
	return __cpu_to_virtio16(virtio_legacy_is_little_endian(), min_t(size_t, v, U16_MAX));
}

static bool find_ip4(const struct sk_buff *skb, struct transport *ret)
{
	struct iphdr buf;
	const struct iphdr *ip = skb_header_pointer(skb, IBTAP_HLEN, sizeof(buf), &buf);

	if (!ip || ip->version != 4 || ip->ihl < 5 || ip_is_fragment(ip) ||
	    ntohs(ip->tot_len) != skb->len - IBTAP_HLEN)
		return false;
	ret->proto = ip->protocol;
	ret->offset = IBTAP_HLEN + ip->ihl * 4;
	return true;
}

static bool find_ip6(const struct sk_buff *skb, struct transport *ret)
{
	struct ipv6hdr buf;
	const struct ipv6hdr *ip = skb_header_pointer(skb, IBTAP_HLEN, sizeof(buf), &buf);
	__be16 frag = 0;
	int offset;

	if (!ip || ip->version != 6 ||
	    ntohs(ip->payload_len) + sizeof(buf) != skb->len - IBTAP_HLEN)
		return false;
	ret->proto = ip->nexthdr;
	offset = ipv6_skip_exthdr(skb, IBTAP_HLEN + sizeof(buf), &ret->proto, &frag);
	if (offset < 0 || frag)
		return false;
	ret->offset = offset;
	return true;
}

static bool find_tcp(const struct sk_buff *skb, struct transport *t)
{
	struct tcphdr buf;
	const struct tcphdr *tcp = skb_header_pointer(skb, t->offset, sizeof(buf), &buf);

	if (!tcp || tcp->doff < 5)
		return false;
	t->len = tcp->doff * 4;
	t->check = offsetof(struct tcphdr, check);
	return true;
}

static bool find_udp(const struct sk_buff *skb, struct transport *t)
{
	struct udphdr buf;
	const struct udphdr *udp = skb_header_pointer(skb, t->offset, sizeof(buf), &buf);

	if (!udp || ntohs(udp->len) != skb->len - t->offset)
		return false;
	t->len = sizeof(buf);
	t->check = offsetof(struct udphdr, check);
	return true;
}

static bool find_transport(const struct sk_buff *skb, struct transport *ret)
{
	if (skb->protocol == htons(ETH_P_IP)
		    ? !find_ip4(skb, ret)
		    : skb->protocol != htons(ETH_P_IPV6) || !find_ip6(skb, ret))
		return false;
	switch (ret->proto) {
	case IPPROTO_TCP:
		return find_tcp(skb, ret);
	case IPPROTO_UDP:
		return find_udp(skb, ret);
	default:
		return false;
	}
}

/* Return the SKB_GSO_* bits for @gso_type; 0 if the frame is not of the kind that @gso_type names */
static unsigned int gso_bits(const struct sk_buff *skb, const struct transport *t, u8 gso_type)
{
	unsigned int ecn = gso_type & VIRTIO_NET_HDR_GSO_ECN ? SKB_GSO_TCP_ECN : 0;
	bool tcp = t->proto == IPPROTO_TCP, ip4 = skb->protocol == htons(ETH_P_IP);

	switch (gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_TCPV4:
		return tcp && ip4 ? SKB_GSO_TCPV4 | ecn : 0;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		return tcp && !ip4 ? SKB_GSO_TCPV6 | ecn : 0;
	case VIRTIO_NET_HDR_GSO_UDP_L4:
		return !tcp && !ecn ? SKB_GSO_UDP_L4 : 0;
	default:
		return 0;
	}
}

/* Set the GSO members of @skb. The partial checksum of the frame was checked and set before. */
static int set_gso(struct sk_buff *skb, const struct virtio_net_hdr_v1 *h)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int size = get(h->gso_size), payload, bits;
	struct transport t;

	if (!(h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) || !find_transport(skb, &t) ||
	    get(h->csum_start) != t.offset || get(h->csum_offset) != t.check ||
	    skb->len < t.offset + t.len)
		return -EINVAL;
	bits = gso_bits(skb, &t, h->gso_type);
	payload = skb->len - t.offset - t.len;
	if (!bits || !size || (t.proto == IPPROTO_TCP && size < MIN_TCP_SEGMENT) ||
	    (t.proto == IPPROTO_UDP && payload > size * MAX_UDP_SEGMENTS))
		return -EINVAL;
	if (!pskb_may_pull(skb, t.offset + t.len))
		return -ENOMEM;
	/* A frame with one segment is an ordinary packet. */
	if (payload > size) {
		info->gso_size = size;
		info->gso_segs = DIV_ROUND_UP(payload, size);
		info->gso_type = bits | SKB_GSO_DODGY;
	}
	return 0;
}

static int set_csum(struct sk_buff *skb, const struct virtio_net_hdr_v1 *h)
{
	unsigned int start = get(h->csum_start), offset = get(h->csum_offset);
	unsigned int end = start + offset + sizeof(__sum16);

	/* skb_partial_csum_set() checks the last condition, too, but would write to the log. */
	if (start < IBTAP_HLEN || end > skb->len || skb_headroom(skb) + start >= U16_MAX)
		return -EINVAL;
	if (!pskb_may_pull(skb, end))
		return -ENOMEM;
	return skb_partial_csum_set(skb, start, offset) ? 0 : -EINVAL;
}

int ibtap_vnet_to_skb(struct sk_buff *skb, const struct virtio_net_hdr_v1 *h)
{
	int err;

	if (h->flags & ~(VIRTIO_NET_HDR_F_NEEDS_CSUM | VIRTIO_NET_HDR_F_DATA_VALID))
		return -EINVAL;
	if (h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		err = set_csum(skb, h);
		if (err)
			return err;
	} else if (h->flags & VIRTIO_NET_HDR_F_DATA_VALID) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	}
	return h->gso_type == VIRTIO_NET_HDR_GSO_NONE ? 0 : set_gso(skb, h);
}

int ibtap_vnet_from_skb(struct virtio_net_hdr_v1 *ret, const struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);

	memset(ret, 0, sizeof(*ret));
	if (skb_is_gso(skb)) {
		if (info->gso_type & SKB_GSO_TCPV4)
			ret->gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
		else if (info->gso_type & SKB_GSO_TCPV6)
			ret->gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
		else if (info->gso_type & SKB_GSO_UDP_L4)
			ret->gso_type = VIRTIO_NET_HDR_GSO_UDP_L4;
		else
			return -EINVAL;
		if (info->gso_type & SKB_GSO_TCP_ECN)
			ret->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
		ret->hdr_len = put(skb_headlen(skb));
		ret->gso_size = put(info->gso_size);
	}
	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		ret->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		ret->csum_start = put(skb_checksum_start_offset(skb));
		ret->csum_offset = put(skb->csum_offset);
	}
	return 0;
}
