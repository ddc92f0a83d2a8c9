/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "cmd/cmd.h"
#include "ctl/slices.h"
#include "inst/iface.h"
#include "inst/port.h"

/* `path show`: the path caches of the SA clients, which may have tens of thousands of paths, so they are sent in slices */

static const char *const state_names[] = {
	[SAC_PATH_PENDING] = "pending",
	[SAC_PATH_VALID] = "valid",
	[SAC_PATH_FAILED] = "failed",
};

/* Ports may be closed and opened between two slices, so a port is remembered by its number. */
struct shower {
	struct ctl_slices out;
	const struct inst_port *p; /* port whose paths are being sent; valid within a slice */
	uint64_t serial, last; /* numbers of the next port and of the last one */
	uint64_t at; /* place in this cache */
};

static void path_row(void *ctx, const struct sac_path_info *i)
{
	struct shower *s = ctx;
	json_t *row = json_object();

	cmd_set(row, "fabric", cmd_port_fabric(s->p));
	cmd_set_str(row, "port", s->p->name);
	cmd_set_str(row, "state", state_names[i->state]);
	cmd_set(row, "status", cmd_sac_status(i->status));
	cmd_set(row, "sgid", cmd_gid(&i->key.sgid));
	cmd_set(row, "dgid", cmd_gid(&i->key.dgid));
	cmd_set(row, "pkey", cmd_hex(i->key.pkey, 4));
	if (i->state == SAC_PATH_VALID)
		cmd_path_rec(row, &i->rec);
	cmd_set(row, "until_ms", cmd_until(i->until, s->out.hold.req.now));
	cmd_set_int(row, "waiters", i->waiters);
	ctl_row(&s->out.hold.req, row);
}

/* Find the port whose cache is sent next. Return: false if all caches were sent */
static bool find_port(struct shower *s)
{
	const struct inst_port *p;

	list_for_each (p, &s->out.hold.req.in->ports, link) {
		if (p->serial < s->serial)
			continue;
		s->at = p->serial == s->serial ? s->at : 0; /* 0: the port .serial was closed */
		s->serial = p->serial;
		s->p = p;
		return p->serial <= s->last;
	}
	return false;
}

static bool some_paths(struct ctl_slices *out, unsigned int n)
{
	struct shower *s = container_of(out, struct shower, out);

	for (; n; s->serial++, s->at = 0) {
		if (!find_port(s))
			return false;
		if (sac_path_some(s->p->ifc.sac, &s->at, &n, path_row, s))
			return true;
	}
	return true;
}

static void paths_sent(struct ctl_slices *out)
{
	ctl_end(&out->hold.req, PROTO_EXIT_OK, NULL);
	free(container_of(out, struct shower, out));
}

static void show_gone(struct ctl_hold *h)
{
	struct shower *s = container_of(h, struct shower, out.hold);

	ctl_slices_stop(&s->out);
	free(s);
}

static void path_show(struct ctl_req *r)
{
	bool bad;
	struct inst_iface *i = ctl_arg_iface(r, &bad);
	struct shower *s;

	if (bad)
		return;
	s = calloc(1, sizeof(*s));
	if (!s) {
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	s->out.some = some_paths;
	s->out.done = paths_sent;
	s->serial = i ? i->port->serial : 0;
	s->last = i ? i->port->serial : UINT64_MAX;
	ctl_slices_hold(&s->out, r, show_gone);
	ctl_slices_begin(&s->out, r->now);
}

const struct ctl_cmd cmd_path_show[] = {
	{ "path show", CTL_READS, path_show, (const char *const[]){ "dev", NULL } },
	{ NULL },
};
