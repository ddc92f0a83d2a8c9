/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/all_lab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "eth/token.h"
#include "wire/inet.h"

#define PROTO_TEST 253 /* IP protocol for experiments (RFC 3692) */
#define ETH_LEN 14
/* length of the link header on an interface of ARP hardware type 32 (InfiniBand) */
#define IB_LEN 44
#define IP_LEN 20
#define IP6_LEN 40

/* --- link headers */

size_t lab_head_len(const struct lab_host *h)
{
	return h->shape == ETH_SHAPE_INFINIBAND ? IB_LEN : ETH_LEN;
}

uint16_t lab_head_type(const struct lab_host *h, const uint8_t *b)
{
	return be16_at(b + (h->shape == ETH_SHAPE_INFINIBAND ? 40 : 12));
}

static void put_lladdr(uint8_t *b, uint32_t qpn, const ib_gid *gid)
{
	ipoib_lladdr_encode(b, &(struct ipoib_lladdr){ .qpn = qpn, .gid = *gid });
}

void lab_own_hw(const struct lab_host *h, uint8_t *ret)
{
	if (h->shape == ETH_SHAPE_INFINIBAND)
		put_lladdr(ret, h->addr.qpn, &h->addr.gid);
	else
		memcpy(ret, h->ifc.mac, 6);
}

void lab_broadcast_hw(const struct lab_host *h, uint8_t *ret)
{
	if (h->shape == ETH_SHAPE_INFINIBAND)
		put_lladdr(ret, IB_QPN_MCAST, &h->told_broadcast);
	else
		memset(ret, 0xff, 6);
}

void lab_put_head(const struct lab_host *h, uint8_t *b, const uint8_t *dst, uint16_t type)
{
	bool ib = h->shape == ETH_SHAPE_INFINIBAND;

	memset(b, 0, lab_head_len(h));
	memcpy(b + (ib ? 20 : 0), dst, ib ? 20 : 6);
	lab_own_hw(h, b + (ib ? 0 : 6));
	be16_put(b + (ib ? 40 : 12), type);
}

/* --- the kernel's side of an interface */

static int on_read(void *ctx, struct pkt **ret)
{
	struct lab_host *h = ctx;

	*ret = pkt_queue_pop(&h->tap);
	return *ret ? 0 : -EAGAIN;
}

/*
 * Write to @ret the IPoIB address of the sender of the frame @b, which host @h has received. Return
 * false if @h does not know the sender
 */
static bool sender_of(struct lab_host *h, const uint8_t *b, struct ipoib_lladdr *ret)
{
	const struct ipoib_neigh *n;

	if (h->shape == ETH_SHAPE_INFINIBAND) {
		assert_int_equal(ipoib_lladdr_decode(ret, b, IPOIB_ALEN), 0);
		return !ib_gid_is_zero(&ret->gid);
	}
	n = eth_peer_by_mac(h->ifc.eth, b + 6);
	if (n)
		*ret = n->lladdr;
	return n != NULL;
}

static void deliver_data(struct lab_host *h, const uint8_t *b, size_t len)
{
	size_t head = lab_head_len(h), hlen;
	struct ipoib_lladdr src;
	uint16_t type;
	bool v6;

	assert_true(len >= head);
	type = lab_head_type(h, b);
	v6 = type == ETH_P_IPV6_;
	hlen = head + (v6 ? IP6_LEN : IP_LEN);
	if (len < hlen || (!v6 && type != ETH_P_IPV4) || b[head + (v6 ? 6 : 9)] != PROTO_TEST)
		return;
	h->lab->rx(h->lab, h, sender_of(h, b, &src) ? &src : NULL, b + hlen, len - hlen);
}

static void on_deliver(void *ctx, struct eth_frame *f)
{
	static uint8_t b[8192];
	struct lab_host *h = ctx;

	if (h->lab->frame)
		h->lab->frame(h->lab, h, f);
	else if (h->lab->rx)
		deliver_data(h, b, pkt_copy_out(f->first, 0, b, sizeof(b)));
	eth_frame_free(f);
}

static void on_neigh_gone(void *ctx, const uint8_t mac[6])
{
}

