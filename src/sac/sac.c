/* SPDX-License-Identifier: BSD-2-Clause */
#include "sac/sac.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sac/client.h"
#include "text/print.h"

ns_t sac_backoff(struct sac *s, unsigned int failures, int status)
{
	ns_t max = status == -ENXIO ? SAC_BACKOFF_ABSENT : SAC_BACKOFF_MAX;
	ns_t base = ns_backoff(failures, SAC_BACKOFF_MIN, max);

	/*
	 * The random part of a delay prevents that all ports which lost the same SM send requests
	 * at the same time.
	 */
	return base + NS_USEC(prng_below(&s->prng, (uint32_t)(base / NS_USEC(4))));
}

static int agent_register(struct sac *s)
{
	struct mad_agent_cfg cfg = {
		.qp = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.rmpp = true,
		.shared = true, /* programs on this port may have SA subscriptions of their own */
		.recv = sac_report_recv,
		.ctx = s,
	};

	mad_agent_cfg_method(&cfg, MAD_METHOD_REPORT);
	return mad_agent_add(s->ep, &cfg, &s->agent);
}

int sac_create(struct sac **ret, const struct sac_cfg *cfg)
{
	struct sac *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->ep = cfg->ep;
	s->timers = cfg->timers;
	s->log = cfg->log;
	s->shared = cfg->shared;
	prng_seed(&s->prng, cfg->seed);
	s->secret = cfg->secret;
	err = agent_register(s);
	if (err) {
		free(s);
		return err;
	}
	list_init(&s->users);
	sac_ops_init(s);
	sac_paths_init(s);
	sac_groups_init(s);
	sac_services_init(s);
	sac_inform_init(s);
	*ret = s;
	return 0;
}

void sac_destroy(struct sac *s)
{
	if (!s)
		return;
	while (!list_empty(&s->users))
		list_del(s->users.next);
	sac_inform_fini(s);
	sac_services_fini(s);
	sac_asks_fini(s);
	sac_groups_fini(s);
	sac_paths_fini(s);
	sac_ops_fini(s);
	mad_agent_del(s->agent);
	free(s);
}

bool sac_usable(const struct sac *s)
{
	return s->port.state == IB_PORT_ACTIVE && ib_lid_is_unicast(s->port.lid) &&
	       ib_lid_is_unicast(s->port.sm_lid);
}

const struct sac_port *sac_port(const struct sac *s)
{
	return &s->port;
}

uint64_t sac_secret(const struct sac *s, uint64_t purpose)
{
	return hash_siphash(&s->secret, &purpose, sizeof(purpose));
}

void sac_tell(struct sac *s, enum sac_event ev, const ib_gid *gid, ns_t now)
{
	struct list todo = LIST_INIT(todo);

	/*
	 * The callbacks may add and remove users, so the loop takes each user from a list of those
	 * that are still to be called.
	 */
	while (!list_empty(&s->users)) {
		struct list *n = s->users.next;

		list_del(n);
		list_add_tail(&todo, n);
	}
	while (!list_empty(&todo)) {
		struct sac_user *u = list_first(&todo, struct sac_user, link);

		list_del(&u->link);
		list_add_tail(&s->users, &u->link);
		u->event(u, ev, gid, now);
	}
}

void sac_restart(struct sac *s, ns_t now)
{
	s->stats.restarts++;
	/*
	 * The callbacks of the users call sac_subscribed(), so the subscriptions at the previous SA
	 * are dropped before the callbacks are called.
	 */
	sac_inform_forget(s);
	sac_tell(s, SAC_EV_RESTART, NULL, now);
	sac_groups_restart(s, now);
	sac_paths_restart(s, now);
	sac_asks_restart(s, now);
	sac_services_restart(s, now);
	sac_inform_resume(s, now);
}

static bool port_same(const struct sac_port *a, const struct sac_port *b)
{
	return a->state == b->state && a->sm_sl == b->sm_sl && a->lid == b->lid &&
	       a->sm_lid == b->sm_lid && ib_gid_equal(&a->gid, &b->gid);
}

void sac_port_update(struct sac *s, const struct sac_port *port, ns_t now)
{
	bool was = sac_usable(s);

	if (port_same(&s->port, port))
		return;
	s->port = *port;
	if (!was && !sac_usable(s))
		return;
	sac_log(s, LOG_LVL_INFO, "sa: port %s, LID %u, SM LID %u: %s",
		print_port_state(port->state), port->lid, port->sm_lid,
		sac_usable(s) ? "starting over" : "out of reach");
	sac_restart(s, now);
}

void sac_reregister(struct sac *s, ns_t now)
{
	if (!sac_usable(s))
		return;
	sac_log(s, LOG_LVL_INFO, "sa: asked to register again, SM LID %u", s->port.sm_lid);
	sac_restart(s, now);
}

void sac_user_add(struct sac *s, struct sac_user *u)
{
	list_add_tail(&s->users, &u->link);
	if (!timer_armed(&s->inform_start))
		timer_arm(s->timers, &s->inform_start, 0);
}

void sac_user_del(struct sac_user *u)
{
	list_del(&u->link);
}

void sac_shutdown(struct sac *s, ns_t now)
{
	s->closing = true;
	timer_cancel(s->timers, &s->rejoin);
	sac_groups_shutdown(s, now);
	sac_inform_stop(s, now);
}

bool sac_idle(const struct sac *s)
{
	return !sac_usable(s) || (!s->nopen && !s->nqueued);
}

void sac_stats(const struct sac *s, struct sac_stats *ret)
{
	*ret = s->stats;
	ret->open = s->nopen;
	ret->queued = s->nqueued;
	ret->paths = s->npaths;
	ret->groups = s->ngroups;
}

char *sac_status_print(char *buf, size_t size, int status)
{
	if (status > 0)
		snprintf(buf, size, "status 0x%04x (%s)", (unsigned int)status,
			 print_sa_status((unsigned int)status));
	else if (status == 0)
		snprintf(buf, size, "success");
	else if (status == -ETIMEDOUT)
		snprintf(buf, size, "no answer from the SA");
	else if (status == -ENXIO)
		snprintf(buf, size, "no SA there");
	else if (status == -EBUSY)
		snprintf(buf, size, "the SA is busy");
	else if (status == -ENETDOWN)
		snprintf(buf, size, "no SA in reach");
	else if (status == -EBADMSG)
		snprintf(buf, size, "malformed answer from the SA");
	else
		snprintf(buf, size, "request failed, errno %d", -status);
	return buf;
}
