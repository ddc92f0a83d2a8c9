/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Sends and receives multicasts as an application, or observes them:
 *
 *	mcast recv IF GROUP PORT	join the group, print "ready", and then each datagram's text on a line
 *	mcast send IF GROUP PORT N TEXT [US]
 *					send datagrams with the lines "TEXT 1" .. "TEXT N", one each US microseconds
 *					(default: 200), from a socket that did not join the group
 *	mcast sniff IF GROUP PORT	print the same lines as recv, for every datagram to GROUP and PORT that the interface
 *					receives, even if no socket has joined the group
 *
 * The payload of each datagram ends with '\n', so that each is printed on a line of its own even if the kernel merges several
 * datagrams.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEXT_MAX 1400
#define PACE_US 200

struct group {
	int family;
	unsigned int ifindex;
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr any;
	} to;
	socklen_t to_len;
};

static void die(const char *what)
{
	fprintf(stderr, "mcast: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void parse(struct group *g, char **arg)
{
	in_port_t port = htons((uint16_t)atoi(arg[2]));

	memset(g, 0, sizeof(*g));
	g->ifindex = if_nametoindex(arg[0]);
	if (!g->ifindex)
		die(arg[0]);
	if (inet_pton(AF_INET, arg[1], &g->to.in.sin_addr) == 1) {
		g->family = g->to.in.sin_family = AF_INET;
		g->to.in.sin_port = port;
		g->to_len = sizeof(g->to.in);
	} else if (inet_pton(AF_INET6, arg[1], &g->to.in6.sin6_addr) == 1) {
		g->family = g->to.in6.sin6_family = AF_INET6;
		g->to.in6.sin6_port = port;
		g->to.in6.sin6_scope_id = g->ifindex;
		g->to_len = sizeof(g->to.in6);
	} else {
		errno = EINVAL;
		die(arg[1]);
	}
}

static int udp_socket(const struct group *g)
{
	int fd = socket(g->family, SOCK_DGRAM, 0);

	if (fd < 0)
		die("socket");
	return fd;
}

/*
 * Make room for datagrams that arrive while this program gets no CPU time. Users without rights get as much room as
 * the machine allows.
 */
static void enlarge(int fd)
{
	int size = 16 << 20;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static void join(int fd, const struct group *g)
{
	struct group_req req = { .gr_interface = g->ifindex };
	int v6 = g->family == AF_INET6, off = 0;

	memcpy(&req.gr_group, &g->to, g->to_len);
	/* Receive from groups that this socket joined, and not from those that other sockets of the host joined. */
	setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MULTICAST_ALL : IP_MULTICAST_ALL,
		   &off, sizeof(off));
	if (setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, MCAST_JOIN_GROUP, &req, sizeof(req)))
		die("join");
}

static void receive(const struct group *g)
{
	int fd = udp_socket(g), on = 1;
	char text[TEXT_MAX];
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	enlarge(fd);
	if (bind(fd, &g->to.any, g->to_len))
		die("bind");
	join(fd, g);
	puts("ready");
	while ((n = recv(fd, text, sizeof(text), 0)) >= 0)
		fwrite(text, 1, (size_t)n, stdout);
	die("recv");
}

static void transmit(const struct group *g, int count, const char *text, unsigned int pace_us)
{
	int fd = udp_socket(g), v6 = g->family == AF_INET6, off = 0, on = 1;
	struct ip_mreqn dev = { .imr_ifindex = (int)g->ifindex };
	char line[TEXT_MAX];

	if (v6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &g->ifindex, sizeof(int))
	       : setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &dev, sizeof(dev)))
		die("interface");
	setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MULTICAST_LOOP : IP_MULTICAST_LOOP,
		   &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	for (int k = 1; k <= count; k++) {
		int n = snprintf(line, sizeof(line), "%s %d\n", text, k);

		if (sendto(fd, line, (size_t)n, 0, &g->to.any, g->to_len) != n)
			die("send");
		usleep(pace_us);
	}
}

/* If the Ethernet frame's payload is a UDP datagram to @g, return its text, otherwise NULL */
static const char *match(const struct group *g, const unsigned char *p, ssize_t n, int *ret_len)
{
	const struct ip *ip = (const void *)p;
	const struct ip6_hdr *ip6 = (const void *)p;
	size_t hdr = g->family == AF_INET ? sizeof(*ip) : sizeof(*ip6);
	const struct udphdr *udp = (const void *)(p + hdr);

	if (n < (ssize_t)(hdr + sizeof(*udp)))
		return NULL;
	if (g->family == AF_INET ? ip->ip_v != 4 || ip->ip_p != IPPROTO_UDP ||
					   ip->ip_dst.s_addr != g->to.in.sin_addr.s_addr ||
					   udp->dest != g->to.in.sin_port
				 : p[0] >> 4 != 6 || ip6->ip6_nxt != IPPROTO_UDP ||
					   memcmp(&ip6->ip6_dst, &g->to.in6.sin6_addr, 16) ||
					   udp->dest != g->to.in6.sin6_port)
		return NULL;
	*ret_len = ntohs(udp->len) - (int)sizeof(*udp);
	return *ret_len < 0 || (ssize_t)(hdr + sizeof(*udp)) + *ret_len > n
		       ? NULL
		       : (const void *)(udp + 1);
}

static void sniff(const struct group *g)
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = (int)g->ifindex };
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL)), len;
	unsigned char buf[65536];

	if (fd < 0 || bind(fd, (struct sockaddr *)&ll, sizeof(ll)))
		die("packet socket");
	enlarge(fd);
	puts("ready");
	for (;;) {
		socklen_t ll_len = sizeof(ll);
		ssize_t n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&ll, &ll_len);
		const char *text;

		if (n < 0)
			die("packet socket");
		text = ll.sll_pkttype == PACKET_OUTGOING ? NULL : match(g, buf, n, &len);
		if (text)
			fwrite(text, 1, (size_t)len, stdout);
	}
}

int main(int argc, char **argv)
{
	struct group g;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 5 && !strcmp(argv[1], "recv")) {
		parse(&g, argv + 2);
		receive(&g);
	} else if (argc == 5 && !strcmp(argv[1], "sniff")) {
		parse(&g, argv + 2);
		sniff(&g);
	} else if ((argc == 7 || argc == 8) && !strcmp(argv[1], "send")) {
		parse(&g, argv + 2);
		transmit(&g, atoi(argv[5]), argv[6],
			 argc == 8 ? (unsigned int)atoi(argv[7]) : PACE_US);
	} else {
		fputs("usage: mcast recv|sniff IF GROUP PORT\n"
		      "       mcast send IF GROUP PORT N TEXT [US]\n",
		      stderr);
		return 2;
	}
	return 0;
}
