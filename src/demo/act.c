/* SPDX-License-Identifier: BSD-2-Clause */
#include "demo/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "demo/cap.h"
#include "util/escape.h"
#include "util/text.h"

#define PING_PATIENCE_MS 15000
#define INJECTED 100
#define SWITCHES_SHOWN 6 /* with more switches than this, the demo does not show each switch */
/*
 * If there are at most LINKS_SHOWN interfaces, the demo shows all of them. If there are more, it
 * shows the first LINKS_SHOWN_OF_MANY, and all that are not up.
 */
#define LINKS_SHOWN 6
#define LINKS_SHOWN_OF_MANY 4
#define LINE_OCTETS 120

/* --- the fabric and its links */

static void show_switch(const struct topo *t, const struct topo_node *n)
{
	char line[LINE_OCTETS];
	int used = snprintf(line, sizeof(line), "      %-9s", n->name);

	for (unsigned int p = 1; p <= n->nports; p++) {
		char one[TOPO_NAME_MAX + 16];
		int len;

		if (n->port[p].peer == TOPO_NO_PEER)
			continue;
		len = snprintf(one, sizeof(one), " %u:%s/%u", p, t->node[n->port[p].peer]->name,
			       n->port[p].peer_port);
		if (used + len + 4 >= (int)sizeof(line)) {
			memcpy(line + used, " ...", 5);
			break;
		}
		memcpy(line + used, one, (size_t)len + 1);
		used += len;
	}
	text_print_escaped(stdout, line);
	putchar('\n');
}

void demo_act_topology(struct demo *d)
{
	const struct topo *t = d->dc.topo;

	printf("%u hosts, %u switch%s, %u link%s; each host is a network namespace with an HCA "
	       "and a TAP\n",
	       d->dc.hosts, d->dc.switches, d->dc.switches == 1 ? "" : "es", d->dc.links,
	       text_s(d->dc.links));
	for (uint32_t i = 0; i < t->n && d->dc.switches <= SWITCHES_SHOWN; i++)
		if (t->node[i]->type == IB_NODE_SWITCH)
			show_switch(t, t->node[i]);
	fflush(stdout);
}

void demo_act_sweep(struct demo *d)
{
	json_t *rows = demo_ask(d, "fabric show", NULL, NULL, 0), *f = json_array_get(rows, 0);
	json_t *groups = demo_ask(d, "fabric group show", NULL, NULL, 0);
	json_t *g = json_array_get(groups, 0);
	json_t *sweep = json_object_get(json_object_get(f, "sm"), "last_sweep");

	demo_say(d, demo_num(sweep, "end_ports") > 0, "subnet up",
		 "sweep %.0f: %.0f SMPs in %.1f ms; %.0f switches, %.0f end ports, %.0f links",
		 demo_num(sweep, "number"), demo_num(sweep, "smps"),
		 demo_num(sweep, "duration_us") / 1e3, demo_num(sweep, "switches"),
		 demo_num(sweep, "end_ports"), demo_num(sweep, "links"));
	demo_say(d, demo_num(g, "nmembers") >= d->dc.hosts, "broadcast group",
		 "%s MLID %s Q_Key %s MTU %.0f, %.0f members", demo_str(g, "mgid"),
		 demo_str(g, "mlid"), demo_str(g, "qkey"), demo_num(g, "mtu"),
		 demo_num(g, "nmembers"));
	json_decref(rows);
	json_decref(groups);
}

/* Shows the interfaces. Of many interfaces, shows the first few and all interfaces that are not up. */
void demo_act_links(struct demo *d)
{
	json_t *rows = demo_ask(d, "link show", NULL, NULL, 0), *row;
	size_t n = json_array_size(rows), shown = n > LINKS_SHOWN ? LINKS_SHOWN_OF_MANY : n, i;
	unsigned int up = 0;

	json_array_foreach(rows, i, row)
	{
		bool is_up = !strcmp(demo_str(row, "state"), "UP");

		up += is_up;
		if (i >= shown && (is_up || d->failed))
			continue;
		demo_say(d, is_up, is_up ? "link up" : "link",
			 "%s@%s on %s LID %.0f QPN %s MTU %.0f MAC %s", demo_str(row, "ifname"),
			 demo_str(row, "host"), demo_str(row, "port"), demo_num(row, "lid"),
			 demo_str(row, "qpn"), demo_num(row, "mtu"), demo_str(row, "mac"));
	}
	if (shown < n || n < d->dc.hosts)
		demo_say(d, up == d->dc.hosts, "links up", "%u of %u", up, d->dc.hosts);
	json_decref(rows);
}

/* --- IP */

