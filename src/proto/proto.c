/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/proto.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".sock"
#define RO_SUFFIX ".ro"
#define UMAD_SUFFIX ".umad"
#define LIB_SUFFIX ".so"
#define NETNS_SUFFIX ".netns"

int proto_name_ok(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n < PROTO_NAME_MAX && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       n;
}

/* Tell whether @dir is a folder that belongs to this process's user, and to which no other user can write. */
static bool is_ours(const char *dir)
{
	struct stat st;

	return !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int proto_dir(char *buf, size_t size, int make)
{
	const char *given = getenv("UIPOIB_RUNTIME_DIR"), *run = getenv("XDG_RUNTIME_DIR");
	int n;

	if (given && *given == '/')
		n = snprintf(buf, size, "%s", given);
	else if (geteuid() == 0)
		n = snprintf(buf, size, "%s", PROTO_DIR);
	/* su(1) keeps XDG_RUNTIME_DIR of the user who called it, so check who owns that folder. */
	else if (run && *run == '/' && is_ours(run))
		n = snprintf(buf, size, "%s/uipoib", run);
	else
		n = snprintf(buf, size, "/tmp/uipoib-%u", (unsigned int)geteuid());
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	if (make && mkdir(buf, 0700) < 0 && errno != EEXIST)
		return -errno;
	/* Refuse a folder of another user: any user could have made the folder in /tmp, to offer a false socket. */
	return access(buf, F_OK) || is_ours(buf) ? 0 : -EPERM;
}

static int path_of(char *buf, size_t size, const char *name, const char *suffix)
{
	int status = proto_dir(buf, size, 0), n;
	size_t len;

	if (status)
		return status;
	len = strlen(buf);
	n = snprintf(buf + len, size - len, "/%s%s", name, suffix);
	return n < 0 || (size_t)n >= size - len ? -ENAMETOOLONG : 0;
}

int proto_path(char *buf, size_t size, const char *name)
{
	return path_of(buf, size, name, SUFFIX);
}

int proto_ro_path(char *buf, size_t size, const char *name)
{
	return path_of(buf, size, name, RO_SUFFIX);
}

int proto_umad_path(char *buf, size_t size, const char *name)
{
	return path_of(buf, size, name, UMAD_SUFFIX);
}

int proto_lib_path(char *buf, size_t size, const char *name)
{
	return path_of(buf, size, name, LIB_SUFFIX);
}

int proto_netns_path(char *buf, size_t size, const char *name)
{
	return path_of(buf, size, name, NETNS_SUFFIX);
}

int proto_lock(void)
{
	char dir[108];

	for (;;) {
		int status = proto_dir(dir, sizeof(dir), 1), fd;
		struct stat a, b;

		if (status)
			return status;
		fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			return -errno;
		while (fd >= 0 && flock(fd, LOCK_EX) < 0)
			if (errno != EINTR) {
				status = -errno;
				close(fd);
				return status;
			}
		/*
		 * The process that held the lock before may have removed the last socket in the
		 * folder, and then the folder. In this case the folder that this process has locked
		 * does not exist any more, so try again.
		 */
		if (fd >= 0 && !fstat(fd, &a) && !stat(dir, &b) && a.st_ino == b.st_ino)
			return fd;
		if (fd >= 0)
			close(fd);
	}
}

/*
 * Tell whether an instance with the name @name is running. The socket file of an instance that has
 * ended refuses connections.
 */
bool proto_alive(const char *name)
{
	struct proto_client c;

	if (proto_connect(&c, name))
		return false;
	proto_close(&c);
	return true;
}

void proto_unlink(const char *name)
{
	char path[108];
	int lock = proto_lock();

	/* Remove the sockets only if no other instance has taken the name meanwhile. */
	if (!proto_alive(name)) {
		if (!proto_path(path, sizeof(path), name))
			unlink(path);
		if (!proto_ro_path(path, sizeof(path), name))
			unlink(path);
		if (!proto_umad_path(path, sizeof(path), name))
			unlink(path);
		if (!proto_lib_path(path, sizeof(path), name))
			unlink(path);
	}
	/* rmdir() fails while other instances use the folder. */
	if (!proto_dir(path, sizeof(path), 0))
		rmdir(path);
	if (lock >= 0)
		close(lock);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

int proto_instances(char (*ret)[PROTO_NAME_MAX], unsigned int max)
{
	char dir[108], name[PROTO_NAME_MAX];
	unsigned int n = 0;
	struct dirent *e;
	int status = proto_dir(dir, sizeof(dir), 0);
	DIR *d;

	if (status)
		return status;
	d = opendir(dir);
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len <= strlen(SUFFIX) || len - strlen(SUFFIX) >= sizeof(name) ||
		    strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX))
			continue;
		len -= strlen(SUFFIX);
		memcpy(name, e->d_name, len);
		name[len] = '\0';
		if (!proto_name_ok(name) || !proto_alive(name))
			continue;
		if (n < max)
			memcpy(ret[n], name, sizeof(name));
		n++;
	}
	closedir(d);
	qsort(ret, n < max ? n : max, sizeof(*ret), by_name);
	return (int)n;
}
