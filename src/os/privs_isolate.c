/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/privs.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/userns.h"

/* also the kernel's overflow id, which stands for each id that a user namespace does not map */
#define NOBODY 65534

/* User who started the instance; -1 if privs_isolate() was not called */
static uid_t owner = (uid_t)-1;
/*
 * True in a user namespace that privs_isolate() has made. In this namespace, owner is the only
 * mapped user
 */
static bool in_userns;

bool privs_peer_ok(uid_t uid)
{
	if (uid == 0 || uid == (owner == (uid_t)-1 ? geteuid() : owner))
		return true;
	/*
	 * In the user namespace of privs_isolate(), every unmapped user has the overflow id,
	 * including root of the outer namespace. Of all these users, the socket's mode lets only
	 * root connect.
	 */
	return in_userns && uid == NOBODY;
}

/* ----- an empty root directory */

#define FLAGS (MS_NODEV | MS_NOEXEC | MS_NOSUID)

/*
 * Add to the working directory the files that libibverbs reads and opens. Without these files the process cannot
 * open a device again, but can do everything else, so errors are ignored.
 */
static void add_devices(int folder)
{
	if (!mkdir("sys", 0755) && !mount("/sys", "sys", "", MS_BIND, NULL))
		mount("", "sys", "", MS_REMOUNT | MS_BIND | MS_RDONLY | FLAGS, NULL);
	if (!mkdir("dev", 0755) && !mkdir("dev/infiniband", 0755))
		move_mount(folder, "", AT_FDCWD, "dev/infiniband", MOVE_MOUNT_F_EMPTY_PATH);
}

/*
 * Make an empty root directory: mount a tmpfs on one of the folders @place, make it the root
 * directory, and unmount the old root. pivot_root(2) explains why both arguments are ".". The first
 * mount() makes all mounts unbindable or private. Both end propagation, so no other mount namespace
 * sees the tmpfs.
 */
static int empty_root(int folder)
{
	static const char *const place[] = { "/tmp", "/run", "/proc", "/dev" };
	unsigned int i = 0;

	if (mount("", "/", "", (folder < 0 ? MS_UNBINDABLE : MS_PRIVATE) | MS_REC, NULL))
		return -errno;
	while (mount("", place[i], "tmpfs", FLAGS | (folder < 0 ? MS_RDONLY : 0),
		     "nr_inodes=5,nr_blocks=1"))
		if (++i == sizeof(place) / sizeof(place[0]))
			return -errno;
	if (chdir(place[i]))
		return -errno;
	if (folder >= 0)
		add_devices(folder);
	if (syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
		return -errno;
	if (folder >= 0 && mount("", "/", "", MS_REMOUNT | MS_BIND | MS_RDONLY | FLAGS, NULL))
		return -errno;
	return 0;
}

/* ----- changing to a user without rights */

/* Tell whether a map of a user namespace, such as /proc/self/uid_map, contains @id. */
static bool is_mapped(const char *map, unsigned int id)
{
	unsigned int inside, outside, n;
	FILE *f = fopen(map, "re");
	bool found = false;

	if (!f)
		return false;
	while (!found && fscanf(f, "%u %u %u", &inside, &outside, &n) == 3)
		found = id >= inside && id - inside < n;
	fclose(f);
	return found;
}

/*
 * Enter a new user namespace, in which the user has the same id as outside. So SO_PEERCRED shows
 * the user of a peer as before.
 */
static int new_userns(bool root)
{
	unsigned int uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER | (root ? CLONE_NEWNS : 0)))
		return -errno;
	in_userns = true;
	return userns_map(uid, uid, gid, gid);
}

static int become_nobody(bool keep_caps)
{
	/*
	 * Without PR_SET_KEEPCAPS the change of user below would clear all capabilities.
	 * privs_drop_caps() later drops the capabilities that are not needed.
	 */
	if (keep_caps && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -errno;
	if (setgroups(0, NULL) && errno != EPERM)
		return -errno;
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		return -errno;
	return 0;
}

int privs_isolate(uint32_t flags, int folder)
{
	bool root = !(flags & PRIVS_KEEP_ROOT_DIR);
	pid_t parent = getppid();
	int err = 0;

	owner = geteuid();
	if (owner == 0 && is_mapped("/proc/self/uid_map", NOBODY) &&
	    is_mapped("/proc/self/gid_map", NOBODY)) {
		if (root && unshare(CLONE_NEWNS))
			err = -errno;
		if (root && !err)
			err = empty_root(folder);
		/* if a container forbids mounts, the process keeps its root directory */
		if (!err || err == -EPERM)
			err = privs_drop_bounds();
		if (!err)
			err = become_nobody(flags & PRIVS_NET_RAW);
	} else {
		err = new_userns(root);
		if (!err && root)
			err = empty_root(-1);
	}
	if (!err)
		err = privs_drop_caps(flags & PRIVS_NET_RAW);
	/*
	 * A change of user clears PR_SET_PDEATHSIG, so set it again. The change also makes the
	 * process undumpable, which keeps the leak checker from attaching to the process.
	 */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		return -ESRCH;
	if (flags & PRIVS_KEEP_ROOT_DIR)
		prctl(PR_SET_DUMPABLE, 1);
	return err;
}
