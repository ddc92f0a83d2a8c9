/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes another process execute system calls, as an attacker who can execute code in that process could.
 *
 *	inject PID CALL [ARG...]	prints the return value of the call: 0 or more, or -errno
 *	inject PID helper SPEC		asks the helper of daemon PID to open namespace SPEC
 *	inject PID follow HANDLE	asks it to open again the namespace that has the helper's number HANDLE
 *	inject PID place HANDLE NUMBER NAME [stable]
 *					asks it to place spare TAP NUMBER of this namespace as interface NAME; with the
 *					word "stable", the interface gets stable identifiers
 *	inject PID park HANDLE NUMBER	asks it to move this TAP out of the host again
 *
 * The requests to the helper go through a copy of the daemon's socket. The program prints the error
 * in the helper's response.
 *
 * CALL is a name of the list below. An ARG is a number, or a text that is put into the process' memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper/proto.h"

static const struct {
	const char *name;
	long nr;
} calls[] = {
	{ "getpid", SYS_getpid },
	{ "setresuid", SYS_setresuid },
	{ "setresgid", SYS_setresgid },
	{ "setgroups", SYS_setgroups },
	{ "capset", SYS_capset },
	{ "openat", SYS_openat },
	{ "fchmodat", SYS_fchmodat },
	{ "renameat2", SYS_renameat2 },
	{ "unlinkat", SYS_unlinkat },
	{ "kill", SYS_kill },
	{ "prlimit64", SYS_prlimit64 },
	{ "socket", SYS_socket },
	{ "setns", SYS_setns },
	{ "unshare", SYS_unshare },
	{ "mount", SYS_mount },
	{ "chroot", SYS_chroot },
	{ "ptrace", SYS_ptrace },
	{ "execve", SYS_execve },
	{ "fork", SYS_clone },
	{ "bpf", SYS_bpf },
	{ "memfd_create", SYS_memfd_create },
};

static void die(const char *what)
{
	fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
	exit(2);
}

#ifdef __x86_64__

#define SYSCALL_INSN 0x050full /* the octets 0f 05 in the two lowest addresses of a word */

/*
 * Stop the process at a moment when its program counter is just after a SYSCALL instruction, because inject() sets the
 * program counter back to execute this instruction again. In a process that sleeps, the program counter is at such a
 * place. The program counter of a process that runs is perhaps elsewhere, so this process is continued and stopped again.
 */
static void attach(pid_t pid, struct user_regs_struct *regs)
{
	for (int tries = 0; tries < 5000; tries++) {
		int status;
		long word;

		if (ptrace(PTRACE_ATTACH, pid, 0, 0) || waitpid(pid, &status, __WALL) != pid)
			die("attach");
		if (ptrace(PTRACE_GETREGS, pid, 0, regs))
			die("registers");
		errno = 0;
		word = ptrace(PTRACE_PEEKTEXT, pid, regs->rip - 2, 0);
		if (!errno && ((unsigned long)word & 0xffff) == SYSCALL_INSN)
			return;
		if (ptrace(PTRACE_DETACH, pid, 0, 0))
			die("detach");
		usleep(1000);
	}
	errno = EBUSY;
	die("no system call of the process to execute again");
}

static long long inject(pid_t pid, long nr, char **argv, int argc)
{
	struct user_regs_struct saved, r;
	unsigned long long arg[6] = { 0 }, at;
	int status;

	attach(pid, &saved);
	at = saved.rsp - 4096;
	for (int i = 0; i < argc && i < 6; i++) {
		char *end;

		arg[i] = (unsigned long long)strtoll(argv[i], &end, 0);
		if (*end || !*argv[i]) {
			struct iovec mine = { argv[i], strlen(argv[i]) + 1 };
			struct iovec its = { (void *)(uintptr_t)at, mine.iov_len };

			if (process_vm_writev(pid, &mine, 1, &its, 1, 0) < 0)
				die("memory");
			arg[i] = at;
			at += 256;
		}
	}
	r = saved;
	r.rip = saved.rip - 2;
	r.rax = (unsigned long long)nr;
	r.orig_rax = ~0ull; /* keeps the kernel from restarting the interrupted call */
	r.rdi = arg[0];
	r.rsi = arg[1];
	r.rdx = arg[2];
	r.r10 = arg[3];
	r.r8 = arg[4];
	r.r9 = arg[5];
	if (ptrace(PTRACE_SETREGS, pid, 0, &r) || ptrace(PTRACE_SINGLESTEP, pid, 0, 0) ||
	    waitpid(pid, &status, __WALL) != pid || ptrace(PTRACE_GETREGS, pid, 0, &r))
		die("call");
	if (ptrace(PTRACE_SETREGS, pid, 0, &saved) || ptrace(PTRACE_DETACH, pid, 0, 0))
		die("detach");
	return (long long)r.rax;
}

