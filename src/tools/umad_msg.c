/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/umad_msg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/fdpass.h"

/* --- sending */

static int send_parts(int sock, const void *hdr, size_t hdr_len, const void *data, size_t len,
		      int fd)
{
	union fdpass_control control;
	union {
		const void *in;
		void *out;
	} h = { .in = hdr }, d = { .in = data }; /* struct iovec has no const form */
	struct iovec iov[] = { { h.out, hdr_len }, { d.out, len } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = len ? 2 : 1 };

	fdpass_attach(&m, &control, &fd, fd >= 0);
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int memfd_of(const uint8_t *data, size_t len)
{
	int fd = memfd_create("umad", MFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = fd_write_all(fd, data, len);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * Send a MAD that is too long for one message: struct umad_mad in the message, the data in a memfd.
 */
static int send_big(int sock, const struct umad_mad *m, const void *data, int *big)
{
	struct umad_mad hdr = *m;
	int err;

	if (*big < 0)
		*big = memfd_of(data, m->data_len);
	if (*big < 0)
		return *big;
	hdr.msg.len = sizeof(hdr);
	err = send_parts(sock, &hdr, sizeof(hdr), NULL, 0, *big);
	if (err != -EAGAIN)
		umad_msg_forget(big);
	return err;
}

void umad_msg_forget(int *big)
{
	if (*big >= 0)
		close(*big);
	*big = -1;
}

int umad_msg_send_mad(int sock, const struct umad_mad *m, const void *data, int *big)
{
	if (m->data_len > UMAD_INLINE_MAX)
		return send_big(sock, m, data, big);
	return send_parts(sock, m, sizeof(*m), data, m->data_len, -1);
}

int umad_msg_send(int sock, const void *msg, size_t len)
{
	return send_parts(sock, msg, len, NULL, 0, -1);
}

/* --- receiving */

int umad_msg_recv(int sock, uint8_t *buf, size_t size, struct umad_received *ret)
{
	union fdpass_control control;
	struct iovec iov = { buf, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	fdpass_room(&m, &control);
	n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
	if (!fdpass_take(&m, &ret->fd, 1))
		ret->fd = -1;
	ret->len = (size_t)n;
	if (n && !(m.msg_flags & MSG_TRUNC))
		return 0;
	if (ret->fd >= 0)
		close(ret->fd);
	return n ? -EPROTO : -EPIPE;
}

bool umad_is_socket(int fd)
{
	int domain;
	socklen_t len = sizeof(domain);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX;
}

bool umad_memfd_read(int fd, uint8_t *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, buf + done, len - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) /* the sender has shortened the file */
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Accept only a memfd, because reading another file might block. Only a memfd supports seals. */
size_t umad_memfd_len(int fd)
{
	struct stat st;

	if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size < UMAD_HEAD_LEN || st.st_size > UMAD_DATA_MAX)
		return 0;
	return (size_t)st.st_size;
}
