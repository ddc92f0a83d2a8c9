/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/match.h"

#include <string.h>

#include "wire/ib_hdr.h"
#include "wire/ip.h"
#include "wire/ipoib_hdr.h"
#include "wire/nd.h"
#include "wire/sa.h"

#define LOOK 128 /* number of octets of a payload that are examined */

int trace_what_of(const char *name)
{
	static const char *const names[TRACE_WHATS] = {
		[TRACE_PING] = "ping", [TRACE_TCP] = "tcp",   [TRACE_UDP] = "udp",
		[TRACE_ARP] = "arp",   [TRACE_PATH] = "path", [TRACE_JOIN] = "join",
	};

	for (int i = 0; i < TRACE_WHATS; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

static bool resolves(const struct trace_match *m)
{
	return m->what == TRACE_ARP || m->what == TRACE_PATH;
}

/* --- IP packets */

/*
 * The part of an IP packet after the IP and extension headers: the protocol of this part, and where
 * the part begins
 */
struct l4 {
	uint8_t proto;
	bool first; /* true for the first or only fragment, so that .p is at the protocol's header */
	const uint8_t *p;
	size_t len;
};

static bool has_port(const struct l4 *l, uint16_t port)
{
	return !l->first || (l->len >= 4 && (be16_at(l->p) == port || be16_at(l->p + 2) == port));
}

static bool is_mld(uint8_t type)
{
	/* types of MLD and MLDv2 messages (RFC 3810 section 5) */
	return (type >= 130 && type <= 132) || type == 143;
}

static bool icmp6_shown(const struct trace_match *m, const struct l4 *l)
{
	if (!l->first || !l->len)
		return m->what == TRACE_PING;
	if (m->what == TRACE_JOIN)
		return is_mld(l->p[0]);
	return !resolves(m) || l->p[0] == ICMP6_NS || l->p[0] == ICMP6_NA;
}

static bool l4_shown(const struct trace_match *m, const struct l4 *l)
{
	switch (l->proto) {
	case PROTO_ICMP:
		return m->family == 4 && !resolves(m) && m->what != TRACE_JOIN;
	case PROTO_ICMPV6:
		return m->family == 6 && icmp6_shown(m, l);
	case PROTO_IGMP:
		return m->family == 4 && m->what == TRACE_JOIN;
	case PROTO_TCP:
		return m->what == TRACE_TCP && has_port(l, m->port);
	case PROTO_UDP:
		return m->what == TRACE_UDP && has_port(l, m->port);
	default:
		return false;
	}
}

static bool ipv4_shown(const struct trace_match *m, const uint8_t *ip, size_t len)
{
	size_t head = len >= IPV4_LEN ? (ip[0] & 15u) * 4u : 0;
	struct l4 l = { .proto = 0 };

	if (m->family != 4 || head < IPV4_LEN)
		return false;
	l.proto = ip[9];
	l.first = !(be16_at(ip + 6) & IPV4_OFFSET);
	l.len = head < len ? len - head : 0;
	l.p = ip + len - l.len;
	return l4_shown(m, &l);
}

/*
 * Tell whether the trace shows an IPv6 packet. To find the header of the upper protocol, the
 * function skips hop-by-hop headers, which MLD messages have (RFC 3810 section 5), and a fragment
 * header.
 */
static bool ipv6_shown(const struct trace_match *m, const uint8_t *ip, size_t len)
{
	struct l4 l = { .first = true };
	size_t skip;

	if (m->family != 6 || len < IPV6_LEN)
		return false;
	l.proto = ip[6];
	l.p = ip + IPV6_LEN;
	l.len = len - IPV6_LEN;
	while ((l.proto == PROTO_HOPOPT || l.proto == PROTO_FRAGMENT) && l.first) {
		if (l.len < 8)
			return false;
		skip = l.proto == PROTO_HOPOPT ? (l.p[1] + 1u) * 8u : 8;
		l.first = l.proto == PROTO_HOPOPT || !(be16_at(l.p + 2) >> 3);
		l.proto = l.p[0];
		if (skip > l.len)
			return false;
		l.p += skip;
		l.len -= skip;
	}
	return l4_shown(m, &l);
}

static bool payload_shown(const struct trace_match *m, const uint8_t *p, size_t len)
{
	int type = m->encap->read(p, len);
	size_t head = m->encap->len;

	if (type < 0 || len < head)
		return false;
	switch (type) {
	case ETH_P_ARP4:
		return m->family == 4 && m->what != TRACE_JOIN;
	case ETH_P_IPV4:
		return ipv4_shown(m, p + head, len - head);
	case ETH_P_IPV6_:
		return ipv6_shown(m, p + head, len - head);
	default:
		return false;
	}
}

/* --- MADs */

static bool mad_shown(const struct trace_match *m, const uint8_t *p, size_t len)
{
	struct mad_hdr h;

	if (m->all_mads)
		return true;
	if (mad_hdr_decode(&h, p, len) || h.mgmt_class != MAD_CLASS_SA)
		return false;
	if (h.attr_id == SA_ATTR_PATH_RECORD)
		return m->what != TRACE_JOIN;
	/*
	 * A trace of IPv6 shows MADs about groups also if the other end is no group, because
	 * Neighbour Discovery sends to the multicast group of the solicited node.
	 */
	return h.attr_id == SA_ATTR_MCMEMBER_RECORD && (m->family == 6 || m->group);
}

/* --- all packets */

static bool is_end(const struct trace_match *m, uint16_t lid)
{
	return lid == m->a || (m->b && lid == m->b);
}

bool trace_match(const struct trace_match *m, const struct pkt *p)
{
	struct ib_ud_hdr h;
	uint8_t payload[LOOK];
	size_t n;
	int len;

	if (p->vl == IB_VL15)
		return false;
	len = ib_ud_hdr_decode(&h, p->hdr + p->head, pkt_hdr_len(p));
	if (len < 0 || (!is_end(m, h.lrh.slid) && !is_end(m, h.lrh.dlid)))
		return false;
	n = pkt_copy_out(p, (uint32_t)len, payload, sizeof(payload));
	if (h.bth.dest_qp == IB_QP1)
		return mad_shown(m, payload, n);
	/*
	 * If both LIDs are known, a unicast packet is only shown if it goes from one of the two
	 * ports to the other.
	 */
	if (m->b && ib_lid_is_unicast(h.lrh.dlid) &&
	    (!is_end(m, h.lrh.slid) || !is_end(m, h.lrh.dlid)))
		return false;
	return payload_shown(m, payload, n);
}
