/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cmd/cmd.h"
#include "ifc/qp.h"
#include "inst/fab.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "crc/crc.h"
#include "wire/ib_hdr.h"

/*
 * `fabric inject` sends packets from the port of one interface to the QP of another interface. The
 * packets are valid except for one field. The command reports which counters the packets changed.
 * Tests and the demo use this command to show that keys and CRCs are checked.
 */

enum wrong { WRONG_NOTHING, WRONG_QKEY, WRONG_PKEY, WRONG_ICRC, WRONG_VCRC, WRONG_QPN };

static const char *const wrong_name[] = {
	[WRONG_NOTHING] = "nothing", [WRONG_QKEY] = "qkey", [WRONG_PKEY] = "pkey",
	[WRONG_ICRC] = "icrc",	     [WRONG_VCRC] = "vcrc", [WRONG_QPN] = "qpn",
};

struct shot {
	struct inst_iface *from, *to;
	enum wrong wrong;
	struct ipoib_link_info fi, ti;
};

/*
 * Make a payload: an IPoIB header, and an IPv4 UDP packet to the discard port, which does no harm
 * if it is delivered.
 */
static struct pkt *payload(struct inst *in)
{
	static const uint8_t ip[] = {
		0x08, 0x00, 0, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0,
		127,  0,    0, 8, 127,	0, 0, 9,  0, 9, 0, 9, 0,  8,  0, 0,
	};

	return pkt_from_data(in->pool, ip, sizeof(ip));
}

static struct pkt *make_packet(struct inst *in, const struct shot *s)
{
	struct ib_ud_hdr h = {
		.lrh = { .lnh = IB_LNH_LOCAL, .dlid = s->ti.port.lid, .slid = s->fi.port.lid },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = s->fi.pkey, .dest_qp = s->ti.qpn },
		.deth = { .qkey = s->ti.group.qkey, .src_qp = s->fi.qpn },
	};
	struct pkt *p = payload(in);
	uint8_t *head;

	if (!p)
		return NULL;
	if (s->wrong == WRONG_QKEY)
		h.deth.qkey ^= 0x5555;
	else if (s->wrong == WRONG_PKEY)
		h.bth.pkey ^= 0x1234;
	else if (s->wrong == WRONG_QPN)
		h.bth.dest_qp ^= 0x800001;
	head = pkt_push(p, ib_ud_hdr_len(false));
	ib_ud_hdr_encode(head, &h, p->len - ib_ud_hdr_len(false));
	crc_pkt_seal(p);
	if (s->wrong == WRONG_ICRC) {
		p->tail[p->tail_len - 6] ^= 0x01;
		/* Make the VCRC right again, so that only the end port notices the wrong ICRC. */
		crc_pkt_mend_vcrc(p);
	} else if (s->wrong == WRONG_VCRC) {
		p->tail[p->tail_len - 1] ^= 0x01;
	}
	return p;
}

struct counts {
	uint64_t fabric[FABRIC_DROP_MAX], hca[HCA_DROP_MAX], delivered;
};

static void count(struct counts *c, const struct shot *s)
{
	const struct hca *h = fabric_node_hca(s->to->port->node);

	memcpy(c->fabric, fabric_stats(s->to->port->fab->fabric)->drops, sizeof(c->fabric));
	for (int d = 0; d < HCA_DROP_MAX; d++)
		c->hca[d] = hca_drops(h, (enum hca_drop)d);
	c->delivered = ipoib_link_stats(s->to->ifc.ipoib)->rx_packets;
}

static json_t *drops_since(const struct counts *a, const struct counts *b)
{
	json_t *o = json_object();

	for (int d = 0; d < FABRIC_DROP_MAX; d++)
		if (b->fabric[d] != a->fabric[d])
			cmd_set_int(o, fabric_drop_name((enum fabric_drop)d),
				    b->fabric[d] - a->fabric[d]);
	for (int d = 0; d < HCA_DROP_MAX; d++)
		if (b->hca[d] != a->hca[d])
			cmd_set_int(o, hca_drop_name((enum hca_drop)d), b->hca[d] - a->hca[d]);
	return o;
}

/* Runs the fabric until its queues are empty. */
static void drain(const struct shot *s, ns_t now)
{
	bool more;

	while (fabric_run(s->to->port->fab->fabric, now))
		;
	ifc_qp_poll(&s->to->ifc.qp, &more, now);
	ifc_qp_ready(&s->to->ifc.qp);
}

static void shoot(struct ctl_req *r, struct shot *s, long long n)
{
	struct fabric_port *port = fabric_node_port(s->from->port->node, s->from->port->num);
	struct counts before, after;
	json_t *row = json_object();
	long long sent = 0;

	/*
	 * Deliver packets of other senders that are already in the queues, so that they are not
	 * counted below.
	 */
	drain(s, r->now);
	count(&before, s);
	for (; sent < n; sent++) {
		struct pkt *p = make_packet(r->in, s);

		if (!p)
			break;
		fabric_inject(port, p, r->now);
		drain(s, r->now);
	}
	count(&after, s);
	cmd_set_str(row, "wrong", wrong_name[s->wrong]);
	cmd_set_int(row, "sent", (uint64_t)sent);
	cmd_set_int(row, "delivered", after.delivered - before.delivered);
	cmd_set(row, "dropped", drops_since(&before, &after));
	ctl_row(r, row);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

static bool arg_wrong(struct ctl_req *r, enum wrong *ret)
{
	bool bad;
	const char *what = ctl_arg_str(r, "wrong", &bad);

	if (bad)
		return false;
	for (size_t i = 0; what && i < ARRAY_SIZE(wrong_name); i++) {
		if (strcmp(what, wrong_name[i]))
			continue;
		*ret = (enum wrong)i;
		return true;
	}
	ctl_end(r, PROTO_EXIT_USAGE,
		"wrong: '%.32s', expected nothing, qkey, pkey, icrc, vcrc or qpn",
		what ? what : "");
	return false;
}

static struct inst_iface *arg_end(struct ctl_req *r, const char *name, bool *bad)
{
	const char *dev = ctl_arg_str(r, name, bad);
	struct inst_iface *i = dev ? inst_iface_find(r->in, dev) : NULL;

	if (!*bad && !i) {
		*bad = true;
		ctl_end(r, PROTO_EXIT_USAGE, "%s '%.64s': no such interface, expected NAME@HOST",
			name, dev ? dev : "");
	}
	return i;
}

static void inject(struct ctl_req *r)
{
	struct shot s = { 0 };
	long long n;
	bool bad;

	s.from = arg_end(r, "from", &bad);
	if (bad)
		return;
	s.to = arg_end(r, "to", &bad);
	if (bad || !arg_wrong(r, &s.wrong))
		return;
	n = ctl_arg_int(r, "count", 1, 10000, 1, &bad);
	if (bad)
		return;
	ipoib_link_info(s.from->ifc.ipoib, &s.fi);
	ipoib_link_info(s.to->ifc.ipoib, &s.ti);
	if (!port_on_fabric(s.to->port, s.from->port->fab) || !s.fi.joined || !s.ti.joined) {
		ctl_end(r, PROTO_EXIT_FAILED, "both interfaces must be up, and on one soft fabric");
		return;
	}
	shoot(r, &s, n);
}

const struct ctl_cmd cmd_inject[] = {
	{ "fabric inject", CTL_CHANGES, inject,
	  (const char *const[]){ "from", "to", "wrong", "count", NULL } },
	{ NULL },
};
