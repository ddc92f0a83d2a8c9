/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/guest.h"

/*
 * init executes systemd, which becomes the first process of the VM. Before that, init forks a child, which systemd
 * adopts. This child waits until systemd has booted, and runs CMD. The words for systemd on the kernel's command line
 * are in vm/qemu.c.
 */

#define PRIVATE \
	"/run/systemd/private" /* socket at which systemd answers systemctl, with or without D-Bus */
#define TICK_MS 20

/*
 * These files in /run adapt the configuration in the host's root file system to a VM, because files in /run have
 * precedence over files in /usr/lib. With the empty tmp.conf, systemd does not clean /tmp, which has the host's
 * files. The journal is kept in memory, apart from the host's journal.
 */
static const struct {
	const char *path, *text;
} files[] = {
	{ "/run/tmpfiles.d/tmp.conf", "" },
	{ "/run/systemd/journald.conf.d/uipoib.conf", "[Journal]\nStorage=volatile\n" },
};

static void make_file(const char *path, const char *text)
{
	char dir[PATH_MAX];
	int fd;

	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	make_dirs(dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fatal("%s: %m", path);
	close(fd);
}

static void become_systemd(void) __attribute__((noreturn));

static void become_systemd(void)
{
	static char program[] = VM_SYSTEMD, path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *argv[] = { program, NULL }, *envp[] = { path, NULL };

	execve(program, argv, envp);
	fatal("%s: %m", program);
}

/* Runs `systemctl is-system-running --wait` and reads what it prints: the state in which the boot has ended. */
static void end_of_boot(char *state, size_t size)
{
	char line[64];
	FILE *f;

	while (access(PRIVATE, F_OK) < 0)
		pause_ms(TICK_MS);
	f = popen("exec systemctl is-system-running --wait 2>&1", "r");
	if (!f)
		fatal("systemctl: %m");
	*state = '\0';
	while (fgets(line, sizeof(line), f))
		snprintf(state, size, "%.*s", (int)strcspn(line, "\n"), line);
	pclose(f);
}

void systemd_start(void)
{
	static const char *const booted[] = { "running", "degraded" };
	char state[64];
	pid_t pid;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make_file(files[i].path, files[i].text);
	/*
	 * If the host is a container, its root file system has this file, and systemd would take
	 * the VM for a container, too.
	 */
	unlink("/.dockerenv");
	pid = fork();
	if (pid < 0)
		fatal("fork: %m");
	if (pid)
		become_systemd();
	chan_sendf(FRAME_STATE, "systemd boots");
	end_of_boot(state, sizeof(state));
	chan_sendf(FRAME_STATE, "systemd: %s", state);
	for (size_t i = 0; i < sizeof(booted) / sizeof(booted[0]); i++)
		if (!strcmp(state, booted[i]))
			return;
	fatal("systemd has not booted: %s", *state ? state : "systemctl printed nothing");
}
