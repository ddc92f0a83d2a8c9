/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/print.h"

#include "check.h"
#include "layout.h"
#include "wire/cm_sidr.h"
#include "wire/pma.h"
#include "wire/records.h"

static char line[PRINT_LINE];

static void assert_line(const void *mad, size_t len, const char *want)
{
	assert_ptr_equal(print_mad(line, sizeof(line), mad, len), line);
	assert_string_equal(line, want);
}

static ib_gid gid(const char *hex)
{
	ib_gid g;

	assert_int_equal(layout_hex(g.raw, 16, hex), 16);
	return g;
}

static void smp(uint8_t mad[256], uint8_t mgmt_class, uint8_t method, uint16_t attr, uint32_t mod)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.method = method,
		.tid = 0x1122,
		.attr_id = attr,
		.attr_mod = mod,
	};
	struct smp_dr dr = { .dr_slid = 0xffff, .dr_dlid = 0xffff };

	smp_encode(mad, &h, &dr, NULL);
}

/* Request and answer of `smpquery nodeinfo -D 0,1`, recorded from ibsim 0.10 */
static void test_print_directed_route(void **state)
{
	uint8_t b[256] = { 0 };

	layout_hex(b, 36,
		   "0181010100000001000000004d2bbf4b00110000000000000000000000000000ffffffff");
	b[129] = 1;
	assert_line(b, sizeof(b),
		    "SubnGet NodeInfo TID 0x000000004d2bbf4b status 0x0000 hop 0/1 path 0,1");
	layout_hex(b, 16, "01810181800000010001 00014d2bbf4b");
	layout_hex(b + 64, 40,
		   "0101020400000000002000000000000000200000000000000020000000080000"
		   "000000a101000000");
	assert_line(b, sizeof(b),
		    "SubnGetResp NodeInfo TID 0x000100014d2bbf4b status 0x0000 hop 0/1 path 0,1 "
		    "returning Switch ports 4 node 0x0000000000200000 port 0x0000000000200000 "
		    "LocalPort 1");
	be16_put(b + SMP_OFF_DR_SLID, 7);
	be16_put(b + SMP_OFF_DR_DLID, 9);
	b[5] = 0x0c;
	b[3] = MAD_METHOD_GET;
	assert_line(
		b, sizeof(b),
		"SubnGet NodeInfo TID 0x000100014d2bbf4b status 0x000c (method and attribute not "
		"supported together) hop 0/1 DrSLID 7 DrDLID 9 path 0,1 returning");
}

static void test_print_longest_route(void **state)
{
	uint8_t b[256];
	const char *p;

	smp(b, MAD_CLASS_SM_DR, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0);
	b[SMP_OFF_HOP_CNT] = 255; /* a path has at most 63 hops */
	memset(b + SMP_OFF_INITIAL_PATH, 254, 64);
	print_mad(line, sizeof(line), b, sizeof(b));
	p = strstr(line, " hop 0/255 path 0,254");
	assert_non_null(p);
	assert_int_equal(strlen(strstr(p, ",254")), 63 * 4);
}

static void test_print_port_info(void **state)
{
	struct smp_port_info i = {
		.lid = 4,
		.lmc = 2,
		.sm_lid = 1,
		.port_state = IB_PORT_ARMED,
		.phys_state = IB_PHYS_LINK_UP,
		.width_active = 2,
		.speed_active = 4,
		.speed_ext_active = 2,
		.neighbor_mtu = IB_MTU_2048,
		.mtu_cap = IB_MTU_4096,
		.client_reregister = true,
	};
	uint8_t b[256];

	smp(b, MAD_CLASS_SM_LID, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, 0x80000003);
	smp_port_info_encode(smp_data(b), &i);
	assert_line(b, sizeof(b),
		    "SubnSet PortInfo TID 0x0000000000001122 status 0x0000 port 3 LID 4/2 SMLID 1 "
		    "Armed phys 5 width 2 speed 4 ext 2 MTU 2048 of 4096 ClientReregister");
}

