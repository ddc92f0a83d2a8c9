/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/arp.h"

#include <errno.h>

struct arp_wire {
	be16 hrd, pro;
	uint8_t hln, pln;
	be16 op;
};
static_assert(sizeof(struct arp_wire) == 8, "RFC 826");

#define PRO_IPV4 0x0800
#define ALEN_ETHER 6
#define ALEN_INFINIBAND 20

/*
 * Return the length of the link-layer addresses of an ARP hardware type; 0 for a type that is not
 * supported.
 */
static unsigned int hrd_alen(uint16_t hrd)
{
	switch (hrd) {
	case ARP_HRD_ETHER:
		return ALEN_ETHER;
	case ARP_HRD_INFINIBAND:
		return ALEN_INFINIBAND;
	default:
		return 0;
	}
}

int arp_decode(struct arp_pkt *ret, const void *p, size_t len)
{
	const uint8_t *o = p;
	struct arp_pkt a = { 0 };
	struct arp_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, o, sizeof(w));
	o += sizeof(w);
	a.hrd = be16_get(w.hrd);
	a.pro = be16_get(w.pro);
	a.hln = w.hln;
	a.pln = w.pln;
	a.op = be16_get(w.op);
	if (!hrd_alen(a.hrd) || a.hln != hrd_alen(a.hrd) || a.pro != PRO_IPV4 || a.pln != 4)
		return -EPROTO;
	if (len < sizeof(w) + 2 * (a.hln + sizeof(a.spa)))
		return -EBADMSG;

	memcpy(a.sha, o, a.hln);
	o += a.hln;
	memcpy(a.spa, o, sizeof(a.spa));
	o += sizeof(a.spa);
	memcpy(a.tha, o, a.hln);
	o += a.hln;
	memcpy(a.tpa, o, sizeof(a.tpa));
	*ret = a;
	return 0;
}

size_t arp_encode(void *p, const struct arp_pkt *a)
{
	uint8_t *o = p;
	struct arp_wire w = {
		.hrd = be16_of(a->hrd),
		.pro = be16_of(a->pro),
		.hln = a->hln,
		.pln = a->pln,
		.op = be16_of(a->op),
	};

	assert(a->hln && a->hln == hrd_alen(a->hrd) && a->pln == sizeof(a->spa));
	memcpy(o, &w, sizeof(w));
	o += sizeof(w);
	memcpy(o, a->sha, a->hln);
	o += a->hln;
	memcpy(o, a->spa, sizeof(a->spa));
	o += sizeof(a->spa);
	memcpy(o, a->tha, a->hln);
	o += a->hln;
	memcpy(o, a->tpa, sizeof(a->tpa));
	return sizeof(w) + 2 * (a->hln + sizeof(a->spa));
}
