/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "sac/op.h"

/*
 * ServiceRecords (IBTA 15.2.5.14): the query for the ports that offer a service in a partition, and
 * the registration of a service that this port offers.
 *
 * A registration has a lease, so that the SA removes the record of a port that was switched off.
 * The client renews the registration after half of the lease. It registers again when the SA may
 * have lost the record (sac_restart()).
 *
 * For each service at most one Set or Delete is under way, so that a Set and a Delete never
 * overtake each other. When this request has ended, service_step() sends the Set or Delete that is
 * needed next. So the last call of the user takes effect.
 */

#define SERVICE_COMP_ASK (SERVICE_COMP_ID | SERVICE_COMP_PKEY)
#define SERVICE_COMP_DELETE \
	(SERVICE_COMP_ID | SERVICE_COMP_GID | SERVICE_COMP_PKEY | SERVICE_COMP_KEY)
#define SERVICE_COMP_REGISTER (SERVICE_COMP_DELETE | SERVICE_COMP_LEASE | SERVICE_COMP_NAME)
/*
 * The client gives up after this number of Deletes without an answer, each with all its tries.
 * The record then stays until its lease ends.
 */
#define WITHDRAW_TRIES 3

/* --- the question */

struct question {
	struct sac_op op;
	struct sac_service_query *q;
};

static void question_fill(struct sac_op *op, uint8_t mad[MAD_LEN])
{
	const struct sac_service_query *q = container_of(op, struct question, op)->q;
	struct ib_service_rec rec = { .id = q->id, .pkey = q->pkey };

	sac_op_headers(op, mad, MAD_METHOD_GET_TABLE, SA_ATTR_SERVICE_RECORD, SERVICE_COMP_ASK);
	ib_service_rec_encode(mad + SA_DATA_OFF, &rec);
}

/*
 * Detaches the query from its request. This is done before the callback of the query runs, because
 * the callback may start the query again.
 */
static struct sac_service_query *question_end(struct question *a)
{
	struct sac_service_query *q = a->q;

	sac_op_cancel(&a->op);
	list_del(&q->link);
	q->op = NULL;
	free(a);
	return q;
}

static bool rec_fits(const struct sac_service_query *q, const struct ib_service_rec *rec)
{
	return rec->id == q->id && ib_pkey_match(rec->pkey, q->pkey) &&
	       !ib_gid_is_zero(&rec->gid) && !ib_gid_is_mcast(&rec->gid);
}

/*
 * Passes the records of the answer to the query's callback. The data may end with the padding of
 * the last segment, which is no whole record.
 */
static int give_records(struct sac_service_query *q, const struct sa_mad *resp)
{
	size_t step = resp->sa.attr_offset * 8u;
	int status = SA_STATUS_NO_RECORDS;
	struct ib_service_rec rec;

	if (resp->data_len && step && step < SERVICE_REC_LEN)
		return -EBADMSG;
	for (size_t off = 0; step && off < resp->data_len; off += step) {
		if (ib_service_rec_decode(&rec, resp->data + off, resp->data_len - off))
			break;
		if (!rec_fits(q, &rec))
			continue;
		q->record(q, &rec);
		status = 0;
	}
	return status;
}

static void question_done(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now)
{
	struct sac_service_query *q = question_end(container_of(op, struct question, op));

	if (!status)
		status = give_records(q, resp);
	q->done(q, status, now);
}

int sac_service_ask(struct sac *s, struct sac_service_query *q, ns_t now)
{
	struct question *a;

	if (q->op)
		return -EALREADY;
	if (!sac_usable(s))
		return -ENETDOWN;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->q = q;
	a->op.fill = question_fill;
	a->op.done = question_done;
	q->op = &a->op;
	list_add_tail(&s->service_asks, &q->link);
	s->stats.service_asks++;
	sac_op_submit(s, &a->op, false, now);
	return 0;
}

void sac_service_ask_cancel(struct sac_service_query *q)
{
	if (q->op)
		question_end(container_of(q->op, struct question, op));
}

