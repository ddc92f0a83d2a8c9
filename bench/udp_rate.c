/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Sends and receives UDP datagrams as fast as one process can, with as little work of its own as
 * possible:
 *
 *	udp_rate send ADDRESS PORT OCTETS SECONDS
 *		one send() for each datagram; prints "SENT"
 *	udp_rate receive PORT recv|gro
 *		recv: one recv() for each datagram. gro: the socket has UDP_GRO, so one recvmsg()
 *		takes all datagrams that the kernel got as one super-frame. Prints "ready" when the
 *		socket is bound, and, when no datagram has come for 0.3 s, "RECEIVED SECONDS": the
 *		number of datagrams, and the time from the first to the last one
 *
 * Addresses are IPv4. The exit status is 1 after an error, or if nothing comes in 10 s.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define OCTETS_MAX 65507 /* payload of the longest datagram of IPv4 */
#define BURST 64 /* datagrams between two looks at the clock */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int fail(const char *what)
{
	fprintf(stderr, "udp_rate: %s: %s\n", what, strerror(errno));
	return 1;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: udp_rate send ADDRESS PORT OCTETS SECONDS | receive PORT recv|gro\n");
	return 2;
}

static int send_all(const struct sockaddr_in *to, size_t octets, double seconds)
{
	static const char data[OCTETS_MAX];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	double end = now() + seconds;
	unsigned long sent = 0;

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		return fail("connect");
	do
		for (unsigned int i = 0; i < BURST; i++)
			sent += send(fd, data, octets, 0) == (ssize_t)octets;
	while (now() < end);
	printf("%lu\n", sent);
	return 0;
}

/* Receives what one call gives. Return: number of datagrams; 0: none came in time; -1: error */
static long receive(int fd, bool gro)
{
	static char data[OCTETS_MAX + 1];
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = { data, sizeof(data) };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = gro ? control : NULL,
		.msg_controllen = gro ? sizeof(control) : 0,
	};
	ssize_t n = gro ? recvmsg(fd, &m, 0) : recv(fd, data, sizeof(data), 0);
	struct cmsghdr *c = gro && n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
	int size = (int)n;

	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	if (c && c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO)
		memcpy(&size, CMSG_DATA(c), sizeof(size));
	return size > 0 ? (n + size - 1) / size : 1;
}

static int set_timeout(int fd, time_t seconds, suseconds_t usecs)
{
	struct timeval t = { seconds, usecs };

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

static int receive_all(const struct sockaddr_in *at, bool gro)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = gro;
	double first, last;
	long n, received;

	if (fd < 0 || bind(fd, (const struct sockaddr *)at, sizeof(*at)))
		return fail("bind");
	if (gro && setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on)))
		return fail("UDP_GRO");
	puts("ready");
	fflush(stdout);
	if (set_timeout(fd, 10, 0) || (received = receive(fd, gro)) <= 0)
		return fail("no datagram");
	first = last = now();
	set_timeout(fd, 0, 300000);
	while ((n = receive(fd, gro)) > 0) {
		received += n;
		last = now();
	}
	if (n < 0)
		return fail("receive");
	printf("%ld %.6f\n", received, last - first);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	if (argc == 6 && !strcmp(argv[1], "send") &&
	    inet_pton(AF_INET, argv[2], &a.sin_addr) == 1 &&
	    strtoul(argv[4], NULL, 10) <= OCTETS_MAX) {
		a.sin_port = htons((uint16_t)strtoul(argv[3], NULL, 10));
		return send_all(&a, strtoul(argv[4], NULL, 10), strtod(argv[5], NULL));
	}
	if (argc == 4 && !strcmp(argv[1], "receive") &&
	    (!strcmp(argv[3], "recv") || !strcmp(argv[3], "gro"))) {
		a.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
		return receive_all(&a, argv[3][0] == 'g');
	}
	return usage();
}
