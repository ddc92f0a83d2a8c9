/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_MAD_H
#define WIRE_MAD_H

/* The common MAD header, and attributes that all classes have (IBTA volume 1, 13.4) */

#include <stddef.h>

#include "wire/ib.h"

#define MAD_LEN 256
#define MAD_HDR_LEN 24
#define MAD_BASE_VERSION 1

enum mad_class {
	MAD_CLASS_SM_LID = 0x01,
	MAD_CLASS_SA = 0x03,
	MAD_CLASS_PERF = 0x04,
	MAD_CLASS_BM = 0x05,
	MAD_CLASS_DEVICE = 0x06,
	MAD_CLASS_CM = 0x07,
	MAD_CLASS_SNMP = 0x08,
	MAD_CLASS_DEVICE_ADM = 0x10,
	MAD_CLASS_BIS = 0x12, /* boot information service */
	/* first of the vendor classes that have an RMPP header and an OUI */
	MAD_CLASS_VENDOR2_MIN = 0x30,
	MAD_CLASS_OPENIB_PING = 0x32, /* ibping, OUI 0x001405 */
	MAD_CLASS_VENDOR2_MAX = 0x4f,
	MAD_CLASS_SM_DR = 0x81,
};

enum mad_method {
	MAD_METHOD_GET = 0x01,
	MAD_METHOD_SET = 0x02,
	MAD_METHOD_SEND = 0x03,
	MAD_METHOD_TRAP = 0x05,
	MAD_METHOD_REPORT = 0x06,
	MAD_METHOD_TRAP_REPRESS = 0x07,
	MAD_METHOD_GET_TABLE = 0x12, /* SA */
	MAD_METHOD_GET_TRACE_TABLE = 0x13,
	MAD_METHOD_GET_MULTI = 0x14,
	MAD_METHOD_DELETE = 0x15,
	MAD_METHOD_RESP = 0x80, /* response bit */
	MAD_METHOD_GET_RESP = 0x81,
	MAD_METHOD_REPORT_RESP = 0x86,
	MAD_METHOD_GET_TABLE_RESP = 0x92,
	MAD_METHOD_GET_MULTI_RESP = 0x94,
	MAD_METHOD_DELETE_RESP = 0x95,
};

/* Common status values (13.4.7); the meaning of the high octet of a status depends on the class */
#define MAD_STATUS_BUSY 0x0001
#define MAD_STATUS_REDIRECT 0x0002
#define MAD_STATUS_BAD_VERSION 0x0004
#define MAD_STATUS_BAD_METHOD 0x0008
#define MAD_STATUS_BAD_ATTR 0x000c /* the class does not support this method with this attribute */
#define MAD_STATUS_BAD_VALUE 0x001c
#define MAD_STATUS_DR_D 0x8000 /* D bit of a directed-route SMP: the SMP is returning */

#define MAD_ATTR_CLASS_PORT_INFO 0x0001
#define MAD_ATTR_NOTICE 0x0002
#define MAD_ATTR_INFORM_INFO 0x0003

struct mad_hdr {
	uint8_t base_version, mgmt_class, class_version, method;
	uint16_t status; /* MAD status; in a directed-route SMP bit 15 is the D bit */
	uint16_t class_specific; /* in a directed-route SMP: HopPointer << 8 | HopCount */
	uint64_t tid;
	uint16_t attr_id;
	uint32_t attr_mod;
};

/* mad_hdr_decode() - Decode the common header. Return: 0; -EBADMSG: @len < 24 */
int mad_hdr_decode(struct mad_hdr *ret, const void *p, size_t len);
void mad_hdr_encode(void *p, const struct mad_hdr *h);

static inline bool mad_method_is_response(uint8_t method)
{
	return (method & MAD_METHOD_RESP) || method == MAD_METHOD_TRAP_REPRESS;
}

static inline bool mad_class_is_smp(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SM_LID || mgmt_class == MAD_CLASS_SM_DR;
}

/* Offsets in the MAD header (13.4.3), for code that reads or changes one field in place */
#define MAD_OFF_CLASS 1
#define MAD_OFF_METHOD 3
#define MAD_OFF_STATUS 4
#define MAD_OFF_TID 8

static inline uint8_t mad_class(const void *mad)
{
	return ((const uint8_t *)mad)[MAD_OFF_CLASS];
}

static inline uint8_t mad_method(const void *mad)
{
	return ((const uint8_t *)mad)[MAD_OFF_METHOD];
}

static inline uint16_t mad_status(const void *mad)
{
	return be16_at((const uint8_t *)mad + MAD_OFF_STATUS);
}

static inline uint64_t mad_tid(const void *mad)
{
	return be64_at((const uint8_t *)mad + MAD_OFF_TID);
}

static inline uint16_t mad_attr(const void *mad)
{
	return be16_at((const uint8_t *)mad + 16);
}

static inline uint32_t mad_attr_mod(const void *mad)
{
	return be32_at((const uint8_t *)mad + 20);
}

