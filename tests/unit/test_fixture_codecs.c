/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <stdbool.h>
#include <string.h>

#include "fixture/layout.h"
#include "wire/cm_sidr.h"
#include "wire/dhcp.h"
#include "wire/ib_hdr.h"
#include "wire/pma.h"
#include "wire/records_sm.h"

/*
 * Compares the layouts of the fixtures with the decoders of src/wire, which describe the same
 * formats independently. For each field of a layout, a test sets all bits of this field and no
 * others. The decoder must then return ones in the member for this field, and zeros in all other
 * members.
 */

struct member {
	const char *field;
	size_t offset, size;
	bool is_bool;
};

/* clang-format off */
#define M(type, field, member) { field, offsetof(type, member), sizeof(((type *)0)->member), false }
#define B(type, field, member) { field, offsetof(type, member), sizeof(((type *)0)->member), true }
/* clang-format on */

struct codec {
	const struct layout *l;
	int (*decode)(void *ret, const uint8_t *p);
	const struct member *members;
	size_t n;
};

/* clang-format off */
#define CODEC(layout, fn, table) { layout, fn, table, sizeof(table) / sizeof((table)[0]) }
/* clang-format on */
#define DECODE(name, type, fn, len)                  \
	static int name(void *ret, const uint8_t *p) \
	{                                            \
		return fn((type *)ret, p, len);      \
	}

static unsigned int width(const struct layout_field *f)
{
	return f->bits * (f->count ? f->count : 1u);
}

static const struct member *member(const struct codec *c, const char *field)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->members[i].field, field))
			return &c->members[i];
	return NULL;
}

/*
 * Tell whether the decoded member has the value of a field that consists of @bits ones. If @bits is
 * 0, tell whether the member is zero
 */
static bool has(const uint8_t *host, const struct member *m, unsigned int bits)
{
	uint64_t want = bits ? ~0ull >> (64 - (bits > 64 ? 64 : bits)) : 0, v = 0;
	const uint8_t *p = host + m->offset;

	if (m->is_bool)
		return *p == (bits != 0);
	if (bits > 64 || m->size > 8) {
		for (size_t i = 0; i < m->size; i++)
			if (p[i] != (i < bits / 8 ? 0xff : 0))
				return false;
		return true;
	}
	if (m->size == 1)
		v = *p;
	else if (m->size == 2)
		v = *(const uint16_t *)p;
	else if (m->size == 4)
		v = *(const uint32_t *)p;
	else
		v = *(const uint64_t *)p;
	return v == want;
}

static void check_field(const struct codec *c, const struct layout_field *f, unsigned int bit)
{
	_Alignas(16) uint8_t host[512] = { 0 };
	uint8_t wire[512] = { 0 };

	for (unsigned int b = bit; b < bit + width(f); b++)
		wire[b / 8] |= (uint8_t)(0x80 >> b % 8);
	assert_int_equal(c->decode(host, wire), 0);
	for (size_t i = 0; i < c->n; i++) {
		const struct member *m = &c->members[i];
		bool this = !strcmp(m->field, f->name);

		if (!has(host, m, this ? width(f) : 0))
			fail_msg("%s: with %s set, the decoder's %s is wrong", c->l->name, f->name,
				 m->field);
	}
}

static void check_codec(const struct codec *c)
{
	unsigned int bit = 0;
	size_t named = 0;

	for (const struct layout_field *f = c->l->fields; f->name; f++) {
		if (member(c, f->name)) {
			check_field(c, f, bit);
			named++;
		} else if (strncmp(f->name, "Reserved", 8) != 0) {
			fail_msg("%s: %s is no member", c->l->name, f->name);
		}
		bit += width(f);
	}
	assert_int_equal(named, c->n);
	assert_int_equal(bit, 8 * layout_len(c->l));
}

/* --- headers of a packet */

DECODE(lrh, struct ib_lrh, ib_lrh_decode, IB_LRH_LEN)
DECODE(grh, struct ib_grh, ib_grh_decode, IB_GRH_LEN)
DECODE(bth, struct ib_bth, ib_bth_decode, IB_BTH_LEN)
DECODE(deth, struct ib_deth, ib_deth_decode, IB_DETH_LEN)

