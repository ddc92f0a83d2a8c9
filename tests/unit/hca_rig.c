/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/hca_rig.h"

#include <stdlib.h>

static void rig_xmit(void *ctx, uint8_t port, struct pkt *p, ns_t now)
{
	struct rig *r = ctx;

	assert_true(r->nout < RIG_OUT_MAX);
	r->out_port[r->nout] = port;
	r->out[r->nout++] = p;
}

static void rig_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	struct rig *r = ctx;

	r->events[ev]++;
}

static void rig_ready(void *ctx, struct hca_qp *qp)
{
	struct rig *r = ctx;

	r->ready++;
	if (r->on_ready)
		r->on_ready(r, qp);
}

static const struct hca_ops rig_ops = { rig_xmit, rig_event, rig_ready };

static void port_up(struct rig *r, uint8_t num, uint16_t lid)
{
	struct node_port *np = rig_port(r, num);

	node_link(hca_node(r->h), num, true, r->now);
	np->pi.lid = lid;
	np->pi.lmc = 0;
	np->pi.gid_prefix = RIG_PREFIX;
	np->pi.port_state = IB_PORT_ACTIVE;
	np->pi.mtu_cap = IB_MTU_4096;
	np->pi.neighbor_mtu = IB_MTU_2048;
	np->pi.oper_vls = 1;
	np->pkeys[0] = 0xffff;
	np->pkeys[1] = 0x8001;
	np->pkeys[2] = 0x0002;
}

void rig_up(struct rig *r, enum hca_crc crc)
{
	static const uint64_t guids[] = { RIG_GUID1, RIG_GUID2 };
	struct hca_cfg cfg = {
		.node = {
			.type = IB_NODE_CA,
			.nports = 2,
			.sys_guid = RIG_GUID1 - 1,
			.node_guid = RIG_GUID1 - 1,
			.port_guids = guids,
			.desc = "rig",
		},
		.crc = crc,
		.trains = true,
		.max_qps = 8,
	};

	*r = (struct rig){ .now = NS_SEC(1) };
	timers_init(&r->timers);
	r->pool = pkt_pool_create(RIG_PKTS, 64);
	assert_non_null(r->pool);
	assert_int_equal(hca_create(&r->h, &cfg, &rig_ops, r, &r->timers, r->pool, &r->log), 0);
	port_up(r, 1, RIG_LID1);
	port_up(r, 2, RIG_LID2);
	rig_forget(r);
	memset(r->events, 0, sizeof(r->events));
}

void rig_forget(struct rig *r)
{
	pkt_free_batch(r->out, r->nout);
	r->nout = 0;
}

void rig_down(struct rig *r)
{
	hca_destroy(r->h);
	rig_forget(r);
	assert_int_equal(pkt_pool_pkts_used(r->pool), 0);
	assert_int_equal(pkt_pool_bufs_used(r->pool), 0);
	timers_fini(&r->timers);
	pkt_pool_destroy(r->pool);
}

static int setup(void **state, enum hca_crc crc)
{
	static struct rig r;

	rig_up(&r, crc);
	*state = &r;
	return 0;
}

int rig_setup(void **state)
{
	return setup(state, HCA_CRC_FULL);
}

int rig_setup_icrc(void **state)
{
	return setup(state, HCA_CRC_ICRC);
}

int rig_setup_off(void **state)
{
	return setup(state, HCA_CRC_LAZY);
}

int rig_teardown(void **state)
{
	rig_down(*state);
	return 0;
}

struct node_port *rig_port(struct rig *r, uint8_t port)
{
	return &hca_node(r->h)->port[port];
}

struct hca_qp *rig_qp(struct rig *r, uint8_t port, uint32_t qpn, unsigned int depth)
{
	struct hca_qp_attr a = {
		.port = port,
		.qkey = RIG_QKEY,
		.rx_depth = depth,
		.qpn_hint = qpn,
	};
	struct hca_qp *qp = NULL;

	assert_int_equal(hca_qp_create(r->h, &a, NULL, &qp), 0);
	assert_non_null(qp);
	return qp;
}

ib_gid rig_mgid(uint8_t last)
{
	return (ib_gid){ { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, last } };
}

