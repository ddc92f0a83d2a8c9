/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/demo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/conf.h"
#include "daemon/demo_cap.h"
#include "daemon/demo_conf.h"
#include "daemon/demo_net.h"
#include "daemon/demo_trace.h"
#include "daemon/proto.h"
#include "daemon/serve.h"
#include "daemon/loop.h"

#define UP_PATIENCE_MS 60000
#define PING_PATIENCE_MS 15000
#define INJECTED 100
#define IFNAME "uib0"

struct demo {
	const struct demo_opts *o;
	struct demo_conf dc;
	struct serve serve;
	struct proto_client c;
	struct demo_net net;
	int cap_fd;
	unsigned int failed;
	ns_t start;
	char cut[64]; /* the switch port that was cut */
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* --- lines */

static void say(struct demo *d, bool ok, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* One line of the show: " ok " or "FAIL", what was tried, its figure. */
static void say(struct demo *d, bool ok, const char *what, const char *fmt, ...)
{
	va_list ap;

	if (!ok)
		d->failed++;
	printf("%s  %-22s ", ok ? " ok " : "FAIL", what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static const char *str(json_t *row, const char *name)
{
	const char *s = json_string_value(json_object_get(row, name));

	return s ? s : "?";
}

static double num(json_t *row, const char *name)
{
	return json_number_value(json_object_get(row, name));
}

/* --- asking the instance */

struct rows {
	json_t *v;
};

static void keep_row(void *ctx, json_t *row)
{
	json_array_append(((struct rows *)ctx)->v, row);
}

/* All rows of an answer as an array, json_decref() it; empty with a message if it failed. */
static json_t *ask(struct demo *d, const char *cmd, json_t *args)
{
	struct rows r = { json_array() };
	char err[512];
	int status = proto_call(&d->c, cmd, args, keep_row, &r, err, sizeof(err), NULL);

	json_decref(args);
	if (status) {
		fprintf(stderr, "uipoib: demo: %s: %s\n", cmd, err);
		json_array_clear(r.v);
	}
	return r.v;
}

/* --- acts */

static void show_topology(struct demo *d)
{
	const struct topo *t = d->dc.topo;

	printf("%u hosts on %u switches, %u links; each host is a network namespace with an HCA "
	       "and a TAP\n",
	       d->dc.hosts, d->dc.switches, d->dc.links);
	for (uint32_t i = 0; i < t->n && d->dc.switches <= 6; i++) {
		const struct topo_node *n = t->node[i];

		if (n->type != IB_NODE_SWITCH)
			continue;
		printf("      %-9s", n->name);
		for (unsigned int p = 1; p <= n->nports; p++)
			if (n->port[p].peer != TOPO_NO_PEER)
				printf(" %u:%s/%u", p, t->node[n->port[p].peer]->name,
				       n->port[p].peer_port);
		putchar('\n');
	}
}

static void show_sweep(struct demo *d)
{
	json_t *rows = ask(d, "fabric show", NULL), *f = json_array_get(rows, 0);
	json_t *groups = ask(d, "fabric group show", NULL), *g = json_array_get(groups, 0);
	json_t *sweep = json_object_get(json_object_get(f, "sm"), "last_sweep");

	say(d, num(sweep, "end_ports") > 0, "subnet up",
	    "sweep %.0f: %.0f SMPs in %.1f ms; %.0f switches, %.0f end ports, %.0f links",
	    num(sweep, "number"), num(sweep, "smps"), num(sweep, "duration_us") / 1e3,
	    num(sweep, "switches"), num(sweep, "end_ports"), num(sweep, "links"));
	say(d, g != NULL, "broadcast group", "%s MLID %s Q_Key %s MTU %.0f, %.0f members",
	    str(g, "mgid"), str(g, "mlid"), str(g, "qkey"), num(g, "mtu"), num(g, "nmembers"));
	json_decref(rows);
	json_decref(groups);
}

static void show_links(struct demo *d)
{
	json_t *rows = ask(d, "link show", NULL), *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (i >= 4 && json_array_size(rows) > 6) {
			printf("      ... and %zu more\n", json_array_size(rows) - i);
			break;
		}
		say(d, !strcmp(str(row, "state"), "UP"), "link up",
		    "%s@%s on %s LID %.0f QPN %s MTU %.0f MAC %s", str(row, "ifname"),
		    str(row, "host"), str(row, "port"), num(row, "lid"), str(row, "qpn"),
		    num(row, "mtu"), str(row, "mac"));
	}
	json_decref(rows);
}

static void act_pings(struct demo *d)
{
	struct demo_pings p = { 0 };
	int status = demo_ping_all(&d->net, false, PING_PATIENCE_MS, &p);

	say(d, !status && p.answered == p.sent, "ping, all pairs",
	    "%u of %u answered; median round trip %.0f us, addresses resolved on the way",
	    p.answered, p.sent, p.median_us);
	p = (struct demo_pings){ 0 };
	status = demo_ping_all(&d->net, true, PING_PATIENCE_MS, &p);
	say(d, !status && p.answered == p.sent, "ping fe80::, all pairs",
	    "%u of %u answered; median round trip %.0f us", p.answered, p.sent, p.median_us);
}

static void act_df(struct demo *d)
{
	unsigned int last = d->net.n - 1, mtu = d->dc.mtu;
	int fits = demo_ping_df(&d->net, 0, last, mtu - 28);
	int over = demo_ping_df(&d->net, 0, last, mtu - 27);

	say(d, !fits && over == -EMSGSIZE, "path MTU", "DF ping of %u octets: %s; of %u: %s",
	    mtu - 28, fits ? strerror(-fits) : "passes", mtu - 27,
	    over ? strerror(-over) : "passes");
}

static void act_mcast(struct demo *d)
{
	unsigned int members = d->net.n > 3 ? 2 : 1;
	struct demo_mcast m = { 0 };
	int status = demo_mcast(&d->net, members, &m);

	say(d, !status && m.got == m.members * m.sent && !m.leaked, "IPv4 multicast",
	    "%u datagrams to 239.17.4.1: %u of %u at %u receivers, %u at %u others", m.sent, m.got,
	    m.members * m.sent, m.members, m.leaked, m.others);
}

static void act_inject(struct demo *d)
{
	static const char *const wrong[] = { "qkey", "pkey", "icrc" };
	char text[256] = "";
	size_t used = 0;
	bool ok = true;

	for (size_t i = 0; i < 3; i++) {
		json_t *rows = ask(d, "fabric inject",
				   json_pack("{s:s, s:s, s:s, s:i}", "from", IFNAME "@h1", "to",
					     IFNAME "@h2", "wrong", wrong[i], "count", INJECTED));
		json_t *row = json_array_get(rows, 0);
		const char *reason;
		json_t *n;

		ok &= num(row, "sent") == INJECTED && num(row, "delivered") == 0;
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%.0f %s:", i ? "; " : "", num(row, "sent"), wrong[i]);
		json_object_foreach(json_object_get(row, "dropped"), reason, n) used +=
			(size_t)snprintf(text + used, sizeof(text) - used, " %lld %s",
					 (long long)json_integer_value(n), reason);
		json_decref(rows);
	}
	say(d, ok, "forged packets", "none delivered (%s)", text);
}

static void act_capture(struct demo *d)
{
	struct demo_cap c = { 0 };
	json_t *rows = ask(d, "capture show", NULL);
	json_t *id = json_object_get(json_array_get(rows, 0), "id");
	int status;

	json_decref(ask(d, "capture stop", json_pack("{s:O}", "id", id ? id : json_null())));
	json_decref(rows);
	if (d->cap_fd < 0)
		d->cap_fd = open(d->o->capture, O_RDONLY | O_CLOEXEC);
	status = d->cap_fd < 0 ? -errno : demo_cap_check(d->cap_fd, &c);
	/* The forged ICRCs are in it, as they were on the wire: the only wrong ones. */
	say(d, !status && c.packets && c.bad == INJECTED, "capture checked",
	    "%llu packets (%llu SMPs, %llu GMPs, %llu IPoIB): ICRC and VCRC right but for the %d "
	    "forged",
	    (unsigned long long)c.packets, (unsigned long long)c.smps, (unsigned long long)c.gmps,
	    (unsigned long long)c.ipoib, INJECTED);
}

static bool is_switch(const struct demo *d, const char *port)
{
	size_t len = strrchr(port, '/') ? (size_t)(strrchr(port, '/') - port) : strlen(port);

	for (uint32_t i = 0; i < d->dc.topo->n; i++) {
		const struct topo_node *n = d->dc.topo->node[i];

		if (n->type == IB_NODE_SWITCH && strlen(n->name) == len &&
		    !memcmp(n->name, port, len))
			return true;
	}
	return false;
}

static double sent_words(json_t *row)
{
	return num(json_object_get(row, "counters"), "xmit_data");
}

/* The link between switches that carries most: where the flow goes. */
static bool busiest(struct demo *d, json_t *before, json_t *after, char *ret, size_t size)
{
	double most = 0;
	json_t *row;
	size_t i;

	json_array_foreach(after, i, row)
	{
		double moved = sent_words(row) - sent_words(json_array_get(before, i));

		if (moved <= most || !is_switch(d, str(row, "port")) ||
		    !is_switch(d, str(row, "peer")))
			continue;
		most = moved;
		snprintf(ret, size, "%s", str(row, "port"));
	}
	return most > 0;
}

static void set_link(struct demo *d, const char *port, bool up)
{
	json_decref(ask(d, "fabric link set", json_pack("{s:s, s:b}", "port", port, "up", up)));
}

static void act_cut(struct demo *d, struct demo_flow *f)
{
	json_t *a = ask(d, "fabric port show", NULL), *b;
	double silence;
	bool alive;

	poll(NULL, 0, 200);
	b = ask(d, "fabric port show", NULL);
	if (!busiest(d, a, b, d->cut, sizeof(d->cut))) {
		say(d, d->dc.switches < 2, "link cut", "no link between switches carries the flow");
	} else {
		demo_flow_silence(f);
		set_link(d, d->cut, false);
		alive = demo_flow_alive(f, 5000);
		poll(NULL, 0, 700);
		alive = demo_flow_alive(f, 5000) && alive;
		silence = demo_flow_silence(f);
		say(d, alive, "link cut under it", "%s down: the flow %s, %.0f ms of silence",
		    d->cut, alive ? "goes on another way" : "does not come back", silence);
		set_link(d, d->cut, true);
	}
	json_decref(a);
	json_decref(b);
}

static void act_flow(struct demo *d)
{
	struct demo_flow *f;
	uint64_t octets;
	ns_t t;
	int status = demo_flow_start(&d->net, 0, d->net.n - 1, &f);

	if (status) {
		say(d, false, "TCP flow", "%s", strerror(-status));
		return;
	}
	demo_flow_alive(f, 3000);
	octets = demo_flow_octets(f);
	t = loop_clock();
	poll(NULL, 0, 1000);
	octets = demo_flow_octets(f) - octets;
	t = loop_clock() - t;
	say(d, octets > 0, "TCP flow", "h1 to h%u: %.2f Gb/s", d->net.n,
	    (double)octets * 8 / (double)t);
	act_cut(d, f);
	demo_flow_stop(f);
}

static void epilogue(struct demo *d)
{
	if (d->o->capture)
		printf("      tshark -r %s -V | less\n", d->o->capture);
	if (d->o->keep)
		printf("running as '%s' until Ctrl-C; in another terminal:\n"
		       "      uipoib exec h1 ping 10.4.0.%u     uipoib trace h1 h%u     uipoib "
		       "link show -d\n",
		       d->o->name, d->net.n, d->net.n);
	else
		printf("next: build/uipoib demo --keep            (stays; then: uipoib exec h1 "
		       "bash, uipoib trace h1 h2)\n"
		       "      build/uipoib demo --capture x.pcap  (then: tshark -r x.pcap -V)\n"
		       "      build/uipoib demo --print-config    (the same as files for: uipoib "
		       "run -c FILE)\n");
}

/* --- life */

static int get_hosts(struct demo *d)
{
	d->net.n = d->dc.hosts;
	d->net.host = calloc(d->net.n, sizeof(*d->net.host));
	if (!d->net.host)
		return -ENOMEM;
	for (unsigned int i = 0; i < d->net.n; i++) {
		struct demo_host *h = &d->net.host[i];
		json_t *args;
		char err[256];
		int status;

		snprintf(h->name, sizeof(h->name), "h%u", i + 1);
		snprintf(h->ifname, sizeof(h->ifname), IFNAME);
		h->ip4 = d->dc.host[i].ip4;
		h->ip6 = d->dc.host[i].ip6;
		args = json_pack("{s:s}", "host", h->name);
		status = proto_call(&d->c, "exec", args, NULL, NULL, err, sizeof(err), NULL);
		json_decref(args);
		if (status) {
			fprintf(stderr, "uipoib: demo: %s: %s\n", h->name, err);
			return -EIO;
		}
		h->net_fd = d->c.fds[0];
		h->user_fd = d->c.fds[1];
		d->c.fds[0] = d->c.fds[1] = -1;
	}
	return 0;
}

static int wait_up(struct demo *d)
{
	json_t *args = json_pack("{s:i}", "timeout_ms", UP_PATIENCE_MS);
	char err[512];
	int status = proto_call(&d->c, "wait", args, NULL, NULL, err, sizeof(err), NULL);

	json_decref(args);
	if (status)
		fprintf(stderr, "uipoib: demo: %s\n", err);
	return status;
}

static void acts(struct demo *d)
{
	void (*const act[])(struct demo * d) = { show_sweep, show_links, act_pings,   act_df,
						 act_mcast,  act_inject, act_capture, act_flow };

	for (size_t i = 0; i < sizeof(act) / sizeof(*act) && !interrupted; i++)
		act[i](d);
	if (!interrupted)
		d->failed += !demo_trace(&d->c, &d->net, 0, d->net.n - 1);
}

static int run(struct demo *d)
{
	struct serve_cfg sc = {
		.name = d->o->name, .conf = &d->dc.conf, .topo = d->dc.topo, .log_fd = -1
	};
	char err[1024];
	int status = serve_start(&d->serve, &sc);

	if (status) {
		fprintf(stderr, "uipoib: demo: %s\n", strerror(-status));
		return PROTO_EXIT_FAILED;
	}
	status = serve_ready(&d->serve, err, sizeof(err));
	if (status) {
		fprintf(stderr, "uipoib: demo: %s\n", err);
		return status;
	}
	status = proto_connect(&d->c, d->o->name);
	if (status) {
		fprintf(stderr, "uipoib: demo: control socket: %s\n", strerror(-status));
		return PROTO_EXIT_FAILED;
	}
	show_topology(d);
	status = wait_up(d);
	if (status)
		return status;
	if (get_hosts(d))
		return PROTO_EXIT_FAILED;
	acts(d);
	printf("%s in %.1f s\n", d->failed ? "FAILED" : "all checks passed",
	       (double)(loop_clock() - d->start) / 1e9);
	if (!interrupted)
		epilogue(d);
	fflush(stdout);
	while (d->o->keep && !interrupted && waitpid(d->serve.pid, NULL, WNOHANG) == 0)
		poll(NULL, 0, 100);
	return d->failed ? PROTO_EXIT_FAILED : PROTO_EXIT_OK;
}

/* The capture goes to a file of its own; only a copy of the path is the daemon's. */
static int make_capture(struct demo *d)
{
	char path[64];

	if (d->o->capture)
		return demo_conf_capture(&d->dc, d->o->capture);
	d->cap_fd = memfd_create("uipoib-demo-capture", MFD_CLOEXEC);
	if (d->cap_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", d->cap_fd);
	return demo_conf_capture(&d->dc, path);
}

int demo_main(const struct demo_opts *o)
{
	struct demo d = {
		.o = o, .cap_fd = -1, .start = loop_clock(), .c = { .fd = -1, .fds = { -1, -1 } }
	};
	struct sigaction sa = { .sa_handler = on_interrupt };
	char err[1024] = "";
	int status = demo_conf_make(&d.dc, o->hosts, o->topology, err, sizeof(err));

	if (status) {
		fprintf(stderr, "uipoib: demo: %s\n", err);
		return PROTO_EXIT_USAGE;
	}
	if (o->print_config) {
		status = demo_conf_print(&d.dc, stdout);
		demo_conf_free(&d.dc);
		return status ? PROTO_EXIT_FAILED : PROTO_EXIT_OK;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	status = make_capture(&d);
	if (status) {
		fprintf(stderr, "uipoib: demo: capture: %s\n", strerror(-status));
		status = PROTO_EXIT_USAGE;
	} else {
		status = run(&d);
	}
	proto_close(&d.c);
	serve_stop(&d.serve);
	for (unsigned int i = 0; d.net.host && i < d.net.n; i++) {
		if (d.net.host[i].net_fd > 0)
			close(d.net.host[i].net_fd);
		if (d.net.host[i].user_fd > 0)
			close(d.net.host[i].user_fd);
	}
	free(d.net.host);
	if (d.cap_fd >= 0)
		close(d.cap_fd);
	demo_conf_free(&d.dc);
	return interrupted && !o->keep ? 128 + SIGINT : status;
}
