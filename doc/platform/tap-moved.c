/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A TAP may be moved to another namespace. Its descriptor stays valid. The descriptor keeps alive
 * the namespace in which /dev/net/tun was opened, not the namespace to which the TAP was moved. So
 * a TAP that was made elsewhere and moved to a host's namespace does not keep the host's namespace
 * alive. When the host's namespace is deleted, the TAP is deleted, too, unless it was moved out
 * before.
 */

#include "platform.h"

static int move_to(int nl, const char *name, int ns)
{
	struct link_req r;

	link_req_init(&r, RTM_NEWLINK, NLM_F_ACK);
	r.ifi.ifi_index = (int)if_nametoindex(name);
	link_req_put(&r, IFLA_NET_NS_FD, &ns, sizeof(ns));
	return link_req_send(nl, &r);
}

/* The kernel deletes a namespace some time after the last reference to it is gone. */
static bool deleted_soon(int fd)
{
	char frame[60] = { 2 };

	for (int i = 0; i < 1000; i++) {
		if (write(fd, frame, sizeof(frame)) < 0 && errno == EBADFD)
			return true;
		usleep(10000);
	}
	return false;
}

int main(void)
{
	char frame[60] = { 2 };
	int home = here(), born, other, fd, nl, nl_other;

	go_new();
	born = here();
	nl = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	fd = tap(0);
	go_new();
	other = here();
	nl_other = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	go(born);
	fact(move_to(nl, "t0", other) == 0, "a TAP is moved to another namespace");
	fact(if_flags("t0") < 0, "it is not in the namespace where it was made");
	go(other);
	set_up("t0");
	fact(write(fd, frame, sizeof(frame)) == sizeof(frame),
	     "its descriptor is valid and has the TAP in the other namespace");
	fact(move_to(nl_other, "t0", born) == 0, "it is moved back");
	go(born);
	fact(if_flags("t0") >= 0 && !(if_flags("t0") & IFF_UP), "where it is down");
	fact(move_to(nl, "t0", other) == 0, "it is moved again");
	close(other);
	close(nl_other);
	go(home); /* only the TAP is left in the other namespace */
	fact(deleted_soon(fd), "without another reference that namespace is deleted, with the TAP");
	return done();
}
