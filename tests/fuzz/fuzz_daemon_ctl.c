/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/ctl_priv.h"
#include "daemon/fab.h"
#include "fabric/fault.h"

/*
 * A client of the control socket that says anything, on an instance with a small fabric. The first
 * octet says in what pieces; whatever comes of it, the server is at rest and empty afterwards.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct inst in;
static struct ctl ctl;
static ns_t now = NS_SEC(1000);

static void start(void)
{
	const struct fab_cfg cfg = { .name = "lab", .sm_embedded = true };
	char err[INST_ERR_MAX];
	struct topo *t;

	if (in.pool)
		return;
	t = topo_gen_demo(2, 1);
	list_init(&in.ports);
	list_init(&in.hosts);
	list_init(&in.ifaces);
	list_init(&in.rx_ready);
	list_init(&in.watches);
	list_init(&in.udps);
	in.pool = pkt_pool_create(1024, 4);
	if (loop_init(&in.loop) || !in.pool || !t)
		abort();
	in.loop.now = now;
	if (fab_add(&in, &cfg, t, err))
		abort();
	topo_free(t);
	ctl_init(&ctl, &in);
}

static void spin(void)
{
	struct epoll_event ev[8];

	for (int i = 0; i < 1000; i++) {
		int n = epoll_wait(in.loop.epfd, ev, 8, 0);

		for (int k = 0; k < n; k++) {
			struct loop_fd *f = ev[k].data.ptr;

			if (f->fn)
				f->fn(f, ev[k].events, now);
		}
		if (!inst_settle(&in, now) && !n)
			return;
	}
	abort(); /* it does not come to rest */
}

static void drain(int fd)
{
	static char buf[65536];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		spin();
}

/* The one command that writes where it is told to. Without escapes its name is there to be seen. */
static bool writes_files(const uint8_t *data, size_t len)
{
	return memmem(data, len, "capture start", 13) || memchr(data, '\\', len);
}

static void clear_faults(void)
{
	struct fabric *f = in.fab[0]->fabric;
	struct fault_info i;

	while (fabric_fault_next(f, 0, &i))
		fabric_fault_del(f, i.id, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t piece = len ? 1 + (size_t)data[0] * 16 : 1;
	int s[2];

	if (writes_files(data, len))
		return -1;
	start();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) || ctl_client_add(&ctl, s[0]))
		abort();
	for (size_t at = 1; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;

		if (send(s[1], data + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		spin();
		drain(s[1]);
	}
	now += NS_MSEC(100);
	shutdown(s[1], SHUT_WR);
	spin();
	drain(s[1]);
	close(s[1]);
	spin();
	clear_faults();
	if (ctl.nclients || !list_empty(&in.watches) || in.fab[0]->traced)
		abort();
	return 0;
}
