/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_UMAD_H
#define PRELOAD_UMAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The file operations of ib_umad (drivers/infiniband/core/user_mad.c) on a connection to the daemon.
 *
 * poll(), select() and epoll need no code here, because the connection is readable when a MAD waits
 * and writable while the daemon keeps up. The kernel stores two facts in struct ib_umad_file:
 * whether headers have the P_Key index, and whether an agent was ever registered. This library
 * stores the two facts in the socket, because they must be the same for all copies of a descriptor,
 * in all processes.
 */

/* Register the handler of fork(). The constructor of the library calls this function. */
void umad_start(void);

/**
 * umad_open() - Open a device
 * @issm:	true for issmN, false for umadN
 * @dev:	the N of issmN or umadN
 * @flags:	flags of open(), of which O_NONBLOCK and O_CLOEXEC matter
 *
 * While another descriptor of issmN is open, umad_open() waits (a signal ends the wait with -EINTR),
 * or fails with -EAGAIN if @flags has O_NONBLOCK.
 * Return: a descriptor, or -errno
 */
int umad_open(bool issm, unsigned int dev, int flags);

/*
 * Return the size of the header that programs read and write on @fd, which depends on whether the
 * header has the P_Key index.
 */
size_t umad_hdr_size(int fd);

/* Return true if a connection inherited through exec() is an open issmN, false if it is a umadN. */
bool umad_is_issm(int fd);

/*
 * umad_read() - Receive a MAD, or a request of this program that got no answer and is returned
 * @fd:		a descriptor of kind FD_UMAD
 * @buf:	header and data
 * @count:	octets of @buf
 *
 * This function is a cancellation point. A MAD that does not fit into @buf stays in the queue. If
 * the first 256 octets of this MAD fit, they are copied, and the result is -ENOSPC. The header then
 * contains the whole length of the MAD. Otherwise the result is -EINVAL. If a program reads again
 * after UMAD_GONE_PATIENCE reads have returned -EIO, it gets a SIGTERM.
 * Return: octets; -EINVAL, -ENOSPC, -EAGAIN, -EINTR; -EIO if the daemon is gone
 */
ssize_t umad_read(int fd, void *buf, size_t count);
#define UMAD_GONE_PATIENCE 32

/*
 * umad_write() - Send a MAD. The kernel's write() never returns -EAGAIN, and this function does not
 * either. A thread can be cancelled in this function only before the function begins to send.
 * Return: @count; -EINVAL (too short, or no such agent number), -EIO if the daemon is gone, -ENOMEM
 */
ssize_t umad_write(int fd, const void *buf, size_t count);

/*
 * umad_ioctl() - Register and unregister agents, enable the P_Key index. Return: 0; -errno; -ENOTTY
 * for requests that ib_umad does not know
 */
int umad_ioctl(int fd, unsigned int cmd, void *arg);

#endif
