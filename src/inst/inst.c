/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/inst.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "conf/topology.h"
#include "inst/by_pkey.h"
#include "inst/fab.h"
#include "inst/fab_sm.h"
#include "inst/host.h"
#include "inst/host_follow.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "inst/udplink.h"
#include "os/clock.h"
#include "util/text.h"

/*
 * Number of rounds of one inst_work() in which TAPs are read. They are not read again until the
 * loop has checked its descriptors, so that TAPs that have become readable meanwhile are read, too.
 */
#define TRANSMIT_ROUNDS (IFC_ROOM / IFC_QUANTUM)
/* largest number of rounds of packets and actions before the loop checks its descriptors */
#define WORK_ROUNDS 64
/*
 * Time after which inst_work() begins no new round. A round can be long, because it may contain a
 * slice of a sweep of the subnet manager
 */
#define WORK_TIME NS_MSEC(10)
#define LEAVE_TIME NS_MSEC(500) /* longest time for which inst_leave() waits for the SA */

/* --- the loop's work */

/*
 * Returns true if another round is needed: a packet waits, or a packet was moved. A packet that was
 * moved may have been a MAD that caused new actions.
 */
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

void inst_host_event(struct inst_host *h, bool comes)
{
	struct inst_watch *w;

	list_for_each (w, &h->inst->watches, link)
		if (w->host)
			w->host(w, h, comes);
}

void inst_iface_event(struct inst_iface *i, bool comes, ns_t now)
{
	struct inst_watch *w, *tmp;

	list_for_each_safe (w, tmp, &i->inst->watches, link)
		if (w->iface)
			w->iface(w, i, comes, now);
}

static void tell_watches(struct inst *in, ns_t now)
{
	struct inst_watch *w, *tmp;

	list_for_each_safe (w, tmp, &in->watches, link)
		if (w->fn)
			w->fn(w, now);
}

bool inst_work(void *ctx, ns_t now)
{
	struct inst *in = ctx;
	ns_t end = now + WORK_TIME;
	bool more = true;

	for (unsigned int round = 0; more && round < WORK_ROUNDS && now < end; round++) {
		/*
		 * The clock is read in each round, because a sweep of the subnet manager takes
		 * hundreds of rounds, and the SM's deadlines and statistics need the present time.
		 */
		if (round)
			now = in->loop.now = clock_now();
		timers_run(&in->loop.timers, now);
		ifc_work(&in->ifcs, now);
		if (round < TRANSMIT_ROUNDS)
			ifc_transmit(&in->ifcs, now);
		more = run_fabrics(in, now);
		udplink_flush_all(&in->udps);
		more |= ifc_work_left(&in->ifcs) || timers_next(&in->loop.timers) <= now;
		more |= round + 1 < TRANSMIT_ROUNDS && ifc_transmit_left(&in->ifcs);
	}
	capfile_flush_all(&in->captures);
	tell_watches(in, now);
	return more || ifc_transmit_left(&in->ifcs);
}

/* --- making and ending an instance */

static void serve_helper(struct inst *in, struct netdev_helper *helper, struct loop_fd *fd,
			 uint32_t events)
{
	if (!netdev_helper_dispatch(helper) && !(events & (EPOLLHUP | EPOLLERR)))
		return;
	log_to(&in->cfg.log, LOG_LVL_ERR, "the helper process has ended; stopping");
	loop_unwatch(&in->loop, fd);
	in->broken = true;
	loop_stop(&in->loop);
}

static void on_helper(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst *in = container_of(fd, struct inst, helper_fd);

	(void)now;
	serve_helper(in, in->helper, fd, events);
}

static void on_more_helper(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst_helper *m = container_of(fd, struct inst_helper, fd);

	(void)now;
	serve_helper(m->inst, m->helper, fd, events);
}

int inst_helper_add(struct inst *in, struct netdev_helper *helper)
{
	struct inst_helper *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->inst = in;
	m->helper = helper;
	err = loop_watch(&in->loop, &m->fd, netdev_helper_fd(helper), EPOLLIN, on_more_helper);
	if (err) {
		free(m);
		return err;
	}
	list_add_tail(&in->more_helpers, &m->link);
	return 0;
}

static bool has_host(const struct inst_helper *m)
{
	struct inst_host *h;

	list_for_each (h, &m->inst->hosts, link)
		if (h->helper == m->helper)
			return true;
	return false;
}

void inst_helper_trim(struct inst *in)
{
	struct inst_helper *m, *tmp;

	list_for_each_safe (m, tmp, &in->more_helpers, link) {
		if (has_host(m))
			continue;
		loop_unwatch(&in->loop, &m->fd);
		netdev_helper_stop(m->helper);
		list_del(&m->link);
		free(m);
	}
}

