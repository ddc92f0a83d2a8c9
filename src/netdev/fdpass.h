/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_FDPASS_H
#define NETDEV_FDPASS_H

/* One message of fixed length and its descriptors over a SOCK_SEQPACKET socket (SCM_RIGHTS). */

#include <stddef.h>

#define FDPASS_MAX 8

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
