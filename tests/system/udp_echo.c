/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures round trips. Unlike ping, this program does not depend on the traffic of other network namespaces
 * (doc/platform/icmp-shared.c).
 *
 *	udp_echo serve PORT			send each datagram back; prints "ready", and runs until a signal ends it
 *	udp_echo ask ADDRESS PORT COUNT MS	send COUNT datagrams, one each MS ms, until SIGINT
 *
 * ask prints "seq=N time=T ms" for each answer. After the last datagram it waits at most 2 s for missing answers. Then it
 * prints a summary like that of ping(8). Exit status: 0 if there were answers, 1 if there were none, 2 for wrong usage or an error.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000ll
#define LINGER (2000 * NS_PER_MS)

struct probe {
	uint64_t number;
	int64_t sent_at;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 * NS_PER_MS + t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "udp_echo: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* Return a socket that is connected to @address, or, if @address is NULL, bound to the port. */
static int open_socket(const char *address, const char *port)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_family = address ? AF_UNSPEC : AF_INET6, /* an IPv6 socket receives IPv4, too */
		.ai_socktype = SOCK_DGRAM,
	};
	struct addrinfo *a;
	int s, err = getaddrinfo(address, port, &hints, &a);

	if (err) {
		fprintf(stderr, "udp_echo: %s port %s: %s\n", address ? address : "any", port,
			gai_strerror(err));
		exit(2);
	}
	s = socket(a->ai_family, SOCK_DGRAM, 0);
	if (s < 0 || (address ? connect : bind)(s, a->ai_addr, a->ai_addrlen))
		fail(address ? address : port);
	freeaddrinfo(a);
	return s;
}

static void __attribute__((noreturn)) serve(const char *port)
{
	int s = open_socket(NULL, port);

	printf("ready\n");
	fflush(stdout);
	for (;;) {
		struct sockaddr_storage from;
		socklen_t len = sizeof(from);
		char buf[2048];
		ssize_t n = recvfrom(s, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);

		if (n >= 0)
			sendto(s, buf, (size_t)n, 0, (struct sockaddr *)&from, len);
	}
}

struct asker {
	int sock;
	uint64_t sent, received;
	int64_t least, most, sum;
};

/* If send() fails, the datagram counts as lost. The error can come from an ICMP message about an earlier datagram. */
static void send_probe(struct asker *a)
{
	struct probe p = { .number = ++a->sent, .sent_at = now() };

	if (send(a->sock, &p, sizeof(p), 0) < 0)
		printf("seq=%llu not sent: %s\n", (unsigned long long)p.number, strerror(errno));
}

static void receive(struct asker *a)
{
	struct probe p;
	int64_t rtt;

	if (recv(a->sock, &p, sizeof(p), MSG_DONTWAIT) != sizeof(p))
		return;
	rtt = now() - p.sent_at;
	printf("seq=%llu time=%.3f ms\n", (unsigned long long)p.number, (double)rtt / NS_PER_MS);
	if (!a->received++ || rtt < a->least)
		a->least = rtt;
	if (rtt > a->most)
		a->most = rtt;
	a->sum += rtt;
}

static void receive_until(struct asker *a, int64_t end, bool all)
{
	struct pollfd p = { .fd = a->sock, .events = POLLIN };

	for (int64_t left; (left = end - now()) > 0 && !(all && a->received >= a->sent);) {
		struct timespec t = { .tv_sec = left / (1000 * NS_PER_MS),
				      .tv_nsec = left % (1000 * NS_PER_MS) };

		if (ppoll(&p, 1, &t, NULL) > 0)
			receive(a);
		else if (interrupted && !all)
			return;
	}
}

static int ask(struct asker *a, uint64_t count, int64_t interval)
{
	struct sigaction act = { .sa_handler = on_interrupt };

	sigaction(SIGINT, &act, NULL);
	for (int64_t next = now(); a->sent < count && !interrupted; next += interval) {
		send_probe(a);
		receive_until(a, next + interval, false);
	}
	receive_until(a, now() + LINGER, true);
	printf("%llu packets transmitted, %llu received\n", (unsigned long long)a->sent,
	       (unsigned long long)a->received);
	if (!a->received)
		return 1;
	printf("rtt min/avg/max = %.3f/%.3f/%.3f ms\n", (double)a->least / NS_PER_MS,
	       (double)a->sum / (double)a->received / NS_PER_MS, (double)a->most / NS_PER_MS);
	return 0;
}

int main(int argc, char **argv)
{
	struct asker a = { 0 };

	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	if (argc != 6 || strcmp(argv[1], "ask") || strtoll(argv[5], NULL, 10) <= 0) {
		fprintf(stderr,
			"usage: udp_echo serve PORT | udp_echo ask ADDRESS PORT COUNT MS\n");
		return 2;
	}
	a.sock = open_socket(argv[2], argv[3]);
	return ask(&a, strtoull(argv[4], NULL, 10), strtoll(argv[5], NULL, 10) * NS_PER_MS);
}
