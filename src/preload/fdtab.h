/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_FDTAB_H
#define PRELOAD_FDTAB_H

#include <stddef.h>

/*
 * The table of the descriptors that this library has opened for the devices and files that it provides. Each of
 * these descriptors is a socket or a memfd, and its entry holds the inode. The program can close a descriptor by
 * functions that this library does not replace, and the kernel can then give the same number to another file. So
 * an entry is valid only while the descriptor still refers to the inode in the entry, on the file system of
 * sockets or memfds. The functions below use no locks, so they are safe in signal handlers.
 */

enum fd_kind {
	FD_OTHER, /* not a descriptor of this library */
	FD_UMAD, /* a connection of UMAD_KIND_MAD */
	FD_ISSM, /* a connection of UMAD_KIND_ISSM */
	FD_FILE, /* a memfd with an attribute's content */
	FD_DIR, /* an empty memfd, opened in place of a directory */
	FD_KINDS,
};

/* The name of a memfd contains the path, and the kernel limits this name to 249 octets. */
#define FDTAB_PATH_MAX 224

/**
 * fdtab_kind() - Return the kind of a descriptor
 * @fd:	any number
 * Return: the kind; FD_OTHER if this library did not make the descriptor. errno does not change
 */
enum fd_kind fdtab_kind(int fd);

/**
 * fdtab_dev() - Return the N of umadN or issmN
 * @fd:	descriptor of kind FD_UMAD or FD_ISSM
 * Return: N; 0 for a descriptor inherited through exec(), whose number is not known
 */
unsigned int fdtab_dev(int fd);

/**
 * fdtab_add() - Add a descriptor that was just made
 * @fd:		the descriptor
 * @kind:	its kind
 * @dev:	N of umadN or issmN, else 0
 */
void fdtab_add(int fd, enum fd_kind kind, unsigned int dev);

/**
 * fdtab_copy() - Record that a descriptor was duplicated
 * @from:	a descriptor of any kind
 * @to:		the copy, negative if the duplication failed
 *
 * If the kind of @from is FD_OTHER, the old entry of @to is not removed. The reason is that a child
 * after vfork() shares the parent's table, and in the parent the descriptor @to is unchanged. An
 * entry that is out of date does no harm, because its inode no longer matches.
 * Return: @to
 */
int fdtab_copy(int from, int to);

/**
 * fdtab_memfd() - Make a memfd whose name contains a path, for fdtab_path()
 * @kind:	FD_FILE or FD_DIR
 * @path:	absolute path
 * @flags:	flags of memfd_create()
 * Return: the descriptor, for which the caller calls fdtab_add(), or -errno
 */
int fdtab_memfd(enum fd_kind kind, const char *path, unsigned int flags);

/**
 * fdtab_path() - Copy the path from the name of a memfd
 * @ret:	FDTAB_PATH_MAX octets
 * @fd:		descriptor of kind FD_FILE or FD_DIR
 * Return: 0, -errno
 */
int fdtab_path(char *ret, int fd);

/**
 * fdtab_proc() - Write "/proc/self/fd/N" without snprintf(), which signal handlers must not call
 * @ret:	32 octets
 * @fd:		the N
 * Return: @ret
 */
const char *fdtab_proc(char *ret, int fd);

/*
 * After exec(), add to the table those inherited descriptors that this library made before the
 * exec().
 */
void fdtab_adopt(void);

#endif
