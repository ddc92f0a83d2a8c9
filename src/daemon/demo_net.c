/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/demo_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "util/be.h"

#define MCAST_GROUP "239.17.4.1"
#define MCAST_PORT 17041
#define MCAST_SENT 3
#define TCP_PORT 17042

static void *shared(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int enter(const struct demo_host *h)
{
	if (h->user_fd >= 0 && setns(h->user_fd, CLONE_NEWUSER) < 0)
		return -errno;
	return setns(h->net_fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

/* A child in host @i that runs @fn and exits with 0 or the errno it returned. */
static pid_t spawn(const struct demo_net *d, unsigned int i,
		   int (*fn)(const struct demo_net *d, unsigned int i, void *arg), void *arg)
{
	pid_t parent = getpid(), pid = fork();
	int status;

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	status = enter(&d->host[i]);
	if (!status)
		status = fn(d, i, arg);
	_exit(-status & 0xff);
}

static int join_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -ECHILD;
	return -WEXITSTATUS(status);
}

/* --- pings */

struct ping_result {
	ns_t rtt;
	ns_t sent;
	bool answered;
};

struct ping_job {
	bool ipv6;
	int patience_ms;
	unsigned int n;
	struct ping_result *r; /* [n * n], shared */
};

struct echo {
	uint8_t type, code;
	uint16_t csum, id, seq;
	uint64_t stamp;
};

static uint16_t icmp_csum(const void *p, size_t len)
{
	const uint8_t *b = p;
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? (uint32_t)b[i] << 8 : b[i];
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

/* Sequence number of a reply to us, -1: something else */
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

static void take_replies(int s, struct ping_job *j, unsigned int i, unsigned int *left, int wait_ms)
{
	struct pollfd p = { .fd = s, .events = POLLIN };
	int seq;

	if (poll(&p, 1, wait_ms) <= 0)
		return;
	while ((seq = recv_echo(s, j->ipv6, i + 1)) != -2) {
		struct ping_result *r;

		if (seq < 0 || (unsigned int)seq >= j->n)
			continue;
		r = &j->r[i * j->n + (unsigned int)seq];
		if (r->answered)
			continue;
		r->answered = true;
		r->rtt = loop_clock() - r->sent;
		--*left;
	}
}

/* One host pings all others, again every 200 ms, until all have answered. */
static int ping_child(const struct demo_net *d, unsigned int i, void *arg)
{
	struct ping_job *j = arg;
	ns_t until = loop_clock() + NS_MSEC(j->patience_ms);
	unsigned int left = j->n - 1;
	int s = icmp_socket(j->ipv6);

	if (s < 0)
		return s;
	while (left && loop_clock() < until) {
		ns_t round = loop_clock();

		for (unsigned int k = 0; k < j->n; k++) {
			struct ping_result *r = &j->r[i * j->n + k];

			if (k == i || r->answered)
				continue;
			r->sent = loop_clock();
			send_echo(s, &d->host[k], d->host[i].ifname, j->ipv6, i + 1, k);
			take_replies(s, j, i, &left, 0);
		}
		while (left && loop_clock() < round + NS_MSEC(200))
			take_replies(s, j, i, &left, 20);
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	ns_t x = *(const ns_t *)a, y = *(const ns_t *)b;

	return x < y ? -1 : x > y;
}

static double median_rtt(const struct ping_job *j)
{
	ns_t *v = calloc((size_t)j->n * j->n + 1, sizeof(*v));
	double us = 0;
	size_t n = 0;

	for (size_t i = 0; v && i < (size_t)j->n * j->n; i++)
		if (j->r[i].answered)
			v[n++] = j->r[i].rtt;
	if (n) {
		qsort(v, n, sizeof(*v), by_value);
		us = (double)v[(size_t)(n / 2)] / 1e3; /* of an even number the upper */
	}
	free(v);
	return us;
}

static int ping_round(const struct demo_net *d, struct ping_job *j)
{
	pid_t *pid = calloc(d->n, sizeof(*pid));
	int status = pid ? 0 : -ENOMEM;

	for (unsigned int i = 0; pid && i < d->n; i++)
		pid[i] = spawn(d, i, ping_child, j);
	for (unsigned int i = 0; pid && i < d->n; i++) {
		int one = pid[i] < 0 ? (int)pid[i] : join_child(pid[i]);

		if (one && !status)
			status = one;
	}
	free(pid);
	return status;
}

int demo_ping_all(const struct demo_net *d, bool ipv6, int patience_ms, struct demo_pings *ret)
{
	size_t size = (size_t)d->n * d->n * sizeof(struct ping_result);
	struct ping_job j = {
		.ipv6 = ipv6, .patience_ms = patience_ms, .n = d->n, .r = shared(size)
	};
	ns_t start = loop_clock();
	int status;

	if (!j.r)
		return -ENOMEM;
	status = ping_round(d, &j);
	*ret = (struct demo_pings){ .sent = d->n * (d->n - 1),
				    .took_ms = (double)(loop_clock() - start) / 1e6 };
	for (size_t i = 0; i < (size_t)d->n * d->n; i++)
		ret->answered += j.r[i].answered;
	ret->median_us = median_rtt(&j);
	munmap(j.r, size);
	return status;
}

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
	pid_t pid = spawn(d, from, df_child, &j);

	return pid < 0 ? (int)pid : join_child(pid);
}

/* --- multicast */

struct mcast_job {
	unsigned int members;
	bool *ready; /* [n], shared */
	unsigned int *got; /* [n], shared */
};

static int mcast_receiver(const struct demo_net *d, unsigned int i, void *arg)
{
	struct mcast_job *j = arg;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(MCAST_PORT) };
	struct ip_mreqn m = { .imr_ifindex = (int)if_nametoindex(d->host[i].ifname) };
	struct pollfd p = { .events = POLLIN };
	ns_t until = loop_clock() + NS_MSEC(2500);
	char b[64];

	p.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET, MCAST_GROUP, &m.imr_multiaddr);
	if (p.fd < 0 || bind(p.fd, (void *)&a, sizeof(a)) < 0)
		return -errno;
	if (i < j->members && setsockopt(p.fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)) < 0)
		return -errno;
	j->ready[i] = true;
	while (loop_clock() < until && poll(&p, 1, 50) >= 0)
		if ((p.revents & POLLIN) && recv(p.fd, b, sizeof(b), MSG_DONTWAIT) > 0)
			j->got[i]++;
	return 0;
}