static void test_print_smp_attributes(void **state)
{
	struct smp_switch_info si = { .lft_cap = 49152,
				      .lft_top = 9,
				      .mft_cap = 1024,
				      .mft_top = 0xc001,
				      .port_state_change = true };
	struct smp_sm_info sm = { .guid = 0x10, .priority = 3, .state = 2, .act_count = 5 };
	uint8_t b[256];

	smp(b, MAD_CLASS_SM_LID, MAD_METHOD_GET_RESP, SMP_ATTR_SWITCH_INFO, 0);
	smp_switch_info_encode(smp_data(b), &si);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " LFT top 9 of 49152 MFT top 0xc001 of 1024 PortStateChange"));

	smp(b, MAD_CLASS_SM_LID, MAD_METHOD_SET, SMP_ATTR_SM_INFO, SMP_SMINFO_HANDOVER);
	smp_sm_info_encode(smp_data(b), &sm);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(
		line, " modifier 0x1 GUID 0x0000000000000010 priority 3 Standby ActCount 5"));
	smp_data(b)[20] = 0x39; /* SMState 9 does not exist */
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " priority 3 ? ActCount 5"));

	smp(b, MAD_CLASS_SM_LID, MAD_METHOD_GET_RESP, SMP_ATTR_NODE_DESC, 0);
	memcpy(smp_data(b), "h1\n\x1b[2J \xc3\xa4", 10);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " \"h1..[2J ..\""));

	smp(b, MAD_CLASS_SM_LID, MAD_METHOD_SET, SMP_ATTR_PKEY_TABLE, 0x00050001);
	be16_put(smp_data(b), 0xffff);
	be16_put(smp_data(b) + 4, 0x8001);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " port 5 block 1 [0] 0xffff [2] 0x8001"));

	smp(b, MAD_CLASS_SM_LID, MAD_METHOD_SET, SMP_ATTR_MFT, 0x20000003);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, "SubnSet MulticastForwardingTable"));
	assert_non_null(strstr(line, " block 3 position 2"));

	smp(b, MAD_CLASS_SM_LID, MAD_METHOD_GET, SMP_ATTR_SLTOVL, 0x0401);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " in 4 out 1"));

	smp(b, MAD_CLASS_SM_LID, MAD_METHOD_GET, SMP_ATTR_VLARB, 0x00030001);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " port 1 block 3"));
}

/*
 * Checks how a notice with these details is printed. @details: hex digits of the first octets of
 * DataDetails
 */
static void check_notice(struct mad_notice n, const char *details, const char *want)
{
	uint8_t b[256], notice[80];
	const char *got;

	layout_hex(n.details, strlen(details) / 2, details);
	smp(b, MAD_CLASS_SM_LID, MAD_METHOD_TRAP, SMP_ATTR_NOTICE, 0);
	mad_notice_encode(notice, &n);
	memcpy(smp_data(b), notice, 64);
	print_mad(line, sizeof(line), b, sizeof(b));
	got = strstr(line, " status 0x0000 ");
	assert_non_null(got);
	assert_string_equal(got + strlen(" status 0x0000 "), want);
}

static void check_trap(uint16_t trap, const char *details, const char *want)
{
	check_notice((struct mad_notice){ .generic = true, .trap = trap, .issuer_lid = 2 }, details,
		     want);
}

#define TRAP_GIDS          \
	"fe80000000000000" \
	"0002c90300000001" \
	"fe80000000000000" \
	"0002c90300000002"
#define TRAP_QPS   \
	"30000048" \
	"00123456"

/* DataDetails made by hand from the tables of IBA 14.2.5.1 */
static void test_print_traps(void **state)
{
	check_trap(MAD_TRAP_LINK_STATE, "0003",
		   "trap 128 (link state of a switch changed) from LID 2 about LID 3");
	check_trap(MAD_TRAP_MC_CREATED,
		   "000000000000"
		   "ff12401bffff000000000000ffffffff",
		   "trap 66 (multicast group created) from LID 2 GID ff12:401b:ffff::ffff:ffff");
	check_trap(MAD_TRAP_LINK_INTEGRITY, "0000000305",
		   "trap 129 (local link integrity errors reached the threshold) from LID 2 about "
		   "port 5 of LID 3");
	check_trap(
		MAD_TRAP_CAP_CHANGE,
		"0000000400"
		"01"
		"02514868"
		"0009",
		"trap 144 (capabilities changed) from LID 2 about LID 4 CapabilityMask 0x02514868 "
		"changed NodeDescription changed SMPriority");
	check_trap(MAD_TRAP_SYSGUID_CHANGE,
		   "000000040000"
		   "0002c90300000033",
		   "trap 145 (SystemImageGUID changed) from LID 2 about LID 4 SystemImageGUID "
		   "0x0002c90300000033");
	check_trap(132, "00000003", "trap 132 (other) from LID 2 about LID 3");
	check_notice((struct mad_notice){ .producer = 0x001405, .trap = 3 }, "",
		     "vendor 0x001405 device 3");
}

