/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The kernel refuses an IPv6 token with EINVAL while forwarding is on or accept_ra is off.
 * netdev_token_set() returns this error, and its caller tries again.
 */

#include <linux/if_link.h>

#include "platform.h"

#define CONF "/proc/sys/net/ipv6/conf/t0/"

static int set_token(int nl)
{
	static const unsigned char token[16] = { [8] = 0, 2, 0xc9, 3, 0, 1, 0, 2 };
	struct rtattr *spec, *inet6;
	struct link_req r;

	link_req_init(&r, RTM_NEWLINK, NLM_F_ACK);
	r.ifi.ifi_index = (int)if_nametoindex("t0");
	spec = link_req_put(&r, IFLA_AF_SPEC, NULL, 0);
	inet6 = link_req_put(&r, AF_INET6, NULL, 0);
	link_req_put(&r, IFLA_INET6_TOKEN, token, sizeof(token));
	link_req_close(&r, inet6);
	link_req_close(&r, spec);
	return link_req_send(nl, &r);
}

int main(void)
{
	int nl;

	go_new();
	tap(0);
	if (access(CONF "forwarding", W_OK))
		lacks(CONF "forwarding");
	nl = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	fact(set_token(nl) == 0, "a token is taken");
	fact(write_file(CONF "forwarding", "1") && set_token(nl) == -EINVAL,
	     "refused with forwarding = 1");
	fact(write_file(CONF "forwarding", "0") && set_token(nl) == 0, "taken with forwarding = 0");
	fact(write_file(CONF "accept_ra", "0") && set_token(nl) == -EINVAL,
	     "refused with accept_ra = 0");
	fact(write_file(CONF "accept_ra", "1") && set_token(nl) == 0, "taken with accept_ra = 1");
	return done();
}
