/* SPDX-License-Identifier: BSD-2-Clause */
#include "ca/ca_soft.h"

#include <errno.h>
#include <stdlib.h>

#include "util/list.h"

struct ca_soft_hca {
	struct hca *hca;
	const struct ca_soft_queues *queues;
	void *queues_ctx;
	struct list open; /* struct soft_ca of all open ports */
	/* number of calls of ca_soft_event() that are running, one inside the other */
	unsigned int telling;
};

struct soft_ca {
	struct ca ca;
	struct ca_soft_hca *s;
	struct node_port *np;
	struct list link; /* link in s->open */
	struct list qps, ahs;
	/*
	 * true if the port was closed inside ca_soft_event(), which then frees the port before it
	 * returns
	 */
	bool closed;
};

struct soft_qp {
	struct ca_qp qp;
	struct hca_qp *hq;
	struct list link;
};

struct soft_ah {
	struct ca_ah ah;
	struct hca_ah *hah;
	struct list link;
};

static struct soft_ca *to_ca(struct ca *ca)
{
	return container_of(ca, struct soft_ca, ca);
}

static struct soft_qp *to_qp(struct ca_qp *qp)
{
	return container_of(qp, struct soft_qp, qp);
}

static const struct soft_qp *to_const_qp(const struct ca_qp *qp)
{
	return container_of(qp, const struct soft_qp, qp);
}

static int soft_port_query(struct ca *ca, struct ca_port_attr *ret)
{
	const struct node_port *np = to_ca(ca)->np;
	const struct smp_port_info *pi = &np->pi;

	*ret = (struct ca_port_attr){
		.state = pi->port_state,
		.lmc = pi->lmc,
		.sm_sl = pi->sm_sl,
		.max_mtu_code = pi->mtu_cap,
		.active_mtu_code = pi->neighbor_mtu,
		.rate_code = (uint8_t)ib_rate_code(pi->width_active, pi->speed_active,
						   pi->speed_ext_active),
		.lid = pi->lid,
		.sm_lid = pi->sm_lid,
		.pkey_tbl_len = NODE_PKEYS,
		.cap_mask = pi->cap_mask,
		.gid = node_gid(np, 0),
	};
	return 0;
}

static int soft_pkey_query(struct ca *ca, uint16_t index, uint16_t *ret)
{
	if (index >= NODE_PKEYS)
		return -EINVAL;
	*ret = to_ca(ca)->np->pkeys[index];
	return 0;
}

static int soft_qp_create(struct ca *ca, const struct ca_qp_attr *attr, void *ctx,
			  struct ca_qp **ret)
{
	struct soft_ca *c = to_ca(ca);
	struct hca_qp_attr a = {
		.port = c->np->num,
		.pkey_index = attr->pkey_index,
		.qkey = attr->qkey,
		.rx_depth = attr->rx_depth,
		.qpn_hint = attr->qpn_hint,
	};
	struct soft_qp *qp = calloc(1, sizeof(*qp));
	int err;

	if (!qp)
		return -ENOMEM;
	qp->qp.ca = ca;
	qp->qp.ctx = ctx;
	err = hca_qp_create(c->s->hca, &a, qp, &qp->hq);
	if (err) {
		free(qp);
		return err;
	}
	list_add_tail(&c->qps, &qp->link);
	*ret = &qp->qp;
	return 0;
}

static void soft_qp_destroy(struct ca_qp *cqp)
{
	struct soft_qp *qp = to_qp(cqp);

	hca_qp_destroy(qp->hq);
	list_del(&qp->link);
	free(qp);
}

static int soft_qp_modify(struct ca_qp *qp, uint16_t pkey_index, uint32_t qkey)
{
	return hca_qp_modify(to_qp(qp)->hq, pkey_index, qkey);
}

static uint32_t soft_qp_num(const struct ca_qp *qp)
{
	return hca_qp_num(to_const_qp(qp)->hq);
}

