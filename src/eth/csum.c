/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/csum.h"

#include <errno.h>

#include "train/train.h"
#include "util/be.h"
#include "wire/inet.h"
#include "wire/ip.h"
#include "wire/ipoib_hdr.h"

/* Returns the checksum for a TCP or UDP header. */
static uint16_t l4_csum(const struct pkt *p, uint32_t sum)
{
	return inet_fold_udp(sum, frame_info_const(p)->csum_offset == 6);
}

static void csum_is_whole(struct pkt *p)
{
	frame_info(p)->csum = FRAME_CSUM_OK;
}

/*
 * A CA that makes checksums finds an IPv4 header behind the encapsulation of RFC 4391, but it does
 * not parse IP options. So this function is true only for TCP and UDP in whole IPv4 packets without
 * IP options.
 */
bool eth_csum_by_ca(struct pkt *p)
{
	const struct frame_info *f = frame_info_const(p);
	const uint8_t *ip;

	if (f->csum != FRAME_CSUM_PARTIAL || f->csum_start != IPV4_LEN)
		return false;
	ip = pkt_pull(p, IPOIB_HDR_LEN + IPV4_LEN);
	if (!ip || be16_at(ip) != ETH_P_IPV4)
		return false;
	ip += IPOIB_HDR_LEN;
	if (ip[0] != 0x45 || (be16_at(ip + 6) & IPV4_FRAGMENT))
		return false;
	return ip[9] == PROTO_TCP ? f->csum_offset == 16
				  : ip[9] == PROTO_UDP && f->csum_offset == 6;
}

/*
 * Completes a checksum whose field is not in pkt.hdr[] but in the payload, because the IPv6
 * extension headers are long. The checksum is set in a copy of the payload, because other packets
 * may share the buffer.
 */
static int csum_deep(struct pkt *p, unsigned int l4, unsigned int at)
{
	unsigned int hlen = pkt_hdr_len(p);
	struct pkt_buf *b;
	uint32_t n = p->len - hlen;

	if (at + 2 > p->len || l4 < hlen || n > PKT_BUF_SIZE)
		return -EBADMSG;
	b = pkt_buf_alloc(p->pool);
	if (!b)
		return -ENOMEM;
	pkt_copy_out(p, hlen, b->data, n);
	be16_put(b->data + at - hlen,
		 l4_csum(p, inet_sum(0, b->data + l4 - hlen, n - (l4 - hlen))));
	pkt_trim(p, hlen);
	pkt_add_slice(p, b, b->data, n);
	pkt_buf_put(b);
	csum_is_whole(p);
	return 0;
}

int eth_csum_complete(struct pkt *p, unsigned int l3)
{
	unsigned int l4 = l3 + frame_info(p)->csum_start, at = l4 + frame_info(p)->csum_offset;
	uint8_t *h;

	if (frame_info(p)->csum != FRAME_CSUM_PARTIAL)
		return 0;
	if (at + 2 > TRAIN_HDR_MAX)
		return csum_deep(p, l4, at);
	h = pkt_pull_hdr(p, at + 2);
	if (!h)
		return -EBADMSG;
	/*
	 * The kernel has put the sum of the pseudo-header into the checksum field, so the sum over
	 * the L4 header and the payload includes the pseudo-header.
	 */
	be16_put(h + at, l4_csum(p, inet_sum_pkt(0, p, l4)));
	csum_is_whole(p);
	return 0;
}