static bool all_ready(const struct mcast_job *j, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (!((volatile bool *)j->ready)[i])
			return false;
	return true;
}

static int mcast_sender(const struct demo_net *d, unsigned int i, void *arg)
{
	struct mcast_job *j = arg;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(MCAST_PORT) };
	struct ip_mreqn m = { .imr_ifindex = (int)if_nametoindex(d->host[i].ifname) };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, MCAST_GROUP, &a.sin_addr);
	if (s < 0 || setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof(m)) < 0)
		return -errno;
	for (int t = 0; t < 100 && !all_ready(j, d->n - 1); t++)
		poll(NULL, 0, 10);
	poll(NULL, 0, 300); /* the joins go to the SA and into the switches */
	for (int k = 0; k < MCAST_SENT; k++)
		if (sendto(s, "multicast", 9, 0, (void *)&a, sizeof(a)) < 0)
			return -errno;
	return 0;
}

int demo_mcast(const struct demo_net *d, unsigned int members, struct demo_mcast *ret)
{
	size_t size = d->n * (sizeof(bool) + sizeof(unsigned int)) + 64;
	char *mem = shared(size);
	struct mcast_job j = { .members = members };
	pid_t *pid = calloc(d->n, sizeof(*pid));
	int status = mem && pid ? 0 : -ENOMEM;

	if (!status) {
		j.got = (unsigned int *)mem;
		j.ready = (bool *)(mem + d->n * sizeof(unsigned int));
		for (unsigned int i = 0; i < d->n; i++)
			pid[i] = spawn(d, i, i + 1 < d->n ? mcast_receiver : mcast_sender, &j);
		for (unsigned int i = 0; i < d->n; i++) {
			int one = pid[i] < 0 ? (int)pid[i] : join_child(pid[i]);

			if (one && !status)
				status = one;
		}
		*ret = (struct demo_mcast){ .members = members,
					    .others = d->n - 1 - members,
					    .sent = MCAST_SENT };
		for (unsigned int i = 0; i + 1 < d->n; i++)
			*(i < members ? &ret->got : &ret->leaked) += j.got[i];
	}
	free(pid);
	if (mem)
		munmap(mem, size);
	return status;
}

