/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"

#include "train/train.h"

const uint8_t er_bcast_mac[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
const uint8_t er_ip_own[4] = { 10, 4, 0, RIG_LID }, er_ip_peer[4] = { 10, 4, 0, ER_PEER };
const uint8_t er_ll_own[16] = { 0xfe, 0x80, [8] = 2, 2, 0xc9, 3, [15] = RIG_LID };
uint8_t er_peer_mac[6];
struct eth_rig er;
enum eth_shape er_shape;
unsigned int er_max_stations;
bool er_dhcp_raw, er_trains;
const struct ipoib_profile *er_profile;
const struct log_sink *er_log;

void er_csum_by_ca(bool on)
{
	er.ca_csum = on;
	eth_set_csum(er.e, on);
}

/*
 * Complete the partial checksum in @s, the copy of a sent packet. Before this, check that the
 * checksum field contains the sum of the pseudo-header.
 */
static void make_csum(struct er_sent *s, const struct frame_info *f)
{
	uint8_t *ip = s->data + 4;
	uint16_t n = (uint16_t)(s->len - 24);

	assert_true(er.ca_csum && f->csum_start == 20 && ip[0] == 0x45);
	assert_int_equal(be16_at(ip + 20 + f->csum_offset),
			 er_sum(ip + 12, 8, ip[9] + (uint32_t)n));
	be16_put(ip + 20 + f->csum_offset, (uint16_t)~er_sum(ip + 20, n, 0));
}

static void keep(const struct eth_send *v, struct pkt *p, unsigned int train)
{
	struct er_sent *s = &er.sent[er.nsent++];
	const struct rig_ah *ah = v->ah;

	assert_true(er.nsent <= ER_KEPT);
	assert_true(ah && ah->live);
	assert_true(p->len <= sizeof(s->data));
	assert_int_equal(frame_info(p)->gso, FRAME_GSO_NONE);
	*s = (struct er_sent){
		.pkt = p,
		.slice = p->nslices ? p->slice[0].data : NULL,
		.train = train,
		.csum = frame_info(p)->csum,
		.dest_qpn = v->dest_qpn,
		.qkey = v->qkey,
		.src_qpn = v->qp ? ((const struct er_station *)v->qp)->qpn : 0,
		.ah = ah->attr,
	};
	s->len = pkt_copy_out(p, 0, s->data, sizeof(s->data));
	assert_int_equal(s->len, p->len);
	if (s->csum == FRAME_CSUM_PARTIAL)
		make_csum(s, frame_info(p));
	/*
	 * One of the two 16-bit words of the encapsulation is the reserved field, which must be 0
	 * (clause R30 for RFC 4391, clause P3 for encaparp00). The other word is the ethertype,
	 * which is never 0.
	 */
	if (ipoib_link_profile(er.r.link)->encap.len)
		assert_true(!be16_at(s->data) != !be16_at(s->data + 2));
	pkt_free(p);
}

static void on_post(void *ctx, const struct eth_send *v, unsigned int n, ns_t now)
{
	for (unsigned int i = 0; i < n; i++) {
		unsigned int train = pkt_count(v[i].pkt);

		while (pkt_is_train(v[i].pkt))
			keep(&v[i], train_split(v[i].pkt, 1), train);
		keep(&v[i], v[i].pkt, train);
	}
}

static void on_deliver(void *ctx, struct eth_frame *f)
{
	struct er_got *g = &er.got[er.ngot++];
	struct iovec iov[ETH_FRAME_PARTS];
	unsigned int n = eth_frame_iov(f, iov);

	assert_true(er.ngot <= ER_KEPT);
	*g = (struct er_got){ .pkt = f->first, .n = f->n, .gso = frame_info(f->first)->gso };
	for (unsigned int i = 0; i < n; i++) {
		assert_true(g->len + iov[i].iov_len <= sizeof(g->data));
		memcpy(g->data + g->len, iov[i].iov_base, iov[i].iov_len);
		g->len += iov[i].iov_len;
	}
	assert_int_equal(g->len, f->len);
	eth_frame_free(f);
}

static void on_gone(void *ctx, const uint8_t mac[6])
{
	assert_true(er.ngone < ER_KEPT);
	memcpy(er.gone[er.ngone++], mac, 6);
}

static void on_lladdr_gone(void *ctx, const struct ipoib_lladdr *a)
{
	er.lladdr_gone = *a;
	er.nlladdr_gone++;
}

struct er_station *er_station(const uint8_t mac[6])
{
	for (unsigned int i = 0; i < er.nstation; i++)
		if (er.station[i].st && !memcmp(er.station[i].mac, mac, 6))
			return &er.station[i];
	return NULL;
}

static int on_open(void *ctx, struct eth_station *st, const uint8_t mac[6], void **ret_qp,
		   uint32_t *ret_qpn)
{
	struct er_station *s = &er.station[er.nstation];

	if (er.station_err)
		return er.station_err;
	assert_true(er.nstation < ER_KEPT);
	assert_null(er_station(mac));
	memcpy(s->mac, mac, 6);
	s->st = st;
	s->qpn = 0x1000 + er.nstation++;
	*ret_qp = s;
	*ret_qpn = s->qpn;
	return 0;
}

static void on_close(void *ctx, void *qp)
{
	struct er_station *s = qp;

	assert_non_null(s->st);
	s->st = NULL;
}

static const struct eth_ops ops = {
	on_post, on_deliver, on_gone, on_open, on_close, on_lladdr_gone
};

void er_drain(void)
{
	struct ipoib_action a;

	while (!ipoib_next_action(er.r.link, &a)) {
		if (er.no_ready && a.type == IPOIB_ACT_MCAST_READY)
			continue;
		if (!eth_action(er.e, &a, er.r.s.now))
			rig_do(&er.r, &a);
	}
}

void er_run(ns_t dt)
{
	struct sac_rig *s = &er.r.s;
	ns_t end = s->now + dt;

	er_drain();
	while (timers_next(&s->timers) <= end) {
		ns_t t = timers_next(&s->timers);

		if (t > s->now)
			s->now = t;
		timers_run(&s->timers, s->now);
		er_drain();
	}
	s->now = end;
}

void er_groups_sync(const uint8_t (*v4)[4], unsigned int n4, const uint8_t (*v6)[16],
		    unsigned int n6)
{
	eth_groups_sync_begin(er.e);
	for (unsigned int i = 0; i < n4; i++)
		eth_groups_sync_seen(er.e, IPOIB_IPV4, v4[i], er.r.s.now);
	for (unsigned int i = 0; i < n6; i++)
		eth_groups_sync_seen(er.e, IPOIB_IPV6, v6[i], er.r.s.now);
	eth_groups_sync_end(er.e, true, er.r.s.now);
}

void er_clear(void)
{
	er.nsent = er.ngot = er.ngone = 0;
}

void er_init_down(void)
{
	struct eth_if_cfg cfg = { .pkey = RIG_PKEY, .gro_tcp = true, .gro_udp = true };
	struct ipoib_link_cfg link = { .profile = er_profile };
	struct ipoib_link_info info;

	memset(&er, 0, sizeof(er));
	rig_init_cfg(&er.r, &link, 1);
	cfg.shape = er_shape;
	cfg.stations = er_max_stations;
	cfg.dhcp_raw = er_dhcp_raw;
	cfg.trains = er_trains;
	cfg.log = er_log;
	cfg.link = er.r.link;
	cfg.pool = er.r.pool;
	cfg.timers = &er.r.s.timers;
	assert_int_equal(eth_if_create(&er.e, &cfg, &ops, NULL), 0);
	ipoib_link_set_admin(er.r.link, true, er.r.s.now);
	er_run(NS_MSEC(10));
	assert_true(ipoib_link_is_up(er.r.link));
	ipoib_link_info(er.r.link, &info);
	er.own = info.lladdr;
	eth_own_mac(er.mac, ib_gid_guid(&er.own.gid), RIG_PKEY, er.own.qpn);
	eth_if_set_addr(er.e, er.mac, &er.own);
}

void er_init(void)
{
	er_init_down();
	eth_if_set_up(er.e, true, er.r.s.now);
	er_run(NS_MSEC(10));
	er_clear();
}

void er_init_peer(void)
{
	uint8_t b[100];

	er_init();
	er_learn(ER_PEER, ER_PEER_QPN, er_peer_mac);
	er_tx(er_peer_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 10));
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 1);
	er_clear();
}