static void test_headers(void **state)
{
	static const struct member of_lrh[] = {
		M(struct ib_lrh, "VL", vl),	     M(struct ib_lrh, "LVer", lver),
		M(struct ib_lrh, "SL", sl),	     M(struct ib_lrh, "LNH", lnh),
		M(struct ib_lrh, "DLID", dlid),	     M(struct ib_lrh, "SLID", slid),
		M(struct ib_lrh, "PktLen", pkt_len),
	};
	static const struct member of_grh[] = {
		M(struct ib_grh, "IPVer", ip_ver),
		M(struct ib_grh, "TClass", tclass),
		M(struct ib_grh, "FlowLabel", flow_label),
		M(struct ib_grh, "PayLen", pay_len),
		M(struct ib_grh, "NxtHdr", nxt_hdr),
		M(struct ib_grh, "HopLmt", hop_limit),
		M(struct ib_grh, "SGID", sgid),
		M(struct ib_grh, "DGID", dgid),
	};
	static const struct member of_bth[] = {
		M(struct ib_bth, "OpCode", opcode),  M(struct ib_bth, "SE", se),
		M(struct ib_bth, "M", migreq),	     M(struct ib_bth, "PadCnt", pad),
		M(struct ib_bth, "TVer", tver),	     M(struct ib_bth, "P_Key", pkey),
		M(struct ib_bth, "DestQP", dest_qp), M(struct ib_bth, "A", ack_req),
		M(struct ib_bth, "PSN", psn),
	};
	static const struct member of_deth[] = {
		M(struct ib_deth, "Q_Key", qkey),
		M(struct ib_deth, "SrcQP", src_qp),
	};

	check_codec(&(struct codec)CODEC(&layout_lrh, lrh, of_lrh));
	check_codec(&(struct codec)CODEC(&layout_grh, grh, of_grh));
	check_codec(&(struct codec)CODEC(&layout_bth, bth, of_bth));
	check_codec(&(struct codec)CODEC(&layout_deth, deth, of_deth));
}

/* --- headers of MADs */

/*
 * The header of a MAD with separate members for those fields that mad_hdr_decode() puts into one
 * member
 */
struct mad_view {
	struct mad_hdr h;
	uint8_t r, method, d, hop_ptr, hop_cnt;
	uint16_t status;
};

static int mad(void *ret, const uint8_t *p)
{
	struct mad_view *v = ret;
	int err = mad_hdr_decode(&v->h, p, MAD_HDR_LEN);

	v->r = v->h.method >> 7;
	v->method = v->h.method & 0x7f;
	v->d = (uint8_t)(v->h.status >> 15);
	v->status = v->h.status & 0x7fff;
	v->hop_ptr = (uint8_t)(v->h.class_specific >> 8);
	v->hop_cnt = (uint8_t)v->h.class_specific;
	return err;
}

#define MAD_BOTH                                                                                  \
	M(struct mad_view, "BaseVersion", h.base_version),                                        \
		M(struct mad_view, "MgmtClass", h.mgmt_class),                                    \
		M(struct mad_view, "ClassVersion", h.class_version), M(struct mad_view, "R", r),  \
		M(struct mad_view, "Method", method), M(struct mad_view, "TransactionID", h.tid), \
		M(struct mad_view, "AttributeID", h.attr_id),                                     \
		M(struct mad_view, "AttributeModifier", h.attr_mod)

/* Decode the fields of a directed-route SMP that follow the common MAD header */
static int smp(struct smp_dr *ret, const uint8_t *hdr, const uint8_t *paths)
{
	uint8_t p[MAD_LEN] = { [MAD_OFF_CLASS] = MAD_CLASS_SM_DR };
	struct mad_hdr h;

	if (hdr)
		memcpy(p + MAD_HDR_LEN, hdr, layout_len(&layout_smp_dr));
	if (paths)
		memcpy(p + MAD_LEN - layout_len(&layout_smp_paths), paths,
		       layout_len(&layout_smp_paths));
	return smp_hdr_decode(&h, ret, p, sizeof(p));
}

static int smp_hdr(void *ret, const uint8_t *p)
{
	return smp(ret, p, NULL);
}

