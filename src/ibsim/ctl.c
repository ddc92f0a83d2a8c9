/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "ibsim/priv.h"

/*
 * Handles the control messages of clients. The answer to a control message is the message with new
 * data, or with the type IBSIM_CTL_ERROR.
 */

static const char *refusal(int err)
{
	switch (err) {
	case -ENOENT:
		return "no such node";
	case -EMFILE:
		return "too many clients";
	case -EBUSY:
		return "there is an SM on its node already";
	case -ECONNREFUSED:
		return "its input socket does not exist";
	default:
		return "no memory or descriptors";
	}
}

static int connect_new(struct ibsim_srv *s, const struct ibsim_peer *from,
		       const struct ibsim_client_info *info, struct ibsim_client **ret, ns_t now)
{
	const char *name = NULL;
	struct node_port *port = s->ops->find(s->ctx, from->place, info->node, &name);
	struct ibsim_client *c;
	int err;

	if (!port)
		return -ENOENT;
	err = ibsim_client_add(s, from, port, name, info->id, &c);
	if (err)
		return err;
	if (info->issm)
		err = ibsim_client_issm(c, true, now);
	if (err) {
		ibsim_client_end(c, now);
		return err;
	}
	*ret = c;
	return 0;
}

/*
 * When a process sends another Connect, end the client of its earlier Connect, because the process
 * has made new sockets.
 */
static void forget_old(struct ibsim_srv *s, const struct ibsim_peer *from, ns_t now)
{
	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++) {
		const struct ibsim_client *c = ibsim_client_by_id(s, i);

		if (c && c->peer.place == from->place && c->peer.len == from->len &&
		    !memcmp(c->peer.addr, from->addr, from->len))
			ibsim_srv_gone(s, i, "its process connects again", now);
	}
}

static bool ctl_connect(struct ibsim_srv *s, const struct ibsim_peer *from, struct ibsim_ctl *m,
			ns_t now)
{
	struct ibsim_client_info info;
	struct ibsim_client *c;
	int err;

	if (ibsim_client_info_decode(&info, m->data, m->len))
		return false;
	forget_old(s, from, now);
	err = connect_new(s, from, &info, &c, now);
	if (err) {
		s->st.refused_connect++;
		log_to(s->log, LOG_LVL_WARN, "ibsim: pid %u, node '%s', refused: %s", info.id,
		       info.node, refusal(err));
		return false;
	}
	s->st.connects++;
	log_to(s->log, LOG_LVL_INFO, "ibsim: client %u (pid %u) on %s/%u", c->id, c->pid, c->node,
	       c->port->num);
	info.id = c->id;
	memcpy(info.node, c->node, sizeof(info.node));
	ibsim_client_info_encode(m->data, &info);
	return true;
}

static void ctl_disconnect(struct ibsim_client *c, ns_t now)
{
	c->s->st.disconnects++;
	log_to(c->s->log, LOG_LVL_INFO, "ibsim: client %u (pid %u) on %s/%u has ended", c->id,
	       c->pid, c->node, c->port->num);
	ibsim_client_end(c, now);
}

static const struct smp_port_info *end_info(const struct ibsim_client *c)
{
	return &c->port->pi;
}

static void get_port(const struct ibsim_client *c, uint8_t *data)
{
	memcpy(data, &end_info(c)->lid, sizeof(uint16_t));
	data[2] = end_info(c)->port_state;
}

static void get_vendor(const struct ibsim_client *c, uint8_t *data)
{
	const struct smp_node_info *info = &c->port->node->info;
	struct ibsim_vendor v = {
		.vendor_id = info->vendor_id,
		.part_id = info->device_id,
		.hw_ver = info->revision,
		.fw_ver = 1,
	};

	ibsim_vendor_encode(data, &v);
}

static void get_gid(const struct ibsim_client *c, uint8_t *data)
{
	ib_gid gid = node_gid(c->port, 0);

	memcpy(data, &gid, sizeof(gid));
}

/*
 * libumad2sim computes the GUID of the port as NodeGUID + port number, and OpenSM finds its own
 * port by this GUID. On some fabrics the port GUID is another number. So the server answers with a
 * NodeGUID for which the sum is the port GUID.
 */
static void get_node_info(const struct ibsim_client *c, uint8_t *data)
{
	struct smp_node_info info = c->port->node->info;

	info.port_guid = c->port->guids[0];
	info.local_port = c->port->num;
	info.node_guid = info.port_guid - c->port->num;
	memset(data, 0, IBSIM_CTL_DATA);
	smp_node_info_encode(data, &info);
}

static void get_port_info(const struct ibsim_client *c, uint8_t *data)
{
	const struct node *n = c->port->node;
	unsigned int num = data[0];
	struct smp_port_info pi = c->port->pi;

	if (num && num <= n->info.nports)
		pi = n->port[num].pi;
	else
		num = c->port->num;
	pi.local_port = (uint8_t)num;
	pi.mkey = 0; /* The M_Key is the secret of the SM, so clients get 0. */
	smp_port_info_encode(data, &pi);
}

static void get_pkeys(const struct ibsim_client *c, uint8_t *data)
{
	smp_pkey_block_encode(data, c->port->pkeys);
}

/* Handle a request of a client. Return: false if the answer is an error */
static bool ctl_client(struct ibsim_client *c, struct ibsim_ctl *m, ns_t now)
{
	uint32_t on;

	switch (m->type) {
	case IBSIM_CTL_DISCONNECT:
		ctl_disconnect(c, now);
		return true;
	case IBSIM_CTL_GET_PORT:
		get_port(c, m->data);
		return true;
	case IBSIM_CTL_GET_VENDOR:
		get_vendor(c, m->data);
		return true;
	case IBSIM_CTL_GET_GID:
		get_gid(c, m->data);
		return true;
	case IBSIM_CTL_GET_GUID:
		be64_put(m->data, c->port->node->info.node_guid);
		return true;
	case IBSIM_CTL_GET_NODE_INFO:
		get_node_info(c, m->data);
		return true;
	case IBSIM_CTL_GET_PORT_INFO:
		get_port_info(c, m->data);
		return true;
	case IBSIM_CTL_SET_ISSM:
		memcpy(&on, m->data, sizeof(on));
		return m->len == sizeof(on) && !ibsim_client_issm(c, on != 0, now);
	case IBSIM_CTL_GET_PKEYS:
		get_pkeys(c, m->data);
		return true;
	default:
		return false;
	}
}

static struct ibsim_client *client_of(struct ibsim_srv *s, const struct ibsim_peer *from,
				      const struct ibsim_ctl *m)
{
	struct ibsim_client *c = ibsim_client_by_id(s, m->client);

	if (!c || c->peer.place != from->place || c->peer.len != from->len ||
	    memcmp(c->peer.addr, from->addr, from->len) != 0)
		return NULL;
	return c;
}

size_t ibsim_srv_ctl(struct ibsim_srv *s, const struct ibsim_peer *from, const void *msg,
		     size_t len, void *ret, ns_t now)
{
	struct ibsim_client *c;
	struct ibsim_ctl m;
	bool done;

	if (ibsim_ctl_decode(&m, msg, len)) {
		s->st.drop_ctl_malformed++;
		return 0;
	}
	if (m.type == IBSIM_CTL_CONNECT) {
		done = ctl_connect(s, from, &m, now);
	} else {
		c = client_of(s, from, &m);
		done = c && ctl_client(c, &m, now);
	}
	if (!done) {
		s->st.refused_ctl++;
		m.type = IBSIM_CTL_ERROR;
	}
	ibsim_ctl_encode(ret, &m);
	return IBSIM_CTL_LEN;
}
