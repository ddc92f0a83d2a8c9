/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cmd.h"

/* Each file of this folder that answers commands ends with its table, whose last row has a NULL name. */
extern const struct ctl_cmd cmd_link[], cmd_neigh[], cmd_path[], cmd_path_show[], cmd_maddr[],
	cmd_stats[], cmd_fabric[], cmd_fault[], cmd_capture[], cmd_trace[], cmd_instance[],
	cmd_monitor[], cmd_inject[], cmd_reload[];

const struct ctl_cmd *const cmd_tables[] = {
	cmd_link,     cmd_neigh,   cmd_path,   cmd_path_show, cmd_maddr,
	cmd_stats,    cmd_fabric,  cmd_fault,  cmd_capture,   cmd_trace,
	cmd_instance, cmd_monitor, cmd_inject, cmd_reload,    NULL,
};
