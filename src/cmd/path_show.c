/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "cmd/cmd.h"
#include "ctl/slices.h"
#include "inst/iface.h"
#include "inst/port.h"

/*
 * `path show`: the path caches of the SA clients. A cache may have tens of thousands of paths. They are copied, which
 * takes less than 0.1 us each, and the rows of the copies are sent in slices.
 */

/*
 * Largest number of `path show` requests that wait at a time, each with a copy of the cache. Clients of the read-only
 * socket can have only half of them.
 */
#define PATH_SHOWS_MAX (2 * CTL_READERS_MAX)

static const char *const state_names[] = {
	[SAC_PATH_PENDING] = "pending",
	[SAC_PATH_VALID] = "valid",
	[SAC_PATH_FAILED] = "failed",
};

struct entry {
	json_t *port; /* the members of the row that name the port */
	struct sac_path_info path;
};

struct shower {
	struct ctl_slices out;
	struct entry *entry;
	size_t n, cap, at; /* entries; room for entries; the next entry to be sent */
	json_t *port; /* port whose cache is being copied */
	bool nomem;
	ns_t asked; /* time of the copy */
};

static void copy_path(void *ctx, const struct sac_path_info *i)
{
	struct shower *s = ctx;

	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;
		struct entry *e = reallocarray(s->entry, cap, sizeof(*e));

		s->nomem |= !e;
		if (!e)
			return;
		s->entry = e;
		s->cap = cap;
	}
	s->entry[s->n++] = (struct entry){ json_incref(s->port), *i };
}

static void copy_port(struct shower *s, const struct inst_port *p)
{
	s->port = json_pack("{s:o, s:o}", "fabric", cmd_port_fabric(p), "port", ctl_str(p->name));
	s->nomem |= !s->port;
	sac_path_each(p->ifc.sac, copy_path, s);
	json_decref(s->port);
}

static void path_row(struct shower *s, const struct entry *e)
{
	const struct sac_path_info *i = &e->path;
	json_t *row = json_copy(e->port);

	cmd_set_str(row, "state", state_names[i->state]);
	cmd_set(row, "status", cmd_sac_status(i->status));
	cmd_set(row, "sgid", cmd_gid(&i->key.sgid));
	cmd_set(row, "dgid", cmd_gid(&i->key.dgid));
	cmd_set(row, "pkey", cmd_hex(i->key.pkey, 4));
	if (i->state == SAC_PATH_VALID)
		cmd_path_rec(row, &i->rec);
	cmd_set(row, "until_ms", cmd_until(i->until, s->asked));
	cmd_set_int(row, "waiters", i->waiters);
	ctl_row(&s->out.hold.req, row);
}

static bool some_paths(struct ctl_slices *out, uint32_t n)
{
	struct shower *s = container_of(out, struct shower, out);

	for (; n && s->at < s->n; n--)
		path_row(s, &s->entry[s->at++]);
	return s->at < s->n;
}

static void shower_free(struct shower *s)
{
	for (size_t i = 0; i < s->n; i++)
		json_decref(s->entry[i].port);
	free(s->entry);
	free(s);
}

static void paths_sent(struct ctl_slices *out)
{
	ctl_end(&out->hold.req, PROTO_EXIT_OK, NULL);
	shower_free(container_of(out, struct shower, out));
}

static void show_gone(struct ctl_hold *h)
{
	struct shower *s = container_of(h, struct shower, out.hold);

	ctl_slices_stop(&s->out);
	shower_free(s);
}

/* Copies the paths of the port of @i, or of all ports. Return: NULL if out of memory */
static struct shower *copy_paths(const struct ctl_req *r, const struct inst_iface *i)
{
	struct shower *s = calloc(1, sizeof(*s));
	const struct inst_port *p;

	if (!s)
		return NULL;
	s->out.some = some_paths;
	s->out.done = paths_sent;
	s->asked = r->now;
	list_for_each (p, &r->in->ports, link)
		if (!i || i->port == p)
			copy_port(s, p);
	if (!s->nomem)
		return s;
	shower_free(s);
	return NULL;
}

static void path_show(struct ctl_req *r)
{
	bool bad;
	struct inst_iface *i = ctl_arg_iface(r, &bad);
	struct shower *s;

	if (bad)
		return;
	s = copy_paths(r, i);
	if (!s) {
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	ctl_slices_hold(&s->out, r, show_gone);
	ctl_slices_begin(&s->out, r->now);
}

const struct ctl_cmd cmd_path_show[] = {
	{ "path show", CTL_READS, path_show, (const char *const[]){ "dev", NULL },
	  .at_most = PATH_SHOWS_MAX },
	{ NULL },
};
