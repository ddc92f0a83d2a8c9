/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Sends questions to many addresses at once until each has answered, and answers the questions of other hosts:
 *
 *	ping_all SECONDS ADDRESS...	prints "all" when all have answered, and continues to answer until SIGTERM. If some
 *					do not answer within SECONDS, prints their addresses and ends with status 1
 *
 * Hundreds of hosts on one machine run this program at the same time, and each of them receives the ARP requests of
 * all others. So only a few addresses are asked at a time, fewer while answers are missing, and an address is asked
 * again after 1, 2, 4, then 8 s.
 *
 * The questions are sent by UDP, not as echo requests of ICMP. Linux has one socket per processor for all echo
 * replies. All network namespaces share this socket's buffer of some 130 kB. When a thousand echo replies wait on a
 * busy machine, the buffer is full, and the kernel drops the replies to the pings of all other programs.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT 7790
#define OPEN_MAX 8
#define AGAIN_MS 1000
#define AGAIN_MOST 3 /* most doublings of AGAIN_MS */

struct target {
	struct sockaddr_in addr;
	long long asked_ms; /* time of the last question in ms; 0: none was sent */
	int again; /* number of times that the address was asked again */
	bool answered;
};

static int open_max = OPEN_MAX; /* largest number of addresses that are asked at a time */

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static volatile sig_atomic_t ended;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

/* A datagram. Both hosts are on one machine, so it has the machine's byte order. An answer differs from its question only in .answer. */
struct message {
	uint32_t answer, index;
};

static void post(int fd, const struct message *m, const struct sockaddr_in *to)
{
	/* A question that cannot be sent now is repeated later. */
	if (sendto(fd, m, sizeof(*m), MSG_DONTWAIT, (const void *)to, sizeof(*to)) < 0 &&
	    errno != ENOBUFS && errno != EHOSTUNREACH && errno != EAGAIN && errno != ECONNREFUSED)
		perror("sendto");
}

static void ask(int fd, struct target *t, int index)
{
	struct message m = { .index = (uint32_t)index };

	post(fd, &m, &t->addr);
	t->asked_ms = now_ms();
}

/* Take one datagram; returns how many more addresses have answered: 0 or 1 */
static int take(int fd, struct target *v, int n)
{
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	struct message m;
	ssize_t len =
		recvfrom(fd, &m, sizeof(m), MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);

	if (len != sizeof(m))
		return 0;
	if (!m.answer) {
		m.answer = 1;
		post(fd, &m, &from);
		return 0;
	}
	if (m.index >= (uint32_t)n || v[m.index].answered ||
	    v[m.index].addr.sin_addr.s_addr != from.sin_addr.s_addr)
		return 0;
	v[m.index].answered = true;
	open_max += open_max < OPEN_MAX;
	return 1;
}

static long long due_ms(const struct target *t)
{
	if (!t->asked_ms)
		return 0;
	return t->asked_ms + (AGAIN_MS << (t->again < AGAIN_MOST ? t->again : AGAIN_MOST));
}

static void ask_again(int fd, struct target *t, int index)
{
	if (t->asked_ms) {
		t->again++;
		open_max = open_max > 1 ? open_max / 2 : 1;
	}
	ask(fd, t, index);
}

/* Send questions to the addresses that are due. Returns the time until the next address is due */
static int ask_some(int fd, struct target *v, int n)
{
	long long now = now_ms(), wait = AGAIN_MS;
	int open = 0;

	for (int i = 0; i < n && open < open_max; i++) {
		if (v[i].answered)
			continue;
		open++;
		if (due_ms(&v[i]) <= now)
			ask_again(fd, &v[i], i);
		if (due_ms(&v[i]) - now < wait)
			wait = due_ms(&v[i]) - now;
	}
	return wait > 0 ? (int)wait : 0;
}

static int ping_all(int fd, struct target *v, int n, long long deadline)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int left = n;

	while (!ended && (!left || now_ms() < deadline)) {
		int wait = ask_some(fd, v, n);

		if (poll(&p, 1, wait) > 0 && take(fd, v, n) && !--left)
			puts("all");
	}
	for (int i = 0; i < n; i++)
		if (!v[i].answered)
			printf("%s\n", inet_ntoa(v[i].addr.sin_addr));
	return left ? 1 : 0;
}

static int udp_socket(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)) ? -1 : fd;
}

int main(int argc, char **argv)
{
	int n = argc - 2, fd, status;
	struct target *v;

	if (n < 1) {
		fputs("usage: ping_all SECONDS ADDRESS...\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, end);
	fd = udp_socket();
	v = calloc((size_t)n, sizeof(*v));
	if (fd < 0 || !v) {
		perror("ping_all");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		v[i].addr.sin_family = AF_INET;
		v[i].addr.sin_port = htons(PORT);
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
