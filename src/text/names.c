/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/print.h"

#include "util/list.h"
#include "wire/cm_sidr.h"
#include "wire/mad.h"
#include "wire/pma.h"
#include "wire/sa.h"
#include "wire/smp.h"

struct name {
	unsigned int code;
	const char *text;
};

static const char *name_of(const struct name *v, size_t n, unsigned int code, const char *other)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].code == code)
			return v[i].text;
	}
	return other;
}

#define NAME_OF(table, code) name_of(table, ARRAY_SIZE(table), code, "?")

const char *print_port_state(unsigned int state)
{
	static const struct name states[] = {
		{ IB_PORT_NOP, "NoChange" }, { IB_PORT_DOWN, "Down" },	   { IB_PORT_INIT, "Init" },
		{ IB_PORT_ARMED, "Armed" },  { IB_PORT_ACTIVE, "Active" },
	};

	return NAME_OF(states, state);
}

/* Traps 64 to 67 are defined in IBA 15.2.4, and traps of 128 and above in IBA 14.2.5.1, table "Traps". */
const char *print_trap(unsigned int trap)
{
	static const struct name traps[] = {
		{ MAD_TRAP_GID_IN_SERVICE, "GID in service" },
		{ MAD_TRAP_GID_OUT_OF_SERVICE, "GID out of service" },
		{ MAD_TRAP_MC_CREATED, "multicast group created" },
		{ MAD_TRAP_MC_DELETED, "multicast group deleted" },
		{ MAD_TRAP_LINK_STATE, "link state of a switch changed" },
		{ MAD_TRAP_LINK_INTEGRITY, "local link integrity errors reached the threshold" },
		{ MAD_TRAP_BUFFER_OVERRUN, "excessive buffer overruns reached the threshold" },
		{ MAD_TRAP_FLOW_WATCHDOG, "flow control update watchdog timer expired" },
		{ MAD_TRAP_CAP_CHANGE, "capabilities changed" },
		{ MAD_TRAP_SYSGUID_CHANGE, "SystemImageGUID changed" },
		{ MAD_TRAP_BAD_MKEY, "bad M_Key" },
		{ MAD_TRAP_BAD_PKEY, "bad P_Key at an HCA" },
		{ MAD_TRAP_BAD_QKEY, "bad Q_Key" },
		{ MAD_TRAP_SWITCH_BAD_PKEY, "bad P_Key at a switch" },
	};

	return name_of(traps, ARRAY_SIZE(traps), trap, "other");
}

const char *print_port_cap(uint32_t bit)
{
	static const struct name caps[] = {
		{ SMP_CAP_IS_SM, "IsSM" },
		{ SMP_CAP_IS_NOTICE, "IsNoticeSupported" },
		{ SMP_CAP_IS_TRAP, "IsTrapSupported" },
		{ SMP_CAP_IS_OPT_IPD, "IsOptionalIPDSupported" },
		{ SMP_CAP_IS_AUTO_MIGR, "IsAutomaticMigrationSupported" },
		{ SMP_CAP_IS_SL_MAP, "IsSLMappingSupported" },
		{ SMP_CAP_IS_LED_INFO, "IsLEDInfoSupported" },
		{ SMP_CAP_IS_SM_DISABLED, "IsSMdisabled" },
		{ SMP_CAP_IS_SYS_GUID, "IsSystemImageGUIDSupported" },
		{ SMP_CAP_IS_PKEY_TRAP, "IsPKeySwitchExternalPortTrapSupported" },
		{ SMP_CAP_IS_EXT_SPEEDS, "IsExtendedSpeedsSupported" },
		{ SMP_CAP_IS_CAP_MASK2, "IsCapabilityMask2Supported" },
		{ SMP_CAP_IS_CM, "IsCommunicationManagementSupported" },
		{ SMP_CAP_IS_DEVICE_MGMT, "IsDeviceManagementSupported" },
		{ SMP_CAP_IS_VENDOR_CLASS, "IsVendorClassSupported" },
		{ SMP_CAP_IS_CAP_MASK_NOTICE, "IsCapabilityMaskNoticeSupported" },
		{ SMP_CAP_IS_CLIENT_REREG, "IsClientReregistrationSupported" },
	};

	return NAME_OF(caps, bit);
}

