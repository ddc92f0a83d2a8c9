/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_NETNS_H
#define NETDEV_NETNS_H

/*
 * DOC: Network namespaces
 *
 * A namespace lives as long as something refers to it: a process in it, a mount of it, an open descriptor of it, or a
 * socket or TAP made in it. A named namespace is a mount on /run/netns/NAME, as `ip netns` makes it. An anonymous
 * namespace is only referred to by descriptors, so it disappears when the processes that have them end.
 *
 * netns_call() and netns_create() enter a namespace with the calling thread, and bring the thread
 * back to its own namespace. If the thread cannot come back, they end the process by abort(),
 * because otherwise the thread would continue in the wrong namespace. netns_run() uses a child
 * process. netns_enter() and netns_enter_userns() do not come back.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define NETNS_RUN_DIR "/run/netns"
#define NETNS_NAME_MAX 63 /* longest name that is accepted */
/* largest length of a text that names a namespace: a name, a path or pid:N */
#define NETNS_SPEC_MAX 255

enum netns_kind {
	NETNS_NAME, /* /run/netns/NAME */
	NETNS_PATH, /* an absolute path */
	NETNS_PID, /* pid:N */
};

struct netns_spec {
	enum netns_kind kind;
	pid_t pid; /* process, for NETNS_PID */
	/* path of the file by which the namespace is opened; set for every kind */
	char path[NETNS_SPEC_MAX + 16];
};

/**
 * netns_spec_parse() - Parse the text by which a configuration names a namespace
 * @spec:	a name without '/', an absolute path, or pid:N
 *
 * Return: 0; -EINVAL if it is none of these, or longer than allowed
 */
int netns_spec_parse(struct netns_spec *ret, const char *spec);

/**
 * netns_open() - Open a namespace that exists
 * @ret_fd:	close-on-exec
 *
 * Return: 0; -ENOENT, -EACCES or another -errno of open(2); -EINVAL: the file is no network namespace
 */
int netns_open(const struct netns_spec *spec, int *ret_fd);

/**
 * netns_create() - Make an anonymous namespace, set its loopback interface up and its IPv4 forwarding off
 * @ret_fd:	descriptor, the only reference to the namespace
 *
 * Return: 0 or -errno; -EPERM without CAP_SYS_ADMIN (see netns_enter_userns())
 */
int netns_create(int *ret_fd);

/**
 * netns_create_named() - Make a namespace and bind it to /run/netns/NAME, as `ip netns add`
 * @spec:	of kind NETNS_NAME
 *
 * Return: 0; -EEXIST: another namespace has the name; -EINVAL: @spec is of another kind; -errno
 */
int netns_create_named(const struct netns_spec *spec, int *ret_fd);

/*
 * netns_remove_named() - Remove the name of a namespace as `ip netns del` does. Return: 0; -ESTALE:
 * the name no longer names the namespace of @fd; -errno
 */
int netns_remove_named(const struct netns_spec *spec, int fd);

/**
 * netns_check() - Check that the file that names a namespace still names the namespace of @fd
 *
 * The owner of a TAP in the namespace cannot notice `ip netns del` in any other way, see netdev/tap.h. Return: 0;
 * -ESTALE if the name is gone or names another namespace; another -errno if stat(2) fails
 */
int netns_check(const struct netns_spec *spec, int fd);

/* netns_same() - Tell whether two descriptors refer to the same namespace */
bool netns_same(int a, int b);

/**
 * netns_call() - Run a function with the calling thread inside a namespace
 * @fn:		function to run, whose return value is returned
 *
 * Return: the return value of @fn, or -errno if the namespace could not be entered
 */
int netns_call(int fd, int (*fn)(void *arg), void *arg);

#define NETNS_RUN_FDS 8 /* number of descriptors that the function of netns_run() can return */

/**
 * netns_run() - Run a function inside a namespace in a child process
 * @fn:		returns 0 or -errno, and puts up to NETNS_RUN_FDS descriptors
 *		into @fds and their number into @n
 * @ret_fds:	the descriptors of @fds, as this process received them
 * @ret_n:	number of descriptors
 *
 * Use this function in a process with several threads, or if @fn must not be able to harm the
 * caller.
 * Return: the return value of @fn, or -errno of this function; -ECHILD if the child died
 */
int netns_run(int fd, int (*fn)(void *arg, int fds[NETNS_RUN_FDS], unsigned int *n), void *arg,
	      int ret_fds[NETNS_RUN_FDS], unsigned int *ret_n);

/**
 * netns_enter_userns() - Become root of a new user namespace, and of a network namespace in it
 *
 * For callers without privileges: the caller's user and group are mapped to 0, and network
 * namespaces that the caller makes later belong to the user namespace. The process cannot return to
 * its old namespaces, and may have only one thread.
 * Return: 0 or -errno; -EPERM, -EUSERS or -ENOSPC where the system forbids it
 */
int netns_enter_userns(void);

/**
 * netns_enter() - Enter a host's namespaces for good, as `exec` does before it runs a command
 * @user_fd:	user namespace to enter first; -1 if there is none
 * @net_fd:	network namespace
 *
 * Also gives the caller a mount namespace in which /sys shows @net_fd, if the caller is allowed to make a
 * mount namespace.
 * Return: 0 or -errno
 */
int netns_enter(int user_fd, int net_fd);

/*
 * netns_spec_lasts() - Tell whether the caller may look for @spec again after the namespace @fd is
 * gone
 *
 * The answer is yes if @fd is mounted on the file of @spec itself, outside /proc. Such a file may
 * disappear, and a file of the same name may appear later with another namespace.
 * The answer is no for a process number, because another process may get the number after the
 * process has ended. It is also no for a symbolic link, because the link may lead to a process. The
 * namespace of a process can only be examined with the privilege to trace the process.
 */
bool netns_spec_lasts(const struct netns_spec *spec, int fd);

/*
 * netns_watch() - Make a non-blocking inotify(7) descriptor for netns_watch_add(). Return: 0 or
 * -errno
 */
int netns_watch(int *ret_fd);

/**
 * netns_watch_add() - Watch the folder that contains the file of @spec
 * @fd:		from netns_watch(); becomes readable when a file is added to the folder or removed
 *		from it
 *
 * `ip netns add` first makes the file, and then mounts the namespace on it. @fd does not report the
 * mount. When @fd is readable, call netns_watch_drain(), and then netns_check() for each @spec for
 * which this function was called.
 * Return: 0 or -errno; -ENOENT: there is no such folder
 */
int netns_watch_add(int fd, const struct netns_spec *spec);
/* netns_watch_drain() - Read the waiting events; if there are very many, some remain and @fd stays readable */
void netns_watch_drain(int fd);

/**
 * netns_sysctl_write() - Set /proc/sys/@path of the namespace that the caller is in
 * @path:	relative, for example "net/ipv6/conf/uib0/accept_ra"
 *
 * Return: 0 or -errno
 */
int netns_sysctl_write(const char *path, const char *value);

#endif
