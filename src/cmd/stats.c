/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/stats.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ctl/priv.h"
#include "inst/fab_sm.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "inst/udplink.h"
#include "sa/sa.h"
#include "tools/ibsim.h"
#include "tools/tools.h"
#include "tools/umad.h"
#include "verbs/verbs.h"

/*
 * A row for a counter, which is a uint64_t member of a module's struct. D() makes the row of a member that counts
 * discarded packets, and F() the row of any other member. The member's name is the counter's name in `stats show`.
 * So a new counter needs only the member and a row.
 */
struct field {
	const char *name;
	size_t off;
	bool drop;
};

/* clang-format off */
#define F(type, member) { #member, offsetof(struct type, member), false }
#define D(type, member) { #member, offsetof(struct type, member), true }
/* clang-format on */

struct out {
	stats_fn *fn;
	void *ctx;
	struct stats_item it;
};

static void put(struct out *o, const char *name, bool drop, uint64_t value)
{
	o->it.name = name;
	o->it.drop = drop;
	o->it.value = value;
	o->fn(o->ctx, &o->it);
}

static void put_fields(struct out *o, const void *base, const struct field *f, size_t n)
{
	for (size_t k = 0; k < n; k++)
		put(o, f[k].name, f[k].drop, *(const uint64_t *)((const char *)base + f[k].off));
}

/*
 * Report a drop counter. Its name, such as drop_own_echo, is made from a reason in words, such as
 * "own-echo".
 */
static void put_drop(struct out *o, const char *reason, uint64_t value)
{
	char name[64];
	int n = snprintf(name, sizeof(name), "drop_%s", reason);

	for (int k = 0; k < n && k < (int)sizeof(name) - 1; k++)
		if (!isalnum((unsigned char)name[k]))
			name[k] = '_';
	put(o, name, true, value);
}

/* --- interfaces */

static const struct field eth_fields[] = {
	F(eth_stats, tx_frames),      F(eth_stats, tx_segments),
	F(eth_stats, rx_packets),     F(eth_stats, rx_frames),
	F(eth_stats, arp_tx),	      F(eth_stats, arp_rx),
	F(eth_stats, nd_tx),	      F(eth_stats, nd_rx),
	F(eth_stats, igmp),	      F(eth_stats, mld),
	F(eth_stats, dhcp_tx),	      F(eth_stats, dhcp_rx),
	F(eth_stats, queries),	      F(eth_stats, token_collisions),
	F(eth_stats, stations_added), F(eth_stats, stations_aged),
};

static const struct field ipoib_fields[] = {
	F(ipoib_stats, tx_packets),	 F(ipoib_stats, tx_octets),
	F(ipoib_stats, tx_mcast),	 F(ipoib_stats, tx_held),
	F(ipoib_stats, rx_packets),	 F(ipoib_stats, rx_octets),
	F(ipoib_stats, rx_mcast),	 F(ipoib_stats, rx_no_source),
	F(ipoib_stats, joins_failed),	 F(ipoib_stats, path_failures),
	F(ipoib_stats, ah_failures),	 F(ipoib_stats, attach_failures),
	F(ipoib_stats, neigh_full),	 F(ipoib_stats, neigh_expired),
	F(ipoib_stats, paths_refreshed),
};

static void iface_stats(struct out *o, struct inst_iface *i)
{
	const struct eth_stats *es = eth_if_stats(i->ifc.eth);
	const struct ipoib_stats *is = ipoib_link_stats(i->ifc.ipoib);
	char name[IFNAMSIZ + CONF_NAME_MAX + 1];

	snprintf(name, sizeof(name), "%s%s%s", i->name, *i->host->name ? "@" : "", i->host->name);
	o->it.object = name;
	o->it.iface = i;
	o->it.layer = "tap";
	put(o, "write_errors", true, i->tap_write_errors);
	o->it.layer = "watchdog";
	put(o, "tx_timeouts", false, i->ifc.watchdog.timeouts);
	put(o, "tx_discarded", true, i->ifc.watchdog.discarded);
	o->it.layer = "eth";
	put_fields(o, es, eth_fields, ARRAY_SIZE(eth_fields));
	for (int d = ETH_DROP_NONE + 1; d < ETH_DROP_MAX; d++)
		put_drop(o, eth_drop_name((enum eth_drop)d), es->drops[d]);
	o->it.layer = "ipoib";
	put_fields(o, is, ipoib_fields, ARRAY_SIZE(ipoib_fields));
	for (int d = IPOIB_DROP_NONE + 1; d < IPOIB_DROP_N; d++)
		put_drop(o, ipoib_drop_name((enum ipoib_drop)d), is->drops[d]);
	o->it.iface = NULL;
}

