/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_SMP_H
#define WIRE_SMP_H

/* Subnet management packets and their attributes. IBTA volume 1, 14.2. */

#include "wire/mad.h"

#define SMP_DATA_OFF 64
#define SMP_DATA_LEN 64

enum smp_attr {
	SMP_ATTR_NOTICE = 0x0002,
	SMP_ATTR_NODE_DESC = 0x0010,
	SMP_ATTR_NODE_INFO = 0x0011,
	SMP_ATTR_SWITCH_INFO = 0x0012,
	SMP_ATTR_GUID_INFO = 0x0014,
	SMP_ATTR_PORT_INFO = 0x0015,
	SMP_ATTR_PKEY_TABLE = 0x0016,
	SMP_ATTR_SLTOVL = 0x0017,
	SMP_ATTR_VLARB = 0x0018,
	SMP_ATTR_LFT = 0x0019,
	SMP_ATTR_RFT = 0x001a,
	SMP_ATTR_MFT = 0x001b,
	SMP_ATTR_SM_INFO = 0x0020,
	SMP_ATTR_VENDOR_DIAG = 0x0030,
	SMP_ATTR_LED_INFO = 0x0031,
};

/* The fields of an SMP that are neither common header nor data: octets 24 to 63 and 128 to 255 */
struct smp_dr {
	uint64_t mkey;
	uint16_t dr_slid, dr_dlid; /* valid in a directed route */
	uint8_t initial_path[64]; /* egress port of each hop, from [1] on */
	uint8_t return_path[64];
};

/*
 * smp_hdr_decode() - Decode an SMP of 256 octets: the common header to @ret, and the fields of
 * struct smp_dr to @ret_dr. The LIDs and the paths are decoded only for class 0x81 (directed
 * route). Return: 0; -EBADMSG: @len is less than 256, or the class is not that of SMPs
 */
int smp_hdr_decode(struct mad_hdr *ret, struct smp_dr *ret_dr, const void *p, size_t len);
/* smp_encode() - Write a whole SMP; @data has 64 octets, or is NULL for zeros */
void smp_encode(void *mad, const struct mad_hdr *h, const struct smp_dr *dr, const void *data);

static inline uint8_t *smp_data(void *mad)
{
	return (uint8_t *)mad + SMP_DATA_OFF;
}

/* Offsets in a directed-route SMP */
#define SMP_OFF_HOP_PTR 6
#define SMP_OFF_HOP_CNT 7
#define SMP_OFF_MKEY 24
#define SMP_OFF_DR_SLID 32
#define SMP_OFF_DR_DLID 34
#define SMP_OFF_INITIAL_PATH 128
#define SMP_OFF_RETURN_PATH 192

/*
 * The decoders of attributes return -EBADMSG if @len is less than the length of the attribute. A
 * block of a table has 64 octets unless a comment says otherwise.
 */

struct smp_node_info {
	uint8_t base_version, class_version;
	uint8_t node_type; /* enum ib_node_type */
	uint8_t nports;
	uint64_t sys_guid, node_guid, port_guid;
	uint16_t pkey_cap;
	uint16_t device_id;
	uint32_t revision;
	uint8_t local_port;
	uint32_t vendor_id; /* 24 bits */
};
#define SMP_NODE_INFO_LEN 40
int smp_node_info_decode(struct smp_node_info *ret, const void *p, size_t len);
/* smp_node_info_sane() - Tell whether the values of a NodeInfo are possible for a real node */
bool smp_node_info_sane(const struct smp_node_info *i);
void smp_node_info_encode(void *p, const struct smp_node_info *i);

struct smp_switch_info {
	uint16_t lft_cap, rft_cap, mft_cap, lft_top;
	uint8_t default_port, default_mcast_primary, default_mcast_not_primary;
	uint8_t life_time; /* 5 bits */
	bool port_state_change;
	uint8_t opt_sl2vl; /* 2 bits */
	uint16_t lids_per_port, enforce_cap;
	bool inbound_enforce, outbound_enforce, filter_raw_in, filter_raw_out, enhanced_port0;
	uint16_t mft_top; /* MulticastFDBTop */
};
#define SMP_SWITCH_INFO_LEN 20
int smp_switch_info_decode(struct smp_switch_info *ret, const void *p, size_t len);
void smp_switch_info_encode(void *p, const struct smp_switch_info *i);

/* PortInfo:CapabilityMask */
#define SMP_CAP_IS_SM (1u << 1)
#define SMP_CAP_IS_NOTICE (1u << 2)
#define SMP_CAP_IS_TRAP (1u << 3)
#define SMP_CAP_IS_OPT_IPD (1u << 4)
#define SMP_CAP_IS_AUTO_MIGR (1u << 5)
#define SMP_CAP_IS_SL_MAP (1u << 6)
#define SMP_CAP_IS_LED_INFO (1u << 9)
#define SMP_CAP_IS_SM_DISABLED (1u << 10)
#define SMP_CAP_IS_SYS_GUID (1u << 11)
#define SMP_CAP_IS_PKEY_TRAP (1u << 12)
#define SMP_CAP_IS_EXT_SPEEDS (1u << 14)
#define SMP_CAP_IS_CAP_MASK2 (1u << 15)
#define SMP_CAP_IS_CM (1u << 16)
#define SMP_CAP_IS_DEVICE_MGMT (1u << 19)
#define SMP_CAP_IS_VENDOR_CLASS (1u << 20)
#define SMP_CAP_IS_CAP_MASK_NOTICE (1u << 22)
#define SMP_CAP_IS_CLIENT_REREG (1u << 25)
#define SMP_CAP_IS_MFT_TOP (1u << 30) /* SwitchInfo:MulticastFDBTop is used */

