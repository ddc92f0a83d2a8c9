/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_RECORDS_SM_H
#define WIRE_RECORDS_SM_H

/*
 * SA records (IBTA volume 1, 15.2.5) of these subjects:
 * - links, SMs, switches and subscriptions;
 * - the tables of ports and switches;
 * - requests for several paths at once.
 *
 * The bits of a component mask stand for the fields of the record, in the order of the fields.
 * Reserved fields have a bit, too.
 *
 * Decoders return 0, or -EBADMSG if @len is less than the length of the record. They copy tables in
 * the wire format; wire/smp.h has the codecs for this format.
 */

#include "wire/records.h"

/* LinkRecord */
#define LINK_REC_LEN 8 /* 6 octets, padded to a multiple of 8 */
#define LINK_COMP_FROM_LID (1ull << 0)
#define LINK_COMP_FROM_PORT (1ull << 1)
#define LINK_COMP_TO_PORT (1ull << 2)
#define LINK_COMP_TO_LID (1ull << 3)
struct ib_link_rec {
	uint16_t from_lid, to_lid;
	uint8_t from_port, to_port;
};
int ib_link_rec_decode(struct ib_link_rec *ret, const void *p, size_t len);
void ib_link_rec_encode(void *p, const struct ib_link_rec *r);

/* SMInfoRecord */
#define SM_INFO_REC_LEN 32 /* 25 octets, padded to a multiple of 8 */
#define SM_INFO_COMP_LID (1ull << 0)
#define SM_INFO_COMP_GUID (1ull << 2)
#define SM_INFO_COMP_SM_KEY (1ull << 3)
#define SM_INFO_COMP_ACT_COUNT (1ull << 4)
#define SM_INFO_COMP_PRIORITY (1ull << 5)
#define SM_INFO_COMP_STATE (1ull << 6)
struct ib_sm_info_rec {
	uint16_t lid;
	struct smp_sm_info info;
};
int ib_sm_info_rec_decode(struct ib_sm_info_rec *ret, const void *p, size_t len);
void ib_sm_info_rec_encode(void *p, const struct ib_sm_info_rec *r);

/* SwitchInfoRecord */
#define SWITCH_INFO_REC_LEN 24
#define SWITCH_INFO_COMP_LID (1ull << 0)
struct ib_switch_info_rec {
	uint16_t lid;
	struct smp_switch_info info;
};
int ib_switch_info_rec_decode(struct ib_switch_info_rec *ret, const void *p, size_t len);
void ib_switch_info_rec_encode(void *p, const struct ib_switch_info_rec *r);

/*
 * Records of one block of a table: 8 octets of address, then 64 octets of the table. The fields of the address:
 *
 *	LinearForwardingTableRecord	lid, block
 *	MulticastForwardingTableRecord	lid, position, block (9 bits)
 *	P_KeyTableRecord		lid, block, port
 *	VLArbitrationTableRecord	lid, port, block (8 bits, from 1)
 *	GUIDInfoRecord			lid, block (8 bits)
 *
 * Fields that a record does not have are zero.
 */
#define TABLE_REC_LEN 72
#define TABLE_REC_DATA_OFF 8
#define TABLE_REC_DATA_LEN 64
struct ib_table_rec {
	uint16_t lid, block;
	uint8_t port, position;
	uint8_t data[TABLE_REC_DATA_LEN];
};

#define LFT_COMP_LID (1ull << 0)
#define LFT_COMP_BLOCK (1ull << 1)
int ib_lft_rec_decode(struct ib_table_rec *ret, const void *p, size_t len);
void ib_lft_rec_encode(void *p, const struct ib_table_rec *r);

#define MFT_COMP_LID (1ull << 0)
#define MFT_COMP_POSITION (1ull << 1)
#define MFT_COMP_BLOCK (1ull << 3)
int ib_mft_rec_decode(struct ib_table_rec *ret, const void *p, size_t len);
void ib_mft_rec_encode(void *p, const struct ib_table_rec *r);

#define PKEY_TABLE_COMP_LID (1ull << 0)
#define PKEY_TABLE_COMP_BLOCK (1ull << 1)
#define PKEY_TABLE_COMP_PORT (1ull << 2)
int ib_pkey_table_rec_decode(struct ib_table_rec *ret, const void *p, size_t len);
void ib_pkey_table_rec_encode(void *p, const struct ib_table_rec *r);

