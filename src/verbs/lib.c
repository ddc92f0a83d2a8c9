/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/lib.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rdma/ib_user_mad.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/dl.h"
#include "os/umad_dev.h"
#include "util/list.h"

/* --- files of the kernel */

static int pkeys_open(const char *device, uint8_t port)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/pkeys", device, port);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int pkey_read(int fd, unsigned int index, uint16_t *ret)
{
	char name[16], text[16];
	ssize_t n;
	int f;

	snprintf(name, sizeof(name), "%u", index);
	f = openat(fd, name, O_RDONLY | O_CLOEXEC);
	if (f < 0)
		return -errno;
	n = read(f, text, sizeof(text) - 1);
	close(f);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	*ret = (uint16_t)strtoul(text, NULL, 16);
	return 0;
}

static int driver_read(const char *device, char *ret, size_t size)
{
	char path[128], target[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/driver", device);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	name = strrchr(target, '/');
	snprintf(ret, size, "%s", name ? name + 1 : target);
	return 0;
}

static int umad_open(const char *device, uint8_t port)
{
	char name[UMAD_DEV_NAME];
	struct umad_dev d;
	int err;

	snprintf(name, sizeof(name), "%s/%u", device, port);
	err = umad_dev_open(&d, name);
	return err ? err : d.fd;
}

static int umad_register(int fd, uint8_t mgmt_class, uint8_t version, const uint64_t methods[2])
{
	struct ib_user_mad_reg_req r = {
		.qpn = 1,
		.mgmt_class = mgmt_class,
		.mgmt_class_version = version,
	};

	memcpy(r.method_mask, methods, sizeof(r.method_mask));
	return ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &r) ? -errno : (int)r.id;
}

/* --- the library */

static struct verbs_lib loaded = {
	.pkeys_open = pkeys_open,
	.pkey_read = pkey_read,
	.driver_read = driver_read,
	.umad_open = umad_open,
	.umad_register = umad_register,
};

/* clang-format off */
#define SYMBOL(name) { "ibv_" #name, offsetof(struct verbs_lib, name) }
/* clang-format on */

static const struct dl_symbol symbols[] = {
	SYMBOL(get_device_list),
	SYMBOL(free_device_list),
	SYMBOL(open_device),
	SYMBOL(close_device),
	SYMBOL(query_device),
	SYMBOL(query_port),
	SYMBOL(query_gid),
	SYMBOL(alloc_pd),
	SYMBOL(dealloc_pd),
	SYMBOL(reg_mr),
	SYMBOL(dereg_mr),
	SYMBOL(create_comp_channel),
	SYMBOL(destroy_comp_channel),
	SYMBOL(create_cq),
	SYMBOL(destroy_cq),
	SYMBOL(get_cq_event),
	SYMBOL(ack_cq_events),
	SYMBOL(create_qp),
	SYMBOL(modify_qp),
	SYMBOL(query_qp),
	SYMBOL(destroy_qp),
	SYMBOL(create_ah),
	SYMBOL(destroy_ah),
	SYMBOL(attach_mcast),
	SYMBOL(detach_mcast),
	SYMBOL(get_async_event),
	SYMBOL(ack_async_event),
};

const struct verbs_lib *verbs_lib_load(void)
{
	static bool done;

	done = done || !dl_load(&loaded, "libibverbs.so.1", symbols, ARRAY_SIZE(symbols));
	return done ? &loaded : NULL;
}