struct ib_ud_hdr rig_hdr(uint32_t qpn)
{
	return (struct ib_ud_hdr){
		.lrh = { .dlid = RIG_LID1, .slid = RIG_FAR_LID, .lnh = IB_LNH_LOCAL, .sl = 3 },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = 0xffff, .dest_qp = qpn },
		.deth = { .qkey = RIG_QKEY, .src_qp = RIG_FAR_QPN },
	};
}

struct ib_ud_hdr rig_hdr_grh(uint32_t qpn)
{
	struct ib_ud_hdr h = rig_hdr(qpn);

	h.lrh.lnh = IB_LNH_GLOBAL;
	h.has_grh = true;
	h.grh = (struct ib_grh){
		.ip_ver = 6,
		.nxt_hdr = IB_GRH_NXTHDR,
		.tclass = 0x5a,
		.flow_label = 0x12345,
		.hop_limit = 7,
		.sgid = ib_gid_of(RIG_PREFIX, RIG_FAR_GUID),
		.dgid = ib_gid_of(RIG_PREFIX, RIG_GUID1),
	};
	return h;
}

struct ib_ud_hdr rig_hdr_mcast(const ib_gid *mgid)
{
	struct ib_ud_hdr h = rig_hdr_grh(IB_QPN_MCAST);

	h.lrh.dlid = RIG_MLID;
	h.grh.dgid = *mgid;
	return h;
}

struct pkt *rig_pkt(struct rig *r, const struct ib_ud_hdr *h, unsigned int payload_len)
{
	uint8_t buf[8192];
	struct pkt *p;

	for (unsigned int i = 0; i < payload_len; i++)
		buf[i] = (uint8_t)i;
	p = pkt_from_data(r->pool, buf, payload_len);
	assert_non_null(p);
	ib_ud_hdr_encode(pkt_push(p, ib_ud_hdr_len(h->has_grh)), h, payload_len);
	crc_pkt_seal(p);
	return p;
}

void rig_rx(struct rig *r, uint8_t port, struct pkt *p)
{
	hca_rx(r->h, port, &p, 1, r->now);
}

uint64_t rig_drops(struct rig *r)
{
	uint64_t sum = 0;

	for (unsigned int d = 0; d < HCA_DROP_MAX; d++)
		sum += hca_drops(r->h, d);
	return sum;
}

void rig_expect_drop(struct rig *r, uint8_t port, struct pkt *p, enum hca_drop why)
{
	unsigned int used = pkt_pool_pkts_used(r->pool) - 1, nout = r->nout;
	uint64_t before[HCA_DROP_MAX];

	for (unsigned int d = 0; d < HCA_DROP_MAX; d++)
		before[d] = hca_drops(r->h, d);
	rig_rx(r, port, p);
	for (unsigned int d = 0; d < HCA_DROP_MAX; d++)
		if (hca_drops(r->h, d) != before[d] + (d == (unsigned int)why))
			fail_msg("expected a drop for %s; %s is %lu, was %lu", hca_drop_name(why),
				 hca_drop_name(d), (unsigned long)hca_drops(r->h, d),
				 (unsigned long)before[d]);
	/*
	 * Check that the packet was freed, and is in no queue. Traps that the HCA sent because of
	 * the packet can still be in use.
	 */
	assert_int_equal(pkt_pool_pkts_used(r->pool), used + r->nout - nout);
}

struct hca_wc rig_expect_rx(struct rig *r, uint8_t port, struct pkt *p, struct hca_qp *qp)
{
	uint64_t drops = rig_drops(r);
	struct hca_wc wc = { 0 };

	rig_rx(r, port, p);
	assert_int_equal(rig_drops(r), drops);
	assert_int_equal(hca_poll(qp, &wc, 1), 1);
	assert_int_equal(hca_poll(qp, &(struct hca_wc){ 0 }, 1), 0);
	return wc;
}

void rig_check_payload(const struct pkt *p, unsigned int len)
{
	uint8_t buf[8192];

	assert_int_equal(p->len, len);
	assert_int_equal(pkt_copy_out(p, 0, buf, sizeof(buf)), len);
	for (unsigned int i = 0; i < len; i++)
		assert_int_equal(buf[i], (uint8_t)i);
}

