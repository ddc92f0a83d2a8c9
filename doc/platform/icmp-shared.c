/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The kernel answers the pings of all namespaces by one socket for each CPU (since Linux 5.18,
 * net/ipv4/icmp.c). Answers to a neighbour that is not resolved wait in a queue for up to 3 s, and
 * their memory counts for that socket. So if a neighbour of one namespace is silent, the socket can
 * be out of memory, and the kernel then answers no ping in any namespace. Each CPU has its own
 * socket, so this program stays on one CPU.
 */

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>

#include "platform.h"

struct echo {
	unsigned char dst[6], src[6];
	unsigned short type;
	struct iphdr ip;
	struct icmphdr icmp;
	char data[1400];
} __attribute__((packed));

static unsigned short sum(const void *data, size_t len)
{
	unsigned int s = 0;

	for (size_t i = 0; i < len; i += 2) {
		unsigned short v;

		memcpy(&v, (const char *)data + i, 2);
		s += v;
	}
	s = (s >> 16) + (s & 0xffff);
	return (unsigned short)~(s + (s >> 16));
}

/* Send a ping to this namespace's 127.0.0.1, and tell whether the kernel answers it. */
static bool answered(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct icmphdr req = { .type = ICMP_ECHO }, *icmp;
	int s = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	struct pollfd p = { .fd = s, .events = POLLIN };
	unsigned char buf[256];
	bool ok = false;

	req.checksum = sum(&req, sizeof(req));
	if (sendto(s, &req, sizeof(req), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		lacks("a raw socket");
	while (!ok && poll(&p, 1, 200) > 0 && recv(s, buf, sizeof(buf), 0) > 0) {
		icmp = (struct icmphdr *)(buf + (buf[0] & 15) * 4);
		ok = icmp->type == ICMP_ECHOREPLY;
	}
	close(s);
	return ok;
}

static void set_address(const char *name, const char *address)
{
	struct ifreq ifr = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&ifr.ifr_addr;
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(ifr.ifr_name, name);
	in->sin_family = AF_INET;
	inet_pton(AF_INET, address, &in->sin_addr);
	if (ioctl(s, SIOCSIFADDR, &ifr))
		perror("SIOCSIFADDR");
	close(s);
}

/* Give the TAP's namespace @n pings from 10.0.0.2, which never answers ARP. */
static void ping_from_nobody(int fd, int n)
{
	struct echo e = {
		.src = { 2, 0, 0, 0, 0, 2 },
		.type = htons(0x0800),
		.ip = { .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_ICMP },
		.icmp.type = ICMP_ECHO,
	};
	struct ifreq ifr = { .ifr_name = "t0" };
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	ioctl(s, SIOCGIFHWADDR, &ifr);
	close(s);
	memcpy(e.dst, ifr.ifr_hwaddr.sa_data, 6);
	e.ip.tot_len = htons(sizeof(e) - 14);
	inet_pton(AF_INET, "10.0.0.2", &e.ip.saddr);
	inet_pton(AF_INET, "10.0.0.1", &e.ip.daddr);
	e.ip.check = sum(&e.ip, sizeof(e.ip));
	e.icmp.checksum = sum(&e.icmp, sizeof(e.icmp) + sizeof(e.data));
	for (int i = 0; i < n; i++)
		if (write(fd, &e, sizeof(e)) != sizeof(e))
			perror("write");
}

int main(void)
{
	cpu_set_t one;
	int fd, other;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		lacks("sched_setaffinity");
	go_new();
	set_up("lo");
	other = here();
	fact(answered(), "a namespace answers pings");
	go_new();
	fd = tap(0);
	set_address("t0", "10.0.0.1");
	set_up("t0");
	ping_from_nobody(fd, 300);
	go(other);
	fact(!answered(), "it does not while answers of another namespace wait for a neighbour");
	close(fd);
	sleep(1);
	fact(answered(), "and does again when those are gone");
	return done();
}
