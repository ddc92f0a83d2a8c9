/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cmd.h"

#include <arpa/inet.h>
#include <errno.h>

#include "inst/fab.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "text/print.h"

json_t *cmd_gid(const ib_gid *g)
{
	char buf[PRINT_GID_LEN];

	return json_string(print_gid(buf, sizeof(buf), g));
}

json_t *cmd_guid(uint64_t guid)
{
	return cmd_hex(guid, 16);
}

json_t *cmd_hex(unsigned long long v, int digits)
{
	return json_sprintf("0x%0*llx", digits, v);
}

json_t *cmd_mac(const uint8_t mac[6])
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
			    mac[5]);
}

json_t *cmd_lladdr(const struct ipoib_lladdr *a)
{
	char buf[64];

	return json_string(print_lladdr(buf, sizeof(buf), a));
}

json_t *cmd_ip(const uint8_t *addr, unsigned int family)
{
	char buf[INET6_ADDRSTRLEN];

	inet_ntop(family == 6 ? AF_INET6 : AF_INET, addr, buf, sizeof(buf));
	return json_string(buf);
}

json_t *cmd_ms(ns_t t)
{
	return json_integer((json_int_t)(t / NS_MSEC(1)));
}

json_t *cmd_until(ns_t t, ns_t now)
{
	if (t == 0 || t == NS_NEVER)
		return json_null();
	return cmd_ms(t > now ? t - now : 0);
}

json_t *cmd_rate(unsigned int rate_code)
{
	unsigned int mbps = ib_rate_mbps(rate_code);

	return mbps ? json_integer(mbps) : json_null();
}

json_t *cmd_sac_status(int status)
{
	char buf[SAC_STATUS_LEN];

	return json_string(status ? sac_status_print(buf, sizeof(buf), status) : "ok");
}

void cmd_set(json_t *row, const char *name, json_t *v)
{
	json_object_set_new(row, name, v);
}

void cmd_set_str(json_t *row, const char *name, const char *s)
{
	cmd_set(row, name, ctl_str(s));
}

void cmd_set_int(json_t *row, const char *name, long long v)
{
	cmd_set(row, name, json_integer(v));
}

void cmd_set_bool(json_t *row, const char *name, bool v)
{
	cmd_set(row, name, json_boolean(v));
}

json_t *cmd_iface_row(const struct inst_iface *i)
{
	return json_pack("{s:o, s:o}", "ifname", ctl_str(i->name), "host", ctl_str(i->host->name));
}

json_t *cmd_fabric_row(const struct inst_fabric *f)
{
	return json_pack("{s:o}", "fabric", ctl_str(f->name));
}

json_t *cmd_port_fabric(const struct inst_port *p)
{
	return p->fab ? ctl_str(p->fab->name) : json_null();
}

void cmd_path_rec(json_t *row, const struct ib_path_rec *p)
{
	cmd_set(row, "sgid", cmd_gid(&p->sgid));
	cmd_set(row, "dgid", cmd_gid(&p->dgid));
	cmd_set_int(row, "slid", p->slid);
	cmd_set_int(row, "dlid", p->dlid);
	cmd_set(row, "pkey", cmd_hex(p->pkey, 4));
	cmd_set_int(row, "sl", p->sl);
	cmd_set_int(row, "mtu", ib_mtu_octets(p->mtu_code));
	cmd_set(row, "rate_mbps", cmd_rate(p->rate_code));
	cmd_set_int(row, "packet_life", p->life);
	cmd_set_int(row, "hop_limit", p->hop_limit);
	cmd_set_int(row, "tclass", p->tclass);
	cmd_set_int(row, "flow_label", p->flow_label);
	cmd_set_bool(row, "reversible", p->reversible);
}

void cmd_each_iface(struct ctl_req *r, void (*fn)(struct ctl_req *r, struct inst_iface *i))
{
	bool bad;
	struct inst_iface *i = ctl_arg_iface(r, &bad);

	if (bad)
		return;
	if (i) {
		fn(r, i);
	} else {
		list_for_each (i, &r->in->ifaces, link)
			fn(r, i);
	}
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

void cmd_each_fabric(struct ctl_req *r, void (*fn)(struct ctl_req *r, struct inst_fabric *f))
{
	bool bad;
	const char *name = ctl_arg_str(r, "fabric", &bad);
	struct inst_fabric *f = NULL;

	if (bad)
		return;
	if (name) {
		f = ctl_arg_fabric(r);
		if (!f)
			return;
		fn(r, f);
	} else {
		for (unsigned int k = 0; k < r->in->nfabs; k++)
			fn(r, r->in->fab[k]);
	}
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

struct fabric_port *cmd_arg_port(struct ctl_req *r, struct inst_fabric *f, const char *name)
{
	bool bad;
	const char *text = ctl_arg_str(r, name, &bad);
	struct fabric_port *p;
	int status;

	if (bad)
		return NULL;
	if (!text) {
		ctl_end(r, PROTO_EXIT_USAGE, "%s: missing, expected NODE/PORT", name);
		return NULL;
	}
	status = fabric_port_find(f->fabric, text, &p);
	if (!status)
		return p;
	ctl_end(r, PROTO_EXIT_USAGE, "%s '%s': %s in fabric %s", name, text,
		status == -ENOENT   ? "no such node"
		: status == -ERANGE ? "the node has no such port"
				    : "expected NODE/PORT; not found",
		f->name);
	return NULL;
}