void stats_iface(struct inst_iface *i, stats_fn *fn, void *ctx)
{
	struct out o = { .fn = fn, .ctx = ctx };

	iface_stats(&o, i);
}

/* --- ports in use */

static const struct field sac_fields[] = {
	F(sac_stats, requests),
	F(sac_stats, answers),
	F(sac_stats, refused),
	F(sac_stats, timeouts),
	F(sac_stats, absent),
	F(sac_stats, busy),
	F(sac_stats, malformed),
	F(sac_stats, path_hits),
	F(sac_stats, path_queries),
	F(sac_stats, path_failed_hits),
	F(sac_stats, joins),
	F(sac_stats, leaves),
	F(sac_stats, asks),
	F(sac_stats, service_asks),
	F(sac_stats, reports),
	F(sac_stats, reports_ignored),
	D(sac_stats, reports_foreign),
	F(sac_stats, restarts),
};

static const struct field mad_fields[] = {
	F(mad_ep_stats, rx),	      F(mad_ep_stats, tx),	     F(mad_ep_stats, retries),
	F(mad_ep_stats, timeouts),    D(mad_ep_stats, rx_unclaimed), D(mad_ep_stats, rx_malformed),
	D(mad_ep_stats, rx_late),     F(mad_ep_stats, rmpp_rx),	     F(mad_ep_stats, rmpp_tx),
	F(mad_ep_stats, rmpp_aborts),
};

static const struct field cm_fields[] = {
	F(cm_stats, requests),	 F(cm_stats, retries),	      F(cm_stats, answers),
	F(cm_stats, timeouts),	 F(cm_stats, served),	      F(cm_stats, refused),
	D(cm_stats, drop_paced), D(cm_stats, drop_no_server), D(cm_stats, drop_late),
	D(cm_stats, drop_other), D(cm_stats, drop_busy),
};

static void put_cm(struct out *o, const struct cm *c)
{
	o->it.layer = "cm";
	put_fields(o, cm_stats(c), cm_fields, ARRAY_SIZE(cm_fields));
}

static const struct field verbs_fields[] = {
	D(verbs_stats, rx_error),    D(verbs_stats, rx_short),	 D(verbs_stats, rx_no_mem),
	D(verbs_stats, tx_too_long), D(verbs_stats, tx_error),	 D(verbs_stats, tx_refused),
	F(verbs_stats, qp_restarts), F(verbs_stats, ah_evicted), D(verbs_stats, mad_refused),
	D(verbs_stats, mad_late),
};

/*
 * Report the counters that only ports of hardware have. For a port of a soft fabric, its HCA and
 * its links have counters instead.
 */
static void put_verbs(struct out *o, const struct ca *ca)
{
	const struct verbs_stats *s = verbs_stats(ca);

	o->it.layer = "verbs";
	if (s)
		put_fields(o, s, verbs_fields, ARRAY_SIZE(verbs_fields));
}

static void port_stats(struct out *o, struct inst_port *p)
{
	struct sac_stats s;

	o->it.object = p->name;
	o->it.layer = "sac";
	sac_stats(p->ifc.sac, &s);
	put_fields(o, &s, sac_fields, ARRAY_SIZE(sac_fields));
	put_cm(o, p->ifc.cm);
	o->it.layer = "mad";
	put_fields(o, mad_ep_stats(ca_mad_ep(p->ifc.ca)), mad_fields, ARRAY_SIZE(mad_fields));
	put_verbs(o, p->ifc.ca);
}

/* --- fabrics */

static const struct field sa_fields[] = {
	F(sa_stats, requests),
	F(sa_stats, answers),
	F(sa_stats, errors),
	F(sa_stats, paths),
	F(sa_stats, joins),
	F(sa_stats, leaves),
	F(sa_stats, tables),
	F(sa_stats, dup_joins),
	D(sa_stats, drop_not_master),
	D(sa_stats, drop_requester),
	D(sa_stats, drop_sm_key),
	D(sa_stats, drop_malformed),
	D(sa_stats, drop_busy),
	D(sa_stats, drop_quota),
	F(sa_stats, repeated),
	F(sa_stats, reports),
	F(sa_stats, reports_answered),
	F(sa_stats, reports_lost),
	F(sa_stats, leases_expired),
};

static const struct field sm_fields[] = {
	F(sm_status, heavy_sweeps), F(sm_status, partial_sweeps), F(sm_status, light_sweeps),
	F(sm_status, traps),	    D(sm_status, traps_many),	  F(sm_status, smps),
	F(sm_status, timeouts),
};

