/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/inst.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "daemon/capfile.h"
#include "daemon/fab.h"
#include "daemon/fab_sm.h"
#include "daemon/host.h"
#include "daemon/iface.h"
#include "daemon/port.h"
#include "daemon/udplink.h"

#define SETTLE_ROUNDS 64 /* of packets and actions before files are looked at again */
#define SETTLE_TIME NS_MSEC(10) /* as well: a round may be a slice of a sweep's work */
#define LEAVE_TIME NS_MSEC(500) /* how long a clean stop waits for the SA */

/* --- the loop's work */

static void refresh_ports(struct inst *in, ns_t now)
{
	struct inst_port *p;

	in->ports_dirty = false;
	list_for_each (p, &in->ports, link)
		if (p->dirty)
			port_refresh(p, now);
}

/* Packets that arrived become frames; those that keep coming go to the end of the queue. */
static void receive(struct inst *in, ns_t now)
{
	struct list batch = LIST_INIT(batch);
	struct inst_qp *q, *tmp;

	list_for_each_safe (q, tmp, &in->rx_ready, rx_link) {
		list_del(&q->rx_link);
		list_add_tail(&batch, &q->rx_link);
	}
	list_for_each_safe (q, tmp, &batch, rx_link) {
		list_del(&q->rx_link);
		if (iface_rx(q, now))
			iface_rx_ready(q);
	}
}

/* True if anything moved: MADs among it may have queued actions. */
static bool run_fabrics(struct inst *in, ns_t now)
{
	bool moved = false;

	for (unsigned int k = 0; k < in->nfabs; k++) {
		struct fabric *f = in->fab[k]->fabric;
		uint64_t before = fabric_stats(f)->hops;

		moved |= fabric_run(f, now) || fabric_stats(f)->hops != before;
	}
	return moved;
}

void inst_watch(struct inst *in, struct inst_watch *w)
{
	list_add_tail(&in->watches, &w->link);
}

void inst_unwatch(struct inst_watch *w)
{
	if (w->link.next)
		list_del(&w->link);
}

void inst_port_event(struct inst_port *p, enum ca_event ev, ns_t now)
{
	struct inst_watch *w;

	list_for_each (w, &p->inst->watches, link)
		if (w->port)
			w->port(w, p, ev, now);
}

static void sm_event(struct inst_sm *m, bool comes)
{
	struct inst_watch *w;

	list_for_each (w, &m->fab->inst->watches, link)
		if (w->sm)
			w->sm(w, m, comes);
}

void inst_sm_came(struct inst_sm *m)
{
	sm_event(m, true);
}

void inst_sm_goes(struct inst_sm *m)
{
	sm_event(m, false);
}

static void tell_watches(struct inst *in, ns_t now)
{
	struct inst_watch *w, *tmp;

	list_for_each_safe (w, tmp, &in->watches, link)
		w->fn(w, now);
}

bool inst_settle(void *ctx, ns_t now)
{
	struct inst *in = ctx;
	ns_t end = now + SETTLE_TIME;
	struct inst_iface *i;
	bool more = true;

	for (unsigned int round = 0; more && round < SETTLE_ROUNDS && now < end; round++) {
		/* A sweep is hundreds of rounds: figures and deadlines want the time of each. */
		if (round)
			now = in->loop.now = loop_clock();
		timers_run(&in->loop.timers, now);
		if (in->ports_dirty)
			refresh_ports(in, now);
		receive(in, now);
		list_for_each (i, &in->ifaces, link)
			iface_actions(i, now);
		more = run_fabrics(in, now);
		udplink_flush_all(in, now);
		more |= !list_empty(&in->rx_ready) || in->ports_dirty ||
			timers_next(&in->loop.timers) <= now;
	}
	capfile_flush_all(in);
	tell_watches(in, now);
	return more;
}

/* --- life */

static void on_helper(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst *in = container_of(fd, struct inst, helper_fd);

	(void)now;
	if (!(events & (EPOLLHUP | EPOLLERR)))
		return;
	log_to(&in->cfg.log, LOG_LVL_ERR, "the helper process has ended; stopping");
	loop_unwatch(&in->loop, fd);
	in->broken = true;
	loop_stop(&in->loop);
}

static bool is_environment(enum netdev_refusal refused, int err)
{
	switch (refused) {
	case NETDEV_REFUSED_REQUEST:
		return false;
	case NETDEV_REFUSED_HELPER:
	case NETDEV_REFUSED_TUN:
		return true;
	default: /* else a name that is taken, a namespace that is not there */
		return err == -EPERM || err == -EACCES || err == -EROFS || err == -ENOSPC ||
		       err == -EMFILE || err == -ENFILE || err == -ENODEV || err == -EOPNOTSUPP;
	}
}