static int smp_paths(void *ret, const uint8_t *p)
{
	struct smp_dr *dr = ret;
	int err = smp(dr, NULL, p);

	dr->initial_path[0] = p[0]; /* in smp_dr, path entry [0] is reserved */
	dr->return_path[0] = p[64];
	return err;
}

DECODE(rmpp, struct rmpp_hdr, rmpp_hdr_decode, SA_RMPP_LEN)
DECODE(sa, struct sa_hdr, sa_hdr_decode, SA_HDR_LEN)

static void test_headers_of_mads(void **state)
{
	static const struct member of_mad[] = {
		MAD_BOTH,
		M(struct mad_view, "Status", h.status),
		M(struct mad_view, "ClassSpecific", h.class_specific),
	};
	static const struct member of_mad_dr[] = {
		MAD_BOTH,
		M(struct mad_view, "D", d),
		M(struct mad_view, "Status", status),
		M(struct mad_view, "HopPointer", hop_ptr),
		M(struct mad_view, "HopCount", hop_cnt),
	};
	static const struct member of_smp[] = {
		M(struct smp_dr, "M_Key", mkey),
		M(struct smp_dr, "DrSLID", dr_slid),
		M(struct smp_dr, "DrDLID", dr_dlid),
	};
	static const struct member of_paths[] = {
		M(struct smp_dr, "InitialPath", initial_path),
		M(struct smp_dr, "ReturnPath", return_path),
	};
	static const struct member of_lid[] = { M(struct smp_dr, "M_Key", mkey) };
	static const struct member of_rmpp[] = {
		M(struct rmpp_hdr, "RMPPVersion", version), M(struct rmpp_hdr, "RMPPType", type),
		M(struct rmpp_hdr, "RRespTime", resp_time), M(struct rmpp_hdr, "RMPPFlags", flags),
		M(struct rmpp_hdr, "RMPPStatus", status),   M(struct rmpp_hdr, "Data1", data1),
		M(struct rmpp_hdr, "Data2", data2),
	};
	static const struct member of_sa[] = {
		M(struct sa_hdr, "SM_Key", sm_key),
		M(struct sa_hdr, "AttributeOffset", attr_offset),
		M(struct sa_hdr, "ComponentMask", comp_mask),
	};

	check_codec(&(struct codec)CODEC(&layout_mad, mad, of_mad));
	check_codec(&(struct codec)CODEC(&layout_mad_dr, mad, of_mad_dr));
	check_codec(&(struct codec)CODEC(&layout_smp_dr, smp_hdr, of_smp));
	check_codec(&(struct codec)CODEC(&layout_smp_paths, smp_paths, of_paths));
	check_codec(&(struct codec)CODEC(&layout_smp_lid, smp_hdr, of_lid));
	check_codec(&(struct codec)CODEC(&layout_rmpp, rmpp, of_rmpp));
	check_codec(&(struct codec)CODEC(&layout_sa, sa, of_sa));
	assert_int_equal(MAD_HDR_LEN + layout_len(&layout_smp_dr), SMP_DATA_OFF);
	assert_int_equal(MAD_HDR_LEN + layout_len(&layout_smp_lid), SMP_DATA_OFF);
	assert_int_equal(MAD_HDR_LEN + layout_len(&layout_rmpp), SA_HDR_OFF);
	assert_int_equal(SA_HDR_OFF + layout_len(&layout_sa), SA_DATA_OFF);
	assert_int_equal(MAD_HDR_LEN + layout_len(&layout_perf), PMA_DATA_OFF);
}

static int sidr_req(void *ret, const uint8_t *p)
{
	uint8_t m[MAD_LEN] = { 0 };

	memcpy(m + MAD_HDR_LEN, p, layout_len(&layout_sidr_req));
	return sidr_req_decode(ret, m, sizeof(m));
}

static int sidr_rep(void *ret, const uint8_t *p)
{
	uint8_t m[MAD_LEN] = { 0 };

	memcpy(m + MAD_HDR_LEN, p, layout_len(&layout_sidr_rep));
	return sidr_rep_decode(ret, m, sizeof(m));
}

