/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/peer.h"

#include "world/dhcp.h"
#include "world/ip.h"
#include "world/part.h"
#include "world/sa.h"

#define PACKET_MAX 4096 /* largest payload in octets */

struct world_peer *world_peer_in(struct world *w, uint16_t pkey)
{
	unsigned int i = w->npeers++ % WORLD_PEERS;
	struct world_peer *p = &w->peer[i];
	uint8_t group[16];
	ib_gid mgid;

	*p = (struct world_peer){
		.lid = (uint16_t)(WORLD_PEER_LID + 2 * i),
		.path_lid = (uint16_t)(WORLD_PEER_LID + 2 * i),
		.path_mtu = pkey == WORLD_PKEY2 ? WORLD_MTU2 : w->mtu_code,
		.pkey = pkey,
		.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x0002c9c0f0000100ull + i),
		.qpn = 0x0a5000 + i,
	};
	memcpy(p->ip4, part_dut_ip4(w, pkey), 4);
	memcpy(p->ip6, w->dut.ip6, 16);
	p->ip4[3] = (uint8_t)(16 + i);
	p->ip6[15] = (uint8_t)(16 + i);
	/* A peer, like every interface with IPv6, is in the solicited-node group of its address. */
	ip6_solicited_node(group, p->ip6);
	mgid = sa_mgid_ip6_in(w, pkey, group);
	world_group_make(w, &mgid);
	return p;
}

struct world_peer *world_peer(struct world *w)
{
	return world_peer_in(w, WORLD_PKEY);
}

struct world_peer *world_peer_by_gid(struct world *w, const ib_gid *gid)
{
	for (unsigned int i = 0; i < w->npeers && i < WORLD_PEERS; i++)
		if (ib_gid_equal(&w->peer[i].gid, gid))
			return &w->peer[i];
	return NULL;
}

const struct world_peer *world_peer_by_lid(const struct world *w, uint16_t lid)
{
	for (unsigned int i = 0; i < w->npeers && i < WORLD_PEERS; i++)
		if (w->peer[i].lid == (lid & ~1u))
			return &w->peer[i];
	return NULL;
}

static uint32_t group_qkey(const struct world *w, uint16_t pkey)
{
	ib_gid bcast = sa_mgid_broadcast_in(w, pkey);
	const struct world_group *g = world_group((struct world *)w, &bcast);

	return g ? g->rec.qkey : WORLD_QKEY;
}

uint32_t peer_qkey(const struct world *w, const struct world_peer *p)
{
	return w->wire->peer_qkey && p->qkey ? p->qkey : group_qkey(w, p->pkey);
}

struct world_lladdr peer_lladdr(const struct world *w, const struct world_peer *p)
{
	return (struct world_lladdr){
		.gid = p->gid,
		.qpn = p->qpn,
		.qkey = peer_qkey(w, p),
		.lid = p->lid,
		.flags = p->addr_flags,
	};
}

/* --- sending */

struct ib_ud_hdr peer_headers(const struct world *w, const struct world_peer *p)
{
	return (struct ib_ud_hdr){
		.lrh = { .sl = w->wire->group_sl ? WORLD_GROUP_SL : WORLD_PATH_SL,
			 .dlid = w->dut.lid,
			 .slid = p->lid },
		.has_grh = !p->no_grh,
		.grh = { .ip_ver = 6,
			 .nxt_hdr = IB_GRH_NXTHDR,
			 .hop_limit = 1,
			 .sgid = p->gid,
			 .dgid = w->dut.gid },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY,
			 .pkey = p->pkey,
			 .dest_qp = *part_dut_qpn((struct world *)w, p->pkey) },
		.deth = { .qkey = group_qkey(w, p->pkey), .src_qp = p->qpn },
	};
}

void peer_unicast(struct world *w, const struct world_peer *p, const struct ib_ud_hdr *h,
		  const void *data, size_t len)
{
	if (*part_dut_qpn(w, p->pkey))
		world_send(w, h, data, len);
}

/* Write the encapsulation header. Return: pointer to the octet after it */
static uint8_t *encap(uint8_t *buf, const struct world *w, const struct world_peer *p,
		      uint16_t type)
{
	w->wire->put_hdr(buf, type, p->reserved);
	return buf + w->wire->hdr_len;
}

