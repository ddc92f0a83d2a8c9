/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/ibtap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/ibtap_kmod.h"

#define IBTAP_PATH "/dev/ibtap"

static_assert(IBTAP_ADDR_LEN == IBTAP_ALEN, "kmod/ibtap.h");

static int failed(const char **ret_what, const char *what)
{
	int err = -errno;

	if (ret_what)
		*ret_what = what;
	return err;
}

int ibtap_open(const char *ifname, int *ret_fd, const char **ret_what)
{
	struct ibtap_attach a = { .flags = IBTAP_EXCLUSIVE };
	size_t len = strlen(ifname);
	int fd, err;

	if (!len || len >= sizeof(a.name) || strchr(ifname, '%')) {
		errno = EINVAL;
		return failed(ret_what, "naming the device");
	}
	memcpy(a.name, ifname, len);
	fd = open(IBTAP_PATH, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return failed(ret_what, "opening " IBTAP_PATH);
	if (ioctl(fd, IBTAP_ATTACH, &a)) {
		err = failed(ret_what, "making the device");
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

int ibtap_check(int fd)
{
	struct ibtap_info info;

	return ioctl(fd, IBTAP_GET_INFO, &info) ? -errno : 0;
}

static int set_addr(const struct tap *t, unsigned long cmd, const uint8_t addr[IBTAP_ADDR_LEN])
{
	struct ibtap_addr a;

	memcpy(a.addr, addr, sizeof(a.addr));
	return ioctl(t->fd, cmd, &a) ? -errno : 0;
}

int ibtap_set_addr(const struct tap *t, const uint8_t addr[IBTAP_ADDR_LEN])
{
	return set_addr(t, IBTAP_SET_ADDR, addr);
}

int ibtap_set_broadcast(const struct tap *t, const uint8_t addr[IBTAP_ADDR_LEN])
{
	return set_addr(t, IBTAP_SET_BROADCAST, addr);
}

static int set_number(const struct tap *t, unsigned long cmd, uint32_t n)
{
	return ioctl(t->fd, cmd, &n) ? -errno : 0;
}

int ibtap_set_max_mtu(const struct tap *t, unsigned int mtu)
{
	return set_number(t, IBTAP_SET_MAX_MTU, mtu);
}

int ibtap_set_offload(struct tap *t, uint32_t offload)
{
	uint32_t bits = 0;
	int err;

	if (offload & TAP_OFFLOAD_CSUM)
		bits |= IBTAP_OFFLOAD_CSUM;
	if (offload & TAP_OFFLOAD_TSO)
		bits |= IBTAP_OFFLOAD_TSO4 | IBTAP_OFFLOAD_TSO6;
	if (offload & TAP_OFFLOAD_ECN)
		bits |= IBTAP_OFFLOAD_TSO_ECN;
	if (offload & TAP_OFFLOAD_USO)
		bits |= IBTAP_OFFLOAD_USO;
	err = set_number(t, IBTAP_SET_OFFLOADS, bits);
	if (!err)
		t->offload = offload;
	return err;
}

int ibtap_set_carrier(const struct tap *t, bool on)
{
	return set_number(t, IBTAP_SET_CARRIER, on);
}
