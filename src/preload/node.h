/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_NODE_H
#define PRELOAD_NODE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "preload/path.h"

struct conn_content;
struct statx;

/* What is at a path of ours. */
struct node {
	mode_t mode;
	ino_t ino; /* of the path's text: the same for as long as anybody looks */
	dev_t rdev;
	off_t size;
};

/**
 * node_look() - See what is there
 * @ret:	written only on success
 * @p:		a path of ours
 * Return: 0; -ENOENT, -ENOTDIR (a file's name with a slash behind it) or what the daemon says
 */
int node_look(struct node *ret, const struct path *p);

/**
 * node_load() - The same, with the content of a file or the names in a directory
 * @ret:	to be given to conn_content_free(); without content for a device
 */
int node_load(struct node *ret, struct conn_content *ret_content, const struct path *p);

/* node_may() - What access() says for @mode (R_OK ...): 0 or -EACCES */
int node_may(const struct node *n, int mode);

void node_stat(struct stat *ret, const struct node *n);
void node_statx(struct statx *ret, const struct node *n);

/* The inode number of a path. */
ino_t node_ino(const char *abs);

/* Inodes of devices that a descriptor shows. */
void node_device(struct node *ret, enum path_kind kind, unsigned int dev);

#endif
