/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_CM_SIDR_H
#define WIRE_CM_SIDR_H

/*
 * Service ID Resolution (IBTA volume 1, 12.11): the messages SIDR_REQ and SIDR_REP of communication
 * management. For IBARP, the draft "IP and ARP over InfiniBand Architecture"
 * (draft-pelissier-ipoib-encaparp-00, 6.2) defines the private data of a SIDR_REP.
 *
 * Both messages are MADs of class 0x07 with the method Send. A SIDR_REP belongs to the SIDR_REQ with the
 * same RequestID.
 */

#include "wire/records.h"

#define CM_CLASS_VERSION 2

enum cm_attr {
	CM_ATTR_REQ = 0x0010,
	CM_ATTR_MRA = 0x0011,
	CM_ATTR_REJ = 0x0012,
	CM_ATTR_REP = 0x0013,
	CM_ATTR_RTU = 0x0014,
	CM_ATTR_DREQ = 0x0015,
	CM_ATTR_DREP = 0x0016,
	CM_ATTR_SIDR_REQ = 0x0017,
	CM_ATTR_SIDR_REP = 0x0018,
	CM_ATTR_LAP = 0x0019,
	CM_ATTR_APR = 0x001a,
};

enum sidr_status {
	SIDR_STATUS_OK = 0, /* QPN and Q_Key are valid */
	SIDR_STATUS_NO_SERVICE = 1, /* ServiceID not supported */
	SIDR_STATUS_REJECTED = 2, /* rejected by the service provider */
	SIDR_STATUS_NO_QP = 3,
	/*
	 * redirect: .info of struct sidr_rep is the ClassPortInfo of another port, which
	 * has the service
	 */
	SIDR_STATUS_REDIRECT = 4,
	SIDR_STATUS_VERSION = 5, /* class version not supported */
};

/*
 * The ServiceID of IBARP if the configuration sets none. draft-pelissier-ipoib-encaparp-00 assigns
 * no ServiceID. The first octet 0x02 marks the ServiceIDs that each host may assign by itself (IBTA
 * A3.2.3); the last five octets are "IBARP".
 */
#define SIDR_SERVICE_ID_DEFAULT 0x0200004942415250ull

#define SIDR_SERVICE_NAME "IBARP" /* ServiceName in the ServiceRecords of IBARP */

#define SIDR_REQ_PRIVATE_LEN 216
#define SIDR_REP_PRIVATE_LEN 136
#define SIDR_REP_INFO_LEN 72

struct sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
	uint8_t priv[SIDR_REQ_PRIVATE_LEN];
};

struct sidr_rep {
	uint32_t request_id;
	uint8_t status; /* enum sidr_status */
	/* octets of .info that are valid according to the message; may exceed SIDR_REP_INFO_LEN */
	uint8_t info_len;
	uint32_t qpn; /* 24 bits */
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[SIDR_REP_INFO_LEN];
	uint8_t priv[SIDR_REP_PRIVATE_LEN];
};

/*
 * Both functions decode a MAD from its first octet on. Return: 0; -EBADMSG: @len is less than 256
 */
int sidr_req_decode(struct sidr_req *ret, const void *mad, size_t len);
int sidr_rep_decode(struct sidr_rep *ret, const void *mad, size_t len);
/* Both functions write a whole MAD of 256 octets, with its header. */
void sidr_req_encode(void *mad, uint64_t tid, const struct sidr_req *r);
void sidr_rep_encode(void *mad, uint64_t tid, const struct sidr_rep *r);

/*
 * Private data of a SIDR_REP for IBARP (draft-pelissier-ipoib-encaparp-00, 6.2): the multicast
 * group to which IBARP requests are sent. The draft shows 32 octets of fields and 180 reserved
 * octets, but a SIDR_REP has room for 136, so only 104 reserved octets follow the fields.
 */
#define SIDR_GROUP_LEN 32
#define SIDR_GROUP_VER 1
struct sidr_group {
	uint8_t ver; /* 4 bits; SHALL be 1 */
	uint8_t sl; /* 4 bits */
	uint8_t tclass, hop_limit;
	uint16_t dlid; /* MLID of the group */
	uint16_t pkey;
	uint32_t flow_label; /* 20 bits */
	uint32_t qkey;
	ib_gid dgid; /* MGID of the group */
};
int sidr_group_decode(struct sidr_group *ret, const void *p, size_t len);
void sidr_group_encode(void *p, const struct sidr_group *g);
/*
 * sidr_group_of() - Return the private data for the multicast group that has the MCMemberRecord
 * @rec
 */
struct sidr_group sidr_group_of(const struct ib_mcmember_rec *rec);

#endif
