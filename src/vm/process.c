/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void exec_qemu(const struct qemu_cfg *qc, const sigset_t *mask, pid_t parent)
	__attribute__((noreturn));

static void exec_qemu(const struct qemu_cfg *qc, const sigset_t *mask, pid_t parent)
{
	const int keep[] = { qc->initrd_fd, qc->kernel_fd, qc->serial_fd, qc->channel_fd,
			     qc->eth_fd };
	int null = open("/dev/null", O_RDWR);
	struct qemu_args a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* with its own process group, QEMU gets no SIGINT from Ctrl-C, only `uipoib vm` does */
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, mask, NULL);
	signal(SIGPIPE, SIG_DFL);
	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
		if (keep[i] >= 0)
			fcntl(keep[i], F_SETFD, 0);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(qc->serial_fd, STDERR_FILENO);
	if (qemu_args_make(&a, qc)) {
		fprintf(stderr, "the command line of QEMU: out of memory\n");
		_exit(1);
	}
	execvp(a.v[0], a.v);
	fprintf(stderr, "%s: %s\n", a.v[0], strerror(errno));
	_exit(127);
}

static int pair(int type, int ret[2])
{
	return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}

int qemu_start(struct qemu_process *ret, struct qemu_cfg *qc, const sigset_t *mask)
{
	int log[2] = { -1, -1 }, chan[2] = { -1, -1 }, eth[2] = { -1, -1 };
	pid_t parent = getpid(), pid = 0;
	int status = pair(SOCK_STREAM, log);

	if (!status)
		status = pair(SOCK_STREAM, chan);
	if (!status)
		status = pair(SOCK_DGRAM, eth);
	qc->serial_fd = log[1];
	qc->channel_fd = chan[1];
	qc->eth_fd = eth[1];
	if (!status) {
		fflush(NULL);
		pid = fork();
		if (!pid)
			exec_qemu(qc, mask, parent);
		status = pid < 0 ? -errno : 0;
	}
	for (int i = 0; i < 3; i++) {
		int fd = (int[]){ log[1], chan[1], eth[1] }[i];

		if (fd >= 0)
			close(fd);
	}
	*ret = (struct qemu_process){
		.pid = pid, .log_fd = log[0], .chan_fd = chan[0], .eth_fd = eth[0]
	};
	return status;
}
