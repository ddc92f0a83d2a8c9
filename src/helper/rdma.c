/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "helper/srv.h"
#include "os/file.h"
#include "os/umad_dev.h"

/*
 * Device files of the ports of RDMA devices that the configuration names
 *
 * The sealed main process has to open a device again when the device's driver was loaded again. The only files that
 * the main process sees are in a folder of its own, a tmpfs that the helper made before the seal. On request the
 * helper makes the files uverbsN and umadN of a port in this folder. Requests may come from an attacker who controls
 * the main process, so the helper makes files only of ports that were named before the seal, and takes the device
 * numbers from sysfs.
 */

/* largest number of devices of one kind that the kernel makes (its RDMA_MAX_PORTS) */
#define DEVICES_MAX 1024
/*
 * The mode permits access to all users, because only the main process sees the folder, and the main
 * process has no privileges.
 */
#define NODE_MODE (S_IFCHR | 0666)

/*
 * Tell whether @name is "DEVICE/PORT". DEVICE has only letters, digits, '_', '-' and '.', and does
 * not begin with '.', so it can safely be put into a path in sysfs. PORT is a number.
 */
static bool is_port(const char *name, size_t size)
{
	const char *slash = memchr(name, '/', size), *end = memchr(name, 0, size), *c;

	if (!end || !slash || slash > end || slash == name || *name == '.' || !slash[1] ||
	    end - name >= UMAD_DEV_NAME)
		return false;
	for (c = name; c < slash; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
			return false;
	for (c = slash + 1; c < end; c++)
		if (!isdigit((unsigned char)*c))
			return false;
	return true;
}

static int make_folder(void)
{
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), fd = -1, err;

	if (fs < 0)
		return -errno;
	if (!fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) &&
	    !fsconfig(fs, FSCONFIG_SET_STRING, "size", "64k", 0) &&
	    !fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", "256", 0) &&
	    !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	err = errno;
	close(fs);
	return fd < 0 ? -err : fd;
}

int srv_rdma_add(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	struct srv_rdma *d = &s->rdma;
	struct srv_rdma_port *p;
	int fd;

	if (!is_port(req->spec, sizeof(req->spec)) || d->n == NETDEV_RDMA_MAX)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "naming the RDMA port");
	/* The root of a user namespace cannot make device files. */
	if (s->user_fd >= 0)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EPERM, "making device files");
	p = reallocarray(d->port, d->n + 1, sizeof(*p));
	if (!p)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENOMEM, "naming the RDMA port");
	d->port = p;
	if (d->fd < 0) {
		fd = make_folder();
		if (fd < 0)
			return srv_refuse(r, NETDEV_REFUSED_REQUEST, fd, "making a folder");
		d->fd = fd;
	}
	memset(&p[d->n], 0, sizeof(*p));
	memcpy(p[d->n++].name, req->spec, strlen(req->spec));
	r->keep_fds = true;
	srv_reply_fd(r, 0, d->fd);
	return 0;
}

/* --- making the files */

/*
 * Makes the device file of a device that is in sysfs, for example infiniband_mad/umad0. 0 or -errno
 */
static int make_node(int folder, const char *class, const char *name)
{
	unsigned int major, minor;
	char path[96], line[32];
	mode_t mask;
	int err;

	snprintf(path, sizeof(path), "/sys/class/%s/%s/dev", class, name);
	if (!file_read_line(line, sizeof(line), path) || sscanf(line, "%u:%u", &major, &minor) != 2)
		return -ENODEV;
	mask = umask(0);
	err = mknodat(folder, name, NODE_MODE, makedev(major, minor)) ? -errno : 0;
	umask(mask);
	return err;
}

/* Find the uverbs device of an RDMA device. 0 or -ENODEV */
static int find_uverbs(const char *device, char ret[SRV_RDMA_NODE])
{
	char path[96], line[UMAD_DEV_NAME];

	for (unsigned int i = 0; i < DEVICES_MAX; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/uverbs%u/ibdev", i);
		if (!file_read_line(line, sizeof(line), path) || strcmp(line, device))
			continue;
		snprintf(ret, SRV_RDMA_NODE, "uverbs%u", i);
		return 0;
	}
	return -ENODEV;
}

static bool has_port(const char *device, const char *number)
{
	char path[160];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%s", device, number);
	return !access(path, F_OK);
}

static int find(struct srv_rdma_port *p)
{
	char device[UMAD_DEV_NAME], name[UMAD_DEV_NAME];
	unsigned int n;
	char *number;

	snprintf(device, sizeof(device), "%s", p->name);
	number = strchr(device, '/');
	*number++ = '\0';
	if (!has_port(device, number) || umad_dev_find(p->name, &n, name))
		return -ENODEV;
	snprintf(p->umad, sizeof(p->umad), "umad%u", n);
	return find_uverbs(device, p->uverbs);
}

/*
 * Remove the device files of a port. All ports of a device share the file uverbsN. If the device
 * still exists, srv_rdma_nodes() makes this file again.
 */
static void remove_nodes(const struct srv_rdma *d, struct srv_rdma_port *p)
{
	if (*p->uverbs)
		unlinkat(d->fd, p->uverbs, 0);
	if (*p->umad)
		unlinkat(d->fd, p->umad, 0);
	*p->uverbs = *p->umad = '\0';
}

int srv_rdma_nodes(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r)
{
	struct srv_rdma *d = &s->rdma;
	struct srv_rdma_port *p = NULL;
	int err;

	for (unsigned int i = 0; i < d->n && !p; i++)
		if (!strncmp(d->port[i].name, req->spec, sizeof(req->spec)))
			p = &d->port[i];
	if (!p)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EPERM, "this RDMA port");
	remove_nodes(d, p);
	err = find(p);
	if (err)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, err, "the RDMA port");
	unlinkat(d->fd, p->uverbs, 0);
	unlinkat(d->fd, p->umad, 0);
	err = make_node(d->fd, "infiniband_verbs", p->uverbs);
	if (!err)
		err = make_node(d->fd, "infiniband_mad", p->umad);
	return err ? srv_refuse(r, NETDEV_REFUSED_REQUEST, err, "making device files") : 0;
}

void srv_rdma_fini(struct srv_rdma *d)
{
	free(d->port);
	if (d->fd >= 0)
		close(d->fd);
}
