/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/ipoib_hdr.h"

#include <errno.h>

/* Link-layer address in ARP and ND messages, RFC 4391 §9.1.1. */
struct lladdr_wire {
	be32 flags_qpn; /* 8 reserved bits, then the 24-bit QPN */
	ib_gid gid;
};
static_assert(sizeof(struct lladdr_wire) == IPOIB_ALEN, "RFC 4391 §9.1.1");

int ipoib_hdr_decode(const void *p, size_t len)
{
	struct ipoib_hdr w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	return be16_get(w.type);
}

void ipoib_hdr_encode(void *p, uint16_t type)
{
	struct ipoib_hdr w = { .type = be16_of(type) };

	memcpy(p, &w, sizeof(w));
}

bool ipoib_type_valid(uint16_t type)
{
	return type == ETH_P_IPV4 || type == ETH_P_ARP4 || type == ETH_P_RARP4 ||
	       type == ETH_P_IPV6_;
}

int ipoib_lladdr_decode(struct ipoib_lladdr *ret, const void *p, size_t len)
{
	struct lladdr_wire w;
	uint32_t word;

	if (len != sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	word = be32_get(w.flags_qpn);
	ret->flags = (uint8_t)(word >> 24);
	ret->qpn = word & IB_QPN_MASK;
	ret->gid = w.gid;
	return 0;
}

void ipoib_lladdr_encode(void *p, const struct ipoib_lladdr *a)
{
	struct lladdr_wire w = {
		.flags_qpn = be32_of(a->qpn & IB_QPN_MASK),
		.gid = a->gid,
	};

	memcpy(p, &w, sizeof(w));
}
