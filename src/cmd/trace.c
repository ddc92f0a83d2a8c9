/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/advice.h"
#include "cmd/cmd.h"
#include "trace/match.h"
#include "fabric/trace.h"
#include "inst/fab.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "ipoib/iid.h"
#include "text/print.h"

/*
 * DOC: trace
 *
 * Shows what the fabric does with the packets of one ping, connection, datagram, resolution of an
 * address, or join of a group (trace/match.h). With the argument "details" it also shows all MADs
 * to QP1 that one of the two ports sends or gets. The client makes the host send the packets, and
 * gets rows until it closes the connection. A fabric has one trace at a time.
 */

/* largest number of packets that one trace can number; later packets are not shown */
#define PACKETS_MAX 256
#define PRINT_PACKET 4096

struct tracer {
	struct ctl_hold hold;
	struct inst_fabric *fab;
	struct trace_match match;
	ns_t started;
	uint64_t id[PACKETS_MAX]; /* hashes of the packets; packet number k has id[k - 1] */
	unsigned int n;
};

static bool match(void *ctx, const struct pkt *p)
{
	const struct tracer *t = ctx;

	return trace_match(&t->match, p);
}

/* --- numbers of packets */

/*
 * FNV-1a hash of a packet without its first two octets and its VCRC. The VL, in the first octet,
 * and the VCRC change from link to link.
 */
static uint64_t packet_hash(const uint8_t *p, size_t len)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t k = 2; k + IB_VCRC_LEN < len; k++)
		h = (h ^ p[k]) * 0x100000001b3ull;
	return h;
}

static void tell_packet(struct tracer *t, const uint8_t *wire, size_t len)
{
	static char text[PRINT_PACKET];
	json_t *row = json_pack("{s:s, s:i, s:i}", "event", "packet", "packet", (int)t->n, "octets",
				(int)len);

	cmd_set_str(row, "text", print_packet(text, sizeof(text), wire, len));
	ctl_row(&t->hold.req, row);
}

/*
 * Return the number of the packet in the trace, from 1; 0: the trace has no room for another packet
 */
static unsigned int number(struct tracer *t, const struct pkt *p)
{
	static uint8_t wire[IB_PKT_MAX];
	size_t len = fabric_pkt_to_wire(p, wire, sizeof(wire));
	uint64_t id = packet_hash(wire, len);

	for (unsigned int k = 0; k < t->n; k++)
		if (t->id[k] == id)
			return k + 1;
	if (!len || t->n == PACKETS_MAX)
		return 0;
	t->id[t->n++] = id;
	tell_packet(t, wire, len);
	return t->n;
}

static const char *const kind_names[] = {
	[FABRIC_TRACE_SENT] = "sent",
	[FABRIC_TRACE_LFT] = "lft",
	[FABRIC_TRACE_MFT] = "mft",
	[FABRIC_TRACE_SMI] = "mad",
	[FABRIC_TRACE_DELIVERED] = "delivered",
	[FABRIC_TRACE_DISCARDED] = "discarded",
	[FABRIC_TRACE_FAULT] = "fault",
};

static json_t *mask_ports(const uint64_t mask[4])
{
	json_t *v = json_array();

	for (unsigned int p = 0; p < 256; p++)
		if (mask[p / 64] >> (p % 64) & 1)
			json_array_append_new(v, json_integer(p));
	return v;
}

static void set_ports(json_t *row, const struct fabric_trace_event *ev)
{
	bool in = ev->kind != FABRIC_TRACE_SENT && ev->kind != FABRIC_TRACE_FAULT;
	bool out = ev->kind == FABRIC_TRACE_SENT || ev->kind == FABRIC_TRACE_LFT ||
		   ev->kind == FABRIC_TRACE_FAULT;

	if (in)
		cmd_set_int(row, "in_port", ev->in_port);
	if (out)
		cmd_set_int(row, "out_port", ev->out_port);
	if (ev->kind == FABRIC_TRACE_MFT)
		cmd_set(row, "ports", mask_ports(ev->mask));
}

static void on_event(void *ctx, const struct fabric_trace_event *ev)
{
	struct tracer *t = ctx;
	unsigned int n;
	struct ib_lrh lrh;
	json_t *row;

	t->hold.req.now = ev->now;
	n = number(t, ev->pkt);
	if (!n || ib_lrh_decode(&lrh, ev->pkt->hdr + ev->pkt->head, pkt_hdr_len(ev->pkt)))
		return;
	row = json_pack("{s:s, s:i}", "event", kind_names[ev->kind], "packet", (int)n);
	cmd_set_str(row, "node", ev->node ? fabric_node_name(ev->node) : "");
	set_ports(row, ev);
	cmd_set(row, "dlid",
		ib_lid_is_unicast(lrh.dlid) ? json_integer(lrh.dlid) : cmd_hex(lrh.dlid, 4));
	if (ev->kind == FABRIC_TRACE_DISCARDED)
		cmd_set_str(row, "reason",
			    ev->hca_drop >= 0 ? hca_drop_name((enum hca_drop)ev->hca_drop)
			    : ev->drop >= 0   ? fabric_drop_name((enum fabric_drop)ev->drop)
					      : "?");
	cmd_set_int(row, "time_us", (long long)((ev->now - t->started) / 1000));
	ctl_row(&t->hold.req, row);
}

