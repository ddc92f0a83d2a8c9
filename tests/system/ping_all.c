/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Pings many addresses at once until each has answered:
 *
 *	ping_all SECONDS ADDRESS...	exit status 1 if some did not within SECONDS; their addresses are printed
 *
 * A few are open at a time, and an address is asked again only after a second: it is meant to run on
 * hundreds of hosts of a machine together.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define OPEN_MAX 8
#define AGAIN_MS 1000

struct target {
	struct sockaddr_in addr;
	long long asked_ms; /* 0: not yet */
	bool answered;
};

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static uint16_t checksum(const void *data, size_t len)
{
	const uint16_t *p = data;
	uint32_t sum = 0;

	for (; len > 1; len -= 2)
		sum += *p++;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void ask(int fd, struct target *t, int index)
{
	struct icmphdr h = { .type = ICMP_ECHO };

	h.un.echo.id = htons((uint16_t)getpid());
	h.un.echo.sequence = htons((uint16_t)index);
	h.checksum = checksum(&h, sizeof(h));
	/* What cannot be sent now is asked for again. */
	if (sendto(fd, &h, sizeof(h), 0, (struct sockaddr *)&t->addr, sizeof(t->addr)) < 0 &&
	    errno != ENOBUFS && errno != EHOSTUNREACH && errno != EAGAIN)
		perror("sendto");
	t->asked_ms = now_ms();
}

/* How many more have answered: 0 or 1 */
static int take(int fd, struct target *v, int n)
{
	unsigned char buf[256];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t len =
		recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
	const struct iphdr *ip = (const void *)buf;
	const struct icmphdr *h;
	int index;

	if (len < (ssize_t)sizeof(*ip) || len < (ssize_t)(ip->ihl * 4u + sizeof(*h)))
		return 0;
	h = (const void *)(buf + ip->ihl * 4);
	index = ntohs(h->un.echo.sequence);
	if (h->type != ICMP_ECHOREPLY || ntohs(h->un.echo.id) != (uint16_t)getpid() || index >= n ||
	    v[index].addr.sin_addr.s_addr != from.sin_addr.s_addr || v[index].answered)
		return 0;
	v[index].answered = true;
	return 1;
}

/* Ask those whose turn it is; how long to wait until the next turn */
static int ask_some(int fd, struct target *v, int n)
{
	long long now = now_ms(), wait = AGAIN_MS;
	int open = 0;

	for (int i = 0; i < n && open < OPEN_MAX; i++) {
		if (v[i].answered)
			continue;
		open++;
		if (!v[i].asked_ms || now - v[i].asked_ms >= AGAIN_MS)
			ask(fd, &v[i], i);
		if (v[i].asked_ms + AGAIN_MS - now < wait)
			wait = v[i].asked_ms + AGAIN_MS - now;
	}
	return wait > 0 ? (int)wait : 0;
}

static int ping_all(int fd, struct target *v, int n, long long deadline)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int left = n;

	while (left && now_ms() < deadline) {
		int wait = ask_some(fd, v, n);

		if (poll(&p, 1, wait) > 0)
			left -= take(fd, v, n);
	}
	for (int i = 0; i < n; i++)
		if (!v[i].answered)
			printf("%s\n", inet_ntoa(v[i].addr.sin_addr));
	return left ? 1 : 0;
}

int main(int argc, char **argv)
{
	int n = argc - 2, fd, status;
	struct target *v;

	if (n < 1) {
		fputs("usage: ping_all SECONDS ADDRESS...\n", stderr);
		return 2;
	}
	fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	v = calloc((size_t)n, sizeof(*v));
	if (fd < 0 || !v) {
		perror("ping_all");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		v[i].addr.sin_family = AF_INET;
		if (inet_pton(AF_INET, argv[i + 2], &v[i].addr.sin_addr) != 1) {
			fprintf(stderr, "ping_all: %s: no IPv4 address\n", argv[i + 2]);
			return 2;
		}
	}
	status = ping_all(fd, v, n, now_ms() + atoi(argv[1]) * 1000LL);
	free(v);
	close(fd);
	return status;
}
