/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends data that contain hashes, so that the receiver notices changes even if all checksums on the way are right.
 *
 *	integrity udp-recv ADDRESS PORT [GROUP]		receive until SIGTERM; prints "ready", "first" after the first
 *							correct datagram, and JSON at the end
 *	integrity udp-send ADDRESS PORT TO COUNT SIZE	send from ADDRESS to TO, without UDP checksums
 *	integrity tcp-recv ADDRESS PORT			accept one connection; prints "ready", and JSON at the end
 *	integrity tcp-send ADDRESS PORT TO OCTETS	send from ADDRESS to TO
 *
 * A UDP datagram consists of its sequence number (8 octets), a hash over this number and the data
 * (8 octets), and the data. IPv4 allows UDP without checksum. udp-send uses this (SO_NO_CHECK), so
 * only the link's own CRCs protect the datagrams. A TCP stream ends with the hash of all its other
 * octets. PACE in the environment is the time between datagrams in seconds (default: 0.0003).
 */
#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HASH_LEN 8
#define HDR_LEN (8 + HASH_LEN)
#define NUMBERS_MAX (1u << 20)
#define LAST_MS 500 /* time without data after which the receiver waits no longer */
#define TCP_TIMEOUT_S 60
#define BUFFER (16 << 20)

static uint8_t buf[65536];

/* FNV-1a of 64 bits, continued from @hash. Each step is one to one, so a single changed octet always changes the hash. */
#define HASH_START 0xcbf29ce484222325ull

static uint64_t hash(uint64_t from, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		from = (from ^ p[i]) * 0x100000001b3ull;
	return from;
}

/* Fill @p by a xorshift of 64 bits with octets that differ from place to place and from datagram to datagram. */
static void fill(uint8_t *p, size_t len, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1;

	for (size_t i = 0; i < len; i++) {
		if (i % 8 == 0) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
		}
		p[i] = (uint8_t)(x >> i % 8 * 8);
	}
}

/* Both ends run on one machine, so the numbers and hashes have its byte order. */
static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static struct sockaddr_in address_of(const char *text, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

	if (inet_pton(AF_INET, text, &a.sin_addr) != 1)
		errx(2, "%s is no IPv4 address", text);
	return a;
}

static int bound(int type, const char *address, const char *port)
{
	struct sockaddr_in a = address_of(address, port);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		err(1, "%s port %s", address, port);
	return fd;
}

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

/* --- UDP */

struct seen {
	unsigned int got, corrupt, different;
	bool number[NUMBERS_MAX];
};

static void take(struct seen *s, size_t len)
{
	uint64_t number = get64(buf);

	s->got++;
	if (len < HDR_LEN || number >= NUMBERS_MAX ||
	    get64(buf + 8) != hash(hash(HASH_START, buf, 8), buf + HDR_LEN, len - HDR_LEN)) {
		s->corrupt++;
		return;
	}
	if (!s->different)
		say("first");
	if (!s->number[number])
		s->different++;
	s->number[number] = true;
}

static void join(int fd, const char *group, const char *address)
{
	struct ip_mreq m = { .imr_multiaddr = address_of(group, "0").sin_addr,
			     .imr_interface = address_of(address, "0").sin_addr };

	if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)) < 0)
		err(1, "joining %s", group);
}

static int udp_recv(char **arg)
{
	static struct seen s;
	const int size = BUFFER;
	int fd = bound(SOCK_DGRAM, arg[2] ? arg[2] : arg[0], arg[1]);
	sigset_t set;
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .events = POLLIN } };

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (arg[2])
		join(fd, arg[2], arg[0]);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p[1].fd = signalfd(-1, &set, SFD_CLOEXEC);
	say("ready");
	/* After SIGTERM read the data that are still in the socket, and the datagrams that are still on their way. */
	while (poll(p, 2, p[1].fd < 0 ? LAST_MS : -1) > 0) {
		ssize_t n = p[0].revents ? recv(fd, buf, sizeof(buf), MSG_DONTWAIT) : -1;

		if (n >= 0)
			take(&s, (size_t)n);
		else if (p[1].revents)
			p[1].fd = -1;
	}
	printf("{\"got\": %u, \"different\": %u, \"corrupt\": %u}\n", s.got, s.different,
	       s.corrupt);
	return 0;
}

