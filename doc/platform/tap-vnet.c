/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The virtio-net header of a TAP: its sizes, and the offloads that can be switched on. The kernel
 * refuses a whole set of flags if it does not know one of them.
 */

#include <linux/virtio_net.h>

#include "platform.h"

#define USO (0x20 | 0x40) /* TUN_F_USO4, TUN_F_USO6: Linux 6.2 */

static bool offload(int fd, unsigned long flags)
{
	return !ioctl(fd, TUNSETOFFLOAD, flags);
}

static bool size(int fd, int n)
{
	int got = 0;

	return !ioctl(fd, TUNSETVNETHDRSZ, &n) && !ioctl(fd, TUNGETVNETHDRSZ, &got) && got == n;
}

int main(void)
{
	char buf[2048] = { 0 };
	int fd, n = 0;

	go_new();
	fd = tap(IFF_VNET_HDR);
	fact(!ioctl(fd, TUNGETVNETHDRSZ, &n) && n == sizeof(struct virtio_net_hdr) && n == 10,
	     "10 octets unless asked otherwise");
	fact(size(fd, 12), "12 octets, with num_buffers");
	fact(!size(fd, 9), "never less than 10");
	fact(size(fd, 10), "10 again");
	fact(offload(fd, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6), "CSUM, TSO4, TSO6");
	fact(offload(fd, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN), "TSO_ECN");
	printf("# USO4, USO6: %s\n", offload(fd, TUN_F_CSUM | USO) ? "yes" : "no");
	fact(!offload(fd, TUN_F_CSUM | 0x10000000) && errno == EINVAL,
	     "an unknown flag is EINVAL for all");
	fact(offload(fd, 0), "none at all");
	set_up("t0");
	buf[10] = 2;
	fact(write(fd, buf, 70) == 70, "a written frame begins with the header");
	fact(write(fd, buf, 10) < 0 && errno == EINVAL, "a header alone is no frame");
	return done();
}
