/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/netns.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fdpass.h"

#define SELF_NET "/proc/thread-self/ns/net"

static int parse_pid(struct netns_spec *s, const char *digits)
{
	unsigned long pid;
	char *end;

	errno = 0;
	pid = strtoul(digits, &end, 10);
	if (!isdigit((unsigned char)*digits) || *end || errno || !pid || pid > INT_MAX)
		return -EINVAL;
	s->kind = NETNS_PID;
	s->pid = (pid_t)pid;
	snprintf(s->path, sizeof(s->path), "/proc/%lu/ns/net", pid);
	return 0;
}

static int parse_name(struct netns_spec *s, const char *name)
{
	size_t len = strlen(name);

	if (!len || len > NETNS_NAME_MAX || name[0] == '.' || strchr(name, '/'))
		return -EINVAL;
	/* A blank or a control character in a name is a typing error, and would garble logs. */
	for (const char *c = name; *c; c++) {
		if (!isgraph((unsigned char)*c))
			return -EINVAL;
	}
	s->kind = NETNS_NAME;
	snprintf(s->path, sizeof(s->path), NETNS_RUN_DIR "/%s", name);
	return 0;
}

int netns_spec_parse(struct netns_spec *ret, const char *spec)
{
	struct netns_spec s = { 0 };
	int err = 0;

	if (strlen(spec) > NETNS_SPEC_MAX)
		return -EINVAL;
	if (spec[0] == '/') {
		s.kind = NETNS_PATH;
		snprintf(s.path, sizeof(s.path), "%s", spec);
	} else if (!strncmp(spec, "pid:", 4)) {
		err = parse_pid(&s, spec + 4);
	} else {
		err = parse_name(&s, spec);
	}
	if (!err)
		*ret = s;
	return err;
}

int netns_open(const struct netns_spec *spec, int *ret_fd)
{
	/*
	 * O_NONBLOCK, because the path may lead to a FIFO, whose open(2) would wait for a writer.
	 */
	int fd = open(spec->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET) {
		close(fd);
		return -EINVAL;
	}
	*ret_fd = fd;
	return 0;
}

static bool same_file(const struct stat *x, const struct stat *y)
{
	return x->st_dev == y->st_dev && x->st_ino == y->st_ino;
}

bool netns_same(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && same_file(&x, &y);
}

int netns_check(const struct netns_spec *spec, int fd)
{
	struct stat x, y;

	if (stat(spec->path, &x))
		return errno == ENOENT || errno == ENOTDIR ? -ESTALE : -errno;
	if (fstat(fd, &y))
		return -errno;
	return same_file(&x, &y) ? 0 : -ESTALE;
}

bool netns_spec_lasts(const struct netns_spec *spec, int fd)
{
	struct stat x, y;

	if (spec->kind == NETNS_PID || !strncmp(spec->path, "/proc/", 6))
		return false;
	return !lstat(spec->path, &x) && !fstat(fd, &y) && same_file(&x, &y);
}

/* ----- entering a namespace and coming back */

/* Returns a descriptor or -errno. */
static int open_self(void)
{
	int fd = open(SELF_NET, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void come_back(int home)
{
	if (setns(home, CLONE_NEWNET))
		abort();
	close(home);
}

int netns_call(int fd, int (*fn)(void *arg), void *arg)
{
	int home = open_self(), err;

	if (home < 0)
		return home;
	if (setns(fd, CLONE_NEWNET)) {
		err = -errno;
		close(home);
		return err;
	}
	err = fn(arg);
	come_back(home);
	return err;
}

static int loopback_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (s < 0)
		return -errno;
	if (ioctl(s, SIOCSIFFLAGS, &ifr))
		err = -errno;
	close(s);
	return err;
}

/*
 * Switch IPv4 forwarding off in a new namespace, because hosts do not forward by default (RFC 1122
 * section 3.1). A new namespace has the IPv4 settings of the system's first namespace, in which a
 * container engine may have switched forwarding on. If /proc/sys cannot be written, as in some
 * containers, the setting does not change.
 */
static void no_forwarding(void)
{
	int fd = open("/proc/sys/net/ipv4/ip_forward", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "0", 1);
	close(fd);
}

int netns_create(int *ret_fd)
{
	int home = open_self(), fd, err;

	if (home < 0)
		return home;
	/*
	 * If a sandbox refuses setns(), the thread could not return to its namespace. So the thread
	 * tries setns() to its own namespace before it leaves the namespace.
	 */
	if (setns(home, CLONE_NEWNET) || unshare(CLONE_NEWNET)) {
		err = -errno;
		close(home);
		return err;
	}
	err = loopback_up();
	no_forwarding();
	fd = err ? err : open_self();
	come_back(home);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* ----- entering a namespace in a child process */

struct run_result {
	int err;
};

static void run_child(int sock, int netns,
		      int (*fn)(void *arg, int fds[NETNS_RUN_FDS], unsigned int *n), void *arg)
{
	struct run_result r = { 0 };
	int fds[NETNS_RUN_FDS];
	unsigned int n = 0;

	if (setns(netns, CLONE_NEWNET))
		r.err = -errno;
	else
		r.err = fn(arg, fds, &n);
	_exit(fdpass_send(sock, &r, sizeof(r), fds, n) ? 1 : 0);
}

int netns_run(int fd, int (*fn)(void *arg, int fds[NETNS_RUN_FDS], unsigned int *n), void *arg,
	      int ret_fds[NETNS_RUN_FDS], unsigned int *ret_n)
{
	struct run_result r;
	int sock[2], err;
	pid_t pid;

	static_assert(NETNS_RUN_FDS == FDPASS_MAX, "fdpass_recv() fills @ret_fds");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return -errno;
	pid = fork();
	if (pid < 0) {
		err = -errno;
		fdpass_close(sock, 2);
		return err;
	}
	if (!pid) {
		close(sock[0]);
		run_child(sock[1], fd, fn, arg);
	}
	close(sock[1]);
	err = fdpass_recv(sock[0], &r, sizeof(r), ret_fds, ret_n);
	close(sock[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (err == -EPIPE)
		return -ECHILD;
	return err ? err : r.err;
}

/* ----- sysctls */

int netns_sysctl_write(const char *path, const char *value)
{
	size_t len = strlen(value);
	char full[256];
	int fd, err = 0;

	if ((size_t)snprintf(full, sizeof(full), "/proc/sys/%s", path) >= sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, len) != (ssize_t)len)
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}
