/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/fdpass.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void fdpass_close(const int *fds, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

void fdpass_attach(struct msghdr *m, union fdpass_control *c, const int *fds, unsigned int n)
{
	*c = (union fdpass_control){ 0 };
	if (!n)
		return;
	c->align = (struct cmsghdr){
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(n * sizeof(int)),
	};
	memcpy(CMSG_DATA(&c->align), fds, n * sizeof(int));
	m->msg_control = c->room;
	m->msg_controllen = CMSG_SPACE(n * sizeof(int));
}

void fdpass_room(struct msghdr *m, union fdpass_control *c)
{
	m->msg_control = c->room;
	m->msg_controllen = sizeof(c->room);
}

unsigned int fdpass_take(struct msghdr *m, int *ret_fds, unsigned int max)
{
	unsigned int n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (n < max)
				ret_fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

int fdpass_send(int sock, const void *msg, size_t len, const int *fds, unsigned int n)
{
	union fdpass_control c;
	struct iovec iov = { (void *)msg, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t put;

	if (n > FDPASS_MAX)
		return -EINVAL;
	fdpass_attach(&mh, &c, fds, n);
	do
		put = sendmsg(sock, &mh, MSG_NOSIGNAL);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return -errno;
	return (size_t)put == len ? 0 : -EMSGSIZE;
}

int fdpass_recv(int sock, void *msg, size_t len, int *ret_fds, unsigned int *ret_n)
{
	union fdpass_control c;
	struct iovec iov = { msg, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	unsigned int n;
	ssize_t got;

	fdpass_room(&mh, &c);
	do
		got = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	n = fdpass_take(&mh, ret_fds, FDPASS_MAX);
	if (got == 0 && !n)
		return -EPIPE;
	if ((size_t)got != len || (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		fdpass_close(ret_fds, n);
		/*
		 * If RLIMIT_NOFILE leaves no room for all descriptors, the kernel drops those
		 * without room and sets MSG_CTRUNC.
		 */
		return (size_t)got == len && n < FDPASS_MAX ? -EMFILE : -EBADMSG;
	}
	*ret_n = n;
	return 0;
}
