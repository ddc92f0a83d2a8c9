/* SPDX-License-Identifier: BSD-2-Clause */
#include "preload/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/cwd.h"
#include "preload/fdtab.h"
#include "preload/real.h"

/* Tell whether @path is @dir or below @dir. */
static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/*
 * Parse a device name: "umad12" with @prefix "umad" gives 12. Only the kernel's spelling of the
 * number is accepted, so a name with leading zeros is refused.
 */
static bool device_number(unsigned int *ret, const char *name, const char *prefix)
{
	size_t len = strlen(prefix);
	unsigned int n = 0;

	if (strncmp(name, prefix, len) != 0)
		return false;
	name += len;
	if (*name == '\0' || (*name == '0' && name[1] != '\0'))
		return false;
	for (; *name; name++) {
		if (*name < '0' || *name > '9' || n > 0xffff / 10 - 1)
			return false;
		n = n * 10 + (unsigned int)(*name - '0');
	}
	*ret = n;
	return true;
}

static enum path_kind classify(const char *abs, unsigned int *ret_dev)
{
	if (is_below(abs, PATH_SYSFS) || is_below(abs, PATH_SYSFS_MAD))
		return PATH_ATTR;
	if (is_below(abs, PATH_SYSFS_VERBS))
		return PATH_NONE;
	if (!is_below(abs, PATH_DEV))
		return PATH_OTHER;
	abs += sizeof(PATH_DEV) - 1;
	if (*abs == '\0')
		return PATH_DEVDIR;
	if (device_number(ret_dev, abs + 1, "umad"))
		return PATH_UMAD;
	if (device_number(ret_dev, abs + 1, "issm"))
		return PATH_ISSM;
	return PATH_NONE;
}

/*
 * Write to @ret the directory at which a path relative to @dirfd starts; *@ret_ours tells whether
 * the library provides this directory.
 */
static bool base_of(char *ret, int dirfd, bool *ret_ours)
{
	char link[32];
	ssize_t n;

	*ret_ours = dirfd == AT_FDCWD ? cwd_get(ret) : fdtab_kind(dirfd) == FD_DIR;
	if (dirfd != AT_FDCWD && *ret_ours)
		return fdtab_path(ret, dirfd) == 0;
	if (*ret_ours)
		return true;
	if (dirfd == AT_FDCWD)
		return syscall(SYS_getcwd, ret, PATH_MAX) > 0 && ret[0] == '/';
	n = real.readlinkat(AT_FDCWD, fdtab_proc(link, dirfd), ret, PATH_MAX - 1);
	if (n <= 0 || ret[0] != '/')
		return false;
	ret[n] = '\0';
	return true;
}

/*
 * Append the components of @path to @p->abs. Set *@ret_left if one of these components is ".." in a
 * directory that the library provides.
 */
static bool walk(struct path *p, const char *path, bool *ret_left)
{
	size_t len = strlen(p->abs), n;
	unsigned int dev;

	if (len == 1) /* "/" */
		len = 0;
	while (*path) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		p->slash = n == 0 || (n == 1 && path[0] == '.') ||
			   (n == 2 && path[0] == '.' && path[1] == '.');
		if (n == 2 && p->slash) {
			p->abs[len] = '\0';
			*ret_left |= classify(p->abs, &dev) != PATH_OTHER;
			while (len > 0) {
				len--;
				if (p->abs[len] == '/')
					break;
			}
		} else if (!p->slash) {
			if (len + n + 2 > sizeof(p->abs))
				return false;
			p->abs[len++] = '/';
			memcpy(p->abs + len, path, n);
			len += n;
		}
		path += n;
	}
	if (len == 0)
		p->abs[len++] = '/';
	p->abs[len] = '\0';
	return true;
}

static bool may_be_ours(int dirfd, const char *path)
{
	if (strstr(path, "infiniband"))
		return true;
	if (path[0] == '/')
		return false;
	return dirfd == AT_FDCWD ? cwd_is_ours() : fdtab_kind(dirfd) == FD_DIR;
}

bool path_find(struct path *ret, int dirfd, const char *path)
{
	bool left = false;
	int saved = errno;

	ret->kind = PATH_OTHER;
	ret->dirfd = dirfd;
	ret->rest = path;
	if (!path || path[0] == '\0' || !preload_on() || !may_be_ours(dirfd, path))
		return false;
	ret->abs[0] = '\0';
	ret->slash = false;
	if (path[0] == '/' || base_of(ret->abs, dirfd, &left)) {
		if (!walk(ret, path, &left))
			/*
			 * If the path is too long, pass it on to the C library, which reports the
			 * error.
			 */
			left = false;
		else
			ret->kind = classify(ret->abs, &ret->dev);
	}
	if (ret->kind == PATH_OTHER && left) {
		ret->dirfd = AT_FDCWD;
		ret->rest = ret->abs;
	}
	errno = saved;
	return ret->kind != PATH_OTHER;
}

void path_set(struct path *ret, const char *abs)
{
	size_t len = strlen(abs);

	memcpy(ret->abs, abs, len + 1);
	ret->kind = classify(abs, &ret->dev);
	ret->slash = false;
	ret->dirfd = AT_FDCWD;
	ret->rest = ret->abs;
}
