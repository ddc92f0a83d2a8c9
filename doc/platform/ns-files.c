/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Files of /proc/net, and sockets, belong to the network namespace in which they were opened,
 * whoever uses them later. So uipoib's helper opens them once, and hands them over to the daemon.
 * With the netlink socket, any process can request dumps and receive events; to change something,
 * the process needs CAP_NET_ADMIN, too.
 */

#include <sys/wait.h>

#include "platform.h"

static bool shows(int fd, const char *name)
{
	char buf[8192];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	buf[n > 0 ? n : 0] = 0;
	return strstr(buf, name);
}

static int ask(int nl, unsigned short type, int index)
{
	struct link_req r;

	/* An answer that has data needs no acknowledgement. */
	link_req_init(&r, type, type == RTM_GETLINK ? 0 : NLM_F_ACK);
	r.ifi.ifi_index = index;
	return link_req_send(nl, &r);
}

int main(void)
{
	int home = here(), there, index, igmp, nl, status;
	pid_t pid;

	go_new();
	there = here();
	tap(0);
	set_up("t0");
	index = (int)if_nametoindex("t0");
	igmp = open("/proc/thread-self/net/igmp", O_RDONLY);
	nl = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	fact(write_file("/proc/sys/net/ipv4/conf/t0/arp_ignore", "1"),
	     "/proc/sys/net is that of the calling thread's namespace");
	go(home);
	go_new();
	fact(!write_file("/proc/sys/net/ipv4/conf/t0/arp_ignore", "1"), "in both directions");
	fact(shows(igmp, "t0"), "/proc/net/igmp shows the namespace where it was opened");
	fact(ask(nl, RTM_GETLINK, index) == 1, "a netlink socket works there from elsewhere");
	pid = fork();
	if (!pid) {
		if (setresuid(65534, 65534, 65534))
			_exit(1);
		_exit((ask(nl, RTM_GETLINK, index) == 1) | (ask(nl, RTM_DELLINK, index) == -EPERM)
								   << 1);
	}
	waitpid(pid, &status, 0);
	fact(WEXITSTATUS(status) & 1, "it answers a process without capabilities");
	fact(WEXITSTATUS(status) & 2, "from which it takes no changes");
	go(there);
	fact(if_flags("t0") >= 0, "so the interface is still there");
	return done();
}
