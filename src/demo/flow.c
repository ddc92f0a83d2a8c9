/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "demo/child.h"
#include "os/clock.h"

#define TCP_PORT 17042

struct flow_mem {
	uint64_t octets;
	ns_t last; /* time at which octets were received last */
	ns_t silence; /* longest time without new octets since the last call of demo_flow_silence() */
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
	static char b[1 << 20]; /* received octets, which nobody reads */

	(void)d;
	(void)i;
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (l < 0 || bind(l, (void *)&a, sizeof(a)) < 0 || listen(l, 1) < 0)
		return -errno;
	__atomic_store_n(&f->m->listening, true, __ATOMIC_RELEASE);
	s = accept(l, NULL, NULL);
	if (s < 0)
		return -errno;
	for (;;) {
		ssize_t n = recv(s, b, sizeof(b), 0);
		ns_t now = clock_now();

		if (n <= 0)
			return 0;
		if (f->m->last && now - f->m->last > f->m->silence)
			__atomic_store_n(&f->m->silence, now - f->m->last, __ATOMIC_RELAXED);
		__atomic_store_n(&f->m->last, now, __ATOMIC_RELAXED);
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
	static char b[256 * 1024]; /* zeros, which are sent */

	(void)i;
	/* Do not use the system's default, so that figures of different machines can be compared. */
	setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
	if (s < 0 || connect(s, (void *)&a, sizeof(a)) < 0)
		return -errno;
	while (send(s, b, sizeof(b), MSG_NOSIGNAL) > 0)
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
	f->m = demo_child_mem(sizeof(*f->m));
	if (!f->m) {
		free(f);
		return -ENOMEM;
	}
	f->rx = demo_child_spawn(d, to, flow_rx, f);
	for (int t = 0; t < 200 && !__atomic_load_n(&f->m->listening, __ATOMIC_ACQUIRE) &&
			!demo_child_killed();
	     t++)
		poll(NULL, 0, 5);
	f->tx = demo_child_spawn(d, from, flow_tx, f);
	*ret = f;
	return 0;
}

uint64_t demo_flow_octets(const struct demo_flow *f)
{
	return __atomic_load_n(&f->m->octets, __ATOMIC_RELAXED);
}

double demo_flow_silence(struct demo_flow *f)
{
	ns_t longest = __atomic_exchange_n(&f->m->silence, 0, __ATOMIC_RELAXED);
	ns_t last = __atomic_load_n(&f->m->last, __ATOMIC_RELAXED), now = clock_now();

	if (last && now > last + longest)
		longest = now - last;
	return (double)longest / 1e6;
}

bool demo_flow_alive(const struct demo_flow *f, int ms)
{
	uint64_t before = demo_flow_octets(f);

	for (; ms > 0 && !demo_child_killed(); ms -= 10) {
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
		demo_child_join(pids[i]);
	}
	munmap(f->m, sizeof(*f->m));
	free(f);
}
