/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/fabric.h"
#include "inst/fab.h"
#include "inst/udplink.h"

/*
 * Links over UDP. `fabric udp show` lists them. `fabric udp attach` is for a client that has made a
 * pair of sockets: one socket of the pair is linked to a free switch port as long as the client is
 * connected.
 */

static json_t *endpoint(const struct ip_endpoint *e)
{
	char text[CONF_ENDPOINT_MAX];

	return e->family ? json_string(conf_print_endpoint(e, text)) : json_null();
}

/* Make the object {"stray_address":3,...}, which has a member for each reason of a drop */
static json_t *drops_object(const struct udp_link_stats *st, uint64_t *ret_sum)
{
	json_t *o = json_object();

	*ret_sum = 0;
	for (int d = UDP_DROP_NONE + 1; d < UDP_DROP_MAX; d++) {
		char name[32];

		snprintf(name, sizeof(name), "%s", udp_drop_name((enum udp_drop)d));
		for (char *c = name; *c; c++)
			*c = isalnum((unsigned char)*c) ? *c : '_';
		cmd_set_int(o, name, (long long)st->drops[d]);
		*ret_sum += st->drops[d];
	}
	return o;
}

static void link_row(struct ctl_req *r, const struct inst_udp *u)
{
	const struct udp_link *l = &u->machine;
	char port[FABRIC_NAME_MAX];
	json_t *row = cmd_fabric_row(u->fab), *drops;
	uint64_t sum;

	drops = drops_object(&l->stats, &sum);
	cmd_set_str(row, "link", u->name);
	cmd_set_str(row, "port", fabric_port_name(u->port, port, sizeof(port)));
	cmd_set_str(row, "state", udp_link_state_name(l->state));
	cmd_set(row, "since_ms", cmd_ms(r->now - l->changed));
	cmd_set(row, "listen", endpoint(&u->bound));
	cmd_set(row, "peer", l->has_peer ? endpoint(&l->peer) : json_null());
	cmd_set_bool(row, "learnt", l->learn);
	cmd_set_int(row, "rx_packets", (long long)l->stats.rx_packets);
	cmd_set_int(row, "rx_octets", (long long)l->stats.rx_octets);
	cmd_set_int(row, "rx_keepalives", (long long)l->stats.rx_keepalives);
	cmd_set_int(row, "tx_packets", (long long)l->stats.tx_packets);
	cmd_set_int(row, "tx_octets", (long long)l->stats.tx_octets);
	cmd_set_int(row, "tx_keepalives", (long long)l->stats.tx_keepalives);
	cmd_set_int(row, "ups", (long long)l->stats.ups);
	cmd_set_int(row, "downs", (long long)l->stats.downs);
	cmd_set_int(row, "dropped", (long long)sum);
	cmd_set(row, "drops", drops);
	cmd_set_int(row, "icmp_errors", (long long)u->sock.stats.icmp_errors);
	cmd_set_int(row, "queued", udp_queue_len(&u->queue));
	cmd_set_bool(row, "gso", u->sock.gso);
	cmd_set_bool(row, "gro", u->sock.gro);
	cmd_set_int(row, "rcvbuf", u->sock.rcvbuf);
	cmd_set_int(row, "sndbuf", u->sock.sndbuf);
	ctl_row(r, row);
}

static void rows(struct ctl_req *r, struct inst_fabric *f)
{
	struct inst_udp *u;

	list_for_each (u, &f->inst->udps.links, link)
		if (u->fab == f)
			link_row(r, u);
}

void cmd_fabric_udp_show(struct ctl_req *r)
{
	cmd_each_fabric(r, rows);
}

/* --- attach */

struct attached {
	struct ctl_hold hold;
	struct inst *in;
	struct fabric_port *port;
};

static void attached_gone(struct ctl_hold *h)
{
	struct attached *a = container_of(h, struct attached, hold);
	struct inst_udp *u = udplink_find(&a->in->udps, a->port);

	if (u)
		udplink_close(u);
	free(a);
}

static bool is_free(struct fabric_port *p)
{
	return fabric_port_num(p) && fabric_link_state(p) == FABRIC_LINK_NONE;
}

/* Return the first free port of a switch, in the order of the topology; NULL: there is none */
static struct fabric_port *free_port(struct fabric *f)
{
	for (unsigned int i = 0; i < fabric_nnodes(f); i++) {
		struct fabric_node *n = fabric_node_at(f, i);
		struct fabric_port *p;

		if (fabric_node_hca(n))
			continue;
		for (unsigned int k = 1; (p = fabric_node_port(n, k)); k++)
			if (is_free(p))
				return p;
	}
	return NULL;
}

/* Return the switch port to which the link is attached; NULL after an error was sent */
static struct fabric_port *port_to_attach(struct ctl_req *r, struct inst_fabric *f)
{
	bool named = json_object_get(r->args, "port") != NULL;
	struct fabric_port *p = named ? cmd_arg_port(r, f, "port") : free_port(f->fabric);
	char text[FABRIC_NAME_MAX];

	if (!p && !named)
		ctl_end(r, PROTO_EXIT_USAGE,
			"fabric %s: none of its switches has a free port: give one more ports in "
			"the topology",
			f->name);
	if (p && !is_free(p)) {
		ctl_end(r, PROTO_EXIT_USAGE, "port %s: it has a cable, expected a free port",
			fabric_port_name(p, text, sizeof(text)));
		p = NULL;
	}
	return p;
}

static int peer_to_attach(struct ctl_req *r, struct ip_endpoint *ret, const char **ret_name)
{
	const char *peer;
	bool bad;

	*ret_name = ctl_arg_str(r, "name", &bad);
	peer = bad ? NULL : ctl_arg_str(r, "peer", &bad);
	if (bad)
		return -EINVAL;
	if (*ret_name && peer && !conf_parse_endpoint(ret, peer))
		return 0;
	ctl_end(r, PROTO_EXIT_USAGE, "name, peer: expected a name and ADDR:PORT");
	return -EINVAL;
}

static int attach(struct ctl_req *r, struct inst_fabric *f, struct attached *a, int fd)
{
	char err[INST_ERR_MAX], port[FABRIC_NAME_MAX];
	struct inst_udp *u = NULL;
	struct ip_endpoint peer;
	bool bad, fresh = ctl_arg_bool(r, "fresh", &bad);
	const char *name;
	json_t *row;

	a->in = r->in;
	if (bad || peer_to_attach(r, &peer, &name) || !(a->port = port_to_attach(r, f))) {
		close(fd);
		return -EINVAL;
	}
	if (udplink_attach(&u, f, a->port, name, fd, &peer, fresh, err)) {
		ctl_end(r, PROTO_EXIT_USAGE, "%s", err);
		return -EINVAL;
	}
	capfile_follow(&f->inst->captures, f->fabric);
	row = cmd_fabric_row(f);
	cmd_set_str(row, "link", u->name);
	cmd_set_str(row, "port", fabric_port_name(a->port, port, sizeof(port)));
	ctl_row(r, row);
	ctl_hold(r, &a->hold, attached_gone);
	return 0;
}

void cmd_fabric_udp_attach(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	int fd = ctl_take_fd(r);
	struct attached *a;

	if (!f || fd < 0) {
		if (fd >= 0)
			close(fd);
		if (f)
			ctl_end(r, PROTO_EXIT_USAGE, "expected a UDP socket beside the request");
		return;
	}
	a = calloc(1, sizeof(*a));
	if (!a) {
		close(fd);
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
	} else if (attach(r, f, a, fd)) {
		free(a);
	}
}
