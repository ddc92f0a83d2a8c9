/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <unistd.h>

#include "os/userns.h"

/*
 * Make /run/netns a shared mount point. A name is an empty file in /run/netns on which the
 * namespace is mounted. `ip netns add` makes names in the same way, so ip and uipoib see each
 * other's namespaces.
 */

static int share_run_dir(void)
{
	if (mkdir(NETNS_RUN_DIR, 0755) && errno != EEXIST)
		return -errno;
	if (!mount("", NETNS_RUN_DIR, "none", MS_SHARED | MS_REC, NULL))
		return 0;
	/* /run/netns is not a mount point yet. */
	if (errno != EINVAL)
		return -errno;
	if (mount(NETNS_RUN_DIR, NETNS_RUN_DIR, "none", MS_BIND | MS_REC, NULL) ||
	    mount("", NETNS_RUN_DIR, "none", MS_SHARED | MS_REC, NULL))
		return -errno;
	return 0;
}

static int bind_name(const char *path, int fd)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/thread-self/fd/%d", fd);
	return mount(self, path, "none", MS_BIND, NULL) ? -errno : 0;
}

int netns_create_named(const struct netns_spec *spec, int *ret_fd)
{
	int fd, file, err;

	if (spec->kind != NETNS_NAME)
		return -EINVAL;
	err = share_run_dir();
	if (err)
		return err;
	file = open(spec->path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (file < 0)
		return -errno;
	close(file);
	err = netns_create(&fd);
	if (err)
		goto unlink;
	err = bind_name(spec->path, fd);
	if (err)
		goto close;
	*ret_fd = fd;
	return 0;
close:
	close(fd);
unlink:
	unlink(spec->path);
	return err;
}

int netns_remove_named(const struct netns_spec *spec, int fd)
{
	int err;

	if (spec->kind != NETNS_NAME)
		return -EINVAL;
	err = netns_check(spec, fd);
	if (err)
		return err;
	if (umount2(spec->path, MNT_DETACH))
		return -errno;
	return unlink(spec->path) ? -errno : 0;
}

/* ----- user namespaces */

int netns_enter_userns(void)
{
	unsigned int uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return -errno;
	return userns_map(0, uid, 0, gid);
}

/*
 * Mount sysfs again, because /sys/class/net shows the interfaces of the namespace in which sysfs
 * was mounted. A host can be used without the right /sys, so failures are ignored.
 */
static void remount_sys(void)
{
	if (unshare(CLONE_NEWNS) || mount("", "/", "none", MS_SLAVE | MS_REC, NULL))
		return;
	if (mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return;
}

/* Tell whether @fd is the caller's own user namespace, which the kernel does not let the caller enter again. */
static bool is_own_userns(int fd)
{
	int own = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	bool same = own >= 0 && netns_same(own, fd);

	if (own >= 0)
		close(own);
	return same;
}

int netns_enter(int user_fd, int net_fd)
{
	if (user_fd >= 0 && !is_own_userns(user_fd) && setns(user_fd, CLONE_NEWUSER))
		return -errno;
	if (setns(net_fd, CLONE_NEWNET))
		return -errno;
	remount_sys();
	return 0;
}

/* ----- names of namespaces that are added or removed */

int netns_watch(int *ret_fd)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int netns_watch_add(int fd, const struct netns_spec *spec)
{
	char dir[sizeof(spec->path)];
	const char *slash = strrchr(spec->path, '/');

	/* The folder of a file in the root directory is the slash itself. */
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash > spec->path ? slash - spec->path : 1),
		 spec->path);
	return inotify_add_watch(fd, dir,
				 IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR) <
			       0
		       ? -errno
		       : 0;
}

/*
 * Largest number of reads in one call. The number is limited, because any user who may write to the
 * folder can cause events as fast as they are read.
 */
#define DRAIN_PIECES 8

void netns_watch_drain(int fd)
{
	char buf[4096] __attribute__((aligned(8)));

	for (unsigned int k = 0; k < DRAIN_PIECES && read(fd, buf, sizeof(buf)) > 0; k++)
		;
}
