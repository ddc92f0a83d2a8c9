/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_IPOIB_RIG_H
#define TESTS_IPOIB_RIG_H

/*
 * One IPoIB link over the fake SA. The rig is the owner of the link: it carries out the link's
 * actions, and records them for the test.
 */

#include <errno.h>

#include "ipoib/ipoib.h"
#include "sac_rig.h"
#include "wire/mgid.h"

#define RIG_QPN 0x48
#define RIG_SENT 1024
#define RIG_AHS 8192
#define RIG_ATT 64

struct rig_ah {
	bool live;
	struct ipoib_ah_attr attr;
};

struct rig_sent {
	uint32_t tag; /* first 4 octets of the payload, by which a test recognises the packet */
	uint16_t type;
	uint32_t len, dest_qpn, qkey;
	const struct rig_ah *ah;
	struct ipoib_ah_attr attr; /* attributes of the address handle at the time of sending */
};

struct ipoib_rig {
	struct sac_rig s;
	struct cm *cm;
	struct ipoib_link *link;
	struct ipoib_port port;
	struct pkt_pool *pool;
	/*
	 * Numbers of actions that the rig has carried out, by kind, and the values that the last
	 * actions have set.
	 */
	unsigned int acts[16];
	bool carrier;
	unsigned int mtu;
	uint16_t qp_pkey_index;
	uint32_t qp_qkey;
	struct rig_ah ah[RIG_AHS];
	unsigned int nah;
	struct {
		ib_gid mgid;
		uint16_t mlid;
	} att[RIG_ATT];
	unsigned int natt;
	struct rig_sent sent[RIG_SENT];
	unsigned int nsent;
	struct ipoib_neigh *gone;
	int ready_status; /* status in the last action MCAST_READY */
	/* Errors with which the rig answers the link's actions; 0: it carries them out. */
	int qp_err, ah_err, attach_err, modify_err;
	bool ah_slow; /* true: only rig_ah_release() answers requests for address handles */
	uint64_t slow_cookie[64];
	struct ipoib_ah_attr slow_attr[64];
	unsigned int nslow;
};

static inline void rig_ah_answer(struct ipoib_rig *r, uint64_t cookie,
				 const struct ipoib_ah_attr *attr)
{
	struct rig_ah *a;

	if (r->ah_err) {
		ipoib_ah_ready(r->link, cookie, NULL, r->ah_err, r->s.now);
		return;
	}
	assert_true(r->nah < RIG_AHS);
	a = &r->ah[r->nah++];
	a->live = true;
	a->attr = *attr;
	ipoib_ah_ready(r->link, cookie, a, 0, r->s.now);
}

static inline void rig_ah_release(struct ipoib_rig *r)
{
	unsigned int n = r->nslow;

	r->nslow = 0;
	for (unsigned int i = 0; i < n; i++)
		rig_ah_answer(r, r->slow_cookie[i], &r->slow_attr[i]);
}

static inline void rig_record(struct ipoib_rig *r, struct pkt *pkt, const struct rig_ah *ah,
			      uint32_t dest_qpn, uint32_t qkey)
{
	struct rig_sent *s = &r->sent[r->nsent++];
	unsigned int encap = ipoib_link_profile(r->link)->encap.len;
	uint8_t b[8] = { 0 };

	assert_true(r->nsent <= RIG_SENT);
	assert_non_null(ah);
	assert_true(ah->live);
	pkt_copy_out(pkt, 0, b, sizeof(b));
	s->type = encap ? be16_at(b) | be16_at(b + 2) : 0;
	if (encap) /* Clauses R30 and P3: one of the two 16-bit words is reserved (0) */
		assert_true(!be16_at(b) != !be16_at(b + 2));
	s->tag = be32_at(b + encap);
	s->len = pkt->len;
	s->dest_qpn = dest_qpn;
	s->qkey = qkey;
	s->ah = ah;
	s->attr = ah->attr;
	pkt_free(pkt);
}

static inline void rig_attach(struct ipoib_rig *r, const struct ipoib_action *a)
{
	if (r->attach_err) {
		ipoib_action_failed(r->link, a, r->attach_err, r->s.now);
		return;
	}
	assert_true(r->natt < RIG_ATT);
	r->att[r->natt].mgid = a->mcast.mgid;
	r->att[r->natt++].mlid = a->mcast.mlid;
}

static inline int rig_attached(const struct ipoib_rig *r, const ib_gid *mgid, uint16_t mlid)
{
	int n = 0;

	for (unsigned int i = 0; i < r->natt; i++)
		n += ib_gid_equal(&r->att[i].mgid, mgid) && r->att[i].mlid == mlid;
	return n;
}

static inline void rig_detach(struct ipoib_rig *r, const struct ipoib_action *a)
{
	for (unsigned int i = 0; i < r->natt; i++) {
		if (ib_gid_equal(&r->att[i].mgid, &a->mcast.mgid) &&
		    r->att[i].mlid == a->mcast.mlid) {
			r->att[i] = r->att[--r->natt];
			return;
		}
	}
}

