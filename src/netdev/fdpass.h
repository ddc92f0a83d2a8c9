/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_FDPASS_H
#define NETDEV_FDPASS_H

/* Descriptors in messages (SCM_RIGHTS); and one message of fixed length over a SOCK_SEQPACKET socket. */

#include <stddef.h>
#include <sys/socket.h>

#define FDPASS_MAX 8
_Static_assert(FDPASS_MAX % 2 == 0, "else the padding of the last one is room for another");

/* Room for them, as aligned as struct cmsghdr has to be */
union fdpass_control {
	struct cmsghdr align;
	char room[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
};

/* fdpass_attach() - Have @n descriptors, at most FDPASS_MAX, go with @m. @c lives as long as that */
void fdpass_attach(struct msghdr *m, union fdpass_control *c, const int *fds, unsigned int n);

/* fdpass_room() - Let descriptors come with @m: fdpass_take() them when it was received */
void fdpass_room(struct msghdr *m, union fdpass_control *c);

/* fdpass_take() - The first @max that came go to @ret_fds, all others are closed. Return: how many */
unsigned int fdpass_take(struct msghdr *m, int *ret_fds, unsigned int max);

/* fdpass_send() - The descriptors stay the caller's. 0 or -errno; never raises SIGPIPE */
int fdpass_send(int sock, const void *msg, size_t len, const int *fds, unsigned int n);

/**
 * fdpass_recv() - Wait for a message of exactly @len octets
 * @ret_fds:	room for FDPASS_MAX; close-on-exec
 *
 * Return: 0; -EPIPE the other end is closed; -EAGAIN the socket's time-out passed;
 * -EBADMSG another length, or descriptors cut off: they are closed; -errno
 */
int fdpass_recv(int sock, void *msg, size_t len, int *ret_fds, unsigned int *ret_n);

/* fdpass_close() - Close those of @n descriptors that are not -1 */
void fdpass_close(const int *fds, unsigned int n);

#endif
