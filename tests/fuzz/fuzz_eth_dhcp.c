/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * DHCP messages arrive from the device and from the link. They belong to the interface itself or to
 * stations (other MACs behind the interface). The input is a sequence of records, each with 8
 * control octets and then DHCP options. The target itself makes everything that a message has
 * before the options, so that the fuzzer gets past the first checks. The first record chooses the
 * shape of the interface (Ethernet or InfiniBand).
 *
 * The following must hold: There is no crash and no leak. A message is passed on or counted as
 * dropped. On the link, a client's message has the format of RFC 4390. At the device, a reply has
 * the format of the device or is unchanged. If the checksums of a message were right, they are
 * right again when the message is passed on.
 */

#include "eth_fuzz.h"
#include "wire/dhcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONTROL 8
#define BOOTP_AT (20 + 8)

enum how {
	FROM_LINK = 1 << 0,
	REPLY = 1 << 1,
	RELAYED = 1 << 2,
	CIADDR = 1 << 3,
	OVERLOADED = 1 << 4, /* the fields file and sname hold the same option octets, too */
	SHORT = 1 << 5, /* the message ends after the options, without padding */
	STATION = 1 << 6,
	BAD_SUM = 1 << 7,
};

static uint8_t last[4200];
static size_t last_len;

static uint32_t sum16(const uint8_t *p, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += (i & 1) ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void check_ip(const uint8_t *ip, size_t len)
{
	size_t udp_len = be16_at(ip + 24);

	ef_check(be16_at(ip + 2) == len && udp_len == len - 20);
	ef_check(sum16(ip, 20, 0) == 0xffff);
	ef_check(sum16(ip + 20, udp_len, sum16(ip + 12, 8, (uint32_t)(17 + udp_len))) == 0xffff);
}

static size_t fill_fields(uint8_t *m, unsigned int how, const uint8_t *opts, size_t n)
{
	memset(m + 44, 0, DHCP_FIXED_LEN - 44);
	if (how & OVERLOADED) {
		memcpy(m + 44, opts, n < 64 ? n : 64);
		memcpy(m + 108, opts, n < 128 ? n : 128);
	}
	be32_put(m + DHCP_FIXED_LEN, 0x63825363);
	memcpy(m + DHCP_OPTIONS, opts, n);
	if (how & SHORT || DHCP_OPTIONS + n >= DHCP_BOOTP_LEN)
		return DHCP_OPTIONS + n;
	memset(m + DHCP_OPTIONS + n, 0, DHCP_BOOTP_LEN - DHCP_OPTIONS - n);
	return DHCP_BOOTP_LEN;
}

/* Write the packet to @b. Return: its length. */
static size_t make(uint8_t *b, const uint8_t *ctl, const uint8_t *mac, const uint8_t *opts,
		   size_t n)
{
	static const uint8_t ip[20] = {
		0x45, [8] = 64, 17, [12] = 10, 0, 0, 1, 255, 255, 255, 255
	};
	unsigned int how = ctl[0];
	bool ib = how & FROM_LINK || ef.shape == ETH_SHAPE_INFINIBAND;
	struct dhcp_hdr h = { .op = how & REPLY ? 2 : 1,
			      .htype = ib ? 32 : 1,
			      .hlen = ib ? ctl[5] % 17 : 6,
			      .xid = ctl[1] % 4,
			      .flags = (uint16_t)(ctl[2] << 8) };
	size_t len, udp_len;

	if (!ib)
		memcpy(h.chaddr, mac, 6);
	else
		memset(h.chaddr, ctl[6], ctl[5] % 17);
	h.giaddr[0] = how & RELAYED ? 10 : 0;
	h.ciaddr[0] = how & CIADDR ? 10 : 0;
	memcpy(b, ip, sizeof(ip));
	dhcp_hdr_encode(b + BOOTP_AT, &h);
	udp_len = 8 + fill_fields(b + BOOTP_AT, how, opts, n);
	len = 20 + udp_len;
	be16_put(b + 2, (uint16_t)len);
	be16_put(b + 10, (uint16_t)~sum16(b, 20, 0));
	be16_put(b + 20, how & REPLY ? 67 : 68);
	be16_put(b + 22, how & REPLY ? 68 : 67);
	be16_put(b + 24, (uint16_t)udp_len);
	be16_put(b + 26, 0);
	be16_put(b + 26,
		 (uint16_t)~sum16(b + 20, udp_len, sum16(b + 12, 8, (uint32_t)(17 + udp_len))));
	if (!be16_at(b + 26))
		be16_put(b + 26, 0xffff);
	if (how & BAD_SUM)
		b[BOOTP_AT + 8] ^= 0x40;
	return len;
}

static void keep_sent(void *ctx, const struct eth_send *v, unsigned int n, ns_t now)
{
	last_len = pkt_copy_out(v[n - 1].pkt, 4, last, sizeof(last));
	ef_post(ctx, v, n, now);
}

static void keep_got(void *ctx, struct eth_frame *f)
{
	last_len = pkt_copy_out(f->first, ef_head(), last, sizeof(last));
	ef_deliver(ctx, f);
}

static const struct eth_ops dhcp_ops = { keep_sent, keep_got, ef_gone, ef_open, ef_close };

static void check_sent(const uint8_t *was, unsigned int how)
{
	const uint8_t *m = last + BOOTP_AT;
	uint8_t id[255];

	if (how & RELAYED && !(how & REPLY)) {
		ef_check(!memcmp(m, was + BOOTP_AT, DHCP_OPTIONS));
		return;
	}
	ef_check(m[1] == 32 && m[2] == 0 && !sum16(m + 28, 16, 0));
	if (!(how & REPLY))
		ef_check(dhcp_opt_get(m, last_len - BOOTP_AT, 61, id, sizeof(id)) >= 0);
}

static void tx(const uint8_t *ctl, const uint8_t *opts, size_t n)
{
	uint8_t b[44 + 4200] = { 0 }, mac[6] = { 0x52, 0x54, 0, 0, 0, ctl[3] % 4 };
	bool station = ctl[0] & STATION;
	uint64_t posted = ef.posted, drops = ef_drops();
	size_t head = ef_head();
	struct pkt *p;
	size_t len;

	if (ef.shape == ETH_SHAPE_INFINIBAND) {
		ipoib_lladdr_encode(b, &ef.own);
		memset(b + 20, 0xff, 20);
		be16_put(b + 40, ETH_P_IPV4);
	} else {
		memset(b, 0xff, 6);
		memcpy(b + 6, station ? mac : ef.mac, 6);
		be16_put(b + 12, ETH_P_IPV4);
	}
	len = make(b + head, ctl, station ? mac : ef.mac, opts, n);
	p = pkt_from_data(ef.pool, b, head + len);
	ef_check(p != NULL);
	eth_tx(ef.e, &p, 1, ef.now);
	ef_check(ef.posted - posted + ef_drops() - drops == 1);
	if (ef.posted == posted)
		return;
	if (!(ctl[0] & BAD_SUM))
		check_ip(last, last_len);
	check_sent(b + head, ctl[0]);
}

static void rx(const uint8_t *ctl, const uint8_t *opts, size_t n)
{
	struct ipoib_lladdr peer = ef_peer(ctl[3]);
	uint8_t b[4 + 4200] = { 8, 0 }, grh[40] = { 0x60 };
	uint64_t delivered = ef.delivered, drops = ef_drops();
	struct ipoib_rx v = { .src_qp = peer.qpn, .slid = (uint16_t)EF_PEER(ctl[3]) };
	size_t len = make(b + 4, ctl, NULL, opts, n);
	const uint8_t *m = last + BOOTP_AT;

	memcpy(grh + 8, &peer.gid, 16);
	memcpy(grh + 24, &ef.own.gid, 16);
	v.grh = ctl[3] & 0x80 ? NULL : grh;
	v.pkt = pkt_from_data(ef.pool, b, 4 + len);
	ef_check(v.pkt != NULL);
	eth_rx(ef.e, NULL, &v, 1, ef.now);
	ef_check(ef.delivered - delivered + ef_drops() - drops == 1);
	if (ef.delivered == delivered)
		return;
	if (!(ctl[0] & BAD_SUM))
		check_ip(last, last_len);
	ef_check((ef.shape == ETH_SHAPE_INFINIBAND ? m[1] == 32 : m[1] == 1 && m[2] == 6) ||
		 (last_len == len && !memcmp(last, b + 4, len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct eth_if_cfg cfg = { .pkey = EF_PKEY, .stations = 2 };

	cfg.shape = size > 4 ? ef_shape(data[4]) : ETH_SHAPE_ETHERNET;
	ef_begin(ipoib_profile_at(0), cfg.shape, false);
	eth_if_destroy(ef.e);
	cfg.link = ef.link;
	cfg.pool = ef.pool;
	cfg.timers = &ef.timers;
	ef_check(!eth_if_create(&ef.e, &cfg, &dhcp_ops, NULL));
	eth_if_set_addr(ef.e, ef.mac, &ef.own);
	eth_if_set_up(ef.e, true, ef.now);
	ef_run(NS_MSEC(10));
	while (size >= CONTROL + 2) {
		size_t n = be16_at(data + CONTROL) % 1800;
		const uint8_t *ctl = data;

		data += CONTROL + 2;
		size -= CONTROL + 2;
		n = n < size ? n : size;
		if (ctl[0] & FROM_LINK)
			rx(ctl, data, n);
		else
			tx(ctl, data, n);
		ef_run(ctl[7] == 0xff ? NS_SEC(60) : NS_MSEC(1));
		data += n;
		size -= n;
	}
	ef_end();
	return 0;
}