static void on_lladdr_gone(void *ctx, const struct ipoib_lladdr *a)
{
	struct lab_host *h = ctx;

	assert_int_equal(h->shape, ETH_SHAPE_INFINIBAND);
	h->forgotten++;
}

static void on_mac(void *ctx, const uint8_t mac[6])
{
}

static void on_lladdr(void *ctx, const struct ipoib_lladdr *own, const ib_gid *broadcast)
{
	struct lab_host *h = ctx;

	assert_int_equal(h->shape, ETH_SHAPE_INFINIBAND);
	h->told_own = *own;
	h->told_broadcast = broadcast ? *broadcast : (ib_gid){ 0 };
	h->told++;
	h->told_unknown += !broadcast;
}

static void on_mtu(void *ctx, unsigned int mtu)
{
}

static void on_carrier(void *ctx, bool up)
{
	struct lab_host *h = ctx;
	struct ipoib_link_info info;

	h->carrier = up;
	ipoib_link_info(h->link, &info);
	h->addr = info.lladdr;
	if (h->shape != ETH_SHAPE_INFINIBAND || !up)
		return;
	assert_int_equal(h->told_own.qpn, info.lladdr.qpn);
	assert_true(ib_gid_equal(&h->told_own.gid, &info.lladdr.gid));
	assert_true(ib_gid_equal(&h->told_broadcast, &info.mgid));
}

static const struct ifc_ops ops = {
	.read = on_read,
	.deliver = on_deliver,
	.neigh_gone = on_neigh_gone,
	.lladdr_gone = on_lladdr_gone,
	.set_mac = on_mac,
	.set_lladdr = on_lladdr,
	.set_mtu = on_mtu,
	.set_carrier = on_carrier,
};

static void hca_event(void *ctx, struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now)
{
	ca_soft_event(ctx, port, ev, now);
}

static void hca_ready(void *ctx, struct hca_qp *qp)
{
	ca_soft_ready(ctx, qp);
}

static unsigned int hca_queued(void *ctx, uint8_t port)
{
	const struct lab *l = ctx;

	return fabric_queued(l->f);
}

static const struct ca_soft_queues queues = { .queued = hca_queued };

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	struct lab *l = sink->ctx;

	fprintf(stderr, "%12.6f ", (double)l->now / 1e9);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void lab_host_open(struct lab_host *h)
{
	struct lab *l = h->lab;
	char name[16], link_name[16];
	struct ifc_cfg cfg = {
		.name = name,
		.link_name = link_name,
		.pkey = h->pkey,
		.profile = h->profile,
		.shape = h->shape,
		.scope = h->scope,
		.router = h->router,
		.stations = h->stations,
		.max_neighs = h->neighbours,
		.rq_depth = l->rq_depth,
		.sidr_server = h->sidr_server,
		.gro_tcp = !h->no_tso,
		.gro_udp = !h->no_uso,
	};

	/*
	 * The lab derives the QPN from the interface's name, so a new name gives the restarted
	 * interface a new QPN.
	 */
	snprintf(name, sizeof(name), "uib%u", h->restarts);
	snprintf(link_name, sizeof(link_name), "host%u", h->index);
	ifc_port_init(&h->ca_port, &l->set);
	assert_int_equal(
		ca_soft_open(h->soft, h->port, &ifc_port_notify, &h->ca_port, &h->ca_port.ca), 0);
	assert_int_equal(ifc_port_start(&h->ca_port), 0);
	ifc_init(&h->ifc, &h->ca_port, &cfg, &ops, h);
	assert_int_equal(ifc_start(&h->ifc, &cfg), 0);
	h->sac = h->ca_port.sac;
	h->link = h->ifc.ipoib;
	ifc_set_up(&h->ifc, true, l->now);
}

void lab_host_close(struct lab_host *h)
{
	ifc_destroy(&h->ifc);
	ifc_port_close(&h->ca_port);
	pkt_queue_purge(&h->tap);
	h->carrier = false;
}

