/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/advice.h"
#include "cmd/cmd.h"
#include "inst/fab.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "tools/ibsim.h"
#include "tools/tools.h"
#include "util/text.h"

/* Commands about the instance itself: show it, wait until it is up, enter its hosts, stop it. */

/*
 * Tell whether @h stands for its host in answers. A reload that adds interfaces to a host makes a
 * further struct for the host; the first struct of a host stands for the host.
 */
static bool is_first(const struct inst_host *h)
{
	return inst_host_find(h->inst, h->name) == h;
}

static json_t *host_names(const struct inst *in)
{
	json_t *v = json_array();
	struct inst_host *h;

	list_for_each (h, &in->hosts, link)
		if (is_first(h))
			json_array_append_new(v, ctl_str(h->name));
	return v;
}

static json_t *fabric_names(const struct inst *in)
{
	json_t *v = json_array();

	for (unsigned int k = 0; k < in->nfabs; k++)
		json_array_append_new(v, ctl_str(in->fab[k]->name));
	return v;
}

static void instance_show(struct ctl_req *r)
{
	struct inst *in = r->in;
	char why[INST_ERR_MAX] = "";
	bool up = inst_up(in, why);
	json_t *row = json_pack("{s:s, s:i}", "name", in->cfg.name, "pid", (int)getpid());
	struct inst_iface *i;
	unsigned int n = 0;

	list_for_each (i, &in->ifaces, link)
		n++;
	cmd_set_bool(row, "up", up);
	cmd_set_str(row, "waits_for", up ? "" : why);
	cmd_set(row, "uptime_ms", cmd_ms(r->now - in->started));
	cmd_set(row, "fabrics", fabric_names(in));
	cmd_set(row, "hosts", host_names(in));
	cmd_set_int(row, "interfaces", n);
	ctl_row(r, row);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

static json_t *iface_on_host(const struct inst_iface *i)
{
	json_t *one = json_object(), *addrs = json_array();

	cmd_set_str(one, "ifname", i->name);
	for (unsigned int k = 0; k < i->naddrs; k++)
		json_array_append_new(addrs, cmd_ip(i->addr[k].octets, i->addr[k].family));
	cmd_set(one, "addresses", addrs);
	return one;
}

static json_t *host_row(const struct inst_host *h)
{
	json_t *row = json_pack("{s:o, s:o, s:b}", "host", ctl_str(h->name), "netns",
				ctl_str(h->netns), "anonymous", h->anonymous);
	json_t *ifaces = json_array();
	struct inst_iface *i;

	list_for_each (i, &h->inst->ifaces, link)
		if (!strcmp(i->host->name, h->name))
			json_array_append_new(ifaces, iface_on_host(i));
	cmd_set(row, "interfaces", ifaces);
	return row;
}

static void host_show(struct ctl_req *r)
{
	struct inst_host *h;

	list_for_each (h, &r->in->hosts, link)
		if (is_first(h))
			ctl_row(r, host_row(h));
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

/* --- wait */

struct waiter {
	struct ctl_hold hold;
	struct inst_watch watch;
	struct timer timeout;
	struct inst *in;
};

static void waiter_free(struct waiter *w)
{
	inst_unwatch(&w->watch);
	timer_cancel(&w->in->loop.timers, &w->timeout);
	free(w);
}

static void waiter_gone(struct ctl_hold *h)
{
	waiter_free(container_of(h, struct waiter, hold));
}

static void waiter_look(struct inst_watch *watch, ns_t now)
{
	struct waiter *w = container_of(watch, struct waiter, watch);

	if (!inst_up(w->in, NULL))
		return;
	w->hold.req.now = now;
	ctl_end(&w->hold.req, PROTO_EXIT_OK, NULL);
	waiter_free(w);
}

static void waiter_timeout(struct timer *t, ns_t now)
{
	struct waiter *w = container_of(t, struct waiter, timeout);
	char why[INST_ERR_MAX] = "", advice[ADVICE_MAX];

	w->hold.req.now = now;
	advice_all(w->in, advice);
	if (inst_up(w->in, why))
		ctl_end(&w->hold.req, PROTO_EXIT_OK, NULL);
	else
		ctl_end(&w->hold.req, PROTO_EXIT_TIMEOUT, "not up: %s%s%s", why,
			*advice ? ". " : "", advice);
	waiter_free(w);
}

static void wait_up(struct ctl_req *r)
{
	bool bad;
	long long ms = ctl_arg_int(r, "timeout_ms", 0, 86400000, -1, &bad);
	struct waiter *w;

	if (bad)
		return;
	if (inst_up(r->in, NULL)) {
		ctl_end(r, PROTO_EXIT_OK, NULL);
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	w->in = r->in;
	w->watch.fn = waiter_look;
	inst_watch(r->in, &w->watch);
	timer_init(&w->timeout, waiter_timeout);
	if (ms >= 0)
		timer_arm(&r->in->loop.timers, &w->timeout, r->now + NS_MSEC(ms));
	ctl_hold(r, &w->hold, waiter_gone);
}

/* --- exec */

static void no_such_host(struct ctl_req *r, const char *name)
{
	char list[512] = "";
	struct text t = TEXT_IN(list);
	struct inst_host *h;

	list_for_each (h, &r->in->hosts, link)
		if (is_first(h))
			text_add_item(&t, ", ", *h->name ? h->name : "''");
	ctl_end(r, PROTO_EXIT_USAGE, "host '%s': no such host or node, expected one of %s%s", name,
		*list ? list : "(no hosts)", r->in->nfabs ? ", or a node of a fabric" : "");
}

static struct inst_fabric *fabric_with_node(struct inst *in, const char *node)
{
	for (unsigned int k = 0; k < in->nfabs; k++)
		if (fabric_node_find(in->fab[k]->fabric, node))
			return in->fab[k];
	return NULL;
}

/*
 * Return the members of the answer that tell management programs how to reach the ports. "umad" is
 * for the protocol of umad/proto.h. "ibsim" and "sim_host" are for clients of ibsim, which are
 * then attached to @node of @f
 */
static json_t *exec_members(const struct ctl_req *r, const struct inst_fabric *f, const char *node)
{
	char path[108];
	json_t *m = json_object();
	const struct ibsim_net *ibsim;

	if (!ctl_tools(r))
		return m;
	ibsim = f ? tools_ibsim(ctl_tools(r), f) : NULL;
	if (!proto_umad_path(path, sizeof(path), r->in->cfg.name))
		cmd_set_str(m, "umad", path);
	if (ibsim) {
		cmd_set_str(m, "ibsim", ibsim_name(ibsim));
		cmd_set_str(m, "sim_host", node);
	}
	return m;
}

static void exec_node(struct ctl_req *r, const char *name)
{
	const struct inst_fabric *f = fabric_with_node(r->in, name);
	json_t *m;

	if (!f) {
		no_such_host(r, name);
		return;
	}
	m = exec_members(r, f, name);
	cmd_set_str(m, "node", name);
	ctl_end_with(r, m, NULL, 0);
}

/*
 * Return the CA that programs for ibsim use on the host: the first CA on a soft fabric; NULL: there
 * is none
 */
static const struct inst_port *soft_ca(const struct inst_host *h)
{
	for (unsigned int k = 0; k < h->ncas; k++)
		if (h->ca[k]->fab)
			return h->ca[k];
	return NULL;
}

static void exec_host(struct ctl_req *r)
{
	bool bad;
	const char *name = ctl_arg_str(r, "host", &bad);
	struct inst_host *h = name ? inst_host_find(r->in, name) : NULL;
	const struct inst_port *ca;
	int fds[2];
	json_t *m;

	if (bad)
		return;
	if (!h) {
		exec_node(r, name ? name : "");
		return;
	}
	if (h->gone) {
		ctl_end(r, PROTO_EXIT_ENV, "host '%s': its network namespace '%s' is gone", name,
			h->netns);
		return;
	}
	fds[0] = fcntl(h->net_fd, F_DUPFD_CLOEXEC, 0);
	fds[1] = h->user_fd < 0 ? -1 : fcntl(h->user_fd, F_DUPFD_CLOEXEC, 0);
	if (fds[0] < 0 || (h->user_fd >= 0 && fds[1] < 0)) {
		int status = errno;

		if (fds[0] >= 0)
			close(fds[0]);
		ctl_end(r, PROTO_EXIT_ENV, "host '%s': %s", name, strerror(status));
		return;
	}
	ca = soft_ca(h);
	m = exec_members(r, ca ? ca->fab : NULL, ca ? ca->ca_name : "");
	cmd_set_str(m, "host", h->name);
	cmd_set_bool(m, "userns", fds[1] >= 0);
	ctl_end_with(r, m, fds, fds[1] >= 0 ? 2 : 1);
}

static void stop(struct ctl_req *r)
{
	int supervisor;

	log_to(&r->in->cfg.log, LOG_LVL_INFO, "stopped by a client");
	loop_stop(&r->in->loop);
	supervisor = fcntl(ctl_supervisor(r), F_DUPFD_CLOEXEC, 0);
	ctl_end_with(r, json_object(), &supervisor, supervisor >= 0 ? 1 : 0);
}

const struct ctl_cmd cmd_instance[] = {
	{ "instance show", CTL_READS, instance_show, NULL },
	{ "host show", CTL_READS, host_show, NULL },
	{ "wait", CTL_READS, wait_up, (const char *const[]){ "timeout_ms", NULL } },
	{ "exec", CTL_CHANGES, exec_host, (const char *const[]){ "host", NULL } },
	{ "stop", CTL_CHANGES, stop, NULL },
	{ NULL },
};
