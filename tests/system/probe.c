/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends datagrams to the other end all the time, and records the times at which both directions worked.
 *
 *	probe PORT IFNAME LOG IPV4_PEER IPV6_PEER
 *
 * The other end runs the same program. Every 50 ms each program sends one datagram of each of three kinds: to the other end's IPv4
 * address (kind 4), to its IPv6 address (kind 6), and to a group (kind m). The datagrams have numbers. Each datagram also
 * confirms, for each kind, the highest number that has arrived from the other end. When the other end confirms a new number of
 * a kind, both directions have worked. The program then writes a line "TIME KIND" to LOG, with the time of its own clock.
 *
 * Interfaces may appear and disappear. tests/interop/linux/probe_judge.py reads LOG.
 */
#include <arpa/inet.h>
#include <err.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define GROUP "239.9.9.9"
#define PERIOD_NS 50000000ll
#define NS_PER_MS 1000000ll

enum kind { IPV4, IPV6, TO_GROUP, KINDS };

static const char name[KINDS] = { '4', '6', 'm' };

/* Both ends run on one machine, so the numbers have its byte order. */
struct msg {
	uint64_t run, seq, got[KINDS];
	uint64_t kind;
};

struct probe {
	const char *ifname;
	FILE *log;
	struct sockaddr_in peer4, group;
	struct sockaddr_in6 peer6;
	int sock4, sock6, member;
	unsigned int ifindex; /* index of the interface that has joined the group */
	uint64_t seq, first;
	uint64_t got[KINDS]; /* highest number received from the other end */
	uint64_t known[KINDS]; /* highest number from this end that the other end has reported */
	uint64_t peer_run;
};

static int64_t ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void note(const struct probe *p, const char *what)
{
	fprintf(p->log, "%.3f %s\n", (double)ns(CLOCK_REALTIME) / 1e9, what);
}

static int bound(const void *addr, socklen_t len)
{
	int fd = socket(((const struct sockaddr *)addr)->sa_family,
			SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (len == sizeof(struct sockaddr_in6))
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, addr, len) < 0)
		err(1, "socket");
	return fd;
}

/* Joins again if the interface is a new one, because a membership ends with its interface. */
static void join(struct probe *p)
{
	struct ip_mreqn m = { .imr_multiaddr = p->group.sin_addr };
	unsigned int index = if_nametoindex(p->ifname);

	if (!index || index == p->ifindex)
		return;
	m.imr_ifindex = (int)index;
	close(p->member);
	p->member = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (setsockopt(p->member, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)) == 0 &&
	    setsockopt(p->sock4, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof(m)) == 0)
		p->ifindex = index;
}

/* A datagram can be lost, for example because there is no route now. The program measures just these losses. */
static void transmit(struct probe *p)
{
	struct msg m = { .run = p->first, .seq = ++p->seq };

	memcpy(m.got, p->got, sizeof(m.got));
	m.kind = IPV4;
	sendto(p->sock4, &m, sizeof(m), 0, (struct sockaddr *)&p->peer4, sizeof(p->peer4));
	m.kind = IPV6;
	sendto(p->sock6, &m, sizeof(m), 0, (struct sockaddr *)&p->peer6, sizeof(p->peer6));
	m.kind = TO_GROUP;
	sendto(p->sock4, &m, sizeof(m), 0, (struct sockaddr *)&p->group, sizeof(p->group));
}

/* Tells whether a datagram came from the other end. The group has other senders, too. */
static bool from_peer(const struct probe *p, const struct sockaddr_storage *from)
{
	if (from->ss_family == AF_INET)
		return ((const struct sockaddr_in *)from)->sin_addr.s_addr ==
		       p->peer4.sin_addr.s_addr;
	return !memcmp(&((const struct sockaddr_in6 *)from)->sin6_addr, &p->peer6.sin6_addr,
		       sizeof(p->peer6.sin6_addr));
}

static void take(struct probe *p, const struct msg *m)
{
	if (m->run != p->peer_run) {
		p->peer_run = m->run;
		memset(p->got, 0, sizeof(p->got));
	}
	if (m->seq > p->got[m->kind])
		p->got[m->kind] = m->seq;
	for (int k = 0; k < KINDS; k++) {
		if (m->got[k] <= p->known[k] || m->got[k] <= p->first)
			continue;
		p->known[k] = m->got[k];
		note(p, (const char[]){ name[k], '\0' });
	}
}

static void receive(struct probe *p, int fd)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	struct msg m;

	if (recvfrom(fd, &m, sizeof(m), 0, (struct sockaddr *)&from, &len) == sizeof(m) &&
	    m.kind < KINDS && from_peer(p, &from))
		take(p, &m);
}

static void run(struct probe *p) __attribute__((noreturn));

static void run(struct probe *p)
{
	struct pollfd fd[2] = { { .fd = p->sock4, .events = POLLIN },
				{ .fd = p->sock6, .events = POLLIN } };
	int64_t due = ns(CLOCK_MONOTONIC);

	note(p, "start");
	for (;;) {
		int64_t now = ns(CLOCK_MONOTONIC);

		if (now >= due) {
			join(p);
			transmit(p);
			due = due + PERIOD_NS > now ? due + PERIOD_NS : now;
		}
		if (poll(fd, 2, (int)((due - now + NS_PER_MS - 1) / NS_PER_MS)) < 0)
			err(1, "poll");
		for (int i = 0; i < 2; i++)
			if (fd[i].revents)
				receive(p, fd[i].fd);
	}
}

int main(int argc, char **argv)
{
	const int off = 0;
	struct sockaddr_in any4 = { .sin_family = AF_INET };
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6 };
	static struct probe p = { .member = -1 };

	if (argc != 6)
		errx(2, "usage: probe PORT IFNAME LOG IPV4_PEER IPV6_PEER");
	any4.sin_port = any6.sin6_port = htons((uint16_t)atoi(argv[1]));
	p.ifname = argv[2];
	p.log = fopen(argv[3], "we");
	if (!p.log)
		err(1, "%s", argv[3]);
	setvbuf(p.log, NULL, _IOLBF, 0);
	p.peer4 = p.group = any4;
	p.peer6 = any6;
	if (inet_pton(AF_INET, argv[4], &p.peer4.sin_addr) != 1 ||
	    inet_pton(AF_INET, GROUP, &p.group.sin_addr) != 1 ||
	    inet_pton(AF_INET6, argv[5], &p.peer6.sin6_addr) != 1)
		errx(2, "%s, %s: an address of each family is expected", argv[4], argv[5]);
	p.sock4 = bound(&any4, sizeof(any4));
	p.sock6 = bound(&any6, sizeof(any6));
	setsockopt(p.sock4, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof(off));
	/*
	 * Sequence numbers begin at the present time in ms, so a probe that is restarted sends higher numbers than before.
	 */
	p.seq = p.first = (uint64_t)(ns(CLOCK_REALTIME) / NS_PER_MS);
	run(&p);
}
