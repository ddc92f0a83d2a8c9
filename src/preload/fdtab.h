/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_FDTAB_H
#define PRELOAD_FDTAB_H

#include <stddef.h>

/*
 * Which descriptors are ours. An entry holds the inode of the socket or memfd: closing it, by whatever
 * function, makes the entry stale without a word to us, and a stale entry is never believed.
 * Safe in signal handlers; nothing is locked.
 */

enum fd_kind {
	FD_OTHER, /* not ours */
	FD_UMAD, /* a connection of UMAD_KIND_MAD */
	FD_ISSM, /* a connection of UMAD_KIND_ISSM */
	FD_FILE, /* a memfd with an attribute's content */
	FD_DIR, /* an empty memfd that stands for a directory */
};

/* Octets of the name of a memfd are limited by the kernel (249); the path is in it. */
#define FDTAB_PATH_MAX 224

/**
 * fdtab_kind() - What a descriptor is
 * @fd:	any number
 * Return: FD_OTHER with errno untouched if it is not ours
 */
enum fd_kind fdtab_kind(int fd);

/**
 * fdtab_dev() - The N of umadN or issmN
 * @fd:	one of kind FD_UMAD or FD_ISSM
 * Return: 0 if it came through exec(), where the number is not known
 */
unsigned int fdtab_dev(int fd);

/**
 * fdtab_add() - Enter a descriptor that was just made
 * @fd:		the descriptor
 * @kind:	what it is
 * @dev:	N of umadN or issmN, else 0
 */
void fdtab_add(int fd, enum fd_kind kind, unsigned int dev);

/**
 * fdtab_copy() - A descriptor was duplicated
 * @from:	maybe one of ours
 * @to:		the copy, negative if there is none
 *
 * An entry of @to is never removed here: after vfork() the table is the parent's.
 * Return: @to
 */
int fdtab_copy(int from, int to);

/**
 * fdtab_memfd() - A memfd that fdtab_path() knows
 * @kind:	FD_FILE or FD_DIR
 * @path:	absolute path
 * @flags:	of memfd_create()
 * Return: the descriptor, not entered yet, or -errno
 */
int fdtab_memfd(enum fd_kind kind, const char *path, unsigned int flags);

/**
 * fdtab_path() - The path that was opened
 * @ret:	FDTAB_PATH_MAX octets
 * @fd:		one of kind FD_FILE or FD_DIR
 * Return: 0, -errno
 */
int fdtab_path(char *ret, int fd);

/**
 * fdtab_proc() - "/proc/self/fd/N"; snprintf() is not for signal handlers
 * @ret:	32 octets
 * @fd:		the N
 * Return: @ret
 */
const char *fdtab_proc(char *ret, int fd);

/* Enter what exec() left open. */
void fdtab_adopt(void);

#endif
