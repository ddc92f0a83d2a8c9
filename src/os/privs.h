/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_PRIVS_H
#define OS_PRIVS_H

/*
 * The main process drops its privileges before it serves clients, in this order:
 *	1. netdev_helper_start()
 *	2. open all files and sockets that need privileges
 *	3. fork the processes that must keep privileges
 *	4. privs_isolate()
 *	5. privs_seccomp()
 */

/*
 * True in a build with AddressSanitizer, whose leak checker reads /proc and makes calls that the
 * system call filter denies.
 */
#if defined(__SANITIZE_ADDRESS__)
#define PRIVS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PRIVS_SANITIZED 1
#endif
#endif
#ifndef PRIVS_SANITIZED
#define PRIVS_SANITIZED 0
#endif

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum privs_flags {
	/*
	 * Keep CAP_NET_RAW, without which the kernel does not allow a controlled Q_Key (bit 31) in a queue pair of
	 * libibverbs.
	 */
	PRIVS_NET_RAW = 1 << 0,
	/* For privs_isolate(): keep the root directory, and allow the user to trace the process. */
	PRIVS_KEEP_ROOT_DIR = 1 << 1,
	/* Allow new INET sockets, for links over UDP that are made later. */
	PRIVS_INET = 1 << 2,
	/*
	 * Allow opening device files, the commands of libibverbs on them, registering agents of umad, and netlink
	 * sockets of RDMA. privs_isolate() decides which device files exist.
	 */
	PRIVS_VERBS = 1 << 3,
	/*
	 * End the process (SIGSYS) at a forbidden call, instead of letting the call fail with
	 * EPERM.
	 */
	PRIVS_KILL = 1 << 4,
	/* Let a forbidden call succeed, and have the kernel's audit log it. */
	PRIVS_LOG = 1 << 5,
};

/**
 * privs_drop_caps() - Drop all capabilities except those that @flags keep, for good
 *
 * Sets no_new_privs, too. In a process without capabilities the function succeeds and drops nothing.
 * Return: 0 or -errno
 */
int privs_drop_caps(uint32_t flags);

/*
 * privs_drop_bounds() - Empty the bounding set if CAP_SETPCAP allows it, so that no program regains
 * a capability. Return: 0 or -errno
 */
int privs_drop_bounds(void);

/**
 * privs_isolate() - Become a user who has no rights and sees no files
 * @flags:	mask of PRIVS_KEEP_ROOT_DIR and PRIVS_NET_RAW
 * @folder:	mount of device files, which netdev_rdma_add() made; -1: there is none. Only used if
 *		root becomes user 65534. The mount becomes /dev/infiniband in the new root
 *		directory, and a read-only /sys is added. The function ignores errors of these two
 *		steps. The caller closes @folder
 *
 * Root becomes user and group 65534 with no other groups. Another user, or root of a container
 * without user 65534, enters a new user namespace, in which the process keeps its user id. In both
 * cases the process gets an empty, read-only root directory, which contains only what @folder adds.
 * The process keeps its old root directory if @flags has PRIVS_KEEP_ROOT_DIR. It also keeps it if
 * the process runs as root in a container that forbids mounts.
 *
 * After the call, capabilities and no_new_privs are as after privs_drop_caps(). The process may
 * have only one thread. The process gets SIGTERM when its parent dies.
 * Return: 0; -ESRCH: the parent has died; -EPERM, -EUSERS or -ENOSPC: the system forbids user
 * namespaces; -errno. After an error the process must end, because some of the changes may have
 * been made.
 */
int privs_isolate(uint32_t flags, int folder);

/*
 * privs_peer_ok() - Tell whether the peer of a control socket (SO_PEERCRED) is allowed to command this process:
 * only root and the user who started this process are allowed
 */
bool privs_peer_ok(uid_t uid);

/*
 * Operations that a sealed helper may still need. Each flag except PRIVS_HELPER_MKNOD needs
 * CAP_SYS_ADMIN.
 */
enum privs_helper_flags {
	PRIVS_HELPER_ENTER = 1 << 0, /* enter namespaces, to open AF_UNIX sockets in them */
	/* unmount namespaces, to remove their names when the helper ends */
	PRIVS_HELPER_UNMOUNT = 1 << 1,
	/*
	 * open namespaces that were removed and made again under the same name, and rtnetlink
	 * sockets in them
	 */
	PRIVS_HELPER_FOLLOW = 1 << 2,
	/* Open existing files for writing; for a process that writes to one file only (helper/stable.c) */
	PRIVS_HELPER_WRITE = 1 << 3,
	PRIVS_HELPER_MKNOD =
		1 << 4, /* make device files that every user may open (helper/rdma.c) */
};

/**
 * privs_helper_seal() - Drop for good the helper's privileges for making namespaces and TAPs
 * @flags:	mask of enum privs_helper_flags; the helper keeps CAP_MKNOD for PRIVS_HELPER_MKNOD, and CAP_SYS_ADMIN for
 *		any other flag
 *
 * The helper keeps CAP_NET_ADMIN and the system calls that its remaining requests need.
 * Return: 0 or -errno; a kernel without seccomp filters is no error
 */
int privs_helper_seal(uint32_t flags);

/* privs_helper_seccomp() - Filter the system calls of a sealed helper. Return: 0 or -errno */
int privs_helper_seccomp(uint32_t flags);

/**
 * privs_helper_caps() - Drop all capabilities of the helper except CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_SYS_PTRACE and
 * CAP_MKNOD
 *
 * Return: 0 or -errno
 */
int privs_helper_caps(void);

/**
 * privs_seccomp() - Restrict system calls of all threads to those that the main process needs
 * @flags:	mask of enum privs_flags; PRIVS_LOG has precedence over PRIVS_KILL
 *
 * Sets no_new_privs. In a build with AddressSanitizer, leak detection at exit no longer works.
 * Return: 0; -errno; -EOPNOTSUPP: the kernel has no seccomp filters
 */
int privs_seccomp(uint32_t flags);

#endif
