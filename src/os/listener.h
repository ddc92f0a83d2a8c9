/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_LISTENER_H
#define OS_LISTENER_H

/*
 * DOC: Listening sockets
 *
 * A Unix socket at a path, for processes of the same user and of root. When the process is out of descriptors,
 * accept() fails and the connection stays in the queue, so the socket would wake the loop again at once, for ever.
 * Therefore the listener does not watch the socket for the time LISTENER_PAUSE after such a failure. Waiting clients
 * are served when descriptors are free again.
 */

#include "os/loop.h"

#define LISTENER_PAUSE NS_MSEC(100)

struct listener {
	struct loop *loop;
	struct loop_fd fd;
	struct timer again; /* timer that ends a pause */
	uint64_t *refused; /* number of connections refused because of their user; may be NULL */
	/* Called for a new connection of process @pid; takes over @sock, which is non-blocking and close-on-exec */
	void (*take)(struct listener *l, int sock, int pid, ns_t now);
};

/**
 * listener_socket() - Bind and listen at a path, with mode 0600
 * @ret:	the socket, non-blocking and close-on-exec
 * @path:	path of the socket; an existing file is removed, because an instance that was killed
 *	leaves its socket there
 * @type:	SOCK_STREAM or SOCK_SEQPACKET
 *
 * Return: 0; -ENAMETOOLONG; -errno
 */
int listener_socket(int *ret, const char *path, int type, int backlog);

/*
 * listener_init() - Initialize a listener that has no socket yet. Before listener_start(),
 * listener_stop() has no effect
 */
void listener_init(struct listener *l);

/*
 * listener_start() - Serve @sock, which listener_stop() closes. Return: 0; -errno, and the caller still has to close
 * @sock
 */
int listener_start(struct listener *l, struct loop *loop, int sock,
		   void (*take)(struct listener *l, int sock, int pid, ns_t now));

/* listener_stop() - Close the socket, but do not remove its path. May be called twice */
void listener_stop(struct listener *l);

#endif
