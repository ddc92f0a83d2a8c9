/* SPDX-License-Identifier: BSD-2-Clause */
#include "preload/node.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "preload/conn.h"
#include "preload/real.h"

#define UMAD_MAJOR 231 /* major device number, from Documentation/admin-guide/devices.txt */
#define ISSM_MINOR 64
#define BLOCK_SIZE 4096
#define OUR_DEV makedev(0, 0x7569)
#define SYS_LEN (sizeof("/sys/") - 1)

/*
 * Return the FNV-1a hash of the path, with bit 0 set, because some programs take inode number 0 for
 * a deleted file.
 */
ino_t node_ino(const char *abs)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *abs; abs++)
		h = (h ^ (unsigned char)*abs) * UINT64_C(0x100000001b3);
	return (h >> 16) | 1;
}

void node_device(struct node *ret, enum path_kind kind, unsigned int dev)
{
	ret->mode = S_IFCHR | 0600;
	ret->rdev = makedev(UMAD_MAJOR, (kind == PATH_ISSM ? ISSM_MINOR : 0) + dev);
	ret->ino = ret->rdev;
	ret->size = 0;
}

/* Look up a device, which exists if its directory below /sys/class/infiniband_mad exists. */
static int look_device(struct node *ret, const struct path *p)
{
	char path[sizeof("class/infiniband_mad") + NAME_MAX] = "class/infiniband_mad";
	struct conn_content c;
	int err;

	strncat(path, p->abs + sizeof(PATH_DEV) - 1, NAME_MAX);
	err = conn_content(&c, path);
	if (err)
		return err;
	conn_content_free(&c);
	node_device(ret, p->kind, p->dev);
	return p->slash ? -ENOTDIR : 0;
}

/*
 * Keep only the names of devices, because the directory of the class also contains "abi_version".
 */
static void keep_devices(struct conn_content *c)
{
	uint32_t at = 0, to = 0, len;

	for (; at < c->len; at += len) {
		len = (uint32_t)strlen(c->data + at) + 1;
		if (strncmp(c->data + at, "umad", 4) == 0 ||
		    strncmp(c->data + at, "issm", 4) == 0) {
			memmove(c->data + to, c->data + at, len);
			to += len;
		}
	}
	c->len = to;
}

static int load_attr(struct node *ret, struct conn_content *ret_content, const struct path *p,
		     const char *path)
{
	int err = conn_content(ret_content, path);

	if (err)
		return err;
	if (p->slash && !ret_content->dir) {
		conn_content_free(ret_content);
		return -ENOTDIR;
	}
	ret->mode = ret_content->dir ? S_IFDIR | 0755 : S_IFREG | 0444;
	ret->ino = node_ino(p->abs);
	ret->rdev = 0;
	ret->size = ret_content->dir ? 0 : ret_content->len;
	return 0;
}

int node_load(struct node *ret, struct conn_content *ret_content, const struct path *p)
{
	int err;

	memset(ret_content, 0, sizeof(*ret_content));
	switch (p->kind) {
	case PATH_ATTR:
		return load_attr(ret, ret_content, p, p->abs + SYS_LEN);
	case PATH_DEVDIR:
		err = load_attr(ret, ret_content, p, &PATH_SYSFS_MAD[SYS_LEN]);
		if (!err)
			keep_devices(ret_content);
		return err;
	case PATH_UMAD:
	case PATH_ISSM:
		return look_device(ret, p);
	default:
		return -ENOENT;
	}
}

int node_look(struct node *ret, const struct path *p)
{
	struct conn_content c;
	int err = node_load(ret, &c, p);

	if (!err)
		conn_content_free(&c);
	return err;
}

int node_may(const struct node *n, int mode)
{
	if ((mode & X_OK) && !S_ISDIR(n->mode))
		return -EACCES;
	if ((mode & W_OK) && !S_ISCHR(n->mode))
		return -EACCES;
	return 0;
}

void node_stat(struct stat *ret, const struct node *n)
{
	memset(ret, 0, sizeof(*ret));
	ret->st_dev = OUR_DEV;
	ret->st_ino = n->ino;
	ret->st_mode = n->mode;
	ret->st_nlink = S_ISDIR(n->mode) ? 2 : 1;
	ret->st_rdev = n->rdev;
	/*
	 * The kernel's sysfs reports 4096 octets for every file. We report the true size, which tar
	 * and cp handle better.
	 */
	ret->st_size = n->size;
	ret->st_blocks = (n->size + 511) / 512;
	ret->st_blksize = BLOCK_SIZE;
	ret->st_atime = ret->st_mtime = ret->st_ctime = config.started;
}

void node_statx(struct statx *ret, const struct node *n)
{
	struct stat st;

	node_stat(&st, n);
	memset(ret, 0, sizeof(*ret));
	ret->stx_mask = STATX_BASIC_STATS;
	ret->stx_blksize = (uint32_t)st.st_blksize;
	ret->stx_nlink = (uint32_t)st.st_nlink;
	ret->stx_mode = (uint16_t)st.st_mode;
	ret->stx_ino = st.st_ino;
	ret->stx_size = (uint64_t)st.st_size;
	ret->stx_blocks = (uint64_t)st.st_blocks;
	ret->stx_atime.tv_sec = ret->stx_mtime.tv_sec = ret->stx_ctime.tv_sec = config.started;
	ret->stx_dev_major = major(st.st_dev);
	ret->stx_dev_minor = minor(st.st_dev);
	ret->stx_rdev_major = major(st.st_rdev);
	ret->stx_rdev_minor = minor(st.st_rdev);
}
