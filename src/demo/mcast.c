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

#include "demo/child.h"
#include "os/clock.h"
#include "wire/ipoib_hdr.h"

#define GROUP "239.17.4.1"
#define PORT 17041
#define SENT 3
#define PROBE "probe"
#define DATA "multicast"
#define PROBE_EVERY_MS 50
#define LATE_MS \
	300 /* time to wait for wrong deliveries: datagrams that arrive twice, or at a host that did not join */
#define PATIENCE_MS 30000 /* longest wait for a result that comes at once on an idle machine */

/* State of a receiver, in memory that it shares with the sender */
struct seen {
	bool ready; /* the receiver listens */
	/* true if a probe has arrived, which shows that the SM has programmed the switches on the way */
	bool probed;
	/* number of datagrams received; at a member of the group, probes do not count */
	unsigned int got;
};

struct job {
	unsigned int members;
	struct seen *seen; /* states of the receivers, in shared memory */
	/* in shared memory: set to true a while after all datagrams were sent, so that they had time to arrive */
	bool *done;
};

/* Makes a socket that has joined the group. */
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

/* Makes a packet socket that gets all packets of the interface, also those that the kernel discards. */
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

static void count(struct seen *seen, bool member, const char *b, ssize_t n)
{
	bool probe = n == sizeof(PROBE) && !memcmp(b, PROBE, sizeof(PROBE));

	if (n > 0 && (member ? !probe : is_ours(b, n)))
		__atomic_add_fetch(&seen->got, 1, __ATOMIC_RELEASE);
	else if (member && probe)
		__atomic_store_n(&seen->probed, true, __ATOMIC_RELEASE);
}

static int receive(const struct demo_net *d, unsigned int i, struct job *j)
{
	bool member = i < j->members;
	const char *ifname = d->host[i].ifname;
	ns_t until = clock_now() + 3 * NS_MSEC(PATIENCE_MS);
	struct pollfd p = { .events = POLLIN };
	char b[128];

	p.fd = member ? member_socket(ifname) : tap_socket(ifname);
	if (p.fd < 0)
		return p.fd;
	__atomic_store_n(&j->seen[i].ready, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(j->done, __ATOMIC_ACQUIRE) && clock_now() < until)
		if (poll(&p, 1, 20) > 0)
			count(&j->seen[i], member, b, recv(p.fd, b, sizeof(b), MSG_DONTWAIT));
	return 0;
}

static bool is_ready(const struct seen *seen)
{
	return __atomic_load_n(&seen->ready, __ATOMIC_ACQUIRE);
}

static bool is_probed(const struct seen *seen)
{
	return __atomic_load_n(&seen->probed, __ATOMIC_ACQUIRE);
}

static bool has_all(const struct seen *seen)
{
	return __atomic_load_n(&seen->got, __ATOMIC_ACQUIRE) >= SENT;
}

/*
 * Wait until the function @is returns true for each of the first @n receivers, or until PATIENCE_MS
 * have passed. Meanwhile send probes to @to by socket @s, unless @s is -1.
 */
static void await(const struct job *j, unsigned int n, bool (*is)(const struct seen *), int s,
		  const struct sockaddr_in *to)
{
	ns_t until = clock_now() + NS_MSEC(PATIENCE_MS);

	for (unsigned int i = 0; i < n && clock_now() < until;) {
		if (is(&j->seen[i])) {
			i++;
			continue;
		}
		if (s >= 0)
			sendto(s, PROBE, sizeof(PROBE), 0, (const void *)to, sizeof(*to));
		poll(NULL, 0, PROBE_EVERY_MS);
	}
}

static int transmit(const struct demo_net *d, unsigned int i, struct job *j)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct ip_mreqn m = { .imr_ifindex = (int)if_nametoindex(d->host[i].ifname) };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, GROUP, &a.sin_addr);
	if (s < 0 || setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof(m)) < 0)
		return -errno;
	await(j, d->n - 1, is_ready, -1, NULL);
	/*
	 * Send probes until each member has got one, because datagrams reach all members only after
	 * the SA has granted the joins and the SM has programmed the switches.
	 */
	await(j, j->members, is_probed, s, &a);
	for (int k = 0; k < SENT; k++)
		if (sendto(s, DATA, sizeof(DATA), 0, (void *)&a, sizeof(a)) < 0)
			return -errno;
	await(j, j->members, has_all, -1, NULL);
	poll(NULL, 0, LATE_MS);
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
	size_t size = d->n * sizeof(struct seen) + sizeof(bool);
	char *mem = demo_child_mem(size);
	struct job j = { .members = members };
	int status;

	if (!mem)
		return -ENOMEM;
	j.seen = (struct seen *)mem;
	j.done = (bool *)(mem + d->n * sizeof(struct seen));
	status = demo_child_all(d, either, &j);
	*ret = (struct demo_mcast){ .members = members,
				    .others = d->n - 1 - members,
				    .sent = SENT };
	for (unsigned int i = 0; i + 1 < d->n; i++)
		*(i < members ? &ret->got : &ret->leaked) += j.seen[i].got;
	munmap(mem, size);
	return status;
}
