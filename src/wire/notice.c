/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/notice.h"

#include <string.h>

/*
 * Offsets in DataDetails, IBTA 14.2.5.1. LIDADDR or LIDADDR1 is at offset 2 in all traps of this
 * file.
 */
#define D129_PORT 4

#define D144_OTHERS_VALID 5
#define D144_CAP_MASK 6
#define D144_OTHERS 10

#define D145_GUID 6

#define D256_DR_SLID 4
#define D256_METHOD 6
#define D256_ATTR 8
#define D256_MOD 10
#define D256_MKEY 14
#define D256_DR 23
#define D256_PATH 24
#define D256_IS_DR 0x80
#define D256_TRUNCATED 0x40
#define D256_HOPS 0x3f

#define D257_LID1 2
#define D257_LID2 4
#define D257_KEY 6
#define D257_QPS 10 /* SL and source QP, destination QP, and then both GIDs */
#define QPS_LEN 8

/* Trap 259 has a P_Key of 16 bits where traps 257 and 258 have a key of 32 bits. */
#define D259_VALID 0
#define D259_QPS 8
#define D259_SWITCH_LID 48
#define D259_PORT 50
#define VALID_LID1 0x0001u
#define VALID_LID2 0x0002u
#define VALID_PKEY 0x0004u
#define VALID_SL 0x0008u
#define VALID_QP1 0x0010u
#define VALID_QP2 0x0020u
#define VALID_GIDS 0x00c0u
#define VALID_REST 0x003fu

uint8_t notice_get_port(const struct mad_notice *n)
{
	return n->details[D129_PORT];
}

void notice_change_decode(struct notice_change *ret, const struct mad_notice *n)
{
	const uint8_t *d = n->details;

	*ret = (struct notice_change){
		.cap_mask = be32_at(d + D144_CAP_MASK),
		.others = d[D144_OTHERS_VALID] & 1 ? be16_at(d + D144_OTHERS) : 0,
	};
}

uint64_t notice_get_sys_guid(const struct mad_notice *n)
{
	return be64_at(n->details + D145_GUID);
}

void notice_mkey_decode(struct notice_mkey *ret, const struct mad_notice *n)
{
	const uint8_t *d = n->details;
	uint8_t hops = d[D256_DR] & D256_HOPS;

	*ret = (struct notice_mkey){
		.dr_slid = be16_at(d + D256_DR_SLID),
		.method = d[D256_METHOD],
		.attr = be16_at(d + D256_ATTR),
		.mod = be32_at(d + D256_MOD),
		.mkey = be64_at(d + D256_MKEY),
		.directed = d[D256_DR] & D256_IS_DR,
		.truncated = d[D256_DR] & D256_TRUNCATED || hops > NOTICE_PATH_MAX,
		.hops = hops < NOTICE_PATH_MAX ? hops : NOTICE_PATH_MAX,
	};
	memcpy(ret->path, d + D256_PATH, ret->hops);
}

void notice_mkey_encode(struct mad_notice *n, const struct notice_mkey *k)
{
	uint8_t *d = n->details;

	d[D256_METHOD] = k->method;
	be16_put(d + D256_ATTR, k->attr);
	be32_put(d + D256_MOD, k->mod);
	be64_put(d + D256_MKEY, k->mkey);
	if (!k->directed)
		return;
	be16_put(d + D256_DR_SLID, k->dr_slid);
	d[D256_DR] =
		(uint8_t)(D256_IS_DR | (k->truncated ? D256_TRUNCATED : 0) | (k->hops & D256_HOPS));
	memcpy(d + D256_PATH, k->path, k->hops);
}

static bool is_259(const struct mad_notice *n)
{
	return n->trap == MAD_TRAP_SWITCH_BAD_PKEY;
}

static size_t qps_off(const struct mad_notice *n)
{
	return is_259(n) ? D259_QPS : D257_QPS;
}

/*
 * Return the mask of the valid fields of a notice. A notice of trap 259 contains this mask. In a
 * notice of trap 257 or 258 all fields are valid, except GIDs that are both 0: the packet had no
 * GRH.
 */
static uint16_t valid_fields(const struct mad_notice *n, const struct notice_violation *v)
{
	static const ib_gid none;

	if (is_259(n))
		return be16_at(n->details + D259_VALID);
	return VALID_REST |
	       (ib_gid_equal(&v->sgid, &none) && ib_gid_equal(&v->dgid, &none) ? 0 : VALID_GIDS);
}

static void forget_invalid(struct notice_violation *v, uint16_t valid)
{
	v->has_gids = (valid & VALID_GIDS) == VALID_GIDS;
	if (!(valid & VALID_LID1))
		v->slid = 0;
	if (!(valid & VALID_LID2))
		v->dlid = 0;
	if (!(valid & VALID_PKEY))
		v->key = 0;
	if (!(valid & VALID_SL))
		v->sl = 0;
	if (!(valid & VALID_QP1))
		v->src_qp = 0;
	if (!(valid & VALID_QP2))
		v->dest_qp = 0;
	if (!v->has_gids)
		v->sgid = v->dgid = (ib_gid){ 0 };
}

void notice_violation_decode(struct notice_violation *ret, const struct mad_notice *n)
{
	const uint8_t *d = n->details, *qps = d + qps_off(n), *gids = qps + QPS_LEN;
	uint32_t sl_qp1 = be32_at(qps);

	*ret = (struct notice_violation){
		.slid = be16_at(d + D257_LID1),
		.dlid = be16_at(d + D257_LID2),
		.sl = (uint8_t)(sl_qp1 >> 28),
		.src_qp = sl_qp1 & IB_QPN_MASK,
		.dest_qp = be32_at(qps + 4) & IB_QPN_MASK,
		.key = is_259(n) ? be16_at(d + D257_KEY) : be32_at(d + D257_KEY),
	};
	memcpy(&ret->sgid, gids, sizeof(ret->sgid));
	memcpy(&ret->dgid, gids + sizeof(ret->sgid), sizeof(ret->dgid));
	if (is_259(n)) {
		ret->switch_lid = be16_at(d + D259_SWITCH_LID);
		ret->port = d[D259_PORT];
	}
	forget_invalid(ret, valid_fields(n, ret));
}

void notice_violation_encode(struct mad_notice *n, const struct notice_violation *v)
{
	uint8_t *d = n->details, *qps = d + qps_off(n), *gids = qps + QPS_LEN;

	be16_put(d + D257_LID1, v->slid);
	be16_put(d + D257_LID2, v->dlid);
	if (is_259(n)) {
		be16_put(d + D259_VALID, VALID_REST | (v->has_gids ? VALID_GIDS : 0));
		be16_put(d + D257_KEY, (uint16_t)v->key);
		be16_put(d + D259_SWITCH_LID, v->switch_lid);
		d[D259_PORT] = v->port;
	} else {
		be32_put(d + D257_KEY, v->key);
	}
	be32_put(qps, (uint32_t)(v->sl & 0xf) << 28 | (v->src_qp & IB_QPN_MASK));
	be32_put(qps + 4, v->dest_qp & IB_QPN_MASK);
	if (v->has_gids) {
		memcpy(gids, v->sgid.raw, sizeof(v->sgid.raw));
		memcpy(gids + sizeof(v->sgid.raw), v->dgid.raw, sizeof(v->dgid.raw));
	}
}