int inst_refused(struct inst *in, int status, const char *what, char err[INST_ERR_MAX])
{
	const char *why = netdev_helper_error(in->helper);

	in->env_lacks |= is_environment(netdev_helper_refused(in->helper), status);
	snprintf(err, INST_ERR_MAX, "%s: %s", what, *why ? why : strerror(-status));
	return status;
}

static int start(struct inst *in, char err[INST_ERR_MAX])
{
	struct timespec ts;
	int status = netdev_helper_start(0, &in->helper);

	if (status) {
		snprintf(err, INST_ERR_MAX, "cannot make network namespaces: %s%s",
			 strerror(-status),
			 status == -EPERM || status == -EUSERS || status == -ENOSPC
				 ? " (user namespaces are not permitted here; run as root)"
				 : "");
		return status;
	}
	status = loop_init(&in->loop);
	if (status) {
		snprintf(err, INST_ERR_MAX, "epoll: %s", strerror(-status));
		return status;
	}
	in->pool = pkt_pool_create(INST_PKTS, INST_BUFS);
	if (!in->pool) {
		snprintf(err, INST_ERR_MAX, "out of memory");
		return -ENOMEM;
	}
	tap_rx_init(&in->tap_rx, in->pool);
	in->loop.settle = inst_settle;
	in->loop.ctx = in;
	in->started = in->loop.now;
	clock_gettime(CLOCK_REALTIME, &ts);
	in->unix_epoch = NS_SEC(ts.tv_sec) + (ns_t)ts.tv_nsec - in->started;
	return loop_watch(&in->loop, &in->helper_fd, netdev_helper_fd(in->helper), 0, on_helper);
}

int inst_create(struct inst **ret, const struct inst_cfg *cfg, char err[INST_ERR_MAX])
{
	struct inst *in = calloc(1, sizeof(*in));
	int status;

	if (!in) {
		snprintf(err, INST_ERR_MAX, "out of memory");
		return -ENOMEM;
	}
	in->cfg = *cfg;
	in->loop.epfd = -1;
	list_init(&in->ports);
	list_init(&in->udps);
	list_init(&in->hosts);
	list_init(&in->ifaces);
	list_init(&in->rx_ready);
	list_init(&in->watches);
	status = start(in, err);
	if (status) {
		inst_destroy(in);
		return status;
	}
	*ret = in;
	return 0;
}

static bool all_idle(const struct inst *in)
{
	struct inst_port *p;

	list_for_each (p, &in->ports, link)
		if (!sac_idle(p->sac))
			return false;
	return true;
}

/* Leave groups and subscriptions as a good citizen does; a dead SA delays that by LEAVE_TIME. */
static void leave(struct inst *in)
{
	ns_t until = in->loop.now + LEAVE_TIME;
	struct inst_iface *i;
	struct inst_port *p;
	struct inst_host *h;
	bool busy = true;

	/* The kernel's interfaces are up until they are gone: that does not count any more. */
	list_for_each (h, &in->hosts, link)
		loop_unwatch(&in->loop, &h->events);
	list_for_each (i, &in->ifaces, link)
		iface_shutdown(i, in->loop.now);
	list_for_each (p, &in->ports, link)
		sac_shutdown(p->sac, in->loop.now);
	/* With files: the subnet manager may be in another process. */
	while (!all_idle(in) && in->loop.now < until)
		if (loop_turn(&in->loop, &busy, until))
			break;
}

void inst_destroy(struct inst *in)
{
	struct inst_iface *i, *itmp;
	struct inst_port *p, *ptmp;
	struct inst_host *h, *htmp;

	if (!in)
		return;
	if (in->pool)
		leave(in);
	list_for_each_safe (i, itmp, &in->ifaces, link)
		iface_destroy(i);
	list_for_each_safe (p, ptmp, &in->ports, link)
		port_close(p);
	udplink_close_all(in);
	for (unsigned int k = 0; k < in->nfabs; k++)
		fab_destroy(in->fab[k]);
	free(in->fab);
	in->nfabs = 0;
	list_for_each_safe (h, htmp, &in->hosts, link)
		host_close(h);
	if (in->helper)
		loop_unwatch(&in->loop, &in->helper_fd);
	netdev_helper_stop(in->helper);
	if (in->signal_fd.fn) {
		int fd = in->signal_fd.fd;

		loop_unwatch(&in->loop, &in->signal_fd);
		close(fd);
	}
	if (in->pool)
		tap_rx_fini(&in->tap_rx);
	pkt_pool_destroy(in->pool);
	loop_fini(&in->loop);
	free(in);
}

