/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SAC_RIG_H
#define TESTS_SAC_RIG_H

/* One SA client over the fake SA, on virtual time. */

#include "check.h"
#include "fake_sa.h"
#include "sac/sac.h"

#define RIG_LID 5
#define RIG_PKEY 0x8001

static const struct log_sink *sac_rig_log; /* log sink of the rigs that are created from now on */

struct sac_rig {
	struct timers timers;
	ns_t now;
	struct fake_sa sa;
	struct sac *sac;
	struct sac_port port;
};

static inline ib_gid peer_gid(unsigned int n)
{
	return ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x0002c90300000000ull + n);
}

static inline void sac_rig_run(struct sac_rig *r, ns_t dt)
{
	ns_t end = r->now + dt;

	while (timers_next(&r->timers) <= end) {
		ns_t t = timers_next(&r->timers);

		if (t > r->now)
			r->now = t;
		timers_run(&r->timers, r->now);
	}
	r->now = end;
}

static inline void sac_rig_port(struct sac_rig *r, bool active)
{
	r->port.state = active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	sac_port_update(r->sac, &r->port, r->now);
}

static inline void sac_rig_init(struct sac_rig *r, bool shared, uint64_t seed)
{
	struct sac_cfg cfg = {
		.timers = &r->timers, .seed = seed, .shared = shared, .log = sac_rig_log
	};

	memset(r, 0, sizeof(*r));
	timers_init(&r->timers);
	r->now = NS_SEC(1);
	sa_init(&r->sa, &r->timers, seed);
	cfg.ep = r->sa.ep;
	assert_int_equal(sac_create(&r->sac, &cfg), 0);
	r->port = (struct sac_port){
		.lid = RIG_LID,
		.sm_lid = SA_LID,
		.gid = peer_gid(RIG_LID),
	};
	sac_rig_port(r, true);
}

static inline void sac_rig_fini(struct sac_rig *r)
{
	sac_destroy(r->sac);
	mad_ep_destroy(r->sa.ep);
	sa_fini(&r->sa);
	assert_true(timers_next(&r->timers) == NS_NEVER);
	timers_fini(&r->timers);
}

#endif
