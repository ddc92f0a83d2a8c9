/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/conn.h"
#include "preload/fdtab.h"
#include "preload/node.h"
#include "preload/path.h"
#include "preload/real.h"

/*
 * For a directory of this library, opendir() returns a struct our_dir, with the names that the
 * directory had at that time. This struct begins with the negative MAGIC. A DIR of the C library
 * begins with a descriptor, which is not negative, so ours() can tell the two apart.
 */
#define MAGIC INT32_C(-0x7569626f)

struct our_dir {
	int32_t magic;
	int fd; /* descriptor that dirfd() returns; -1 until dirfd() is called */
	uint32_t n, at; /* number of names, index of the next name to return */
	/*
	 * array of .n pointers to names; the strings follow the array in the same block of memory
	 */
	const char **names;
	struct dirent entry;
	char path[FDTAB_PATH_MAX];
};

static struct our_dir *ours(DIR *dir)
{
	struct our_dir *d = (struct our_dir *)dir;

	return preload_on() && d && d->magic == MAGIC ? d : NULL;
}

/*
 * Count the names in @c, and store pointers to the names in @names unless @names is NULL. Skip
 * names that no struct dirent could have: "", names with a '/' and names longer than NAME_MAX.
 */
static uint32_t split(const char **names, const struct conn_content *c)
{
	uint32_t n = 0, at = 0, len;

	for (; at < c->len; at += len + 1) {
		len = (uint32_t)strlen(c->data + at);
		if (len == 0 || len > NAME_MAX || memchr(c->data + at, '/', len))
			continue;
		if (names)
			names[n] = c->data + at;
		n++;
	}
	return n;
}

static struct our_dir *make(const char *path, const struct conn_content *c)
{
	uint32_t n = split(NULL, c);
	size_t table = (n + 2) * sizeof(char *);
	struct our_dir *d = calloc(1, sizeof(*d));
	char *text;

	if (!d)
		return NULL;
	d->names = malloc(table + c->len + 1);
	if (!d->names) {
		free(d);
		return NULL;
	}
	text = (char *)d->names + table;
	d->names[0] = ".";
	d->names[1] = "..";
	memcpy(text, c->data, c->len);
	text[c->len] = '\0';
	split(d->names + 2, &(struct conn_content){ .data = text, .len = c->len });
	memcpy(d->path, path, strlen(path) + 1);
	d->n = n + 2;
	d->fd = -1;
	d->magic = MAGIC;
	return d;
}

static int open_ours(struct our_dir **ret, const struct path *p)
{
	struct conn_content c;
	struct node n;
	int err;

	if (strlen(p->abs) >= FDTAB_PATH_MAX)
		return -ENAMETOOLONG;
	err = node_load(&n, &c, p);
	if (err)
		return err;
	*ret = S_ISDIR(n.mode) ? make(p->abs, &c) : NULL;
	conn_content_free(&c);
	if (!S_ISDIR(n.mode))
		return -ENOTDIR;
	return *ret ? 0 : -ENOMEM;
}

static DIR *open_path(const struct path *p)
{
	struct our_dir *d = NULL;
	int saved = errno, err = open_ours(&d, p);

	errno = err ? -err : saved;
	return err ? NULL : (DIR *)d;
}

EXPORT DIR *opendir(const char *path)
{
	struct path p;

	return path_find(&p, AT_FDCWD, path) ? open_path(&p) : real.opendir(p.rest);
}

EXPORT DIR *fdopendir(int fd)
{
	char path[FDTAB_PATH_MAX];
	struct path p;
	DIR *dir;

	if (!preload_on() || fdtab_kind(fd) != FD_DIR || fdtab_path(path, fd) != 0)
		return real.fdopendir(fd);
	path_set(&p, path);
	dir = open_path(&p);
	if (dir)
		((struct our_dir *)dir)->fd = fd;
	return dir;
}

static ino_t name_ino(const struct our_dir *d, const char *name)
{
	char path[FDTAB_PATH_MAX + NAME_MAX + 2];
	size_t len = strlen(d->path);

	if (strcmp(name, ".") == 0)
		return node_ino(d->path);
	memcpy(path, d->path, len);
	path[len] = '/';
	memcpy(path + len + 1, name, strlen(name) + 1);
	return node_ino(path);
}

static struct dirent *next(struct our_dir *d)
{
	const char *name;

	if (d->at >= d->n)
		return NULL;
	name = d->names[d->at++];
	d->entry.d_ino = name_ino(d, name);
	d->entry.d_off = d->at;
	d->entry.d_reclen = sizeof(d->entry);
	d->entry.d_type = name[0] == '.' ? DT_DIR : DT_UNKNOWN;
	memcpy(d->entry.d_name, name, strlen(name) + 1);
	return &d->entry;
}

EXPORT struct dirent *readdir(DIR *dir)
{
	struct our_dir *d = ours(dir);

	return d ? next(d) : real.readdir(dir);
}

EXPORT struct dirent64 *readdir64(DIR *dir)
{
	return (struct dirent64 *)readdir(dir);
}

static int read_r(DIR *dir, struct dirent *entry, struct dirent **result)
{
	struct our_dir *d = ours(dir);
	struct dirent *e;

	if (!d)
		return real.readdir_r(dir, entry, result);
	e = next(d);
	*result = e ? memcpy(entry, e, sizeof(*e)) : NULL;
	return 0;
}

EXPORT int readdir_r(DIR *dir, struct dirent *entry, struct dirent **result)
{
	return read_r(dir, entry, result);
}

EXPORT int readdir64_r(DIR *dir, struct dirent64 *entry, struct dirent64 **result)
{
	return read_r(dir, (struct dirent *)entry, (struct dirent **)result);
}

EXPORT int closedir(DIR *dir)
{
	struct our_dir *d = ours(dir);

	if (!d)
		return real.closedir(dir);
	conn_close(d->fd);
	d->magic = 0;
	free((void *)d->names);
	free(d);
	return 0;
}

/*
 * POSIX requires that after rewinddir() a program sees the names that a new opendir() would show.
 */
EXPORT void rewinddir(DIR *dir)
{
	struct our_dir *d = ours(dir), *fresh = NULL;
	struct path p;
	const char **names;

	if (!d) {
		real.rewinddir(dir);
		return;
	}
	d->at = 0;
	path_set(&p, d->path);
	if (open_ours(&fresh, &p) != 0)
		return;
	names = d->names;
	d->names = fresh->names;
	d->n = fresh->n;
	free((void *)names);
	free(fresh);
}

EXPORT void seekdir(DIR *dir, long at)
{
	struct our_dir *d = ours(dir);

	if (!d)
		real.seekdir(dir, at);
	else
		d->at = at >= 0 && at < (long)d->n ? (uint32_t)at : d->n;
}

EXPORT long telldir(DIR *dir)
{
	struct our_dir *d = ours(dir);

	return d ? (long)d->at : real.telldir(dir);
}

EXPORT int dirfd(DIR *dir)
{
	struct our_dir *d = ours(dir);

	if (!d)
		return real.dirfd(dir);
	if (d->fd < 0) {
		d->fd = fdtab_memfd(FD_DIR, d->path, MFD_CLOEXEC);
		if (d->fd < 0) {
			errno = -d->fd;
			d->fd = -1;
			return -1;
		}
		fdtab_add(d->fd, FD_DIR, 0);
	}
	return d->fd;
}
