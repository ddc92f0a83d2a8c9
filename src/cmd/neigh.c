/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "ctl/slices.h"
#include "eth/token.h"
#include "inst/host.h"
#include "inst/iface.h"

/*
 * Neighbours. The kernel's table maps an IP address to a token or an address of 20 octets, and the
 * IPoIB link maps that token or address to a GID and a QPN. The kernel's table is read in pieces
 * (inst/neigh_dump.h), interface by interface, and the link's table is sent in slices.
 */

struct shower {
	struct ctl_slices out;
	struct neigh_dump dump;
	struct inst_watch watch; /* tells when .i is removed */
	struct inst_iface *i; /* interface whose neighbour table is read from the kernel */
	/* true if the tables of the interfaces after .i in the instance's list are read, too */
	bool all;
	json_t *kernel; /* link-layer address -> array of its IP addresses */
	uint32_t at; /* next slot of the link's table */
};

/*
 * Stores the IP address of an entry of the kernel's table. Entries whose hardware address belongs
 * to no neighbour of the link are left out, because there is no row for them.
 */
static void on_kernel_neigh(struct neigh_dump *d, const struct rtnl_neigh *n)
{
	struct shower *s = container_of(d, struct shower, dump);
	const struct ipoib_neigh *peer;
	json_t *lladdr, *list;

	if (!rtnl_neigh_resolved(n))
		return;
	peer = eth_peer_by_hw(s->i->ifc.eth, n->hw, n->hw_len);
	if (!peer)
		return;
	lladdr = cmd_lladdr(&peer->lladdr);
	list = json_object_get(s->kernel, json_string_value(lladdr));
	if (!list) {
		list = json_array();
		json_object_set_new(s->kernel, json_string_value(lladdr), list);
	}
	json_array_append_new(list, cmd_ip(n->ip.addr, n->ip.family == RTNL_V6 ? 6 : 4));
	json_decref(lladdr);
}

static void set_path(json_t *row, const struct ipoib_neigh_info *n)
{
	bool known = n->state == IPOIB_PATH_READY || n->state == IPOIB_PATH_STALE ||
		     n->state == IPOIB_PATH_REFRESH;

	cmd_set(row, "lid", known ? json_integer(n->rec.dlid) : json_null());
	cmd_set(row, "sl", known ? json_integer(n->sl) : json_null());
	cmd_set(row, "mtu", known ? json_integer(ib_mtu_octets(n->rec.mtu_code)) : json_null());
	cmd_set(row, "rate_mbps", known ? cmd_rate(n->rec.rate_code) : json_null());
}

static void neigh_row(void *ctx, const struct ipoib_neigh_info *n)
{
	struct shower *s = ctx;
	const struct ipoib_neigh *e = n->neigh;
	json_t *row = cmd_iface_row(s->i), *lladdr = cmd_lladdr(&e->lladdr);
	json_t *ips = json_object_get(s->kernel, json_string_value(lladdr));

	cmd_set(row, "ip", ips ? json_incref(ips) : json_array());
	cmd_set(row, "token", e->has_token ? cmd_mac(e->token) : json_null());
	cmd_set(row, "gid", cmd_gid(&e->lladdr.gid));
	cmd_set(row, "qpn", cmd_hex(e->lladdr.qpn, 6));
	cmd_set(row, "lladdr", lladdr);
	cmd_set_str(row, "state", ipoib_path_state_name(n->state));
	cmd_set(row, "status", cmd_sac_status(n->status));
	set_path(row, n);
	cmd_set(row, "until_ms", cmd_until(n->until, s->out.hold.req.now));
	cmd_set(row, "idle_ms", cmd_ms(s->out.hold.req.now - e->last_used));
	cmd_set_int(row, "held_packets", n->held);
	ctl_row(&s->out.hold.req, row);
}

/*
 * Return the first interface behind @at in the list that is in a network namespace; NULL if there is none. The kernel
 * has no table of an interface whose namespace is gone.
 */
