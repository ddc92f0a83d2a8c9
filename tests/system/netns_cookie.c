/* SPDX-License-Identifier: BSD-2-Clause */

/*
 *	netns_cookie FILE...	print the cookies of the network namespaces of these files
 *
 * A cookie (Linux 5.14) is a number that the kernel gives to one namespace only. The inode number of a namespace does not
 * suffice, because the kernel uses this number again soon after the namespace has ended.
 */

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static int print_cookie(const char *file)
{
	int ns = open(file, O_RDONLY | O_CLOEXEC), s = -1, status = 1;
	uint64_t cookie;
	socklen_t len = sizeof(cookie);

	if (ns >= 0 && setns(ns, CLONE_NEWNET) == 0)
		s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s >= 0 && getsockopt(s, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0) {
		printf("%llu\n", (unsigned long long)cookie);
		status = 0;
	}
	if (s >= 0)
		close(s);
	if (ns >= 0)
		close(ns);
	return status;
}

int main(int argc, char **argv)
{
	int status = 0;

	/* If the process of a FILE has ended meanwhile, the cookies of the other files are still printed. */
	for (int i = 1; i < argc; i++)
		status |= print_cookie(argv[i]);
	return status;
}
