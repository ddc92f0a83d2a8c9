// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * The files in /sys/kernel/debug/uib/NAME: "stats" has a line for each counter, "link" shows the
 * state of the link.
 */

#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "uib.h"

static struct dentry *root;

static const char *const names[UIB_C_MAX] = {
	[UIB_C_XMIT_DATA] = "xmit_data",
	[UIB_C_RCV_DATA] = "rcv_data",
	[UIB_C_XMIT_PKTS] = "xmit_pkts",
	[UIB_C_RCV_PKTS] = "rcv_pkts",
	[UIB_C_UCAST_XMIT] = "ucast_xmit_pkts",
	[UIB_C_UCAST_RCV] = "ucast_rcv_pkts",
	[UIB_C_MCAST_XMIT] = "mcast_xmit_pkts",
	[UIB_C_MCAST_RCV] = "mcast_rcv_pkts",
	[UIB_C_LINK_DOWNED] = "link_downed",
	[UIB_C_RCV_ERRORS] = "rcv_errors",
	[UIB_C_RCV_PHYSICAL] = "rcv_local_physical_errors",
	[UIB_C_RCV_MALFORMED] = "rcv_malformed",
	[UIB_C_XMIT_DISCARDS] = "xmit_discards",
	[UIB_C_XMIT_INACTIVE] = "xmit_inactive_discards",
	[UIB_C_XMIT_MTU] = "xmit_mtu_discards",
	[UIB_C_VL15_DROPPED] = "vl15_dropped",
	[UIB_C_RX_KEEPALIVES] = "rx_keepalives",
	[UIB_C_TX_KEEPALIVES] = "tx_keepalives",
	[UIB_C_LINK_UPS] = "ups",
	[UIB_DROP_SILENT] = "drop_silent",
	[UIB_DROP_STRAY_ADDR] = "drop_stray_address",
	[UIB_DROP_STRAY_PORT] = "drop_stray_port",
	[UIB_DROP_SHORT] = "drop_too_short",
	[UIB_DROP_OVERSIZED] = "drop_oversized",
	[UIB_DROP_LVER] = "drop_link_version",
	[UIB_DROP_LEN] = "drop_length",
	[UIB_DROP_VCRC] = "drop_vcrc",
	[UIB_DROP_ICRC] = "drop_icrc",
	[UIB_DROP_VERSION] = "drop_version",
	[UIB_DROP_PORT_STATE] = "drop_port_state",
	[UIB_DROP_VL15] = "drop_vl15",
	[UIB_DROP_MTU] = "drop_mtu",
	[UIB_DROP_DLID] = "drop_dlid",
	[UIB_DROP_DGID] = "drop_dgid",
	[UIB_DROP_NO_GRH] = "drop_no_grh",
	[UIB_DROP_QPN] = "drop_qpn",
	[UIB_DROP_QP_STATE] = "drop_qp_state",
	[UIB_DROP_MGID] = "drop_mgid",
	[UIB_DROP_PKEY] = "drop_pkey",
	[UIB_DROP_QKEY] = "drop_qkey",
	[UIB_DROP_NO_RX] = "drop_no_receive",
	[UIB_DROP_NO_MEM] = "drop_no_memory",
	[UIB_DROP_CQ_FULL] = "drop_cq_full",
	[UIB_DROP_MKEY] = "drop_mkey",
	[UIB_DROP_TX_STATE] = "drop_tx_state",
	[UIB_DROP_TX_MTU] = "drop_tx_mtu",
	[UIB_DROP_TX_PKEY] = "drop_tx_pkey",
	[UIB_DROP_TX_VL15] = "drop_tx_vl15",
	[UIB_DROP_TX_DOWN] = "drop_tx_link_down",
	[UIB_DROP_TX_ERROR] = "drop_tx_error",
};

u64 uib_counter_sum(const struct uib_dev *dev, enum uib_counter c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->counters, cpu)[c]);
	return sum;
}

static int stats_show(struct seq_file *m, void *v)
{
	const struct uib_dev *dev = m->private;
	unsigned int i;

	for (i = 0; i < UIB_C_MAX; i++)
		if (names[i])
			seq_printf(m, "%s %llu\n", names[i], uib_counter_sum(dev, i));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int link_show(struct seq_file *m, void *v)
{
	struct uib_dev *dev = m->private;
	struct uib_link *l = &dev->link;
	enum uib_link_state state;
	union uib_addr peer;
	bool has_peer;

	spin_lock_bh(&l->lock);
	state = l->state;
	has_peer = l->has_peer;
	peer = l->peer;
	spin_unlock_bh(&l->lock);
	seq_printf(m, "state %s\nlisten %pISpc\n", uib_link_state_name(state), &l->listen.sa);
	if (has_peer)
		seq_printf(m, "peer %pISpc\n", &peer.sa);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(link);

void uib_stats_add(struct uib_dev *dev)
{
	dev->debugfs = debugfs_create_dir(dev_name(&dev->ibdev.dev), root);
	debugfs_create_file("stats", 0444, dev->debugfs, dev, &stats_fops);
	debugfs_create_file("link", 0444, dev->debugfs, dev, &link_fops);
}

void uib_stats_init(void)
{
	root = debugfs_create_dir("uib", NULL);
}

void uib_stats_exit(void)
{
	debugfs_remove(root);
}