static void questions_restart(struct sac *s, ns_t now)
{
	struct list old = LIST_INIT(old);

	while (!list_empty(&s->service_asks)) {
		struct list *n = s->service_asks.next;

		list_del(n);
		list_add_tail(&old, n);
	}
	while (!list_empty(&old)) {
		struct sac_service_query *q = list_first(&old, struct sac_service_query, link);

		question_end(container_of(q->op, struct question, op));
		q->done(q, -ENETDOWN, now);
	}
}

/* --- the registration */

struct sac_service {
	struct list link; /* link in the list .services of struct sac */
	struct sac *sac;
	struct sac_op op;
	struct timer timer; /* timer for the end of a back-off, or for the renewal of the lease */
	struct ib_service_rec rec;
	/* number of requests of one kind (Set or Delete) that failed in a row */
	unsigned int failures;
	int status; /* result of the last request */
	/*
	 * true while the user wants the registration; false: it was withdrawn, and the struct is freed when the SA
	 * has no record any more
	 */
	bool wanted;
	bool registered; /* the SA has confirmed the record since the last restart of the client */
	/* true if the SA may have the record, because a Set was sent and no Delete was answered since then */
	bool known;
	bool deleting; /* the request in .op is a Delete */
};

static void service_free(struct sac_service *v)
{
	sac_op_cancel(&v->op);
	timer_cancel(v->sac->timers, &v->timer);
	list_del(&v->link);
	free(v);
}

static struct sac_service *service_find(const struct sac *s, uint64_t id, uint16_t pkey)
{
	struct sac_service *v;

	list_for_each (v, &s->services, link)
		if (v->rec.id == id && v->rec.pkey == pkey)
			return v;
	return NULL;
}

/*
 * The ServiceKey is computed from the client's secret, so that a service that is registered again
 * later has the same key.
 */
static void service_key(uint8_t ret[16], const struct sac *s, const struct ib_service_rec *rec)
{
	uint8_t in[11];

	be64_put(in, rec->id);
	be16_put(in + 8, rec->pkey);
	for (uint8_t half = 0; half < 2; half++) {
		in[10] = half;
		be64_put(ret + half * 8u, hash_siphash(&s->secret, in, sizeof(in)));
	}
}

static void service_timer(struct timer *t, ns_t now);

static struct sac_service *service_new(struct sac *s, uint64_t id, uint16_t pkey)
{
	struct sac_service *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->sac = s;
	v->rec = (struct ib_service_rec){ .id = id, .pkey = pkey, .lease = SAC_SERVICE_LEASE };
	service_key(v->rec.key, s, &v->rec);
	timer_init(&v->timer, service_timer);
	list_add_tail(&s->services, &v->link);
	return v;
}

/* Writes the request when it is sent. A Delete contains the GID that was registered. */
static void service_fill(struct sac_op *op, uint8_t mad[MAD_LEN])
{
	struct sac_service *v = container_of(op, struct sac_service, op);

	if (!v->deleting) {
		v->rec.gid = v->sac->port.gid;
		v->known = true;
	}
	sac_op_headers(op, mad, v->deleting ? MAD_METHOD_DELETE : MAD_METHOD_SET,
		       SA_ATTR_SERVICE_RECORD,
		       v->deleting ? SERVICE_COMP_DELETE : SERVICE_COMP_REGISTER);
	ib_service_rec_encode(mad + SA_DATA_OFF, &v->rec);
}

static void service_say(const struct sac_service *v, enum log_level lvl, const char *what)
{
	sac_log(v->sac, lvl, "sa: ServiceRecord 0x%016llx, P_Key 0x%04x: %s",
		(unsigned long long)v->rec.id, v->rec.pkey, what);
}

static void service_done(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now);

/* Sends the next request for the service, or frees the service if no request is needed. */
static void service_step(struct sac_service *v, ns_t now)
{
	if (v->op.active)
		return;
	timer_cancel(v->sac->timers, &v->timer);
	/* If the SA cannot be reached, no Delete is sent, and the record ends with its lease. */
	if (!v->wanted && !(v->known && sac_usable(v->sac))) {
		service_free(v);
		return;
	}
	if (!sac_usable(v->sac) || (v->wanted && v->sac->closing))
		return;
	v->deleting = !v->wanted;
	v->op.fill = service_fill;
	v->op.done = service_done;
	sac_op_submit(v->sac, &v->op, false, now);
}

