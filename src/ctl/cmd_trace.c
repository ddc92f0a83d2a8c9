/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/cmd.h"
#include "fabric/trace.h"
#include "inst/fab.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "ipoib/iid.h"
#include "wire/ib_hdr.h"
#include "text/print.h"
#include "wire/sa.h"

/*
 * DOC: trace
 *
 * Shows what the fabric does with the packets of one ping. These are the packets with ARP and ICMP (or
 * ICMPv6) between the ports of two interfaces, or multicast by either, and the SA requests for paths
 * and, with IPv6, groups that these ports send. With "details" all MADs of the two ports on QP1 are
 * shown. The client runs ping, and gets rows until it closes the connection. A fabric has one trace
 * at a time.
 */

#define PACKETS_MAX 256 /* packets that one trace can number; later ones are not shown */
#define PRINT_PACKET 4096
#define IPV4_ICMP 1
#define IPV6_ICMP 58

struct tracer {
	struct ctl_hold hold;
	struct inst_fabric *fab;
	const struct ipoib_encap *encap; /* encapsulation of the interface where the trace begins */
	uint16_t a, b; /* LIDs of the two ports; b 0: unknown */
	unsigned int family; /* 4 or 6 */
	bool all_mads;
	ns_t started;
	uint64_t id[PACKETS_MAX]; /* hashes of packets, in the order of their numbers */
	unsigned int n;
};

/* --- which packets */

static bool is_end(const struct tracer *t, uint16_t lid)
{
	return lid == t->a || (t->b && lid == t->b);
}

static bool is_probe(const struct tracer *t, const uint8_t *p, size_t len)
{
	const uint8_t *ip = p + t->encap->len;

	switch (t->encap->read(p, len)) {
	case ETH_P_ARP4:
		return t->family == 4;
	case ETH_P_IPV4:
		return t->family == 4 && len >= t->encap->len + 20u && ip[9] == IPV4_ICMP;
	case ETH_P_IPV6_:
		return t->family == 6 && len >= t->encap->len + 40u && ip[6] == IPV6_ICMP;
	default:
		return false;
	}
}

static bool is_question(const struct tracer *t, const uint8_t *p, size_t len)
{
	struct mad_hdr h;

	if (t->all_mads)
		return true;
	if (mad_hdr_decode(&h, p, len) || h.mgmt_class != MAD_CLASS_SA)
		return false;
	return h.attr_id == SA_ATTR_PATH_RECORD ||
	       (h.attr_id == SA_ATTR_MCMEMBER_RECORD && t->family == 6);
}

static bool match(void *ctx, const struct pkt *p)
{
	const struct tracer *t = ctx;
	struct ib_ud_hdr h;
	uint8_t payload[64];
	size_t n;
	int len;

	if (p->vl == IB_VL15)
		return false;
	len = ib_ud_hdr_decode(&h, p->hdr + p->head, pkt_hdr_len(p));
	if (len < 0 || (!is_end(t, h.lrh.slid) && !is_end(t, h.lrh.dlid)))
		return false;
	n = pkt_copy_out(p, (uint32_t)len, payload, sizeof(payload));
	if (h.bth.dest_qp == IB_QP1)
		return is_question(t, payload, n);
	/* If both LIDs are known, a unicast has to be from one of these ports to the other. */
	if (t->b && ib_lid_is_unicast(h.lrh.dlid) &&
	    (!is_end(t, h.lrh.slid) || !is_end(t, h.lrh.dlid)))
		return false;
	return is_probe(t, payload, n);
}

/* --- numbers of packets */

/* FNV-1a hash of a packet without VL and VCRC, which change from link to link. */
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

/* Number of the packet, from 1; 0: the trace has no room for another packet */
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
			if (i->addr[k].family == family && i->port->fab == from->port->fab &&
			    !memcmp(i->addr[k].octets, ip, family == 6 ? 16 : 4))
				return i;
	return NULL;
}

/* The address to ping: a configured one, or for IPv6 the link-local one of RFC 4391 §8. */
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

static void start(struct ctl_req *r, struct inst_iface *from, struct inst_iface *to,
		  json_t *address, unsigned int family)
{
	struct tracer *t = calloc(1, sizeof(*t));
	struct fabric_trace ft = { .match = match, .event = on_event, .ctx = t };
	json_t *row;

	if (!t) {
		json_decref(address);
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	t->fab = from->port->fab;
	t->encap = &ipoib_link_profile(from->ifc.ipoib)->encap;
	t->a = sac_port(from->port->ifc.sac)->lid;
	t->b = to ? sac_port(to->port->ifc.sac)->lid : 0;
	t->family = family;
	t->all_mads = json_is_true(json_object_get(r->args, "details"));
	t->started = r->now;
	row = json_pack("{s:s}", "event", "start");
	cmd_set(row, "from", end_object(from, address_of(from, family)));
	if (to) {
		cmd_set(row, "to", end_object(to, address));
	} else {
		cmd_set(row, "to", json_pack("{s:o}", "address", address));
	}
	ctl_row(r, row);
	ctl_hold(r, &t->hold, tracer_gone);
	t->fab->traced = true;
	fabric_trace_set(t->fab->fabric, &ft);
}

/*
 * Starts a trace to @dest: a host or interface of this instance, or an address, which may belong to a node
 * outside this instance.
 */
static void start_to(struct ctl_req *r, struct inst_iface *from, const char *dest,
		     unsigned int family)
{
	struct inst_iface *to = end_by_host(r->in, dest);
	uint8_t ip[16];
	json_t *address;

	if (to) {
		address = address_of(to, family);
		if (!address) {
			ctl_end(r, PROTO_EXIT_USAGE, "%s@%s: it has no IPv4 address, try -6",
				to->name, to->host->name);
			return;
		}
	} else {
		family = inet_pton(AF_INET, dest, ip) == 1 ? 4 : 6;
		if (family == 6 && inet_pton(AF_INET6, dest, ip) != 1) {
			ctl_end(r, PROTO_EXIT_USAGE,
				"'%.64s': no such host, expected a host, an interface or an IP "
				"address",
				dest);
			return;
		}
		to = end_by_addr(from, ip, family);
		address = cmd_ip(ip, family);
	}
	start(r, from, to, address, family);
}

static void trace(struct ctl_req *r)
{
	bool bad;
	const char *src = ctl_arg_str(r, "from", &bad);
	const char *dest = bad ? NULL : ctl_arg_str(r, "to", &bad);
	unsigned int family = bad ? 4 : (unsigned int)ctl_arg_int(r, "family", 4, 6, 4, &bad);
	struct inst_iface *from = src && !bad ? end_by_host(r->in, src) : NULL;

	if (!bad)
		ctl_arg_bool(r, "details", &bad);
	if (bad)
		return;
	if (!src || !dest || family == 5)
		ctl_end(r, PROTO_EXIT_USAGE, "expected from, to and family 4 or 6");
	else if (!from)
		ctl_end(r, PROTO_EXIT_USAGE,
			"'%.64s': no such host or interface, or it has no interface", src);
	else if (from->port->fab->traced)
		ctl_end(r, PROTO_EXIT_FAILED, "fabric %s: another trace is running",
			from->port->fab->name);
	else if (!ipoib_link_is_up(from->ifc.ipoib))
		ctl_end(r, PROTO_EXIT_FAILED, "%s@%s is not up", from->name, from->host->name);
	else
		start_to(r, from, dest, family);
}

const struct ctl_cmd cmd_trace[] = {
	{ "trace", CTL_CHANGES, trace,
	  (const char *const[]){ "from", "to", "family", "details", NULL } },
	{ NULL },
};
