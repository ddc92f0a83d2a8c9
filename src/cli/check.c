/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/finding.h"
#include "live/live.h"
#include "netdev/rtnl.h"
#include "os/ipoib_dev.h"
#include "probe/probe.h"
#include "util/text.h"

/*
 * `uipoib check PORT` checks everything that IPoIB needs at a port. The code in probe/ makes the
 * requests and judges the answers. This file asks the kernel about its IPoIB interface and about a
 * neighbour, and opens the umad device.
 */

static const struct cli_key keys[] = {
	{ "port", .bare = true, .required = true },
	{ "pkey", .type = CLI_INT },
	{ "peer" },
	{ "dev" },
	{ "timeout", .type = CLI_INT },
	{ "mkey" },
	{ "smkey" },
	{ NULL },
};

struct task {
	json_t *args;
	const char *port;
	struct probe_cfg cfg;
	struct ipoib_dev dev; /* .name is "" if the kernel has no IPoIB interface at the port */
	unsigned int timeout_ms;
};

static const char *word(const struct task *t, const char *key)
{
	return json_string_value(json_object_get(t->args, key));
}

static long long number(const struct task *t, const char *key, long long otherwise)
{
	json_t *v = json_object_get(t->args, key);

	return v ? json_integer_value(v) : otherwise;
}

/* --- words of the command */

static int set_key(const struct task *t, const char *key, uint64_t *ret)
{
	return word(t, key) ? cli_u64(ret, key, word(t, key)) : 0;
}

static int set_numbers(struct task *t)
{
	long long pkey = number(t, "pkey", 0), ms = number(t, "timeout", 500);

	if (json_object_get(t->args, "pkey") && (pkey < 1 || pkey > 0xffff || !(pkey & 0x7fff)))
		return cli_error(PROTO_EXIT_USAGE,
				 "check: pkey: expected 0x0001 to 0xffff, and not 0x8000");
	if (ms < 1 || ms > 60000)
		return cli_error(PROTO_EXIT_USAGE, "check: timeout: expected 1 to 60000");
	t->cfg.pkey = (uint16_t)pkey;
	t->timeout_ms = (unsigned int)ms;
	/*
	 * The kernel repeats a request three times, and then reports that the request is lost. On a
	 * busy machine this report is late, so this program waits longer than the kernel.
	 */
	t->cfg.patience = NS_MSEC(ms) * 5 + NS_SEC(10);
	t->cfg.sm_key = 1; /* default SM_Key of OpenSM and of the SM of uipoib */
	return set_key(t, "mkey", &t->cfg.mkey) || set_key(t, "smkey", &t->cfg.sm_key)
		       ? PROTO_EXIT_USAGE
		       : 0;
}

/* --- the kernel's interface */

static int find_interface(struct task *t, const char *port)
{
	struct probe_if *i = &t->cfg.ifc;
	int err = ipoib_dev_find(port, word(t, "dev"), t->cfg.pkey, &t->dev);

	if (err && word(t, "dev"))
		return cli_error(PROTO_EXIT_USAGE, "check: dev '%s': no IPoIB interface of %s",
				 word(t, "dev"), port);
	if (err)
		return 0;
	if (t->cfg.pkey && t->dev.pkey && (t->cfg.pkey ^ t->dev.pkey) & 0x7fff)
		return cli_error(PROTO_EXIT_USAGE, "check: dev '%s' has P_Key 0x%04x", t->dev.name,
				 t->dev.pkey);
	snprintf(i->name, sizeof(i->name), "%s", t->dev.name);
	i->up = t->dev.up;
	i->carrier = t->dev.carrier;
	i->connected = t->dev.connected;
	i->mtu = t->dev.mtu;
	i->pkey = t->dev.pkey;
	memcpy(i->broadcast.raw, t->dev.broadcast + 4, sizeof(i->broadcast.raw));
	return 0;
}

/* --- the peer */

/* Ask the kernel for its neighbour entry of an address. Return: 0, even if there is no entry; -errno */
static int ask_neighbour(struct task *t, const struct rtnl_ip *ip)
{
	struct probe_cfg *cfg = &t->cfg;
	struct rtnl_neigh n = { 0 };
	struct rtnl nl;
	int err = rtnl_open(&nl);

	if (err)
		return err;
	err = rtnl_neigh_get(&nl, t->dev.ifindex, ip, &n);
	rtnl_close(&nl);
	if (err && err != -ENOENT)
		return err;
	cfg->neigh = err ? PROBE_NEIGH_ABSENT : PROBE_NEIGH_UNRESOLVED;
	if (!err && rtnl_neigh_resolved(&n) && n.hw_len == IPOIB_DEV_HW) {
		cfg->neigh = PROBE_NEIGH_KNOWN;
		cfg->has_peer = true;
		memcpy(cfg->peer.raw, n.hw + 4, sizeof(cfg->peer.raw));
	}
	return 0;
}