#else

static long long inject(pid_t pid, long nr, char **argv, int argc)
{
	(void)pid, (void)nr, (void)argv, (void)argc;
	fprintf(stderr, "inject: only for x86-64\n");
	exit(77);
}

#endif

/* Finds the daemon's socket to its helper, which is its only socket of type SOCK_SEQPACKET without a name. */
static int helper_socket(int pidfd)
{
	for (int fd = 0; fd < 4096; fd++) {
		int copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0), type = 0;
		struct sockaddr_un un = { 0 };
		socklen_t len = sizeof(type), un_len = sizeof(un);

		if (copy < 0)
			continue;
		if (!getsockopt(copy, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_SEQPACKET &&
		    !getsockname(copy, (struct sockaddr *)&un, &un_len) &&
		    un.sun_family == AF_UNIX && un_len == sizeof(sa_family_t))
			return copy;
		close(copy);
	}
	errno = ENOENT;
	die("socket of the helper");
	return -1;
}

static int ask_helper(pid_t pid, struct helper_req req)
{
	int s = helper_socket(pidfd_open(pid, 0));
	struct pollfd p = { .fd = s, .events = POLLIN };
	struct helper_rsp rsp;

	/* Stop the daemon, so that it does not read the answer. */
	if (kill(pid, SIGSTOP))
		die("stop");
	req.seq = 0x70000000;
	if (send(s, &req, sizeof(req), 0) < 0)
		die("send");
	while (poll(&p, 1, 5000) == 1 && recv(s, &rsp, sizeof(rsp), 0) == sizeof(rsp))
		if (rsp.seq == req.seq) {
			kill(pid, SIGCONT);
			return rsp.err;
		}
	kill(pid, SIGCONT);
	die("no answer");
	return 0;
}

/* Make the request of the arguments HANDLE NUMBER [NAME [stable]]. */
static struct helper_req spare_req(enum helper_op op, char **argv, int argc)
{
	struct helper_req req = {
		.op = op,
		.ns = (uint32_t)atoi(argv[0]),
		.ifindex = atoi(argv[1]),
	};

	if (argc > 2)
		snprintf(req.tap.ifname, sizeof(req.tap.ifname), "%s", argv[2]);
	req.tap.stable = argc > 3;
	memset(req.tap.stable_secret, 0x5a, sizeof(req.tap.stable_secret));
	return req;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? (pid_t)atoi(argv[1]) : 0;

	if (!pid)
		return 2;
	if (!strcmp(argv[2], "helper") && argc == 4) {
		struct helper_req req = { .op = HELPER_NS_OPEN };

		snprintf(req.spec, sizeof(req.spec), "%s", argv[3]);
		printf("%d\n", ask_helper(pid, req));
		return 0;
	}
	if (!strcmp(argv[2], "follow") && argc == 4) {
		struct helper_req req = {
			.op = HELPER_NS_FOLLOW,
			.ns = (uint32_t)atoi(argv[3]),
		};

		printf("%d\n", ask_helper(pid, req));
		return 0;
	}
	if (!strcmp(argv[2], "place") && argc >= 6) {
		printf("%d\n", ask_helper(pid, spare_req(HELPER_TAP_PLACE, argv + 3, argc - 3)));
		return 0;
	}
	if (!strcmp(argv[2], "park") && argc == 5) {
		printf("%d\n", ask_helper(pid, spare_req(HELPER_TAP_PARK, argv + 3, argc - 3)));
		return 0;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(argv[2], calls[i].name)) {
			printf("%lld\n", inject(pid, calls[i].nr, argv + 3, argc - 3));
			return 0;
		}
	fprintf(stderr, "inject: %s: unknown call\n", argv[2]);
	return 2;
}
