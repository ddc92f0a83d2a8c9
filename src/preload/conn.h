/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_CONN_H
#define PRELOAD_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "umad/proto.h"

/*
 * What is said to the daemon. Nothing here is a cancellation point, and no wait is longer than
 * CONN_PATIENCE_MS: a daemon that hangs is like one that is gone.
 */

#define CONN_PATIENCE_MS 30000

struct msghdr;

/**
 * conn_open() - Connect and say hello
 * @kind:	UMAD_KIND_MAD or UMAD_KIND_ISSM
 * @dev:	the N of umadN, issmN
 * Return: the connection (blocking, close-on-exec); -ENODEV if there is no daemon, or what it answered
 */
int conn_open(enum umad_kind kind, unsigned int dev);

/**
 * conn_call() - Ask on an open connection and wait for the answer, which comes on a socket of its own
 * @ret:	the answer
 * @fd:		the connection
 * @msg:	starts with struct umad_msg
 * Return: 0 with @ret->err being what the daemon says; -EPIPE if it is gone
 */
int conn_call(struct umad_result *ret, int fd, const void *msg);

/* A file's content or a directory's names. */
struct conn_content {
	bool dir;
	uint32_t len;
	char *data; /* followed by a zero */
	void *map; /* for conn_content_free() */
};

/**
 * conn_content() - Read what is at a path of sysfs
 * @ret:	the content, to be given to conn_content_free()
 * @path:	below /sys, "class/infiniband"
 * Return: 0, -ENOENT (also if there is no daemon), -EACCES ...
 */
int conn_content(struct conn_content *ret, const char *path);
void conn_content_free(struct conn_content *c);

/* sendmsg(), recvmsg() and close() that are no cancellation points; -errno. */
long conn_send(int fd, const struct msghdr *m, int flags);
long conn_recv(int fd, struct msghdr *m, int flags);
void conn_close(int fd);

/**
 * conn_wait() - Wait for events of poll()
 * Signals do not end it, as they do not end the kernel's ioctl() or write().
 * Return: 0, -ETIMEDOUT after CONN_PATIENCE_MS
 */
int conn_wait(int fd, short events);

/* The descriptor that came with a message, -1 if none; of several the others are closed. */
int conn_received_fd(struct msghdr *m);

#endif
