/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Use one write(), because the files of /proc for user namespaces accept their content only as a
 * whole.
 */
static int put_text(const char *path, const char *text)
{
	ssize_t len = (ssize_t)strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)len) != len)
		err = -errno;
	close(fd);
	return err;
}

static int put_map(const char *path, unsigned int inside, unsigned int outside)
{
	char map[48];

	snprintf(map, sizeof(map), "%u %u 1", inside, outside);
	return put_text(path, map);
}

int userns_map(unsigned int uid_in, unsigned int uid, unsigned int gid_in, unsigned int gid)
{
	/* The kernel accepts a group map only after this write (user_namespaces(7)). */
	int err = put_text("/proc/self/setgroups", "deny");

	if (err && err != -ENOENT)
		return err;
	err = put_map("/proc/self/uid_map", uid_in, uid);
	return err ? err : put_map("/proc/self/gid_map", gid_in, gid);
}