static void service_timer(struct timer *t, ns_t now)
{
	service_step(container_of(t, struct sac_service, timer), now);
}

/*
 * Stores whether the user wants the registration, and sends the Set or Delete that is needed now.
 * While a request is open, the Set or Delete waits, because the SA may still act on the open
 * request.
 */
static void service_change(struct sac_service *v, bool wanted, ns_t now)
{
	v->wanted = wanted;
	v->registered = false;
	v->failures = 0;
	if (!sac_op_is_open(&v->op))
		sac_op_cancel(&v->op);
	service_step(v, now);
}

static void set_failed(struct sac_service *v, int status, ns_t now)
{
	char text[SAC_STATUS_LEN];

	if (status != v->status && !sac_status_is_outage(status))
		service_say(v, LOG_LVL_WARN, sac_status_print(text, sizeof(text), status));
	v->status = status;
	timer_arm(v->sac->timers, &v->timer, now + sac_backoff(v->sac, ++v->failures, status));
}

static void set_granted(struct sac_service *v, ns_t now)
{
	if (!v->registered)
		service_say(v, LOG_LVL_INFO, "registered");
	v->registered = true;
	v->failures = 0;
	v->status = 0;
	timer_arm(v->sac->timers, &v->timer, now + NS_SEC(SAC_SERVICE_LEASE) / 2);
}

static void delete_ended(struct sac_service *v, int status, ns_t now)
{
	if (!v->known || ++v->failures == WITHDRAW_TRIES) {
		service_free(v);
		return;
	}
	v->status = status;
	timer_arm(v->sac->timers, &v->timer, now + sac_backoff(v->sac, v->failures, status));
}

static void service_done(struct sac_op *op, int status, const struct sa_mad *resp, ns_t now)
{
	struct sac_service *v = container_of(op, struct sac_service, op);

	(void)resp;
	if (v->deleting && status >= 0)
		v->known = false;
	if (v->deleting == v->wanted) /* .wanted has changed since the request was sent */
		service_step(v, now);
	else if (v->wanted && status)
		set_failed(v, status, now);
	else if (v->wanted)
		set_granted(v, now);
	else
		delete_ended(v, status, now);
}

int sac_service_register(struct sac *s, uint64_t id, uint16_t pkey, const char *name,
			 struct sac_service **ret, ns_t now)
{
	struct sac_service *v = service_find(s, id, pkey);

	if (v && v->wanted)
		return -EEXIST;
	if (!v)
		v = service_new(s, id, pkey);
	if (!v)
		return -ENOMEM;
	memset(v->rec.name, 0, sizeof(v->rec.name));
	memcpy(v->rec.name, name, strnlen(name, sizeof(v->rec.name)));
	service_change(v, true, now);
	*ret = v;
	return 0;
}

void sac_service_withdraw(struct sac_service *v, ns_t now)
{
	if (v)
		service_change(v, false, now);
}

bool sac_service_registered(const struct sac_service *v)
{
	return v->registered;
}

/*
 * After a restart it is not certain which records of this port the SA has, so the Delete of a
 * withdrawn service is sent again, too.
 */
static void service_restart(struct sac_service *v, ns_t now)
{
	sac_op_cancel(&v->op);
	service_change(v, v->wanted, now);
}

void sac_services_restart(struct sac *s, ns_t now)
{
	struct sac_service *v, *tmp;

	questions_restart(s, now);
	list_for_each_safe (v, tmp, &s->services, link)
		service_restart(v, now);
}

void sac_services_hurry(struct sac *s, ns_t now)
{
	struct sac_service *v;

	list_for_each (v, &s->services, link)
		if (!v->op.active && v->failures && sac_status_is_outage(v->status))
			timer_arm(s->timers, &v->timer, now);
}

void sac_services_init(struct sac *s)
{
	list_init(&s->service_asks);
	list_init(&s->services);
}

void sac_services_fini(struct sac *s)
{
	struct sac_service_query *q, *qtmp;
	struct sac_service *v, *vtmp;

	list_for_each_safe (q, qtmp, &s->service_asks, link)
		sac_service_ask_cancel(q);
	list_for_each_safe (v, vtmp, &s->services, link)
		service_free(v);
}