static void test_print_traps_of_wrong_keys(void **state)
{
	check_trap(
		MAD_TRAP_BAD_QKEY,
		"0000"
		"0011"
		"0012"
		"80010001" TRAP_QPS TRAP_GIDS,
		"trap 258 (bad Q_Key) from LID 2 Q_Key 0x80010001 SL 3 of a packet from LID 17 QP "
		"0x000048 GID fe80::2:c903:0:1 to LID 18 QP 0x123456 GID fe80::2:c903:0:2");
	check_trap(
		MAD_TRAP_BAD_PKEY,
		"0000"
		"0011"
		"0012"
		"00008123" TRAP_QPS,
		"trap 257 (bad P_Key at an HCA) from LID 2 P_Key 0x8123 SL 3 of a packet from LID "
		"17 QP 0x000048 to LID 18 QP 0x123456");
	check_trap(MAD_TRAP_SWITCH_BAD_PKEY,
		   "00ff"
		   "0011"
		   "0012"
		   "8123" TRAP_QPS TRAP_GIDS "0005"
		   "03",
		   "trap 259 (bad P_Key at a switch) from LID 2 P_Key 0x8123 SL 3 of a packet from "
		   "LID 17 QP 0x000048 GID fe80::2:c903:0:1 to LID 18 QP 0x123456 GID "
		   "fe80::2:c903:0:2 at port 3 of LID 5");
	/* Only the source LID is valid. */
	check_trap(MAD_TRAP_SWITCH_BAD_PKEY,
		   "0001"
		   "0011"
		   "0012"
		   "8123" TRAP_QPS TRAP_GIDS "0005"
		   "03",
		   "trap 259 (bad P_Key at a switch) from LID 2 P_Key 0x0000 SL 0 of a packet from "
		   "LID 17 at port 3 of LID 5");
}

/* The M_Key must not be shown. In these notices it is 0x1122334455667788. */
static void test_print_traps_of_a_wrong_mkey(void **state)
{
	check_trap(MAD_TRAP_BAD_MKEY,
		   "0000"
		   "0007"
		   "0000"
		   "0200"
		   "0015"
		   "00000001"
		   "1122334455667788",
		   "trap 256 (bad M_Key) from LID 2 about LID 7 request SubnSet PortInfo modifier "
		   "0x00000001");
	check_trap(MAD_TRAP_BAD_MKEY,
		   "0000"
		   "0007"
		   "ffff"
		   "0200"
		   "0015"
		   "00000001"
		   "1122334455667788"
		   "00"
		   "83"
		   "040501",
		   "trap 256 (bad M_Key) from LID 2 about LID 7 request SubnSet PortInfo modifier "
		   "0x00000001 DrSLID 65535 return path 4 5 1");
	check_trap(MAD_TRAP_BAD_MKEY,
		   "0000"
		   "0007"
		   "ffff"
		   "0100"
		   "0011"
		   "00000000"
		   "1122334455667788"
		   "00"
		   "c1"
		   "09",
		   "trap 256 (bad M_Key) from LID 2 about LID 7 request SubnGet NodeInfo modifier "
		   "0x00000000 DrSLID 65535 return path 9 ...");
}

static void sa(uint8_t mad[256], uint8_t method, uint16_t attr, uint64_t mask, uint16_t status)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = method,
		.status = status,
		.tid = 0x99,
		.attr_id = attr,
	};
	struct sa_hdr s = { .comp_mask = mask };

	sa_mad_encode(mad, &h, &s);
}

static void test_print_mcmember_record(void **state)
{
	struct ib_mcmember_rec r = {
		.mgid = gid("ff12401bffff000000000000ffffffff"),
		.port_gid = gid("fe800000000000000000000000100001"),
		.qkey = 0xb1b,
		.mlid = 0xc000,
		.mtu_code = IB_MTU_2048,
		.pkey = 0xffff,
		.rate_code = 3,
		.join_state = MCM_JOIN_FULL,
	};
	uint8_t b[256];

	sa(b, MAD_METHOD_SET, SA_ATTR_MCMEMBER_RECORD, 0x10083, 0);
	ib_mcmember_rec_encode(b + SA_DATA_OFF, &r);
	assert_line(
		b, sizeof(b),
		"SubnAdmSet MCMemberRecord TID 0x0000000000000099 status 0x0000 mask 0x10083 MGID "
		"ff12:401b:ffff::ffff:ffff PortGID fe80::10:1 JoinState 0x1 MLID 0xc000 Q_Key "
		"0x00000b1b P_Key 0xffff SL 0 MTU 2048 rate 3");
	assert_line(b, SA_DATA_OFF + 51,
		    "SubnAdmSet MCMemberRecord TID 0x0000000000000099 status 0x0000 mask 0x10083");
}

