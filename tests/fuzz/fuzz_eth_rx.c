/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Packets from the link: any octets after any LRH and GRH that an HCA may report. The first octet of
 * the input chooses the link's profile and the shape of the interface. A batch of packets follows,
 * each of them after 6 control octets and 2 octets of length. The control octets decide which fields
 * of the packet the target corrects.
 *
 * Conditions that must be true: no crash, no leak, and each packet is delivered (perhaps coalesced)
 * or counted under exactly one reason.
 */

#include "eth_fuzz.h"
#include "wire/ibarp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONTROL 6

enum mend {
	HAS_GRH = 1 << 0,
	MCAST = 1 << 1,
	MEND_TYPE = 1 << 2,
	MEND_ND_CSUM = 1 << 3,
	MEND_LLADDR = 1 << 4, /* the link-layer address in an ARP message becomes that of a peer */
	CSUM_OK = 1 << 5,
	SPLIT = 1 << 6, /* a part of the packet is in hdr[], the rest is in two slices */
	ODD_SENDER = 1 << 7,
};

static uint8_t grh[PKT_BATCH][40];

static uint32_t sum16(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += (i & 1) ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void mend_nd(uint8_t *ip, size_t n)
{
	if (n < 48)
		return;
	ip[0] = 0x60;
	be16_put(ip + 4, (uint16_t)(n - 40));
	ip[6] = 58;
	ip[7] = 255;
	ip[40] = (uint8_t)(133 + ip[40] % 5);
	be16_put(ip + 42, 0);
	be16_put(ip + 42,
		 (uint16_t)~sum16(ip + 40, n - 40, sum16(ip + 8, 32, (uint32_t)(58 + n - 40))));
}

static void mend_arp(uint8_t *arp, size_t n, unsigned int i)
{
	struct ipoib_lladdr a = ef_peer(i);

	if (n < 56)
		return;
	memcpy(arp, "\0\x20\x08\0\x14\x04\0", 7);
	ipoib_lladdr_encode(arp + 8, &a);
	if (i & 8)
		ipoib_lladdr_encode(arp + 32, &ef.own);
}

/*
 * Turns the packet into an IBARP message about a peer: either with both copies of the first word of
 * SenderGID, as draft-pelissier-ipoib-encaparp-00 shows them, or without the second copy.
 */
static void mend_ibarp(uint8_t *b, size_t n, unsigned int i)
{
	struct ibarp_pkt a;

	if (n < 4 + IBARP_LEN || ibarp_decode(&a, b + 4, n - 4)) {
		a = (struct ibarp_pkt){ .op = 1 + (i >> 6 & 1) };
		a.sender.qkey = i & 16 ? 0x80000b1b : i;
	}
	if (n < 4 + IBARP_LEN)
		return;
	a.sender.lladdr = i & 8 ? ef.own : ef_peer(i);
	a.target.lladdr = ef_peer(i + 1);
	a.sender.eui64 = ib_gid_guid(&a.sender.lladdr.gid);
	ibarp_encode(b + 4, &a);
	if (i & 32)
		memmove(b + 4 + 24, b + 4 + 28, n - 32);
}

static struct pkt *place(const uint8_t *b, size_t n, const uint8_t *ctl)
{
	size_t in_hdr = ctl[4] % 120u, mid = ctl[5];
	struct pkt_buf *buf;
	struct pkt *p;

	if (!(ctl[0] & SPLIT))
		return pkt_from_data(ef.pool, b, n);
	p = pkt_alloc(ef.pool);
	buf = pkt_buf_alloc(ef.pool);
	ef_check(p && buf);
	if (in_hdr > n)
		in_hdr = n;
	memcpy(pkt_push(p, (unsigned int)in_hdr), b, in_hdr);
	memcpy(buf->data, b + in_hdr, n - in_hdr);
	if (in_hdr + mid < n && mid) {
		pkt_add_slice(p, buf, buf->data, (uint32_t)mid);
		pkt_add_slice(p, buf, buf->data + mid, (uint32_t)(n - in_hdr - mid));
	} else if (in_hdr < n) {
		pkt_add_slice(p, buf, buf->data, (uint32_t)(n - in_hdr));
	}
	pkt_buf_put(buf);
	return p;
}

static struct ipoib_rx make(unsigned int k, const uint8_t *ctl, const uint8_t *data, size_t n)
{
	static const uint16_t types[] = { 0x0800, 0x86dd, 0x0806, 0x8035 };
	struct ipoib_lladdr a = ef_peer(ctl[1]);
	unsigned int mend = ctl[0];
	struct ipoib_rx v = { .src_qp = a.qpn, .slid = (uint16_t)EF_PEER(ctl[1]) };
	unsigned int encap = ipoib_link_profile(ef.link)->encap.len;
	bool ibarp = ipoib_link_profile(ef.link)->resolve == IPOIB_RESOLVE_IBARP;
	uint8_t b[2048];

	memcpy(b, data, n);
	if (encap && n >= 4 && mend & MEND_TYPE)
		be16_put(b + (ibarp ? 2 : 0), types[ctl[2] & 3]);
	if (n >= 4 && mend & MEND_ND_CSUM)
		mend_nd(b + encap, n - encap);
	if (ibarp && mend & MEND_LLADDR)
		mend_ibarp(b, n, ctl[1]);
	else if (encap && n >= 4 && mend & MEND_LLADDR)
		mend_arp(b + 4, n - 4, ctl[1]);
	v.pkt = place(b, n, ctl);
	ef_check(v.pkt);
	if (mend & CSUM_OK)
		frame_info(v.pkt)->csum = FRAME_CSUM_OK;
	if (mend & ODD_SENDER) {
		v.src_qp = be16_at(ctl + 2);
		v.slid = ctl[3];
		a.gid.raw[15] = ctl[3];
	}
	if (mend & (HAS_GRH | MCAST)) {
		memcpy(grh[k] + 8, &a.gid, 16);
		memcpy(grh[k] + 24, &ef.own.gid, 16);
		grh[k][24] = mend & MCAST ? 0xff : 0xfe;
		v.grh = grh[k];
	}
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ipoib_rx v[PKT_BATCH];
	unsigned int n = 0;

	if (!size)
		return 0;
	ef_begin(ef_profile(data[0]), ef_shape(data[0]), (data[0] & 15) == 15);
	for (data++, size--; size >= CONTROL + 2 && n < PKT_BATCH - 1; n++) {
		size_t len = be16_at(data + CONTROL) % 2048;
		const uint8_t *ctl = data;

		data += CONTROL + 2;
		size -= CONTROL + 2;
		len = len < size ? len : size;
		v[n] = make(n, ctl, data, len);
		data += len;
		size -= len;
	}
	eth_rx(ef.e, NULL, v, n, ef.now);
	ef_check(ef.delivered + ef_drops() == n);
	ef_run(NS_SEC(3));
	ef_end();
	return 0;
}
