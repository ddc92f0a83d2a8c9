/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_CONN_H
#define PRELOAD_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "umad/proto.h"

/*
 * Connections to the daemon. None of the functions below is a cancellation point. A function that
 * waits for the daemon waits for at most CONN_PATIENCE_MS, and then treats the daemon as ended.
 */

#define CONN_PATIENCE_MS 30000

struct msghdr;

/**
 * conn_open() - Connect to the daemon and open a device
 * @kind:	UMAD_KIND_MAD or UMAD_KIND_ISSM
 * @dev:	the N of umadN or issmN
 * Return: the connection (blocking, close-on-exec); -ENODEV if there is no daemon, the -errno with
 * which the daemon refused the hello, or -errno of socket()
 */
int conn_open(enum umad_kind kind, unsigned int dev);

/**
 * conn_call() - Send a request on an open connection and wait for its answer
 * @ret:	the answer
 * @fd:		the connection
 * @msg:	the request, which starts with struct umad_msg
 *
 * MADs can arrive on the connection at any time, so the answer does not come on the connection. It
 * comes on a new socket, whose other end is sent with the request.
 * Return: 0 with the daemon's verdict in @ret->err; -EPIPE if the daemon has ended or does not
 * answer; -errno of socketpair()
 */
int conn_call(struct umad_result *ret, int fd, const void *msg);

/* Content of a file, or names in a directory. */
struct conn_content {
	bool dir;
	uint32_t len;
	char *data; /* .len octets of content, or of names that each end with a NUL; a further NUL follows */
	void *map; /* start of the memory that conn_content_free() unmaps */
};

/**
 * conn_content() - Read a file or a directory of sysfs from the daemon
 * @ret:	the content, which the caller frees with conn_content_free()
 * @path:	path relative to /sys, for example "class/infiniband"
 * Return: 0; -ENOENT, also if there is no daemon; -EACCES or another -errno
 */
int conn_content(struct conn_content *ret, const char *path);
void conn_content_free(struct conn_content *c);

/*
 * Variants of sendmsg(), recvmsg() and close() that are not cancellation points; on failure
 * conn_send() and conn_recv() return -errno.
 */
long conn_send(int fd, const struct msghdr *m, int flags);
long conn_recv(int fd, struct msghdr *m, int flags);
void conn_close(int fd);

/*
 * conn_wait() - Wait until a descriptor has events, as poll() does. A signal does not end the wait,
 * just as a signal does not end ioctl() or write() of the kernel's ib_umad. Return: 0, -ETIMEDOUT
 * after CONN_PATIENCE_MS
 */
int conn_wait(int fd, short events);

/*
 * Return: the descriptor that came with message @m; -1 if none came. If several descriptors came,
 * all but the last are closed.
 */
int conn_received_fd(struct msghdr *m);

#endif