static void sm_stats(struct out *o, const struct inst_sm *m)
{
	struct sm_status st;

	o->it.object = m->fab->name;
	o->it.layer = "sm";
	sm_status(m->sm, &st);
	put_fields(o, &st, sm_fields, ARRAY_SIZE(sm_fields));
	put_fields(o, mad_ep_stats(sm_ep(m->sm)), mad_fields, ARRAY_SIZE(mad_fields));
	o->it.layer = "sa";
	put_fields(o, sa_stats(m->sa), sa_fields, ARRAY_SIZE(sa_fields));
	if (sa_cm(m->sa))
		put_cm(o, sa_cm(m->sa));
}

static const struct field node_fields[] = {
	F(node, smps),
	F(node, gmps),
};

static void node_stats(struct out *o, struct fabric_node *n)
{
	const struct hca *h = fabric_node_hca(n);
	const struct node *node = fabric_node_node(n);

	o->it.object = fabric_node_name(n);
	o->it.layer = h ? "hca" : "switch";
	put_fields(o, node, node_fields, ARRAY_SIZE(node_fields));
	put(o, "mads_dropped", true, node->dropped);
	/*
	 * The packets that the node's links or the switch's forwarding discarded come first, then the packets that
	 * the HCA refused.
	 */
	for (int d = 0; d < FABRIC_DROP_MAX; d++)
		put_drop(o, fabric_drop_name((enum fabric_drop)d),
			 fabric_node_drops(n, (enum fabric_drop)d));
	for (int d = 0; h && d < HCA_DROP_MAX; d++) {
		char reason[64];

		snprintf(reason, sizeof(reason), "hca_%s", hca_drop_name((enum hca_drop)d));
		put_drop(o, reason, hca_drops(h, (enum hca_drop)d));
	}
}

/* --- links over UDP */

static const struct field udp_fields[] = {
	F(udp_link_stats, rx_packets),	  F(udp_link_stats, rx_octets),
	F(udp_link_stats, rx_keepalives), F(udp_link_stats, tx_packets),
	F(udp_link_stats, tx_octets),	  F(udp_link_stats, tx_keepalives),
	F(udp_link_stats, ups),		  F(udp_link_stats, downs),
};

static const struct field udp_sock_fields[] = {
	F(udp_sock_stats, recv_calls),	F(udp_sock_stats, recv_msgs),
	F(udp_sock_stats, send_calls),	F(udp_sock_stats, send_msgs),
	F(udp_sock_stats, icmp_errors), F(udp_sock_stats, recv_cut),
	F(udp_sock_stats, gso_refused),
};

static void udp_stats(struct out *o, const struct inst_udp *u)
{
	o->it.object = u->name;
	o->it.layer = "udp";
	put_fields(o, &u->machine.stats, udp_fields, ARRAY_SIZE(udp_fields));
	put_fields(o, &u->sock.stats, udp_sock_fields, ARRAY_SIZE(udp_sock_fields));
	for (int d = UDP_DROP_NONE + 1; d < UDP_DROP_MAX; d++)
		put_drop(o, udp_drop_name((enum udp_drop)d), u->machine.stats.drops[d]);
}

/* --- clients of ibsim's protocol */

static const struct field ibsim_fields[] = {
	F(ibsim_stats, connects),
	F(ibsim_stats, disconnects),
	F(ibsim_stats, deaths),
	F(ibsim_stats, refused_connect),
	F(ibsim_stats, refused_ctl),
	F(ibsim_stats, requests),
	F(ibsim_stats, responses),
	F(ibsim_stats, answers),
	F(ibsim_stats, timeouts),
	F(ibsim_stats, unsolicited),
	D(ibsim_stats, drop_ctl_malformed),
	D(ibsim_stats, drop_malformed),
	D(ibsim_stats, drop_no_client),
	D(ibsim_stats, drop_duplicate),
	D(ibsim_stats, drop_open),
	D(ibsim_stats, drop_address),
	D(ibsim_stats, drop_queue),
	D(ibsim_stats, drop_rmpp),
};

static const struct field ibsim_client_fields[] = {
	F(ibsim_client_stats, requests),    F(ibsim_client_stats, responses),
	F(ibsim_client_stats, answers),	    F(ibsim_client_stats, timeouts),
	F(ibsim_client_stats, unsolicited),
};

static void ibsim_client_stats(struct out *o, const struct ibsim_client_show *c)
{
	char name[FABRIC_NAME_MAX + 32];

	snprintf(name, sizeof(name), "pid %u %s/%u", c->pid, c->node, c->port);
	o->it.object = name;
	put(o, "is_sm", false, c->issm);
	put(o, "open", false, c->open);
	put(o, "queued", false, c->queued);
	put_fields(o, &c->st, ibsim_client_fields, ARRAY_SIZE(ibsim_client_fields));
	o->it.object = NULL;
}

