/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/match.h"

#include "world/ip.h"

bool arp_is(const struct seen *s, const void *arg)
{
	const struct arp_want *want = arg;
	const struct wire_arp *form = s->wire->arp;

	/*
	 * ARP of RFC 4391 and IBARP have the target's address at a fixed offset, so the address
	 * lengths in the message do not matter.
	 */
	return form && data_type(s) == TYPE_ARP && s->net_len >= form->len &&
	       be16_at(s->net + 6) == want->op &&
	       (!want->tpa || !memcmp(s->net + form->tpa, want->tpa, 4));
}

/* Return: the offset of the ICMP message in an IPv4 packet, or in its first fragment; 0 if there is none */
static size_t icmp_at(const struct seen *s)
{
	const uint8_t *ip = s->net;

	if (data_type(s) != TYPE_IP4 || s->net_len < IPV4_LEN + 8 || ip[9] != PROTO_ICMP ||
	    (be16_at(ip + 6) & IPV4_OFFSET))
		return 0;
	return IPV4_LEN;
}

static size_t icmp6_at(const struct seen *s)
{
	const uint8_t *ip = s->net;

	if (data_type(s) != TYPE_IP6 || s->net_len < IPV6_LEN + 8)
		return 0;
	if (ip[6] == PROTO_ICMPV6)
		return IPV6_LEN;
	if (ip[6] == PROTO_FRAGMENT && s->net_len >= IPV6_LEN + IPV6_FRAGMENT_LEN + 8 &&
	    ip[IPV6_LEN] == PROTO_ICMPV6 && !(be16_at(ip + IPV6_LEN + 2) & 0xfff8))
		return IPV6_LEN + IPV6_FRAGMENT_LEN;
	return 0;
}

bool echo_is(const struct seen *s, const void *arg)
{
	const struct echo_want *want = arg;
	const uint8_t *ip = s->net;
	size_t at = want->v6 ? icmp6_at(s) : icmp_at(s);
	unsigned int type = want->v6 ? (want->request ? ECHO6_REQUEST : ECHO6_REPLY)
				     : (want->request ? ECHO_REQUEST : ECHO_REPLY);

	return at && ip[at] == type &&
	       (!want->dst || !memcmp(ip + (want->v6 ? 24 : 16), want->dst, want->v6 ? 16 : 4)) &&
	       (want->seq < 0 || be16_at(ip + at + 6) == want->seq);
}

struct echo_want echo_reply_to(const struct world *w, const struct world_peer *p, int seq)
{
	return w->wire->arp ? (struct echo_want){ .dst = p->ip4, .seq = seq }
			    : (struct echo_want){ .dst = p->ip6, .seq = seq, .v6 = true };
}

bool nd_is(const struct seen *s, const void *arg)
{
	const struct nd_want *want = arg;
	const uint8_t *ip = s->net;

	return data_type(s) == TYPE_IP6 && s->net_len >= IPV6_LEN + ND_FIXED &&
	       ip[6] == PROTO_ICMPV6 && ip[IPV6_LEN] == want->type &&
	       (!want->target || !memcmp(ip + IPV6_LEN + 8, want->target, 16));
}

bool ip4_to(const struct seen *s, const void *dst)
{
	return data_type(s) == TYPE_IP4 && s->net_len >= IPV4_LEN && !memcmp(s->net + 16, dst, 4);
}

bool ip6_to(const struct seen *s, const void *dst)
{
	return data_type(s) == TYPE_IP6 && s->net_len >= IPV6_LEN && !memcmp(s->net + 24, dst, 16);
}

bool unicast_to(const struct seen *s, const void *arg)
{
	const struct world_peer *p = arg;

	return s->kind == SEEN_DATA && !data_is_mcast(s) &&
	       (s->h.lrh.dlid == p->lid || s->h.lrh.dlid == p->lid + 1);
}

bool data_fits_type(const struct seen *s)
{
	const uint8_t *p = s->payload;

	switch (data_type(s)) {
	case TYPE_IP4:
		return s->payload_len >= 24 && p[4] >> 4 == 4;
	case TYPE_IP6:
		return s->payload_len >= 44 && p[4] >> 4 == 6;
	case TYPE_ARP:
	case TYPE_RARP:
		return s->payload_len >= 12 && be16_at(p + 6) == 0x0800;
	default:
		return false;
	}
}

bool data_has_known_type(const struct seen *s)
{
	int t = data_type(s);

	return t == TYPE_IP4 || t == TYPE_IP6 || t == TYPE_ARP || t == TYPE_RARP;
}
