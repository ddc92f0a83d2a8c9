/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/fdpass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
};

void fdpass_close(const int *fds, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

int fdpass_send(int sock, const void *msg, size_t len, const int *fds, unsigned int n)
{
	union control c = { 0 };
	struct iovec iov = { (void *)msg, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t put;

	if (n > FDPASS_MAX)
		return -EINVAL;
	if (n) {
		mh.msg_control = c.room;
		mh.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c.align.cmsg_level = SOL_SOCKET;
		c.align.cmsg_type = SCM_RIGHTS;
		c.align.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&c.align), fds, n * sizeof(int));
	}
	do
		put = sendmsg(sock, &mh, MSG_NOSIGNAL);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return -errno;
	return (size_t)put == len ? 0 : -EMSGSIZE;
}

static unsigned int take_fds(struct msghdr *mh, int *ret_fds)
{
	unsigned int n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		unsigned int k;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		k = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(ret_fds + n, CMSG_DATA(c), k * sizeof(int));
		n += k;
	}
	return n;
}

int fdpass_recv(int sock, void *msg, size_t len, int *ret_fds, unsigned int *ret_n)
{
	union control c = { 0 };
	struct iovec iov = { msg, len };
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = c.room,
		.msg_controllen = sizeof(c.room),
	};
	unsigned int n;
	ssize_t got;

	do
		got = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	n = take_fds(&mh, ret_fds);
	if (got == 0 && !n)
		return -EPIPE;
	if ((size_t)got != len || (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		fdpass_close(ret_fds, n);
		return -EBADMSG;
	}
	*ret_n = n;
	return 0;
}
