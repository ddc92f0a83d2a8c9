/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_IB_H
#define WIRE_IB_H

/* GIDs, and constants that all layers use (IBTA volume 1 ch. 3, 4, 10) */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util/be.h"

/* A GID or MGID in wire order. */
typedef struct {
	uint8_t raw[16];
} ib_gid;
static_assert(sizeof(ib_gid) == 16, "IBTA 4.1.1");

#define IB_LID_PERMISSIVE 0xffffu
#define IB_LID_MCAST_MIN 0xc000u
#define IB_LID_MCAST_MAX 0xfffeu
#define IB_QPN_MASK 0xffffffu
#define IB_QPN_MCAST 0xffffffu
#define IB_QP0 0u
#define IB_QP1 1u
#define IB_QP1_QKEY 0x80010000u
#define IB_QKEY_CONTROLLED 0x80000000u
#define IB_PKEY_FULL 0x8000u
#define IB_PKEY_DEFAULT 0xffffu
#define IB_SUBNET_PREFIX_DEFAULT 0xfe80000000000000ull
#define IB_VL15 15
#define IB_MAX_HOPS 63 /* largest number of hops of a directed route */

/* MTU codes (PortInfo, PathRecord, MCMemberRecord). */
enum ib_mtu_code {
	IB_MTU_256 = 1,
	IB_MTU_512 = 2,
	IB_MTU_1024 = 3,
	IB_MTU_2048 = 4,
	IB_MTU_4096 = 5,
};

/* ib_mtu_octets() - Return the MTU that has this code, in octets; 0 if the code is reserved */
static inline unsigned int ib_mtu_octets(unsigned int mtu_code)
{
	return mtu_code >= IB_MTU_256 && mtu_code <= IB_MTU_4096 ? 128u << mtu_code : 0;
}

/* ib_rate_mbps() - Return the rate that has this code, in Mb/s (2 = 2500, 3 = 10000, ...); 0 if unknown */
unsigned int ib_rate_mbps(unsigned int rate_code);

/*
 * ib_rate_code() - Return the rate code of a link; 0 if there is no such rate. The width code is 1
 * (1x), 2 (4x), 4 (8x), 8 (12x) or 16 (2x). The speed code is @ext (1 FDR, 2 EDR, 4 HDR, 8 NDR), or
 * @speed (1 SDR, 2 DDR, 4 QDR) if @ext is 0
 */
unsigned int ib_rate_code(unsigned int width, unsigned int speed, unsigned int ext);

/* PortInfo:PortState and PortPhysicalState */
enum ib_port_state {
	IB_PORT_NOP = 0,
	IB_PORT_DOWN = 1,
	IB_PORT_INIT = 2,
	IB_PORT_ARMED = 3,
	IB_PORT_ACTIVE = 4,
};

enum ib_phys_state {
	IB_PHYS_NOP = 0,
	IB_PHYS_SLEEP = 1,
	IB_PHYS_POLLING = 2,
	IB_PHYS_DISABLED = 3,
	IB_PHYS_TRAINING = 4,
	IB_PHYS_LINK_UP = 5,
};

enum ib_node_type {
	IB_NODE_CA = 1,
	IB_NODE_SWITCH = 2,
	IB_NODE_ROUTER = 3,
};

static inline bool ib_lid_is_unicast(unsigned int lid)
{
	return lid > 0 && lid < IB_LID_MCAST_MIN;
}

static inline bool ib_lid_is_mcast(unsigned int lid)
{
	return lid >= IB_LID_MCAST_MIN && lid <= IB_LID_MCAST_MAX;
}

/*
 * ib_pkey_match() - Tell whether two P_Keys match: their low 15 bits are equal and not zero, and
 * bit 15 is set in at least one of them (10.9.3)
 */
static inline bool ib_pkey_match(uint16_t a, uint16_t b)
{
	return ((a ^ b) & 0x7fff) == 0 && (a & 0x7fff) != 0 && ((a | b) & IB_PKEY_FULL);
}

static inline ib_gid ib_gid_of(uint64_t prefix, uint64_t guid)
{
	ib_gid g;

	be64_put(g.raw, prefix);
	be64_put(g.raw + 8, guid);
	return g;
}

static inline uint64_t ib_gid_prefix(const ib_gid *g)
{
	return be64_at(g->raw);
}

static inline uint64_t ib_gid_guid(const ib_gid *g)
{
	return be64_at(g->raw + 8);
}

static inline bool ib_gid_equal(const ib_gid *a, const ib_gid *b)
{
	return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

static inline bool ib_gid_is_mcast(const ib_gid *g)
{
	return g->raw[0] == 0xff;
}

static inline bool ib_gid_is_zero(const ib_gid *g)
{
	return be64_at(g->raw) == 0 && be64_at(g->raw + 8) == 0;
}

#endif