#define VLARB_COMP_LID (1ull << 0)
#define VLARB_COMP_PORT (1ull << 1)
#define VLARB_COMP_BLOCK (1ull << 2)
int ib_vlarb_rec_decode(struct ib_table_rec *ret, const void *p, size_t len);
void ib_vlarb_rec_encode(void *p, const struct ib_table_rec *r);

#define GUID_INFO_COMP_LID (1ull << 0)
#define GUID_INFO_COMP_BLOCK (1ull << 1)
/* GUID 0 of the block; the next seven bits are GUIDs 1 to 7 */
#define GUID_INFO_COMP_GUID0 (1ull << 4)
int ib_guid_info_rec_decode(struct ib_table_rec *ret, const void *p, size_t len);
void ib_guid_info_rec_encode(void *p, const struct ib_table_rec *r);

/* SLtoVLMappingTableRecord; its two port numbers have a meaning only for a switch */
#define SLTOVL_REC_LEN 16
#define SLTOVL_COMP_LID (1ull << 0)
#define SLTOVL_COMP_IN_PORT (1ull << 1)
#define SLTOVL_COMP_OUT_PORT (1ull << 2)
struct ib_sltovl_rec {
	uint16_t lid;
	uint8_t in_port, out_port;
	uint8_t data[8]; /* the table, for smp_sltovl_decode() */
};
int ib_sltovl_rec_decode(struct ib_sltovl_rec *ret, const void *p, size_t len);
void ib_sltovl_rec_encode(void *p, const struct ib_sltovl_rec *r);

/* InformInfoRecord */
#define INFORM_REC_LEN 64 /* 60 octets, padded to a multiple of 8 */
#define INFORM_COMP_SUBSCRIBER (1ull << 0)
#define INFORM_COMP_ENUM (1ull << 1)
struct ib_inform_rec {
	ib_gid subscriber;
	/* Enum: number of this subscription among the subscriptions of its subscriber */
	uint16_t number;
	struct mad_inform_info info;
};
int ib_inform_rec_decode(struct ib_inform_rec *ret, const void *p, size_t len);
void ib_inform_rec_encode(void *p, const struct ib_inform_rec *r);

/*
 * MultiPathRecord has 24 octets, and then as many GIDs of sources and destinations as SGIDCount and
 * DGIDCount say. An incomplete record is refused. The answer consists of PathRecords.
 */
#define MULTI_PATH_REC_LEN 24
#define MULTI_PATH_GIDS_MAX 11 /* largest number of GIDs in one MAD */
#define MULTI_PATH_COMP_RAW (1ull << 0)
#define MULTI_PATH_COMP_FLOW_LABEL (1ull << 2)
#define MULTI_PATH_COMP_HOP_LIMIT (1ull << 3)
#define MULTI_PATH_COMP_TCLASS (1ull << 4)
#define MULTI_PATH_COMP_REVERSIBLE (1ull << 5)
#define MULTI_PATH_COMP_NUMB_PATH (1ull << 6)
#define MULTI_PATH_COMP_PKEY (1ull << 7)
#define MULTI_PATH_COMP_QOS_CLASS (1ull << 8)
#define MULTI_PATH_COMP_SL (1ull << 9)
/* the bits of MTU, rate and life time follow in the order of PathRecord */
#define MULTI_PATH_COMP_MTU_SEL (1ull << 10)
#define MULTI_PATH_COMP_LIFE (1ull << 15)
#define MULTI_PATH_COMP_SERVICE_ID_MSB (1ull << 16)
#define MULTI_PATH_COMP_INDEPENDENCE (1ull << 17)
#define MULTI_PATH_COMP_SGID_COUNT (1ull << 19)
#define MULTI_PATH_COMP_DGID_COUNT (1ull << 20)
#define MULTI_PATH_COMP_SERVICE_ID_LSB (1ull << 21)
struct ib_multi_path_rec {
	/* the fields that PathRecord has, too; GIDs, LIDs and preference are not used */
	struct ib_path_rec path;
	uint8_t independence; /* 2 bits; the value 1 requests paths that share as few links as possible */
	uint8_t nsgid, ndgid;
	ib_gid gid[MULTI_PATH_GIDS_MAX]; /* sources, then destinations */
};
int ib_multi_path_rec_decode(struct ib_multi_path_rec *ret, const void *p, size_t len);
/*
 * ib_multi_path_rec_encode() - Write a record to @p, which has room for MULTI_PATH_REC_LEN octets
 * and 16 more for each GID
 */
void ib_multi_path_rec_encode(void *p, const struct ib_multi_path_rec *r);

#endif