static inline void rig_do(struct ipoib_rig *r, const struct ipoib_action *a)
{
	struct rig_ah *ah;

	r->acts[a->type]++;
	switch (a->type) {
	case IPOIB_ACT_QP_CREATE:
		r->qp_pkey_index = a->qp.pkey_index;
		ipoib_qp_ready(r->link, RIG_QPN, r->qp_err, r->s.now);
		break;
	case IPOIB_ACT_QP_MODIFY:
		if (r->modify_err) {
			ipoib_action_failed(r->link, a, r->modify_err, r->s.now);
			break;
		}
		r->qp_pkey_index = a->qp.pkey_index;
		r->qp_qkey = a->qp.qkey;
		break;
	case IPOIB_ACT_AH_CREATE:
		if (!r->ah_slow) {
			rig_ah_answer(r, a->ah_create.cookie, &a->ah_create.attr);
			break;
		}
		r->slow_cookie[r->nslow] = a->ah_create.cookie;
		r->slow_attr[r->nslow++] = a->ah_create.attr;
		break;
	case IPOIB_ACT_AH_DESTROY:
		ah = a->ah;
		assert_true(ah->live);
		ah->live = false;
		break;
	case IPOIB_ACT_ATTACH:
		rig_attach(r, a);
		break;
	case IPOIB_ACT_DETACH:
		rig_detach(r, a);
		break;
	case IPOIB_ACT_CARRIER:
		r->carrier = a->carrier.up;
		break;
	case IPOIB_ACT_MTU:
		r->mtu = a->ip_mtu;
		break;
	case IPOIB_ACT_NEIGH_GONE:
		r->gone = a->neigh;
		break;
	case IPOIB_ACT_MCAST_READY:
		r->ready_status = a->mcast_ready.status;
		break;
	case IPOIB_ACT_SEND:
		rig_record(r, a->send.pkt, a->send.ah, a->send.dest_qpn, a->send.qkey);
		break;
	}
}

static inline void rig_drain(struct ipoib_rig *r)
{
	struct ipoib_action a;

	while (!ipoib_next_action(r->link, &a))
		rig_do(r, &a);
}

static inline void rig_run(struct ipoib_rig *r, ns_t dt)
{
	ns_t end = r->s.now + dt;

	rig_drain(r);
	while (timers_next(&r->s.timers) <= end) {
		ns_t t = timers_next(&r->s.timers);

		if (t > r->s.now)
			r->s.now = t;
		timers_run(&r->s.timers, r->s.now);
		rig_drain(r);
	}
	r->s.now = end;
}

/*
 * Report the port's state to the SA client and then to the link, in the order in which a channel
 * adapter reports it.
 */
static inline void rig_port(struct ipoib_rig *r)
{
	r->s.port.state = r->port.state;
	r->s.port.lid = r->port.lid;
	r->s.port.gid = r->port.gid;
	sac_port_update(r->s.sac, &r->s.port, r->s.now);
	ipoib_link_port_update(r->link, &r->port, r->s.now);
	rig_drain(r);
}

static inline ib_gid rig_bcast(void)
{
	ib_gid g;

	mgid_broadcast(&g, RIG_PKEY, 2);
	return g;
}

static inline ib_gid rig_mgid4(uint32_t addr)
{
	uint8_t b[4];
	ib_gid g;

	be32_put(b, addr);
	assert_int_equal(mgid_from_ipv4(&g, b, RIG_PKEY, 2), 0);
	return g;
}

static inline struct sa_group *rig_sa_group(struct ipoib_rig *r, uint32_t addr)
{
	ib_gid g = rig_mgid4(addr);

	return sa_group_find(&r->s.sa, &g);
}

static inline struct sa_group *rig_sa_make(struct ipoib_rig *r, uint32_t addr)
{
	ib_gid g = rig_mgid4(addr);

	return sa_group_make(&r->s.sa, &g, RIG_PKEY, IB_MTU_2048);
}

/* Make the CM agent of the port, and let the SA offer the group @g by SIDR. */
static inline void rig_cm(struct ipoib_rig *r, const struct sa_group *g)
{
	struct cm_cfg cfg = { .ep = r->s.sa.ep, .timers = &r->s.timers, .seed = 1 };

	sa_sidr_offer(&r->s.sa, &g->rec);
	assert_int_equal(cm_create(&r->cm, &cfg), 0);
}

/*
 * Make a link that is administratively down, on an Active port. The broadcast group exists at the
 * SA.
 */
