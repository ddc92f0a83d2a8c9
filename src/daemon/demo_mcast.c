/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "daemon/demo_child.h"
#include "daemon/loop.h"
#include "wire/ipoib_hdr.h"

#define GROUP "239.17.4.1"
#define PORT 17041
#define SENT 3
#define ENOUGH_MS 5000 /* the sender has sent by then, whatever the machine does */

struct job {
	unsigned int members;
	bool *ready; /* [n], shared */
	unsigned int *got; /* [n], shared */
	bool *done; /* shared: all is sent, and has had the time to arrive */
};

/* A socket in the group. */
static int member_socket(const char *ifname)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct ip_mreqn m = { .imr_ifindex = (int)if_nametoindex(ifname) };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, GROUP, &m.imr_multiaddr);
	if (s < 0 || bind(s, (void *)&a, sizeof(a)) < 0 ||
	    setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)) < 0)
		return -errno;
	return s;
}

/* What comes in by the interface, whether the kernel wants it or not. */
static int tap_socket(const char *ifname)
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_IPV4),
				 .sll_ifindex = (int)if_nametoindex(ifname) };
	int s = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return s < 0 || bind(s, (void *)&a, sizeof(a)) < 0 ? -errno : s;
}

static bool is_ours(const void *packet, ssize_t len)
{
	struct in_addr group;
	struct iphdr ip;

	if (len < (ssize_t)sizeof(ip))
		return false;
	memcpy(&ip, packet, sizeof(ip));
	inet_pton(AF_INET, GROUP, &group);
	return ip.protocol == IPPROTO_UDP && ip.daddr == group.s_addr;
}

static int receive(const struct demo_net *d, unsigned int i, struct job *j)
{
	bool member = i < j->members;
	const char *ifname = d->host[i].ifname;
	ns_t until = loop_clock() + NS_MSEC(ENOUGH_MS);
	struct pollfd p = { .events = POLLIN };
	char b[128];

	p.fd = member ? member_socket(ifname) : tap_socket(ifname);
	if (p.fd < 0)
		return p.fd;
	__atomic_store_n(&j->ready[i], true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(j->done, __ATOMIC_ACQUIRE) && loop_clock() < until) {
		ssize_t n;

		if (poll(&p, 1, 20) <= 0)
			continue;
		n = recv(p.fd, b, sizeof(b), MSG_DONTWAIT);
		if (n > 0 && (member || is_ours(b, n)))
			j->got[i]++;
	}
	return 0;
}

static bool all_ready(const struct job *j, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!__atomic_load_n(&j->ready[i], __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static int transmit(const struct demo_net *d, unsigned int i, struct job *j)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct ip_mreqn m = { .imr_ifindex = (int)if_nametoindex(d->host[i].ifname) };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, GROUP, &a.sin_addr);
	if (s < 0 || setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof(m)) < 0)
		return -errno;
	for (int t = 0; t < 100 && !all_ready(j, d->n - 1); t++)
		poll(NULL, 0, 10);
	poll(NULL, 0, 300); /* the joins go to the SA and into the switches */
	for (int k = 0; k < SENT; k++)
		if (sendto(s, "multicast", 9, 0, (void *)&a, sizeof(a)) < 0)
			return -errno;
	poll(NULL, 0, 300);
	return 0;
}

static int either(const struct demo_net *d, unsigned int i, void *arg)
{
	struct job *j = arg;
	int status;

	if (i + 1 < d->n)
		return receive(d, i, j);
	status = transmit(d, i, j);
	__atomic_store_n(j->done, true, __ATOMIC_RELEASE);
	return status;
}

int demo_mcast(const struct demo_net *d, unsigned int members, struct demo_mcast *ret)
{
	size_t size = d->n * (sizeof(bool) + sizeof(unsigned int)) + sizeof(bool);
	char *mem = demo_child_mem(size);
	struct job j = { .members = members };
	int status;

	if (!mem)
		return -ENOMEM;
	j.got = (unsigned int *)mem;
	j.ready = (bool *)(mem + d->n * sizeof(unsigned int));
	j.done = j.ready + d->n;
	status = demo_child_all(d, either, &j);
	*ret = (struct demo_mcast){ .members = members,
				    .others = d->n - 1 - members,
				    .sent = SENT };
	for (unsigned int i = 0; i + 1 < d->n; i++)
		*(i < members ? &ret->got : &ret->leaked) += j.got[i];
	munmap(mem, size);
	return status;
}
