/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/stats.h"

struct walk {
	struct ctl_req *r;
	bool zeros;
};

static void stats_row(void *ctx, const struct stats_item *it)
{
	struct walk *w = ctx;
	json_t *row;

	if (!it->value && !w->zeros)
		return;
	row = it->iface ? cmd_iface_row(it->iface) : json_object();
	cmd_set_str(row, "layer", it->layer);
	cmd_set_str(row, "object", it->object);
	cmd_set_str(row, "counter", it->name);
	cmd_set_bool(row, "drop", it->drop);
	cmd_set_int(row, "value", (long long)it->value);
	ctl_row(w->r, row);
}

/* Sends the counters that are not 0; with the argument "details", sends all counters. */
static void stats_show(struct ctl_req *r)
{
	bool bad;
	struct walk w = { .r = r, .zeros = ctl_arg_bool(r, "details", &bad) };
	struct inst_iface *i = bad ? NULL : ctl_arg_iface(r, &bad);

	if (bad)
		return;
	if (i)
		stats_iface(i, stats_row, &w);
	else
		stats_each(r->ctl, stats_row, &w);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

const struct ctl_cmd cmd_stats[] = {
	{ "stats show", CTL_READS, stats_show, (const char *const[]){ "dev", "details", NULL } },
	{ NULL },
};