static int load_fabric(struct inst *in, const struct conf_fabric *f, const struct topo *topo,
		       char err[INST_ERR_MAX])
{
	struct fab_cfg fc = {
		.name = f->name,
		.topology_file = topo ? NULL : f->topology,
		.crc = f->crc,
		.mtu = f->mtu,
		.sm_embedded = f->sm_embedded,
		.sm_node = *f->sm_node ? f->sm_node : NULL,
		.sm_port = f->sm_port,
		.sm_key_given = f->sm_key_given,
		.sm_key = f->sm_key,
		.mkey = f->mkey,
		.partitions_file = f->partitions,
		.ibsim = *f->ibsim ? f->ibsim : NULL,
	};
	struct topo *t = NULL;
	int status = topo ? 0 : fab_load_topology(&t, f->topology, err);

	if (!status)
		status = fab_add(in, &fc, topo ? topo : t, err);
	topo_free(t);
	return status;
}

/* After the udp links: it sees what enters by them. */
static int start_capture(struct inst *in, const struct conf_fabric *f, char err[INST_ERR_MAX])
{
	if (!f->capture)
		return 0;
	return capfile_open(inst_fabric_find(in, f->name), f->capture, NULL, NULL, err);
}

int inst_load(struct inst *in, const struct conf *c, const struct topo *topo,
	      char err[INST_ERR_MAX])
{
	int status = 0;

	for (size_t k = 0; !status && k < c->nfabrics; k++)
		status = load_fabric(in, &c->fabric[k], k ? NULL : topo, err);
	for (size_t k = 0; !status && k < c->nudps; k++)
		status = udplink_add(in, &c->udp[k], err);
	for (size_t k = 0; !status && k < c->nfabrics; k++)
		status = start_capture(in, &c->fabric[k], err);
	for (size_t k = 0; !status && k < c->nifaces; k++)
		status = iface_add(in, &c->iface[k], err);
	return status;
}

/* Where the SM is somebody else's business, its absence is what a user must be told. */
static const char *sm_hint(const struct inst_iface *i, enum ipoib_link_state state)
{
	const struct inst_port *p = i->port;

	if (state != IPOIB_LINK_WAIT_PORT || !list_empty(&p->fab->sms))
		return "";
	switch (fabric_node_node(p->node)->port[p->num].pi.port_state) {
	case IB_PORT_INIT:
		return ", waiting for a subnet manager (sm = external)";
	case IB_PORT_ARMED:
		return ", waiting for the subnet manager to go on";
	default:
		return "";
	}
}

bool inst_up(const struct inst *in, char why[INST_ERR_MAX])
{
	struct inst_iface *i;

	list_for_each (i, &in->ifaces, link) {
		struct ipoib_link_info info;

		if (ipoib_link_is_up(i->ipoib) && i->carrier)
			continue;
		ipoib_link_info(i->ipoib, &info);
		if (why)
			snprintf(why, INST_ERR_MAX, "%s@%s: %s: %s%s", i->name, i->host->name,
				 ipoib_link_state_name(info.state), info.reason,
				 sm_hint(i, info.state));
		return false;
	}
	return true;
}

struct inst_fabric *inst_fabric_find(struct inst *in, const char *name)
{
	for (unsigned int k = 0; k < in->nfabs; k++)
		if (!strcmp(in->fab[k]->name, name))
			return in->fab[k];
	return NULL;
}

struct inst_host *inst_host_find(struct inst *in, const char *name)
{
	struct inst_host *h;

	list_for_each (h, &in->hosts, link)
		if (!strcmp(h->name, name))
			return h;
	return NULL;
}

struct inst_iface *inst_iface_find(struct inst *in, const char *name)
{
	const char *at = strchr(name, '@');
	size_t len = at ? (size_t)(at - name) : strlen(name);
	struct inst_iface *i, *found = NULL;

	list_for_each (i, &in->ifaces, link) {
		if (strlen(i->name) != len || memcmp(i->name, name, len) ||
		    (at && strcmp(i->host->name, at + 1)))
			continue;
		if (found)
			return NULL;
		found = i;
	}
	return found;
}
