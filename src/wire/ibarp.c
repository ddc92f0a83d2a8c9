/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/ibarp.h"

#include <errno.h>

#include "wire/arp.h"

/*
 * The address of a port as draft-pelissier-ipoib-encaparp-00 draws it in §5 and §6.3: 36 octets, or
 * 32 octets without the word .again
 */
struct hw_wire {
	be64 eui64;
	be32 qpn; /* 8 reserved bits, then the 24-bit QPN */
	be32 qkey;
	be32 again; /* bits 127-96 of the GID, which are also the first word of .gid */
	ib_gid gid;
};
static_assert(sizeof(struct hw_wire) == IBARP_HW_LEN, "§6.3 of the draft");

#define HW_LEN_SINGLE (IBARP_HW_LEN - 4)

struct fixed_wire {
	be16 hrd, pro;
	uint8_t hln, pln;
	be16 op;
};
static_assert(sizeof(struct fixed_wire) == IBARP_LOOK, "§6.3 of the draft");

struct opt_wire {
	uint8_t type;
	uint8_t length; /* length of the option in units of 8 octets, here 5 */
	be16 zero;
	struct hw_wire hw;
};
static_assert(sizeof(struct opt_wire) == ND_OPT_IBARP, "§5 of the draft");

#define PRO_IPV4 0x0800
#define HLEN 32 /* the value that §6.4 gives, which does not count the word .again */

static struct nd_port hw_decode(const uint8_t *p, bool single)
{
	struct hw_wire w;

	memcpy(&w, p, HW_LEN_SINGLE);
	memcpy(&w.gid, p + offsetof(struct hw_wire, gid) - (single ? 4 : 0), sizeof(w.gid));
	return (struct nd_port){
		.lladdr = { .qpn = be32_get(w.qpn) & IB_QPN_MASK, .gid = w.gid },
		.has_qkey = true,
		.qkey = be32_get(w.qkey),
		.eui64 = be64_get(w.eui64),
	};
}

static void hw_encode(struct hw_wire *ret, const struct nd_port *a)
{
	*ret = (struct hw_wire){
		.eui64 = be64_of(a->eui64),
		.qpn = be32_of(a->lladdr.qpn & IB_QPN_MASK),
		.qkey = be32_of(a->qkey),
		.gid = a->lladdr.gid,
	};
	memcpy(&ret->again, &a->lladdr.gid, sizeof(ret->again));
}

static bool eui_fits(const struct nd_port *a)
{
	return a->eui64 == ib_gid_guid(&a->lladdr.gid);
}

/* Tell whether the address at @p lacks .again. The caller must have IBARP_HW_LEN octets at @p. */
static bool is_single(const uint8_t *p)
{
	struct nd_port drawn = hw_decode(p, false), single = hw_decode(p, true);

	return eui_fits(&single) && !eui_fits(&drawn);
}

bool ibarp_is(const uint8_t *p, size_t len)
{
	struct fixed_wire w;

	if (len < sizeof(w) || p[0] >> 4 == 4)
		return false;
	memcpy(&w, p, sizeof(w));
	return be16_get(w.hrd) == ARP_HRD_INFINIBAND && w.pln == 4;
}

static bool fixed_ok(const struct fixed_wire *w)
{
	uint16_t op = be16_get(w->op);

	return be16_get(w->hrd) == ARP_HRD_INFINIBAND && be16_get(w->pro) == PRO_IPV4 &&
	       w->pln == 4 && (w->hln == HLEN || w->hln == IBARP_HW_LEN) &&
	       (op == ARP_OP_REQUEST || op == ARP_OP_REPLY);
}

int ibarp_decode(struct ibarp_pkt *ret, const void *p, size_t len)
{
	const uint8_t *o = p;
	struct ibarp_pkt a;
	struct fixed_wire w;
	size_t hw = HW_LEN_SINGLE;

	if (len < sizeof(w))
		return -EBADMSG;
	memcpy(&w, o, sizeof(w));
	if (!fixed_ok(&w))
		return -EPROTO;
	if (len < (w.hln == HLEN ? IBARP_LEN_SINGLE : IBARP_LEN))
		return -EBADMSG;
	o += sizeof(w);
	if (len >= IBARP_LEN && (w.hln != HLEN || !is_single(o)))
		hw = IBARP_HW_LEN;
	a.op = be16_get(w.op);
	a.sender = hw_decode(o, hw == HW_LEN_SINGLE);
	memcpy(a.spa, o + hw, sizeof(a.spa));
	o += hw + sizeof(a.spa);
	a.target = hw_decode(o, hw == HW_LEN_SINGLE);
	memcpy(a.tpa, o + hw, sizeof(a.tpa));
	*ret = a;
	return 0;
}

void ibarp_encode(void *p, const struct ibarp_pkt *a)
{
	struct {
		struct fixed_wire fixed;
		struct hw_wire sha;
		uint8_t spa[4];
		struct hw_wire tha;
		uint8_t tpa[4];
	} w = {
		.fixed = { .hrd = be16_of(ARP_HRD_INFINIBAND),
			   .pro = be16_of(PRO_IPV4),
			   .hln = HLEN,
			   .pln = 4,
			   .op = be16_of(a->op) },
	};

	static_assert(sizeof(w) == IBARP_LEN, "§6.3 of the draft");
	hw_encode(&w.sha, &a->sender);
	memcpy(w.spa, a->spa, sizeof(w.spa));
	hw_encode(&w.tha, &a->target);
	memcpy(w.tpa, a->tpa, sizeof(w.tpa));
	memcpy(p, &w, sizeof(w));
}

int nd_opt_ibarp_decode(struct nd_port *ret, const struct nd_opt *o)
{
	const uint8_t *hw = o->data + offsetof(struct opt_wire, hw);

	if (o->len != sizeof(struct opt_wire) || (o->type != ND_OPT_SLLA && o->type != ND_OPT_TLLA))
		return -EBADMSG;
	*ret = hw_decode(hw, is_single(hw));
	return 0;
}

void nd_opt_ibarp_encode(void *p, uint8_t type, const struct nd_port *a)
{
	struct opt_wire w = { .type = type, .length = sizeof(w) / 8 };

	hw_encode(&w.hw, a);
	memcpy(p, &w, sizeof(w));
}