const char *print_node_type(unsigned int type)
{
	static const struct name types[] = {
		{ IB_NODE_CA, "CA" },
		{ IB_NODE_SWITCH, "Switch" },
		{ IB_NODE_ROUTER, "Router" },
	};

	return NAME_OF(types, type);
}

static bool class_is_vendor(unsigned int mgmt_class)
{
	return (mgmt_class >= 0x09 && mgmt_class <= 0x0f) ||
	       (mgmt_class >= MAD_CLASS_VENDOR2_MIN && mgmt_class <= MAD_CLASS_VENDOR2_MAX);
}

const char *print_mad_class(unsigned int mgmt_class)
{
	static const struct name classes[] = {
		{ MAD_CLASS_SM_LID, "SubnLID" },
		{ MAD_CLASS_SM_DR, "SubnDR" },
		{ MAD_CLASS_SA, "SubnAdm" },
		{ MAD_CLASS_PERF, "Performance" },
		{ MAD_CLASS_BM, "BM" },
		{ MAD_CLASS_DEVICE, "DevMgt" },
		{ MAD_CLASS_CM, "ComMgt" },
		{ MAD_CLASS_SNMP, "Snmp" },
		{ MAD_CLASS_OPENIB_PING, "Ping" },
	};
	const char *s = NAME_OF(classes, mgmt_class);

	return *s == '?' && class_is_vendor(mgmt_class) ? "Vendor" : s;
}

/* Names of methods begin with the name of their class (IBTA 13.4.5): "SubnGet", "SubnAdmGet". */
/* clang-format off */
#define METHODS(prefix) \
	{ MAD_METHOD_GET, prefix "Get" }, \
	{ MAD_METHOD_SET, prefix "Set" }, \
	{ MAD_METHOD_GET_RESP, prefix "GetResp" }, \
	{ MAD_METHOD_SEND, prefix "Send" }, \
	{ MAD_METHOD_TRAP, prefix "Trap" }, \
	{ MAD_METHOD_TRAP_REPRESS, prefix "TrapRepress" }, \
	{ MAD_METHOD_REPORT, prefix "Report" }, \
	{ MAD_METHOD_REPORT_RESP, prefix "ReportResp" }
/* clang-format on */

static const struct name sm_methods[] = { METHODS("Subn") };
static const struct name sa_methods[] = {
	METHODS("SubnAdm"),
	{ MAD_METHOD_GET_TABLE, "SubnAdmGetTable" },
	{ MAD_METHOD_GET_TABLE_RESP, "SubnAdmGetTableResp" },
	{ MAD_METHOD_GET_TRACE_TABLE, "SubnAdmGetTraceTable" },
	{ MAD_METHOD_GET_MULTI, "SubnAdmGetMulti" },
	{ MAD_METHOD_GET_MULTI_RESP, "SubnAdmGetMultiResp" },
	{ MAD_METHOD_DELETE, "SubnAdmDelete" },
	{ MAD_METHOD_DELETE_RESP, "SubnAdmDeleteResp" },
};
static const struct name perf_methods[] = { METHODS("Performance") };
static const struct name bm_methods[] = { METHODS("BM") };
static const struct name device_methods[] = { METHODS("DevMgt") };
static const struct name cm_methods[] = { METHODS("ComMgt") };
static const struct name snmp_methods[] = { METHODS("Snmp") };
static const struct name vendor_methods[] = { METHODS("Vendor") };

