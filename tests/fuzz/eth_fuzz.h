/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ETH_FUZZ_H
#define TESTS_ETH_FUZZ_H

/*
 * For fuzzers: an interface of either shape (InfiniBand or Ethernet) over a link that is up, with a
 * fake SA, on virtual time. Packets that the interface posts or delivers are checked and freed.
 * ef_end() aborts the fuzzer if a packet has leaked, or if a timer is still set.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eth/eth.h"
#include "fake_sa.h"
#include "wire/mgid.h"

#define EF_PKEY 0x8001
#define EF_QPN 0x48
#define EF_LID 5
#define EF_PEERS 3 /* peers at LIDs 7, 8 and 9; the QPN of each is 0x70 + LID */
#define EF_PEER(i) (7u + (i) % EF_PEERS)

struct eth_fuzz {
	struct timers timers;
	ns_t now;
	struct fake_sa sa;
	struct sac *sac;
	struct cm *cm;
	struct ipoib_link *link;
	struct eth_if *e;
	enum eth_shape shape;
	struct pkt_pool *pool;
	uint8_t mac[6];
	struct ipoib_lladdr own;
	uint64_t posted, delivered;
	int ah; /* its address serves as the address handle of every peer */
};

static struct eth_fuzz ef;

static inline void ef_check(bool ok)
{
	if (!ok)
		abort();
}

/* Return the length of the link header. */
static inline size_t ef_head(void)
{
	return ef.shape == ETH_SHAPE_INFINIBAND ? 44 : 14;
}

static inline ib_gid ef_gid(unsigned int lid)
{
	return ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x0002c90300000000ull + lid);
}

static inline void ef_post(void *ctx, const struct eth_send *v, unsigned int n, ns_t now)
{
	ef_check(n && n <= PKT_BATCH);
	for (unsigned int i = 0; i < n; i++) {
		const struct pkt *p = v[i].pkt;

		/*
		 * A payload for the link must be complete: its checksum is computed, and no
		 * segmentation remains.
		 */
		ef_check(v[i].ah && !frame_info_const(p)->gso &&
			 frame_info_const(p)->csum != FRAME_CSUM_PARTIAL);
		ef_check(p->len >= 4 && p->len <= ipoib_link_ip_mtu(ef.link) + 4);
		ef_check(p->head >= 68); /* room for LRH .. DETH */
		ef.posted++;
		pkt_free(v[i].pkt);
	}
}

static inline void ef_deliver(void *ctx, struct eth_frame *f)
{
	struct iovec iov[ETH_FRAME_PARTS];
	unsigned int n = eth_frame_iov(f, iov);
	size_t len = 0;

	for (unsigned int i = 0; i < n; i++)
		len += iov[i].iov_len;
	ef_check(len == f->len && len >= ef_head() && len <= 65535 + ef_head());
	ef_check((f->n > 1) == (frame_info(f->first)->gso != FRAME_GSO_NONE));
	ef.delivered += f->n;
	eth_frame_free(f);
}

static inline void ef_gone(void *ctx, const uint8_t mac[6])
{
	ef_check(ef.shape == ETH_SHAPE_ETHERNET);
}

static inline void ef_lladdr_gone(void *ctx, const struct ipoib_lladdr *a)
{
	ef_check(ef.shape == ETH_SHAPE_INFINIBAND && ipoib_lladdr_is_unicast(a));
}

/* Open a queue pair for the station @mac. Refuse one MAC in four, as a CA does without free QPs. */
static inline int ef_open(void *ctx, struct eth_station *st, const uint8_t mac[6], void **ret_qp,
			  uint32_t *ret_qpn)
{
	*ret_qp = &ef.ah;
	*ret_qpn = 0x1000u + mac[5];
	return mac[5] % 4 == 3 ? -ENOMEM : 0;
}

static inline void ef_close(void *ctx, void *qp)
{
	ef_check(qp == &ef.ah);
}

static const struct eth_ops ef_ops = { ef_post, ef_deliver, ef_gone,
				       ef_open, ef_close,   ef_lladdr_gone };

static inline void ef_act(const struct ipoib_action *a)
{
	if (eth_action(ef.e, a, ef.now))
		return;
	if (a->type == IPOIB_ACT_QP_CREATE)
		ipoib_qp_ready(ef.link, EF_QPN, 0, ef.now);
	else if (a->type == IPOIB_ACT_AH_CREATE)
		ipoib_ah_ready(ef.link, a->ah_create.cookie, &ef.ah, 0, ef.now);
}

static inline void ef_drain(void)
{
	struct ipoib_action a;

	while (!ipoib_next_action(ef.link, &a))
		ef_act(&a);
}

static inline void ef_run(ns_t dt)
{
	ns_t end = ef.now + dt;

	ef_drain();
	while (timers_next(&ef.timers) <= end) {
		ef.now = timers_next(&ef.timers);
		timers_run(&ef.timers, ef.now);
		ef_drain();
	}
	ef.now = end;
}

static inline struct sa_group *ef_group(const ib_gid *mgid)
{
	return sa_group_make(&ef.sa, mgid, EF_PKEY, IB_MTU_2048);
}

