/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_REAL_H
#define PRELOAD_REAL_H

/*
 * DOC: How a program comes to believe in /dev/infiniband
 *
 * The library defines functions of the C library that take a path or a descriptor. Each asks two
 * questions and otherwise calls the next definition, which struct real holds:
 *
 *	path	is it below /sys/class/infiniband, /sys/class/infiniband_mad or /dev/infiniband?	path.c
 *	fd	is it one that open() of such a path returned?						fdtab.c
 *
 * What a descriptor of ours means lives in the kernel (a socket to the daemon; a memfd whose name is the
 * path), so that dup(), fork(), exec() and close() by any way need no help: the table of
 * fdtab.c only remembers the inode, and a descriptor whose inode is another is not ours any more.
 *
 *	open.c	open, fopen, dup, fcntl		umad.c	read, write, ioctl of a MAD device
 *	stat.c	stat, access, readlink ...	rw.c	read, write, ioctl: whose is it
 *	dir.c	opendir, readdir, scandir, glob	conn.c	what is said to the daemon (umad/proto.h)
 *	cwd.c	chdir, getcwd			node.c	what is at a path
 *
 * Without UIPOIB_UMAD in the environment each function is one test more than the C library's.
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

/* The definitions that follow ours. */
struct real {
#define X(type, name, params) type(*name) params;
	REAL_FUNCTIONS(X)
#undef X
};

/* What the environment said when the program began. */
struct config {
	struct sockaddr_un addr;
	char host[UMAD_NAME_MAX];
	char node[UMAD_NAME_MAX];
	time_t started; /* the time of all files */
};

extern struct real real;
extern struct config config;

/**
 * preload_on() - Is the library to do anything?
 *
 * The first call looks up struct real: other libraries' constructors come here before ours runs.
 * Return: true if UIPOIB_UMAD names a socket
 */
bool preload_on(void);

/* Functions that the C library exports but declares nowhere. */
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
