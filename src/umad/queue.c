/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "umad/priv.h"

#define HDR_LEN 64 /* struct ib_user_mad_hdr */

static bool has_room(struct umad_conn *c, size_t len)
{
	const struct umad_limits *lim = &c->srv->lim;

	if (c->nqueue >= lim->max_queue ||
	    (c->nqueue && c->queue_octets + len > lim->max_queue_octets)) {
		c->st.drops[UMAD_DROP_QUEUE]++;
		return false;
	}
	if (c->srv->queue_octets && c->srv->queue_octets + len > lim->max_all_octets) {
		c->st.drops[UMAD_DROP_MEM]++;
		return false;
	}
	return true;
}

static void put(struct umad_conn *c, const struct umad_mad *m, const void *data, size_t len)
{
	struct umad_out *o;

	if (!has_room(c, len))
		return;
	o = malloc(sizeof(*o) + len);
	if (!o) {
		c->st.drops[UMAD_DROP_MEM]++;
		return;
	}
	o->m = *m;
	o->m.msg.type = UMAD_MAD;
	o->m.msg.len = (uint32_t)(sizeof(o->m) + len);
	o->m.data_len = (uint32_t)len;
	memcpy(o->data, data, len);
	list_add_tail(&c->queue, &o->link);
	c->queue_octets += len;
	c->srv->queue_octets += len;
	c->st.received++;
	if (!c->nqueue++)
		c->srv->ops->ready(c->srv->ctx, c->ctx);
}

/*
 * Returns the index of the P_Key with which the MAD arrived, as in a receive completion of QP1; 0
 * for a MAD of QP0, or if the P_Key is no longer in the port's P_Key table.
 */
static uint16_t pkey_index(const struct node_port *np, const struct mad_addr *from)
{
	int i = from->qp == IB_QP0 ? 0 : node_pkey_find(np, from->pkey);

	return i < 0 ? 0 : (uint16_t)i;
}

void umad_queue_recv(struct umad_conn *c, uint32_t id, const struct mad_addr *from, const void *mad,
		     size_t len)
{
	const struct node_port *np = c->port->np;
	struct umad_mad m = {
		.id = id,
		.length = (uint32_t)(HDR_LEN + len),
		.sl = from->sl,
		.path_bits = (uint8_t)(from->path_bits & ((1u << np->pi.lmc) - 1)),
		.pkey_index = pkey_index(np, from),
	};

	be32_put(m.qpn, from->qpn);
	be16_put(m.lid, from->lid);
	if (from->has_grh) {
		m.grh_present = 1;
		m.gid_index = from->gid_index;
		m.hop_limit = from->hop_limit;
		m.traffic_class = from->tclass;
		memcpy(m.gid, &from->gid, sizeof(m.gid));
		be32_put(m.flow_label, from->flow_label);
	}
	put(c, &m, mad, len);
}

void umad_queue_back(struct umad_conn *c, const struct umad_mad *m, const uint8_t *mad,
		     uint32_t status)
{
	struct umad_mad back = *m;

	back.status = status;
	put(c, &back, mad, MAD_HDR_LEN);
}

const struct umad_mad *umad_conn_next(const struct umad_conn *c, const void **ret_data)
{
	const struct umad_out *o;

	if (list_empty(&c->queue))
		return NULL;
	o = list_first(&c->queue, struct umad_out, link);
	*ret_data = o->data;
	return &o->m;
}

void umad_conn_sent(struct umad_conn *c)
{
	struct umad_out *o = list_first(&c->queue, struct umad_out, link);

	list_del(&o->link);
	c->nqueue--;
	c->queue_octets -= o->m.data_len;
	c->srv->queue_octets -= o->m.data_len;
	free(o);
}

void umad_conn_lost(struct umad_conn *c)
{
	c->st.drops[UMAD_DROP_MEM]++;
	umad_conn_sent(c);
}

void umad_queue_clear(struct umad_conn *c)
{
	struct umad_out *o, *tmp;

	list_for_each_safe (o, tmp, &c->queue, link)
		free(o);
	list_init(&c->queue);
	c->srv->queue_octets -= c->queue_octets;
	c->queue_octets = 0;
	c->nqueue = 0;
}
