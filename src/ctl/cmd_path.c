/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/cmd.h"
#include "eth/token.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "text/print.h"

/* Paths: the cache of the SA clients, and `path get`, which asks the SA. */

/* --- path show */

static const char *const state_names[] = {
	[SAC_PATH_PENDING] = "pending",
	[SAC_PATH_VALID] = "valid",
	[SAC_PATH_FAILED] = "failed",
};

struct walk {
	struct ctl_req *r;
	struct inst_port *p;
};

static json_t *port_row(const struct inst_port *p)
{
	json_t *row = cmd_fabric_row(p->fab);

	cmd_set(row, "port", cmd_strf("%s/%u", fabric_node_name(p->node), p->num));
	return row;
}

static void path_row(void *ctx, const struct sac_path_info *i)
{
	struct walk *w = ctx;
	json_t *row = port_row(w->p);

	cmd_set_str(row, "state", state_names[i->state]);
	cmd_set(row, "status", cmd_sac_status(i->status));
	cmd_set(row, "sgid", cmd_gid(&i->key.sgid));
	cmd_set(row, "dgid", cmd_gid(&i->key.dgid));
	cmd_set(row, "pkey", cmd_hex(i->key.pkey, 4));
	if (i->state == SAC_PATH_VALID)
		cmd_path_rec(row, &i->rec);
	cmd_set(row, "until_ms", cmd_until(i->until, w->r->now));
	cmd_set_int(row, "waiters", i->waiters);
	ctl_row(w->r, row);
}

static void path_show(struct ctl_req *r)
{
	bool bad;
	struct inst_iface *i = ctl_arg_iface(r, &bad);
	struct inst_port *p;

	if (bad)
		return;
	list_for_each (p, &r->in->ports, link) {
		struct walk w = { .r = r, .p = p };

		if (!i || i->port == p)
			sac_path_each(p->ifc.sac, path_row, &w);
	}
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

/* --- an address as a GID */

/* Finds the GID by the kernel's neighbour entry (IP -> token) and the link's (token -> GID). */
static bool gid_by_neighbour(const struct inst_iface *i, const uint8_t *addr, unsigned int family,
			     ib_gid *ret)
{
	struct rtnl_ip ip = { .family = family == 6 ? RTNL_V6 : RTNL_V4 };
	const struct ipoib_neigh *peer;
	struct rtnl_neigh n;

	memcpy(ip.addr, addr, family == 6 ? 16 : 4);
	if (rtnl_neigh_get(&i->host->rtnl, i->ifindex, &ip, &n) || !rtnl_neigh_resolved(&n))
		return false;
	peer = eth_peer_by_mac(i->ifc.eth, n.mac);
	if (peer)
		*ret = peer->lladdr.gid;
	return peer;
}

/* Finds the GID of another interface of this instance on the same link that has the address. */
static bool gid_by_config(const struct inst_iface *from, const uint8_t *ip, unsigned int family,
			  ib_gid *ret)
{
	struct inst_iface *i;

	list_for_each (i, &from->inst->ifaces, link) {
		if (i->port->fab != from->port->fab || ((i->ifc.pkey ^ from->ifc.pkey) & 0x7fff))
			continue;
		for (unsigned int k = 0; k < i->naddrs; k++) {
			if (i->addr[k].family != family ||
			    memcmp(i->addr[k].octets, ip, family == 6 ? 16 : 4))
				continue;
			*ret = sac_port(i->port->ifc.sac)->gid;
			return true;
		}
	}
	return false;
}

/* Finds the GID for @text, which is an IP address or a GID. */
static int resolve(const struct inst_iface *i, const char *text, ib_gid *ret)
{
	uint8_t ip[16];
	unsigned int family = inet_pton(AF_INET, text, ip) == 1 ? 4 : 6;

	if (family == 6 && inet_pton(AF_INET6, text, ip) != 1)
		return -1;
	if (gid_by_neighbour(i, ip, family, ret) || gid_by_config(i, ip, family, ret))
		return 0;
	return family == 6 ? print_gid_parse(ret, text) : -1;
}

/* --- path get */

struct getter {
	struct ctl_hold hold;
	struct sac_path_wait wait;
	struct inst_iface *iface;
	ib_gid dgid;
};

static void answer(struct ctl_req *r, struct inst_iface *i, const ib_gid *dgid, int status,
		   const struct ib_path_rec *rec)
{
	char buf[SAC_STATUS_LEN], gid[PRINT_GID_LEN];
	json_t *row;

	if (status) {
		ctl_end(r, status == -ETIMEDOUT ? PROTO_EXIT_TIMEOUT : PROTO_EXIT_FAILED,
			"%s@%s: path to %s: %s", i->name, i->host->name,
			print_gid(gid, sizeof(gid), dgid),
			sac_status_print(buf, sizeof(buf), status));
		return;
	}
	row = cmd_iface_row(i);
	cmd_path_rec(row, rec);
	ctl_row(r, row);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

static void get_done(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now)
{
	struct getter *g = container_of(w, struct getter, wait);

	g->hold.req.now = now;
	answer(&g->hold.req, g->iface, &g->dgid, status, rec);
	free(g);
}

static void get_gone(struct ctl_hold *h)
{
	struct getter *g = container_of(h, struct getter, hold);

	sac_path_cancel(&g->wait);
	free(g);
}

static void ask(struct ctl_req *r, struct inst_iface *i, const ib_gid *dgid)
{
	struct sac_path_key key = {
		.sgid = sac_port(i->port->ifc.sac)->gid,
		.dgid = *dgid,
		.pkey = i->ifc.pkey | IB_PKEY_FULL,
	};
	struct getter *g = calloc(1, sizeof(*g));
	struct ib_path_rec rec;
	int status;

	if (!g) {
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	g->iface = i;
	g->dgid = *dgid;
	g->wait.done = get_done;
	status = sac_path_get(i->port->ifc.sac, &key, &g->wait, &rec, r->now);
	if (status == -EINPROGRESS) {
		ctl_hold(r, &g->hold, get_gone);
		return;
	}
	free(g);
	answer(r, i, dgid, status, &rec);
}

static void path_get(struct ctl_req *r)
{
	bool bad;
	const char *addr = ctl_arg_str(r, "address", &bad);
	struct inst_iface *i = bad ? NULL : ctl_arg_iface(r, &bad);
	ib_gid dgid;

	if (bad)
		return;
	if (!i && !list_empty(&r->in->ifaces))
		i = list_first(&r->in->ifaces, struct inst_iface, link);
	if (!addr || !i)
		ctl_end(r, PROTO_EXIT_USAGE, !addr ? "address: missing" : "there is no interface");
	else if (resolve(i, addr, &dgid))
		ctl_end(r, PROTO_EXIT_USAGE,
			"address '%.64s': expected a GID, or an IP address that %s@%s has resolved",
			addr, i->name, i->host->name);
	else
		ask(r, i, &dgid);
}

const struct ctl_cmd cmd_path[] = {
	{ "path show", path_show, (const char *const[]){ "dev", NULL } },
	{ "path get", path_get, (const char *const[]){ "address", "dev", NULL } },
	{ NULL },
};