const char *print_mad_method(unsigned int mgmt_class, unsigned int method)
{
	switch (mgmt_class) {
	case MAD_CLASS_SM_LID:
	case MAD_CLASS_SM_DR:
		return NAME_OF(sm_methods, method);
	case MAD_CLASS_SA:
		return NAME_OF(sa_methods, method);
	case MAD_CLASS_PERF:
		return NAME_OF(perf_methods, method);
	case MAD_CLASS_BM:
		return NAME_OF(bm_methods, method);
	case MAD_CLASS_DEVICE:
		return NAME_OF(device_methods, method);
	case MAD_CLASS_CM:
		return NAME_OF(cm_methods, method);
	case MAD_CLASS_SNMP:
		return NAME_OF(snmp_methods, method);
	default:
		return class_is_vendor(mgmt_class) ? NAME_OF(vendor_methods, method) : "?";
	}
}

static const struct name common_attrs[] = {
	{ MAD_ATTR_CLASS_PORT_INFO, "ClassPortInfo" },
	{ MAD_ATTR_NOTICE, "Notice" },
	{ MAD_ATTR_INFORM_INFO, "InformInfo" },
};

static const struct name smp_attrs[] = {
	{ SMP_ATTR_NOTICE, "Notice" },
	{ SMP_ATTR_NODE_DESC, "NodeDescription" },
	{ SMP_ATTR_NODE_INFO, "NodeInfo" },
	{ SMP_ATTR_SWITCH_INFO, "SwitchInfo" },
	{ SMP_ATTR_GUID_INFO, "GUIDInfo" },
	{ SMP_ATTR_PORT_INFO, "PortInfo" },
	{ SMP_ATTR_PKEY_TABLE, "P_KeyTable" },
	{ SMP_ATTR_SLTOVL, "SLtoVLMappingTable" },
	{ SMP_ATTR_VLARB, "VLArbitrationTable" },
	{ SMP_ATTR_LFT, "LinearForwardingTable" },
	{ SMP_ATTR_RFT, "RandomForwardingTable" },
	{ SMP_ATTR_MFT, "MulticastForwardingTable" },
	{ SMP_ATTR_SM_INFO, "SMInfo" },
	{ SMP_ATTR_VENDOR_DIAG, "VendorDiag" },
	{ SMP_ATTR_LED_INFO, "LedInfo" },
};

static const struct name sa_attrs[] = {
	{ SA_ATTR_NODE_RECORD, "NodeRecord" },
	{ SA_ATTR_PORT_INFO_RECORD, "PortInfoRecord" },
	{ SA_ATTR_SLTOVL_RECORD, "SLtoVLMappingTableRecord" },
	{ SA_ATTR_SWITCH_INFO_RECORD, "SwitchInfoRecord" },
	{ SA_ATTR_LFT_RECORD, "LinearForwardingTableRecord" },
	{ SA_ATTR_MFT_RECORD, "MulticastForwardingTableRecord" },
	{ SA_ATTR_SM_INFO_RECORD, "SMInfoRecord" },
	{ SA_ATTR_LINK_RECORD, "LinkRecord" },
	{ SA_ATTR_GUID_INFO_RECORD, "GuidInfoRecord" },
	{ SA_ATTR_SERVICE_RECORD, "ServiceRecord" },
	{ SA_ATTR_PKEY_TABLE_RECORD, "P_KeyTableRecord" },
	{ SA_ATTR_PATH_RECORD, "PathRecord" },
	{ SA_ATTR_VLARB_RECORD, "VLArbitrationTableRecord" },
	{ SA_ATTR_MCMEMBER_RECORD, "MCMemberRecord" },
	{ SA_ATTR_MULTI_PATH_RECORD, "MultiPathRecord" },
	{ SA_ATTR_INFORM_INFO_RECORD, "InformInfoRecord" },
};

static const struct name cm_attrs[] = {
	{ CM_ATTR_REQ, "REQ" },		  { CM_ATTR_MRA, "MRA" },
	{ CM_ATTR_REJ, "REJ" },		  { CM_ATTR_REP, "REP" },
	{ CM_ATTR_RTU, "RTU" },		  { CM_ATTR_DREQ, "DREQ" },
	{ CM_ATTR_DREP, "DREP" },	  { CM_ATTR_SIDR_REQ, "SIDR_REQ" },
	{ CM_ATTR_SIDR_REP, "SIDR_REP" }, { CM_ATTR_LAP, "LAP" },
	{ CM_ATTR_APR, "APR" },
};