void er_fini(void)
{
	eth_if_destroy(er.e);
	for (unsigned int i = 0; i < er.nstation; i++)
		assert_null(er.station[i].st);
	rig_fini(&er.r);
}

uint64_t er_drops(enum eth_drop why)
{
	return eth_if_stats(er.e)->drops[why];
}

uint64_t er_drops_sum(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < ETH_DROP_MAX; i++)
		sum += eth_if_stats(er.e)->drops[i];
	for (unsigned int i = 0; i < IPOIB_DROP_N; i++)
		sum += ipoib_link_stats(er.r.link)->drops[i];
	return sum;
}

void er_check_dropped(enum eth_drop why)
{
	if (er_drops(why) != 1)
		fail_msg("%s was not counted", eth_drop_name(why));
	assert_int_equal(er_drops_sum(), 1);
	assert_int_equal(er.nsent, 0);
}

/* --- from the TAP */

struct pkt *er_frame(const uint8_t dst[6], const uint8_t src[6], uint16_t type, const void *data,
		     size_t n)
{
	static uint8_t b[68000];
	struct pkt *p;

	assert_true(n + 14 <= sizeof(b));
	memcpy(b, dst, 6);
	memcpy(b + 6, src, 6);
	be16_put(b + 12, type);
	memcpy(b + 14, data, n);
	p = pkt_from_data(er.r.pool, b, n + 14);
	assert_non_null(p);
	return p;
}