static void test_sidr(void **state)
{
	static const struct member of_req[] = {
		M(struct sidr_req, "RequestID", request_id),
		M(struct sidr_req, "P_Key", pkey),
		M(struct sidr_req, "ServiceID", service_id),
		M(struct sidr_req, "PrivateData", priv),
	};
	static const struct member of_rep[] = {
		M(struct sidr_rep, "RequestID", request_id),
		M(struct sidr_rep, "Status", status),
		M(struct sidr_rep, "AdditionalInformationLength", info_len),
		M(struct sidr_rep, "QPN", qpn),
		M(struct sidr_rep, "ServiceID", service_id),
		M(struct sidr_rep, "Q_Key", qkey),
		M(struct sidr_rep, "AdditionalInformation", info),
		M(struct sidr_rep, "PrivateData", priv),
	};

	check_codec(&(struct codec)CODEC(&layout_sidr_req, sidr_req, of_req));
	check_codec(&(struct codec)CODEC(&layout_sidr_rep, sidr_rep, of_rep));
	assert_int_equal(MAD_HDR_LEN + layout_len(&layout_sidr_req), MAD_LEN);
	assert_int_equal(MAD_HDR_LEN + layout_len(&layout_sidr_rep), MAD_LEN);
}

/* --- attributes */

static void check_attr(unsigned int mgmt_class, unsigned int attr,
		       int (*decode)(void *ret, const uint8_t *p), const struct member *members,
		       size_t n)
{
	const struct codec c = { layout_attr(mgmt_class, attr), decode, members, n };

	assert_non_null(c.l);
	check_codec(&c);
}

#define CHECK_ATTR(mgmt_class, attr, decode, members) \
	check_attr(mgmt_class, attr, decode, members, sizeof(members) / sizeof((members)[0]))

#define NODE_INFO(type, in)                                                                 \
	M(type, "BaseVersion", in base_version), M(type, "ClassVersion", in class_version), \
		M(type, "NodeType", in node_type), M(type, "NumPorts", in nports),          \
		M(type, "SystemImageGUID", in sys_guid), M(type, "NodeGUID", in node_guid), \
		M(type, "PortGUID", in port_guid), M(type, "PartitionCap", in pkey_cap),    \
		M(type, "DeviceID", in device_id), M(type, "Revision", in revision),        \
		M(type, "LocalPortNum", in local_port), M(type, "VendorID", in vendor_id)

#define PORT_INFO(type, in)                                                                       \
	M(type, "M_Key", in mkey), M(type, "GidPrefix", in gid_prefix), M(type, "LID", in lid),   \
		M(type, "MasterSMLID", in sm_lid), M(type, "CapabilityMask", in cap_mask),        \
		M(type, "DiagCode", in diag_code), M(type, "M_KeyLeasePeriod", in mkey_lease),    \
		M(type, "LocalPortNum", in local_port),                                           \
		M(type, "LinkWidthEnabled", in width_enabled),                                    \
		M(type, "LinkWidthSupported", in width_supported),                                \
		M(type, "LinkWidthActive", in width_active),                                      \
		M(type, "LinkSpeedSupported", in speed_supported),                                \
		M(type, "PortState", in port_state), M(type, "PortPhysicalState", in phys_state), \
		M(type, "LinkDownDefaultState", in down_default),                                 \
		M(type, "M_KeyProtectBits", in mkey_protect), M(type, "LMC", in lmc),             \
		M(type, "LinkSpeedActive", in speed_active),                                      \
		M(type, "LinkSpeedEnabled", in speed_enabled),                                    \
		M(type, "NeighborMTU", in neighbor_mtu), M(type, "MasterSMSL", in sm_sl),         \
		M(type, "VLCap", in vl_cap), M(type, "InitType", in init_type),                   \
		M(type, "VLHighLimit", in vl_high_limit),                                         \
		M(type, "VLArbitrationHighCap", in vlarb_high_cap),                               \
		M(type, "VLArbitrationLowCap", in vlarb_low_cap),                                 \
		M(type, "InitTypeReply", in init_type_reply), M(type, "MTUCap", in mtu_cap),      \
		M(type, "VLStallCount", in vl_stall), M(type, "HOQLife", in hoq_life),            \
		M(type, "OperationalVLs", in oper_vls),                                           \
		B(type, "PartitionEnforcementInbound", in part_enforce_in),                       \
		B(type, "PartitionEnforcementOutbound", in part_enforce_out),                     \
		B(type, "FilterRawInbound", in filter_raw_in),                                    \
		B(type, "FilterRawOutbound", in filter_raw_out),                                  \
		M(type, "M_KeyViolations", in mkey_violations),                                   \
		M(type, "P_KeyViolations", in pkey_violations),                                   \
		M(type, "Q_KeyViolations", in qkey_violations), M(type, "GUIDCap", in guid_cap),  \
		B(type, "ClientReregister", in client_reregister),                                \
		M(type, "MulticastPKeyTrapSuppressionEnabled", in mcast_pkey_trap_suppress),      \
		M(type, "SubnetTimeOut", in subnet_timeout),                                      \
		M(type, "RespTimeValue", in resp_time),                                           \
		M(type, "LocalPhyErrors", in local_phys_errors),                                  \
		M(type, "OverrunErrors", in overrun_errors),                                      \
		M(type, "MaxCreditHint", in max_credit_hint),                                     \
		M(type, "LinkRoundTripLatency", in link_latency),                                 \
		M(type, "CapabilityMask2", in cap_mask2),                                         \
		M(type, "LinkSpeedExtActive", in speed_ext_active),                               \
		M(type, "LinkSpeedExtSupported", in speed_ext_supported),                         \
		M(type, "LinkSpeedExtEnabled", in speed_ext_enabled)

