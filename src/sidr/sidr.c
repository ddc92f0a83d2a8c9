/* SPDX-License-Identifier: BSD-2-Clause */
#include "sidr/sidr.h"

#include <errno.h>

static void set_state(struct sidr_ask *a, enum sidr_state st)
{
	log_to(cm_log(a->cm), LOG_LVL_DEBUG, "sidr: ServiceID 0x%016llx P_Key 0x%04x: %s -> %s",
	       (unsigned long long)a->service_id, a->pkey, sidr_state_name(a->state),
	       sidr_state_name(st));
	a->state = st;
}

const char *sidr_state_name(enum sidr_state st)
{
	static const char *const names[] = { "IDLE", "WAIT_PORT", "START",   "SERVICE",
					     "PATH", "REQUEST",	  "BACKOFF", "DONE" };

	return names[st];
}

/* End the step that is under way. */
static void cancel(struct sidr_ask *a)
{
	timer_cancel(cm_timers(a->cm), &a->timer);
	sac_service_ask_cancel(&a->query);
	sac_path_cancel(&a->path);
	cm_request_cancel(&a->request);
}

/*
 * Wait before the next attempt. Up to a quarter of the time is added at random, so that ports that
 * lost the same server do not send their next requests at the same time.
 */
static void back_off(struct sidr_ask *a, ns_t now)
{
	ns_t base = SIDR_BACKOFF_MIN;

	if (a->last)
		base = ns_backoff(++a->rounds, SIDR_BACKOFF_MIN, SIDR_BACKOFF_MAX);
	/* In SIDR_STATE_SERVICE no server was chosen yet, so no server has failed. */
	if (a->state != SIDR_STATE_SERVICE)
		sidr_order_failed(&a->order);
	set_state(a, SIDR_STATE_BACKOFF);
	timer_arm(cm_timers(a->cm), &a->timer, now + base + cm_random(a->cm) % (base / 4));
}

static void fail(struct sidr_ask *a, const struct sidr_result *r, ns_t now)
{
	back_off(a, now);
	a->done(a, r, now);
}

static void fail_with(struct sidr_ask *a, enum sidr_why why, int status, ns_t now)
{
	fail(a, &(struct sidr_result){ .why = why, .status = status, .server = a->server }, now);
}

/* --- the answer */

/*
 * The Q_Key is in a SIDR_REP twice, in its own field and in the private data. The client uses the
 * Q_Key in the private data, because the draft's drawing shows all values there.
 */
static enum sidr_why judge(const struct sidr_ask *a, const struct sidr_rep *rep,
			   struct sidr_group *ret, int *ret_status)
{
	*ret_status = rep->status;
	if (rep->status != SIDR_STATUS_OK)
		return SIDR_REFUSED;
	sidr_group_decode(ret, rep->priv, sizeof(rep->priv));
	*ret_status = ret->ver;
	if (ret->ver != SIDR_GROUP_VER)
		return SIDR_VERSION;
	*ret_status = 0;
	if (!ib_gid_is_mcast(&ret->dgid) || !ib_lid_is_mcast(ret->dlid) ||
	    (ret->pkey ^ a->pkey) & 0x7fff)
		return SIDR_BAD_GROUP;
	return SIDR_OK;
}

static void request_done(struct cm_request *q, int status, const struct sidr_rep *rep, ns_t now)
{
	struct sidr_ask *a = container_of(q, struct sidr_ask, request);
	struct sidr_result r = { .server = a->server };

	if (status) {
		fail_with(a, SIDR_SILENT, 0, now);
		return;
	}
	r.why = judge(a, rep, &r.group, &r.status);
	if (r.why != SIDR_OK) {
		fail(a, &r, now);
		return;
	}
	sidr_order_answered(&a->order);
	set_state(a, SIDR_STATE_DONE);
	a->done(a, &r, now);
}

static void send_request(struct sidr_ask *a, const struct ib_path_rec *path, ns_t now)
{
	int err;

	a->server = path->dlid;
	a->request = (struct cm_request){
		.to = mad_addr_gmp(path->dlid, path->sl),
		.req = { .pkey = a->pkey, .service_id = a->service_id },
		.done = request_done,
	};
	a->request.to.pkey = a->via;
	set_state(a, SIDR_STATE_REQUEST);
	err = cm_request(a->cm, &a->request, now);
	if (err)
		fail_with(a, SIDR_BUSY, err, now);
}

/* --- the path */

static void ask_path(struct sidr_ask *a, ns_t now);

static bool no_path(int status)
{
	return status == SA_STATUS_NO_RECORDS || status == SA_STATUS_REQ_INVALID ||
	       status == SA_STATUS_INVALID_GID;
}

static void path_answered(struct sidr_ask *a, int status, const struct ib_path_rec *path, ns_t now)
{
	if (!status) {
		send_request(a, path, now);
	} else if (no_path(status) && a->via != IB_PKEY_DEFAULT) {
		a->via = IB_PKEY_DEFAULT;
		ask_path(a, now);
	} else {
		fail_with(a, SIDR_PATH, status, now);
	}
}

