/* SPDX-License-Identifier: BSD-2-Clause */
#include "demo/net.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "demo/child.h"
#include "os/clock.h"
#include "util/be.h"

#define PINGS_MAX 2600 /* somewhat more than all pairs of 50 hosts */
#define RETRY_MS 200 /* first pause between rounds, doubled up to RETRY_MAX_MS */
#define RETRY_MAX_MS 1600
#define RTT_PINGS 32
/* value used for gc_thresh3 if its file cannot be read; only the initial network namespace has the file */
#define NEIGH_ENTRIES 1024

/* --- echoes */

struct echo {
	uint8_t type, code;
	uint16_t csum, id, seq;
	uint64_t data;
};

/*
 * Computes the Internet checksum. Octets are not swapped, because the sum has the same octets in
 * either byte order (RFC 1071).
 */
static uint16_t icmp_csum(const void *p, size_t len)
{
	const uint8_t *b = p;
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2) {
		uint16_t w = 0;

		memcpy(&w, b + i, len - i < 2 ? 1 : 2);
		sum += w;
	}
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static int icmp_socket(bool ipv6)
{
	int s = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);

	return s < 0 ? -errno : s;
}

static int send_echo(int s, const struct demo_host *to, const char *ifname, bool ipv6,
		     unsigned int id, unsigned int seq)
{
	struct echo e = { .type = ipv6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO,
			  .id = htons((uint16_t)id),
			  .seq = htons((uint16_t)seq) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6,
				   .sin6_addr = to->ip6,
				   .sin6_scope_id = if_nametoindex(ifname) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_addr = to->ip4 };

	if (!ipv6)
		e.csum = icmp_csum(&e, sizeof(e));
	return sendto(s, &e, sizeof(e), 0, ipv6 ? (void *)&a6 : (void *)&a4,
		      ipv6 ? sizeof(a6) : sizeof(a4)) < 0
		       ? -errno
		       : 0;
}

/*
 * Receives a packet. Returns the sequence number of a reply to this process; -1: it is another packet; -2: no packet
 * waits
 */
static int recv_echo(int s, bool ipv6, unsigned int id)
{
	uint8_t b[512];
	ssize_t n = recv(s, b, sizeof(b), 0);
	size_t skip = ipv6 || n < 1 ? 0 : (b[0] & 0x0f) * 4u;
	struct echo e;

	if (n < 0)
		return errno == EAGAIN ? -2 : -1;
	if ((size_t)n < skip + sizeof(e))
		return -1;
	memcpy(&e, b + skip, sizeof(e));
	if (e.type != (ipv6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) || ntohs(e.id) != id)
		return -1;
	return ntohs(e.seq);
}

/* Wait for an answer. Return: its sequence number; -1: another packet came; -2: no packet came within @wait_ms */
static int await_echo(int s, bool ipv6, unsigned int id, int wait_ms)
{
	struct pollfd p = { .fd = s, .events = POLLIN };

	return poll(&p, 1, wait_ms) > 0 ? recv_echo(s, ipv6, id) : -2;
}

/* --- every host pings others */

struct job {
	bool ipv6;
	int patience_ms;
	unsigned int each; /* number of other hosts that each host pings */
	bool *answered; /* in shared memory, for each ping: true if the reply has come */
	ns_t *rtt; /* in shared memory, RTT_PINGS round-trip times; 0: no answer */
};

/* Return the number of the @k-th host that host @i pings. Targets are spread evenly over all hosts. */
static unsigned int target(const struct demo_net *d, const struct job *j, unsigned int i,
			   unsigned int k)
{
	return (i + (k + 1) * d->n / (j->each + 1)) % d->n;
}

static unsigned int send_missing(const struct demo_net *d, const struct job *j, unsigned int i,
				 int s)
{
	unsigned int missing = 0;

	for (unsigned int k = 0; k < j->each; k++) {
		if (j->answered[i * j->each + k])
			continue;
		missing++;
		send_echo(s, &d->host[target(d, j, i, k)], d->host[i].ifname, j->ipv6, i + 1, k);
	}
	return missing;
}

static int ping_child(const struct demo_net *d, unsigned int i, void *arg)
{
	struct job *j = arg;
	ns_t until = clock_now() + NS_MSEC(j->patience_ms), pause = NS_MSEC(RETRY_MS);
	int s = icmp_socket(j->ipv6);
	unsigned int left = j->each;

	if (s < 0)
		return s;
	while (left && clock_now() < until) {
		ns_t next = clock_now() + pause;

		left = send_missing(d, j, i, s);
		while (left && clock_now() < next) {
			int seq = await_echo(s, j->ipv6, i + 1, 20);

			if (seq < 0 || (unsigned int)seq >= j->each ||
			    j->answered[i * j->each + (unsigned int)seq])
				continue;
			j->answered[i * j->each + (unsigned int)seq] = true;
			left--;
		}
		pause = pause < NS_MSEC(RETRY_MAX_MS) ? 2 * pause : pause;
	}
	return 0;
}

