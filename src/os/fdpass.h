/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_FDPASS_H
#define OS_FDPASS_H

/*
 * Descriptors that are passed in messages (SCM_RIGHTS), and messages of fixed length on a
 * SOCK_SEQPACKET socket.
 */

#include <stddef.h>
#include <sys/socket.h>

#define FDPASS_MAX 8
_Static_assert(FDPASS_MAX % 2 == 0, "else the padding of the last one is room for another");

/* Buffer for descriptors in a control message, aligned for struct cmsghdr */
union fdpass_control {
	struct cmsghdr align;
	char room[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
};

/*
 * fdpass_attach() - Before sendmsg(), add @n descriptors, at most FDPASS_MAX, to the message @m
 * @c:	has to stay until @m has been sent
 */
void fdpass_attach(struct msghdr *m, union fdpass_control *c, const int *fds, unsigned int n);

/*
 * fdpass_room() - Before recvmsg(), make @c the buffer for the descriptors that come with @m. After
 * recvmsg(), fdpass_take() returns the descriptors
 */
void fdpass_room(struct msghdr *m, union fdpass_control *c);

/*
 * fdpass_take() - Write the first @max descriptors that came with @m to @ret_fds, and close the
 * other descriptors. Return: number of descriptors in @ret_fds
 */
unsigned int fdpass_take(struct msghdr *m, int *ret_fds, unsigned int max);

/*
 * fdpass_send() - Send a message with descriptors, which the caller still has to close. Return: 0
 * or -errno; the call never raises SIGPIPE
 */
int fdpass_send(int sock, const void *msg, size_t len, const int *fds, unsigned int n);

/**
 * fdpass_recv() - Wait for a message of exactly @len octets
 * @ret_fds:	room for FDPASS_MAX descriptors, which are close-on-exec
 *
 * Return: 0; -EPIPE: the other end is closed; -EAGAIN: the socket's time-out passed; -EBADMSG: the
 * message has another length; -EMFILE: this process has as many descriptors as RLIMIT_NOFILE
 * allows, and the received descriptors were closed; -errno
 */
int fdpass_recv(int sock, void *msg, size_t len, int *ret_fds, unsigned int *ret_n);

/* fdpass_close() - Close those of @n descriptors that are open (not -1) */
void fdpass_close(const int *fds, unsigned int n);

#endif
