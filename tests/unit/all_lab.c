/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/all_lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void on_event(void *ctx, enum ca_event ev, ns_t now)
{
	struct lab_host *h = ctx;

	h->dirty = true;
	if (ev == CA_EVENT_CLIENT_REREGISTER)
		h->rereg = true;
}

static void on_ready(void *ctx, struct ca_qp *qp)
{
	struct lab_host *h = ctx;

	h->ready = true;
}

static const struct ca_notify notify = { on_event, on_ready };

static void hca_event(void *ctx, struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now)
{
	ca_soft_event(ctx, port, ev, now);
}

static void hca_ready(void *ctx, struct hca_qp *qp)
{
	ca_soft_ready(ctx, qp);
}

static void emit(void *ctx, enum log_level lvl, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void emit(void *ctx, enum log_level lvl, const char *fmt, va_list ap)
{
	struct lab *l = ctx;

	fprintf(stderr, "%12.6f ", (double)l->now / 1e9);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

static void host_open(struct lab_host *h)
{
	struct lab *l = h->lab;
	struct sac_cfg sc = { .timers = &l->timers, .log = &l->log, .seed = l->seed + h->index };
	struct ipoib_link_cfg lc = { .timers = &l->timers, .log = &l->log, .pkey = h->pkey };

	assert_int_equal(ca_soft_open(h->soft, h->port, &notify, h, &h->ca), 0);
	sc.ep = ca_mad_ep(h->ca);
	assert_int_equal(sac_create(&h->sac, &sc), 0);
	lc.sac = h->sac;
	snprintf(lc.name, sizeof(lc.name), "host%u", h->index);
	assert_int_equal(ipoib_link_create(&h->link, &lc), 0);
	h->dirty = true;
	ipoib_link_set_admin(h->link, true, l->now);
}

static void host_close(struct lab_host *h)
{
	struct ipoib_action a;

	while (!ipoib_next_action(h->link, &a))
		if (a.type == IPOIB_ACT_SEND)
			pkt_free(a.send.pkt);
	ipoib_link_destroy(h->link);
	ca_qp_destroy(h->qp);
	sac_destroy(h->sac);
	ca_close(h->ca);
	h->qp = NULL;
	h->carrier = h->ready = h->rereg = false;
}

void lab_host_restart(struct lab_host *h)
{
	host_close(h);
	host_open(h);
}

static void bind_hcas(struct lab *l, const struct lab_cfg *cfg)
{
	const struct fabric_notify fn = { hca_event, hca_ready };
	unsigned int n = fabric_nnodes(l->f);

	l->soft = calloc(n, sizeof(*l->soft));
	l->host = calloc(n * 4u, sizeof(*l->host));
	for (unsigned int i = 0; i < n; i++) {
		struct fabric_node *node = fabric_node_at(l->f, i);

		if (!fabric_node_hca(node))
			continue;
		l->soft[i] = ca_soft_hca_create();
		ca_soft_hca_bind(l->soft[i], fabric_node_hca(node));
		fabric_set_hca_notify(l->f, node, &fn, l->soft[i]);
		for (uint8_t p = 1; p <= fabric_node_node(node)->info.nports && p <= 4; p++) {
			struct lab_host *h = &l->host[l->nhosts];

			*h = (struct lab_host){ .lab = l,
						.node = node,
						.port = p,
						.index = l->nhosts++,
						.soft = l->soft[i],
						.pkey = cfg->pkey ? cfg->pkey : 0xffff };
			host_open(h);
		}
	}
}

static struct fabric_node *sm_node(struct lab *l)
{
	for (unsigned int i = 0; i < fabric_nnodes(l->f); i++)
		if (!fabric_node_hca(fabric_node_at(l->f, i)))
			return fabric_node_at(l->f, i);
	return fabric_node_at(l->f, 0);
}

void lab_partitions(struct lab *l, const char *text)
{
	struct sm_partitions *ps;
	char err[256];

	if (sm_partitions_parse(&ps, "test", text, strlen(text), err, sizeof(err)))
		fail_msg("%s", err);
	sm_set_partitions(l->sm, ps, l->now);
}

void lab_sm_start(struct lab *l, const struct sm_cfg *cfg, const char *partitions)
{
	struct node *n = fabric_node_node(sm_node(l));
	uint8_t port = node_is_switch(n) ? 0 : 1;
	struct sm_cfg sc = cfg ? *cfg : sm_cfg_default();

	assert_int_equal(sm_create(&l->sm, n->port[port].ep, &sc, &l->timers, &l->log), 0);
	assert_int_equal(sa_create(&l->sa, l->sm), 0);
	if (partitions)
		lab_partitions(l, partitions);
	node_set_cap(n, port, SMP_CAP_IS_SM, true, l->now);
	sm_start(l->sm, l->now);
}

void lab_sm_stop(struct lab *l)
{
	struct node *n = fabric_node_node(sm_node(l));

	sa_destroy(l->sa);
	sm_destroy(l->sm);
	l->sa = NULL;
	l->sm = NULL;
	node_set_cap(n, node_is_switch(n) ? 0 : 1, SMP_CAP_IS_SM, false, l->now);
}

void lab_create(struct lab *l, const struct lab_cfg *cfg)
{
	struct fabric_cfg fc = {
		.timers = &l->timers, .crc = cfg->crc, .seed = cfg->seed, .log = &l->log
	};

	memset(l, 0, sizeof(*l));
	l->seed = cfg->seed;
	l->now = NS_SEC(1);
	timers_init(&l->timers);
	if (cfg->verbose)
		l->log = (struct log_sink){ emit, l, LOG_LVL_DEBUG };
	l->pool = pkt_pool_create(65536, 64);
	fc.pool = l->pool;
	assert_int_equal(fabric_create(&l->f, cfg->topo, &fc, l->now), 0);
	bind_hcas(l, cfg);
	lab_sm_start(l, cfg->sm, cfg->partitions);
}

void lab_destroy(struct lab *l)
{
	for (unsigned int i = 0; i < l->nhosts; i++)
		host_close(&l->host[i]);
	sa_destroy(l->sa);
	sm_destroy(l->sm);
	for (unsigned int i = 0; i < fabric_nnodes(l->f); i++)
		ca_soft_hca_destroy(l->soft[i]);
	fabric_destroy(l->f);
	timers_fini(&l->timers);
	assert_int_equal(pkt_pool_pkts_used(l->pool), 0);
	assert_int_equal(pkt_pool_bufs_used(l->pool), 0);
	pkt_pool_destroy(l->pool);
	free(l->soft);
	free(l->host);
}

static void refresh(struct lab_host *h)
{
	struct ca_port_attr a;
	bool rereg = h->rereg;

	h->dirty = h->rereg = false;
	assert_int_equal(ca_port_query(h->ca, &a), 0);
	sac_port_update(h->sac,
			&(struct sac_port){ .state = a.state,
					    .sm_sl = a.sm_sl,
					    .lid = a.lid,
					    .sm_lid = a.sm_lid,
					    .gid = a.gid },
			h->lab->now);
	if (rereg)
		sac_reregister(h->sac, h->lab->now);
	ipoib_link_port_update(h->link,
			       &(struct ipoib_port){ .state = a.state,
						     .lmc = a.lmc,
						     .mtu_code = a.active_mtu_code,
						     .rate_code = a.rate_code,
						     .lid = a.lid,
						     .gid = a.gid,
						     .pkey_index = ca_pkey_find(h->ca, h->pkey) },
			       h->lab->now);
}

static void poll_qp(struct lab_host *h)
{
	struct ca_wc wc[PKT_BATCH];
	struct ipoib_rx rx[PKT_BATCH];
	static uint8_t data[8192];
	unsigned int n = ca_poll(h->qp, wc, PKT_BATCH);

	h->ready = n == PKT_BATCH;
	for (unsigned int i = 0; i < n; i++)
		rx[i] = (struct ipoib_rx){ .pkt = wc[i].pkt,
					   .grh = wc[i].grh,
					   .src_qp = wc[i].src_qp,
					   .slid = wc[i].slid,
					   .sl = wc[i].sl,
					   .dlid_path_bits = wc[i].dlid_path_bits };
	if (n)
		ipoib_rx(h->link, rx, n, h->lab->now);
	for (unsigned int i = 0; i < n; i++) {
		if (rx[i].verdict != IPOIB_DELIVER)
			continue;
		if (h->lab->rx)
			h->lab->rx(h->lab, h, &rx[i], data,
				   pkt_copy_out(rx[i].pkt, 0, data, sizeof(data)));
		pkt_free(rx[i].pkt);
	}
	if (!h->ready && !ca_arm(h->qp))
		h->ready = true;
}

static void post(struct lab_host *h, struct pkt *p, void *ah, uint32_t qpn, uint32_t qkey)
{
	struct ca_send s = { .pkt = p, .ah = ah, .dest_qp = qpn, .qkey = qkey };

	assert_int_equal(ca_post_send(h->qp, &s, 1, h->lab->now), 1);
}

static void act(struct lab_host *h, const struct ipoib_action *a)
{
	ns_t now = h->lab->now;
	struct ipoib_link_info info;
	struct ca_ah *ah = NULL;
	int err;

	switch (a->type) {
	case IPOIB_ACT_QP_CREATE:
		err = ca_qp_create(h->ca,
				   &(struct ca_qp_attr){ .pkey_index = a->qp.pkey_index,
							 .qkey = a->qp.qkey,
							 .rx_depth = 4096 },
				   h, &h->qp);
		ipoib_qp_ready(h->link, err ? 0 : ca_qp_num(h->qp), err, now);
		ipoib_link_info(h->link, &info);
		h->addr = info.lladdr;
		ca_arm(h->qp);
		break;
	case IPOIB_ACT_QP_MODIFY:
		ca_qp_modify(h->qp, a->qp.pkey_index, a->qp.qkey);
		ca_arm(h->qp);
		break;
	case IPOIB_ACT_AH_CREATE:
		err = ca_ah_create(
			h->ca,
			&(struct ca_ah_attr){ .dlid = a->ah_create.attr.dlid,
					      .sl = a->ah_create.attr.sl,
					      .src_path_bits = a->ah_create.attr.src_path_bits,
					      .has_grh = a->ah_create.attr.has_grh,
					      .tclass = a->ah_create.attr.tclass,
					      .hop_limit = a->ah_create.attr.hop_limit,
					      .flow_label = a->ah_create.attr.flow_label,
					      .dgid = a->ah_create.attr.dgid },
			&ah);
		ipoib_ah_ready(h->link, a->ah_create.cookie, ah, err, now);
		break;
	case IPOIB_ACT_AH_DESTROY:
		ca_ah_destroy(a->ah);
		break;
	case IPOIB_ACT_ATTACH:
		assert_int_equal(ca_attach(h->qp, &a->mcast.mgid, a->mcast.mlid), 0);
		break;
	case IPOIB_ACT_DETACH:
		ca_detach(h->qp, &a->mcast.mgid, a->mcast.mlid);
		break;
	case IPOIB_ACT_CARRIER:
		h->carrier = a->carrier.up;
		break;
	case IPOIB_ACT_SEND:
		post(h, a->send.pkt, a->send.ah, a->send.dest_qpn, a->send.qkey);
		break;
	case IPOIB_ACT_MTU:
	case IPOIB_ACT_NEIGH_GONE:
	case IPOIB_ACT_MCAST_READY:
		break;
	}
}

static bool settle(struct lab *l)
{
	uint64_t hops = fabric_stats(l->f)->hops;
	bool more;

	timers_run(&l->timers, l->now);
	for (unsigned int i = 0; i < l->nhosts; i++) {
		struct lab_host *h = &l->host[i];
		struct ipoib_action a;

		if (h->dirty)
			refresh(h);
		if (h->ready && h->qp)
			poll_qp(h);
		while (!ipoib_next_action(h->link, &a))
			act(h, &a);
	}
	more = fabric_run(l->f, l->now) || fabric_stats(l->f)->hops != hops;
	for (unsigned int i = 0; i < l->nhosts && !more; i++)
		more = l->host[i].dirty || l->host[i].ready;
	return more || timers_next(&l->timers) <= l->now;
}

void lab_run(struct lab *l, ns_t d)
{
	ns_t until = l->now + d;

	for (;;) {
		while (settle(l))
			;
		if (timers_next(&l->timers) > until)
			break;
		l->now = timers_next(&l->timers);
	}
	l->now = until;
}

bool lab_all_up(const struct lab *l, const bool *want)
{
	for (unsigned int i = 0; i < l->nhosts; i++)
		if ((!want || want[i]) && !l->host[i].carrier)
			return false;
	return true;
}

static void tx(struct lab_host *from, struct ipoib_tx *t, const void *data, size_t len)
{
	t->pkt = pkt_from_data(from->lab->pool, data, len);
	t->ethertype = ETH_P_IPV4;
	assert_non_null(t->pkt);
	ipoib_tx(from->link, t, 1, from->lab->now);
	if (t->verdict == IPOIB_SEND)
		post(from, t->pkt, t->ah, t->dest_qpn, t->qkey);
}

void lab_send(struct lab_host *from, const struct lab_host *to, const void *data, size_t len)
{
	struct ipoib_tx t = { .dst = IPOIB_DST_NEIGH };

	t.neigh = ipoib_neigh_get(from->link, &to->addr, from->lab->now);
	assert_non_null(t.neigh);
	tx(from, &t, data, len);
}

void lab_send_group(struct lab_host *from, const uint8_t group[4], const void *data, size_t len)
{
	struct ipoib_tx t = { .dst = IPOIB_DST_MCAST4 };

	memcpy(t.group, group, 4);
	tx(from, &t, data, len);
}
