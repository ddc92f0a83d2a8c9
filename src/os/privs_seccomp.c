/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/privs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "os/ibtap_kmod.h"

/*
 * System calls that the filters allow, by purpose. libseccomp skips a call that an architecture
 * lacks. Functions further below allow further calls, but only with certain arguments.
 */

static const int io_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(preadv2),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),
	SCMP_SYS(pwritev2),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(lseek),
	SCMP_SYS(_llseek),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	SCMP_SYS(fcntl),
	SCMP_SYS(fcntl64),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(_newselect),
	SCMP_SYS(pselect6),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(eventfd2),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(timerfd_gettime),
	SCMP_SYS(signalfd4),
	SCMP_SYS(inotify_init1),
	SCMP_SYS(inotify_add_watch),
	SCMP_SYS(inotify_rm_watch),
};

static const int socket_calls[] = {
	SCMP_SYS(sendmsg),    SCMP_SYS(sendmmsg),    SCMP_SYS(sendto),	    SCMP_SYS(send),
	SCMP_SYS(recvmsg),    SCMP_SYS(recvmmsg),    SCMP_SYS(recvfrom),    SCMP_SYS(recv),
	SCMP_SYS(accept),     SCMP_SYS(accept4),     SCMP_SYS(bind),	    SCMP_SYS(listen),
	SCMP_SYS(connect),    SCMP_SYS(shutdown),    SCMP_SYS(socketpair),  SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
};

static const int file_calls[] = {
	SCMP_SYS(fstat),
	SCMP_SYS(fstat64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstatat64),
	SCMP_SYS(stat),
	SCMP_SYS(stat64),
	SCMP_SYS(lstat),
	SCMP_SYS(lstat64),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(getcwd),
	SCMP_SYS(flock),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(ftruncate),
	/* memory files with RMPP messages for programs that use libuipoib-umad.so */
	SCMP_SYS(memfd_create),
};

static const int process_calls[] = {
	SCMP_SYS(mmap),
	SCMP_SYS(mmap2),
	SCMP_SYS(munmap),
	SCMP_SYS(mprotect),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(futex_time64),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(membarrier),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getpgrp),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_setaffinity),
	SCMP_SYS(getcpu),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigreturn),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(rt_sigpending),
	SCMP_SYS(rt_sigsuspend),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(tgkill),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(getrandom),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getrusage),
	SCMP_SYS(getrlimit),
};

#define ALLOW(ctx, list) allow(ctx, list, sizeof(list) / sizeof((list)[0]))

static int allow(scmp_filter_ctx ctx, const int *calls, size_t n)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	return err;
}

/* Allow a call only if (argument & mask) == value. */
static int allow_if(scmp_filter_ctx ctx, int call, unsigned int arg, uint64_t mask, uint64_t value)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 1,
				SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, mask, value));
}

static int allow_open(scmp_filter_ctx ctx)
{
	uint64_t mask = O_ACCMODE | O_CREAT | O_TRUNC;
	int err = allow_if(ctx, SCMP_SYS(open), 1, mask, O_RDONLY);

	return err ? err : allow_if(ctx, SCMP_SYS(openat), 2, mask, O_RDONLY);
}

static int allow_sockets(scmp_filter_ctx ctx, uint32_t flags)
{
	int err = allow_if(ctx, SCMP_SYS(socket), 0, UINT32_MAX, AF_UNIX);

	if (!err && (flags & PRIVS_INET))
		err = allow_if(ctx, SCMP_SYS(socket), 0, UINT32_MAX, AF_INET);
	if (!err && (flags & PRIVS_INET))
		err = allow_if(ctx, SCMP_SYS(socket), 0, UINT32_MAX, AF_INET6);
	return err;
}

/* Allow the ioctls of TAPs of both kinds, sockets and terminals. */
static int allow_ioctls(scmp_filter_ctx ctx)
{
	static const unsigned int requests[] = {
		TUNSETOFFLOAD,	   TUNSETCARRIER,  TUNGETIFF,
		TUNGETVNETHDRSZ,   IBTAP_GET_INFO, IBTAP_SET_OFFLOADS,
		IBTAP_SET_CARRIER, IBTAP_SET_ADDR, IBTAP_SET_BROADCAST,
		IBTAP_SET_MAX_MTU, SIOCSIFHWADDR,  FIONREAD,
		FIONBIO,	   TCGETS,	   TIOCGWINSZ,
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(requests) / sizeof(requests[0]); i++)
		err = allow_if(ctx, SCMP_SYS(ioctl), 1, UINT32_MAX, requests[i]);
	return err;
}

#define CLONE_NEWANY                                                                   \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Allow new threads, but neither new processes nor new namespaces. */
static int allow_threads(scmp_filter_ctx ctx)
{
	int err = allow_if(ctx, SCMP_SYS(prctl), 0, UINT32_MAX, PR_SET_NAME);

	if (!err)
		err = allow_if(ctx, SCMP_SYS(clone), 0, CLONE_NEWANY | CLONE_THREAD, CLONE_THREAD);
	/*
	 * The flags of clone3() are in memory, which a filter cannot read. With ENOSYS the C
	 * library uses clone() instead.
	 */
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return err;
}