/* ClassPortInfo, 13.4.8.1: 72 octets */
#define MAD_CLASS_PORT_INFO_LEN 72
struct mad_class_port_info {
	uint8_t base_version, class_version;
	uint16_t cap_mask;
	uint32_t cap_mask2; /* 27 bits */
	uint8_t resp_time; /* 5 bits: 4.096 us x 2^n */
	ib_gid redirect_gid;
	uint8_t redirect_tclass, redirect_sl;
	uint32_t redirect_flow_label;
	uint16_t redirect_lid, redirect_pkey;
	uint32_t redirect_qp, redirect_qkey;
	ib_gid trap_gid;
	uint8_t trap_tclass, trap_sl;
	uint32_t trap_flow_label;
	uint16_t trap_lid, trap_pkey;
	uint8_t trap_hop_limit;
	uint32_t trap_qp, trap_qkey;
};

int mad_class_port_info_decode(struct mad_class_port_info *ret, const void *p, size_t len);
void mad_class_port_info_encode(void *p, const struct mad_class_port_info *c);

/* Notice (13.4.8.2) has 64 octets; in a Report of an SA 16 octets of IssuerGID follow */
#define MAD_NOTICE_LEN 64
#define MAD_NOTICE_GID_LEN 80
enum mad_trap {
	MAD_TRAP_GID_IN_SERVICE = 64,
	MAD_TRAP_GID_OUT_OF_SERVICE = 65,
	MAD_TRAP_MC_CREATED = 66,
	MAD_TRAP_MC_DELETED = 67,
	MAD_TRAP_LINK_STATE = 128,
	MAD_TRAP_LINK_INTEGRITY = 129,
	MAD_TRAP_BUFFER_OVERRUN = 130,
	MAD_TRAP_FLOW_WATCHDOG = 131,
	MAD_TRAP_CAP_CHANGE = 144,
	MAD_TRAP_SYSGUID_CHANGE = 145,
	MAD_TRAP_BAD_MKEY = 256,
	MAD_TRAP_BAD_PKEY = 257,
	MAD_TRAP_BAD_QKEY = 258,
	MAD_TRAP_SWITCH_BAD_PKEY = 259,
};
#define MAD_NOTICE_TYPE_FATAL 0
#define MAD_NOTICE_TYPE_URGENT 1
#define MAD_NOTICE_TYPE_SECURITY 2
#define MAD_NOTICE_TYPE_SM 3
#define MAD_NOTICE_TYPE_INFO 4

struct mad_notice {
	bool generic;
	uint8_t type; /* 7 bits */
	/*
	 * ProducerType of a generic notice, which is the node type; VendorID of other notices; 24
	 * bits
	 */
	uint32_t producer;
	uint16_t trap; /* trap number of a generic notice; DeviceID of other notices */
	uint16_t issuer_lid;
	bool toggle;
	uint16_t count; /* 15 bits */
	uint8_t details[54];
	ib_gid issuer_gid; /* IssuerGID in a Report of an SA; zero if absent */
};

/*
 * mad_notice_decode() - Decode a Notice. Return: 0; -EBADMSG: @len is neither 64 nor at least 80.
 * With 64 octets, .issuer_gid becomes zero
 */
int mad_notice_decode(struct mad_notice *ret, const void *p, size_t len);
/* mad_notice_encode() - Write a Notice with IssuerGID, 80 octets */
void mad_notice_encode(void *p, const struct mad_notice *n);

/* Fields in the DataDetails of generic traps (13.4.8.2, 14.2.5.1, 15.2.4) */
void mad_notice_gid(struct mad_notice *n, const ib_gid *gid); /* traps 64-67: octets 6..21 */
ib_gid mad_notice_get_gid(const struct mad_notice *n);
/*
 * mad_notice_lid() - Set LIDADDR, which is in octets 0..1 of trap 128, and in octets 2..3 of traps 129-131, 144, 145
 * and 256-259 (there called LIDADDR1). The caller must have set @n->trap
 */
void mad_notice_lid(struct mad_notice *n, uint16_t lid);
uint16_t mad_notice_get_lid(const struct mad_notice *n);
void mad_notice_cap_mask(struct mad_notice *n, uint32_t cap_mask); /* trap 144: octets 6..9 */

/* InformInfo, 13.4.8.3: 36 octets */
#define MAD_INFORM_INFO_LEN 36
#define MAD_INFORM_SUBSCRIBE_OFF 23 /* offset of Subscribe, which is 0 or 1 */
struct mad_inform_info {
	/* GID of the source of the traps; zero: .lid_begin and .lid_end select the sources */
	ib_gid gid;
	uint16_t lid_begin, lid_end; /* LIDs of the sources; lid_begin 0xffff: all */
	bool generic;
	bool subscribe;
	uint16_t type; /* notice type; 0xffff: all */
	uint16_t trap; /* trap number; 0xffff: all */
	uint32_t qpn; /* 24 bits */
	uint8_t resp_time; /* 5 bits */
	uint32_t producer; /* node type, 24 bits; 0xffffff: all */
};

int mad_inform_info_decode(struct mad_inform_info *ret, const void *p, size_t len);
void mad_inform_info_encode(void *p, const struct mad_inform_info *i);

#endif