/* PortInfo:CapabilityMask2 */
#define SMP_CAP2_IS_WIDTH_2X (1u << 4)
#define SMP_CAP2_IS_SPEED_HDR (1u << 5)
#define SMP_CAP2_IS_SPEED_NDR (1u << 10)

struct smp_port_info {
	uint64_t mkey, gid_prefix;
	uint16_t lid, sm_lid;
	uint32_t cap_mask;
	uint16_t diag_code, mkey_lease; /* M_Key lease in seconds */
	uint8_t local_port;
	uint8_t width_enabled, width_supported, width_active;
	uint8_t speed_supported; /* 4 bits: 1 SDR, 2 DDR, 4 QDR */
	uint8_t port_state; /* enum ib_port_state */
	uint8_t phys_state; /* enum ib_phys_state */
	uint8_t down_default;
	uint8_t mkey_protect; /* 2 bits */
	uint8_t lmc; /* 3 bits */
	uint8_t speed_active, speed_enabled;
	uint8_t neighbor_mtu; /* MTU code */
	uint8_t sm_sl;
	uint8_t vl_cap, init_type;
	uint8_t vl_high_limit, vlarb_high_cap, vlarb_low_cap;
	uint8_t init_type_reply;
	uint8_t mtu_cap; /* MTU code */
	uint8_t vl_stall, hoq_life;
	uint8_t oper_vls;
	bool part_enforce_in, part_enforce_out, filter_raw_in, filter_raw_out;
	uint16_t mkey_violations, pkey_violations, qkey_violations;
	uint8_t guid_cap;
	bool client_reregister;
	uint8_t mcast_pkey_trap_suppress; /* 2 bits */
	uint8_t subnet_timeout; /* 5 bits */
	uint8_t resp_time; /* 5 bits */
	uint8_t local_phys_errors, overrun_errors;
	uint16_t max_credit_hint;
	uint32_t link_latency; /* 24 bits */
	uint16_t cap_mask2;
	uint8_t speed_ext_active, speed_ext_supported, speed_ext_enabled;
};
#define SMP_PORT_INFO_LEN 64
int smp_port_info_decode(struct smp_port_info *ret, const void *p, size_t len);
void smp_port_info_encode(void *p, const struct smp_port_info *i);
/*
 * smp_port_info_keep() - Return the PortInfo whose Set changes nothing at a port with @pi. A field in which 0 means "no
 * change" is 0 (IBTA 14.2.5.6)
 */
struct smp_port_info smp_port_info_keep(const struct smp_port_info *pi);
/* smp_vl_count() - Return the number of data VLs that a code of PortInfo:OperationalVLs means; 1 for an unknown code */
unsigned int smp_vl_count(uint8_t code);

#define SMP_PKEYS_PER_BLOCK 32
#define SMP_GUIDS_PER_BLOCK 8
#define SMP_LFT_PER_BLOCK 64
/* MLIDs in one block; for each MLID the block has a mask of 16 ports */
#define SMP_MFT_PER_BLOCK 32
#define SMP_LFT_NONE 255

int smp_pkey_block_decode(uint16_t ret[SMP_PKEYS_PER_BLOCK], const void *p, size_t len);
void smp_pkey_block_encode(void *p, const uint16_t pkeys[SMP_PKEYS_PER_BLOCK]);
int smp_guid_block_decode(uint64_t ret[SMP_GUIDS_PER_BLOCK], const void *p, size_t len);
void smp_guid_block_encode(void *p, const uint64_t guids[SMP_GUIDS_PER_BLOCK]);
int smp_mft_block_decode(uint16_t ret[SMP_MFT_PER_BLOCK], const void *p, size_t len);
void smp_mft_block_encode(void *p, const uint16_t masks[SMP_MFT_PER_BLOCK]);
/* SLtoVLMappingTable has 8 octets, in which each SL has 4 bits with its VL */
int smp_sltovl_decode(uint8_t ret[16], const void *p, size_t len);
void smp_sltovl_encode(void *p, const uint8_t vl[16]);
/* A block of the LFT has 64 octets, each with the egress port of one LID, and needs no codec. */

struct smp_vlarb_entry {
	uint8_t vl, weight;
};
int smp_vlarb_decode(struct smp_vlarb_entry ret[32], const void *p, size_t len);
void smp_vlarb_encode(void *p, const struct smp_vlarb_entry e[32]);

enum smp_sm_state {
	SMP_SM_NOT_ACTIVE = 0,
	SMP_SM_DISCOVERING = 1,
	SMP_SM_STANDBY = 2,
	SMP_SM_MASTER = 3,
};

/* SMInfo has 21 octets. The attribute modifier of a Set is the command, from 1 (HANDOVER) to 5 (DISCOVER) (14.4.1). */
#define SMP_SMINFO_HANDOVER 1
#define SMP_SMINFO_ACK 2
#define SMP_SMINFO_DISABLE 3
#define SMP_SMINFO_STANDBY 4
#define SMP_SMINFO_DISCOVER 5
struct smp_sm_info {
	uint64_t guid, sm_key;
	uint32_t act_count;
	uint8_t priority; /* 4 bits */
	uint8_t state; /* enum smp_sm_state */
};
#define SMP_SM_INFO_LEN 21
int smp_sm_info_decode(struct smp_sm_info *ret, const void *p, size_t len);
void smp_sm_info_encode(void *p, const struct smp_sm_info *i);

#endif
