/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_WRITER_H
#define OS_WRITER_H

/*
 * DOC: Output that must not block
 *
 * A write to a disk may hang (NFS), and a write to a pipe or a terminal waits for its reader. O_NONBLOCK does not
 * help, because it belongs to the open file description, which other processes may share and change. Therefore the
 * loop does not write to files. It sends to a socket with MSG_DONTWAIT, a flag that affects only this one call. A
 * writer copies from the other end of the socket to the file. A writer is a process that may wait: a child of this
 * process, or of the client that sent the socket.
 *
 * A writer sends reports back by the same socket (writer_report()). It reports 0 when the first
 * octets are in the file. It reports 0 again when the socket was shut down, all octets are in the
 * file and the file is closed. If a write to the file fails, the report is -errno, and no other
 * report follows.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * writer_is_socket() - Tell whether @fd is a Unix socket of type SOCK_STREAM, on which a call with
 * MSG_DONTWAIT never waits
 */
bool writer_is_socket(int fd);

/*
 * writer_is_regular() - Tell whether @fd is a regular file. A writer to a regular file waits only
 * for a disk
 */
bool writer_is_regular(int fd);

/**
 * writer_fork() - Start a writer, a child that copies from a socket to @out until the socket is shut down
 * @ret:	the end of the socket to which the caller writes
 * @truncate:	true to truncate the file when the first octets come
 *
 * This process must not have installed its seccomp filter yet. The child has no other descriptors
 * and no capabilities. It ends when all octets are written. This process does not wait for it,
 * because the child may live longer than this process. Return: 0 or -errno
 */
int writer_fork(int *ret, int out, bool truncate);

/*
 * writer_report() - Receive a report. Return: 0, and the report (0 or -errno) in *ret; -EAGAIN: no report has
 * arrived; -EPIPE: no further report will arrive
 */
int writer_report(int sock, int *ret);

/*
 * writer_pair() - Make a socket pair: one end to write to, one to copy from; both are
 * close-on-exec. Return: 0 or -errno
 */
int writer_pair(int *ret_write, int *ret_read);

/*
 * writer_copy() - Copy the octets that can be read from @from now, at most one buffer. Return: 1; 0 at the end of
 * @from; -errno of reading or writing, including -EINTR
 */
int writer_copy(int from, int out);

#endif
