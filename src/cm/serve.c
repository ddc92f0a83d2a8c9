/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "cm/priv.h"

static bool pkey_same(uint16_t a, uint16_t b)
{
	return ((a ^ b) & 0x7fff) == 0;
}

static struct cm_service *service_find(const struct cm *c, uint64_t id, uint16_t pkey)
{
	struct cm_service *v;

	list_for_each (v, &c->services, link)
		if (v->id == id && (!v->pkey || pkey_same(v->pkey, pkey)))
			return v;
	return NULL;
}

int cm_service_add(struct cm *c, struct cm_service *v)
{
	int err;

	if (v->cm || service_find(c, v->id, v->pkey))
		return -EEXIST;
	err = cm_register(c);
	if (err)
		return err;
	v->cm = c;
	list_add_tail(&c->services, &v->link);
	return 0;
}

void cm_service_del(struct cm_service *v)
{
	if (!v->cm)
		return;
	v->cm = NULL;
	list_del(&v->link);
}

bool cm_serves(const struct cm *c)
{
	return !list_empty(&c->services);
}

/* --- rate limits of sources */

static struct cm_source *source_find(const struct cm *c, uint16_t lid)
{
	struct hlink *n;

	for (n = htab_first(&c->source_tab, lid); n; n = htab_next(n)) {
		struct cm_source *s = container_of(n, struct cm_source, by_lid);

		if (s->lid == lid)
			return s;
	}
	return NULL;
}

/* Store a new source in the entry that was not used for the longest time. */
static struct cm_source *source_new(struct cm *c, uint16_t lid)
{
	struct cm_source *s = container_of(c->sources.prev, struct cm_source, link);

	if (s->lid)
		htab_del(&c->source_tab, &s->by_lid);
	s->lid = 0;
	if (htab_add(&c->source_tab, &s->by_lid, lid))
		return NULL;
	s->lid = lid;
	s->pace = (struct pace){ 0 };
	return s;
}

static int sources_alloc(struct cm *c)
{
	c->source = calloc(CM_SOURCES, sizeof(*c->source));
	if (!c->source)
		return -ENOMEM;
	for (unsigned int i = 0; i < CM_SOURCES; i++)
		list_add_tail(&c->sources, &c->source[i].link);
	return 0;
}

static bool source_may(struct cm *c, uint16_t lid, ns_t now)
{
	struct cm_source *s;

	if (!c->source && sources_alloc(c))
		return false;
	s = source_find(c, lid);
	if (!s)
		s = source_new(c, lid);
	if (!s)
		return false;
	list_del(&s->link);
	list_add_head(&c->sources, &s->link);
	return pace_take(&s->pace, CM_SOURCE_BURST, NS_SEC(1) / CM_SOURCE_RATE, now);
}

/* --- answers */

static void send_reply(struct cm *c, const struct mad_addr *to, uint64_t tid,
		       const struct sidr_rep *rep, ns_t now)
{
	uint8_t mad[MAD_LEN];

	sidr_rep_encode(mad, tid, rep);
	if (mad_reply(c->agent, to, mad, sizeof(mad), now))
		c->stats.drop_busy++;
	else if (rep->status == SIDR_STATUS_OK)
		c->stats.served++;
	else
		c->stats.refused++;
}

void cm_request_recv(struct cm *c, const struct mad_addr *from, const void *mad, size_t len,
		     ns_t now)
{
	struct cm_service *v;
	struct sidr_rep rep;
	struct sidr_req req;

	if (sidr_req_decode(&req, mad, len)) {
		c->stats.drop_other++;
		return;
	}
	if (list_empty(&c->services)) {
		c->stats.drop_no_server++;
		return;
	}
	if (!source_may(c, from->lid, now)) {
		c->stats.drop_paced++;
		return;
	}
	v = service_find(c, req.service_id, req.pkey);
	/*
	 * Another program on the port may serve the ServiceID, and a refusal by this agent could
	 * overtake that program's answer.
	 */
	if (!v && !mad_agent_is_alone(c->agent)) {
		c->stats.drop_no_server++;
		return;
	}
	rep = (struct sidr_rep){
		.request_id = req.request_id,
		.status = SIDR_STATUS_NO_SERVICE,
		.service_id = req.service_id,
	};
	if (v)
		v->answer(v, from, &req, &rep, now);
	send_reply(c, from, mad_tid(mad), &rep, now);
}

void cm_services_init(struct cm *c)
{
	list_init(&c->services);
	list_init(&c->sources);
}

void cm_services_fini(struct cm *c)
{
	struct cm_service *v, *tmp;

	list_for_each_safe (v, tmp, &c->services, link)
		cm_service_del(v);
	htab_fini(&c->source_tab);
	free(c->source);
}
