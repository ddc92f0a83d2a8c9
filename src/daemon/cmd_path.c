/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/cmd.h"
#include "wire/print.h"

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

	cmd_set(row, "port", json_sprintf("%s/%u", fabric_node_name(p->node), p->num));
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
			sac_path_each(p->sac, path_row, &w);
	}
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

/* --- an address as a GID */

struct find {
	const char *mac;
	bool found;
	ib_gid gid;
};

static void match_token(void *ctx, const struct ipoib_neigh_info *n)
{
	struct find *f = ctx;
	json_t *token;

	if (!n->neigh->has_token)
		return;
	token = cmd_mac(n->neigh->token);
	if (!strcmp(json_string_value(token), f->mac)) {
		f->found = true;
		f->gid = n->neigh->lladdr.gid;
	}
	json_decref(token);
}

static bool array_has(const json_t *list, const json_t *ip)
{
	size_t k;
	json_t *one;

	json_array_foreach(list, k, one) if (json_equal(one, ip)) return true;
	return false;
}

/* What the kernel resolved: IP -> token, and the link: token -> GID. */
static bool gid_by_neighbour(const struct inst_iface *i, const json_t *ip, ib_gid *ret)
{
	json_t *kernel = cmd_kernel_neighs(i), *list;
	struct find f = { .found = false };
	const char *mac;

	json_object_foreach(kernel, mac, list)
	{
		if (!array_has(list, ip))
			continue;
		f.mac = mac;
		ipoib_neigh_each(i->ipoib, match_token, &f);
	}
	json_decref(kernel);
	if (f.found)
		*ret = f.gid;
	return f.found;
}

/* Addresses of this instance's own interfaces on the same link. */
static bool gid_by_config(const struct inst_iface *from, const uint8_t *ip, unsigned int family,
			  ib_gid *ret)
{
	struct inst_iface *i;

	list_for_each (i, &from->inst->ifaces, link) {
		if (i->port->fab != from->port->fab || ((i->pkey ^ from->pkey) & 0x7fff))
			continue;
		for (unsigned int k = 0; k < i->naddrs; k++) {
			if (i->addr[k].family != family ||
			    memcmp(i->addr[k].octets, ip, family == 6 ? 16 : 4))
				continue;
			*ret = sac_port(i->port->sac)->gid;
			return true;
		}
	}
	return false;
}

/* An IP address that somebody knows, else a GID. */
static int resolve(const struct inst_iface *i, const char *text, ib_gid *ret)
{
	uint8_t ip[16];
	unsigned int family = inet_pton(AF_INET, text, ip) == 1 ? 4 : 6;
	json_t *as_json;
	bool known;

	if (family == 6 && inet_pton(AF_INET6, text, ip) != 1)
		return -1;
	as_json = cmd_ip(ip, family);
	known = gid_by_neighbour(i, as_json, ret) || gid_by_config(i, ip, family, ret);
	json_decref(as_json);
	if (!known && family == 6)
		return print_gid_parse(ret, text);
	return known ? 0 : -1;
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
		.sgid = sac_port(i->port->sac)->gid,
		.dgid = *dgid,
		.pkey = i->pkey | IB_PKEY_FULL,
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
	status = sac_path_get(i->port->sac, &key, &g->wait, &rec, r->now);
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
