/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest/guest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vm/guest.h"

#define NINE_P "trans=virtio,version=9p2000.L,msize=512000"

static void mount_or_die(const char *type, const char *what, const char *at, unsigned long flags,
			 const char *options)
{
	if (mount(what, at, type, flags, options) < 0)
		fatal("mounting %s (%s) at %s: %m", what, type, at);
}

void mount_early(void)
{
	mount_or_die("devtmpfs", "dev", "/dev", 0, NULL);
	mount_or_die("proc", "proc", "/proc", 0, NULL);
	mount_or_die("sysfs", "sys", "/sys", 0, NULL);
}

/*
 * Mount a share by 9p. First tell the host for which mount the VM waits, because the mount does not
 * end if the host never answers.
 */
static void mount_9p(const char *tag, const char *at, unsigned long flags, const char *options)
{
	chan_sendf(FRAME_STATE, "the VM mounts %s (9p) at %s", tag, at);
	mount_or_die("9p", tag, at, flags, options);
}

/*
 * Mounts a file system at the folder @at of the new root. Makes the folder if the host does not
 * have it.
 */
static void mount_at(const char *type, const char *at, const char *options)
{
	mkdir(at, 0755);
	mount_or_die(type, type, at, 0, options);
}

static void move(const char *from, const char *to)
{
	mkdir(to, 0755);
	if (mount(from, to, NULL, MS_MOVE, NULL) < 0)
		fatal("moving %s to %s: %m", from, to);
}

/*
 * Moves the mount at /root to / and makes it the root, as switch_root(8) does, because
 * pivot_root(2) cannot leave an initramfs.
 */
static void enter(void)
{
	if (chdir("/root") < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		fatal("entering the root: %m");
}

/*
 * The host's files are assumed not to change while the VM runs, so they may be cached. Data that the VM writes stay
 * in the VM's memory. The contents of /run and /dev/shm belong to processes of the host, so the VM gets empty
 * folders. /tmp stays visible, because CMD may have been called from a folder there.
 */
void mount_root(void)
{
	mount_9p(VM_ROOT_TAG, "/lower", MS_RDONLY, NINE_P ",cache=loose");
	mount_or_die("tmpfs", "tmpfs", "/upper", 0, "mode=755");
	mkdir("/upper/files", 0755);
	mkdir("/upper/work", 0755);
	mount_or_die("overlay", "overlay", "/root", 0,
		     "lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work");
	move("/dev", "/root/dev");
	move("/proc", "/root/proc");
	move("/sys", "/root/sys");
	enter();
	mount_at("tmpfs", "/run", "mode=755");
	mkdir("/run/lock", 0755);
	mount_at("devpts", "/dev/pts", "mode=620,ptmxmode=666");
	mount_at("tmpfs", "/dev/shm", "mode=1777");
	/* Some kernels lack these file systems, so a failure is no error. */
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL);
	if (symlink("/proc/self/fd", "/dev/fd") || symlink("fd/0", "/dev/stdin") ||
	    symlink("fd/1", "/dev/stdout") || symlink("fd/2", "/dev/stderr"))
		fatal("/dev/fd: %m");
}

void make_dirs(char *path)
{
	for (char *p = path + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(path, 0755);
			*p = '/';
		}
	mkdir(path, 0755);
}

void mount_modules(char *dir)
{
	make_dirs(dir);
	mount_9p(VM_MODULES_TAG, dir, MS_RDONLY, NINE_P ",cache=loose");
}

/* A share is cached only for mmap(), because both the host and the VM may change its files. */
void mount_share(char *tag_and_dir)
{
	char *dir = strchr(tag_and_dir, ':');

	if (!dir)
		fatal("share '%s': expected TAG:DIR", tag_and_dir);
	*dir++ = '\0';
	make_dirs(dir);
	mount_9p(tag_and_dir, dir, 0, NINE_P ",cache=mmap");
}
