/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/privs.h"

#include <arpa/inet.h>
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "os/ibtap_kmod.h"

#define NO_SECCOMP 77

/*
 * Run @fn in a child process, because a process cannot regain its privileges. Returns the wait
 * status of the child.
 */
static int in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_exit(int status, int want)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SECCOMP) {
		print_message("# no seccomp filters\n");
		skip();
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), want);
}

/* If @cond is false, exit with a status other than 0 that depends on the line number. */
#define MUST(cond)                                \
	do {                                      \
		if (!(cond))                      \
			_exit(__LINE__ % 70 + 1); \
	} while (0)

static void filter(uint32_t flags)
{
	int err = privs_seccomp(flags);

	if (err == -EOPNOTSUPP)
		_exit(NO_SECCOMP);
	MUST(!err);
}

static bool have_cap(unsigned int cap)
{
	capng_get_caps_process();
	return capng_have_capability(CAPNG_EFFECTIVE, cap);
}

static void drop_all(void)
{
	MUST(!privs_drop_caps(0));
	capng_get_caps_process();
	MUST(capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE);
	MUST(unshare(CLONE_NEWNS) < 0 && errno == EPERM);
	MUST(!privs_drop_caps(0)); /* a second call is harmless */
}

static void drop_and_exec(void)
{
	MUST(!privs_drop_caps(0));
	execl("/bin/sh", "sh", "-c", "grep -q '^CapEff:[[:space:]]*0*$' /proc/self/status", NULL);
	_exit(70);
}

static void keep_raw(void)
{
	bool had = have_cap(CAP_NET_RAW);

	MUST(!privs_drop_caps(PRIVS_NET_RAW));
	MUST(have_cap(CAP_NET_RAW) == had);
	MUST(!have_cap(CAP_NET_ADMIN));
	MUST(!have_cap(CAP_SYS_ADMIN));
}

static void helper_caps(void)
{
	bool had = have_cap(CAP_NET_ADMIN);

	MUST(!privs_helper_caps());
	MUST(have_cap(CAP_NET_ADMIN) == had);
	MUST(!have_cap(CAP_DAC_OVERRIDE));
	MUST(!have_cap(CAP_SETUID));
}

/* CAP_NET_RAW must survive the change of user. No other capability may survive it. */
static void isolate_with_raw(void)
{
	bool had = have_cap(CAP_NET_RAW);

	MUST(!privs_isolate(PRIVS_NET_RAW | PRIVS_KEEP_ROOT_DIR, -1));
	MUST(!had || have_cap(CAP_NET_RAW));
	MUST(!have_cap(CAP_NET_ADMIN));
	MUST(!have_cap(CAP_SYS_ADMIN));
	MUST(!have_cap(CAP_SETUID));
	MUST(!capng_have_capability(CAPNG_PERMITTED, CAP_NET_ADMIN));
}

static void test_privs_capabilities_are_gone_for_good(void **state)
{
	(void)state;
	assert_exit(in_child(drop_all), 0);
	assert_exit(in_child(drop_and_exec), 0);
}

static void test_privs_capabilities_that_are_kept(void **state)
{
	(void)state;
	assert_exit(in_child(keep_raw), 0);
	assert_exit(in_child(isolate_with_raw), 0);
	assert_exit(in_child(helper_caps), 0);
}

static void *thread(void *arg)
{
	return arg;
}

/* The seccomp filter must allow the system calls that the main loop needs. */
static void allowed(void)
{
	struct itimerspec its = { .it_value.tv_nsec = 1 };
	struct epoll_event ev = { .events = EPOLLIN };
	int ep, tfd, p[2], fd, x = 7;
	struct timespec ts;
	pthread_t t;
	void *ret;

	filter(0);
	ep = epoll_create1(EPOLL_CLOEXEC);
	tfd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	MUST(ep >= 0 && tfd >= 0);
	MUST(!timerfd_settime(tfd, 0, &its, NULL));
	MUST(!epoll_ctl(ep, EPOLL_CTL_ADD, tfd, &ev));
	MUST(epoll_wait(ep, &ev, 1, 10000) == 1);
	MUST(!clock_gettime(CLOCK_MONOTONIC, &ts));
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, p));
	MUST(write(p[0], "x", 1) == 1);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	MUST(fd >= 0);
	fd = open("/dev/null", O_RDONLY);
	MUST(fd >= 0);
	MUST(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	MUST(!pthread_create(&t, NULL, thread, &x));
	MUST(!pthread_join(t, &ret) && ret == &x);
}