static void test_print_path_record(void **state)
{
	struct ib_path_rec r = {
		.dgid = gid("fe800000000000000000000000200000"),
		.sgid = gid("fe800000000000000000000000100001"),
		.dlid = 2,
		.slid = 1,
		.pkey = 0xffff,
		.mtu_code = IB_MTU_1024,
		.rate_code = 3,
	};
	uint8_t b[256];

	sa(b, MAD_METHOD_GET_RESP, SA_ATTR_PATH_RECORD, 0, SA_STATUS_NO_RECORDS);
	ib_path_rec_encode(b + SA_DATA_OFF, &r);
	assert_line(
		b, sizeof(b),
		"SubnAdmGetResp PathRecord TID 0x0000000000000099 status 0x0300 (ERR_NO_RECORDS) "
		"DGID fe80::20:0 SGID fe80::10:1 DLID 2 SLID 1 P_Key 0xffff SL 0 MTU 1024 rate 3");
}

static void test_print_other_records(void **state)
{
	struct ib_node_rec nr = { .lid = 5, .info.node_type = IB_NODE_CA, .desc = "hca one" };
	struct ib_port_info_rec pr = { .lid = 5, .port_num = 1 };
	struct ib_service_rec sr = { .id = 0x10, .pkey = 0xffff, .lease = 60, .name = "svc" };
	struct mad_inform_info ii = { .lid_begin = 0xffff, .subscribe = true, .trap = 66 };
	struct mad_class_port_info ci = { .base_version = 1,
					  .class_version = 2,
					  .cap_mask = 0x2602,
					  .cap_mask2 = 0xb5e8,
					  .resp_time = 16,
					  .redirect_lid = 3,
					  .redirect_qp = 1 };
	uint8_t b[256], *data = b + SA_DATA_OFF;

	sa(b, MAD_METHOD_GET_RESP, SA_ATTR_NODE_RECORD, 0, 0);
	ib_node_rec_encode(data, &nr);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " LID 5 CA ports 0 node "));
	assert_non_null(strstr(line, " \"hca one\""));

	sa(b, MAD_METHOD_GET_RESP, SA_ATTR_PORT_INFO_RECORD, 0, 0);
	ib_port_info_rec_encode(data, &pr);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " EndPortLID 5 port 1 LID 0/0 "));

	sa(b, MAD_METHOD_SET, SA_ATTR_SERVICE_RECORD, 0, 0);
	ib_service_rec_encode(data, &sr);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(
		strstr(line, " ID 0x0000000000000010 GID :: P_Key 0xffff lease 60 \"svc\""));

	sa(b, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0, 0);
	mad_inform_info_encode(data, &ii);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " subscribe trap 66 type 0 QPN 0x000000 LIDs 65535-0"));
	ii.gid = gid("fe800000000000000000000000100001");
	ii.subscribe = false;
	mad_inform_info_encode(data, &ii);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " unsubscribe trap 66 type 0 QPN 0x000000 GID fe80::10:1"));

	sa(b, MAD_METHOD_GET_RESP, SA_ATTR_CLASS_PORT_INFO, 0, 0);
	mad_class_port_info_encode(data, &ci);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " version 1.2 CapabilityMask 0x2602 CapabilityMask2 0x000b5e8 "
				     "RespTimeValue 16 redirect to LID 3 QP 0x000001"));
}