void er_tx_pkt(struct pkt *p)
{
	er_drain();
	eth_tx(er.e, &p, 1, er.r.s.now);
	er_drain();
}

void er_tx_from(const uint8_t src[6], const uint8_t dst[6], uint16_t type, const void *data,
		size_t n)
{
	er_tx_pkt(er_frame(dst, src, type, data, n));
}

void er_tx(const uint8_t dst[6], uint16_t type, const void *data, size_t n)
{
	er_tx_pkt(er_frame(dst, er.mac, type, data, n));
}

/* --- from the link */

struct pkt *er_packet(uint16_t type, const void *data, size_t n)
{
	uint8_t b[ER_OCTETS] = { 0 };
	struct pkt *p;

	assert_true(n + 4 <= sizeof(b));
	be16_put(b, type);
	memcpy(b + 4, data, n);
	p = pkt_from_data(er.r.pool, b, n + 4);
	assert_non_null(p);
	return p;
}

static void rx(struct eth_station *st, struct pkt *p, unsigned int peer, uint32_t qpn, bool grh,
	       const ib_gid *mgid)
{
	ib_gid sgid = peer_gid(peer);
	uint8_t h[40] = { 0x60 };
	struct ipoib_rx v = { .pkt = p, .src_qp = qpn, .slid = (uint16_t)peer };

	memcpy(h + 8, &sgid, 16);
	memcpy(h + 24, mgid ? mgid : &er.own.gid, 16);
	if (grh || mgid)
		v.grh = h;
	er_drain();
	eth_rx(er.e, st, &v, 1, er.r.s.now);
	er_drain();
}

void er_rx_pkt(struct pkt *p, unsigned int peer, uint32_t qpn, bool grh, const ib_gid *mgid)
{
	rx(NULL, p, peer, qpn, grh, mgid);
}

void er_rx_station(const uint8_t mac[6], uint16_t type, const void *data, size_t n)
{
	struct er_station *s = er_station(mac);

	assert_non_null(s);
	rx(s->st, er_packet(type, data, n), ER_PEER, ER_PEER_QPN, true, NULL);
}

void er_rx(uint16_t type, const void *data, size_t n)
{
	er_rx_pkt(er_packet(type, data, n), ER_PEER, ER_PEER_QPN, true, NULL);
}

void er_rx_mcast(const ib_gid *mgid, uint16_t type, const void *data, size_t n)
{
	er_rx_pkt(er_packet(type, data, n), ER_PEER, ER_PEER_QPN, true, mgid);
}

/* --- addresses */