static int find_peer(struct task *t)
{
	const char *peer = word(t, "peer");
	struct rtnl_ip ip = { .family = RTNL_V4 };
	ib_gid gid;
	int err;

	if (!peer)
		return 0;
	snprintf(t->cfg.address, sizeof(t->cfg.address), "%s", peer);
	if (inet_pton(AF_INET, peer, ip.addr) != 1) {
		ip.family = RTNL_V6;
		if (inet_pton(AF_INET6, peer, ip.addr) != 1)
			return cli_error(PROTO_EXIT_USAGE,
					 "check: peer '%s': expected an IP address or a GID", peer);
	}
	if (!t->dev.name[0] && ip.family == RTNL_V4)
		return cli_error(
			PROTO_EXIT_USAGE,
			"check: peer '%s': no IPoIB interface of the kernel is at this port "
			"that could know the address; give the peer's GID",
			peer);
	err = t->dev.name[0] ? ask_neighbour(t, &ip) : 0;
	if (err)
		return cli_error(PROTO_EXIT_ENV, "check: the neighbours of %s: %s", t->dev.name,
				 strerror(-err));
	if (t->cfg.neigh != PROBE_NEIGH_UNASKED &&
	    (t->cfg.neigh != PROBE_NEIGH_ABSENT || ip.family == RTNL_V4))
		return 0;
	/* No neighbour has this IPv6 address, or the kernel was not asked, so take the text for a GID. */
	memcpy(gid.raw, ip.addr, sizeof(gid.raw));
	t->cfg.has_peer = true;
	t->cfg.peer = gid;
	return 0;
}

/* --- the report */

static void print_json(const char *port, const struct probe_report *r)
{
	json_t *facts = json_object(), *list = json_array();

	for (unsigned int i = 0; i < r->nfacts; i++)
		json_object_set_new(facts, r->fact[i].name, finding_utf8(r->fact[i].text));
	for (unsigned int i = 0; i < r->n; i++)
		json_array_append_new(list, finding_json(probe_kind_info(r->finding[i].kind),
							 r->finding[i].what));
	cli_print_json(json_pack("{s:i, s:{s:o, s:o, s:I, s:I, s:o, s:{s:I, s:I}}}", "schema",
				 PROTO_SCHEMA, "check", "port", finding_utf8(port), "facts", facts,
				 "faults", (json_int_t)r->faults, "notes", (json_int_t)r->notes,
				 "findings", list, "requests", "sent", (json_int_t)r->sent, "lost",
				 (json_int_t)r->lost));
}

static void print_text(const char *port, const struct probe_report *r)
{
	for (unsigned int i = 0; i < r->nfacts; i++)
		cli_print(stdout, "%-10s %s\n", r->fact[i].name, r->fact[i].text);
	for (unsigned int i = 0; i < r->n; i++) {
		finding_print(probe_kind_info(r->finding[i].kind), r->finding[i].what);
		finding_advice(probe_kind_info(r->finding[i].kind));
	}
	cli_print(stdout, "%s: %u fault%s, %u note%s\n", port, r->faults, text_s(r->faults),
		  r->notes, text_s(r->notes));
}

static int judge(const struct probe *p, const char *port)
{
	struct probe_report r;

	probe_judge(p, &r);
	if (cli_opts.json)
		print_json(port, &r);
	else
		print_text(port, &r);
	return r.faults ? PROTO_EXIT_FAILED : 0;
}

static int ask(struct task *t, struct live *l)
{
	struct probe *p = probe_create(&t->cfg);
	int err = p ? live_probe(l, p) : -ENOMEM, status;

	status = err ? cli_error(PROTO_EXIT_ENV, "%s: %s", t->port, strerror(-err))
		     : judge(p, l->dev.name);
	probe_free(p);
	return status;
}

static int run(struct task *t)
{
	struct live l = { .dev.fd = -1 };
	char why[LIVE_ERR_MAX];
	int status = set_numbers(t);

	if (status)
		return status;
	if (live_open(&l, t->port, why))
		return cli_error(PROTO_EXIT_ENV, "%s: %s", t->port, why);
	l.dev.timeout_ms = t->timeout_ms;
	status = find_interface(t, l.dev.name);
	if (!status)
		status = find_peer(t);
	if (!status)
		status = ask(t, &l);
	live_close(&l);
	return status;
}

static int usage(void)
{
	fputs("uipoib check PORT\n"
	      "        what stands between a port and IP, and what to do about it; PORT is one "
	      "that "
	      "umad sees:\n"
	      "        mlx5_0/1, mlx5_0, umad0. Nothing is changed\n"
	      "  pkey P             P_Key of the link (that of the kernel's interface, or else the "
	      "port's first one)\n"
	      "  peer ADDRESS|GID   look at a peer, too: a neighbour of the kernel's interface, or "
	      "a "
	      "GID\n"
	      "  dev NAME           the kernel's interface\n"
	      "  timeout MS         until a request is repeated, three times at most (500)\n"
	      "  mkey KEY           M_Key of requests to subnet management agents (0)\n"
	      "  smkey KEY          SM_Key, to ask who is a member of the group (1, as OpenSM has "
	      "it)\n",
	      stdout);
	return PROTO_EXIT_OK;
}

int cli_check(int argc, char **argv)
{
	struct task t = { 0 };
	int status;

	if (cli_opts.help)
		return usage();
	status = cli_args(&t.args, keys, argc, argv);
	if (status)
		return status;
	t.port = word(&t, "port");
	status = run(&t);
	json_decref(t.args);
	return status;
}