static int soft_ah_create(struct ca *ca, const struct ca_ah_attr *attr, struct ca_ah **ret)
{
	struct soft_ca *c = to_ca(ca);
	struct hca_ah_attr a = {
		.port = c->np->num,
		.sl = attr->sl,
		.src_path_bits = attr->src_path_bits,
		.dlid = attr->dlid,
		.static_rate = attr->static_rate,
		.has_grh = attr->has_grh,
		.tclass = attr->tclass,
		.hop_limit = attr->hop_limit,
		.flow_label = attr->flow_label,
		.dgid = attr->dgid,
	};
	struct soft_ah *ah = calloc(1, sizeof(*ah));
	int err;

	if (!ah)
		return -ENOMEM;
	ah->ah.ca = ca;
	err = hca_ah_create(c->s->hca, &a, &ah->hah);
	if (err) {
		free(ah);
		return err;
	}
	list_add_tail(&c->ahs, &ah->link);
	*ret = &ah->ah;
	return 0;
}

static void soft_ah_destroy(struct ca_ah *cah)
{
	struct soft_ah *ah = container_of(cah, struct soft_ah, ah);

	hca_ah_destroy(ah->hah);
	list_del(&ah->link);
	free(ah);
}

static int soft_attach(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	return hca_attach(to_qp(qp)->hq, mgid, mlid);
}

static int soft_detach(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	return hca_detach(to_qp(qp)->hq, mgid, mlid);
}

static unsigned int soft_post_send(struct ca_qp *qp, const struct ca_send *v, unsigned int n,
				   ns_t now)
{
	struct hca_send s[PKT_BATCH];
	unsigned int done = 0, batch;

	for (; done < n; done += batch) {
		batch = n - done < PKT_BATCH ? n - done : PKT_BATCH;
		for (unsigned int i = 0; i < batch; i++) {
			const struct ca_send *c = &v[done + i];

			s[i].pkt = c->pkt;
			s[i].ah = container_of(c->ah, struct soft_ah, ah)->hah;
			s[i].dest_qp = c->dest_qp;
			s[i].qkey = c->qkey;
		}
		hca_post_send(to_qp(qp)->hq, s, batch, now);
	}
	return n;
}

static unsigned int soft_poll(struct ca_qp *qp, struct ca_wc *v, unsigned int n)
{
	struct hca_wc w[PKT_BATCH];

	n = hca_poll(to_qp(qp)->hq, w, n < PKT_BATCH ? n : PKT_BATCH);
	for (unsigned int i = 0; i < n; i++)
		v[i] = (struct ca_wc){
			.pkt = w[i].pkt,
			.grh = w[i].grh,
			.src_qp = w[i].src_qp,
			.slid = w[i].slid,
			.pkey_index = w[i].pkey_index,
			.sl = w[i].sl,
			.dlid_path_bits = w[i].dlid_path_bits,
		};
	return n;
}

static bool soft_arm(struct ca_qp *qp)
{
	return hca_arm(to_qp(qp)->hq);
}

static unsigned int soft_queued(struct ca *ca)
{
	const struct soft_ca *c = to_ca(ca);
	const struct ca_soft_queues *q = c->s->queues;

	return q->queued ? q->queued(c->s->queues_ctx, c->np->num) : 0;
}

static struct ca_send_queue soft_send_queue(struct ca *ca)
{
	const struct soft_ca *c = to_ca(ca);
	const struct ca_soft_queues *q = c->s->queues;

	return q->send_queue ? q->send_queue(c->s->queues_ctx, c->np->num)
			     : (struct ca_send_queue){ 0 };
}

static unsigned int soft_send_flush(struct ca *ca, ns_t now)
{
	const struct soft_ca *c = to_ca(ca);
	const struct ca_soft_queues *q = c->s->queues;

	return q->send_flush ? q->send_flush(c->s->queues_ctx, c->np->num, now) : 0;
}

static struct mad_ep *soft_mad_ep(struct ca *ca)
{
	return to_ca(ca)->np->ep;
}

static void soft_close(struct ca *ca)
{
	struct soft_ca *c = to_ca(ca);
	struct soft_qp *qp, *next_qp;
	struct soft_ah *ah, *next_ah;

	list_for_each_safe (qp, next_qp, &c->qps, link)
		soft_qp_destroy(&qp->qp);
	list_for_each_safe (ah, next_ah, &c->ahs, link)
		soft_ah_destroy(&ah->ah);
	if (c->s->telling) {
		c->closed = true;
		return;
	}
	list_del(&c->link);
	free(c);
}

static void soft_cm_supported(struct ca *ca, bool on, ns_t now)
{
	struct node_port *np = to_ca(ca)->np;

	node_set_cap(np->node, np->num, SMP_CAP_IS_CM, on, now);
}

