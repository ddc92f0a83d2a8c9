/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_NOTICE_H
#define WIRE_NOTICE_H

/*
 * The DataDetails of the generic traps that report a port or a packet (IBTA 14.2.5.1). The decoders
 * read the details of a notice whose trap number the caller has checked. The encoders write the
 * details; the caller must have set .trap of @n.
 */

#include "wire/ib.h"
#include "wire/mad.h"

/*
 * Return the port whose errors are the reason of a trap 129, 130 or 131. mad_notice_get_lid()
 * returns LIDADDR.
 */
uint8_t notice_get_port(const struct mad_notice *n);

/* OtherLocalChanges of trap 144: what has changed besides the capability mask */
#define NOTICE_CHANGED_NODE_DESC (1u << 0)
#define NOTICE_CHANGED_WIDTH (1u << 1) /* LinkWidthEnabled */
#define NOTICE_CHANGED_SPEED (1u << 2) /* LinkSpeedEnabled */
#define NOTICE_CHANGED_SM_PRIORITY (1u << 3)

/* Trap 144: the state of a port after a change */
struct notice_change {
	uint32_t cap_mask; /* PortInfo:CapabilityMask */
	uint16_t others; /* NOTICE_CHANGED_...; 0 if the notice does not report other changes */
};
void notice_change_decode(struct notice_change *ret, const struct mad_notice *n);

uint64_t notice_get_sys_guid(const struct mad_notice *n); /* trap 145: the new SystemImageGUID */

/* Trap 256: an SMP that had a wrong M_Key */
#define NOTICE_PATH_MAX 30
struct notice_mkey {
	uint16_t dr_slid; /* DrSLID of a directed-route SMP */
	uint8_t method;
	uint16_t attr;
	uint32_t mod;
	uint64_t mkey; /* the wrong M_Key */
	bool directed; /* the SMP had a directed route */
	bool truncated; /* the route was longer than .path, which has the beginning of the route */
	uint8_t hops; /* number of valid entries of .path */
	/* return path from entry 1 on: the port by which the SMP arrived at each node; the reporting node comes last */
	uint8_t path[NOTICE_PATH_MAX];
};
void notice_mkey_decode(struct notice_mkey *ret, const struct mad_notice *n);
void notice_mkey_encode(struct mad_notice *n, const struct notice_mkey *k);

/* Traps 257 to 259: a packet that had a wrong P_Key or Q_Key */
struct notice_violation {
	uint16_t slid, dlid; /* 0: unknown */
	uint8_t sl;
	uint32_t src_qp, dest_qp; /* 0: unknown; never QP0, whose packets are not checked */
	uint32_t key; /* the P_Key or Q_Key that was wrong; 0 can mean that the key is unknown */
	bool has_gids;
	ib_gid sgid, dgid;
	/* trap 259 only: the switch and its port that discarded the packet */
	uint16_t switch_lid;
	uint8_t port;
};
void notice_violation_decode(struct notice_violation *ret, const struct mad_notice *n);
void notice_violation_encode(struct mad_notice *n, const struct notice_violation *v);

#endif