struct tables {
	uint8_t desc[64];
	uint64_t guid[8];
	uint16_t pkey[32];
	uint8_t sltovl[16];
};

static int node_desc(void *ret, const uint8_t *p)
{
	memcpy(((struct tables *)ret)->desc, p, 64);
	return 0;
}

static int guids(void *ret, const uint8_t *p)
{
	return smp_guid_block_decode(((struct tables *)ret)->guid, p, SMP_DATA_LEN);
}

static int pkeys(void *ret, const uint8_t *p)
{
	return smp_pkey_block_decode(((struct tables *)ret)->pkey, p, SMP_DATA_LEN);
}

DECODE(node_info, struct smp_node_info, smp_node_info_decode, SMP_NODE_INFO_LEN)
DECODE(port_info, struct smp_port_info, smp_port_info_decode, SMP_PORT_INFO_LEN)
DECODE(sm_info, struct smp_sm_info, smp_sm_info_decode, SMP_SM_INFO_LEN)
DECODE(notice, struct mad_notice, mad_notice_decode, MAD_NOTICE_LEN)

static const struct member of_notice[] = {
	B(struct mad_notice, "IsGeneric", generic),
	M(struct mad_notice, "Type", type),
	M(struct mad_notice, "ProducerType", producer),
	M(struct mad_notice, "TrapNumber", trap),
	M(struct mad_notice, "IssuerLID", issuer_lid),
	B(struct mad_notice, "NoticeToggle", toggle),
	M(struct mad_notice, "NoticeCount", count),
	M(struct mad_notice, "DataDetails", details),
};

static void test_attributes_of_the_sm(void **state)
{
	static const struct member of_desc[] = { M(struct tables, "NodeString", desc) };
	static const struct member of_guid[] = { M(struct tables, "GUID", guid) };
	static const struct member of_pkey[] = { M(struct tables, "P_KeyTableBlockElement", pkey) };
	static const struct member of_node[] = { NODE_INFO(struct smp_node_info, ) };
	static const struct member of_port[] = { PORT_INFO(struct smp_port_info, ) };
	static const struct member of_sm[] = {
		M(struct smp_sm_info, "GUID", guid),
		M(struct smp_sm_info, "SM_Key", sm_key),
		M(struct smp_sm_info, "ActCount", act_count),
		M(struct smp_sm_info, "Priority", priority),
		M(struct smp_sm_info, "SMState", state),
	};

	CHECK_ATTR(MAD_CLASS_SM_DR, SMP_ATTR_NODE_DESC, node_desc, of_desc);
	CHECK_ATTR(MAD_CLASS_SM_DR, SMP_ATTR_NODE_INFO, node_info, of_node);
	CHECK_ATTR(MAD_CLASS_SM_DR, SMP_ATTR_PORT_INFO, port_info, of_port);
	CHECK_ATTR(MAD_CLASS_SM_DR, SMP_ATTR_GUID_INFO, guids, of_guid);
	CHECK_ATTR(MAD_CLASS_SM_DR, SMP_ATTR_PKEY_TABLE, pkeys, of_pkey);
	CHECK_ATTR(MAD_CLASS_SM_DR, SMP_ATTR_SM_INFO, sm_info, of_sm);
	CHECK_ATTR(MAD_CLASS_SM_LID, SMP_ATTR_NOTICE, notice, of_notice);
}

