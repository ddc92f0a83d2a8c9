/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/mon_drops.h"
#include "cmd/mon_trap.h"
#include "ctl/priv.h"
#include "inst/fab_sm.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "sm/group.h"

/*
 * DOC: monitor
 *
 * Sends a row for each event until the client closes the connection. These are the events:
 *
 *	- changes of link states
 *	- interfaces that are added or removed by a reload, or because their P_Key has been added to
 *	  the port's P_Key table or removed from it
 *	- events of ports
 *	- sweeps, traps, multicast groups and end ports of embedded SMs
 *	- once a second, the drop counters that grew
 *
 * The states of the links are compared after an inst_work() in which one of them changed. So a state
 * that began and ended in the same inst_work() appears in the log only.
 */

struct link_seen {
	const struct inst_iface *iface;
	enum ipoib_link_state state;
	bool carrier;
};

/* An embedded SM whose events are reported */
struct mon_sm {
	struct list link; /* link in .sms of struct monitor */
	struct monitor *mon;
	struct inst_sm *sm;
	struct sm_listener listener;
};

struct monitor {
	struct ctl_hold hold;
	struct ctl *ctl;
	struct inst_watch watch;
	struct mon_drops drops;
	struct link_seen *link;
	unsigned int nlinks, links_cap;
	uint64_t link_changes; /* inst.link_changes at the last comparison */
	struct list sms; /* list of struct mon_sm */
};

static json_t *event_row(struct monitor *m, const char *event, ns_t now)
{
	json_t *row = json_object();

	m->hold.req.now = now;
	cmd_set_int(row, "unix_ms", (long long)((m->ctl->in->unix_epoch + now) / NS_MSEC(1)));
	cmd_set_str(row, "event", event);
	return row;
}

/* --- links and ports */

static void link_event(struct monitor *m, struct link_seen *s, ns_t now)
{
	struct ipoib_link_info info;
	json_t *row;

	ipoib_link_info(s->iface->ifc.ipoib, &info);
	if (info.state == s->state && s->iface->carrier == s->carrier)
		return;
	s->state = info.state;
	s->carrier = s->iface->carrier;
	row = event_row(m, "link", now);
	cmd_set_str(row, "ifname", s->iface->name);
	cmd_set_str(row, "host", s->iface->host->name);
	cmd_set_str(row, "state", ipoib_link_state_name(info.state));
	cmd_set_bool(row, "carrier", s->carrier);
	cmd_set_str(row, "reason", iface_reason(s->iface, &info));
	ctl_row(&m->hold.req, row);
}

static struct link_seen *link_add(struct monitor *m, const struct inst_iface *i)
{
	struct ipoib_link_info info;

	if (m->nlinks == m->links_cap) {
		unsigned int cap = 2 * m->links_cap + 4;
		struct link_seen *v = realloc(m->link, cap * sizeof(*v));

		if (!v)
			return NULL; /* out of memory, so the link's events are not shown */
		m->link = v;
		m->links_cap = cap;
	}
	ipoib_link_info(i->ifc.ipoib, &info);
	m->link[m->nlinks] = (struct link_seen){
		.iface = i,
		.state = info.state,
		.carrier = i->carrier,
	};
	return &m->link[m->nlinks++];
}

static void iface_comes_or_goes(struct inst_watch *w, struct inst_iface *i, bool comes, ns_t now)
{
	struct monitor *m = container_of(w, struct monitor, watch);
	json_t *row = event_row(m, "interface", now);

	if (comes)
		link_add(m, i);
	for (unsigned int k = 0; !comes && k < m->nlinks; k++) {
		if (m->link[k].iface == i)
			m->link[k--] = m->link[--m->nlinks];
	}
	cmd_set_str(row, "ifname", i->name);
	cmd_set_str(row, "host", i->host->name);
	cmd_set_str(row, "what", comes ? "added" : "removed");
	cmd_set(row, "pkey", cmd_hex(i->ifc.pkey, 4));
	ctl_row(&m->hold.req, row);
}

static void look(struct inst_watch *w, ns_t now)
{
	struct monitor *m = container_of(w, struct monitor, watch);

	if (m->link_changes == m->ctl->in->link_changes)
		return;
	m->link_changes = m->ctl->in->link_changes;
	for (unsigned int k = 0; k < m->nlinks; k++)
		link_event(m, &m->link[k], now);
}

static void port_event(struct inst_watch *w, struct inst_port *p, enum ca_event ev, ns_t now)
{
	struct monitor *m = container_of(w, struct monitor, watch);
	json_t *row = event_row(m, "port", now);

	cmd_set(row, "fabric", cmd_port_fabric(p));
	cmd_set_str(row, "port", p->name);
	cmd_set_str(row, "what", ca_event_name(ev));
	ctl_row(&m->hold.req, row);
}

/* --- the SM */

static json_t *sm_row(struct mon_sm *f, const char *event, ns_t now)
{
	json_t *row = event_row(f->mon, event, now);

	cmd_set_str(row, "fabric", f->sm->fab->name);
	return row;
}

static void sm_state(void *ctx, enum smp_sm_state st, ns_t now)
{
	struct mon_sm *f = ctx;
	json_t *row = sm_row(f, "sm", now);
	char port[FABRIC_NAME_MAX];

	cmd_set_str(row, "port", fabric_port_name(f->sm->at, port, sizeof(port)));
	cmd_set_str(row, "state", sm_state_name(st));
	ctl_row(&f->mon->hold.req, row);
}

