/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_PRIVS_H
#define NETDEV_PRIVS_H

/*
 * What the main process gives up once it runs. The order: netdev_helper_start(), open
 * what needs privileges, fork what must keep them, privs_drop_caps(), privs_seccomp().
 */

#include <stdint.h>

enum privs_flags {
	/* Keep CAP_NET_RAW: libibverbs needs it for a controlled Q_Key. */
	PRIVS_NET_RAW = 1 << 0,
	/* open(2) for writing: captures and files that a control client names. Without it
	 * files can be opened for reading only. */
	PRIVS_FILES = 1 << 1,
	/* New INET sockets, beyond those open: links over UDP made later. */
	PRIVS_INET = 1 << 2,
	/* fork and exec. What runs inherits the filter and has no capability: a command of
	 * the user's is better forked before, and let go by a pipe. */
	PRIVS_EXEC = 1 << 3,
	/* What libibverbs and libibumad do: device files, shared mappings, locked memory. */
	PRIVS_VERBS = 1 << 4,
	/* A forbidden call ends the process (SIGSYS) instead of failing with EPERM. */
	PRIVS_KILL = 1 << 5,
	/* A forbidden call is only logged by the kernel's audit, and done. */
	PRIVS_LOG = 1 << 6,
};

/**
 * privs_drop_caps() - Drop all capabilities but those the flags keep, for good
 *
 * Sets no_new_privs too. Without any capability it is a no-op that succeeds.
 * Return: 0 or -errno
 */
int privs_drop_caps(uint32_t flags);

/**
 * privs_helper_caps() - What the helper process keeps: network and namespace administration
 *
 * Return: 0 or -errno
 */
int privs_helper_caps(void);

/**
 * privs_seccomp() - Restrict system calls of all threads to those the main process needs
 * @flags:	of privs_flags; PRIVS_LOG wins over PRIVS_KILL
 *
 * Sets no_new_privs. Built with AddressSanitizer, leak detection at exit no longer works.
 * Return: 0; -errno; -EOPNOTSUPP the kernel has no seccomp filters
 */
int privs_seccomp(uint32_t flags);

#endif
