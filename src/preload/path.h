/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_PATH_H
#define PRELOAD_PATH_H

#include <limits.h>
#include <stdbool.h>

#define PATH_SYSFS "/sys/class/infiniband"
#define PATH_SYSFS_MAD "/sys/class/infiniband_mad"
#define PATH_SYSFS_VERBS "/sys/class/infiniband_verbs"
#define PATH_DEV "/dev/infiniband"

enum path_kind {
	/* a path that this library does not provide; the call is passed on to the C library */
	PATH_OTHER,
	PATH_ATTR, /* file or directory in sysfs; only the daemon can tell whether it exists */
	PATH_DEVDIR, /* /dev/infiniband itself */
	PATH_UMAD, /* /dev/infiniband/umadN */
	PATH_ISSM, /* /dev/infiniband/issmN */
	PATH_NONE, /* path for which we always report ENOENT, such as uverbs and rdma_cm */
};

struct path {
	enum path_kind kind;
	unsigned int dev; /* N of umadN or issmN, for PATH_UMAD and PATH_ISSM */
	bool slash; /* true if the path ends in '/', "/." or "/..", so it must be a directory */
	char abs[PATH_MAX]; /* absolute path without ".", ".." and double slashes */
	/* for PATH_OTHER: directory and path that are passed on to the C library */
	int dirfd;
	const char *rest;
};

/**
 * path_find() - Tell whether this library provides a path
 * @ret:	the result; @ret->rest may point to @path or into @ret
 * @dirfd:	as for openat()
 * @path:	as for openat(); NULL and "" are never provided
 *
 * The library provides a path only if the path contains "infiniband" or is relative to a directory
 * that the library provides, so all other paths cost one strstr(). Names are resolved as text,
 * which is right because none of the library's directories is a symbolic link. A path that leaves
 * the library's directories by ".." is passed on to the C library as an absolute path.
 * Return: true if the library provides the path
 */
bool path_find(struct path *ret, int dirfd, const char *path);

/**
 * path_set() - Classify an absolute path that path_find() produced earlier
 * @ret:	the result
 * @abs:	shorter than PATH_MAX
 */
void path_set(struct path *ret, const char *abs);

#endif