static const struct ca_ops soft_ops = {
	.close = soft_close,
	.port_query = soft_port_query,
	.pkey_query = soft_pkey_query,
	.qp_create = soft_qp_create,
	.qp_destroy = soft_qp_destroy,
	.qp_modify = soft_qp_modify,
	.qp_num = soft_qp_num,
	.ah_create = soft_ah_create,
	.ah_destroy = soft_ah_destroy,
	.attach = soft_attach,
	.detach = soft_detach,
	.post_send = soft_post_send,
	.poll = soft_poll,
	.arm = soft_arm,
	.queued = soft_queued,
	.send_queue = soft_send_queue,
	.send_flush = soft_send_flush,
	.mad_ep = soft_mad_ep,
	.cm_supported = soft_cm_supported,
};

int ca_soft_open(struct ca_soft_hca *s, uint8_t port, const struct ca_notify *notify, void *ctx,
		 struct ca **ret)
{
	struct node *n = hca_node(s->hca);
	struct soft_ca *c;

	if (port < 1 || port > n->info.nports)
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->ca = (struct ca){
		.ops = &soft_ops,
		.notify = notify,
		.ctx = ctx,
		.trains = hca_trains(s->hca),
		.fd = -1,
	};
	c->s = s;
	c->np = &n->port[port];
	list_init(&c->qps);
	list_init(&c->ahs);
	list_add_tail(&s->open, &c->link);
	*ret = &c->ca;
	return 0;
}

struct ca_soft_hca *ca_soft_hca_create(void)
{
	struct ca_soft_hca *s = calloc(1, sizeof(*s));

	if (s)
		list_init(&s->open);
	return s;
}

void ca_soft_hca_bind(struct ca_soft_hca *s, struct hca *h, const struct ca_soft_queues *q,
		      void *ctx)
{
	s->hca = h;
	s->queues = q;
	s->queues_ctx = ctx;
}

void ca_soft_hca_destroy(struct ca_soft_hca *s)
{
	struct soft_ca *c, *next;

	if (!s)
		return;
	list_for_each_safe (c, next, &s->open, link)
		soft_close(&c->ca);
	free(s);
}

static int event_of(enum node_event ev)
{
	switch (ev) {
	case NODE_EV_PORT_ACTIVE:
		return CA_EVENT_PORT_ACTIVE;
	case NODE_EV_PORT_ERR:
		return CA_EVENT_PORT_ERR;
	case NODE_EV_LID_CHANGE:
		return CA_EVENT_LID_CHANGE;
	case NODE_EV_PKEY_CHANGE:
		return CA_EVENT_PKEY_CHANGE;
	case NODE_EV_SM_CHANGE:
		return CA_EVENT_SM_CHANGE;
	case NODE_EV_CLIENT_REREGISTER:
		return CA_EVENT_CLIENT_REREGISTER;
	case NODE_EV_GID_CHANGE:
		return CA_EVENT_GID_CHANGE;
	case NODE_EV_RETRAIN:
	case NODE_EV_PHYS:
		break;
	}
	return -1;
}

/*
 * Report an event of a port to the users of the port. Their callbacks may open and close ports,
 * even the port for which they are called, and may cause further events.
 */
void ca_soft_event(struct ca_soft_hca *s, uint8_t port, enum node_event ev, ns_t now)
{
	int ca_ev = event_of(ev);
	struct soft_ca *c, *tmp;

	if (ca_ev < 0)
		return;
	s->telling++;
	list_for_each (c, &s->open, link)
		if (c->np->num == port && !c->closed && c->ca.notify && c->ca.notify->event)
			c->ca.notify->event(c->ca.ctx, (enum ca_event)ca_ev, now);
	if (--s->telling)
		return;
	list_for_each_safe (c, tmp, &s->open, link)
		if (c->closed)
			soft_close(&c->ca);
}

void ca_soft_ready(struct ca_soft_hca *s, struct hca_qp *hq)
{
	struct soft_qp *qp = hca_qp_ctx(hq);
	const struct ca *ca = qp->qp.ca;

	(void)s;
	if (ca->notify && ca->notify->ready)
		ca->notify->ready(ca->ctx, &qp->qp);
}
