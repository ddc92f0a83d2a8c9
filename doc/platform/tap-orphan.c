/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The descriptor of a TAP keeps alive the namespace in which /dev/net/tun was opened. After `ip
 * netns del`, this descriptor can be the only thing that still refers to the namespace. Writes to
 * the TAP then still succeed, but lead nowhere. So the TAP's owner has to watch the name of the
 * namespace (netns_check(), netns_watch()). If the interface itself was deleted, reads and writes
 * fail with EBADFD.
 */

#include <linux/if_link.h>

#include "platform.h"

static int del_link(int nl, const char *name)
{
	struct link_req r;

	link_req_init(&r, RTM_DELLINK, NLM_F_ACK);
	r.ifi.ifi_index = (int)if_nametoindex(name);
	return link_req_send(nl, &r);
}

int main(void)
{
	char frame[60] = { 2 };
	int home = here(), fd, nl;

	go_new();
	fd = tap(0);
	fact(write(fd, frame, sizeof(frame)) < 0 && errno == EIO, "EIO while the TAP is down");
	set_up("t0");
	go(home); /* the last process leaves; only the TAP refers to the namespace */
	fact(write(fd, frame, sizeof(frame)) == sizeof(frame),
	     "a write to the TAP of a namespace that nobody can reach succeeds");
	close(fd);

	go_new();
	nl = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	fd = tap(0);
	fact(del_link(nl, "t0") == 0, "the interface is deleted");
	fact(write(fd, frame, sizeof(frame)) < 0 && errno == EBADFD, "then a write says EBADFD");
	fact(read(fd, frame, sizeof(frame)) < 0 && errno == EBADFD, "and so does a read");
	return done();
}