static inline void ef_make_link(const struct ipoib_profile *profile)
{
	struct sac_port sp = { .state = IB_PORT_ACTIVE, .lid = EF_LID, .sm_lid = SA_LID };
	struct ipoib_port port = { .state = IB_PORT_ACTIVE,
				   .lid = EF_LID,
				   .mtu_code = IB_MTU_2048,
				   .rate_code = 3,
				   .pkey_index = 1 };
	struct sac_cfg sc = { .timers = &ef.timers, .ep = ef.sa.ep, .seed = 1 };
	struct cm_cfg cc = { .timers = &ef.timers, .ep = ef.sa.ep, .seed = 1 };
	struct ipoib_link_cfg lc = {
		.timers = &ef.timers, .pkey = EF_PKEY, .name = "fuzz", .profile = profile
	};
	struct ipoib_map map = ipoib_profile_map(profile, EF_PKEY, 0, 0);
	ib_gid gid;

	profile->mgid_broadcast(&gid, &map);
	sa_sidr_offer(&ef.sa, &ef_group(&gid)->rec);
	ef_check(!sac_create(&ef.sac, &sc) && !cm_create(&ef.cm, &cc));
	lc.cm = ef.cm;
	lc.sac = ef.sac;
	ef_check(!ipoib_link_create(&ef.link, &lc));
	sp.gid = port.gid = ef_gid(EF_LID);
	sac_port_update(ef.sac, &sp, ef.now);
	ipoib_link_port_update(ef.link, &port, ef.now);
	for (unsigned int i = 0; i < EF_PEERS; i++) {
		gid = ef_gid(EF_PEER(i));
		sa_path_add(&ef.sa, &gid, (uint16_t)EF_PEER(i));
	}
}

/*
 * Bits 6 and 7 of the input's first octet choose the link's profile: the default, or a profile with
 * another packet format or another mapping of multicast addresses.
 */
static inline const struct ipoib_profile *ef_profile(uint8_t first)
{
	if (first & 0x80)
		return ipoib_profile_find(first & 0x40 ? "encaparp00" : "v6ib00");
	return first & 0x40 ? ipoib_profile_find("v4mc01") : ipoib_profile_at(0);
}

/* Bit 5 of the input's first octet chooses the shape of the interface. */
static inline enum eth_shape ef_shape(uint8_t first)
{
	return first & 0x20 ? ETH_SHAPE_INFINIBAND : ETH_SHAPE_ETHERNET;
}

/* Make the interface, with the link up. @down: leave the device down */
static inline void ef_begin(const struct ipoib_profile *profile, enum eth_shape shape, bool down)
{
	struct eth_if_cfg cfg = {
		.shape = shape, .pkey = EF_PKEY, .gro_tcp = true, .gro_udp = true, .stations = 3
	};

	memset(&ef, 0, sizeof(ef));
	ef.now = NS_SEC(1);
	ef.shape = shape;
	timers_init(&ef.timers);
	ef.pool = pkt_pool_create(1024, 64);
	ef_check(ef.pool);
	sa_init(&ef.sa, &ef.timers, 1);
	ef_make_link(profile);
	cfg.link = ef.link;
	cfg.pool = ef.pool;
	cfg.timers = &ef.timers;
	ef_check(!eth_if_create(&ef.e, &cfg, &ef_ops, NULL));
	ipoib_link_set_admin(ef.link, true, ef.now);
	ef_run(NS_MSEC(10));
	ef_check(ipoib_link_is_up(ef.link));
	ef.own = (struct ipoib_lladdr){ .qpn = EF_QPN, .gid = ef_gid(EF_LID) };
	eth_own_mac(ef.mac, ib_gid_guid(&ef.own.gid), EF_PKEY, EF_QPN);
	eth_if_set_addr(ef.e, ef.mac, &ef.own);
	eth_if_set_up(ef.e, !down, ef.now);
	ef_run(NS_MSEC(10));
}

static inline struct ipoib_lladdr ef_peer(unsigned int i)
{
	return (struct ipoib_lladdr){ .qpn = 0x70 + EF_PEER(i), .gid = ef_gid(EF_PEER(i)) };
}

static inline uint64_t ef_drops(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < ETH_DROP_MAX; i++)
		sum += eth_if_stats(ef.e)->drops[i];
	for (unsigned int i = 0; i < IPOIB_DROP_N; i++)
		sum += ipoib_link_stats(ef.link)->drops[i];
	return sum;
}

static inline void ef_end(void)
{
	eth_if_destroy(ef.e);
	ef.e = NULL;
	ipoib_link_set_admin(ef.link, false, ef.now);
	ipoib_link_destroy(ef.link); /* frees the packets that are held and queued */
	ef_check(!pkt_pool_pkts_used(ef.pool) && !pkt_pool_bufs_used(ef.pool));
	pkt_pool_destroy(ef.pool);
	cm_destroy(ef.cm);
	sac_destroy(ef.sac);
	mad_ep_destroy(ef.sa.ep);
	sa_fini(&ef.sa);
	ef_check(timers_next(&ef.timers) == NS_NEVER);
	timers_fini(&ef.timers);
}

#endif