static inline void rig_init_cfg(struct ipoib_rig *r, struct ipoib_link_cfg *cfg, uint64_t seed)
{
	const struct ipoib_profile *p = cfg->profile ? cfg->profile : ipoib_profile_at(0);
	struct ipoib_map map = ipoib_profile_map(p, RIG_PKEY, cfg->scope, cfg->subnet);
	ib_gid bcast;

	assert_int_equal(p->mgid_broadcast(&bcast, &map), 0);
	memset(r, 0, sizeof(*r));
	sac_rig_init(&r->s, false, seed);
	r->pool = pkt_pool_create(4096, 16);
	rig_cm(r, sa_group_make(&r->s.sa, &bcast, RIG_PKEY, IB_MTU_2048));
	cfg->cm = r->cm;
	cfg->sidr_service = SIDR_SERVICE_ID_DEFAULT;
	cfg->sac = r->s.sac;
	cfg->timers = &r->s.timers;
	if (!cfg->pkey)
		cfg->pkey = RIG_PKEY;
	strcpy(cfg->name, "uib0");
	assert_int_equal(ipoib_link_create(&r->link, cfg), 0);
	r->port = (struct ipoib_port){
		.state = IB_PORT_ACTIVE,
		.lid = RIG_LID,
		.mtu_code = IB_MTU_2048,
		.rate_code = 3,
		.gid = peer_gid(RIG_LID),
		.pkey_index = 1,
	};
	rig_port(r);
}

static inline void rig_init(struct ipoib_rig *r, uint64_t seed)
{
	struct ipoib_link_cfg cfg = { 0 };

	rig_init_cfg(r, &cfg, seed);
}

static inline void rig_up(struct ipoib_rig *r)
{
	ipoib_link_set_admin(r->link, true, r->s.now);
	rig_run(r, NS_MSEC(1));
	assert_true(ipoib_link_is_up(r->link));
}

static inline void rig_init_up(struct ipoib_rig *r, uint64_t seed)
{
	rig_init(r, seed);
	rig_up(r);
}

static inline void rig_fini(struct ipoib_rig *r)
{
	ipoib_link_set_admin(r->link, false, r->s.now);
	rig_drain(r);
	for (unsigned int i = 0; i < r->nah; i++)
		assert_false(r->ah[i].live); /* the link has given back every address handle */
	assert_int_equal(r->natt, 0);
	assert_false(r->carrier);
	ipoib_link_destroy(r->link);
	assert_int_equal(pkt_pool_pkts_used(r->pool), 0);
	pkt_pool_destroy(r->pool);
	cm_destroy(r->cm);
	sac_rig_fini(&r->s);
}

static inline enum ipoib_link_state rig_state(const struct ipoib_rig *r)
{
	struct ipoib_link_info i;

	ipoib_link_info(r->link, &i);
	return i.state;
}

static inline const char *rig_reason(const struct ipoib_rig *r)
{
	struct ipoib_link_info i;

	ipoib_link_info(r->link, &i);
	return i.reason;
}

#define assert_reason(r, s)                                                           \
	do {                                                                          \
		if (!strstr(rig_reason(r), s))                                        \
			fail_msg("reason is \"%s\", lacks \"%s\"", rig_reason(r), s); \
	} while (0)

static inline struct pkt *rig_pkt(struct ipoib_rig *r, uint32_t tag, size_t len)
{
	static uint8_t buf[70000];
	struct pkt *p;

	be32_put(buf, tag);
	p = pkt_from_data(r->pool, buf, len);
	assert_non_null(p);
	return p;
}

/*
 * Send one packet as the owner of a link does: carry out pending actions, ask the link for its
 * verdict, post the packet if the verdict allows it, and carry out the new actions. Returns the
 * verdict.
 */
static inline enum ipoib_verdict rig_tx(struct ipoib_rig *r, struct ipoib_tx *v)
{
	rig_drain(r);
	ipoib_tx(r->link, v, 1, r->s.now);
	if (v->verdict == IPOIB_SEND)
		rig_record(r, v->pkt, v->ah, v->dest_qpn, v->qkey);
	rig_drain(r);
	return v->verdict;
}

static inline enum ipoib_verdict rig_tx_neigh(struct ipoib_rig *r, struct ipoib_neigh *n,
					      uint32_t tag)
{
	struct ipoib_tx v = {
		.pkt = rig_pkt(r, tag, 64), .ethertype = 0x0800, .dst = IPOIB_DST_NEIGH, .neigh = n
	};

	return rig_tx(r, &v);
}

static inline enum ipoib_verdict rig_tx_group(struct ipoib_rig *r, uint32_t addr, uint32_t tag)
{
	struct ipoib_tx v = { .pkt = rig_pkt(r, tag, 64),
			      .ethertype = 0x0800,
			      .dst = IPOIB_DST_MCAST4 };

	be32_put(v.group, addr);
	return rig_tx(r, &v);
}

static inline uint64_t rig_drops(const struct ipoib_rig *r, enum ipoib_drop reason)
{
	return ipoib_link_stats(r->link)->drops[reason];
}

static inline struct ipoib_neigh *rig_neigh(struct ipoib_rig *r, unsigned int peer, uint32_t qpn)
{
	struct ipoib_lladdr a = { .qpn = qpn, .gid = peer_gid(peer) };
	struct ipoib_neigh *n = ipoib_neigh_get(r->link, &a, r->s.now);

	assert_non_null(n);
	return n;
}

/* Let the SA know a path to the peer number @peer. This number is also the peer's LID. */
static inline struct sa_path *rig_peer(struct ipoib_rig *r, unsigned int peer)
{
	ib_gid g = peer_gid(peer);

	return sa_path_add(&r->s.sa, &g, (uint16_t)peer);
}

#endif
