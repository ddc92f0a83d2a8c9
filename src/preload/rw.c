/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "preload/fdtab.h"
#include "preload/real.h"
#include "preload/umad.h"

static ssize_t ret(ssize_t n)
{
	if (n >= 0)
		return n;
	errno = (int)-n;
	return -1;
}

/* Refuse to read or write. An issm device can only be held open, and a directory has no octets. */
static ssize_t refuse(enum fd_kind kind)
{
	return ret(kind == FD_DIR ? -EISDIR : -EINVAL);
}

/*
 * Return the kind of a descriptor. FD_FILE counts as FD_OTHER, because an FD_FILE is a memfd, for
 * which read() and write() of the C library are right.
 */
static enum fd_kind kind_of(int fd)
{
	enum fd_kind kind = preload_on() ? fdtab_kind(fd) : FD_OTHER;

	return kind == FD_FILE ? FD_OTHER : kind;
}

EXPORT ssize_t read(int fd, void *buf, size_t count)
{
	enum fd_kind kind = kind_of(fd);

	if (kind == FD_OTHER)
		return real.read(fd, buf, count);
	return kind == FD_UMAD ? ret(umad_read(fd, buf, count)) : refuse(kind);
}

EXPORT ssize_t __read_chk(int fd, void *buf, size_t count, size_t size)
{
	if (count > size)
		abort();
	return read(fd, buf, count);
}

EXPORT ssize_t write(int fd, const void *buf, size_t count)
{
	enum fd_kind kind = kind_of(fd);

	if (kind == FD_OTHER)
		return real.write(fd, buf, count);
	if (kind == FD_DIR)
		return ret(-EBADF);
	return kind == FD_UMAD ? ret(umad_write(fd, buf, count)) : refuse(kind);
}

/*
 * ib_umad has no vectored operations, so the kernel calls read() or write() once for each element
 * of the vector, until a call transfers less than the whole element. This function does the same.
 */
static ssize_t each(int fd, const struct iovec *iov, int n, bool out)
{
	ssize_t sum = 0, got;

	if (n < 0 || n > IOV_MAX)
		return -EINVAL;
	for (int i = 0; i < n; i++) {
		got = out ? umad_write(fd, iov[i].iov_base, iov[i].iov_len)
			  : umad_read(fd, iov[i].iov_base, iov[i].iov_len);
		if (got < 0)
			return sum ? sum : got;
		sum += got;
		if ((size_t)got != iov[i].iov_len)
			break;
	}
	return sum;
}

EXPORT ssize_t readv(int fd, const struct iovec *iov, int n)
{
	enum fd_kind kind = kind_of(fd);

	if (kind == FD_OTHER)
		return real.readv(fd, iov, n);
	return kind == FD_UMAD ? ret(each(fd, iov, n, false)) : refuse(kind);
}

EXPORT ssize_t writev(int fd, const struct iovec *iov, int n)
{
	enum fd_kind kind = kind_of(fd);

	if (kind == FD_OTHER)
		return real.writev(fd, iov, n);
	if (kind == FD_DIR)
		return ret(-EBADF);
	return kind == FD_UMAD ? ret(each(fd, iov, n, true)) : refuse(kind);
}

/*
 * Tell whether the kernel handles an ioctl() itself, for files of any kind, without calling the
 * driver.
 */
static bool is_generic(unsigned int cmd)
{
	return cmd == FIOCLEX || cmd == FIONCLEX || cmd == FIONBIO || cmd == FIOASYNC;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	unsigned int cmd = (unsigned int)request; /* the kernel takes only 32 bits, too */
	enum fd_kind kind;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	kind = kind_of(fd);
	if (kind == FD_OTHER || is_generic(cmd))
		return real.ioctl(fd, request, arg);
	return (int)ret(kind == FD_UMAD ? umad_ioctl(fd, cmd, arg) : -ENOTTY);
}
