/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "verbs/priv.h"

/*
 * Drivers whose UD queue pairs in user space obey IBV_SEND_IP_CSUM (rdma-core v44). The device flag
 * IBV_DEVICE_UD_IP_CSUM is not sufficient: a driver may set it although only its queue pairs in the
 * kernel obey. For example, mlx5 sets the device flag, but ignores IBV_SEND_IP_CSUM on an ordinary
 * UD queue pair in user space, so packets would leave without checksum. (In providers/mlx5/qp.c
 * only an underlay queue pair has the segment for this flag.) A driver that is not in the list gets
 * packets with complete checksums.
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
 * The flag IBV_WC_IP_CSUM_OK of a completion needs no list of drivers, because a driver that does
 * not verify checksums never sets this flag. On a device without IBV_DEVICE_UD_IP_CSUM the flag has
 * no meaning (ibv_poll_cq(3)).
 */
void verbs_csum_detect(struct verbs_port *p)
{
	bool offered = p->limits.device_cap_flags & IBV_DEVICE_UD_IP_CSUM;

	p->rx_csum = offered ? IBV_WC_IP_CSUM_OK : 0;
	p->ca.csum = offered && obeys(p);
}
