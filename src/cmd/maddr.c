/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/cmd.h"
#include "inst/iface.h"

/* `maddr`: the multicast groups that interfaces receive or send to. */

struct walk {
	struct ctl_req *r;
	struct inst_iface *i;
};

static void maddr_row(void *ctx, const struct ipoib_mcast_info *g)
{
	struct walk *w = ctx;
	json_t *row = cmd_iface_row(w->i);

	cmd_set(row, "group",
		g->broadcast ? json_string("broadcast")
			     : cmd_ip(g->group, g->proto == IPOIB_IPV6 ? 6 : 4));
	cmd_set(row, "mgid", cmd_gid(&g->mgid));
	cmd_set(row, "mlid", g->mlid ? cmd_hex(g->mlid, 4) : json_null());
	cmd_set_str(row, "state", ipoib_mcast_state_name(g->state));
	cmd_set(row, "status", cmd_sac_status(g->status));
	cmd_set_bool(row, "full_member", g->full);
	cmd_set_bool(row, "send_only", g->send_only);
	cmd_set_bool(row, "non_member", g->non_member);
	cmd_set_bool(row, "attached", g->attached);
	cmd_set_int(row, "receivers", g->receivers);
	cmd_set(row, "until_ms", cmd_until(g->until, w->r->now));
	cmd_set_int(row, "held_packets", g->held);
	ctl_row(w->r, row);
}

static void maddr_rows(struct ctl_req *r, struct inst_iface *i)
{
	struct walk w = { .r = r, .i = i };

	ipoib_mcast_each(i->ifc.ipoib, maddr_row, &w);
}

static void maddr_show(struct ctl_req *r)
{
	cmd_each_iface(r, maddr_rows);
}

const struct ctl_cmd cmd_maddr[] = {
	{ "maddr show", CTL_READS, maddr_show, (const char *const[]){ "dev", NULL } },
	{ NULL },
};
