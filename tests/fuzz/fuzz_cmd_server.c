/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ctl/priv.h"
#include "inst/fab.h"
#include "fabric/fault.h"

/*
 * A client of the control socket sends any octets to an instance that has a small fabric. The first
 * octet of the input decides the sizes of the pieces in which the client sends. When the client has
 * closed its connection, the server must be idle and have no clients.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct inst in;
static struct ctl ctl;
static ns_t now = NS_SEC(1000);

static void start(void)
{
	const struct conf_fabric cfg = { .name = "lab", .sm_embedded = true };
	char err[INST_ERR_MAX];
	struct topo *t;

	if (in.pool)
		return;
	t = topo_gen_demo(2, 1);
	inst_init(&in, &(struct inst_cfg){ 0 });
	ifc_set_init(&in.ifcs, &in.loop.timers, NULL, NULL);
	in.pool = pkt_pool_create(1024, 4);
	if (loop_init(&in.loop) || !in.pool || !t)
		abort();
	in.loop.now = now;
	if (fab_add(&in, &cfg, t, err))
		abort();
	topo_free(t);
	ctl_init(&ctl, &in, cmd_tables);
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
		if (!inst_work(&in, now) && !n)
			return;
	}
	abort(); /* the loop does not become idle */
}

static void drain(int fd)
{
	static char buf[65536];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		spin();
}

/*
 * Returns true for inputs that may contain the command "capture start", which would write to a file
 * that the input names. The command's name is visible in the input unless the input escapes
 * characters of it, so inputs with escapes count, too.
 */
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
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) ||
	    ctl_client_add(&ctl.control, s[0]))
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
	if (ctl.control.nclients || !list_empty(&in.watches) || in.fab[0]->traced)
		abort();
	return 0;
}
