/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_REAL_H
#define PRELOAD_REAL_H

/*
 * DOC: How a program sees the daemon's /dev/infiniband
 *
 * The library defines the functions of the C library that take a path or a descriptor. Each of them first checks its
 * argument: a path by the first question below, a descriptor by the second. If the answer is no, the function calls
 * the next definition of the same function (usually the C library's), to which struct real points.
 *
 *	path	is the path below /sys/class/infiniband, /sys/class/infiniband_mad or /dev/infiniband?	path.c
 *	fd	did open() of such a path return the descriptor?						fdtab.c
 *
 * The kernel, not this library, stores which device or file belongs to such a descriptor: the descriptor is a socket
 * to the daemon, or a memfd whose name is the path. So dup(), fork(), exec() and every way to close a file work
 * without help of the library. The table in fdtab.c only remembers the inode of each descriptor. A descriptor that
 * now has another inode no longer belongs to the library.
 *
 *	open.c	open, fopen, dup, fcntl		umad.c	read, write, ioctl of a MAD device
 *	stat.c	stat, access, readlink ...	rw.c	read, write, ioctl of any descriptor
 *	dir.c	opendir, readdir		conn.c	messages to the daemon (umad/proto.h)
 *	scandir.c scandir, glob			node.c	attributes and content of a path
 *	cwd.c	chdir, getcwd
 *
 * Without UIPOIB_UMAD in the environment, each function makes only one test before it calls the C library's function.
 */

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "umad/proto.h"

#define EXPORT __attribute__((visibility("default")))

#define REAL_FUNCTIONS(X)                                                        \
	X(int, openat, (int, const char *, int, ...))                            \
	X(FILE *, fopen, (const char *, const char *))                           \
	X(FILE *, freopen, (const char *, const char *, FILE *))                 \
	X(DIR *, opendir, (const char *))                                        \
	X(DIR *, fdopendir, (int))                                               \
	X(struct dirent *, readdir, (DIR *))                                     \
	X(int, readdir_r, (DIR *, struct dirent *, struct dirent **))            \
	X(int, closedir, (DIR *))                                                \
	X(void, rewinddir, (DIR *))                                              \
	X(void, seekdir, (DIR *, long))                                          \
	X(long, telldir, (DIR *))                                                \
	X(int, dirfd, (DIR *))                                                   \
	X(int, scandirat,                                                        \
	  (int, const char *, struct dirent ***, int (*)(const struct dirent *), \
	   int (*)(const struct dirent **, const struct dirent **)))             \
	X(int, glob, (const char *, int, int (*)(const char *, int), glob_t *))  \
	X(int, fstatat, (int, const char *, struct stat *, int))                 \
	X(int, fstat, (int, struct stat *))                                      \
	X(int, statx, (int, const char *, int, unsigned int, struct statx *))    \
	X(int, faccessat, (int, const char *, int, int))                         \
	X(ssize_t, readlinkat, (int, const char *, char *, size_t))              \
	X(char *, realpath, (const char *, char *))                              \
	X(ssize_t, getxattr, (const char *, const char *, void *, size_t))       \
	X(ssize_t, lgetxattr, (const char *, const char *, void *, size_t))      \
	X(ssize_t, listxattr, (const char *, char *, size_t))                    \
	X(ssize_t, llistxattr, (const char *, char *, size_t))                   \
	X(int, chdir, (const char *))                                            \
	X(int, fchdir, (int))                                                    \
	X(char *, getcwd, (char *, size_t))                                      \
	X(ssize_t, read, (int, void *, size_t))                                  \
	X(ssize_t, readv, (int, const struct iovec *, int))                      \
	X(ssize_t, write, (int, const void *, size_t))                           \
	X(ssize_t, writev, (int, const struct iovec *, int))                     \
	X(int, ioctl, (int, unsigned long, ...))                                 \
	X(int, fcntl, (int, int, ...))                                           \
	X(int, dup, (int))                                                       \
	X(int, dup2, (int, int))                                                 \
	X(int, dup3, (int, int, int))

/*
 * Pointers to the definitions that come after this library's definitions in the search order of the
 * dynamic linker (RTLD_NEXT).
 */
struct real {
#define X(type, name, params) type(*name) params;
	REAL_FUNCTIONS(X)
#undef X
};

/* Settings from the environment, read once when the program starts. */
struct config {
	struct sockaddr_un addr;
	char host[UMAD_NAME_MAX];
	char node[UMAD_NAME_MAX];
	time_t started; /* time when the program started, which is the time stamp of the library's files */
};

extern struct real real;
extern struct config config;

/**
 * preload_on() - Tell whether the library serves paths and descriptors at all
 *
 * The first call fills struct real and struct config. The constructor of this library would be too late,
 * because constructors of other libraries can call the library's functions before this constructor runs.
 * Return: true if UIPOIB_UMAD names a socket
 */
bool preload_on(void);

/* Functions that the C library exports but declares in no header that we include. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);
ssize_t __read_chk(int fd, void *buf, size_t count, size_t size);
ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t size);
ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t size);
char *__realpath_chk(const char *path, char *resolved, size_t size);
char *__getcwd_chk(char *buf, size_t len, size_t size);
int __xstat(int ver, const char *path, struct stat *st);
int __xstat64(int ver, const char *path, struct stat64 *st);
int __lxstat(int ver, const char *path, struct stat *st);
int __lxstat64(int ver, const char *path, struct stat64 *st);
int __fxstat(int ver, int fd, struct stat *st);
int __fxstat64(int ver, int fd, struct stat64 *st);
int __fxstatat(int ver, int dirfd, const char *path, struct stat *st, int flags);
int __fxstatat64(int ver, int dirfd, const char *path, struct stat64 *st, int flags);

#endif