static void test_print_rmpp(void **state)
{
	struct rmpp_hdr h = { .version = 1, .type = RMPP_TYPE_DATA, .flags = 7, .data1 = 1 };
	struct sa_hdr s = { .attr_offset = 8 };
	uint8_t b[256];

	h.data2 = 84;
	sa(b, MAD_METHOD_GET_TABLE_RESP, SA_ATTR_PATH_RECORD, 0, 0);
	rmpp_hdr_encode(b + SA_RMPP_OFF, &h);
	sa_hdr_encode(b + SA_HDR_OFF, &s);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(
		strstr(line, " RMPP DATA segment 1 first last PayloadLength 84 DGID :: SGID"));

	h.flags = RMPP_FLAG_ACTIVE;
	h.data1 = 2;
	rmpp_hdr_encode(b + SA_RMPP_OFF, &h);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " RMPP DATA segment 2 PayloadLength 84"));
	assert_null(strstr(line, "DGID"));

	h.type = RMPP_TYPE_ACK;
	rmpp_hdr_encode(b + SA_RMPP_OFF, &h);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " RMPP ACK segment 2 NewWindowLast 84"));

	h.type = RMPP_TYPE_ABORT;
	h.status = RMPP_STATUS_TMR;
	rmpp_hdr_encode(b + SA_RMPP_OFF, &h);
	print_mad(line, sizeof(line), b, sizeof(b));
	assert_non_null(strstr(line, " RMPP ABORT status 126"));
}

static void test_print_other_classes(void **state)
{
	struct pma_port_counters c = { .port_select = 1, .xmit_pkts = 46, .xmit_data = 3312 };
	uint8_t b[256] = { 1, MAD_CLASS_PERF, 1, MAD_METHOD_GET_RESP };

	b[17] = PMA_ATTR_PORT_COUNTERS;
	pma_port_counters_encode(b + PMA_DATA_OFF, &c);
	assert_line(b, sizeof(b),
		    "PerformanceGetResp PortCounters TID 0x0000000000000000 status 0x0000 port 1 "
		    "select 0x0000 xmit 46/3312 rcv 0/0");

	b[1] = MAD_CLASS_OPENIB_PING;
	b[3] = MAD_METHOD_GET;
	b[17] = 0;
	layout_hex(b + 37, 3, "001405");
	assert_line(b, sizeof(b),
		    "VendorGet attribute 0x0000 TID 0x0000000000000000 status 0x0000 OUI 0x001405");

	b[1] = 0x77;
	b[3] = 0x42;
	assert_line(
		b, sizeof(b),
		"? class 0x77 method 0x42 attribute 0x0000 TID 0x0000000000000000 status 0x0000");
	assert_line(b, 23, "MAD of 23 octets");
	assert_line(b, 0, "MAD of 0 octets");
}

/*
 * The text must be cut so that it fits into a buffer of any size. It must end with NUL, and nothing
 * may be written beyond the buffer.
 */
static void test_print_sidr(void **state)
{
	struct sidr_req q = { .request_id = 0x11223344,
			      .pkey = 0x8001,
			      .service_id = 0x0200004942415250 };
	struct sidr_rep r = { .request_id = 0x11223344,
			      .qpn = 0xffffff,
			      .service_id = q.service_id,
			      .qkey = 0x0b1b };
	struct sidr_group g = {
		.ver = 1,
		.sl = 2,
		.tclass = 3,
		.hop_limit = 4,
		.dlid = 0xc001,
		.pkey = 0x8001,
		.flow_label = 5,
		.qkey = 0x0b1b,
		.dgid = gid("ff12401b800100000000 0000ffffffff"),
	};
	uint8_t b[256];

	sidr_req_encode(b, 7, &q);
	assert_line(b, sizeof(b),
		    "ComMgtSend SIDR_REQ TID 0x0000000000000007 status 0x0000 RequestID 0x11223344 "
		    "ServiceID 0x0200004942415250 P_Key 0x8001");
	sidr_group_encode(r.priv, &g);
	sidr_rep_encode(b, 7, &r);
	assert_line(
		b, sizeof(b),
		"ComMgtSend SIDR_REP TID 0x0000000000000007 status 0x0000 RequestID 0x11223344 "
		"ServiceID 0x0200004942415250 Status 0 (OK) QPN 0xffffff Q_Key 0x00000b1b Ver 1 "
		"SL 2 TClass 0x03 DLID 0xc001 HopLmt 4 FlowLabel 0x00005 P_Key 0x8001 Q_Key "
		"0x00000b1b DGID ff12:401b:8001::ffff:ffff");
	assert_line(b, 100, "ComMgtSend SIDR_REP TID 0x0000000000000007 status 0x0000");
	memset(r.priv, 0, sizeof(r.priv));
	sidr_rep_encode(b, 7, &r);
	assert_line(b, sizeof(b),
		    "ComMgtSend SIDR_REP TID 0x0000000000000007 status 0x0000 RequestID 0x11223344 "
		    "ServiceID 0x0200004942415250 Status 0 (OK) QPN 0xffffff Q_Key 0x00000b1b");
	r.status = SIDR_STATUS_NO_SERVICE;
	sidr_rep_encode(b, 7, &r);
	assert_line(b, sizeof(b),
		    "ComMgtSend SIDR_REP TID 0x0000000000000007 status 0x0000 RequestID 0x11223344 "
		    "ServiceID 0x0200004942415250 Status 1 (ServiceID not supported)");
}