static void to_group(struct world *w, const struct world_peer *p, const ib_gid *mgid,
		     const uint8_t *buf, size_t len)
{
	const struct world_group *g = world_group(w, mgid);
	struct ib_ud_hdr h = peer_headers(w, p);

	if (!g)
		return;
	h.has_grh = true;
	h.lrh.sl = g->rec.sl;
	h.lrh.dlid = g->rec.mlid;
	h.grh.tclass = g->rec.tclass;
	h.grh.flow_label = g->rec.flow_label;
	h.grh.hop_limit = g->rec.hop_limit;
	h.grh.dgid = *mgid;
	h.bth.dest_qp = IB_QPN_MCAST;
	world_send(w, &h, buf, len);
}

void peer_broadcast(struct world *w, const struct world_peer *p, uint16_t type, const void *data,
		    size_t len)
{
	uint8_t buf[4 + 1024] = { 0 };
	ib_gid bcast = sa_mgid_broadcast_in(w, p->pkey);

	if (len > sizeof(buf) - 4)
		return;
	memcpy(encap(buf, w, p, type), data, len);
	to_group(w, p, &bcast, buf, w->wire->hdr_len + len);
}

void peer_broadcast_as(struct world *w, const struct world_peer *p, uint16_t type, const void *data,
		       size_t len)
{
	uint8_t buf[4 + 256] = { 0 };
	ib_gid bcast = sa_mgid_broadcast(w);

	if (len > sizeof(buf) - 4 || w->wire->hdr_len != 4)
		return;
	be16_put(buf + 2, type);
	memcpy(buf + 4, data, len);
	to_group(w, p, &bcast, buf, len + 4);
}

void peer_arp_message(uint8_t *buf, const struct world *w, const struct world_peer *p)
{
	struct world_lladdr a = peer_lladdr(w, p);

	w->wire->arp->request(buf, &a, p->ip4, part_dut_ip4(w, p->pkey));
}

void peer_arp_request(struct world *w, const struct world_peer *p)
{
	uint8_t arp[256];

	peer_arp_message(arp, w, p);
	peer_broadcast(w, p, TYPE_ARP, arp, w->wire->arp->len);
}

/* --- pings */

/*
 * Write the encapsulation header and an IPv4 packet with @n octets of the ICMP message @icmp, from
 * offset @off of the message. Return: number of octets
 */
static size_t put_part4(uint8_t *buf, struct world *w, const struct world_peer *p,
			const uint8_t *icmp, size_t len, size_t off, size_t n)
{
	uint8_t *ip = encap(buf, w, p, TYPE_IP4);
	uint16_t more = off + n < len ? 0x2000 : 0;

	ip4_put(ip, p->ip4, part_dut_ip4(w, p->pkey), w->ip_id, (uint16_t)(more | off / 8),
		n + IPV4_LEN);
	memcpy(ip + IPV4_LEN, icmp + off, n);
	return w->wire->hdr_len + IPV4_LEN + n;
}

static size_t put_part6(uint8_t *buf, struct world *w, const struct world_peer *p,
			const uint8_t *icmp, size_t len, size_t off, size_t n)
{
	uint8_t *ip = encap(buf, w, p, TYPE_IP6), *frag = ip + IPV6_LEN;

	if (n == len) {
		ip6_put(ip, p->ip6, w->dut.ip6, PROTO_ICMPV6, n);
		memcpy(ip + IPV6_LEN, icmp, n);
		return w->wire->hdr_len + IPV6_LEN + n;
	}
	ip6_put(ip, p->ip6, w->dut.ip6, PROTO_FRAGMENT, IPV6_FRAGMENT_LEN + n);
	frag[0] = PROTO_ICMPV6;
	frag[1] = 0;
	be16_put(frag + 2, (uint16_t)(off | (off + n < len)));
	be32_put(frag + 4, w->ip_id);
	memcpy(frag + IPV6_FRAGMENT_LEN, icmp + off, n);
	return w->wire->hdr_len + IPV6_LEN + IPV6_FRAGMENT_LEN + n;
}

