/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "preload/fdtab.h"
#include "preload/node.h"
#include "preload/path.h"
#include "preload/real.h"

static int ret(int err)
{
	if (err >= 0)
		return err;
	errno = -err;
	return -1;
}

/* Call node_look() without changing errno. */
static int look(struct node *n, const struct path *p)
{
	int saved = errno, err = node_look(n, p);

	errno = saved;
	return err;
}

/*
 * Fill in the attributes of an open descriptor, without asking the daemon. Return: false if the
 * descriptor is not the library's
 */
static bool look_fd(struct node *n, int fd)
{
	enum fd_kind kind = preload_on() ? fdtab_kind(fd) : FD_OTHER;
	char path[FDTAB_PATH_MAX];
	struct stat st;

	if (kind == FD_UMAD || kind == FD_ISSM) {
		node_device(n, kind == FD_ISSM ? PATH_ISSM : PATH_UMAD, fdtab_dev(fd));
		return true;
	}
	if (kind == FD_OTHER || fdtab_path(path, fd) != 0 || real.fstat(fd, &st) != 0)
		return false;
	n->mode = kind == FD_DIR ? S_IFDIR | 0755 : S_IFREG | 0444;
	n->ino = node_ino(path);
	n->rdev = 0;
	n->size = st.st_size;
	return true;
}

static bool is_fd_itself(const char *path, int flags)
{
	return (flags & AT_EMPTY_PATH) && path && path[0] == '\0';
}

static int stat_at(int dirfd, const char *path, struct stat *st, int flags)
{
	struct path p;
	struct node n;
	int err;

	if (is_fd_itself(path, flags) && look_fd(&n, dirfd)) {
		node_stat(st, &n);
		return 0;
	}
	if (!path_find(&p, dirfd, path))
		return real.fstatat(p.dirfd, p.rest, st, flags);
	err = look(&n, &p);
	if (!err)
		node_stat(st, &n);
	return ret(err);
}

static int stat_fd(int fd, struct stat *st)
{
	struct node n;

	if (!look_fd(&n, fd))
		return real.fstat(fd, st);
	node_stat(st, &n);
	return 0;
}

EXPORT int stat(const char *path, struct stat *st)
{
	return stat_at(AT_FDCWD, path, st, 0);
}

EXPORT int stat64(const char *path, struct stat64 *st)
{
	return stat_at(AT_FDCWD, path, (struct stat *)st, 0);
}

