/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * TUNSETCARRIER sets the carrier that the kernel shows, and needs no capability. The carrier
 * changes at once. IFF_RUNNING and the queueing discipline follow some time later. If the carrier
 * is set before the interface is set up, IFF_RUNNING and the queueing discipline are there as
 * soon as the interface is up.
 */

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "platform.h"

static bool set(int fd, int on)
{
	return !ioctl(fd, TUNSETCARRIER, &on);
}

static bool carrier(void)
{
	struct ethtool_value v = { .cmd = ETHTOOL_GLINK };
	struct ifreq ifr = { .ifr_name = "t0", .ifr_data = (void *)&v };
	int s = socket(AF_INET, SOCK_DGRAM, 0), err = ioctl(s, SIOCETHTOOL, &ifr);

	close(s);
	return !err && v.data;
}

int main(void)
{
	int fd;

	go_new();
	fd = tap(0);
	fact(set(fd, 0), "the carrier can be turned off before the TAP is up");
	set_up("t0");
	fact(!carrier(), "and stays off then");
	fact(set(fd, 1) && carrier(), "on");
	if (setresuid(65534, 65534, 65534))
		lacks("setresuid");
	fact(set(fd, 0) && !carrier(), "off again, by a process without capabilities");
	close(fd);
	return done();
}