static int udp_send(char **arg)
{
	const char *pace = getenv("PACE");
	const struct timespec pause = { .tv_nsec = (long)(1e9 * atof(pace ? pace : "0.0003")) };
	struct sockaddr_in from = address_of(arg[0], "0"), to = address_of(arg[2], arg[1]);
	unsigned long count = strtoul(arg[3], NULL, 10), size = strtoul(arg[4], NULL, 10);
	int fd = bound(SOCK_DGRAM, arg[0], "0"), on = 1;

	if (count > NUMBERS_MAX || size < HDR_LEN || size > sizeof(buf))
		errx(2, "%s datagrams of %s octets", arg[3], arg[4]);
	if (setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &from.sin_addr, sizeof(from.sin_addr)) < 0)
		err(1, "options of a socket");
	for (unsigned long i = 0; i < count; i++) {
		put64(buf, i);
		fill(buf + HDR_LEN, size - HDR_LEN, i);
		put64(buf + 8, hash(hash(HASH_START, buf, 8), buf + HDR_LEN, size - HDR_LEN));
		if (sendto(fd, buf, size, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			err(1, "sending to %s", arg[2]);
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* --- TCP */

static int tcp_recv(char **arg)
{
	int listener = bound(SOCK_STREAM, arg[0], arg[1]), fd;
	uint8_t *data = NULL;
	size_t len = 0;
	ssize_t n;
	bool right;

	if (listen(listener, 1) < 0)
		err(1, "listen");
	say("ready");
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		err(1, "accept");
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		data = realloc(data, len + (size_t)n);
		if (!data)
			err(1, "%zu octets", len);
		memcpy(data + len, buf, (size_t)n);
		len += (size_t)n;
	}
	if (n < 0)
		err(1, "recv");
	right = len >= HASH_LEN &&
		get64(data + len - HASH_LEN) == hash(HASH_START, data, len - HASH_LEN);
	if (send(fd, right ? "y" : "n", 1, MSG_NOSIGNAL) != 1)
		warn("send");
	printf("{\"octets\": %zu, \"right\": %s}\n", len > HASH_LEN ? len - HASH_LEN : 0,
	       right ? "true" : "false");
	free(data);
	return 0;
}

static void send_all(int fd, const uint8_t *data, size_t len)
{
	for (ssize_t n; len; data += n, len -= (size_t)n) {
		n = send(fd, data, len, MSG_NOSIGNAL);
		if (n <= 0)
			err(1, "sending");
	}
}

static int tcp_send(char **arg)
{
	const struct timeval timeout = { .tv_sec = TCP_TIMEOUT_S };
	struct sockaddr_in to = address_of(arg[2], arg[1]);
	int fd = bound(SOCK_STREAM, arg[0], "0");
	size_t len = strtoul(arg[3], NULL, 10);
	uint8_t *data = malloc(len + HASH_LEN);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (!data || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		err(1, "connecting to %s", arg[2]);
	fill(data, len, 2);
	put64(data + len, hash(HASH_START, data, len));
	send_all(fd, data, len + HASH_LEN);
	free(data);
	shutdown(fd, SHUT_WR);
	if (recv(fd, buf, 1, 0) != 1 || buf[0] != 'y')
		errx(1, "the receiver has something else");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **arg);
		int least, most;
	} verb[] = {
		{ "udp-recv", udp_recv, 2, 3 },
		{ "udp-send", udp_send, 5, 5 },
		{ "tcp-recv", tcp_recv, 2, 2 },
		{ "tcp-send", tcp_send, 4, 4 },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(verb) / sizeof(verb[0]); i++)
		if (!strcmp(argv[1], verb[i].name) && argc - 2 >= verb[i].least &&
		    argc - 2 <= verb[i].most)
			return verb[i].run(argv + 2);
	fputs("usage: see the comment of integrity.c\n", stderr);
	return 2;
}
