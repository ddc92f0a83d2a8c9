/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/peer.h"

#include "world/sa.h"
#include "wire/inet.h"

#define TYPE_IP4 0x0800
#define TYPE_ARP 0x0806
#define TYPE_IP6 0x86dd
#define IP4_HDR 20
#define IP6_HDR 40
#define PROTO_ICMP 1
#define PROTO_ICMP6 58
#define ECHO6_REQUEST 128
#define ECHO6_REPLY 129
#define NS_LEN 48 /* 24 and an option of 24 */

struct world_peer *world_peer(struct world *w)
{
	unsigned int i = w->npeers++ % WORLD_PEERS;
	struct world_peer *p = &w->peer[i];

	*p = (struct world_peer){
		.lid = (uint16_t)(WORLD_PEER_LID + 2 * i),
		.path_lid = (uint16_t)(WORLD_PEER_LID + 2 * i),
		.gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x0002c9c0f0000100ull + i),
		.qpn = 0x0a5000 + i,
	};
	memcpy(p->ip4, w->dut.ip4, 4);
	memcpy(p->ip6, w->dut.ip6, 16);
	p->ip4[3] = (uint8_t)(16 + i);
	p->ip6[15] = (uint8_t)(16 + i);
	return p;
}

struct world_peer *world_peer_by_gid(struct world *w, const ib_gid *gid)
{
	for (unsigned int i = 0; i < w->npeers && i < WORLD_PEERS; i++)
		if (ib_gid_equal(&w->peer[i].gid, gid))
			return &w->peer[i];
	return NULL;
}

static void put_lladdr(uint8_t *p, const struct world_peer *peer)
{
	be32_put(p, peer->qpn);
	p[0] = peer->addr_flags;
	memcpy(p + 4, peer->gid.raw, 16);
}

/* --- sending */

struct ib_ud_hdr peer_headers(const struct world *w, const struct world_peer *p)
{
	struct world *m = (struct world *)w;
	ib_gid bcast = sa_mgid_broadcast(w);
	const struct world_group *g = world_group(m, &bcast);

	return (struct ib_ud_hdr){
		.lrh = { .sl = WORLD_PATH_SL, .dlid = w->dut.lid, .slid = p->lid },
		.has_grh = !p->no_grh,
		.grh = { .ip_ver = 6,
			 .nxt_hdr = IB_GRH_NXTHDR,
			 .hop_limit = 1,
			 .sgid = p->gid,
			 .dgid = w->dut.gid },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = WORLD_PKEY, .dest_qp = w->dut.qpn },
		.deth = { .qkey = g ? g->rec.qkey : WORLD_QKEY, .src_qp = p->qpn },
	};
}

void peer_unicast(struct world *w, const struct world_peer *p, const struct ib_ud_hdr *h,
		  const void *data, size_t len)
{
	if (w->dut.qpn)
		world_send(w, h, data, len);
}

static void put_encap(uint8_t *buf, const struct world_peer *p, uint16_t type)
{
	be16_put(buf, type);
	be16_put(buf + 2, p->reserved);
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
	uint8_t buf[4 + 256] = { 0 };
	ib_gid bcast = sa_mgid_broadcast(w);

	if (len > sizeof(buf) - 4)
		return;
	put_encap(buf, p, type);
	memcpy(buf + 4, data, len);
	to_group(w, p, &bcast, buf, len + 4);
}

void peer_arp_message(uint8_t *buf, const struct world *w, const struct world_peer *p, uint16_t op)
{
	memset(buf, 0, ARP_LEN);
	be16_put(buf, 32);
	be16_put(buf + 2, TYPE_IP4);
	buf[4] = 20;
	buf[5] = 4;
	be16_put(buf + 6, op);
	put_lladdr(buf + ARP_SHA, p);
	memcpy(buf + ARP_SPA, p->ip4, 4);
	memcpy(buf + ARP_TPA, w->dut.ip4, 4);
}

void peer_arp_request(struct world *w, const struct world_peer *p)
{
	uint8_t arp[ARP_LEN];

	peer_arp_message(arp, w, p, 1);
	peer_broadcast(w, p, TYPE_ARP, arp, sizeof(arp));
}

