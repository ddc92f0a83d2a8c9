/* SPDX-License-Identifier: BSD-2-Clause */
#include "sidr/offer.h"

static void answer(struct cm_service *v, const struct mad_addr *from, const struct sidr_req *req,
		   struct sidr_rep *ret, ns_t now)
{
	const struct sidr_offer *o = container_of(v, struct sidr_offer, service);
	struct sidr_group g = sidr_group_of(&o->rec);

	(void)req;
	(void)now;
	ret->status = SIDR_STATUS_REJECTED;
	if ((from->pkey ^ v->pkey) & 0x7fff)
		return;
	ret->status = SIDR_STATUS_OK;
	ret->qpn = IB_QPN_MCAST;
	ret->qkey = g.qkey;
	sidr_group_encode(ret->priv, &g);
}

static void tell(struct sidr_offer *o)
{
	if (o->changed)
		o->changed(o);
}

static void say(const struct sidr_offer *o, enum log_level lvl, const char *what)
{
	log_to(o->log, lvl, "sidr: ServiceID 0x%016llx, P_Key 0x%04x: %s",
	       (unsigned long long)o->service.id, o->service.pkey, what);
}

/*
 * Try again later after a failure. Only the first of several failures in a row is logged, with the
 * text @what.
 */
static void put_off(struct sidr_offer *o, const char *what, ns_t now)
{
	if (!o->failures)
		say(o, LOG_LVL_WARN, what);
	timer_arm(cm_timers(o->cm), &o->retry,
		  now + ns_backoff(++o->failures, SIDR_OFFER_RETRY_MIN, SIDR_OFFER_RETRY_MAX));
}

/* Take the steps that are still necessary before the port can answer SIDR_REQs. */
static void serve(struct sidr_offer *o, ns_t now)
{
	if (!o->service.cm) {
		if (cm_service_add(o->cm, &o->service)) {
			put_off(o, "another interface or program serves it on this port", now);
			return;
		}
		tell(o);
	}
	if (!o->registered && sac_service_register(o->sac, o->service.id, o->service.pkey,
						   SIDR_SERVICE_NAME, &o->registered, now)) {
		put_off(o, "the ServiceRecord cannot be registered", now);
		return;
	}
	o->failures = 0;
}

static void retry_due(struct timer *t, ns_t now)
{
	serve(container_of(t, struct sidr_offer, retry), now);
}

static void unserve(struct sidr_offer *o, ns_t now)
{
	timer_cancel(cm_timers(o->cm), &o->retry);
	o->failures = 0;
	if (!o->service.cm)
		return;
	cm_service_del(&o->service);
	sac_service_withdraw(o->registered, now);
	o->registered = NULL;
	tell(o);
}

/*
 * Handle the result of a join. If no SA answers (@status is negative), keep serving the values of
 * the last join, because they are probably still right. If the SA refuses the join (@status is
 * positive), stop serving, because the group has changed or is gone.
 */
static void joined(struct sac_group_ref *ref, int status, const struct ib_mcmember_rec *rec,
		   ns_t now)
{
	struct sidr_offer *o = container_of(ref, struct sidr_offer, ref);
	char text[SAC_STATUS_LEN];

	if (!status) {
		o->rec = *rec;
		o->said = 0;
		if (!timer_armed(&o->retry))
			serve(o, now);
		return;
	}
	if (status > 0)
		unserve(o, now);
	if (status != o->said)
		say(o, LOG_LVL_WARN, sac_status_print(text, sizeof(text), status));
	o->said = status;
}

int sidr_offer_start(struct sidr_offer *o, struct cm *cm, struct sac *sac, uint64_t service_id,
		     uint16_t pkey, const ib_gid *mgid, ns_t now)
{
	const struct sac_join j = {
		.rec = { .mgid = *mgid, .pkey = pkey, .join_state = MCM_JOIN_FULL },
	};
	int err;

	sidr_offer_stop(o, now);
	o->cm = cm;
	o->sac = sac;
	o->log = cm_log(cm);
	o->said = 0;
	o->failures = 0;
	timer_init(&o->retry, retry_due);
	o->service = (struct cm_service){ .id = service_id, .pkey = pkey, .answer = answer };
	o->ref = (struct sac_group_ref){ .done = joined };
	err = sac_group_join(sac, &o->ref, &j, now);
	if (err)
		o->cm = NULL;
	return err;
}

void sidr_offer_stop(struct sidr_offer *o, ns_t now)
{
	if (!o->cm)
		return;
	unserve(o, now);
	sac_group_leave(o->sac, &o->ref, now);
	o->cm = NULL;
}

bool sidr_offer_serves(const struct sidr_offer *o)
{
	return o->service.cm;
}