static void sm_stage(void *ctx, const struct sm_sweep *sw, ns_t now)
{
	struct mon_sm *f = ctx;
	json_t *row;

	if (sw->stage != SM_STAGE_UP)
		return;
	row = sm_row(f, "sweep", now);
	cmd_set_int(row, "number", (long long)sw->number);
	cmd_set_int(row, "nodes", sw->nodes);
	cmd_set_int(row, "links", sw->links);
	cmd_set_int(row, "smps", sw->smps);
	cmd_set_int(row, "errors", sw->errors);
	ctl_row(&f->mon->hold.req, row);
}

static void sm_port(void *ctx, const ib_gid *gid, bool in_service, ns_t now)
{
	struct mon_sm *f = ctx;
	json_t *row = sm_row(f, "end_port", now);

	cmd_set(row, "gid", cmd_gid(gid));
	cmd_set_str(row, "what", in_service ? "in service" : "out of service");
	ctl_row(&f->mon->hold.req, row);
}

static void sm_group(void *ctx, const struct sm_group *g, bool created, ns_t now)
{
	struct mon_sm *f = ctx;
	json_t *row = sm_row(f, "group", now);

	cmd_set(row, "mgid", cmd_gid(&g->rec.mgid));
	cmd_set(row, "mlid", cmd_hex(g->rec.mlid, 4));
	cmd_set_str(row, "what", created ? "created" : "deleted");
	ctl_row(&f->mon->hold.req, row);
}

static void sm_notice(void *ctx, const struct mad_notice *n, ns_t now)
{
	struct mon_sm *f = ctx;
	json_t *all = mon_trap(f->sm, n), *members;
	size_t i;

	json_array_foreach(all, i, members)
	{
		json_t *row = sm_row(f, "trap", now);

		cmd_set_int(row, "trap", n->trap);
		cmd_set_int(row, "issuer_lid", n->issuer_lid);
		json_object_update(row, members);
		ctl_row(&f->mon->hold.req, row);
	}
	json_decref(all);
}

static const struct sm_events sm_events = {
	.state = sm_state,
	.stage = sm_stage,
	.port = sm_port,
	.group = sm_group,
	.notice = sm_notice,
};

/* --- drops */

static void on_drops(struct mon_drops *d, const struct stats_item *it, uint64_t by, ns_t now)
{
	struct monitor *m = container_of(d, struct monitor, drops);
	json_t *row = event_row(m, "drop", now);

	cmd_set_str(row, "layer", it->layer);
	cmd_set_str(row, "object", it->object);
	cmd_set_str(row, "counter", it->name);
	cmd_set_int(row, "count", (long long)by);
	ctl_row(&m->hold.req, row);
}

/* --- start and end */

static void mon_sm_free(struct mon_sm *s)
{
	sm_unlisten(&s->listener);
	list_del(&s->link);
	free(s);
}

static void mon_gone(struct ctl_hold *h)
{
	struct monitor *m = container_of(h, struct monitor, hold);
	struct mon_sm *s, *tmp;

	inst_unwatch(&m->watch);
	mon_drops_del(m->ctl, &m->drops);
	list_for_each_safe (s, tmp, &m->sms, link)
		mon_sm_free(s);
	free(m->link);
	free(m);
}

static void see_links(struct monitor *m)
{
	struct inst_iface *i;

	list_for_each (i, &m->ctl->in->ifaces, link)
		link_add(m, i);
}

static void listen_sm(struct monitor *m, struct inst_sm *sm)
{
	struct mon_sm *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	s->mon = m;
	s->sm = sm;
	s->listener = (struct sm_listener){ .ops = &sm_events, .ctx = s };
	list_init(&s->listener.link);
	list_add_tail(&m->sms, &s->link);
	sm_listen(sm->sm, &s->listener);
}

static void listen_sms(struct monitor *m)
{
	struct inst_sm *sm;

	for (unsigned int k = 0; k < m->ctl->in->nfabs; k++)
		list_for_each (sm, &m->ctl->in->fab[k]->sms, link)
			listen_sm(m, sm);
}

static void sm_comes_or_goes(struct inst_watch *w, struct inst_sm *sm, bool comes)
{
	struct monitor *m = container_of(w, struct monitor, watch);
	struct mon_sm *s, *tmp;

	if (comes) {
		listen_sm(m, sm);
		return;
	}
	list_for_each_safe (s, tmp, &m->sms, link)
		if (s->sm == sm)
			mon_sm_free(s);
}

static void monitor(struct ctl_req *r)
{
	struct monitor *m = calloc(1, sizeof(*m));

	if (!m) {
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	m->ctl = r->client->ctl;
	m->watch.fn = look;
	m->watch.port = port_event;
	m->watch.sm = sm_comes_or_goes;
	m->watch.iface = iface_comes_or_goes;
	m->drops.grew = on_drops;
	list_init(&m->sms);
	ctl_hold(r, &m->hold, mon_gone);
	see_links(m);
	listen_sms(m);
	inst_watch(r->in, &m->watch);
	mon_drops_add(m->ctl, &m->drops, r->now);
}

const struct ctl_cmd cmd_monitor[] = {
	{ "monitor", CTL_READS, monitor, NULL },
	{ NULL },
};
