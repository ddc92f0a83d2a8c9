/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DEMO_NET_H
#define DAEMON_DEMO_NET_H

/*
 * What the demo does as applications on its hosts: plain sockets, in child processes that enter a
 * host's namespaces. No tool of the system is needed.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct demo_host {
	char name[16];
	int net_fd, user_fd; /* its namespaces, -1: none; user_fd -1: the caller's */
	struct in_addr ip4;
	struct in6_addr ip6; /* fe80:: */
	char ifname[16];
};

struct demo_net {
	struct demo_host *host;
	unsigned int n;
};

struct demo_pings {
	unsigned int sent, answered;
	unsigned int each; /* how many others each host pinged; n - 1: all */
	unsigned int
		table; /* where that is fewer because of it: what the kernel's neighbour table holds */
	double median_us; /* of a few round trips from the first host, with all addresses resolved */
};

/*
 * demo_ping_all() - Every host pings the others until each was answered, @patience_ms at the most
 *
 * The kernel has one table of neighbours for all namespaces, gc_thresh3 entries by default 1024:
 * with many hosts each pings only as many others as leave half of it free.
 * Return: 0 or -errno
 */
int demo_ping_all(const struct demo_net *d, bool ipv6, int patience_ms, struct demo_pings *ret);

/* demo_ping_df() - Echoes of @size octets of payload with DF. 0 answered; -EMSGSIZE; -ETIMEDOUT; -errno */
int demo_ping_df(const struct demo_net *d, unsigned int from, unsigned int to, unsigned int size);

struct demo_mcast {
	unsigned int members, got; /* datagrams that members got: members * sent if all is well */
	unsigned int others,
		leaked; /* hosts that did not join, packets that their interfaces got */
	unsigned int sent;
};

/* demo_mcast() - Hosts [0, members) join a group, the last host sends. 0 or -errno */
int demo_mcast(const struct demo_net *d, unsigned int members, struct demo_mcast *ret);

/* A TCP flow that runs while the caller does something to the fabric. */
struct demo_flow;

/* demo_flow_start() - 0 or -errno */
int demo_flow_start(const struct demo_net *d, unsigned int from, unsigned int to,
		    struct demo_flow **ret);
/* Octets received so far */
uint64_t demo_flow_octets(const struct demo_flow *f);
/* Milliseconds of the longest silence at the receiver since the last call, the present one included */
double demo_flow_silence(struct demo_flow *f);
/* demo_flow_alive() - Is it still moving? Waits up to @ms for more octets */
bool demo_flow_alive(const struct demo_flow *f, int ms);
void demo_flow_stop(struct demo_flow *f);

#endif