/*
 * Tests tables whose elements are not whole octets, or have two fields. Each element gets a
 * different value, so that the test notices a wrong position
 */
static void test_tables_of_the_sm(void **state)
{
	const struct layout *l = layout_attr(MAD_CLASS_SM_DR, SMP_ATTR_SLTOVL);
	struct smp_vlarb_entry e[32];
	uint8_t vl[16], p[64];

	for (uint8_t i = 0; i < 16; i++)
		vl[i] = i ^ 5;
	smp_sltovl_encode(p, vl);
	assert_int_equal(l->fields[0].bits, 4);
	assert_int_equal(l->fields[0].count, 16);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(p[i / 2] >> (i % 2 ? 0 : 4) & 0xf, vl[i]);
	l = layout_attr(MAD_CLASS_SM_DR, SMP_ATTR_VLARB);
	for (uint8_t i = 0; i < 32; i++)
		e[i] = (struct smp_vlarb_entry){ .vl = i & 0xf, .weight = (uint8_t)(0x80 | i) };
	smp_vlarb_encode(p, e);
	assert_int_equal(l->fields[0].bits, 16);
	assert_int_equal(l->fields[0].count, 32);
	for (unsigned int i = 0; i < 32; i++)
		assert_int_equal(be16_at(p + 2 * i), e[i].vl << 8 | e[i].weight);
}

DECODE(class_port_info, struct mad_class_port_info, mad_class_port_info_decode,
       MAD_CLASS_PORT_INFO_LEN)
DECODE(inform_info, struct mad_inform_info, mad_inform_info_decode, MAD_INFORM_INFO_LEN)
DECODE(node_rec, struct ib_node_rec, ib_node_rec_decode, NODE_REC_LEN)
DECODE(port_info_rec, struct ib_port_info_rec, ib_port_info_rec_decode, PORT_INFO_REC_LEN)
DECODE(service_rec, struct ib_service_rec, ib_service_rec_decode, SERVICE_REC_LEN)
DECODE(path_rec, struct ib_path_rec, ib_path_rec_decode, PATH_REC_LEN)

#define MCMEMBER_LEN 52
DECODE(mcmember_rec, struct ib_mcmember_rec, ib_mcmember_rec_decode, MCMEMBER_LEN)

static int issuer_gid(void *ret, const uint8_t *p)
{
	uint8_t m[MAD_NOTICE_GID_LEN] = { 0 };

	memcpy(m + MAD_NOTICE_LEN, p, 16);
	return mad_notice_decode(ret, m, sizeof(m));
}

