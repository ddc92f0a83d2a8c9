/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_SA_H
#define WIRE_SA_H

/* The SA MAD: common header, RMPP header, SA header, and 200 octets of data (IBTA 13.6, 15.2) */

#include "wire/mad.h"

#define SA_RMPP_OFF 24
#define SA_RMPP_LEN 12
#define SA_HDR_OFF 36
#define SA_HDR_LEN 20
#define SA_DATA_OFF 56
#define SA_DATA_LEN 200

enum sa_attr {
	SA_ATTR_CLASS_PORT_INFO = 0x0001,
	SA_ATTR_NOTICE = 0x0002,
	SA_ATTR_INFORM_INFO = 0x0003,
	SA_ATTR_NODE_RECORD = 0x0011,
	SA_ATTR_PORT_INFO_RECORD = 0x0012,
	SA_ATTR_SLTOVL_RECORD = 0x0013,
	SA_ATTR_SWITCH_INFO_RECORD = 0x0014,
	SA_ATTR_LFT_RECORD = 0x0015,
	SA_ATTR_RFT_RECORD = 0x0016,
	SA_ATTR_MFT_RECORD = 0x0017,
	SA_ATTR_SM_INFO_RECORD = 0x0018,
	SA_ATTR_LINK_RECORD = 0x0020,
	SA_ATTR_GUID_INFO_RECORD = 0x0030,
	SA_ATTR_SERVICE_RECORD = 0x0031,
	SA_ATTR_PKEY_TABLE_RECORD = 0x0033,
	SA_ATTR_PATH_RECORD = 0x0035,
	SA_ATTR_VLARB_RECORD = 0x0036,
	SA_ATTR_MCMEMBER_RECORD = 0x0038,
	SA_ATTR_MULTI_PATH_RECORD = 0x003a,
	SA_ATTR_INFORM_INFO_RECORD = 0x00f3,
};

/* SA class-specific status, 15.2.2 */
#define SA_STATUS_NO_RESOURCES 0x0100
#define SA_STATUS_REQ_INVALID 0x0200
#define SA_STATUS_NO_RECORDS 0x0300
#define SA_STATUS_TOO_MANY_RECORDS 0x0400
#define SA_STATUS_INVALID_GID 0x0500
#define SA_STATUS_INSUF_COMPONENTS 0x0600
#define SA_STATUS_DENIED 0x0700
#define SA_STATUS_PRIO_SUGGESTED 0x0800

/* ClassPortInfo of the SA: CapabilityMask (SA_CAP_...) and CapabilityMask2 (SA_CAP2_...) */
#define SA_CAP_UD_MCAST 0x0200 /* bit 9 */
#define SA_CAP_MULTIPATH 0x0400
#define SA_CAP_PORT_INFO_MATCH 0x2000 /* PortInfoRecord: queries can match bits of CapabilityMask */
#define SA_CAP2_MFT_TOP (1u << 3)
#define SA_CAP2_FULL_PORT_INFO (1u << 6)
#define SA_CAP2_EXT_SPEEDS (1u << 7)
#define SA_CAP2_MCAST_SERVICES (1u << 8) /* ServiceRecords of multicast GIDs */
#define SA_CAP2_PORT_INFO_MATCH2 (1u << 10) /* queries can match bits of CapabilityMask2 */
#define SA_CAP2_SEND_ONLY_FULL_MEMBER (1u << 12) /* as OpenSM sets it */

enum rmpp_type {
	RMPP_TYPE_NONE = 0,
	RMPP_TYPE_DATA = 1,
	RMPP_TYPE_ACK = 2,
	RMPP_TYPE_STOP = 3,
	RMPP_TYPE_ABORT = 4,
};

#define RMPP_FLAG_ACTIVE 1
#define RMPP_FLAG_FIRST 2
#define RMPP_FLAG_LAST 4
#define RMPP_VERSION 1

enum rmpp_status {
	RMPP_STATUS_NORMAL = 0,
	RMPP_STATUS_RESX = 1, /* resources exhausted */
	RMPP_STATUS_T2L = 118, /* total time too long */
	RMPP_STATUS_BAD_LEN = 119, /* inconsistent last and PayloadLength */
	RMPP_STATUS_BAD_FIRST = 120, /* inconsistent first and segment number */
	RMPP_STATUS_BAD_TYPE = 121,
	RMPP_STATUS_W2S = 122, /* NewWindowLast too small */
	RMPP_STATUS_S2B = 123, /* segment number too big */
	RMPP_STATUS_BAD_STATUS = 124,
	RMPP_STATUS_UNV = 125, /* unsupported version */
	RMPP_STATUS_TMR = 126, /* too many retries */
	RMPP_STATUS_UNSPEC = 127,
};

struct rmpp_hdr {
	uint8_t version, type;
	uint8_t resp_time; /* 5 bits; 31 = not given */
	uint8_t flags; /* 3 bits */
	uint8_t status;
	uint32_t data1; /* DATA, ACK: segment number */
	uint32_t data2; /* DATA: PayloadLength; ACK: NewWindowLast */
};

int rmpp_hdr_decode(struct rmpp_hdr *ret, const void *p, size_t len);
void rmpp_hdr_encode(void *p, const struct rmpp_hdr *h);

struct sa_hdr {
	uint64_t sm_key;
	uint16_t attr_offset; /* size of a record in units of 8 octets; used in tables only */
	uint64_t comp_mask;
};

int sa_hdr_decode(struct sa_hdr *ret, const void *p, size_t len);
void sa_hdr_encode(void *p, const struct sa_hdr *h);

/*
 * A decoded SA MAD. @data points into the MAD: 200 octets in a single MAD, any number in a
 * reassembled message. The decoder of each record checks that there are enough octets.
 */
struct sa_mad {
	struct mad_hdr mad;
	struct rmpp_hdr rmpp;
	struct sa_hdr sa;
	const uint8_t *data;
	size_t data_len;
};

/* sa_mad_decode() - Decode an SA MAD. Return: 0; -EBADMSG: @len < 56, or the class is not SA */
int sa_mad_decode(struct sa_mad *ret, const void *mad, size_t len);

/* sa_mad_encode() - Write the headers of an SA MAD, and zero its data; @mad has 256 octets */
void sa_mad_encode(void *mad, const struct mad_hdr *h, const struct sa_hdr *sa);

#endif