/* Measures round trips from the first host, one after another, while no other host sends. */
static int rtt_child(const struct demo_net *d, unsigned int i, void *arg)
{
	struct job *j = arg;
	int s = icmp_socket(j->ipv6);

	if (s < 0)
		return s;
	for (unsigned int k = 0; k < RTT_PINGS; k++) {
		const struct demo_host *to = &d->host[target(d, j, i, k % j->each)];
		ns_t sent = clock_now();

		send_echo(s, to, d->host[i].ifname, j->ipv6, i + 1, k);
		if (await_echo(s, j->ipv6, i + 1, 200) == (int)k)
			j->rtt[k] = clock_now() - sent;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	ns_t x = *(const ns_t *)a, y = *(const ns_t *)b;

	return x < y ? -1 : x > y;
}

static double median_us(ns_t *v)
{
	unsigned int lost = 0;

	qsort(v, RTT_PINGS, sizeof(*v), by_value);
	while (lost < RTT_PINGS && !v[lost])
		lost++;
	if (lost == RTT_PINGS)
		return 0;
	v += lost + (RTT_PINGS - lost) / 2;
	return (double)*v / 1e3;
}

static unsigned int neigh_table(bool ipv6)
{
	FILE *f = fopen(ipv6 ? "/proc/sys/net/ipv6/neigh/default/gc_thresh3"
			     : "/proc/sys/net/ipv4/neigh/default/gc_thresh3",
			"re");
	unsigned int n = 0;

	if (f) {
		if (fscanf(f, "%u", &n) != 1)
			n = 0;
		fclose(f);
	}
	return n ? n : NEIGH_ENTRIES;
}

/*
 * Return the number of other hosts that each host pings. A ping needs two entries of the neighbour table, one at each
 * end, and half of the table is left for other uses.
 */
static unsigned int how_many_each(const struct demo_net *d, unsigned int table)
{
	unsigned int pings = table / 4 < PINGS_MAX ? table / 4 : PINGS_MAX;

	if (d->n * (d->n - 1) / 2 <= table / 4 && d->n * (d->n - 1) <= PINGS_MAX)
		return d->n - 1;
	return pings > d->n ? pings / d->n : 1;
}

int demo_ping_all(const struct demo_net *d, bool ipv6, int patience_ms, struct demo_pings *ret)
{
	unsigned int table = neigh_table(ipv6), each = how_many_each(d, table);
	size_t n = (size_t)d->n * each, size = RTT_PINGS * sizeof(ns_t) + n * sizeof(bool);
	struct job j = { .ipv6 = ipv6, .patience_ms = patience_ms, .each = each };
	int status;

	j.rtt = demo_child_mem(size);
	if (!j.rtt)
		return -ENOMEM;
	j.answered = (bool *)(j.rtt + RTT_PINGS);
	status = demo_child_all(d, ping_child, &j);
	if (!status)
		status = demo_child_run(d, 0, rtt_child, &j);
	*ret = (struct demo_pings){ .sent = (unsigned int)n, .each = each, .table = table };
	for (size_t k = 0; k < n; k++)
		ret->answered += j.answered[k];
	ret->median_us = median_us(j.rtt);
	munmap(j.rtt, size);
	return status;
}

/* --- path MTU */

struct df_job {
	unsigned int to, size;
};

static int df_child(const struct demo_net *d, unsigned int i, void *arg)
{
	const struct df_job *j = arg;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = d->host[j->to].ip4 };
	uint8_t b[65536] = { ICMP_ECHO };
	int s = icmp_socket(false), discover = IP_PMTUDISC_DO;
	struct pollfd p = { .fd = s, .events = POLLIN };
	uint16_t csum;

	if (s < 0)
		return s;
	if (j->size + 8 > sizeof(b) - 64 ||
	    setsockopt(s, IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)) < 0)
		return -EINVAL;
	be16_put(b + 4, (uint16_t)(i + 1));
	csum = icmp_csum(b, j->size + 8);
	memcpy(b + 2, &csum, sizeof(csum));
	if (sendto(s, b, j->size + 8, 0, (void *)&a, sizeof(a)) < 0)
		return -errno;
	while (poll(&p, 1, 1000) > 0) {
		ssize_t n = recv(s, b, sizeof(b), 0);

		if (n == (ssize_t)j->size + 28 && b[20] == ICMP_ECHOREPLY)
			return 0;
	}
	return -ETIMEDOUT;
}

int demo_ping_df(const struct demo_net *d, unsigned int from, unsigned int to, unsigned int size)
{
	struct df_job j = { to, size };

	return demo_child_run(d, from, df_child, &j);
}