static struct inst_iface *next_iface(struct inst *in, struct list *at)
{
	for (at = at->next; at != &in->ifaces; at = at->next) {
		struct inst_iface *i = container_of(at, struct inst_iface, link);

		if (i->ifindex)
			return i;
	}
	return NULL;
}

static void on_dumped(struct neigh_dump *d, int err);

static int read_table(struct shower *s)
{
	s->dump = (struct neigh_dump){
		.host = s->i->host,
		.ifindex = s->i->ifindex,
		.entry = on_kernel_neigh,
		.done = on_dumped,
	};
	json_decref(s->kernel);
	s->kernel = json_object();
	return s->kernel ? neigh_dump_start(&s->dump) : -ENOMEM;
}

static void shower_free(struct shower *s)
{
	ctl_slices_stop(&s->out);
	inst_unwatch(&s->watch);
	json_decref(s->kernel);
	free(s);
}

static void refuse(struct ctl_req *r, const struct inst_iface *i, int err)
{
	ctl_end(r, PROTO_EXIT_FAILED, "%s@%s: the kernel's neighbours: %s", i->name, i->host->name,
		err == -EAGAIN ? "they changed while they were read; try again" : strerror(-err));
}

/*
 * Called when the table of s->i was read, or is not needed: read the table of the next interface, or end the answer.
 */
static void go_on(struct shower *s, int err)
{
	struct inst_iface *next =
		s->all && !err ? next_iface(s->out.hold.req.in, &s->i->link) : NULL;

	if (next) {
		s->i = next;
		err = read_table(s);
		if (!err)
			return;
	}
	if (err)
		refuse(&s->out.hold.req, s->i, err);
	else
		ctl_end(&s->out.hold.req, PROTO_EXIT_OK, NULL);
	shower_free(s);
}

static bool some(struct ctl_slices *out, unsigned int n)
{
	struct shower *s = container_of(out, struct shower, out);

	return ipoib_neigh_some(s->i->ifc.ipoib, &s->at, n, neigh_row, s);
}

static void sent(struct ctl_slices *out)
{
	go_on(container_of(out, struct shower, out), 0);
}

static void on_dumped(struct neigh_dump *d, int err)
{
	struct shower *s = container_of(d, struct shower, dump);

	s->at = 0;
	s->out.hold.req.now = s->out.hold.req.in->loop.now;
	if (err)
		go_on(s, err);
	else
		ctl_slices_begin(&s->out, s->out.hold.req.now);
}

static void on_iface(struct inst_watch *w, struct inst_iface *i, bool comes, ns_t now)
{
	struct shower *s = container_of(w, struct shower, watch);

	if (comes || i != s->i)
		return;
	neigh_dump_cancel(&s->dump);
	ctl_slices_stop(&s->out);
	s->out.hold.req.now = now;
	go_on(s, s->all ? 0 : -ENODEV);
}

static void show_gone(struct ctl_hold *h)
{
	struct shower *s = container_of(h, struct shower, out.hold);

	neigh_dump_cancel(&s->dump);
	shower_free(s);
}

static void neigh_show(struct ctl_req *r)
{
	bool bad, all;
	struct inst_iface *i = ctl_arg_iface(r, &bad);
	struct shower *s;
	int err;

	if (bad)
		return;
	all = !i;
	if (all)
		i = next_iface(r->in, &r->in->ifaces);
	if (!i || !i->ifindex) {
		ctl_end(r, PROTO_EXIT_OK, NULL);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	s->all = all;
	s->i = i;
	s->watch.iface = on_iface;
	s->out.some = some;
	s->out.done = sent;
	err = read_table(s);
	if (err) {
		refuse(r, s->i, err);
		json_decref(s->kernel);
		free(s);
		return;
	}
	ctl_slices_hold(&s->out, r, show_gone);
	inst_watch(r->in, &s->watch);
}

const struct ctl_cmd cmd_neigh[] = {
	{ "neigh show", CTL_READS, neigh_show, (const char *const[]){ "dev", NULL } },
	{ NULL },
};
