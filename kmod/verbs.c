// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "uib.h"

static int query_device(struct ib_device *ibdev, struct ib_device_attr *a, struct ib_udata *udata)
{
	memset(a, 0, sizeof(*a));
	a->sys_image_guid = ibdev->node_guid;
	a->page_size_cap = PAGE_SIZE;
	a->max_mr_size = ~0ull;
	a->hw_ver = 1;
	a->fw_ver = 1ull << 32;
	a->max_qp = UIB_USER_QPS;
	a->max_qp_wr = UIB_MAX_WR;
	a->max_send_sge = UIB_MAX_SGE;
	a->max_recv_sge = UIB_MAX_SGE;
	a->max_cq = UIB_USER_CQS;
	a->max_cqe = UIB_MAX_CQE;
	a->max_mr = UIB_USER_MRS;
	a->max_pd = UIB_USER_PDS;
	a->max_ah = UIB_USER_AHS;
	a->max_pkeys = UIB_PKEYS;
	a->max_mcast_grp = UIB_USER_MCASTS;
	a->max_mcast_qp_attach = UIB_USER_MCASTS;
	a->max_total_mcast_qp_attach = UIB_USER_MCASTS;
	a->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR |
			      IB_DEVICE_CHANGE_PHY_PORT | IB_DEVICE_SHUTDOWN_PORT |
			      IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_UD_AV_PORT_ENFORCE |
			      IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SYS_IMAGE_GUID |
			      IB_DEVICE_UD_IP_CSUM;
	uib_set_kernel_caps(a);
	return 0;
}

static int modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *m)
{
	struct uib_dev *dev = to_uib(ibdev);

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	spin_lock_bh(&dev->port.lock);
	memcpy(ibdev->node_desc, m->node_desc, IB_DEVICE_NODE_DESC_MAX);
	spin_unlock_bh(&dev->port.lock);
	uib_trap_cap_change(dev, true);
	return 0;
}

static void get_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "1.0.0");
}

static int get_port_immutable(struct ib_device *ibdev, u32 port, struct ib_port_immutable *im)
{
	im->pkey_tbl_len = UIB_PKEYS;
	im->gid_tbl_len = UIB_GUIDS;
	im->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	im->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_INFINIBAND;
}

/* --- protection domains */

static int alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	struct uib_quota *quota = uib_quota_of(udata);

	container_of(pd, struct uib_pd, ibpd)->quota = quota;
	return uib_quota_take(quota, UIB_Q_PD);
}

static int dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	uib_quota_give(container_of(pd, struct uib_pd, ibpd)->quota, UIB_Q_PD);
	return 0;
}

/* --- address handles */

static int create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct uib_ah *ah = container_of(ibah, struct uib_ah, ibah);
	const struct rdma_ah_attr *attr = init->ah_attr;
	struct uib_av *av = &ah->av;

	if (attr->type != RDMA_AH_ATTR_TYPE_IB || rdma_ah_get_port_num(attr) != UIB_PORT)
		return -EINVAL;
	av->dlid = rdma_ah_get_dlid(attr);
	av->sl = rdma_ah_get_sl(attr) & 0xf;
	av->path_bits = rdma_ah_get_path_bits(attr);
	av->has_grh = rdma_ah_get_ah_flags(attr) & IB_AH_GRH;
	ah->static_rate = rdma_ah_get_static_rate(attr);
	if (av->has_grh) {
		const struct ib_global_route *grh = rdma_ah_read_grh(attr);

		if (grh->sgid_index >= UIB_GUIDS)
			return -EINVAL;
		av->sgid_index = grh->sgid_index;
		av->tclass = grh->traffic_class;
		av->hop_limit = grh->hop_limit;
		av->flow_label = grh->flow_label;
		av->dgid = grh->dgid;
	}
	if (uib_lid_is_mcast(av->dlid) && !av->has_grh)
		return -EINVAL;
	ah->quota = uib_quota_of(udata);
	return uib_quota_take(ah->quota, UIB_Q_AH);
}

static int query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct uib_ah *ah = container_of(ibah, struct uib_ah, ibah);
	const struct uib_av *av = &ah->av;

	memset(attr, 0, sizeof(*attr));
	attr->type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_port_num(attr, UIB_PORT);
	rdma_ah_set_dlid(attr, av->dlid);
	rdma_ah_set_sl(attr, av->sl);
	rdma_ah_set_path_bits(attr, av->path_bits);
	rdma_ah_set_static_rate(attr, ah->static_rate);
	if (av->has_grh) {
		rdma_ah_set_grh(attr, NULL, av->flow_label, av->sgid_index, av->hop_limit,
				av->tclass);
		rdma_ah_set_dgid_raw(attr, (void *)av->dgid.raw);
	}
	return 0;
}

/*
 * An address handle may be destroyed at any time, because each posted work request has a copy of
 * the address.
 */
static int destroy_ah(struct ib_ah *ibah, u32 flags)
{
	uib_quota_give(container_of(ibah, struct uib_ah, ibah)->quota, UIB_Q_AH);
	return 0;
}

/* --- sysfs files that every HCA has, and that tools read */

static ssize_t hw_rev_show(struct device *d, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "1\n");
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t hca_type_show(struct device *d, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "uib\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t board_id_show(struct device *d, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "software\n");
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *dev_attrs[] = {
	&dev_attr_hw_rev.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_board_id.attr,
	NULL,
};

static const struct attribute_group dev_group = { .attrs = dev_attrs };

const struct ib_device_ops uib_ops = {
	.owner = THIS_MODULE,
	/*
	 * rdma-core chooses its provider by these two values. These values select the provider
	 * ipathverbs, whose ABI 1 maps no memory of the device.
	 */
	.driver_id = RDMA_DRIVER_QIB,
	.uverbs_abi_ver = 1,
	.device_group = &dev_group,

	.alloc_pd = alloc_pd,
	.alloc_ucontext = uib_alloc_ucontext,
	.attach_mcast = uib_attach_mcast,
	.create_ah = create_ah,
	.create_cq = uib_create_cq,
	.create_qp = uib_create_qp,
	.create_user_ah = create_ah,
	.dealloc_driver = uib_dealloc,
	.dealloc_pd = dealloc_pd,
	.dealloc_ucontext = uib_dealloc_ucontext,
	.dereg_mr = uib_dereg_mr,
	.destroy_ah = destroy_ah,
	.destroy_cq = uib_destroy_cq,
	.destroy_qp = uib_destroy_qp,
	.detach_mcast = uib_detach_mcast,
	.disassociate_ucontext = uib_disassociate_ucontext,
	.enable_driver = uib_enable,
	.get_dev_fw_str = get_fw_str,
	.get_dma_mr = uib_get_dma_mr,
	.get_link_layer = get_link_layer,
	.get_port_immutable = get_port_immutable,
	.modify_device = modify_device,
	.modify_port = uib_modify_port,
	.modify_qp = uib_modify_qp,
	.poll_cq = uib_poll_cq,
	.post_recv = uib_post_recv,
	.post_send = uib_post_send,
	.process_mad = uib_process_mad,
	.query_ah = query_ah,
	.query_device = query_device,
	.query_gid = uib_query_gid,
	.query_pkey = uib_query_pkey,
	.query_port = uib_query_port,
	.query_qp = uib_query_qp,
	.reg_user_mr = uib_reg_user_mr,
	.req_notify_cq = uib_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, uib_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, uib_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_qp, uib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_pd, uib_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, uib_ucontext, ibuc),
};
