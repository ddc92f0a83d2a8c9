/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/conn.h"
#include "preload/fdtab.h"
#include "preload/node.h"
#include "preload/path.h"
#include "preload/real.h"
#include "preload/umad.h"

static int ret(int fd)
{
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

/* Do those checks of open() that need only the flags and the attributes of the path. */
static int may_open(const struct node *n, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY;

	if ((flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return -EOPNOTSUPP;
	if (S_ISDIR(n->mode))
		return writes || (flags & O_CREAT) ? -EISDIR : 0;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	return node_may(n, writes ? W_OK : 0);
}

static int write_all(int fd, const char *data, size_t len)
{
	ssize_t n;

	for (; len; data += n, len -= (size_t)n) {
		n = syscall(SYS_write, fd, data, len);
		if (n < 0)
			return -errno;
	}
	return 0;
}

/*
 * Make a memfd that holds the content of a file. The memfd is opened a second time, read-only, so
 * that write() fails and the offset is 0.
 */
static int open_memfd(const struct path *p, const struct node *n, const struct conn_content *c,
		      int flags)
{
	enum fd_kind kind = S_ISDIR(n->mode) ? FD_DIR : FD_FILE;
	int fd = fdtab_memfd(kind, p->abs, MFD_CLOEXEC), err, again;
	char proc[32];

	if (fd < 0)
		return fd;
	err = kind == FD_FILE ? write_all(fd, c->data, c->len) : 0;
	if (!err && fchmod(fd, kind == FD_FILE ? 0444 : 0755) != 0)
		err = -errno;
	if (err) {
		conn_close(fd);
		return err;
	}
	again = real.openat(AT_FDCWD, fdtab_proc(proc, fd), O_RDONLY | (flags & O_CLOEXEC));
	if (again < 0)
		err = -errno;
	conn_close(fd);
	if (again < 0)
		return err;
	fdtab_add(again, kind, 0);
	return again;
}

static int open_device(const struct path *p, int flags)
{
	bool issm = p->kind == PATH_ISSM;
	int fd;

	if (p->slash || (flags & O_DIRECTORY))
		return -ENOTDIR;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	fd = umad_open(issm, p->dev, flags);
	if (fd >= 0)
		fdtab_add(fd, issm ? FD_ISSM : FD_UMAD, p->dev);
	return fd;
}

static int open_ours(const struct path *p, int flags)
{
	struct conn_content c;
	struct node n;
	int err;

	if (p->kind == PATH_UMAD || p->kind == PATH_ISSM)
		return open_device(p, flags);
	err = node_load(&n, &c, p);
	if (err == -ENOENT && (flags & O_CREAT))
		return -EACCES; /* programs cannot create files in sysfs or /dev/infiniband */
	if (err)
		return err;
	err = may_open(&n, flags);
	if (!err)
		err = open_memfd(p, &n, &c, flags);
	conn_content_free(&c);
	return err;
}

static int open_at(int dirfd, const char *path, int flags, mode_t mode)
{
	struct path p;
	int saved = errno, fd;

	if (!path_find(&p, dirfd, path))
		return real.openat(p.dirfd, p.rest, flags, mode);
	fd = open_ours(&p, flags);
	errno = saved;
	return ret(fd);
}

/* Read the argument @mode, which callers of open() pass only with O_CREAT or O_TMPFILE. */
#define MODE_OF(mode, flags)                                                     \
	do {                                                                     \
		va_list ap_;                                                     \
		if ((O_CREAT & (flags)) || (O_TMPFILE & (flags)) == O_TMPFILE) { \
			va_start(ap_, flags);                                    \
			(mode) = va_arg(ap_, mode_t);                            \
			va_end(ap_);                                             \
		}                                                                \
	} while (0)

EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(mode, flags);
	return open_at(AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(mode, flags);
	return open_at(AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(mode, flags);
	return open_at(dirfd, path, flags, mode);
}

EXPORT int openat64(int dirfd, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(mode, flags);
	return open_at(dirfd, path, flags, mode);
}

EXPORT int __open_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

EXPORT int __open64_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

EXPORT int __openat_2(int dirfd, const char *path, int flags)
{
	return open_at(dirfd, path, flags, 0);
}

EXPORT int __openat64_2(int dirfd, const char *path, int flags)
{
	return open_at(dirfd, path, flags, 0);
}

EXPORT int creat(const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

EXPORT int creat64(const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* Translate a mode of fopen() into flags of open(). */
static int mode_flags(const char *mode)
{
	int flags = *mode == 'r' ? O_RDONLY : O_WRONLY | O_CREAT;

	for (; *mode && *mode != ','; mode++) {
		if (*mode == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		if (*mode == 'e')
			flags |= O_CLOEXEC;
		if (*mode == 'x')
			flags |= O_EXCL;
	}
	return flags;
}

/*
 * Open a path for fopen(). A MAD device cannot be a stream: each read() must have room for a whole
 * MAD, but stdio chooses the size of its reads itself.
 */
static int open_stream(const struct path *p, const char *mode)
{
	return p->kind == PATH_UMAD || p->kind == PATH_ISSM ? -EINVAL
							    : open_ours(p, mode_flags(mode));
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	struct path p;
	FILE *f;
	int fd;

	if (!path_find(&p, AT_FDCWD, path))
		return real.fopen(p.rest, mode);
	fd = ret(open_stream(&p, mode));
	if (fd < 0)
		return NULL;
	f = fdopen(fd, mode);
	if (!f)
		conn_close(fd);
	return f;
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return fopen(path, mode);
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	struct path p;
	char proc[32];
	int fd;

	if (!path_find(&p, AT_FDCWD, path))
		return real.freopen(p.rest, mode, stream);
	fd = open_stream(&p, mode);
	if (fd < 0) {
		fclose(stream);
		errno = -fd;
		return NULL;
	}
	stream = real.freopen(fdtab_proc(proc, fd), mode, stream);
	conn_close(fd);
	return stream;
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *stream)
{
	return freopen(path, mode, stream);
}

EXPORT int dup(int fd)
{
	int to;

	if (!preload_on())
		return real.dup(fd);
	to = real.dup(fd);
	return fdtab_copy(fd, to);
}

EXPORT int dup2(int fd, int to)
{
	return preload_on() ? fdtab_copy(fd, real.dup2(fd, to)) : real.dup2(fd, to);
}

EXPORT int dup3(int fd, int to, int flags)
{
	return preload_on() ? fdtab_copy(fd, real.dup3(fd, to, flags)) : real.dup3(fd, to, flags);
}

static int do_fcntl(int fd, int cmd, void *arg)
{
	int n;

	if (!preload_on() || (cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC))
		return real.fcntl(fd, cmd, arg);
	n = real.fcntl(fd, cmd, arg);
	return fdtab_copy(fd, n);
}

EXPORT int fcntl(int fd, int cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	return do_fcntl(fd, cmd, arg);
}

EXPORT int fcntl64(int fd, int cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	return do_fcntl(fd, cmd, arg);
}
