/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FUZZ_IPOIB_WORLD_H
#define TESTS_FUZZ_IPOIB_WORLD_H

/*
 * A link that is up, over the fake SA of tests/fake_sa.h. The owner of the link carries out every
 * action without an error.
 */

#include <stdlib.h>

#include "fake_sa.h"
#include "ipoib/ipoib.h"
#include "wire/mgid.h"

struct fuzz_world {
	struct timers timers;
	struct fake_sa sa;
	struct sac *sac;
	struct ipoib_link *link;
	struct pkt_pool *pool;
	ns_t now;
};

static inline void fuzz_world_drain(struct fuzz_world *w)
{
	struct ipoib_action a;

	while (!ipoib_next_action(w->link, &a)) {
		if (a.type == IPOIB_ACT_QP_CREATE)
			ipoib_qp_ready(w->link, 0x48, 0, w->now);
		if (a.type == IPOIB_ACT_AH_CREATE)
			ipoib_ah_ready(w->link, a.ah_create.cookie, w, 0, w->now);
		if (a.type == IPOIB_ACT_SEND)
			pkt_free(a.send.pkt);
	}
}

static inline void fuzz_world_run(struct fuzz_world *w, ns_t dt)
{
	ns_t end = w->now + dt;

	fuzz_world_drain(w);
	while (timers_next(&w->timers) <= end) {
		if (timers_next(&w->timers) > w->now)
			w->now = timers_next(&w->timers);
		timers_run(&w->timers, w->now);
		fuzz_world_drain(w);
	}
	w->now = end;
}

static inline void fuzz_world_init(struct fuzz_world *w)
{
	struct ipoib_link_cfg cfg = { .name = "fuzz", .pkey = 0x8001, .timers = &w->timers };
	struct sac_cfg sac_cfg = { .timers = &w->timers, .seed = 1 };
	ib_gid gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 5), bcast;
	struct sac_port sac_port = { IB_PORT_ACTIVE, 0, 5, SA_LID, gid };
	struct ipoib_port port = { .state = IB_PORT_ACTIVE,
				   .lid = 5,
				   .mtu_code = IB_MTU_2048,
				   .rate_code = 3,
				   .gid = gid };

	memset(w, 0, sizeof(*w));
	timers_init(&w->timers);
	w->now = NS_SEC(1);
	w->pool = pkt_pool_create(512, 64);
	sa_init(&w->sa, &w->timers, 1);
	mgid_broadcast(&bcast, 0x8001, 2);
	sa_group_make(&w->sa, &bcast, 0x8001, IB_MTU_2048);
	sac_cfg.ep = w->sa.ep;
	if (sac_create(&w->sac, &sac_cfg))
		abort();
	sac_port_update(w->sac, &sac_port, w->now);
	cfg.sac = w->sac;
	if (ipoib_link_create(&w->link, &cfg))
		abort();
	ipoib_link_port_update(w->link, &port, w->now);
	ipoib_link_set_admin(w->link, true, w->now);
	fuzz_world_run(w, NS_MSEC(10));
	if (!ipoib_link_is_up(w->link))
		abort();
}

static inline void fuzz_world_fini(struct fuzz_world *w)
{
	ipoib_link_set_admin(w->link, false, w->now);
	fuzz_world_drain(w);
	ipoib_link_destroy(w->link);
	sac_destroy(w->sac);
	mad_ep_destroy(w->sa.ep);
	sa_fini(&w->sa);
	pkt_pool_destroy(w->pool);
	timers_fini(&w->timers);
}

#endif
