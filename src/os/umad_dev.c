/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/umad_dev.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/file.h"
#include "util/be.h"

#define DEVICES_MAX 1024 /* RDMA_MAX_PORTS, the most umad devices that the kernel makes */
#define QP1_QKEY 0x80010000u
#define HDR sizeof(struct ib_user_mad_hdr)
#define MAD_OCTETS 256

/* --- finding */

static bool read_line(char *ret, size_t size, unsigned int n, const char *file)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/infiniband_mad/umad%u/%s", n, file);
	return file_read_line(ret, size, path);
}

int umad_dev_find(const char *port, unsigned int *ret_n, char ret_name[UMAD_DEV_NAME])
{
	for (unsigned int n = 0; n < DEVICES_MAX; n++) {
		char dev[40], num[8], umad[16], name[UMAD_DEV_NAME];

		if (!read_line(dev, sizeof(dev), n, "ibdev") ||
		    !read_line(num, sizeof(num), n, "port"))
			continue;
		snprintf(name, sizeof(name), "%s/%s", dev, num);
		snprintf(umad, sizeof(umad), "umad%u", n);
		if (strcmp(port, name) && strcmp(port, dev) && strcmp(port, umad))
			continue;
		*ret_n = n;
		memcpy(ret_name, name, sizeof(name));
		return 0;
	}
	return -ENOENT;
}

int umad_dev_open(struct umad_dev *d, const char *port)
{
	char path[48];
	unsigned int n;
	int err = umad_dev_find(port, &n, d->name);

	if (err)
		return err;
	snprintf(path, sizeof(path), "/dev/infiniband/umad%u", n);
	d->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (d->fd < 0)
		return -errno;
	d->timeout_ms = 300;
	d->retries = 3;
	if (ioctl(d->fd, IB_USER_MAD_ENABLE_PKEY, NULL) == 0)
		return 0;
	err = -errno;
	umad_dev_close(d);
	return err;
}

void umad_dev_close(struct umad_dev *d)
{
	close(d->fd);
	d->fd = -1;
}

int umad_dev_register(struct umad_dev *d, uint8_t qpn, uint8_t mgmt_class, uint8_t version,
		      bool rmpp)
{
	struct ib_user_mad_reg_req r = {
		.qpn = qpn,
		.mgmt_class = mgmt_class,
		.mgmt_class_version = version,
		.rmpp_version = rmpp ? 1 : 0,
	};

	return ioctl(d->fd, IB_USER_MAD_REGISTER_AGENT, &r) == 0 ? (int)r.id : -errno;
}

/* --- MADs */

int umad_dev_send(struct umad_dev *d, int agent, uint8_t qpn, uint16_t dlid, const void *mad,
		  size_t len)
{
	struct {
		struct ib_user_mad_hdr h;
		uint8_t mad[MAD_OCTETS];
	} m = { 0 };
	be32 q = be32_of(qpn), qkey = be32_of(qpn ? QP1_QKEY : 0);
	be16 lid = be16_of(dlid);

	if (len > sizeof(m.mad))
		return -EMSGSIZE;
	m.h.id = (uint32_t)agent;
	m.h.timeout_ms = d->timeout_ms;
	m.h.retries = d->retries;
	memcpy(&m.h.qpn, &q, sizeof(q));
	memcpy(&m.h.qkey, &qkey, sizeof(qkey));
	memcpy(&m.h.lid, &lid, sizeof(lid));
	memcpy(m.mad, mad, len);
	return write(d->fd, &m, HDR + len) < 0 ? -errno : 0;
}

long umad_dev_recv(struct umad_dev *d, void *buf, size_t size, const uint8_t **ret_mad,
		   bool *ret_lost)
{
	struct ib_user_mad_hdr h;
	ssize_t n = read(d->fd, buf, size);

	static_assert(sizeof(h) == UMAD_DEV_HDR, "layout with the P_Key index");
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(h))
		return -EIO;
	memcpy(&h, buf, sizeof(h));
	*ret_mad = (const uint8_t *)buf + sizeof(h);
	*ret_lost = h.status != 0;
	return n - (ssize_t)sizeof(h);
}
