/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_NODE_H
#define PRELOAD_NODE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "preload/path.h"

struct conn_content;
struct statx;

/* Attributes of a file, directory or device that this library provides at some path. */
struct node {
	mode_t mode;
	ino_t ino; /* hash of the path, so that the number never changes; for a device, .rdev */
	dev_t rdev;
	off_t size;
};

/*
 * node_look() - Read the attributes of a path that this library provides
 * @ret:	written only on success
 * @p:		a path that this library provides
 * Return: 0; -ENOENT, -ENOTDIR (name of a file followed by a slash), or the daemon's -errno
 */
int node_look(struct node *ret, const struct path *p);

/**
 * node_load() - Read the attributes and the content of a path that this library provides
 * @ret:		written only on success
 * @ret_content:	content of a file or names in a directory, nothing for a device; the caller
 *			releases it with conn_content_free()
 * @p:			a path that this library provides
 * Return: as node_look()
 */
int node_load(struct node *ret, struct conn_content *ret_content, const struct path *p);

/* Return the result of access() for @mode (R_OK ...), which is 0 or -EACCES. */
int node_may(const struct node *n, int mode);

void node_stat(struct stat *ret, const struct node *n);
void node_statx(struct statx *ret, const struct node *n);

/* Return the inode number of a path. */
ino_t node_ino(const char *abs);

/* Fill in the attributes of umadN or issmN (N is @dev) without asking the daemon. */
void node_device(struct node *ret, enum path_kind kind, unsigned int dev);

#endif
