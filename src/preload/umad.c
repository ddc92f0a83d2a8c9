/* SPDX-License-Identifier: BSD-2-Clause */
#include "preload/umad.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "preload/conn.h"

/*
 * Number of octets in struct umad_mad before the members that have the layout of the kernel's
 * struct ib_user_mad_hdr.
 */
#define PREFIX offsetof(struct umad_mad, id)
static_assert(sizeof(struct umad_mad) - PREFIX == sizeof(struct ib_user_mad_hdr), "layout");
static_assert(offsetof(struct umad_mad, status) - PREFIX ==
		      offsetof(struct ib_user_mad_hdr, status),
	      "layout");
static_assert(offsetof(struct umad_mad, length) - PREFIX ==
		      offsetof(struct ib_user_mad_hdr, length),
	      "layout");
static_assert(offsetof(struct umad_mad, gid) - PREFIX == offsetof(struct ib_user_mad_hdr, gid),
	      "layout");
static_assert(offsetof(struct umad_mad, pkey_index) - PREFIX ==
		      offsetof(struct ib_user_mad_hdr, pkey_index),
	      "layout");

/*
 * The state of a connection is a bit mask in the socket option SO_PRIORITY. This option has no
 * effect on a local socket, needs no privilege for values up to 6, and is shared by all copies of
 * the descriptor, also after exec().
 */
#define STATE_PKEY 1 /* headers have the P_Key index (the kernel's use_pkey_index) */
#define STATE_USED 2 /* an agent was registered (the kernel's already_used) */
#define STATE_ISSM 4 /* the descriptor is an issmN, not a umadN */

static int state_get(int fd)
{
	socklen_t len = sizeof(int);
	int v = 0;

	return getsockopt(fd, SOL_SOCKET, SO_PRIORITY, &v, &len) == 0 ? v : 0;
}

static int state_set(int fd, int state)
{
	return setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &state, sizeof(state)) == 0 ? 0 : -errno;
}

size_t umad_hdr_size(int fd)
{
	return state_get(fd) & STATE_PKEY ? sizeof(struct ib_user_mad_hdr)
					  : sizeof(struct ib_user_mad_hdr_old);
}

bool umad_is_issm(int fd)
{
	return state_get(fd) & STATE_ISSM;
}

/*
 * Open a device. If @wait is true, try again every 20 ms while another descriptor of the device is
 * open. (The kernel's open() of issmN waits for a semaphore instead.)
 */
static int open_waiting(enum umad_kind kind, unsigned int dev, bool wait)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int fd;

	while ((fd = conn_open(kind, dev)) == -EAGAIN && wait)
		if (nanosleep(&pause, NULL) != 0)
			return -errno;
	return fd;
}

int umad_open(bool issm, unsigned int dev, int flags)
{
	enum umad_kind kind = issm ? UMAD_KIND_ISSM : UMAD_KIND_MAD;
	int fd = open_waiting(kind, dev, issm && !(flags & O_NONBLOCK));
	int err = 0;

	if (fd < 0)
		return fd;
	if (issm)
		err = state_set(fd, STATE_ISSM);
	if (!err && (flags & O_NONBLOCK) && fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		err = -errno;
	if (!err && !(flags & O_CLOEXEC) && fcntl(fd, F_SETFD, 0) != 0)
		err = -errno;
	if (!err)
		return fd;
	conn_close(fd);
	return err;
}

static int enable_pkey(int fd)
{
	int state = state_get(fd);

	return state & STATE_USED ? -EINVAL : state_set(fd, state | STATE_PKEY);
}

/*
 * Record in the socket's state that an agent was registered. The first registration fixes the
 * layout of the header that programs read and write; @implied is STATE_PKEY if this layout has the
 * P_Key index.
 */
static int agent_registered(int fd, int implied)
{
	int state = state_get(fd);

	return state & STATE_USED ? 0 : state_set(fd, state | implied | STATE_USED);
}

static int ask(int fd, const void *msg, uint32_t *ret_id)
{
	struct umad_result r;
	int err = conn_call(&r, fd, msg);

	if (err)
		return err;
	if (r.err == 0 && ret_id)
		*ret_id = r.id;
	return r.err;
}

static int register_agent(int fd, struct ib_user_mad_reg_req *req)
{
	struct umad_register r = {
		.msg = { .type = UMAD_REGISTER, .len = sizeof(r) },
		.qpn = req->qpn,
		.mgmt_class = req->mgmt_class,
		.class_version = req->mgmt_class_version,
		.rmpp_version = req->rmpp_version,
		.oui = (uint32_t)req->oui[0] << 16 | (uint32_t)req->oui[1] << 8 | req->oui[2],
	};
	uint32_t id;
	int err;

	static_assert(sizeof(req->method_mask) == sizeof(r.methods), "layout");
	memcpy(r.methods, req->method_mask, sizeof(r.methods));
	if (req->qpn > 1)
		return -EINVAL;
	err = ask(fd, &r, &id);
	if (err)
		return err;
	req->id = id;
	return agent_registered(fd, 0);
}

static int register_agent2(int fd, struct ib_user_mad_reg_req2 *req)
{
	struct umad_register r = {
		.msg = { .type = UMAD_REGISTER, .len = sizeof(r) },
		.qpn = req->qpn,
		.flags = req->flags,
		.methods = { req->method_mask[0], req->method_mask[1] },
		.oui = req->oui,
		.mgmt_class = req->mgmt_class,
		.class_version = req->mgmt_class_version,
		.rmpp_version = req->rmpp_version,
	};
	uint32_t id;
	int err;

	if (req->qpn > 1)
		return -EINVAL;
	if (req->flags & ~IB_USER_MAD_REG_FLAGS_CAP) {
		req->flags = IB_USER_MAD_REG_FLAGS_CAP;
		return -EINVAL;
	}
	if (req->mgmt_class && (req->oui & 0xff000000))
		return -EINVAL;
	err = ask(fd, &r, &id);
	if (err)
		return err;
	req->id = id;
	return agent_registered(fd, STATE_PKEY);
}

static int unregister_agent(int fd, const uint32_t *id)
{
	struct umad_unregister u = {
		.msg = { .type = UMAD_UNREGISTER, .len = sizeof(u) },
		.id = *id,
	};

	return ask(fd, &u, NULL);
}

int umad_ioctl(int fd, unsigned int cmd, void *arg)
{
	if (!arg && (cmd == IB_USER_MAD_REGISTER_AGENT || cmd == IB_USER_MAD_REGISTER_AGENT2 ||
		     cmd == IB_USER_MAD_UNREGISTER_AGENT))
		return -EFAULT;
	switch (cmd) {
	case IB_USER_MAD_REGISTER_AGENT:
		return register_agent(fd, arg);
	case IB_USER_MAD_REGISTER_AGENT2:
		return register_agent2(fd, arg);
	case IB_USER_MAD_UNREGISTER_AGENT:
		return unregister_agent(fd, arg);
	case IB_USER_MAD_ENABLE_PKEY:
		return enable_pkey(fd);
	default:
		return -ENOTTY;
	}
}
