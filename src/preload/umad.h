/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_UMAD_H
#define PRELOAD_UMAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The file operations of ib_umad (drivers/infiniband/core/user_mad.c) on a connection to the daemon.
 *
 * poll(), select() and epoll need nothing: the connection is readable when a MAD waits and
 * writable while the daemon keeps up. What the kernel has in struct ib_umad_file, whether the P_Key
 * index is in the header and whether agents were registered, is in the socket too: it must be the
 * same for all copies of a descriptor, in all processes.
 */

/* What the constructor does. */
void umad_start(void);

/**
 * umad_open() - Open a device
 * @issm:	issmN, not umadN
 * @dev:	N
 * @flags:	of open(): O_NONBLOCK and O_CLOEXEC are looked at
 *
 * Who holds issmN makes another open wait (EINTR), or fail with EAGAIN if it is not to block.
 * Return: a descriptor, or -errno
 */
int umad_open(bool issm, unsigned int dev, int flags);

/* Octets of the header that programs read and write on @fd: with the P_Key index or without. */
size_t umad_hdr_size(int fd);

/* A connection that came through exec(): of which kind? */
bool umad_is_issm(int fd);

/**
 * umad_read() - Receive a MAD, or one that was sent and had no answer
 * @fd:		a descriptor of kind FD_UMAD
 * @buf:	header and data
 * @count:	octets of @buf
 *
 * A cancellation point. A MAD that does not fit stays: -EINVAL if not even its first 256 octets do,
 * -ENOSPC with those and the length in the header.
 * Return: octets; -EINVAL, -ENOSPC, -EAGAIN, -EINTR; -EIO if the daemon is gone. A program that does not
 * mind that is sent SIGTERM after UMAD_GONE_PATIENCE of them.
 */
ssize_t umad_read(int fd, void *buf, size_t count);
#define UMAD_GONE_PATIENCE 32

/**
 * umad_write() - Send a MAD
 * Never -EAGAIN, as in the kernel. A cancellation point before anything is done.
 * Return: @count; -EINVAL (short, no such agent number), -EIO if the daemon is gone, -ENOMEM
 */
ssize_t umad_write(int fd, const void *buf, size_t count);

/**
 * umad_ioctl() - Register and unregister agents, enable the P_Key index
 * Return: 0, -errno; -ENOTTY for what ib_umad does not know
 */
int umad_ioctl(int fd, unsigned int cmd, void *arg);

#endif
