/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/cmd.h"

const struct ctl_cmd cmd_neigh[] = {
	{ NULL },
};