void lab_host_restart(struct lab_host *h)
{
	lab_host_close(h);
	h->restarts++;
	lab_host_open(h);
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
		ca_soft_hca_bind(l->soft[i], fabric_node_hca(node), &queues, l);
		fabric_set_hca_notify(l->f, node, &fn, l->soft[i]);
		for (uint8_t p = 1; p <= fabric_node_node(node)->info.nports && p <= 4; p++) {
			struct lab_host *h = &l->host[l->nhosts];

			*h = (struct lab_host){ .lab = l,
						.node = node,
						.port = p,
						.index = l->nhosts++,
						.soft = l->soft[i],
						.pkey = cfg->pkey ? cfg->pkey : 0xffff };
			h->router = h->index < cfg->routers;
			h->stations = cfg->stations;
			h->sidr_server = h->index < cfg->sidr_servers;
			h->profile = cfg->profile[h->index % 2];
			if (cfg->setup)
				cfg->setup(h, cfg->setup_ctx);
			lab_host_open(h);
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
	if (l->sidr)
		assert_int_equal(sa_sidr_start(l->sa, SIDR_SERVICE_ID_DEFAULT), 0);
	if (partitions)
		lab_partitions(l, partitions);
	node_set_cap(n, port, SMP_CAP_IS_SM, true, l->now);
	node_set_cap(n, port, SMP_CAP_IS_CM, l->sidr, l->now);
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
	struct fabric_cfg fc = { .timers = &l->timers,
				 .crc = cfg->crc,
				 .trains = cfg->trains,
				 .data_depth = cfg->data_depth,
				 .seed = cfg->seed,
				 .log = &l->log };

	memset(l, 0, sizeof(*l));
	l->seed = cfg->seed;
	l->rq_depth = cfg->rq_depth;
	l->now = NS_SEC(1);
	timers_init(&l->timers);
	if (cfg->verbose)
		l->log = (struct log_sink){ emit, l, LOG_LVL_DEBUG };
	l->pool = pkt_pool_create(65536, 1024);
	ifc_set_init(&l->set, &l->timers, l->pool, &l->log);
	fc.pool = l->pool;
	assert_int_equal(fabric_create(&l->f, cfg->topo, &fc, l->now), 0);
	l->sidr = cfg->sidr;
	bind_hcas(l, cfg);
	lab_sm_start(l, cfg->sm, cfg->partitions);
}

void lab_destroy(struct lab *l)
{
	for (unsigned int i = 0; i < l->nhosts; i++)
		lab_host_close(&l->host[i]);
	sa_destroy(l->sa);
	sm_destroy(l->sm);
	for (unsigned int i = 0; i < fabric_nnodes(l->f); i++)
		ca_soft_hca_destroy(l->soft[i]);
	fabric_destroy(l->f);
	ifc_set_fini(&l->set);
	timers_fini(&l->timers);
	assert_int_equal(pkt_pool_pkts_used(l->pool), 0);
	assert_int_equal(pkt_pool_bufs_used(l->pool), 0);
	pkt_pool_destroy(l->pool);
	free(l->soft);
	free(l->host);
}

/*
 * Run all parts of the lab once, in the order of the daemon's loop. Tell whether any part still has
 * work that is due at the present time.
 */
static bool one_round(struct lab *l)
{
	uint64_t hops = fabric_stats(l->f)->hops;
	bool more;

	timers_run(&l->timers, l->now);
	ifc_work(&l->set, l->now);
	ifc_transmit(&l->set, l->now);
	more = fabric_run(l->f, l->now) || fabric_stats(l->f)->hops != hops;
	return more || ifc_work_left(&l->set) || ifc_transmit_left(&l->set) ||
	       timers_next(&l->timers) <= l->now;
}

void lab_run(struct lab *l, ns_t d)
{
	ns_t until = l->now + d;

	for (;;) {
		while (one_round(l))
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

const uint8_t *lab_mac(struct lab_host *from, const struct lab_host *to)
{
	struct ipoib_neigh *n = ipoib_neigh_get(from->link, &to->addr, from->lab->now);
	const uint8_t *mac;

	assert_non_null(n);
	mac = eth_peer_mac(from->ifc.eth, n);
	assert_non_null(mac);
	return mac;
}

void lab_frame(struct lab_host *from, struct pkt *p)
{
	pkt_queue_add(&from->tap, p);
	ifc_readable(&from->ifc);
}

static bool has_ipv4(const struct lab_host *h)
{
	return ipoib_profile_has(ipoib_link_profile(h->link), IPOIB_IPV4);
}

size_t lab_ip_len(const struct lab_host *h)
{
	return has_ipv4(h) ? IP_LEN : IP6_LEN;
}

/*
 * Write to @ret the IPv6 address that a host without IPv4 uses in place of the IPv4 address @ip. A
 * group becomes ff0e::/96 followed by the 32 bits of @ip, and a host's address becomes fd00::/96
 * followed by these bits.
 */
static void to_ipv6(uint8_t ret[16], const uint8_t ip[4])
{
	memset(ret, 0, 16);
	ret[0] = ip[0] >> 4 == 0xe ? 0xff : 0xfd;
	ret[1] = ip[0] >> 4 == 0xe ? 0x0e : 0;
	memcpy(ret + 12, ip, 4);
}

void lab_receive(struct lab_host *h, const uint8_t group[4])
{
	uint8_t v6[16];

	to_ipv6(v6, group);
	if (has_ipv4(h))
		assert_int_equal(ipoib_mcast_add(h->link, IPOIB_IPV4, group, h->lab->now), 0);
	else
		assert_int_equal(ipoib_mcast_add(h->link, IPOIB_IPV6, v6, h->lab->now), 0);
}

void lab_receive_not(struct lab_host *h, const uint8_t group[4])
{
	uint8_t v6[16];

	to_ipv6(v6, group);
	if (has_ipv4(h))
		ipoib_mcast_del(h->link, IPOIB_IPV4, group, h->lab->now);
	else
		ipoib_mcast_del(h->link, IPOIB_IPV6, v6, h->lab->now);
}

static void put_ipv4(uint8_t *ip, const uint8_t src[4], const uint8_t dst[4], size_t len)
{
	ip[0] = 0x45;
	be16_put(ip + 2, (uint16_t)(IP_LEN + len));
	ip[8] = 64;
	ip[9] = PROTO_TEST;
	memcpy(ip + 12, src, 4);
	memcpy(ip + 16, dst, 4);
	be16_put(ip + 10, inet_fold(inet_sum(0, ip, IP_LEN)));
}

static void put_ipv6(uint8_t *ip, const uint8_t src[4], const uint8_t dst[4], size_t len)
{
	ip[0] = 0x60;
	be16_put(ip + 4, (uint16_t)len);
	ip[6] = PROTO_TEST;
	ip[7] = 64;
	to_ipv6(ip + 8, src);
	to_ipv6(ip + 24, dst);
}

static void send_ip(struct lab_host *from, const uint8_t *hw, const uint8_t dst[4],
		    const void *data, size_t len)
{
	uint8_t b[IB_LEN + 4096 + 1] = { 0 }, src[4];
	size_t head = lab_head_len(from), hlen = head + lab_ip_len(from);
	bool v4 = has_ipv4(from);
	struct pkt *p;

	assert_true(hlen + len <= sizeof(b));
	lab_put_head(from, b, hw, v4 ? ETH_P_IPV4 : ETH_P_IPV6_);
	be32_put(src, 0x0a000001 + from->index);
	if (v4)
		put_ipv4(b + head, src, dst, len);
	else
		put_ipv6(b + head, src, dst, len);
	memcpy(b + hlen, data, len);
	p = pkt_from_data(from->lab->pool, b, hlen + len);
	assert_non_null(p);
	lab_frame(from, p);
}

void lab_send(struct lab_host *from, const struct lab_host *to, const void *data, size_t len)
{
	uint8_t dst[4], hw[IPOIB_ALEN];

	be32_put(dst, 0x0a000001 + to->index);
	if (from->shape == ETH_SHAPE_INFINIBAND)
		put_lladdr(hw, to->addr.qpn, &to->addr.gid);
	else
		memcpy(hw, lab_mac(from, to), 6);
	send_ip(from, hw, dst, data, len);
}

void lab_send_group(struct lab_host *from, const uint8_t group[4], const void *data, size_t len)
{
	uint8_t hw[IPOIB_ALEN];

	lab_broadcast_hw(from, hw);
	send_ip(from, hw, group, data, len);
}
