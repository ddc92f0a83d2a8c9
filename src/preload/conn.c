/* SPDX-License-Identifier: BSD-2-Clause */
#include "preload/conn.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "preload/real.h"

#define CONTENT_SIZE (sizeof(struct umad_content) + UMAD_ATTR_MAX + 1)

long conn_send(int fd, const struct msghdr *m, int flags)
{
	long n = syscall(SYS_sendmsg, fd, m, flags | MSG_NOSIGNAL);

	return n < 0 ? -errno : n;
}

long conn_recv(int fd, struct msghdr *m, int flags)
{
	long n = syscall(SYS_recvmsg, fd, m, flags);

	return n < 0 ? -errno : n;
}

void conn_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved;
}

int conn_wait(int fd, short events)
{
	ns_t deadline = clock_now() + NS_MSEC(CONN_PATIENCE_MS);
	struct pollfd p = { .fd = fd, .events = events };
	struct timespec t;
	int left;
	long n;

	do {
		left = clock_poll_ms(deadline);
		t.tv_sec = left / 1000;
		t.tv_nsec = left % 1000 * 1000000L;
		n = syscall(SYS_ppoll, &p, 1, &t, NULL, 0);
	} while (n < 0 && errno == EINTR);
	return n > 0 ? 0 : -ETIMEDOUT;
}

int conn_received_fd(struct msghdr *m)
{
	int ret = -1, fd;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof(fd)) <= c->cmsg_len; at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			conn_close(ret);
			ret = fd;
		}
	}
	return ret;
}

/*
 * Receive one message; octets beyond @size are lost. Return: number of octets; 0 at the end of the
 * connection; -errno
 */
static long receive(int fd, void *buf, size_t size)
{
	struct iovec iov = { buf, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int err = conn_wait(fd, POLLIN);

	return err ? err : conn_recv(fd, &m, MSG_DONTWAIT);
}

static int receive_result(struct umad_result *ret, int fd)
{
	struct umad_result r = { .err = 0 };
	long n = receive(fd, &r, sizeof(r));

	if (n != sizeof(r) || r.msg.type != UMAD_RESULT || r.msg.len != sizeof(r) || r.err > 0 ||
	    r.err < -4095)
		return -EPIPE;
	*ret = r;
	return 0;
}

static long send_all(int fd, const void *buf, size_t len)
{
	struct iovec iov = { (void *)buf, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return conn_send(fd, &m, 0);
}

/*
 * Connect to the daemon and send UMAD_HELLO, without waiting for the answer. Return: the
 * connection, or -errno
 */
static int greet(enum umad_kind kind, unsigned int dev)
{
	struct umad_hello hello = {
		.msg = { .type = UMAD_HELLO, .len = sizeof(hello) },
		.version = UMAD_VERSION,
		.kind = kind,
		.dev = dev,
	};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	memcpy(hello.host, config.host, sizeof(hello.host));
	memcpy(hello.node, config.node, sizeof(hello.node));
	if (syscall(SYS_connect, fd, &config.addr, sizeof(config.addr)) == 0 &&
	    send_all(fd, &hello, sizeof(hello)) == sizeof(hello))
		return fd;
	conn_close(fd);
	return -ENODEV;
}

int conn_open(enum umad_kind kind, unsigned int dev)
{
	struct umad_result r;
	int fd = greet(kind, dev);
	int err;

	if (fd < 0)
		return fd;
	err = receive_result(&r, fd) == 0 ? r.err : -ENODEV;
	if (err == 0)
		return fd;
	conn_close(fd);
	return err;
}

int conn_call(struct umad_result *ret, int fd, const void *msg)
{
	union {
		struct cmsghdr c;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .c = { .cmsg_len = CMSG_LEN(sizeof(int)),
			     .cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)msg, ((const struct umad_msg *)msg)->len };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	int pair[2];
	long n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	memcpy(CMSG_DATA(&control.c), &pair[1], sizeof(int));
	while ((n = conn_send(fd, &m, MSG_DONTWAIT)) == -EAGAIN && conn_wait(fd, POLLOUT) == 0)
		;
	conn_close(pair[1]);
	/*
	 * The daemon now has the only open descriptor of pair[1]. So if the daemon ends,
	 * receive_result() reads an end of file.
	 */
	n = n > 0 ? receive_result(ret, pair[0]) : -EPIPE;
	conn_close(pair[0]);
	return (int)n;
}

/*
 * Ask the daemon for the content of a path. The hello and the question are sent together, which
 * takes one iteration of the daemon's loop instead of two.
 */
static int ask(void *buf, const char *path)
{
	struct umad_attr q = { .msg = { .type = UMAD_ATTR, .len = sizeof(q) } };
	struct umad_result r = { .err = -ENOENT };
	struct umad_content *c = buf;
	size_t len = strlen(path);
	int fd;
	long n;

	if (len >= sizeof(q.path))
		return -ENAMETOOLONG;
	memcpy(q.path, path, len);
	fd = greet(UMAD_KIND_ATTR, 0);
	if (fd < 0)
		return fd == -ENODEV ? -ENOENT : fd;
	send_all(fd, &q, sizeof(q));
	n = receive_result(&r, fd) == 0 && r.err == 0 ? receive(fd, buf, CONTENT_SIZE - 1) : 0;
	conn_close(fd);
	if (r.err)
		return r.err == -ENODEV ? -ENOENT : r.err;
	if (n < (long)sizeof(*c) || c->msg.type != UMAD_CONTENT || c->msg.len != (size_t)n ||
	    c->err > 0 || c->err < -4095 || c->data_len != (size_t)n - sizeof(*c))
		return -ENOENT;
	return c->err;
}

int conn_content(struct conn_content *ret, const char *path)
{
	void *buf = mmap(NULL, CONTENT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	const struct umad_content *c = buf;
	int err;

	if (buf == MAP_FAILED)
		return -ENOMEM;
	err = ask(buf, path);
	if (err) {
		munmap(buf, CONTENT_SIZE);
		return err;
	}
	ret->dir = c->dir == 1;
	ret->len = c->data_len;
	/* The rest of the page from mmap() is zeros, so a NUL follows the content. */
	ret->data = (char *)buf + sizeof(*c);
	ret->map = buf;
	return 0;
}

void conn_content_free(struct conn_content *c)
{
	if (c->map)
		munmap(c->map, CONTENT_SIZE);
	c->map = NULL;
}