static void ibsim_stats_all(struct out *o, const struct ibsim_net *n)
{
	const struct ibsim_srv *srv = ibsim_server(n);
	struct ibsim_client_show c;

	o->it.layer = "ibsim";
	put_fields(o, ibsim_srv_stats(srv), ibsim_fields, ARRAY_SIZE(ibsim_fields));
	for (unsigned int id = 0; id < IBSIM_CLIENTS_MAX; id++)
		if (ibsim_srv_client(srv, id, &c))
			ibsim_client_stats(o, &c);
}

static void fabric_stats_all(struct out *o, const struct inst_fabric *f,
			     const struct ibsim_net *ibsim)
{
	const struct inst_sm *sm = fab_sm(f);

	o->it.object = f->name;
	o->it.layer = "fabric";
	put(o, "hops", false, fabric_stats(f->fabric)->hops);
	if (sm)
		sm_stats(o, sm);
	for (unsigned int k = 0; k < fabric_nnodes(f->fabric); k++)
		node_stats(o, fabric_node_at(f->fabric, k));
	o->it.object = f->name;
	if (ibsim)
		ibsim_stats_all(o, ibsim);
}

/* --- clients of the control socket */

static const struct field ctl_fields[] = {
	F(ctl_stats, clients),	       F(ctl_stats, requests),	      F(ctl_stats, clients_stuck),
	F(ctl_stats, clients_refused), F(ctl_stats, changes_refused),
};

static void control_stats(struct out *o, const struct ctl *ctl)
{
	o->it.layer = "control";
	o->it.object = ctl->in->cfg.name;
	put_fields(o, &ctl->stats, ctl_fields, ARRAY_SIZE(ctl_fields));
}

/* --- management programs */

static const struct field umad_fields[] = {
	F(umad_stats, sent),
	F(umad_stats, received),
	F(umad_stats, timeouts),
};

static void put_umad(struct out *o, const struct umad_stats *st)
{
	put_fields(o, st, umad_fields, ARRAY_SIZE(umad_fields));
	for (int d = 0; d < UMAD_DROP_MAX; d++)
		put_drop(o, umad_drop_name((enum umad_drop)d), st->drops[d]);
}

static void umad_client_stats(void *ctx, const struct umad_client_info *i)
{
	struct out *o = ctx;
	char name[FABRIC_NAME_MAX + 32];

	if (i->conn.kind != UMAD_KIND_MAD)
		return;
	snprintf(name, sizeof(name), "pid %d %s", i->pid, i->port);
	o->it.object = name;
	put(o, "agents", false, i->conn.agents);
	put(o, "queued", false, i->conn.queued);
	put_umad(o, &i->conn.st);
}

static void umad_stats_all(struct out *o, const struct umad_net *u)
{
	struct umad_stats closed;

	o->it.layer = "umad";
	o->it.object = "closed";
	umad_closed_stats(u, &closed);
	put_umad(o, &closed);
	umad_each(u, umad_client_stats, o);
}

void stats_each(const struct ctl *ctl, stats_fn *fn, void *ctx)
{
	struct inst *in = ctl->in;
	struct out o = { .fn = fn, .ctx = ctx };
	struct inst_iface *i;
	struct inst_port *p;
	struct inst_udp *u;

	list_for_each (i, &in->ifaces, link)
		iface_stats(&o, i);
	list_for_each (p, &in->ports, link)
		port_stats(&o, p);
	for (unsigned int k = 0; k < in->nfabs; k++)
		fabric_stats_all(&o, in->fab[k],
				 ctl->tools ? tools_ibsim(ctl->tools, in->fab[k]) : NULL);
	list_for_each (u, &in->udps.links, link)
		udp_stats(&o, u);
	if (ctl->tools)
		umad_stats_all(&o, tools_umad(ctl->tools));
	control_stats(&o, ctl);
	o.it.layer = "instance";
	o.it.object = in->cfg.name;
	put(&o, "packets_in_use", false, pkt_pool_pkts_used(in->pool));
	put(&o, "buffers_in_use", false, pkt_pool_bufs_used(in->pool));
	put(&o, "loop_turns", false, in->loop.turns);
	put(&o, "neigh_dumps", false, in->neigh_dumps.dumps);
	put(&o, "neigh_dump_pieces", false, in->neigh_dumps.pieces);
	put(&o, "neigh_dump_entries", false, in->neigh_dumps.entries);
}
