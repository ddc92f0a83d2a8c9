/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest/guest.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/guest.h"

static struct {
	bool other; /* true if CMD runs as another user than root */
	uid_t uid;
	gid_t gid[VM_GROUPS_MAX]; /* the first one is the primary group */
	size_t n;
} user;

void user_set(char *text)
{
	char *save = NULL, *word = strtok_r(text, ",", &save);

	if (!word)
		fatal("user '%s': expected a UID and GIDs", text);
	user.uid = (uid_t)strtoul(word, NULL, 10);
	while ((word = strtok_r(NULL, ",", &save)) && user.n < VM_GROUPS_MAX)
		user.gid[user.n++] = (gid_t)strtoul(word, NULL, 10);
	if (!user.n)
		fatal("user %u: expected a GID", (unsigned int)user.uid);
	user.other = true;
	/*
	 * Let every group open ICMP sockets, as systemd does on Debian. ping needs such a socket
	 * where the file capability of its program has no effect.
	 */
	write_file("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
}

void user_become(void)
{
	if (!user.other)
		return;
	/*
	 * Give the terminal or the pipes to the user, because programs of the user may open them
	 * again by /dev/stdout or /dev/tty.
	 */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		fchown(fd, user.uid, user.gid[0]);
	if (setgroups(user.n, user.gid) < 0 || setgid(user.gid[0]) < 0 || setuid(user.uid) < 0) {
		fprintf(stderr, "uipoib vm: user %u: %m\n", (unsigned int)user.uid);
		_exit(126);
	}
}
