/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "netdev/ibtap.h"

/* Flags of Linux 6.2, which older headers lack */
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

#define TUN_PATH "/dev/net/tun"

static int failed(const char **ret_what, const char *what)
{
	int err = -errno;

	if (ret_what)
		*ret_what = what;
	return err;
}

static int setup(int fd, const char *ifname, const char **ret_what)
{
	int hdr_len = sizeof(struct virtio_net_hdr), carrier = 0;
	struct ifreq ifr = { 0 };

	memcpy(ifr.ifr_name, ifname, strlen(ifname));
	/*
	 * With IFF_TUN_EXCL, this call never attaches to a persistent device that another program
	 * made.
	 */
	ifr.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL);
	if (ioctl(fd, TUNSETIFF, &ifr))
		return failed(ret_what, "making the TAP");
	if (ioctl(fd, TUNSETVNETHDRSZ, &hdr_len))
		return failed(ret_what, "setting the virtio-net header's size");
	if (ioctl(fd, TUNSETCARRIER, &carrier))
		return failed(ret_what, "setting the TAP's carrier");
	return 0;
}

int tap_open(const char *ifname, int *ret_fd, const char **ret_what)
{
	size_t len = strlen(ifname);
	unsigned int features;
	int fd, err;

	if (!len || len >= IFNAMSIZ || strchr(ifname, '%')) {
		errno = EINVAL;
		return failed(ret_what, "naming the TAP");
	}
	fd = open(TUN_PATH, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return failed(ret_what, "opening " TUN_PATH);
	/* /dev/net/tun may be another kind of file, as in a container where it was made by hand. */
	if (ioctl(fd, TUNGETFEATURES, &features))
		err = failed(ret_what, "using " TUN_PATH " as a TUN device");
	else
		err = setup(fd, ifname, ret_what);
	if (err) {
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

static int check_is_tap(int fd)
{
	struct ifreq ifr = { 0 };
	int hdr_len;

	if (ioctl(fd, TUNGETIFF, &ifr) || ioctl(fd, TUNGETVNETHDRSZ, &hdr_len))
		return -errno;
	if ((ifr.ifr_flags & (IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)) !=
		    (IFF_TAP | IFF_NO_PI | IFF_VNET_HDR) ||
	    hdr_len != (int)sizeof(struct virtio_net_hdr))
		return -EINVAL;
	return 0;
}

int tap_attach(struct tap *t, enum tap_kind kind, int fd, uint32_t offload)
{
	struct tap new = { .fd = fd, .kind = kind };
	int err = kind == TAP_INFINIBAND ? ibtap_check(fd) : check_is_tap(fd);

	if (!err)
		err = tap_set_offload(&new, offload);
	if (!err)
		*t = new;
	return err;
}

void tap_close(struct tap *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

static unsigned long offload_to_tun(uint32_t offload)
{
	unsigned long f = 0;

	if (!(offload & TAP_OFFLOAD_CSUM))
		return 0;
	f = TUN_F_CSUM;
	if (offload & TAP_OFFLOAD_TSO) {
		f |= TUN_F_TSO4 | TUN_F_TSO6;
		if (offload & TAP_OFFLOAD_ECN)
			f |= TUN_F_TSO_ECN;
	}
	if (offload & TAP_OFFLOAD_USO)
		f |= TUN_F_USO4 | TUN_F_USO6;
	return f;
}

int tap_set_offload(struct tap *t, uint32_t offload)
{
	if (!(offload & TAP_OFFLOAD_CSUM))
		offload = 0;
	if (!(offload & TAP_OFFLOAD_TSO))
		offload &= ~(uint32_t)TAP_OFFLOAD_ECN;
	if (t->kind == TAP_INFINIBAND)
		return ibtap_set_offload(t, offload);
	if (ioctl(t->fd, TUNSETOFFLOAD, offload_to_tun(offload))) {
		/* If a kernel does not know one of the flags, it refuses all of them. */
		if (errno != EINVAL || !(offload & TAP_OFFLOAD_USO))
			return -errno;
		offload &= ~(uint32_t)TAP_OFFLOAD_USO;
		if (ioctl(t->fd, TUNSETOFFLOAD, offload_to_tun(offload)))
			return -errno;
	}
	t->offload = offload;
	return 0;
}

int tap_set_carrier(const struct tap *t, bool on)
{
	int carrier = on;

	if (t->kind == TAP_INFINIBAND)
		return ibtap_set_carrier(t, on);
	return ioctl(t->fd, TUNSETCARRIER, &carrier) ? -errno : 0;
}