static const struct name perf_attrs[] = {
	{ PMA_ATTR_PORT_SAMPLES_CONTROL, "PortSamplesControl" },
	{ PMA_ATTR_PORT_SAMPLES_RESULT, "PortSamplesResult" },
	{ PMA_ATTR_PORT_COUNTERS, "PortCounters" },
	{ PMA_ATTR_PORT_RCV_ERROR_DETAILS, "PortRcvErrorDetails" },
	{ PMA_ATTR_PORT_XMIT_DISCARD_DETAILS, "PortXmitDiscardDetails" },
	{ PMA_ATTR_PORT_COUNTERS_EXT, "PortCountersExtended" },
	{ PMA_ATTR_PORT_XMIT_DATA_SL, "PortXmitDataSL" },
	{ PMA_ATTR_PORT_RCV_DATA_SL, "PortRcvDataSL" },
};

const char *print_attr(unsigned int mgmt_class, unsigned int attr)
{
	const char *s = "?";

	switch (mgmt_class) {
	case MAD_CLASS_SM_LID:
	case MAD_CLASS_SM_DR:
		/*
		 * common_attrs is not searched: SMPs have only one of its attributes, Notice, and
		 * smp_attrs lists Notice, too
		 */
		return NAME_OF(smp_attrs, attr);
	case MAD_CLASS_SA:
		s = NAME_OF(sa_attrs, attr);
		break;
	case MAD_CLASS_CM:
		s = NAME_OF(cm_attrs, attr);
		break;
	case MAD_CLASS_PERF:
		s = NAME_OF(perf_attrs, attr);
		break;
	}
	return *s == '?' ? NAME_OF(common_attrs, attr) : s;
}

const char *print_sidr_status(unsigned int status)
{
	static const struct name statuses[] = {
		{ SIDR_STATUS_OK, "OK" },
		{ SIDR_STATUS_NO_SERVICE, "ServiceID not supported" },
		{ SIDR_STATUS_REJECTED, "rejected by the service provider" },
		{ SIDR_STATUS_NO_QP, "no QP available" },
		{ SIDR_STATUS_REDIRECT, "redirected" },
		{ SIDR_STATUS_VERSION, "class version not supported" },
	};

	return NAME_OF(statuses, status);
}

const char *print_sa_status(unsigned int status)
{
	static const struct name errors[] = {
		{ 0, "OK" },
		{ SA_STATUS_NO_RESOURCES, "ERR_NO_RESOURCES" },
		{ SA_STATUS_REQ_INVALID, "ERR_REQ_INVALID" },
		{ SA_STATUS_NO_RECORDS, "ERR_NO_RECORDS" },
		{ SA_STATUS_TOO_MANY_RECORDS, "ERR_TOO_MANY_RECORDS" },
		{ SA_STATUS_INVALID_GID, "ERR_REQ_INVALID_GID" },
		{ SA_STATUS_INSUF_COMPONENTS, "ERR_REQ_INSUFFICIENT_COMPONENTS" },
		{ SA_STATUS_DENIED, "ERR_REQ_DENIED" },
		{ SA_STATUS_PRIO_SUGGESTED, "ERR_PRIORITY_SUGGESTED" },
		{ MAD_STATUS_BUSY, "busy" },
		{ MAD_STATUS_REDIRECT, "redirect" },
		{ MAD_STATUS_BAD_VERSION, "class or version not supported" },
		{ MAD_STATUS_BAD_METHOD, "method not supported" },
		{ MAD_STATUS_BAD_ATTR, "method and attribute not supported together" },
		{ MAD_STATUS_BAD_VALUE, "invalid attribute or modifier" },
	};

	return NAME_OF(errors, status);
}
