/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "verbs/priv.h"

/*
 * Drivers whose UD queue pairs in user space obey IBV_SEND_IP_CSUM (rdma-core v44). The flag IBV_DEVICE_UD_IP_CSUM of a
 * device is about its queue pairs in the kernel, too: mlx5 sets it, but ignores the flag of a send on an ordinary UD
 * queue pair of a user (providers/mlx5/qp.c, where only an underlay queue pair has the segment for it), so that packets
 * would leave without checksum. A driver that is not in the list gets whole checksums.
 */
static const char *const drivers[] = { "mlx4_core" };

static bool obeys(const struct verbs_port *p)
{
	char name[64];

	if (p->lib->driver_read(p->device, name, sizeof(name)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (!strcmp(drivers[i], name))
			return true;
	return false;
}

/*
 * The flag of a completion needs no such list, because a driver that does not verify checksums never sets it. It has
 * no meaning if the device lacks the capability (ibv_poll_cq(3)).
 */
void verbs_csum_detect(struct verbs_port *p)
{
	bool offered = p->limits.device_cap_flags & IBV_DEVICE_UD_IP_CSUM;

	p->rx_csum = offered ? IBV_WC_IP_CSUM_OK : 0;
	p->ca.csum = offered && obeys(p);
}
