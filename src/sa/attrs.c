/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

/*
 * Table of the attributes and their handlers. A request for an attribute that is not in the table,
 * such as RandomForwardingTableRecord, is answered with an error status.
 */

#define RESP_TIME 18 /* ClassPortInfo:RespTimeValue: 4.096 us x 2^18 = 1 s */
#define SELF_QP 1
#define SELF_QKEY 0x80010000

static sa_handler class_port_info;

static const struct sa_attr_ops attrs[] = {
	{
		.attr = SA_ATTR_PATH_RECORD,
		.rec_len = PATH_REC_LEN,
		.first = true,
		.collect = sa_path_collect,
	},
	{
		.attr = SA_ATTR_MULTI_PATH_RECORD,
		.rec_len = PATH_REC_LEN,
		.multi = sa_multi_path_collect,
	},
	{
		.attr = SA_ATTR_MCMEMBER_RECORD,
		.rec_len = MCMEMBER_REC_LEN,
		.collect = sa_mcmember_collect,
		.set = sa_mcmember_set,
		.del = sa_mcmember_delete,
	},
	{
		.attr = SA_ATTR_NODE_RECORD,
		.rec_len = NODE_REC_LEN,
		.collect = sa_node_collect,
	},
	{
		.attr = SA_ATTR_PORT_INFO_RECORD,
		.rec_len = PORT_INFO_REC_LEN,
		.collect = sa_port_collect,
	},
	{
		.attr = SA_ATTR_SERVICE_RECORD,
		.rec_len = SERVICE_REC_LEN,
		.collect = sa_service_collect,
		.set = sa_service_set,
		.del = sa_service_delete,
	},
	{
		.attr = SA_ATTR_INFORM_INFO,
		.rec_len = MAD_INFORM_INFO_LEN,
		.set = sa_inform_set,
	},
	{
		.attr = SA_ATTR_INFORM_INFO_RECORD,
		.rec_len = INFORM_REC_LEN,
		.collect = sa_inform_collect,
	},
	{
		.attr = SA_ATTR_CLASS_PORT_INFO,
		.rec_len = MAD_CLASS_PORT_INFO_LEN,
		.no_table = true,
		.collect = class_port_info,
	},
	{
		.attr = SA_ATTR_LINK_RECORD,
		.rec_len = LINK_REC_LEN,
		.collect = sa_link_collect,
	},
	{
		.attr = SA_ATTR_SM_INFO_RECORD,
		.rec_len = SM_INFO_REC_LEN,
		.collect = sa_sm_info_collect,
	},
	{
		.attr = SA_ATTR_SWITCH_INFO_RECORD,
		.rec_len = SWITCH_INFO_REC_LEN,
		.collect = sa_switch_info_collect,
	},
	{
		.attr = SA_ATTR_LFT_RECORD,
		.rec_len = TABLE_REC_LEN,
		.collect = sa_lft_collect,
	},
	{
		.attr = SA_ATTR_MFT_RECORD,
		.rec_len = TABLE_REC_LEN,
		.collect = sa_mft_collect,
	},
	{
		.attr = SA_ATTR_PKEY_TABLE_RECORD,
		.rec_len = TABLE_REC_LEN,
		.collect = sa_pkey_collect,
	},
	{
		.attr = SA_ATTR_SLTOVL_RECORD,
		.rec_len = SLTOVL_REC_LEN,
		.collect = sa_sltovl_collect,
	},
	{
		.attr = SA_ATTR_VLARB_RECORD,
		.rec_len = TABLE_REC_LEN,
		.collect = sa_vlarb_collect,
	},
	{
		.attr = SA_ATTR_GUID_INFO_RECORD,
		.rec_len = TABLE_REC_LEN,
		.collect = sa_guid_collect,
	},
};

const struct sa_attr_ops *sa_attr_find(uint16_t attr)
{
	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		if (attrs[i].attr == attr)
			return &attrs[i];
	}
	return NULL;
}

static uint16_t class_port_info(struct sa_req *r, struct sa_table *t)
{
	const struct mad_class_port_info info = {
		.base_version = MAD_BASE_VERSION,
		.class_version = SA_CLASS_VERSION,
		.cap_mask = SA_CAP_UD_MCAST | SA_CAP_MULTIPATH | SA_CAP_PORT_INFO_MATCH,
		.cap_mask2 = SA_CAP2_MFT_TOP | SA_CAP2_FULL_PORT_INFO | SA_CAP2_EXT_SPEEDS |
			     SA_CAP2_MCAST_SERVICES | SA_CAP2_PORT_INFO_MATCH2 |
			     SA_CAP2_SEND_ONLY_FULL_MEMBER,
		.resp_time = RESP_TIME,
		.redirect_qp = SELF_QP,
		.redirect_qkey = SELF_QKEY,
		.trap_qkey = SELF_QKEY,
	};
	uint8_t *slot = sa_table_add(t);

	if (!slot)
		return SA_DROP;
	mad_class_port_info_encode(slot, &info);
	return 0;
}
