/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMD_FABRIC_H
#define CMD_FABRIC_H

/*
 * The commands about fabrics, grouped by the files that define them. The table of the commands is
 * in fabric.c.
 */

#include "cmd/cmd.h"

/* defined in fabric_port.c */
ctl_fn cmd_fabric_port_show, cmd_fabric_link_set;
/* defined in fabric_map.c */
ctl_fn cmd_fabric_map, cmd_fabric_load, cmd_fabric_route;
/* defined in udp.c */
ctl_fn cmd_fabric_udp_show, cmd_fabric_udp_attach;
/* defined in fabric_fwd.c */
ctl_fn cmd_fabric_lft_show, cmd_fabric_lft_set, cmd_fabric_mft_show;
/* defined in fabric_sm.c */
ctl_fn cmd_fabric_sm_show, cmd_fabric_sm_start, cmd_fabric_sm_stop, cmd_fabric_sm_restart,
	cmd_fabric_sweep, cmd_fabric_lid_set, cmd_fabric_partition_show, cmd_fabric_partition_load,
	cmd_fabric_group_show;

/*
 * cmd_sm_object() - Return the state and the figures of an SM, for `fabric show` and `fabric sm
 * show`
 */
json_t *cmd_sm_object(const struct inst_fabric *f, ns_t now);

/* cmd_arg_node() - Return the node that the argument "node" names; NULL after an error was sent */
struct fabric_node *cmd_arg_node(struct ctl_req *r, struct inst_fabric *f);

#endif
