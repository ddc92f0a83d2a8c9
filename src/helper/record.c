/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

int helper_record_add(const char *path, const char *name, int fd)
{
	int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600), err;
	struct stat st;

	if (file < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && dprintf(file, "%s %llu %llu\n", name, (unsigned long long)st.st_dev,
			    (unsigned long long)st.st_ino) < 0)
		err = -errno;
	close(file);
	return err;
}

/* Remove a name if it still refers to the recorded namespace. */
static void remove_name(const char *name, unsigned long long dev, unsigned long long ino)
{
	struct netns_spec spec;
	struct stat st;

	if (netns_spec_parse(&spec, name) || spec.kind != NETNS_NAME || stat(spec.path, &st) ||
	    st.st_dev != dev || st.st_ino != ino)
		return;
	if (!umount2(spec.path, MNT_DETACH))
		unlink(spec.path);
}

void netdev_helper_clean(const char *record)
{
	int fd = open(record, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char name[NETNS_NAME_MAX + 1];
	unsigned long long dev, ino;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (fscanf(f, "%63s %llu %llu", name, &dev, &ino) == 3)
		remove_name(name, dev, ino);
	fclose(f);
	unlink(record);
}