/*
 * Write an echo request: an ICMPv6 message if @v6 is true, otherwise an ICMPv4 message. Return:
 * @len if the message fits into one IP packet; otherwise the number of its octets in each fragment
 * but the last
 */
static size_t put_echo(uint8_t *icmp, const struct world *w, const struct world_peer *p, bool v6,
		       size_t len, uint16_t seq)
{
	const unsigned int mtu = part_ip_mtu(w, p->pkey);

	icmp_echo(icmp, v6 ? ECHO6_REQUEST : ECHO_REQUEST, seq, len);
	if (v6)
		ip6_sum(icmp, p->ip6, w->dut.ip6, len);
	else
		icmp_sum(icmp, len);
	if (len + (v6 ? IPV6_LEN : IPV4_LEN) <= mtu)
		return len;
	return (mtu - (v6 ? IPV6_LEN + IPV6_FRAGMENT_LEN : IPV4_LEN)) & ~(size_t)7;
}

static size_t echo(uint8_t *buf, struct world *w, const struct world_peer *p, bool v6,
		   size_t ip_len, uint16_t seq)
{
	size_t len = ip_len - (v6 ? IPV6_LEN : IPV4_LEN);
	uint8_t icmp[PACKET_MAX];

	w->ip_id++;
	put_echo(icmp, w, p, v6, len, seq);
	return v6 ? put_part6(buf, w, p, icmp, len, 0, len)
		  : put_part4(buf, w, p, icmp, len, 0, len);
}

size_t peer_echo(uint8_t *buf, struct world *w, const struct world_peer *p, size_t ip_len,
		 uint16_t seq)
{
	return echo(buf, w, p, !w->wire->arp, ip_len, seq);
}

size_t peer_echo6(uint8_t *buf, struct world *w, const struct world_peer *p, size_t ip_len,
		  uint16_t seq)
{
	return echo(buf, w, p, true, ip_len, seq);
}

static void ping(struct world *w, const struct world_peer *p, bool v6, size_t ip_len, uint16_t seq)
{
	size_t len = ip_len - (v6 ? IPV6_LEN : IPV4_LEN), part;
	uint8_t icmp[8192], buf[PACKET_MAX];
	struct ib_ud_hdr h = peer_headers(w, p);

	if (len < 8 || len > sizeof(icmp))
		return;
	w->ip_id++;
	part = put_echo(icmp, w, p, v6, len, seq);
	for (size_t off = 0; off < len; off += part) {
		size_t n = len - off < part ? len - off : part;

		n = v6 ? put_part6(buf, w, p, icmp, len, off, n)
		       : put_part4(buf, w, p, icmp, len, off, n);
		peer_unicast(w, p, &h, buf, n);
	}
}

void peer_ping(struct world *w, const struct world_peer *p, size_t ip_len, uint16_t seq)
{
	ping(w, p, !w->wire->arp, ip_len, seq);
}

void peer_ping6(struct world *w, const struct world_peer *p, size_t ip_len, uint16_t seq)
{
	ping(w, p, true, ip_len, seq);
}

/* --- Neighbour Discovery */

/* Write a Neighbour Solicitation or Advertisement with its link-layer address option. Return: number of octets */
static size_t put_nd(uint8_t *ip, const struct world *w, const struct world_peer *p, uint8_t type,
		     const uint8_t dst[16], const uint8_t target[16])
{
	uint8_t *icmp = ip + IPV6_LEN;
	size_t len = ND_FIXED + w->wire->opt_len;
	struct world_lladdr a = peer_lladdr(w, p);

	ip6_put(ip, p->ip6, dst, PROTO_ICMPV6, len);
	memset(icmp, 0, ND_FIXED);
	icmp[0] = type;
	icmp[4] = type == ND_NA ? 0x60 : 0; /* flags: solicited, override */
	memcpy(icmp + 8, target, 16);
	(p->put_opt ? p->put_opt : w->wire->put_opt)(icmp + ND_FIXED, type == ND_NA ? 2 : 1, &a);
	len = ND_FIXED + icmp[ND_FIXED + 1] * 8u;
	be16_put(ip + 4, (uint16_t)len);
	ip6_sum(icmp, p->ip6, dst, len);
	return IPV6_LEN + len;
}