EXPORT int lstat(const char *path, struct stat *st)
{
	return stat_at(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

EXPORT int lstat64(const char *path, struct stat64 *st)
{
	return stat_at(AT_FDCWD, path, (struct stat *)st, AT_SYMLINK_NOFOLLOW);
}

EXPORT int fstat(int fd, struct stat *st)
{
	return stat_fd(fd, st);
}

EXPORT int fstat64(int fd, struct stat64 *st)
{
	return stat_fd(fd, (struct stat *)st);
}

EXPORT int fstatat(int dirfd, const char *path, struct stat *st, int flags)
{
	return stat_at(dirfd, path, st, flags);
}

EXPORT int fstatat64(int dirfd, const char *path, struct stat64 *st, int flags)
{
	return stat_at(dirfd, path, (struct stat *)st, flags);
}

/*
 * Programs built before glibc 2.33 call the following functions. These functions ignore @ver, the
 * version of struct stat, because only one version exists on 64-bit machines.
 */
EXPORT int __xstat(int ver, const char *path, struct stat *st)
{
	return stat_at(AT_FDCWD, path, st, 0);
}

EXPORT int __xstat64(int ver, const char *path, struct stat64 *st)
{
	return stat_at(AT_FDCWD, path, (struct stat *)st, 0);
}

EXPORT int __lxstat(int ver, const char *path, struct stat *st)
{
	return stat_at(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

EXPORT int __lxstat64(int ver, const char *path, struct stat64 *st)
{
	return stat_at(AT_FDCWD, path, (struct stat *)st, AT_SYMLINK_NOFOLLOW);
}

EXPORT int __fxstat(int ver, int fd, struct stat *st)
{
	return stat_fd(fd, st);
}

EXPORT int __fxstat64(int ver, int fd, struct stat64 *st)
{
	return stat_fd(fd, (struct stat *)st);
}

EXPORT int __fxstatat(int ver, int dirfd, const char *path, struct stat *st, int flags)
{
	return stat_at(dirfd, path, st, flags);
}

EXPORT int __fxstatat64(int ver, int dirfd, const char *path, struct stat64 *st, int flags)
{
	return stat_at(dirfd, path, (struct stat *)st, flags);
}

EXPORT int statx(int dirfd, const char *path, int flags, unsigned int mask, struct statx *stx)
{
	struct path p;
	struct node n;
	int err;

	if (is_fd_itself(path, flags) && look_fd(&n, dirfd)) {
		node_statx(stx, &n);
		return 0;
	}
	if (!path_find(&p, dirfd, path))
		return real.statx(p.dirfd, p.rest, flags, mask, stx);
	err = look(&n, &p);
	if (!err)
		node_statx(stx, &n);
	return ret(err);
}

static int access_at(int dirfd, const char *path, int mode, int flags)
{
	struct path p;
	struct node n;
	int err;

	if (!path_find(&p, dirfd, path))
		return real.faccessat(p.dirfd, p.rest, mode, flags);
	err = look(&n, &p);
	return ret(err ? err : node_may(&n, mode));
}

EXPORT int access(const char *path, int mode)
{
	return access_at(AT_FDCWD, path, mode, 0);
}

EXPORT int faccessat(int dirfd, const char *path, int mode, int flags)
{
	return access_at(dirfd, path, mode, flags);
}

EXPORT int eaccess(const char *path, int mode)
{
	return access_at(AT_FDCWD, path, mode, AT_EACCESS);
}

EXPORT int euidaccess(const char *path, int mode)
{
	return access_at(AT_FDCWD, path, mode, AT_EACCESS);
}

/* readlink() of the library's files fails, because none of these files is a symbolic link. */
static ssize_t readlink_at(int dirfd, const char *path, char *buf, size_t len)
{
	struct path p;
	struct node n;
	int err;

	if (!path_find(&p, dirfd, path))
		return real.readlinkat(p.dirfd, p.rest, buf, len);
	err = look(&n, &p);
	return ret(err ? err : -EINVAL);
}

EXPORT ssize_t readlink(const char *path, char *buf, size_t len)
{
	return readlink_at(AT_FDCWD, path, buf, len);
}

EXPORT ssize_t readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	return readlink_at(dirfd, path, buf, len);
}

EXPORT ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t size)
{
	if (len > size)
		abort();
	return readlink_at(AT_FDCWD, path, buf, len);
}

EXPORT ssize_t __readlinkat_chk(int dirfd, const char *path, char *buf, size_t len, size_t size)
{
	if (len > size)
		abort();
	return readlink_at(dirfd, path, buf, len);
}

EXPORT char *realpath(const char *path, char *resolved)
{
	struct path p;
	struct node n;

	if (!path_find(&p, AT_FDCWD, path))
		return real.realpath(p.rest, resolved);
	if (ret(look(&n, &p)) != 0)
		return NULL;
	return resolved ? memcpy(resolved, p.abs, strlen(p.abs) + 1) : strdup(p.abs);
}

EXPORT char *__realpath_chk(const char *path, char *resolved, size_t size)
{
	if (resolved && size < PATH_MAX)
		abort();
	return realpath(path, resolved);
}

EXPORT char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

/*
 * `ls -l` asks for access control lists and security labels. The files of this library have
 * neither, so getxattr() and its variants fail with EOPNOTSUPP.
 */
static ssize_t no_xattr(const struct path *p)
{
	struct node n;
	int err = look(&n, p);

	return ret(err ? err : -EOPNOTSUPP);
}

EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	struct path p;

	return path_find(&p, AT_FDCWD, path) ? no_xattr(&p)
					     : real.getxattr(p.rest, name, value, size);
}

EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	struct path p;

	return path_find(&p, AT_FDCWD, path) ? no_xattr(&p)
					     : real.lgetxattr(p.rest, name, value, size);
}

EXPORT ssize_t listxattr(const char *path, char *list, size_t size)
{
	struct path p;

	return path_find(&p, AT_FDCWD, path) ? no_xattr(&p) : real.listxattr(p.rest, list, size);
}

EXPORT ssize_t llistxattr(const char *path, char *list, size_t size)
{
	struct path p;

	return path_find(&p, AT_FDCWD, path) ? no_xattr(&p) : real.llistxattr(p.rest, list, size);
}