struct hca_ah *rig_ah(struct rig *r, const struct hca_ah_attr *a)
{
	struct hca_ah *ah = NULL;

	assert_int_equal(hca_ah_create(r->h, a, &ah), 0);
	assert_non_null(ah);
	return ah;
}

struct hca_ah *rig_ucast_ah(struct rig *r, uint16_t dlid)
{
	return rig_ah(r, &(struct hca_ah_attr){ .port = 1, .dlid = dlid });
}

struct hca_ah *rig_mcast_ah(struct rig *r, const ib_gid *mgid)
{
	return rig_ah(r, &(struct hca_ah_attr){
				 .port = 1, .dlid = RIG_MLID, .has_grh = true, .dgid = *mgid });
}

void rig_send(struct rig *r, struct hca_qp *qp, struct hca_ah *ah, struct pkt *p, uint32_t dest_qp)
{
	struct hca_send s = { .pkt = p, .ah = ah, .dest_qp = dest_qp, .qkey = RIG_QKEY };

	assert_int_equal(hca_post_send(qp, &s, 1, r->now), 1);
}

struct pkt *rig_payload(struct rig *r, unsigned int len)
{
	uint8_t buf[8192];
	struct pkt *p;

	for (unsigned int i = 0; i < len; i++)
		buf[i] = (uint8_t)i;
	p = pkt_from_data(r->pool, buf, len);
	assert_non_null(p);
	return p;
}

struct pkt *rig_sent(struct rig *r, struct hca_qp *qp, struct hca_ah *ah, unsigned int len)
{
	rig_forget(r);
	rig_send(r, qp, ah, rig_payload(r, len), RIG_FAR_QPN);
	assert_int_equal(r->nout, 1);
	assert_int_equal(r->out_port[0], 1);
	return r->out[0];
}

unsigned int rig_flatten(const struct pkt *p, uint8_t *buf, size_t size)
{
	size_t n = pkt_copy_out(p, 0, buf, size);

	assert_true(n == p->len && n + p->tail_len <= size);
	memcpy(buf + n, p->tail, p->tail_len);
	return (unsigned int)(n + p->tail_len);
}

struct ib_ud_hdr rig_header_of(const struct pkt *p)
{
	struct ib_ud_hdr h;
	uint8_t buf[80];

	assert_true(ib_ud_hdr_decode(&h, buf, pkt_copy_out(p, 0, buf, sizeof(buf))) > 0);
	return h;
}

/*
 * Compute a CRC bit by bit (IBTA volume 1, 7.8.1 and 7.8.2), without code of src/crc. For an ICRC,
 * @p is a copy of the packet whose variant fields are set to ones.
 */
static uint32_t slow_crc(const uint8_t *p, size_t len, uint32_t poly, uint32_t reg)
{
	for (size_t i = 0; i < len; i++) {
		reg ^= p[i];
		for (int b = 0; b < 8; b++)
			reg = reg & 1 ? reg >> 1 ^ poly : reg >> 1;
	}
	return reg;
}

uint32_t rig_slow_icrc(const uint8_t *pkt, size_t len)
{
	uint8_t m[8300];
	unsigned int bth = 8;

	memcpy(m, pkt, len);
	if ((m[1] & 3) == IB_LNH_GLOBAL) {
		memset(m, 0xff, 8);
		m[8] |= 0x0f; /* TClass, FlowLabel */
		memset(m + 9, 0xff, 3);
		m[15] = 0xff; /* HopLmt */
		bth = 48;
	} else {
		m[0] |= 0xf0;
	}
	m[bth + 4] = 0xff;
	return ~slow_crc(m, len, 0xedb88320, 0xffffffff);
}

void rig_check_crcs(const uint8_t *b, unsigned int len)
{
	uint32_t icrc = rig_slow_icrc(b, len - 6);
	uint16_t vcrc = (uint16_t)~slow_crc(b, len - 2, 0xd008, 0xffff);

	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(b[len - 6 + i], (uint8_t)(icrc >> 8 * i));
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(b[len - 2 + i], (uint8_t)(vcrc >> 8 * i));
}