static void ping_all(struct demo *d, bool ipv6)
{
	struct demo_pings p = { 0 };
	int status = demo_ping_all(&d->net, ipv6, PING_PATIENCE_MS, &p);
	bool all = p.each == d->net.n - 1;
	char scope[96] = "";

	if (!all && !status)
		snprintf(scope, sizeof(scope),
			 " (%u by each host: the kernel's neighbour table holds %u)", p.each,
			 p.table);
	demo_say(d, !status && p.answered == p.sent,
		 ipv6 ? (all ? "ping fe80::, all pairs" : "ping fe80::")
		      : (all ? "ping, all pairs" : "ping"),
		 "%u of %u answered%s; median round trip %.0f us", p.answered, p.sent, scope,
		 p.median_us);
}

void demo_act_pings(struct demo *d)
{
	ping_all(d, false);
	ping_all(d, true);
}

void demo_act_df(struct demo *d)
{
	unsigned int last = d->net.n - 1, mtu = d->dc.mtu;
	int fits = demo_ping_df(&d->net, 0, last, mtu - 28);
	int over = demo_ping_df(&d->net, 0, last, mtu - 27);

	demo_say(d, !fits && over == -EMSGSIZE, "path MTU",
		 "DF ping of %u octets (IP %u): %s; of %u: %s", mtu - 28, mtu,
		 fits ? strerror(-fits) : "passes", mtu - 27, over ? strerror(-over) : "passes");
}

void demo_act_mcast(struct demo *d)
{
	unsigned int members = d->net.n > 3 ? 2 : 1;
	struct demo_mcast m = { 0 };
	int status = demo_mcast(&d->net, members, &m);
	char others[64] = "";

	if (m.others)
		snprintf(others, sizeof(others), ", %u at the interface%s of %u other%s", m.leaked,
			 text_s(m.others), m.others, text_s(m.others));
	demo_say(d, !status && m.got == m.members * m.sent && !m.leaked, "IPv4 multicast",
		 "%u datagrams to 239.17.4.1: %u of %u at %u receiver%s%s", m.sent, m.got,
		 m.members * m.sent, m.members, text_s(m.members), others);
}

/* --- forged packets */

void demo_act_inject(struct demo *d)
{
	static const char *const wrong[] = { "qkey", "pkey", "icrc" };
	char text[256] = "";
	struct text t = TEXT_IN(text);
	bool ok = true;

	for (size_t i = 0; i < 3; i++) {
		json_t *rows =
			demo_ask(d, "fabric inject",
				 json_pack("{s:s, s:s, s:s, s:i}", "from", DEMO_IFNAME "@h1", "to",
					   DEMO_IFNAME "@h2", "wrong", wrong[i], "count", INJECTED),
				 NULL, 0);
		json_t *row = json_array_get(rows, 0), *n;
		const char *reason;

		ok &= demo_num(row, "sent") == INJECTED && demo_num(row, "delivered") == 0;
		text_add(&t, "%s%.0f wrong %s:", i ? "; " : "", demo_num(row, "sent"), wrong[i]);
		json_object_foreach(json_object_get(row, "dropped"), reason, n)
		{
			text_add(&t, " %lld %.32s", (long long)json_integer_value(n), reason);
		}
		json_decref(rows);
	}
	demo_say(d, ok, "forged packets", "%s (dropped: %s)",
		 ok ? "none delivered" : "not all dropped", text);
}

static int check_capture(struct demo *d, struct demo_cap *ret)
{
	if (d->cap_fd < 0)
		d->cap_fd = open(d->o->capture, O_RDONLY | O_CLOEXEC);
	return d->cap_fd < 0 ? -errno : demo_cap_check(d->cap_fd, ret);
}

void demo_act_capture(struct demo *d)
{
	struct demo_cap c = { 0 };
	json_t *rows = demo_ask(d, "capture show", NULL, NULL, 0);
	json_t *id = json_object_get(json_array_get(rows, 0), "id");
	char err[256];
	int status;

	json_decref(demo_ask(d, "capture stop", json_pack("{s:O}", "id", id ? id : json_null()),
			     err, sizeof(err)));
	json_decref(rows);
	if (*err) { /* probably the disk is full */
		demo_say(d, false, "capture", "%s", err);
		return;
	}
	status = check_capture(d, &c);
	if (status) {
		demo_say(d, false, "capture", "reading it back: %s", strerror(-status));
		return;
	}
	/* The capture contains the forged packets of demo_act_inject(). Only these packets may have a wrong CRC. */
	demo_say(d, c.packets && c.bad == INJECTED, "capture checked",
		 "%llu packets (%llu SMPs, %llu GMPs, %llu IPoIB): ICRC and VCRC right but for "
		 "%s%llu forged",
		 (unsigned long long)c.packets, (unsigned long long)c.smps,
		 (unsigned long long)c.gmps, (unsigned long long)c.ipoib,
		 c.bad == INJECTED ? "the " : "", (unsigned long long)c.bad);
}
