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
	PATH_OTHER, /* not ours */
	PATH_ATTR, /* in sysfs, file or directory: the daemon knows */
	PATH_DEVDIR, /* /dev/infiniband itself */
	PATH_UMAD, /* /dev/infiniband/umadN */
	PATH_ISSM, /* /dev/infiniband/issmN */
	PATH_NONE, /* ours to say that nothing is there: uverbs, rdma_cm */
};

struct path {
	enum path_kind kind;
	unsigned int dev; /* of PATH_UMAD, PATH_ISSM */
	bool slash; /* it ends in '/' or "/.": must be a directory */
	char abs[PATH_MAX]; /* without ".", "..", double slashes */
	/* for PATH_OTHER, what to give to the C library */
	int dirfd;
	const char *rest;
};

/**
 * path_find() - Whose path it is
 * @ret:	the result; @ret->rest may point to @path or into @ret
 * @dirfd:	as for openat()
 * @path:	as for openat(), NULL and "" are never ours
 *
 * A path can only lead to ours if it has "infiniband" in it or starts at a directory of ours: all
 * others cost one strstr(). Names are resolved by text: no directory of ours is a symbolic link, and
 * what leaves ours by ".." is given to the C library as an absolute path.
 * Return: true if it is ours
 */
bool path_find(struct path *ret, int dirfd, const char *path);

/**
 * path_set() - Classify an absolute path that path_find() once made
 * @ret:	the result
 * @abs:	shorter than PATH_MAX
 */
void path_set(struct path *ret, const char *abs);

#endif
