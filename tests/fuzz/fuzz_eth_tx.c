/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Frames from the kernel, of an Ethernet device or of an InfiniBand device: any octets and any
 * virtio-net header. The first octet of the input chooses the link's profile and the shape of
 * the interface. Records follow, each with 8 control octets, 2 octets of length, and the octets of a
 * frame. The control octets decide which fields the target corrects, so that the fuzzer gets past
 * the first checks.
 *
 * Conditions that must be true: no crash, no leak, and each frame is posted (perhaps in segments),
 * held back, or counted under exactly one reason.
 */

#include "eth_fuzz.h"
#include "wire/arp.h"
#include "wire/ibarp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONTROL 8

enum mend {
	OWN_SOURCE = 1 << 0,
	DST_TOKEN = 1 << 1,
	DST_GROUP = 1 << 2,
	MEND_IP_LEN = 1 << 3,
	CSUM = 1 << 4,
	GSO = 1 << 5,
	MEND_ICMP = 1 << 6, /* the target corrects the checksum of IGMP or ICMPv6 */
	LARGE = 1 << 7, /* the octets are repeated until they make a super-frame */
};

static uint8_t frame[68000];

static uint32_t sum16(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += (i & 1) ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void mend_ip(uint8_t *ip, size_t n, bool icmp)
{
	bool v6 = ip[0] >> 4 == 6;
	size_t l4 = v6 ? 40 : (ip[0] & 15) * 4u;
	uint32_t sum = 0;

	if (n < 40 || (!v6 && ip[0] >> 4 != 4))
		return;
	be16_put(ip + (v6 ? 4 : 2), (uint16_t)(v6 ? n - 40 : n));
	if (!icmp)
		return;
	if (v6 && ip[6] == 0)
		l4 += (ip[41] + 1u) * 8;
	if (n < l4 + 4)
		return;
	if (v6)
		sum = sum16(ip + 8, 32, (uint32_t)(58 + n - l4));
	be16_put(ip + l4 + 2, 0);
	be16_put(ip + l4 + 2, (uint16_t)~sum16(ip + l4, n - l4, sum));
}

static void mend_ether(const uint8_t *ctl)
{
	struct ipoib_lladdr peer = ef_peer(ctl[1]);

	if (ctl[0] & OWN_SOURCE)
		memcpy(frame + 6, ef.mac, 6);
	if (ctl[0] & DST_TOKEN)
		eth_token(frame, &peer, EF_PKEY);
	if (ctl[0] & DST_GROUP)
		frame[0] |= 1;
}

/*
 * Correct the addresses in the header of a frame of an InfiniBand device. With DST_GROUP the
 * destination becomes a multicast group, and if bit 7 of ctl[1] is set, the broadcast group.
 */
static void mend_ib(const uint8_t *ctl)
{
	struct ipoib_lladdr peer = ef_peer(ctl[1]);

	if (ctl[0] & OWN_SOURCE)
		ipoib_lladdr_encode(frame, &ef.own);
	if (ctl[0] & DST_TOKEN)
		ipoib_lladdr_encode(frame + 20, &peer);
	if (ctl[0] & DST_GROUP)
		frame[24] = 0xff;
	if (ctl[0] & DST_GROUP && ctl[1] & 0x80)
		memcpy(frame + 24, ipoib_link_broadcast(ef.link)->raw, 16);
}

static struct pkt *make(const uint8_t *ctl, const uint8_t *data, size_t n)
{
	size_t head = ef_head();
	unsigned int mend = ctl[0];
	struct pkt *p;

	memcpy(frame, data, n);
	if (n && mend & LARGE)
		for (size_t have = n, to = 1 + ctl[2] * 256u; n < to; n++)
			frame[n] = data[n % have];
	if (n >= head && ef.shape == ETH_SHAPE_INFINIBAND)
		mend_ib(ctl);
	else if (n >= head)
		mend_ether(ctl);
	if (n >= head && mend & MEND_IP_LEN)
		mend_ip(frame + head, n - head, mend & MEND_ICMP);
	p = pkt_from_data(ef.pool, frame, n);
	if (!p)
		return NULL;
	if (mend & (CSUM | GSO)) {
		frame_info(p)->csum = FRAME_CSUM_PARTIAL;
		frame_info(p)->csum_start = ctl[3];
		frame_info(p)->csum_offset = ctl[4] & 0x80 ? be16_at(ctl + 4) : ctl[4];
	}
	if (mend & GSO) {
		frame_info(p)->gso = (uint8_t)(FRAME_GSO_TCP4 + ctl[5] % 3);
		frame_info(p)->gso_size = be16_at(ctl + 6);
	}
	return p;
}

static size_t arp_reply(uint8_t *b, const struct ipoib_lladdr *a)
{
	static const uint8_t head[12] = { 8, 6, 0, 0, 0, 32, 8, 0, 20, 4, 0, 1 };

	memcpy(b, head, sizeof(head));
	ipoib_lladdr_encode(b + sizeof(head), a);
	return 4 + 56;
}

/* Write a Neighbour Advertisement as a packet of a profile that has no encapsulation header. */
static size_t advertisement(uint8_t *b, const struct ipoib_lladdr *a)
{
	struct nd_port port = { .lladdr = *a, .qkey = 0x1234 };
	size_t n = 40 + 24 + ND_OPT_LINK_INFO;

	b[0] = 0x60;
	b[6] = 58;
	b[7] = 255;
	b[40] = ICMP6_NA;
	nd_opt_link_info_encode(b + 64, ND_OPT_TLLA, &port);
	mend_ip(b, n, true);
	return n;
}

static size_t ibarp_request(uint8_t *b, const struct ipoib_lladdr *a)
{
	struct ibarp_pkt ib = { .op = ARP_OP_REQUEST, .sender.lladdr = *a, .sender.qkey = 0x1234 };

	be16_put(b + 2, ETH_P_IPV4);
	ibarp_encode(b + 4, &ib);
	return 4 + IBARP_LEN;
}

/* Write to @b a packet from which the link learns the link-layer address @a. */
static size_t lesson(uint8_t *b, const struct ipoib_lladdr *a)
{
	switch (ipoib_link_profile(ef.link)->resolve) {
	case IPOIB_RESOLVE_IBARP:
		return ibarp_request(b, a);
	case IPOIB_RESOLVE_ND:
		return advertisement(b, a);
	default:
		return arp_reply(b, a);
	}
}

/* Make the peers known, as ARP replies or Neighbour Advertisements would. */
static void learn(void)
{
	for (unsigned int i = 0; i < EF_PEERS; i++) {
		uint8_t b[128] = { 0 };
		struct ipoib_lladdr a = ef_peer(i);
		struct ipoib_rx v = { .src_qp = a.qpn, .slid = (uint16_t)EF_PEER(i) };

		v.pkt = pkt_from_data(ef.pool, b, lesson(b, &a));
		eth_rx(ef.e, NULL, &v, 1, ef.now);
	}
	ef_drain();
	ef_check(ef.delivered == EF_PEERS);
}

static void one(const uint8_t *ctl, const uint8_t *data, size_t n)
{
	uint64_t posted, drops;
	unsigned int before, after;
	struct pkt *p;

	ef_run(ctl[7] & 1 ? NS_MSEC(ctl[7]) : 0);
	before = pkt_pool_pkts_used(ef.pool); /* packets that the interface holds */
	p = make(ctl, data, n);
	if (!p)
		return;
	posted = ef.posted;
	drops = ef_drops();
	eth_tx(ef.e, &p, 1, ef.now);
	after = pkt_pool_pkts_used(ef.pool);
	if (after < before || (after == before && ef_drops() == drops && ef.posted > posted + 1))
		/*
		 * In these cases the number of held packets cannot be checked: the frame made the
		 * interface release or replace membership reports that it held, or a super-frame
		 * was posted as several segments.
		 */
		return;
	ef_check(after <= before + 1);
	ef_check((ef.posted > posted) + (ef_drops() - drops) + (after - before) >= 1);
	if (ef.posted == posted)
		ef_check((ef_drops() - drops) + (after - before) == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	ef_begin(ef_profile(data[0]), ef_shape(data[0]), false);
	if (data[0] & 1)
		learn();
	for (data++, size--; size >= CONTROL + 2;) {
		size_t n = be16_at(data + CONTROL) % 2048;
		const uint8_t *ctl = data;

		data += CONTROL + 2;
		size -= CONTROL + 2;
		n = n < size ? n : size;
		one(ctl, data, n);
		data += n;
		size -= n;
	}
	/* In this time paths are resolved, groups are joined and held reports are sent. */
	ef_run(NS_SEC(3));
	ef_end();
	return 0;
}