static void test_attributes_of_the_sa(void **state)
{
	typedef struct mad_class_port_info cpi;
	typedef struct mad_inform_info inform;
	static const struct member of_cpi[] = {
		M(cpi, "BaseVersion", base_version),
		M(cpi, "ClassVersion", class_version),
		M(cpi, "CapabilityMask", cap_mask),
		M(cpi, "CapabilityMask2", cap_mask2),
		M(cpi, "RespTimeValue", resp_time),
		M(cpi, "RedirectGID", redirect_gid),
		M(cpi, "RedirectTC", redirect_tclass),
		M(cpi, "RedirectSL", redirect_sl),
		M(cpi, "RedirectFL", redirect_flow_label),
		M(cpi, "RedirectLID", redirect_lid),
		M(cpi, "RedirectP_Key", redirect_pkey),
		M(cpi, "RedirectQP", redirect_qp),
		M(cpi, "RedirectQ_Key", redirect_qkey),
		M(cpi, "TrapGID", trap_gid),
		M(cpi, "TrapTC", trap_tclass),
		M(cpi, "TrapSL", trap_sl),
		M(cpi, "TrapFL", trap_flow_label),
		M(cpi, "TrapLID", trap_lid),
		M(cpi, "TrapP_Key", trap_pkey),
		M(cpi, "TrapHL", trap_hop_limit),
		M(cpi, "TrapQP", trap_qp),
		M(cpi, "TrapQ_Key", trap_qkey),
	};
	static const struct member of_inform[] = {
		M(inform, "GID", gid),
		M(inform, "LIDRangeBegin", lid_begin),
		M(inform, "LIDRangeEnd", lid_end),
		B(inform, "IsGeneric", generic),
		B(inform, "Subscribe", subscribe),
		M(inform, "Type", type),
		M(inform, "TrapNumber", trap),
		M(inform, "QPN", qpn),
		M(inform, "RespTimeValue", resp_time),
		M(inform, "ProducerType", producer),
	};
	static const struct member of_issuer[] = { M(struct mad_notice, "IssuerGID", issuer_gid) };

	CHECK_ATTR(MAD_CLASS_SA, SA_ATTR_CLASS_PORT_INFO, class_port_info, of_cpi);
	CHECK_ATTR(MAD_CLASS_PERF, MAD_ATTR_CLASS_PORT_INFO, class_port_info, of_cpi);
	CHECK_ATTR(MAD_CLASS_SA, SA_ATTR_INFORM_INFO, inform_info, of_inform);
	CHECK_ATTR(MAD_CLASS_SA, SA_ATTR_NOTICE, notice, of_notice);
	check_codec(&(struct codec)CODEC(&layout_issuer_gid, issuer_gid, of_issuer));
}

static void test_records(void **state)
{
	typedef struct ib_path_rec path;
	typedef struct ib_mcmember_rec mcm;
	typedef struct ib_service_rec service;
	static const struct member of_node[] = {
		M(struct ib_node_rec, "LID", lid),
		NODE_INFO(struct ib_node_rec, info.),
		M(struct ib_node_rec, "NodeString", desc),
	};
	static const struct member of_port[] = {
		M(struct ib_port_info_rec, "EndportLID", lid),
		M(struct ib_port_info_rec, "PortNum", port_num),
		M(struct ib_port_info_rec, "Options", options),
		PORT_INFO(struct ib_port_info_rec, info.),
	};
	static const struct member of_service[] = {
		M(service, "ServiceID", id),
		M(service, "ServiceGID", gid),
		M(service, "ServiceP_Key", pkey),
		M(service, "ServiceLease", lease),
		M(service, "ServiceKey", key),
		M(service, "ServiceName", name),
		{ "ServiceData8", offsetof(service, data), 16, false },
		{ "ServiceData16", offsetof(service, data) + 16, 16, false },
		{ "ServiceData32", offsetof(service, data) + 32, 16, false },
		{ "ServiceData64", offsetof(service, data) + 48, 16, false },
	};
	static const struct member of_path[] = {
		M(path, "ServiceID", service_id),
		M(path, "DGID", dgid),
		M(path, "SGID", sgid),
		M(path, "DLID", dlid),
		M(path, "SLID", slid),
		B(path, "RawTraffic", raw),
		M(path, "FlowLabel", flow_label),
		M(path, "HopLimit", hop_limit),
		M(path, "TClass", tclass),
		B(path, "Reversible", reversible),
		M(path, "NumbPath", numb_path),
		M(path, "P_Key", pkey),
		M(path, "QoSClass", qos_class),
		M(path, "SL", sl),
		M(path, "MtuSelector", mtu_sel),
		M(path, "Mtu", mtu_code),
		M(path, "RateSelector", rate_sel),
		M(path, "Rate", rate_code),
		M(path, "PacketLifeTimeSelector", life_sel),
		M(path, "PacketLifeTime", life),
		M(path, "Preference", preference),
	};
	static const struct member of_mcm[] = {
		M(mcm, "MGID", mgid),
		M(mcm, "PortGID", port_gid),
		M(mcm, "Q_Key", qkey),
		M(mcm, "MLID", mlid),
		M(mcm, "MTUSelector", mtu_sel),
		M(mcm, "MTU", mtu_code),
		M(mcm, "TClass", tclass),
		M(mcm, "P_Key", pkey),
		M(mcm, "RateSelector", rate_sel),
		M(mcm, "Rate", rate_code),
		M(mcm, "PacketLifeTimeSelector", life_sel),
		M(mcm, "PacketLifeTime", life),
		M(mcm, "SL", sl),
		M(mcm, "FlowLabel", flow_label),
		M(mcm, "HopLimit", hop_limit),
		M(mcm, "Scope", scope),
		M(mcm, "JoinState", join_state),
		B(mcm, "ProxyJoin", proxy_join),
	};

	CHECK_ATTR(MAD_CLASS_SA, SA_ATTR_NODE_RECORD, node_rec, of_node);
	CHECK_ATTR(MAD_CLASS_SA, SA_ATTR_PORT_INFO_RECORD, port_info_rec, of_port);
	CHECK_ATTR(MAD_CLASS_SA, SA_ATTR_SERVICE_RECORD, service_rec, of_service);
	CHECK_ATTR(MAD_CLASS_SA, SA_ATTR_PATH_RECORD, path_rec, of_path);
	CHECK_ATTR(MAD_CLASS_SA, SA_ATTR_MCMEMBER_RECORD, mcmember_rec, of_mcm);
}

