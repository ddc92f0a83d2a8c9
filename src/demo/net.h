/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEMO_NET_H
#define DEMO_NET_H

/*
 * The applications that the demo runs on its hosts. Each application is a child process that enters the namespaces of
 * a host and uses plain sockets, so the demo needs no program of the system.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct demo_host {
	char name[16];
	/* namespaces of the host; -1: the host is in the namespace of the caller */
	int net_fd, user_fd;
	struct in_addr ip4;
	struct in6_addr ip6; /* link-local address */
	char ifname[16];
};

struct demo_net {
	struct demo_host *host;
	unsigned int n;
};

struct demo_pings {
	unsigned int sent, answered;
	unsigned int each; /* number of other hosts that each host pinged; n - 1: all */
	unsigned int table; /* capacity of the kernel's neighbour table, which limits .each */
	double median_us; /* median of a few round trips from the first host, with all addresses resolved */
};

/*
 * demo_ping_all() - Each host pings the others until all have answered, for at most @patience_ms
 *
 * The kernel has one neighbour table for all namespaces, with gc_thresh3 entries (by default 1024).
 * So with many hosts each host pings only some of the others, and half of the table stays free.
 * Return: 0 or -errno
 */
int demo_ping_all(const struct demo_net *d, bool ipv6, int patience_ms, struct demo_pings *ret);

/*
 * demo_ping_df() - Ping host @to once from host @from, by IPv4 with @size octets of payload and DF
 * set. Return: 0: the answer came; -EMSGSIZE: the packet is longer than the MTU; -ETIMEDOUT: no
 * answer; -errno
 */
int demo_ping_df(const struct demo_net *d, unsigned int from, unsigned int to, unsigned int size);

struct demo_mcast {
	/*
	 * number of members, and number of datagrams that all members got together: .members * .sent
	 * if none was lost
	 */
	unsigned int members, got;
	/*
	 * number of hosts that did not join, and number of packets of the group that their
	 * interfaces got all the same
	 */
	unsigned int others, leaked;
	unsigned int sent; /* number of datagrams that the sender sent */
};

/*
 * demo_mcast() - Hosts [0, members) join a group, and the last host sends to it. Return: 0 or
 * -errno
 */
int demo_mcast(const struct demo_net *d, unsigned int members, struct demo_mcast *ret);

/* A TCP flow that runs while the caller does something to the fabric. */
struct demo_flow;

/* demo_flow_start() - Start a flow from one host to another. Return: 0 or -errno */
int demo_flow_start(const struct demo_net *d, unsigned int from, unsigned int to,
		    struct demo_flow **ret);
/* demo_flow_octets() - Return the number of octets received so far */
uint64_t demo_flow_octets(const struct demo_flow *f);
/*
 * demo_flow_silence() - Return the longest pause at the receiver since the last call, in ms; a pause that still lasts
 * counts, too
 */
double demo_flow_silence(struct demo_flow *f);
/* demo_flow_alive() - Tell whether the flow makes progress; waits up to @ms for more octets */
bool demo_flow_alive(const struct demo_flow *f, int ms);
void demo_flow_stop(struct demo_flow *f);

#endif