void peer_solicit(struct world *w, const struct world_peer *p, const uint8_t target[16])
{
	uint8_t group[16], buf[256];
	size_t len;
	ib_gid mgid;

	ip6_solicited_node(group, target);
	mgid = sa_mgid_ip6(w, group);
	len = put_nd(encap(buf, w, p, TYPE_IP6), w, p, ND_NS, group, target);
	to_group(w, p, &mgid, buf, w->wire->hdr_len + len);
}

void peer_probe(struct world *w, const struct world_peer *p, const uint8_t target[16])
{
	static const uint8_t unspecified[16];
	uint8_t group[16], buf[256] = { 0 };
	uint8_t *ip = encap(buf, w, p, TYPE_IP6), *icmp = ip + IPV6_LEN;
	ib_gid mgid;

	ip6_solicited_node(group, target);
	mgid = sa_mgid_ip6(w, group);
	ip6_put(ip, unspecified, group, PROTO_ICMPV6, ND_FIXED);
	icmp[0] = ND_NS;
	memcpy(icmp + 8, target, 16);
	ip6_sum(icmp, unspecified, group, ND_FIXED);
	to_group(w, p, &mgid, buf, w->wire->hdr_len + IPV6_LEN + ND_FIXED);
}

void peer_advertise(struct world *w, const struct world_peer *p, uint32_t mtu,
		    const uint8_t prefix[8])
{
	static const uint8_t all_nodes[16] = { 0xff, 2, [15] = 1 };
	uint8_t buf[256] = { 0 }, src[16] = { 0xfe, 0x80, [15] = p->ip6[15] };
	uint8_t *ip = encap(buf, w, p, TYPE_IP6), *icmp = ip + IPV6_LEN, *opt = icmp + 16;
	ib_gid mgid = sa_mgid_ip6(w, all_nodes);
	size_t len;

	icmp[0] = ND_RA;
	/*
	 * Current hop limit 64. The router lifetime stays 0, because the peer is not a default
	 * router.
	 */
	icmp[4] = 64;
	if (mtu) {
		opt[0] = 5;
		opt[1] = 1;
		be32_put(opt + 4, mtu);
		opt += 8;
	}
	if (prefix) {
		opt[0] = 3;
		opt[1] = 4;
		opt[2] = 64;
		opt[3] = 0xc0; /* flags of the prefix: on-link, autonomous */
		be32_put(opt + 4, 3600);
		be32_put(opt + 8, 3600);
		memcpy(opt + 16, prefix, 8);
		opt += 32;
	}
	len = (size_t)(opt - icmp);
	ip6_put(ip, src, all_nodes, PROTO_ICMPV6, len);
	ip6_sum(icmp, src, all_nodes, len);
	to_group(w, p, &mgid, buf, w->wire->hdr_len + IPV6_LEN + len);
}

/* --- answers */

static const struct world_peer *peer_by_ip4(const struct world *w, const uint8_t ip[4])
{
	for (unsigned int i = 0; i < w->npeers && i < WORLD_PEERS; i++)
		if (!memcmp(w->peer[i].ip4, ip, 4))
			return &w->peer[i];
	return NULL;
}

static const struct world_peer *peer_by_ip6(const struct world *w, const uint8_t ip[16])
{
	for (unsigned int i = 0; i < w->npeers && i < WORLD_PEERS; i++)
		if (!memcmp(w->peer[i].ip6, ip, 16))
			return &w->peer[i];
	return NULL;
}

static void answer_arp(struct world *w, const uint8_t *arp, size_t len)
{
	const struct wire_arp *form = w->wire->arp;
	const struct world_peer *p = len >= form->len ? peer_by_ip4(w, arp + form->tpa) : NULL;
	struct world_lladdr a;
	uint8_t buf[256];
	struct ib_ud_hdr h;

	if (!p || be16_at(arp + 6) != 1)
		return;
	h = peer_headers(w, p);
	a = peer_lladdr(w, p);
	form->reply(encap(buf, w, p, TYPE_ARP), arp, &a, p->ip4);
	peer_unicast(w, p, &h, buf, w->wire->hdr_len + form->len);
}