/* --- IPv4 */

/* Writes a header; @frag is the word of flags and fragment offset */
static void put_ip4(uint8_t *ip, const uint8_t src[4], const uint8_t dst[4], uint16_t id,
		    uint16_t frag, size_t len)
{
	memset(ip, 0, IP4_HDR);
	ip[0] = 0x45;
	be16_put(ip + 2, (uint16_t)len);
	be16_put(ip + 4, id);
	be16_put(ip + 6, frag);
	ip[8] = 64;
	ip[9] = PROTO_ICMP;
	memcpy(ip + 12, src, 4);
	memcpy(ip + 16, dst, 4);
	be16_put(ip + 10, inet_fold(inet_sum(0, ip, IP4_HDR)));
}

/* Writes an echo message of @len octets */
static void put_icmp(uint8_t *icmp, uint8_t type, uint16_t seq, size_t len)
{
	memset(icmp, 0, 8);
	icmp[0] = type;
	be16_put(icmp + 4, 0xc0f0);
	be16_put(icmp + 6, seq);
	for (size_t i = 8; i < len; i++)
		icmp[i] = (uint8_t)i;
	be16_put(icmp + 2, inet_fold(inet_sum(0, icmp, len)));
}

size_t peer_echo(uint8_t *buf, struct world *w, const struct world_peer *p, size_t ip_len,
		 uint16_t seq)
{
	put_encap(buf, p, TYPE_IP4);
	put_ip4(buf + 4, p->ip4, w->dut.ip4, ++w->ip_id, 0, ip_len);
	put_icmp(buf + 4 + IP4_HDR, 8, seq, ip_len - IP4_HDR);
	return ip_len + 4;
}

void peer_ping(struct world *w, const struct world_peer *p, size_t ip_len, uint16_t seq)
{
	uint8_t icmp[8192], buf[4 + WORLD_IP_MTU];
	size_t len = ip_len - IP4_HDR, part = (WORLD_IP_MTU - IP4_HDR) & ~7u;
	struct ib_ud_hdr h = peer_headers(w, p);

	if (ip_len < IP4_HDR + 8 || len > sizeof(icmp))
		return;
	put_icmp(icmp, 8, seq, len);
	w->ip_id++;
	for (size_t off = 0; off < len; off += part) {
		size_t n = len - off < part ? len - off : part;
		uint16_t more = off + n < len ? 0x2000 : 0;

		put_encap(buf, p, TYPE_IP4);
		put_ip4(buf + 4, p->ip4, w->dut.ip4, w->ip_id, (uint16_t)(more | off / 8),
			n + IP4_HDR);
		memcpy(buf + 4 + IP4_HDR, icmp + off, n);
		peer_unicast(w, p, &h, buf, n + IP4_HDR + 4);
	}
}

/* --- IPv6 */

static void put_ip6(uint8_t *ip, const uint8_t src[16], const uint8_t dst[16], size_t len)
{
	memset(ip, 0, IP6_HDR);
	ip[0] = 0x60;
	be16_put(ip + 4, (uint16_t)len);
	ip[6] = PROTO_ICMP6;
	ip[7] = 255;
	memcpy(ip + 8, src, 16);
	memcpy(ip + 24, dst, 16);
}

/* Fills in the checksum of the ICMPv6 message behind the header */
static void sum_icmp6(uint8_t *ip, size_t len)
{
	uint8_t *icmp = ip + IP6_HDR;

	be16_put(icmp + 2, 0);
	be16_put(icmp + 2,
		 inet_fold(inet_sum(inet_pseudo6(ip + 8, ip + 24, PROTO_ICMP6, (uint32_t)len), icmp,
				    len)));
}

/* Writes an NS or NA with its link-layer address option. Return: octets */
static size_t put_nd(uint8_t *ip, const struct world_peer *p, uint8_t type, const uint8_t dst[16],
		     const uint8_t target[16])
{
	uint8_t *icmp = ip + IP6_HDR;

	put_ip6(ip, p->ip6, dst, NS_LEN);
	memset(icmp, 0, NS_LEN);
	icmp[0] = type;
	icmp[4] = type == 136 ? 0x60 : 0; /* solicited, override */
	memcpy(icmp + 8, target, 16);
	icmp[24] = type == 136 ? 2 : 1;
	icmp[25] = 3;
	put_lladdr(icmp + 28, p);
	sum_icmp6(ip, NS_LEN);
	return IP6_HDR + NS_LEN;
}

