/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PATH_ASK_H
#define PATH_ASK_H

/*
 * DOC: One question to an instance
 *
 * Each question has a connection of its own. An instance answers the requests of one connection in
 * their order, so a question whose address has to be resolved would delay the others. The sending
 * side of the connection is shut down after the request. So the instance drops the connection as
 * soon as it has sent the answer. A connection whose answer the program has not read yet therefore
 * does not count as a client of the instance, which serves a limited number of clients.
 */

#include <sys/un.h>

#include "path/answer.h"

#define PATH_DEV_MAX 128 /* size of a buffer for IF@HOST with the NUL, larger than any such name */

/* The instance that is asked, and the interface in the question */
struct path_peer {
	struct sockaddr_un to;
	char dev[PATH_DEV_MAX], host[PATH_DEV_MAX]; /* "" if the question names none */
};

/* The part of an answer that has been received */
struct path_text {
	size_t len;
	char octets[4096]; /* an answer is below 3 KiB */
};

/* path_peer_init() - Look up an instance that runs. Return: 0; -errno, as ipoib_path_open() returns it */
int path_peer_init(struct path_peer *ret, const char *instance, const char *dev);

/*
 * path_question() - Return: the arguments of the command `path get` for the address in @info; NULL:
 * out of memory
 */
json_t *path_question(const struct ipoib_path_info *info);

/**
 * path_ask() - Connect and ask
 * @args:	arguments of the request: the result of path_question(), or an object whose member
 *		"address" is the address as text. The function takes over @args. NULL: the caller
 *		ran out of memory
 * @type:	SOCK_NONBLOCK, or 0
 *
 * Return: the connection, which path_hang_up() closes; -errno, but never -EAGAIN: nothing was asked
 */
int path_ask(const struct path_peer *peer, json_t *args, int type);

/*
 * path_take() - Receive some octets of an answer. Return: 0; 1 if no octet has arrived yet; -EPIPE: the instance has
 * ended; -EPROTO: the answer is too long; -errno
 */
int path_take(int fd, struct path_text *t);

/*
 * path_hang_up() - End a connection, even if a forked child has a copy of its descriptor. The child itself must only
 * close its copy, because the connection is its parent's.
 */
void path_hang_up(int fd);

/*
 * path_call() - Ask, and wait for the answer
 * @args:	as for path_ask()
 *
 * Return: 0: @ret is the answer, which the caller frees by path_reply_fini(); -errno: there is no
 * answer
 */
int path_call(const struct path_peer *peer, json_t *args, struct path_reply *ret);

#endif