static void answer_ip4(struct world *w, const uint8_t *ip, size_t len)
{
	const struct world_peer *p = peer_by_ip4(w, ip + 16);
	uint8_t buf[PACKET_MAX], *to;
	size_t hdr = (ip[0] & 15u) * 4;
	struct ib_ud_hdr h;

	if (!p || len > w->ip_mtu || len < hdr + 8 || hdr < IPV4_LEN || ip[9] != PROTO_ICMP ||
	    ip[hdr] != ECHO_REQUEST || (be16_at(ip + 6) & IPV4_FRAGMENT))
		return;
	h = peer_headers(w, p);
	to = encap(buf, w, p, TYPE_IP4);
	ip4_put(to, p->ip4, ip + 12, ++w->ip_id, 0, len - hdr + IPV4_LEN);
	memcpy(to + IPV4_LEN, ip + hdr, len - hdr);
	to[IPV4_LEN] = ECHO_REPLY;
	icmp_sum(to + IPV4_LEN, len - hdr);
	peer_unicast(w, p, &h, buf, w->wire->hdr_len + len - hdr + IPV4_LEN);
}

static void answer_ns(struct world *w, const uint8_t *ip, size_t len)
{
	static const uint8_t unspecified[16], all_nodes[16] = { 0xff, 2, [15] = 1 };
	const uint8_t *icmp = ip + IPV6_LEN;
	const struct world_peer *p = len >= IPV6_LEN + ND_FIXED ? peer_by_ip6(w, icmp + 8) : NULL;
	struct ib_ud_hdr h;
	uint8_t buf[256];
	size_t n;

	if (!p)
		return;
	h = peer_headers(w, p);
	/*
	 * A solicitation without a source address asks whether the peer's address is a duplicate. The peer answers
	 * that it has the address.
	 */
	n = put_nd(encap(buf, w, p, TYPE_IP6), w, p, ND_NA,
		   memcmp(ip + 8, unspecified, 16) ? ip + 8 : all_nodes, p->ip6);
	peer_unicast(w, p, &h, buf, w->wire->hdr_len + n);
}

static void answer_echo6(struct world *w, const uint8_t *ip, size_t len)
{
	const struct world_peer *p = peer_by_ip6(w, ip + 24);
	uint8_t buf[PACKET_MAX], *to;
	struct ib_ud_hdr h;

	if (!p)
		return;
	h = peer_headers(w, p);
	to = encap(buf, w, p, TYPE_IP6);
	ip6_put(to, p->ip6, ip + 8, PROTO_ICMPV6, len - IPV6_LEN);
	memcpy(to + IPV6_LEN, ip + IPV6_LEN, len - IPV6_LEN);
	to[IPV6_LEN] = ECHO6_REPLY;
	ip6_sum(to + IPV6_LEN, p->ip6, ip + 8, len - IPV6_LEN);
	peer_unicast(w, p, &h, buf, w->wire->hdr_len + len);
}

static void answer_ip6(struct world *w, const uint8_t *ip, size_t len)
{
	if (len < IPV6_LEN + 8 || len > w->ip_mtu || ip[6] != PROTO_ICMPV6)
		return;
	if (ip[IPV6_LEN] == ND_NS)
		answer_ns(w, ip, len);
	else if (ip[IPV6_LEN] == ECHO6_REQUEST)
		answer_echo6(w, ip, len);
}

void world_peer_rx(struct world *w, const struct seen *s)
{
	const uint8_t *data = s->net;

	if (s->type < 0)
		return;
	*part_dut_qpn(w, part_of_packet(w, s)) = s->h.deth.src_qp;
	switch (s->type) {
	case TYPE_ARP:
		if (w->wire->arp)
			answer_arp(w, data, s->net_len);
		break;
	case TYPE_IP4:
		if (w->wire->arp && s->net_len >= IPV4_LEN && be16_at(data + 2) <= s->net_len)
			answer_ip4(w, data, be16_at(data + 2));
		world_dhcp_rx(w, s);
		break;
	case TYPE_IP6:
		if (s->net_len >= IPV6_LEN && be16_at(data + 4) + (size_t)IPV6_LEN <= s->net_len)
			answer_ip6(w, data, be16_at(data + 4) + (size_t)IPV6_LEN);
		break;
	}
}