/* --- a TCP flow */

struct flow_mem {
	uint64_t octets;
	ns_t last; /* when something was received last */
	ns_t silence; /* the longest pause since it was taken */
	bool listening;
};

struct demo_flow {
	struct flow_mem *m; /* shared; written by the receiver */
	pid_t rx, tx;
	unsigned int to;
};

static int flow_rx(const struct demo_net *d, unsigned int i, void *arg)
{
	struct demo_flow *f = arg;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(TCP_PORT) };
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, s;
	char *b = malloc(1 << 20);

	(void)d;
	(void)i;
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!b || l < 0 || bind(l, (void *)&a, sizeof(a)) < 0 || listen(l, 1) < 0)
		return -errno;
	__atomic_store_n(&f->m->listening, true, __ATOMIC_RELEASE);
	s = accept(l, NULL, NULL);
	if (s < 0)
		return -errno;
	for (;;) {
		ssize_t n = recv(s, b, 1 << 20, 0);
		ns_t now = loop_clock();

		if (n <= 0)
			return 0;
		if (f->m->last && now - f->m->last > f->m->silence)
			__atomic_store_n(&f->m->silence, now - f->m->last, __ATOMIC_RELAXED);
		f->m->last = now;
		__atomic_add_fetch(&f->m->octets, (uint64_t)n, __ATOMIC_RELAXED);
	}
}

static int flow_tx(const struct demo_net *d, unsigned int i, void *arg)
{
	struct demo_flow *f = arg;
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(TCP_PORT),
				 .sin_addr = d->host[f->to].ip4 };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char *b = calloc(1, 256 * 1024);

	(void)i;
	setsockopt(s, IPPROTO_TCP, 13 /* TCP_CONGESTION */, "cubic", 5);
	if (!b || s < 0 || connect(s, (void *)&a, sizeof(a)) < 0)
		return -errno;
	while (send(s, b, 256 * 1024, MSG_NOSIGNAL) > 0)
		;
	return 0;
}

int demo_flow_start(const struct demo_net *d, unsigned int from, unsigned int to,
		    struct demo_flow **ret)
{
	struct demo_flow *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->to = to;
	f->m = shared(sizeof(*f->m));
	if (!f->m) {
		free(f);
		return -ENOMEM;
	}
	f->rx = spawn(d, to, flow_rx, f);
	for (int t = 0; t < 200 && !__atomic_load_n(&f->m->listening, __ATOMIC_ACQUIRE); t++)
		poll(NULL, 0, 5);
	f->tx = spawn(d, from, flow_tx, f);
	*ret = f;
	return 0;
}

uint64_t demo_flow_octets(const struct demo_flow *f)
{
	return __atomic_load_n(&f->m->octets, __ATOMIC_RELAXED);
}

double demo_flow_silence(struct demo_flow *f)
{
	return (double)__atomic_exchange_n(&f->m->silence, 0, __ATOMIC_RELAXED) / 1e6;
}

bool demo_flow_alive(const struct demo_flow *f, int ms)
{
	uint64_t before = demo_flow_octets(f);

	for (; ms > 0; ms -= 10) {
		if (demo_flow_octets(f) != before)
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

void demo_flow_stop(struct demo_flow *f)
{
	pid_t pids[] = { f->tx, f->rx };

	for (int i = 0; i < 2; i++) {
		if (pids[i] <= 0)
			continue;
		kill(pids[i], SIGKILL);
		join_child(pids[i]);
	}
	munmap(f->m, sizeof(*f->m));
	free(f);
}
