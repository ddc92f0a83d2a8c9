/* SPDX-License-Identifier: BSD-2-Clause */
#include "demo/child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo/conf.h"

#define CHILDREN_MAX (DEMO_HOSTS_MAX + 8)

/* Pids of the running children, for the signal handler; 0: free entry */
static volatile pid_t running[CHILDREN_MAX];
static volatile sig_atomic_t killed;

void *demo_child_mem(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void demo_child_kill_all(void)
{
	killed = 1;
	for (size_t k = 0; k < CHILDREN_MAX; k++)
		if (running[k] > 0)
			kill(running[k], SIGKILL);
}

bool demo_child_killed(void)
{
	return killed;
}

static int enter(const struct demo_host *h)
{
	if (h->user_fd >= 0 && setns(h->user_fd, CLONE_NEWUSER) < 0)
		return -errno;
	return setns(h->net_fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

static void child(const struct demo_net *d, unsigned int i, demo_child_fn *fn, void *arg,
		  pid_t parent, const sigset_t *mask) __attribute__((noreturn));

static void child(const struct demo_net *d, unsigned int i, demo_child_fn *fn, void *arg,
		  pid_t parent, const sigset_t *mask)
{
	int status = enter(&d->host[i]);

	/*
	 * This call must follow setns(), because a change of credentials may reset
	 * PR_SET_PDEATHSIG.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (!status)
		status = fn(d, i, arg);
	_exit(-status & 0xff);
}

static size_t free_place(void)
{
	size_t k = 0;

	while (k < CHILDREN_MAX && running[k])
		k++;
	return k;
}

/*
 * Signals are blocked here, so that the handler cannot run after the fork and before the pid is in
 * running[].
 */
pid_t demo_child_spawn(const struct demo_net *d, unsigned int i, demo_child_fn *fn, void *arg)
{
	size_t place = free_place();
	pid_t parent = getpid(), pid;
	sigset_t all, mask;
	int err;

	if (place == CHILDREN_MAX)
		return -EAGAIN;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	pid = killed ? -1 : fork();
	if (!pid)
		child(d, i, fn, arg, parent, &mask);
	err = killed ? -EINTR : -errno;
	if (pid > 0)
		running[place] = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return pid < 0 ? err : pid;
}

int demo_child_join(pid_t pid)
{
	siginfo_t si;
	int status;

	while (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT) < 0)
		if (errno != EINTR)
			return -errno;
	/* Remove the entry before waitpid(), after which the pid may be another process's. */
	for (size_t k = 0; k < CHILDREN_MAX; k++)
		if (running[k] == pid)
			running[k] = 0;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

int demo_child_run(const struct demo_net *d, unsigned int i, demo_child_fn *fn, void *arg)
{
	pid_t pid = demo_child_spawn(d, i, fn, arg);

	return pid < 0 ? (int)pid : demo_child_join(pid);
}

int demo_child_all(const struct demo_net *d, demo_child_fn *fn, void *arg)
{
	pid_t *pid = calloc(d->n, sizeof(*pid));
	int status = pid ? 0 : -ENOMEM;

	for (unsigned int i = 0; pid && i < d->n; i++)
		pid[i] = demo_child_spawn(d, i, fn, arg);
	for (unsigned int i = 0; pid && i < d->n; i++) {
		int one = pid[i] < 0 ? (int)pid[i] : demo_child_join(pid[i]);

		if (one && !status)
			status = one;
	}
	free(pid);
	return status;
}