static void test_print_small_buffers(void **state)
{
	char whole[PRINT_LINE];
	uint8_t b[256];

	smp(b, MAD_CLASS_SM_DR, MAD_METHOD_GET_RESP, SMP_ATTR_NODE_INFO, 0);
	print_mad(whole, sizeof(whole), b, sizeof(b));
	for (size_t n = 0; n <= strlen(whole) + 1; n++) {
		char *p = malloc(n ? n : 1);

		assert_non_null(p);
		assert_ptr_equal(print_mad(p, n, b, sizeof(b)), p);
		if (n > 0) {
			assert_int_equal(strlen(p), n - 1);
			assert_memory_equal(p, whole, n - 1);
		}
		free(p);
	}
}

static void test_print_names(void **state)
{
	assert_string_equal(print_port_state(IB_PORT_ACTIVE), "Active");
	assert_string_equal(print_port_state(9), "?");
	assert_string_equal(print_node_type(IB_NODE_ROUTER), "Router");
	assert_string_equal(print_trap(MAD_TRAP_LINK_STATE), "link state of a switch changed");
	assert_string_equal(print_trap(132), "other");
	assert_string_equal(print_port_cap(SMP_CAP_IS_SM), "IsSM");
	assert_string_equal(print_port_cap(SMP_CAP_IS_SM | SMP_CAP_IS_NOTICE), "?");
	assert_string_equal(print_mad_class(MAD_CLASS_SM_DR), "SubnDR");
	assert_string_equal(print_mad_class(0x0a), "Vendor");
	assert_string_equal(print_mad_class(0x32), "Ping");
	assert_string_equal(print_mad_class(0x50), "?");
	assert_string_equal(print_mad_method(MAD_CLASS_SA, MAD_METHOD_DELETE_RESP),
			    "SubnAdmDeleteResp");
	assert_string_equal(print_mad_method(MAD_CLASS_SM_LID, MAD_METHOD_GET_TABLE), "?");
	assert_string_equal(print_mad_method(MAD_CLASS_CM, MAD_METHOD_SEND), "ComMgtSend");
	/* The same attribute ID names different attributes in different classes. */
	assert_string_equal(print_attr(MAD_CLASS_SM_LID, 0x12), "SwitchInfo");
	assert_string_equal(print_attr(MAD_CLASS_SA, 0x12), "PortInfoRecord");
	assert_string_equal(print_attr(MAD_CLASS_PERF, 0x12), "PortCounters");
	assert_string_equal(print_attr(MAD_CLASS_CM, 0x17), "SIDR_REQ");
	assert_string_equal(print_sidr_status(1), "ServiceID not supported");
	assert_string_equal(print_sidr_status(6), "?");
	assert_string_equal(print_attr(MAD_CLASS_BM, 0x01), "ClassPortInfo");
	assert_string_equal(print_attr(MAD_CLASS_SM_LID, 0x01), "?");
	assert_string_equal(print_sa_status(0x0600), "ERR_REQ_INSUFFICIENT_COMPONENTS");
	assert_string_equal(print_sa_status(0), "OK");
	assert_string_equal(print_sa_status(0xff00), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print_directed_route),
		cmocka_unit_test(test_print_longest_route),
		cmocka_unit_test(test_print_port_info),
		cmocka_unit_test(test_print_smp_attributes),
		cmocka_unit_test(test_print_traps),
		cmocka_unit_test(test_print_traps_of_wrong_keys),
		cmocka_unit_test(test_print_traps_of_a_wrong_mkey),
		cmocka_unit_test(test_print_mcmember_record),
		cmocka_unit_test(test_print_path_record),
		cmocka_unit_test(test_print_other_records),
		cmocka_unit_test(test_print_rmpp),
		cmocka_unit_test(test_print_other_classes),
		cmocka_unit_test(test_print_sidr),
		cmocka_unit_test(test_print_small_buffers),
		cmocka_unit_test(test_print_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
