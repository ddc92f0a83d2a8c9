/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deny CALL CMD [ARG ...]: run CMD, in which the system call CALL fails with ENOSYS, as under an
 * old kernel or in a sandbox that does not know the call.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int nr;
} calls[] = {
	{ "epoll_pwait2", SYS_epoll_pwait2 },
	{ "close_range", SYS_close_range },
	{ "signalfd4", SYS_signalfd4 },
	{ "setns", SYS_setns },
};

static int deny(unsigned int nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(argv[1], calls[i].name))
			continue;
		if (deny(calls[i].nr)) {
			perror("deny: seccomp");
			return 125;
		}
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		return 127;
	}
	fprintf(stderr, "usage: deny epoll_pwait2|close_range|signalfd4|setns CMD [ARG ...]\n");
	return 2;
}