static void forbidden(void)
{
	filter(0);
	MUST(open("/tmp/uipoib-test-privs", O_CREAT | O_WRONLY, 0600) < 0 && errno == EPERM);
	MUST(open("/dev/null", O_WRONLY) < 0 && errno == EPERM);
	MUST(socket(AF_INET, SOCK_DGRAM, 0) < 0 && errno == EPERM);
	MUST(socket(AF_NETLINK, SOCK_RAW, 0) < 0 && errno == EPERM);
	MUST(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM);
	MUST(fork() < 0 && errno == EPERM);
	MUST(execl("/bin/true", "true", NULL) < 0 && errno == EPERM);
	MUST(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
	MUST(setns(0, 0) < 0 && errno == EPERM);
	MUST(ioctl(0, IBTAP_GET_INFO, NULL) < 0 &&
	     errno != EPERM); /* the filter allows this command, but the file does not support it */
	MUST(ioctl(0, IBTAP_ATTACH, NULL) < 0 && errno == EPERM);
	MUST(ioctl(0, IBTAP_SET_PERSIST, NULL) < 0 && errno == EPERM);
	MUST(ioctl(0, IBTAP_SET_OWNER, NULL) < 0 && errno == EPERM);
	MUST(ioctl(0, IBTAP_SET_GROUP, NULL) < 0 && errno == EPERM);
}

static void permitted_by_flags(void)
{
	int fd;

	filter(PRIVS_INET);
	fd = socket(AF_INET6, SOCK_DGRAM, 0);
	MUST(fd >= 0 || errno == EAFNOSUPPORT);
	MUST(fork() < 0 && errno == EPERM);
	MUST(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
}

/*
 * The filter for src/verbs must allow opening a device file and the commands that src/verbs sends
 * to it, and must refuse other commands.
 */
static void verbs_commands(void)
{
	MUST(ioctl(0, RDMA_VERBS_IOCTL, NULL) < 0 && errno != EPERM);
	filter(PRIVS_VERBS);
	MUST(ioctl(0, RDMA_VERBS_IOCTL, NULL) < 0 && errno != EPERM);
	MUST(ioctl(0, IB_USER_MAD_REGISTER_AGENT, NULL) < 0 && errno != EPERM);
	MUST(ioctl(0, IB_USER_MAD_ENABLE_PKEY, NULL) < 0 && errno != EPERM);
	MUST(ioctl(0, IB_USER_MAD_UNREGISTER_AGENT, NULL) < 0 && errno == EPERM);
	MUST(open("/dev/null", O_RDWR) >= 0);
	MUST(open("/dev/null", O_RDWR | O_CREAT, 0600) < 0 && errno == EPERM);
	MUST(open("/dev/null", O_RDWR | O_TRUNC) < 0 && errno == EPERM);
	MUST(socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA) >= 0 || errno != EPERM);
	MUST(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) < 0 && errno == EPERM);
	MUST(ioctl(0, IBTAP_ATTACH, NULL) < 0 && errno == EPERM);
}

static void no_verbs_commands(void)
{
	filter(0);
	MUST(ioctl(0, RDMA_VERBS_IOCTL, NULL) < 0 && errno == EPERM);
	MUST(ioctl(0, IB_USER_MAD_REGISTER_AGENT, NULL) < 0 && errno == EPERM);
	MUST(open("/dev/null", O_RDWR) < 0 && errno == EPERM);
	MUST(socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA) < 0 && errno == EPERM);
}

static void killed(void)
{
	filter(PRIVS_KILL);
	unshare(CLONE_NEWUSER);
}

static void logged(void)
{
	filter(PRIVS_LOG | PRIVS_KILL);
	MUST(unshare(0) == 0); /* with PRIVS_LOG this call is logged, but not refused */
}

static void test_privs_seccomp_allows_the_main_loop(void **state)
{
	(void)state;
	assert_exit(in_child(allowed), 0);
}

static void test_privs_seccomp_forbids_the_rest(void **state)
{
	(void)state;
	assert_exit(in_child(forbidden), 0);
}

static void test_privs_seccomp_flags_permit(void **state)
{
	(void)state;
	assert_exit(in_child(permitted_by_flags), 0);
	assert_exit(in_child(verbs_commands), 0);
	assert_exit(in_child(no_verbs_commands), 0);
}

static void test_privs_seccomp_kill_and_log(void **state)
{
	int status = in_child(killed);

	(void)state;
	if (WIFEXITED(status))
		assert_exit(status, -1);
	assert_int_equal(WTERMSIG(status), SIGSYS);
	assert_exit(in_child(logged), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_privs_capabilities_are_gone_for_good),
		cmocka_unit_test(test_privs_capabilities_that_are_kept),
		cmocka_unit_test(test_privs_seccomp_allows_the_main_loop),
		cmocka_unit_test(test_privs_seccomp_forbids_the_rest),
		cmocka_unit_test(test_privs_seccomp_flags_permit),
		cmocka_unit_test(test_privs_seccomp_kill_and_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
