/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_NETNS_H
#define NETDEV_NETNS_H

/*
 * DOC: Network namespaces
 *
 * A namespace lives as long as something refers to it: a process in it, a mount of it,
 * an open descriptor of it, or a socket or TAP made in it. A named one is a mount on
 * /run/netns/NAME, as `ip netns` makes it; an anonymous one has descriptors only, so
 * nothing is left of it when its holder dies.
 *
 * All calls that visit a namespace do so with the calling thread and come back. A
 * thread that cannot come back is of no use to anyone, so then they abort().
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define NETNS_RUN_DIR "/run/netns"
#define NETNS_NAME_MAX 63 /* longest name that is accepted */
#define NETNS_SPEC_MAX 255 /* longest specification: name, path or pid:N */

enum netns_kind {
	NETNS_NAME, /* /run/netns/NAME */
	NETNS_PATH, /* begins with '/' */
	NETNS_PID, /* pid:N */
};

struct netns_spec {
	enum netns_kind kind;
	pid_t pid; /* NETNS_PID */
	char path[NETNS_SPEC_MAX + 16]; /* of the file that names it, for every kind */
};

/**
 * netns_spec_parse() - Understand what a configuration says
 * @spec:	a name without '/', an absolute path, or pid:N
 *
 * Return: 0; -EINVAL if it is none of these, or longer than allowed
 */
int netns_spec_parse(struct netns_spec *ret, const char *spec);

/**
 * netns_open() - Open a namespace that exists
 * @ret_fd:	close-on-exec
 *
 * Return: 0; -ENOENT, -EACCES or another -errno of open(2); -EINVAL it is no network namespace
 */
int netns_open(const struct netns_spec *spec, int *ret_fd);

/**
 * netns_create() - Make an anonymous namespace, its loopback interface up
 * @ret_fd:	its only reference
 *
 * Return: 0 or -errno; -EPERM without CAP_SYS_ADMIN (see netns_enter_userns())
 */
int netns_create(int *ret_fd);

/**
 * netns_create_named() - Make a namespace and bind it to /run/netns/NAME, as `ip netns add`
 * @spec:	of kind NETNS_NAME
 *
 * Return: 0; -EEXIST the name is taken; -EINVAL not a name; -errno
 */
int netns_create_named(const struct netns_spec *spec, int *ret_fd);

/* netns_remove_named() - As `ip netns del`; only if the name still means @fd (else -ESTALE) */
int netns_remove_named(const struct netns_spec *spec, int fd);

/**
 * netns_check() - Does the file that names a namespace still mean it?
 *
 * The only sign of `ip netns del` that the owner of a TAP in it can get: see netdev/tap.h.
 * Return: 0; -ESTALE if the name is gone or means another namespace
 */
int netns_check(const struct netns_spec *spec, int fd);

/* netns_same() - Do two descriptors mean the same namespace? */
bool netns_same(int a, int b);

/**
 * netns_call() - Run a function with the calling thread inside a namespace
 * @fn:		its return value is returned
 *
 * Return: what @fn returned, or -errno if the namespace could not be entered
 */
int netns_call(int fd, int (*fn)(void *arg), void *arg);

#define NETNS_RUN_FDS 8 /* descriptors that netns_run() can bring back */

/**
 * netns_run() - Run a function inside a namespace in a child process
 * @fn:		gives back an exit code of 0 or -errno and up to NETNS_RUN_FDS descriptors
 *		in @fds, their number in @n
 * @ret_fds:	the descriptors as received
 * @ret_n:	how many
 *
 * For a process with several threads, or where @fn must not harm the caller.
 * Return: 0, what @fn returned, or -errno; -ECHILD if the child died
 */
int netns_run(int fd, int (*fn)(void *arg, int fds[NETNS_RUN_FDS], unsigned int *n), void *arg,
	      int ret_fds[NETNS_RUN_FDS], unsigned int *ret_n);

/**
 * netns_enter_userns() - Become root of a new user namespace, and of a network namespace in it
 *
 * For callers without privileges: the caller's user and group are mapped to 0, and
 * namespaces made from here on belong to it. There is no way back; one thread only.
 * Return: 0 or -errno; -EPERM, -EUSERS or -ENOSPC where the system forbids it
 */
int netns_enter_userns(void);

/**
 * netns_enter() - Go into a host's namespaces for good, as `exec` does before it runs a command
 * @user_fd:	user namespace to enter first; -1: none
 * @net_fd:	network namespace
 *
 * Also gives the caller a mount namespace where /sys shows @net_fd, if it may have one.
 * Return: 0 or -errno
 */
int netns_enter(int user_fd, int net_fd);

/**
 * netns_watch() - A descriptor that becomes readable when a name in /run/netns goes or comes
 *
 * Non-blocking inotify(7) descriptor; after it was readable call netns_watch_drain(),
 * then netdev_ns_check() for each named namespace.
 * Return: 0 or -errno; -ENOENT when there is no /run/netns
 */
int netns_watch(int *ret_fd);
void netns_watch_drain(int fd);

/**
 * netns_sysctl_write() - Set /proc/sys/@path of the namespace that the caller is in
 * @path:	relative, for example "net/ipv6/conf/uib0/accept_ra"
 *
 * Return: 0 or -errno
 */
int netns_sysctl_write(const char *path, const char *value);

#endif