/* --- source and destination */

static struct inst_iface *end_by_host(struct inst *in, const char *name)
{
	struct inst_host *h = inst_host_find(in, name);
	struct inst_iface *i = inst_iface_find(in, name);

	if (i || !h || list_empty(&h->ifaces))
		return i;
	return list_first(&h->ifaces, struct inst_iface, on_host);
}

static struct inst_iface *end_by_addr(const struct inst_iface *from, const uint8_t *ip,
				      unsigned int family)
{
	struct inst_iface *i;

	list_for_each (i, &from->inst->ifaces, link)
		for (unsigned int k = 0; k < i->naddrs; k++)
			if (i->addr[k].family == family &&
			    port_on_fabric(i->port, from->port->fab) &&
			    !memcmp(i->addr[k].octets, ip, family == 6 ? 16 : 4))
				return i;
	return NULL;
}

/* Return the address to ping: a configured address, or for IPv6 the link-local address of RFC 4391 §8. */
static json_t *address_of(const struct inst_iface *i, unsigned int family)
{
	uint8_t iid[8], ip[16];

	for (unsigned int k = 0; k < i->naddrs; k++)
		if (i->addr[k].family == family)
			return cmd_ip(i->addr[k].octets, family);
	if (family == 4)
		return NULL;
	ipoib_link_profile(i->ifc.ipoib)->iid(iid, ib_gid_guid(&sac_port(i->port->ifc.sac)->gid));
	ipoib_linklocal(ip, iid);
	return cmd_ip(ip, family);
}

static json_t *end_object(const struct inst_iface *i, json_t *address)
{
	json_t *o = cmd_iface_row(i);

	cmd_set_str(o, "port", i->port->name);
	cmd_set_int(o, "lid", sac_port(i->port->ifc.sac)->lid);
	cmd_set(o, "address", address ? address : json_null());
	return o;
}

static void tracer_gone(struct ctl_hold *h)
{
	struct tracer *t = container_of(h, struct tracer, hold);

	fabric_trace_set(t->fab->fabric, NULL);
	t->fab->traced = false;
	free(t);
}

/*
 * The arguments of a client's `trace`, decoded. Functions that fill in this struct return false
 * after an error was sent.
 */
struct question {
	struct inst_iface *from;
	/*
	 * interface at the other end; NULL if the other end is outside of this instance or is a
	 * multicast group
	 */
	struct inst_iface *to;
	json_t *address; /* address of the other end */
	struct trace_match match;
};

static void set_other_end(json_t *row, const struct question *q)
{
	char advice[ADVICE_MAX];

	cmd_set(row, "to", end_object(q->to, q->address));
	advice_pair(q->from, q->to, advice);
	cmd_set_str(row, "advice", advice);
}

