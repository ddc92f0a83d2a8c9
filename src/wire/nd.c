/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/nd.h"

#include <errno.h>

/* Source or Target Link-Layer Address option of RFC 4391 §9.3. */
struct lladdr_opt_wire {
	uint8_t type;
	uint8_t length; /* length of the option in units of 8 octets, here 3 */
	be16 zero;
	uint8_t lladdr[IPOIB_ALEN];
};
static_assert(sizeof(struct lladdr_opt_wire) == ND_OPT_LLADDR_IPOIB, "RFC 4391 §9.3");

/* Source or Target Link-Layer Address option of draft-kashyap-ipoib-ipv6-over-ib-00 §5.1. */
struct link_info_wire {
	uint8_t type;
	uint8_t length; /* length of the option in units of 8 octets, here 4 */
	be16 lid;
	be32 flags_qpn; /* 8 capability flags, then the 24-bit QPN */
	be32 qkey;
	ib_gid gid;
	be32 zero;
};
static_assert(sizeof(struct link_info_wire) == ND_OPT_LINK_INFO, "§5.1 of the draft");

unsigned int nd_fixed_len(uint8_t icmp_type)
{
	switch (icmp_type) {
	case ICMP6_RS:
		return 8;
	case ICMP6_RA:
		return 16;
	case ICMP6_NS:
	case ICMP6_NA:
		return 24;
	case ICMP6_REDIRECT:
		return 40;
	default:
		return 0;
	}
}

int nd_opt_next(struct nd_opt *ret, const uint8_t *p, size_t len, size_t *pos)
{
	size_t at = *pos, n;

	if (at >= len)
		return at == len ? 0 : -EBADMSG;
	if (len - at < 2)
		return -EBADMSG;
	n = 8u * p[at + 1]; /* an option with length 0 makes the message invalid (RFC 4861 §4.6) */
	if (!n || n > len - at)
		return -EBADMSG;

	*ret = (struct nd_opt){ .type = p[at], .len = (uint16_t)n, .data = p + at };
	*pos = at + n;
	return 1;
}

int nd_opt_lladdr_decode(struct ipoib_lladdr *ret, const struct nd_opt *o)
{
	struct lladdr_opt_wire w;

	if (o->len != sizeof(w) || (o->type != ND_OPT_SLLA && o->type != ND_OPT_TLLA))
		return -EBADMSG;

	memcpy(&w, o->data, sizeof(w));
	return ipoib_lladdr_decode(ret, w.lladdr, sizeof(w.lladdr));
}

void nd_opt_lladdr_encode(void *p, uint8_t type, const struct ipoib_lladdr *a)
{
	struct lladdr_opt_wire w = { .type = type, .length = sizeof(w) / 8 };

	ipoib_lladdr_encode(w.lladdr, a);
	memcpy(p, &w, sizeof(w));
}

int nd_opt_link_info_decode(struct nd_port *ret, const struct nd_opt *o)
{
	struct link_info_wire w;
	uint32_t word;

	if ((o->len != sizeof(w) && o->len != sizeof(w) + 8) ||
	    (o->type != ND_OPT_SLLA && o->type != ND_OPT_TLLA))
		return -EBADMSG;

	memcpy(&w, o->data, sizeof(w));
	word = be32_get(w.flags_qpn);
	*ret = (struct nd_port){
		.lladdr = { .flags = (uint8_t)(word >> 24),
			    .qpn = word & IB_QPN_MASK,
			    .gid = w.gid },
		.lid = be16_get(w.lid),
		.has_qkey = true,
		.qkey = be32_get(w.qkey),
	};
	return 0;
}

void nd_opt_link_info_encode(void *p, uint8_t type, const struct nd_port *a)
{
	struct link_info_wire w = {
		.type = type,
		.length = sizeof(w) / 8,
		.lid = be16_of(a->lid),
		.flags_qpn = be32_of(a->lladdr.qpn & IB_QPN_MASK),
		.qkey = be32_of(a->qkey),
		.gid = a->lladdr.gid,
	};

	memcpy(p, &w, sizeof(w));
}