static void path_done(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now)
{
	path_answered(container_of(w, struct sidr_ask, path), status, rec, now);
}

static void ask_path(struct sidr_ask *a, ns_t now)
{
	const struct sac_path_key key = {
		.sgid = sac_port(a->sac)->gid,
		.dgid = a->server_gid,
		.pkey = a->via,
	};
	struct ib_path_rec rec;
	int status;

	set_state(a, SIDR_STATE_PATH);
	a->path = (struct sac_path_wait){ .done = path_done };
	status = sac_path_get(a->sac, &key, &a->path, &rec, now);
	if (status != -EINPROGRESS)
		path_answered(a, status, &rec, now);
}

/* --- the ServiceRecord */

/*
 * A SIDR_REQ has no GRH, so it reaches ports of this subnet only. Records with other subnet prefixes are ignored.
 * Otherwise a port could register any number of servers with GIDs of other subnets.
 */
static void service_record(struct sac_service_query *q, const struct ib_service_rec *rec)
{
	struct sidr_ask *a = container_of(q, struct sidr_ask, query);

	if (ib_gid_prefix(&rec->gid) == ib_gid_prefix(&sac_port(a->sac)->gid))
		sidr_order_offer(&a->order, &rec->gid);
}

static void service_done(struct sac_service_query *q, int status, ns_t now)
{
	struct sidr_ask *a = container_of(q, struct sidr_ask, query);

	if (!status && !a->order.offers)
		status = SA_STATUS_NO_RECORDS;
	if (status) {
		fail_with(a, status == SA_STATUS_NO_RECORDS ? SIDR_NO_SERVICE : SIDR_SA, status,
			  now);
		return;
	}
	a->last = sidr_order_choose(&a->order, &a->server_gid);
	a->via = a->pkey;
	ask_path(a, now);
}

static void ask_service(struct sidr_ask *a, ns_t now)
{
	int err;

	a->server = 0;
	/*
	 * If this query fails, there is no other server to try, so the attempt ends the round.
	 * service_done() sets .last again when it has a server.
	 */
	a->last = true;
	a->query = (struct sac_service_query){
		.id = a->service_id,
		.pkey = a->pkey,
		.record = service_record,
		.done = service_done,
	};
	a->attempts++;
	set_state(a, SIDR_STATE_SERVICE);
	err = sac_service_ask(a->sac, &a->query, now);
	if (err)
		fail_with(a, SIDR_SA, err, now);
}

static void timer_due(struct timer *t, ns_t now)
{
	struct sidr_ask *a = container_of(t, struct sidr_ask, timer);

	if (sac_usable(a->sac))
		ask_service(a, now);
	else
		set_state(a, SIDR_STATE_WAIT_PORT);
}

/* --- from outside */

/*
 * Begin a question. The timer takes the first step, because this function may run inside a callback
 * of the SA client.
 */
static void begin(struct sidr_ask *a, ns_t now)
{
	a->rounds = 0;
	sidr_order_restart(&a->order);
	set_state(a, sac_usable(a->sac) ? SIDR_STATE_START : SIDR_STATE_WAIT_PORT);
	if (a->state == SIDR_STATE_START)
		timer_arm(cm_timers(a->cm), &a->timer, now);
}

static void on_event(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now)
{
	struct sidr_ask *a = container_of(u, struct sidr_ask, user);

	(void)gid;
	if (ev != SAC_EV_RESTART)
		return;
	cancel(a);
	begin(a, now);
}

void sidr_start(struct cm *cm, struct sac *sac, struct sidr_ask *a, uint64_t service_id,
		uint16_t pkey, ns_t now)
{
	sidr_stop(a);
	a->cm = cm;
	a->sac = sac;
	a->service_id = service_id;
	a->pkey = pkey;
	/*
	 * After the link was down, keep the state of the ring, which contains the server whose
	 * values were right.
	 */
	if (!a->order.made)
		sidr_order_init(&a->order, sac_secret(sac, 0), sac_secret(sac, 1));
	timer_init(&a->timer, timer_due);
	a->user = (struct sac_user){ .no_reports = true, .event = on_event };
	sac_user_add(sac, &a->user);
	begin(a, now);
}

void sidr_stop(struct sidr_ask *a)
{
	if (a->state == SIDR_STATE_IDLE)
		return;
	cancel(a);
	sac_user_del(&a->user);
	set_state(a, SIDR_STATE_IDLE);
}

void sidr_again(struct sidr_ask *a, ns_t now)
{
	if (a->state == SIDR_STATE_DONE)
		back_off(a, now);
}

void sidr_refresh(struct sidr_ask *a, ns_t now)
{
	if (a->state == SIDR_STATE_DONE)
		begin(a, now);
}

void sidr_good(struct sidr_ask *a)
{
	if (a->state < SIDR_STATE_SERVICE)
		return;
	cancel(a);
	a->rounds = 0;
	sidr_order_good(&a->order);
	set_state(a, SIDR_STATE_DONE);
}