static bool is_environment(enum netdev_refusal refused, int err)
{
	switch (refused) {
	case NETDEV_REFUSED_REQUEST:
		return false;
	case NETDEV_REFUSED_HELPER:
	case NETDEV_REFUSED_TUN:
	case NETDEV_REFUSED_IBTAP:
		return true;
	default:
		/*
		 * Other errors, such as a name that exists already or a namespace that does not
		 * exist, are the user's fault and not the environment's.
		 */
		return err == -EPERM || err == -EACCES || err == -EROFS || err == -ENOSPC ||
		       err == -EMFILE || err == -ENFILE || err == -ENODEV || err == -EOPNOTSUPP ||
		       /* a sandbox returns this error if it forbids the system call */
		       err == -ENOSYS;
	}
}

int inst_refused(struct inst *in, int status, const char *what, char err[INST_ERR_MAX])
{
	const char *why = netdev_helper_error(in->helper);

	in->env_lacks |= is_environment(netdev_helper_refused(in->helper), status);
	snprintf(err, INST_ERR_MAX, "%s: %s", what, *why ? why : strerror(-status));
	return status;
}

static int draw_secret(struct inst *in, char err[INST_ERR_MAX])
{
	struct hash_key *key = &in->ifcs.secret;

	if (getrandom(key, sizeof(*key), 0) == (ssize_t)sizeof(*key))
		return 0;
	snprintf(err, INST_ERR_MAX, "random numbers: %s", strerror(errno));
	return -EIO;
}

static int start(struct inst *in, char err[INST_ERR_MAX])
{
	struct timespec ts;
	int status = netdev_helper_start_end(0, in->cfg.at_end, &in->helper);

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
	ifc_set_init(&in->ifcs, &in->loop.timers, in->pool, &in->cfg.log);
	status = draw_secret(in, err);
	if (status)
		return status;
	in->loop.work = inst_work;
	in->loop.ctx = in;
	in->started = in->loop.now;
	clock_gettime(CLOCK_REALTIME, &ts);
	in->unix_epoch = NS_SEC(ts.tv_sec) + (ns_t)ts.tv_nsec - in->started;
	in->captures.epoch = in->unix_epoch;
	return loop_watch(&in->loop, &in->helper_fd, netdev_helper_fd(in->helper), EPOLLIN,
			  on_helper);
}

void inst_init(struct inst *in, const struct inst_cfg *cfg)
{
	*in = (struct inst){
		.cfg = *cfg, .loop.epfd = -1, .netns_watch.fd = -1, .rdma_folder = -1
	};
	list_init(&in->ports);
	capfiles_init(&in->captures, &in->loop);
	list_init(&in->udps.links);
	list_init(&in->hosts);
	list_init(&in->ifaces);
	list_init(&in->by_pkeys);
	list_init(&in->more_helpers);
	list_init(&in->watches);
	neigh_dumps_init(&in->neigh_dumps);
}

int inst_create(struct inst **ret, const struct inst_cfg *cfg, char err[INST_ERR_MAX])
{
	struct inst *in = calloc(1, sizeof(*in));
	int status;

	if (!in) {
		snprintf(err, INST_ERR_MAX, "out of memory");
		return -ENOMEM;
	}
	inst_init(in, cfg);
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
		if (!sac_idle(p->ifc.sac))
			return false;
	return true;
}

void inst_leave(struct inst *in)
{
	ns_t until = in->loop.now + LEAVE_TIME;
	struct inst_iface *i;
	struct inst_port *p;
	struct inst_host *h;
	struct by_pkey *b;
	bool busy = true;

	list_for_each (b, &in->by_pkeys, link)
		by_pkey_stop(b);

	/*
	 * Ignore the kernel's events from now on. The TAPs stay up until they are closed, so an event would
	 * report IFF_UP and bring the link up again.
	 */
	list_for_each (h, &in->hosts, link) {
		host_ignore_events(h);
		host_unfollow(h);
	}
	list_for_each (i, &in->ifaces, link)
		iface_shutdown(i, in->loop.now);
	list_for_each (p, &in->ports, link)
		sac_shutdown(p->ifc.sac, in->loop.now);
	/* Run the whole loop, with its descriptors, because the SA may be in another process. */
	while (!all_idle(in) && in->loop.now < until)
		if (loop_turn(&in->loop, &busy, until))
			break;
}