static void start(struct ctl_req *r, const struct question *q)
{
	struct tracer *t = calloc(1, sizeof(*t));
	struct fabric_trace ft = { .match = match, .event = on_event, .ctx = t };
	json_t *row;

	if (!t) {
		json_decref(q->address);
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	t->fab = q->from->port->fab;
	t->match = q->match;
	t->started = r->now;
	row = json_pack("{s:s}", "event", "start");
	cmd_set(row, "from", end_object(q->from, address_of(q->from, q->match.family)));
	if (q->to)
		set_other_end(row, q);
	else
		cmd_set(row, "to", json_pack("{s:o}", "address", q->address));
	ctl_row(r, row);
	ctl_hold(r, &t->hold, tracer_gone);
	t->fab->traced = true;
	fabric_trace_set(t->fab->fabric, &ft);
}

static bool host_end(struct ctl_req *r, struct question *q)
{
	q->address = address_of(q->to, q->match.family);
	if (!q->address)
		ctl_end(r, PROTO_EXIT_USAGE, "%s@%s: it has no IPv4 address, try -6", q->to->name,
			q->to->host->name);
	return q->address != NULL;
}

static bool address_end(struct ctl_req *r, struct question *q, const char *dest)
{
	uint8_t ip[16];

	q->match.family = inet_pton(AF_INET, dest, ip) == 1 ? 4 : 6;
	if (q->match.family == 6 && inet_pton(AF_INET6, dest, ip) != 1) {
		ctl_end(r, PROTO_EXIT_USAGE,
			"'%.64s': no such host, expected a host, an interface or an IP address",
			dest);
		return false;
	}
	q->match.group = q->match.family == 4 ? ip[0] >> 4 == 0xe : ip[0] == 0xff;
	q->to = end_by_addr(q->from, ip, q->match.family);
	q->address = cmd_ip(ip, q->match.family);
	return true;
}

/*
 * Find the other end of the trace. @dest is the name of a host or interface of this instance, or an
 * IP address. The address may also be that of a node outside the instance, or a multicast address
 */
static bool other_end(struct ctl_req *r, struct question *q, const char *dest)
{
	q->to = end_by_host(r->in, dest);
	return q->to ? host_end(r, q) : address_end(r, q, dest);
}

/* Tell whether this kind of trace is possible between the two ends of @q */
static bool fits(struct ctl_req *r, const struct question *q, const char *dest)
{
	enum trace_what what = q->match.what;
	bool with_group = what == TRACE_PING || what == TRACE_UDP || what == TRACE_JOIN;

	if (what == TRACE_JOIN && !q->match.group)
		ctl_end(r, PROTO_EXIT_USAGE,
			"join: '%.64s' is no multicast address, expected one as 239.1.2.3 or "
			"ff15::1",
			dest);
	else if (q->match.group && !with_group)
		ctl_end(r, PROTO_EXIT_USAGE,
			"'%.64s' is a multicast address, expected ping, udp or join with it", dest);
	else
		return true;
	json_decref(q->address);
	return false;
}

/* Read the argument "what", which is a name that trace_what_of() knows ("ping" if absent), and for TCP and UDP "port" */
static bool read_what(struct ctl_req *r, struct trace_match *m)
{
	bool bad;
	const char *name = ctl_arg_str(r, "what", &bad);
	int what = name ? trace_what_of(name) : TRACE_PING;

	if (bad)
		return false;
	if (what < 0) {
		ctl_end(r, PROTO_EXIT_USAGE,
			"what '%.64s': unknown, expected ping, tcp, udp, arp, path or join", name);
		return false;
	}
	m->what = (enum trace_what)what;
	m->port = (uint16_t)ctl_arg_int(r, "port", 1, 65535, 0, &bad);
	if (!bad && !m->port && (what == TRACE_TCP || what == TRACE_UDP)) {
		ctl_end(r, PROTO_EXIT_USAGE, "%s: expected a port, 1 to 65535", name);
		return false;
	}
	return !bad;
}

static bool read_args(struct ctl_req *r, struct trace_match *m)
{
	bool bad;

	m->family = (unsigned int)ctl_arg_int(r, "family", 4, 6, 4, &bad);
	if (bad)
		return false;
	m->all_mads = ctl_arg_bool(r, "details", &bad);
	if (bad || !read_what(r, m))
		return false;
	if (m->family == 5)
		ctl_end(r, PROTO_EXIT_USAGE, "expected from, to and family 4 or 6");
	return m->family != 5;
}

/* Refuse the trace, because the interface at which it would begin is not up */
static void end_not_up(struct ctl_req *r, const struct inst_iface *i)
{
	char advice[ADVICE_MAX];

	advice_iface(i, advice);
	ctl_end(r, PROTO_EXIT_FAILED, "%s@%s is not up%s%s", i->name, i->host->name,
		*advice ? ". " : "", advice);
}

static struct inst_iface *first_end(struct ctl_req *r, const char *src)
{
	struct inst_iface *from = end_by_host(r->in, src);

	if (!from)
		ctl_end(r, PROTO_EXIT_USAGE,
			"'%.64s': no such host or interface, or it has no interface", src);
	else if (!from->port->fab)
		ctl_end(r, PROTO_EXIT_USAGE,
			"%s@%s: the port %s is none of a soft fabric, so nothing shows the way of "
			"its packets",
			from->name, from->host->name, from->port->name);
	else if (from->port->fab->traced)
		ctl_end(r, PROTO_EXIT_FAILED, "fabric %s: another trace is running",
			from->port->fab->name);
	else if (!ipoib_link_is_up(from->ifc.ipoib))
		end_not_up(r, from);
	else
		return from;
	return NULL;
}

static void trace(struct ctl_req *r)
{
	struct question q = { 0 };
	bool bad;
	const char *src = ctl_arg_str(r, "from", &bad);
	const char *dest = bad ? NULL : ctl_arg_str(r, "to", &bad);

	if (bad || !read_args(r, &q.match))
		return;
	if (!src || !dest) {
		ctl_end(r, PROTO_EXIT_USAGE, "expected from, to and family 4 or 6");
		return;
	}
	q.from = first_end(r, src);
	if (!q.from || !other_end(r, &q, dest) || !fits(r, &q, dest))
		return;
	q.match.encap = &ipoib_link_profile(q.from->ifc.ipoib)->encap;
	q.match.a = sac_port(q.from->port->ifc.sac)->lid;
	q.match.b = q.to ? sac_port(q.to->port->ifc.sac)->lid : 0;
	start(r, &q);
}

const struct ctl_cmd cmd_trace[] = {
	{ "trace", CTL_CHANGES, trace,
	  (const char *const[]){ "from", "to", "family", "details", "what", "port", NULL } },
	{ NULL },
};
