/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/path.h"
#include "preload/real.h"

/*
 * scandir() and glob() are replaced, because the C library's own scandir() and glob() open
 * directories by internal functions that a preloaded library cannot replace.
 */

typedef int (*filter_t)(const struct dirent *);
typedef int (*compare_t)(const struct dirent **, const struct dirent **);

struct list {
	struct dirent **entries;
	size_t n, room;
};

static void list_free(struct list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->entries[i]);
	free(l->entries);
}

static bool list_add(struct list *l, const struct dirent *e)
{
	struct dirent *copy, **entries;

	if (l->n == l->room) {
		entries = realloc(l->entries, (l->room * 2 + 16) * sizeof(struct dirent *));
		if (!entries)
			return false;
		l->entries = entries;
		l->room = l->room * 2 + 16;
	}
	copy = malloc(sizeof(*copy));
	if (!copy)
		return false;
	l->entries[l->n++] = memcpy(copy, e, sizeof(*copy));
	return true;
}

static int scan(DIR *dir, struct dirent ***ret, filter_t filter, compare_t compare)
{
	struct list l = { .entries = malloc(sizeof(struct dirent *)) };
	const struct dirent *e;
	bool ok = l.entries != NULL;

	while (ok && (e = readdir(dir)))
		if (!filter || filter(e))
			ok = list_add(&l, e);
	closedir(dir);
	if (!ok) {
		list_free(&l);
		errno = ENOMEM;
		return -1;
	}
	if (compare && l.n)
		qsort(l.entries, l.n, sizeof(struct dirent *),
		      (int (*)(const void *, const void *))(void (*)(void))compare);
	*ret = l.entries;
	return (int)l.n;
}

static int scan_at(int dirfd, const char *path, struct dirent ***ret, filter_t filter,
		   compare_t compare)
{
	struct path p;
	DIR *dir;

	if (!path_find(&p, dirfd, path))
		return real.scandirat(p.dirfd, p.rest, ret, filter, compare);
	dir = opendir(p.abs);
	return dir ? scan(dir, ret, filter, compare) : -1;
}

EXPORT int scandir(const char *path, struct dirent ***ret, filter_t filter, compare_t compare)
{
	return scan_at(AT_FDCWD, path, ret, filter, compare);
}

EXPORT int scandirat(int dirfd, const char *path, struct dirent ***ret, filter_t filter,
		     compare_t compare)
{
	return scan_at(dirfd, path, ret, filter, compare);
}

EXPORT int scandir64(const char *path, struct dirent64 ***ret,
		     int (*filter)(const struct dirent64 *),
		     int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	return scan_at(AT_FDCWD, path, (struct dirent ***)ret, (filter_t)filter,
		       (compare_t)compare);
}

EXPORT int scandirat64(int dirfd, const char *path, struct dirent64 ***ret,
		       int (*filter)(const struct dirent64 *),
		       int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	return scan_at(dirfd, path, (struct dirent ***)ret, (filter_t)filter, (compare_t)compare);
}

static void *glob_opendir(const char *path)
{
	return opendir(path);
}

static struct dirent *glob_readdir(void *dir)
{
	return readdir(dir);
}

static void glob_closedir(void *dir)
{
	closedir(dir);
}

/* With GLOB_ALTDIRFUNC the C library's glob() calls the functions in @g instead of its own. */
EXPORT int glob(const char *pattern, int flags, int (*on_error)(const char *, int), glob_t *g)
{
	glob_t saved = *g;
	int err;

	if (!preload_on() || (flags & GLOB_ALTDIRFUNC))
		return real.glob(pattern, flags, on_error, g);
	g->gl_opendir = glob_opendir;
	g->gl_readdir = glob_readdir;
	g->gl_closedir = glob_closedir;
	g->gl_stat = stat;
	g->gl_lstat = lstat;
	err = real.glob(pattern, flags | GLOB_ALTDIRFUNC, on_error, g);
	g->gl_opendir = saved.gl_opendir;
	g->gl_readdir = saved.gl_readdir;
	g->gl_closedir = saved.gl_closedir;
	g->gl_stat = saved.gl_stat;
	g->gl_lstat = saved.gl_lstat;
	g->gl_flags &= ~GLOB_ALTDIRFUNC;
	return err;
}

EXPORT int glob64(const char *pattern, int flags, int (*on_error)(const char *, int), glob64_t *g)
{
	return glob(pattern, flags, on_error, (glob_t *)g);
}
