/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_RECORDS_H
#define WIRE_RECORDS_H

/* Records of the SA and their component masks (IBTA volume 1, 15.2.5) */

#include "wire/sa.h"
#include "wire/smp.h"

enum sa_selector {
	SA_SEL_GT = 0,
	SA_SEL_LT = 1,
	SA_SEL_EXACT = 2,
	SA_SEL_LARGEST = 3,
};

/* PathRecord: 64 octets */
#define PATH_REC_LEN 64
#define PATH_COMP_SERVICE_ID (3ull << 0)
#define PATH_COMP_DGID (1ull << 2)
#define PATH_COMP_SGID (1ull << 3)
#define PATH_COMP_DLID (1ull << 4)
#define PATH_COMP_SLID (1ull << 5)
#define PATH_COMP_RAW (1ull << 6)
#define PATH_COMP_FLOW_LABEL (1ull << 8)
#define PATH_COMP_HOP_LIMIT (1ull << 9)
#define PATH_COMP_TCLASS (1ull << 10)
#define PATH_COMP_REVERSIBLE (1ull << 11)
#define PATH_COMP_NUMB_PATH (1ull << 12)
#define PATH_COMP_PKEY (1ull << 13)
#define PATH_COMP_QOS_CLASS (1ull << 14)
#define PATH_COMP_SL (1ull << 15)
#define PATH_COMP_MTU_SEL (1ull << 16)
#define PATH_COMP_MTU (1ull << 17)
#define PATH_COMP_RATE_SEL (1ull << 18)
#define PATH_COMP_RATE (1ull << 19)
#define PATH_COMP_LIFE_SEL (1ull << 20)
#define PATH_COMP_LIFE (1ull << 21)
#define PATH_COMP_PREFERENCE (1ull << 22)

struct ib_path_rec {
	uint64_t service_id;
	ib_gid dgid, sgid;
	uint16_t dlid, slid;
	bool raw;
	uint32_t flow_label;
	uint8_t hop_limit, tclass;
	bool reversible;
	uint8_t numb_path; /* 7 bits */
	uint16_t pkey, qos_class; /* .qos_class: 12 bits */
	uint8_t sl;
	uint8_t mtu_sel, mtu_code, rate_sel, rate_code, life_sel, life;
	uint8_t preference;
};
int ib_path_rec_decode(struct ib_path_rec *ret, const void *p, size_t len);
void ib_path_rec_encode(void *p, const struct ib_path_rec *r);

/* MCMemberRecord has 52 octets. In a table each record takes 56 octets (AttributeOffset 7) */
#define MCMEMBER_REC_LEN 52
#define MCM_COMP_MGID (1ull << 0)
#define MCM_COMP_PORT_GID (1ull << 1)
#define MCM_COMP_QKEY (1ull << 2)
#define MCM_COMP_MLID (1ull << 3)
#define MCM_COMP_MTU_SEL (1ull << 4)
#define MCM_COMP_MTU (1ull << 5)
#define MCM_COMP_TCLASS (1ull << 6)
#define MCM_COMP_PKEY (1ull << 7)
#define MCM_COMP_RATE_SEL (1ull << 8)
#define MCM_COMP_RATE (1ull << 9)
#define MCM_COMP_LIFE_SEL (1ull << 10)
#define MCM_COMP_LIFE (1ull << 11)
#define MCM_COMP_SL (1ull << 12)
#define MCM_COMP_FLOW_LABEL (1ull << 13)
#define MCM_COMP_HOP_LIMIT (1ull << 14)
#define MCM_COMP_SCOPE (1ull << 15)
#define MCM_COMP_JOIN_STATE (1ull << 16)
#define MCM_COMP_PROXY_JOIN (1ull << 17)

#define MCM_JOIN_FULL 1
#define MCM_JOIN_NON 2
#define MCM_JOIN_SEND_ONLY_NON 4
#define MCM_JOIN_SEND_ONLY_FULL 8

struct ib_mcmember_rec {
	ib_gid mgid, port_gid;
	uint32_t qkey;
	uint16_t mlid;
	uint8_t mtu_sel, mtu_code, tclass;
	uint16_t pkey;
	uint8_t rate_sel, rate_code, life_sel, life;
	uint8_t sl;
	uint32_t flow_label;
	uint8_t hop_limit;
	uint8_t scope, join_state;
	bool proxy_join;
};
int ib_mcmember_rec_decode(struct ib_mcmember_rec *ret, const void *p, size_t len);
void ib_mcmember_rec_encode(void *p, const struct ib_mcmember_rec *r);

/* NodeRecord: LID, reserved, NodeInfo, NodeDescription: 108 octets */
#define NODE_REC_LEN 108
#define NODE_COMP_LID (1ull << 0)
#define NODE_COMP_NODE_TYPE (1ull << 4)
#define NODE_COMP_SYS_GUID (1ull << 6)
#define NODE_COMP_NODE_GUID (1ull << 7)
#define NODE_COMP_PORT_GUID (1ull << 8)
#define NODE_COMP_NODE_DESC (1ull << 14)
struct ib_node_rec {
	uint16_t lid;
	struct smp_node_info info;
	char desc[65]; /* NUL-terminated */
};
int ib_node_rec_decode(struct ib_node_rec *ret, const void *p, size_t len);
void ib_node_rec_encode(void *p, const struct ib_node_rec *r);

/*
 * PortInfoRecord has EndPortLID, PortNum, options and PortInfo, 68 octets. SAs of IBTA releases
 * before 1.2.1 send only the first 58 octets; the missing fields are decoded as zero.
 */
#define PORT_INFO_REC_LEN 68
#define PORT_INFO_REC_MIN_LEN 58
#define PORT_INFO_COMP_LID (1ull << 0)
#define PORT_INFO_COMP_PORT_NUM (1ull << 1)
struct ib_port_info_rec {
	uint16_t lid;
	uint8_t port_num, options;
	struct smp_port_info info;
};
int ib_port_info_rec_decode(struct ib_port_info_rec *ret, const void *p, size_t len);
void ib_port_info_rec_encode(void *p, const struct ib_port_info_rec *r);

/* ServiceRecord: 176 octets */
#define SERVICE_REC_LEN 176
#define SERVICE_COMP_ID (1ull << 0)
#define SERVICE_COMP_GID (1ull << 1)
#define SERVICE_COMP_PKEY (1ull << 2)
#define SERVICE_COMP_LEASE (1ull << 4)
#define SERVICE_COMP_KEY (1ull << 5)
#define SERVICE_COMP_NAME (1ull << 6)
struct ib_service_rec {
	uint64_t id;
	ib_gid gid;
	uint16_t pkey;
	uint32_t lease; /* lease in seconds; 0xffffffff: indefinite */
	uint8_t key[16];
	char name[64]; /* ServiceName; a name of 64 octets has no NUL at the end */
	uint8_t data[64];
};
int ib_service_rec_decode(struct ib_service_rec *ret, const void *p, size_t len);
void ib_service_rec_encode(void *p, const struct ib_service_rec *r);

#endif