void peer_solicit(struct world *w, const struct world_peer *p, const uint8_t target[16])
{
	uint8_t group[16] = { 0xff, 2, [11] = 1, [12] = 0xff };
	uint8_t buf[4 + IP6_HDR + NS_LEN];
	ib_gid mgid;

	memcpy(group + 13, target + 13, 3);
	mgid = sa_mgid_ip6(w, group);
	put_encap(buf, p, TYPE_IP6);
	to_group(w, p, &mgid, buf, 4 + put_nd(buf + 4, p, 135, group, target));
}

size_t peer_echo6(uint8_t *buf, const struct world *w, const struct world_peer *p, size_t ip_len)
{
	uint8_t *icmp = buf + 4 + IP6_HDR;

	put_encap(buf, p, TYPE_IP6);
	put_ip6(buf + 4, p->ip6, w->dut.ip6, ip_len - IP6_HDR);
	memset(icmp, 0, ip_len - IP6_HDR);
	icmp[0] = ECHO6_REQUEST;
	icmp[7] = 1;
	sum_icmp6(buf + 4, ip_len - IP6_HDR);
	return ip_len + 4;
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

static void answer_arp(struct world *w, const uint8_t *arp)
{
	const struct world_peer *p = peer_by_ip4(w, arp + ARP_TPA);
	uint8_t buf[4 + ARP_LEN];
	struct ib_ud_hdr h;

	if (!p || be16_at(arp + 6) != 1)
		return;
	h = peer_headers(w, p);
	put_encap(buf, p, TYPE_ARP);
	peer_arp_message(buf + 4, w, p, 2);
	memcpy(buf + 4 + ARP_THA, arp + ARP_SHA, 24);
	peer_unicast(w, p, &h, buf, sizeof(buf));
}

static void answer_ip4(struct world *w, const uint8_t *ip, size_t len)
{
	const struct world_peer *p = peer_by_ip4(w, ip + 16);
	uint8_t buf[4 + WORLD_IP_MTU];
	size_t hdr = (ip[0] & 15u) * 4;
	struct ib_ud_hdr h;

	if (!p || len > WORLD_IP_MTU || len < hdr + 8 || hdr < IP4_HDR || ip[9] != PROTO_ICMP ||
	    ip[hdr] != 8 || (be16_at(ip + 6) & 0x3fff))
		return;
	h = peer_headers(w, p);
	put_encap(buf, p, TYPE_IP4);
	put_ip4(buf + 4, p->ip4, ip + 12, ++w->ip_id, 0, len - hdr + IP4_HDR);
	memcpy(buf + 4 + IP4_HDR, ip + hdr, len - hdr);
	buf[4 + IP4_HDR] = 0;
	be16_put(buf + 6 + IP4_HDR, 0);
	be16_put(buf + 6 + IP4_HDR, inet_fold(inet_sum(0, buf + 4 + IP4_HDR, len - hdr)));
	peer_unicast(w, p, &h, buf, len - hdr + IP4_HDR + 4);
}

static void answer_ip6(struct world *w, const uint8_t *ip, size_t len)
{
	const uint8_t *icmp = ip + IP6_HDR;
	uint8_t buf[4 + WORLD_IP_MTU];
	const struct world_peer *p;
	struct ib_ud_hdr h;
	size_t n;

	if (len < IP6_HDR + 8 || len > WORLD_IP_MTU || ip[6] != PROTO_ICMP6)
		return;
	p = peer_by_ip6(w, icmp[0] == 135 && len >= IP6_HDR + 24 ? icmp + 8 : ip + 24);
	if (!p || (icmp[0] != 135 && icmp[0] != ECHO6_REQUEST))
		return;
	h = peer_headers(w, p);
	put_encap(buf, p, TYPE_IP6);
	if (icmp[0] == 135) {
		static const uint8_t unspecified[16], all_nodes[16] = { 0xff, 2, [15] = 1 };

		/* A solicitation without a source looks for a duplicate of the peer's address; there is none */
		n = put_nd(buf + 4, p, 136, memcmp(ip + 8, unspecified, 16) ? ip + 8 : all_nodes,
			   p->ip6);
	} else {
		n = len;
		put_ip6(buf + 4, p->ip6, ip + 8, len - IP6_HDR);
		memcpy(buf + 4 + IP6_HDR, icmp, len - IP6_HDR);
		buf[4 + IP6_HDR] = ECHO6_REPLY;
		sum_icmp6(buf + 4, len - IP6_HDR);
	}
	peer_unicast(w, p, &h, buf, n + 4);
}

void world_peer_rx(struct world *w, const struct seen *s)
{
	const uint8_t *data = s->payload + 4;
	size_t len = s->payload_len - 4;

	if (data_type(s) < 0)
		return;
	w->dut.qpn = s->h.deth.src_qp;
	switch (data_type(s)) {
	case TYPE_ARP:
		if (len >= ARP_LEN && be16_at(data) == 32 && data[4] == 20)
			answer_arp(w, data);
		break;
	case TYPE_IP4:
		if (len >= IP4_HDR && be16_at(data + 2) <= len)
			answer_ip4(w, data, be16_at(data + 2));
		break;
	case TYPE_IP6:
		if (len >= IP6_HDR && be16_at(data + 4) + (size_t)IP6_HDR <= len)
			answer_ip6(w, data, be16_at(data + 4) + (size_t)IP6_HDR);
		break;
	}
}

/* --- matchers */

bool arp_is(const struct seen *s, const void *arg)
{
	const struct arp_want *want = arg;
	const uint8_t *arp = s->payload + 4;

	/* The target's address stands at the end, whatever lengths the message claims */
	return data_type(s) == TYPE_ARP && s->payload_len >= 4 + ARP_LEN &&
	       be16_at(arp + 6) == want->op && (!want->tpa || !memcmp(arp + ARP_TPA, want->tpa, 4));
}

bool echo_is(const struct seen *s, const void *arg)
{
	const struct echo_want *want = arg;
	const uint8_t *ip = s->payload + 4;
	size_t hdr = want->v6 ? IP6_HDR : IP4_HDR;
	unsigned int type;

	if (data_type(s) != (want->v6 ? TYPE_IP6 : TYPE_IP4) || s->payload_len < 4 + hdr + 8 ||
	    (!want->v6 && (be16_at(ip + 6) & 0x1fff)))
		return false;
	type = want->v6 ? (want->request ? ECHO6_REQUEST : ECHO6_REPLY) : (want->request ? 8 : 0);
	return ip[want->v6 ? 6 : 9] == (want->v6 ? PROTO_ICMP6 : PROTO_ICMP) && ip[hdr] == type &&
	       (!want->dst || !memcmp(ip + (want->v6 ? 24 : 16), want->dst, want->v6 ? 16 : 4)) &&
	       (want->seq < 0 || be16_at(ip + hdr + 6) == want->seq);
}

bool nd_is(const struct seen *s, const void *arg)
{
	const struct nd_want *want = arg;
	const uint8_t *ip = s->payload + 4;

	return data_type(s) == TYPE_IP6 && s->payload_len >= 4 + IP6_HDR + 24 &&
	       ip[6] == PROTO_ICMP6 && ip[IP6_HDR] == want->type &&
	       (!want->target || !memcmp(ip + IP6_HDR + 8, want->target, 16));
}

bool ip4_to(const struct seen *s, const void *dst)
{
	return data_type(s) == TYPE_IP4 && s->payload_len >= 4 + IP4_HDR &&
	       !memcmp(s->payload + 20, dst, 4);
}

bool ip6_to(const struct seen *s, const void *dst)
{
	return data_type(s) == TYPE_IP6 && s->payload_len >= 4 + IP6_HDR &&
	       !memcmp(s->payload + 28, dst, 16);
}

bool unicast_to(const struct seen *s, const void *arg)
{
	const struct world_peer *p = arg;

	return s->kind == SEEN_DATA && !data_is_mcast(s) &&
	       (s->h.lrh.dlid == p->lid || s->h.lrh.dlid == p->lid + 1);
}
