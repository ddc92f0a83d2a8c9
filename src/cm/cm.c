/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/cm.h"

#include <errno.h>
#include <stdlib.h>

#include "cm/priv.h"

static void cm_recv(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	struct cm *c = ctx;

	switch (mad_attr(mad)) {
	case CM_ATTR_SIDR_REQ:
		cm_request_recv(c, from, mad, len, now);
		break;
	case CM_ATTR_SIDR_REP:
		cm_reply_recv(c, from, mad, len, now);
		break;
	default:
		c->stats.drop_other++;
	}
}

int cm_register(struct cm *c)
{
	struct mad_agent_cfg cfg = {
		.qp = IB_QP1,
		.mgmt_class = MAD_CLASS_CM,
		.class_version = CM_CLASS_VERSION,
		.shared = true, /* other programs may manage connections on this port */
		.recv = cm_recv,
		.ctx = c,
	};

	if (c->agent)
		return 0;
	mad_agent_cfg_method(&cfg, MAD_METHOD_SEND);
	return mad_agent_add(c->ep, &cfg, &c->agent);
}

int cm_create(struct cm **ret, const struct cm_cfg *cfg)
{
	struct cm *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->ep = cfg->ep;
	c->timers = cfg->timers;
	c->log = cfg->log;
	prng_seed(&c->prng, cfg->seed);
	cm_requests_init(c);
	cm_services_init(c);
	*ret = c;
	return 0;
}

void cm_destroy(struct cm *c)
{
	if (!c)
		return;
	cm_requests_fini(c);
	cm_services_fini(c);
	mad_agent_del(c->agent);
	free(c);
}

struct timers *cm_timers(const struct cm *c)
{
	return c->timers;
}

const struct log_sink *cm_log(const struct cm *c)
{
	return c->log;
}

uint64_t cm_random(struct cm *c)
{
	return prng_u64(&c->prng);
}

const struct cm_stats *cm_stats(const struct cm *c)
{
	return &c->stats;
}