DECODE(counters, struct pma_port_counters, pma_port_counters_decode, PMA_PORT_COUNTERS_LEN)
DECODE(counters_ext, struct pma_port_counters_ext, pma_port_counters_ext_decode,
       PMA_PORT_COUNTERS_EXT_LEN)

static void test_counters(void **state)
{
	typedef struct pma_port_counters c;
	typedef struct pma_port_counters_ext x;
	static const struct member of_counters[] = {
		M(c, "PortSelect", port_select),
		M(c, "CounterSelect", counter_select),
		M(c, "SymbolErrorCounter", symbol_errors),
		M(c, "LinkErrorRecoveryCounter", link_recovers),
		M(c, "LinkDownedCounter", link_downed),
		M(c, "PortRcvErrors", rcv_errors),
		M(c, "PortRcvRemotePhysicalErrors", rcv_remphys_errors),
		M(c, "PortRcvSwitchRelayErrors", rcv_switch_relay_errors),
		M(c, "PortXmitDiscards", xmit_discards),
		M(c, "PortXmitConstraintErrors", xmit_constraint_errors),
		M(c, "PortRcvConstraintErrors", rcv_constraint_errors),
		M(c, "CounterSelect2", counter_select2),
		M(c, "LocalLinkIntegrityErrors", local_link_integrity_errors),
		M(c, "ExcessiveBufferOverrunErrors", excessive_overruns),
		M(c, "VL15Dropped", vl15_dropped),
		M(c, "PortXmitData", xmit_data),
		M(c, "PortRcvData", rcv_data),
		M(c, "PortXmitPkts", xmit_pkts),
		M(c, "PortRcvPkts", rcv_pkts),
		M(c, "PortXmitWait", xmit_wait),
	};
	static const struct member of_ext[] = {
		M(x, "PortSelect", port_select),
		M(x, "CounterSelect", counter_select),
		M(x, "PortXmitData", xmit_data),
		M(x, "PortRcvData", rcv_data),
		M(x, "PortXmitPkts", xmit_pkts),
		M(x, "PortRcvPkts", rcv_pkts),
		M(x, "PortUnicastXmitPkts", ucast_xmit_pkts),
		M(x, "PortUnicastRcvPkts", ucast_rcv_pkts),
		M(x, "PortMulticastXmitPkts", mcast_xmit_pkts),
		M(x, "PortMulticastRcvPkts", mcast_rcv_pkts),
	};

	CHECK_ATTR(MAD_CLASS_PERF, PMA_ATTR_PORT_COUNTERS, counters, of_counters);
	CHECK_ATTR(MAD_CLASS_PERF, PMA_ATTR_PORT_COUNTERS_EXT, counters_ext, of_ext);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_headers_of_mads),
		cmocka_unit_test(test_sidr),
		cmocka_unit_test(test_attributes_of_the_sm),
		cmocka_unit_test(test_tables_of_the_sm),
		cmocka_unit_test(test_attributes_of_the_sa),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