struct ipoib_lladdr er_peer_addr(unsigned int peer, uint32_t qpn)
{
	return (struct ipoib_lladdr){ .qpn = qpn, .gid = peer_gid(peer) };
}

void er_learn(unsigned int peer, uint32_t qpn, uint8_t ret_mac[6])
{
	struct ipoib_lladdr a = er_peer_addr(peer, qpn);
	struct arp_pkt arp = {
		.hrd = ARP_HRD_INFINIBAND,
		.pro = 0x0800,
		.hln = IPOIB_ALEN,
		.pln = 4,
		.op = ARP_OP_REQUEST,
		.spa = { 10, 4, 0, (uint8_t)peer },
		.tpa = { 10, 4, 0, RIG_LID },
	};
	uint8_t b[ARP_IPOIB_LEN];

	rig_peer(&er.r, peer);
	ipoib_lladdr_encode(arp.sha, &a);
	er_rx_pkt(er_packet(ETH_P_ARP4, b, arp_encode(b, &arp)), peer, qpn, true, NULL);
	assert_true(er.ngot);
	memcpy(ret_mac, er.got[er.ngot - 1].data + 14 + 8, 6);
	er_clear();
}

/* --- octets */

uint16_t er_sum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += (i & 1) ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint32_t pseudo(const uint8_t *ip, uint8_t proto, size_t l4_len)
{
	bool v6 = ip[0] >> 4 == 6;

	return er_sum(ip + (v6 ? 8 : 12), v6 ? 32 : 8, (uint32_t)(proto + l4_len));
}

void er_check_ip(const uint8_t *ip, size_t len)
{
	bool v6 = ip[0] >> 4 == 6;
	size_t l3 = v6 ? 40 : 20;
	uint8_t proto = v6 ? ip[6] : ip[9];
	uint32_t start = proto == 2 ? 0 : pseudo(ip, proto, len - l3);

	assert_int_equal(v6 ? be16_at(ip + 4) + 40u : be16_at(ip + 2), len);
	if (!v6)
		assert_int_equal(er_sum(ip, 20, 0), 0xffff);
	assert_int_equal(er_sum(ip + l3, len - l3, start), 0xffff);
}

size_t er_ip4(uint8_t *b, const uint8_t src[4], const uint8_t dst[4], uint8_t proto,
	      const void *data, size_t n)
{
	memset(b, 0, 20);
	b[0] = 0x45;
	be16_put(b + 2, (uint16_t)(20 + n));
	b[8] = 64;
	b[9] = proto;
	memcpy(b + 12, src, 4);
	memcpy(b + 16, dst, 4);
	be16_put(b + 10, (uint16_t)~er_sum(b, 20, 0));
	memcpy(b + 20, data, n);
	return 20 + n;
}

size_t er_ip6(uint8_t *b, const uint8_t src[16], const uint8_t dst[16], uint8_t next, uint8_t hop,
	      const void *data, size_t n)
{
	memset(b, 0, 40);
	b[0] = 0x60;
	be16_put(b + 4, (uint16_t)n);
	b[6] = next;
	b[7] = hop;
	memcpy(b + 8, src, 16);
	memcpy(b + 24, dst, 16);
	memcpy(b + 40, data, n);
	return 40 + n;
}

size_t er_icmp6(uint8_t *b, const uint8_t src[16], const uint8_t dst[16], const void *m, size_t n)
{
	size_t len = er_ip6(b, src, dst, 58, 255, m, n);

	be16_put(b + 42, 0);
	be16_put(b + 42, (uint16_t)~er_sum(b + 40, n, pseudo(b, 58, n)));
	return len;
}

size_t er_udp4(uint8_t *b, const uint8_t src[4], const uint8_t dst[4], size_t n)
{
	uint8_t u[ER_OCTETS] = { 0x13, 0x89, 0x13, 0x8a };
	size_t len;

	be16_put(u + 4, (uint16_t)(8 + n));
	for (size_t i = 0; i < n; i++)
		u[8 + i] = (uint8_t)(i * 7 + 1);
	len = er_ip4(b, src, dst, 17, u, 8 + n);
	be16_put(b + 26, (uint16_t)~er_sum(b + 20, 8 + n, pseudo(b, 17, 8 + n)));
	return len;
}
