/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/umad_msg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FDS_MAX 4 /* looked at in a message; the kernel closes what is more */

/* --- out */

static int send_parts(int sock, const void *hdr, size_t hdr_len, const void *data, size_t len,
		      int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	union {
		const void *in;
		void *out;
	} h = { .in = hdr }, d = { .in = data }; /* struct iovec has no const form */
	struct iovec iov[] = { { h.out, hdr_len }, { d.out, len } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = len ? 2 : 1 };
	struct cmsghdr *cm;

	if (fd >= 0) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		cm = CMSG_FIRSTHDR(&m);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cm), &fd, sizeof(fd));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int memfd_of(const uint8_t *data, size_t len)
{
	int fd = memfd_create("umad", MFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : -ENOSPC;
			close(fd);
			return err;
		}
		data += n;
		len -= (size_t)n;
	}
	return fd;
}

/* One that is too long for a message goes beside it. */
static int send_big(int sock, const struct umad_mad *m, const void *data)
{
	struct umad_mad hdr = *m;
	int fd = memfd_of(data, m->data_len), err;

	if (fd < 0)
		return fd;
	hdr.msg.len = sizeof(hdr);
	err = send_parts(sock, &hdr, sizeof(hdr), NULL, 0, fd);
	close(fd);
	return err;
}

int umad_msg_send_mad(int sock, const struct umad_mad *m, const void *data)
{
	if (m->data_len > UMAD_INLINE_MAX)
		return send_big(sock, m, data);
	return send_parts(sock, m, sizeof(*m), data, m->data_len, -1);
}

int umad_msg_send(int sock, const void *msg, size_t len)
{
	return send_parts(sock, msg, len, NULL, 0, -1);
}

/* --- in */

/* Keeps the first descriptor. */
static int take_fds(struct msghdr *m)
{
	int first = -1, fd;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		size_t n;

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
			if (first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

int umad_msg_recv(int sock, uint8_t *buf, size_t size, struct umad_received *ret)
{
	char control[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct iovec iov = { buf, size };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
	ret->fd = take_fds(&m);
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
		if (n <= 0) /* it shrank under our hands */
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Reading from anything else might block. */
size_t umad_memfd_len(int fd)
{
	struct stat st;

	if (fcntl(fd, F_GET_SEALS) < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size < UMAD_HEAD_LEN || st.st_size > UMAD_DATA_MAX)
		return 0;
	return (size_t)st.st_size;
}