/* Allow the calls that open and use a device file of libibverbs. */
static int allow_verbs(scmp_filter_ctx ctx)
{
	static const unsigned int requests[] = {
		RDMA_VERBS_IOCTL,
		IB_USER_MAD_REGISTER_AGENT,
		IB_USER_MAD_ENABLE_PKEY,
	};
	uint64_t mask = O_ACCMODE | O_CREAT | O_TRUNC;
	int err = allow_if(ctx, SCMP_SYS(openat), 2, mask, O_RDWR);

	if (!err)
		err = allow_if(ctx, SCMP_SYS(open), 1, mask, O_RDWR);
	/*
	 * libibverbs asks the kernel for the driver of a device, in order to find the provider of a
	 * device that is not on PCI.
	 */
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
				       SCMP_CMP32(0, SCMP_CMP_EQ, AF_NETLINK),
				       SCMP_CMP32(2, SCMP_CMP_EQ, NETLINK_RDMA));
	for (size_t i = 0; !err && i < sizeof(requests) / sizeof(requests[0]); i++)
		err = allow_if(ctx, SCMP_SYS(ioctl), 1, UINT32_MAX, requests[i]);
	return err;
}

static int add_rules(scmp_filter_ctx ctx, uint32_t flags)
{
	int err = ALLOW(ctx, io_calls);

	if (!err)
		err = ALLOW(ctx, socket_calls);
	if (!err)
		err = ALLOW(ctx, file_calls);
	if (!err)
		err = ALLOW(ctx, process_calls);
	if (!err)
		err = allow_open(ctx);
	if (!err)
		err = allow_sockets(ctx, flags);
	if (!err)
		err = allow_ioctls(ctx);
	if (!err && (flags & PRIVS_VERBS))
		err = allow_verbs(ctx);
	return err ? err : allow_threads(ctx);
}

/* Make a filter with a default action. Return: NULL if out of memory */
static scmp_filter_ctx filter_new(uint32_t action)
{
	scmp_filter_ctx ctx = seccomp_init(action);

	if (ctx && (seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1) ||
		    /* Arrange the filter as a tree instead of a list */
		    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2))) {
		seccomp_release(ctx);
		return NULL;
	}
	return ctx;
}

/* Load the filter unless @err is set, and free the filter in any case. */
static int filter_load(scmp_filter_ctx ctx, int err)
{
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err == -EINVAL || err == -ENOSYS ? -EOPNOTSUPP : err;
}

int privs_seccomp(uint32_t flags)
{
	uint32_t action = SCMP_ACT_ERRNO(EPERM);
	scmp_filter_ctx ctx;

	if (flags & PRIVS_LOG)
		action = SCMP_ACT_LOG;
	else if (flags & PRIVS_KILL)
		action = SCMP_ACT_KILL_PROCESS;
	ctx = filter_new(action);
	return ctx ? filter_load(ctx, add_rules(ctx, flags)) : -ENOMEM;
}

/* ----- the helper */

static const int helper_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(close),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	/* for requests from the daemon, and for rtnetlink sockets that are open already */
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recv),
	SCMP_SYS(send),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
	SCMP_SYS(getsockname),
	/* calls that manage memory */
	SCMP_SYS(mmap),
	SCMP_SYS(mmap2),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(futex_time64),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64),
	/* calls to notice the death of the parent, and to end the helper */
	SCMP_SYS(getppid),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getuid),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigreturn),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(tgkill),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	/* calls to remove sockets of the instance and names of namespaces when the helper ends */
	SCMP_SYS(stat),
	SCMP_SYS(stat64),
	SCMP_SYS(lstat),
	SCMP_SYS(lstat64),
	SCMP_SYS(fstat),
	SCMP_SYS(fstat64),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstatat64),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(flock),
	SCMP_SYS(connect),
	SCMP_SYS(fcntl),
	SCMP_SYS(fcntl64),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(rmdir),
};

static const int helper_unmount_calls[] = {
	SCMP_SYS(umount2),
	SCMP_SYS(umount),
};

/*
 * A helper can open a namespace that was removed and made again. Allow the calls that it needs for
 * this, besides open(): the ioctl that tells whether a file is a namespace, and the calls that make
 * rtnetlink sockets. TAPs need no further calls, because existing TAPs are moved to the namespace.
 */
static int allow_follow(scmp_filter_ctx ctx)
{
	int err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
				   SCMP_CMP32(0, SCMP_CMP_EQ, AF_NETLINK),
				   SCMP_CMP32(2, SCMP_CMP_EQ, NETLINK_ROUTE));

	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(bind), 0);
	return err ? err : allow_if(ctx, SCMP_SYS(ioctl), 1, UINT32_MAX, NS_GET_NSTYPE);
}

/* Allow mknodat() of a device file with the mode that helper/rdma.c uses. */
static int allow_mknod(scmp_filter_ctx ctx)
{
	int err = allow_if(ctx, SCMP_SYS(mknodat), 2, UINT32_MAX, S_IFCHR | 0666);

	return err ? err : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(umask), 0);
}

int privs_helper_seccomp(uint32_t flags)
{
	scmp_filter_ctx ctx = filter_new(SCMP_ACT_ERRNO(EPERM));
	int err;

	if (!ctx)
		return -ENOMEM;
	err = ALLOW(ctx, helper_calls);
	if (!err)
		err = allow_open(ctx);
	if (!err)
		err = allow_sockets(ctx, 0);
	if (!err && (flags & PRIVS_HELPER_UNMOUNT))
		err = ALLOW(ctx, helper_unmount_calls);
	if (!err && (flags & PRIVS_HELPER_MKNOD))
		err = allow_mknod(ctx);
	if (!err && (flags & PRIVS_HELPER_FOLLOW))
		err = allow_follow(ctx);
	if (!err && (flags & (PRIVS_HELPER_ENTER | PRIVS_HELPER_FOLLOW)))
		err = allow_if(ctx, SCMP_SYS(setns), 1, UINT32_MAX, CLONE_NEWNET);
	if (!err && (flags & PRIVS_HELPER_WRITE))
		err = allow_if(ctx, SCMP_SYS(openat), 2, O_ACCMODE | O_CREAT | O_TRUNC, O_WRONLY);
	err = filter_load(ctx, err);
	return err == -EOPNOTSUPP ? 0 : err;
}