void inst_destroy(struct inst *in)
{
	struct inst_iface *i, *itmp;
	struct inst_port *p, *ptmp;
	struct inst_host *h, *htmp;
	struct by_pkey *b, *btmp;

	if (!in)
		return;
	list_for_each_safe (i, itmp, &in->ifaces, link)
		iface_destroy(i);
	list_for_each_safe (b, btmp, &in->by_pkeys, link)
		by_pkey_destroy(b);
	list_for_each_safe (p, ptmp, &in->ports, link)
		port_close(p);
	capfile_close_all(&in->captures, NULL);
	udplink_close_all(&in->udps);
	for (unsigned int k = 0; k < in->nfabs; k++)
		fab_destroy(in->fab[k]);
	free(in->fab);
	in->nfabs = 0;
	list_for_each_safe (h, htmp, &in->hosts, link)
		host_close(h);
	inst_helper_trim(in);
	host_watch_close(in);
	if (in->rdma_folder >= 0)
		close(in->rdma_folder);
	if (in->helper)
		loop_unwatch(&in->loop, &in->helper_fd);
	netdev_helper_stop(in->helper);
	if (in->pool) {
		ifc_set_fini(&in->ifcs);
		tap_rx_fini(&in->tap_rx);
	}
	pkt_pool_destroy(in->pool);
	loop_fini(&in->loop);
	free(in);
}

static int load_fabric(struct inst *in, const struct conf_fabric *f, const struct topo *topo,
		       char err[INST_ERR_MAX])
{
	struct conf_fabric fc = *f;
	struct topo *t = NULL;
	int status = topo ? 0 : conf_topology_load(&t, f->topology, err);

	if (topo)
		fc.topology = NULL;
	if (!status)
		status = fab_add(in, &fc, topo ? topo : t, err);
	topo_free(t);
	return status;
}

/*
 * Starts the capture of a fabric. Called after the UDP links were made, so that the capture
 * includes packets that enter the fabric over UDP links.
 */
static int start_capture(struct inst *in, const struct conf_fabric *f, char err[INST_ERR_MAX])
{
	const struct capfile_at at = fab_packets(inst_fabric_find(in, f->name));

	return f->capture ? capfile_open(&at, f->capture, NULL, err) : 0;
}

static int load_fabrics(struct inst *in, const struct conf *c, const struct topo *topo,
			char err[INST_ERR_MAX])
{
	char section[CONF_NAME_MAX + 16];
	int status = 0;

	for (size_t k = 0; !status && k < c->nfabrics; k++) {
		const struct conf_fabric *f = &c->fabric[k];

		snprintf(section, sizeof(section), "fabric %s", f->name);
		status = load_fabric(in, f, k ? NULL : topo, err);
		status = conf_blame(c, f->line, section, status, err, INST_ERR_MAX);
	}
	for (size_t k = 0; !status && k < c->nudps; k++) {
		const struct conf_udp_link *u = &c->udp[k];

		snprintf(section, sizeof(section), "udp-link %s", u->name);
		status = udplink_add(in, u, err);
		status = conf_blame(c, u->line, section, status, err, INST_ERR_MAX);
	}
	for (size_t k = 0; !status && k < c->nfabrics; k++) {
		const struct conf_fabric *f = &c->fabric[k];

		snprintf(section, sizeof(section), "fabric %s", f->name);
		status = start_capture(in, f, err);
		status = conf_blame(c, f->line, section, status, err, INST_ERR_MAX);
	}
	return status;
}

int inst_load(struct inst *in, const struct conf *c, const struct topo *topo,
	      char err[INST_ERR_MAX])
{
	int status = load_fabrics(in, c, topo, err);
	char section[CONF_NAME_MAX + IFNAMSIZ + 16];

	for (size_t k = 0; !status && k < c->nifaces; k++) {
		const struct conf_iface *i = &c->iface[k];

		snprintf(section, sizeof(section), "interface %s%s%s", i->name, *i->host ? "@" : "",
			 i->host);
		status = i->profile->ifname ? by_pkey_add(in, i, err) : iface_add(in, i, err);
		status = conf_blame(c, i->line, section, status, err, INST_ERR_MAX);
	}
	return status;
}

bool inst_iface_up(const struct inst_iface *i, char why[INST_ERR_MAX])
{
	struct ipoib_link_info info;

	if (ipoib_link_is_up(i->ifc.ipoib) && i->carrier)
		return true;
	ipoib_link_info(i->ifc.ipoib, &info);
	if (why)
		snprintf(why, INST_ERR_MAX, "%s@%s: %s: %s", i->name, i->host->name,
			 ipoib_link_state_name(info.state), iface_reason(i, &info));
	return false;
}

bool inst_up(const struct inst *in, char why[INST_ERR_MAX])
{
	struct inst_iface *i;
	struct by_pkey *b;

	list_for_each (i, &in->ifaces, link)
		if (!i->by_pkey && !inst_iface_up(i, why))
			return false;
	list_for_each (b, &in->by_pkeys, link)
		if (!by_pkey_up(b, why))
			return false;
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
