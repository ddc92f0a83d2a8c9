/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mad/priv.h"

static const char *state_name(enum mad_tx_state s)
{
	static const char *const names[] = { "SEGMENTS", "WAIT", "RECV" };

	return names[s];
}

void mad_tx_set_state(struct mad_tx *tx, enum mad_tx_state state, ns_t deadline)
{
	if (tx->state != state)
		log_to(tx->ep->log, LOG_LVL_DEBUG, "mad: TID 0x%016llx class 0x%02x %s -> %s",
		       (unsigned long long)tx->tid, tx->mgmt_class, state_name(tx->state),
		       state_name(state));
	tx->state = state;
	timer_arm(tx->ep->timers, &tx->timer, deadline);
}

/* Return the method of the response to @method (13.4.5); the response to Set is GetResp. */
static uint8_t response_method(uint8_t method)
{
	switch (method) {
	case MAD_METHOD_SET:
		return MAD_METHOD_GET_RESP;
	case MAD_METHOD_TRAP:
		return MAD_METHOD_TRAP_REPRESS;
	case MAD_METHOD_GET_TRACE_TABLE:
		return MAD_METHOD_GET_TABLE_RESP;
	default:
		return method | MAD_METHOD_RESP;
	}
}

static struct mad_tx *tx_of(struct hlink *h)
{
	return h ? container_of(h, struct mad_tx, by_key) : NULL;
}

static struct mad_tx *tx_first(const struct mad_ep *ep, uint64_t key)
{
	return tx_of(htab_first(&ep->txs, key));
}

static struct mad_tx *tx_next(const struct mad_tx *tx)
{
	return tx_of(htab_next(&tx->by_key));
}

/*
 * Return the hash key of a reply. The key includes the peer, because the peer chose the TID, and
 * other peers may use the same TID.
 */
static uint64_t reply_key(const struct mad_addr *peer, uint64_t tid)
{
	uint64_t k = (tid ^ (uint64_t)peer->lid << 40 ^ peer->qpn) * 0x9e3779b97f4a7c15ull;

	return k ^ k >> 32;
}

/*
 * Tell whether a response to @tx may come from @from. A TID can be guessed, so the response to a GMP must come from
 * the LID to which the request was sent. The response to an SMP may come by any route.
 */
static bool tx_peer_ok(const struct mad_tx *tx, const struct mad_addr *from)
{
	return from->qp == IB_QP0 || from->lid == tx->to.lid;
}

struct mad_tx *mad_tx_find_response(struct mad_ep *ep, const struct mad_addr *from, const void *mad)
{
	struct mad_tx *tx;

	for (tx = tx_first(ep, mad_tid(mad)); tx; tx = tx_next(tx))
		if (tx->done && tx->mgmt_class == mad_class_of(mad) &&
		    response_method(tx->method) == mad_method(mad) && tx_peer_ok(tx, from))
			return tx;
	return NULL;
}

static struct mad_tx *find_rmpp_by(struct mad_ep *ep, uint64_t key, const struct mad_addr *peer,
				   const struct mad_tx *like)
{
	struct mad_tx *tx;

	for (tx = tx_first(ep, key); tx; tx = tx_next(tx))
		if (tx->rmpp && tx->tid == like->tid && tx->mgmt_class == like->mgmt_class &&
		    tx->method == like->method && mad_addr_same_peer(&tx->to, peer))
			return tx;
	return NULL;
}

static struct mad_tx *tx_find_rmpp(struct mad_ep *ep, const struct mad_addr *peer, const void *mad,
				   uint8_t method)
{
	struct mad_tx like = {
		.tid = mad_tid(mad),
		.mgmt_class = mad_class(mad),
		.method = method,
	};
	struct mad_tx *tx = find_rmpp_by(ep, reply_key(peer, like.tid), peer, &like);

	return tx ? tx : find_rmpp_by(ep, like.tid, peer, &like);
}

struct mad_tx *mad_tx_find_segments(struct mad_ep *ep, const struct mad_addr *from, const void *mad)
{
	return tx_find_rmpp(ep, from, mad, mad_method(mad) ^ MAD_METHOD_RESP);
}

static bool quota_allows(const struct mad_quota *q, size_t octets)
{
	bool entitled = false;

	for (; q; q = q->up) {
		if ((q->open >= q->max_open && !entitled) || octets > q->max_octets - q->octets)
			return false;
		entitled |= q->open < q->min_open;
	}
	return true;
}

static void quota_take(struct mad_quota *q, size_t octets)
{
	for (; q; q = q->up) {
		q->open++;
		q->octets += octets;
	}
}

static void quota_put(struct mad_quota *q, size_t octets)
{
	for (; q; q = q->up) {
		q->open--;
		q->octets -= octets;
	}
}

static void tx_unlink(struct mad_tx *tx)
{
	struct mad_ep *ep = tx->ep;

	if (tx->rx) {
		tx->rx->tx = NULL;
		mad_rmpp_rx_free(tx->rx);
	}
	timer_cancel(ep->timers, &tx->timer);
	htab_del(&ep->txs, &tx->by_key);
	list_del(&tx->link);
	ep->ntx--;
	if (tx->rmpp)
		ep->rmpp_tx_len -= tx->len;
	quota_put(tx->agent->cfg.quota, tx->rmpp ? tx->len : 0);
}

void mad_tx_finish(struct mad_tx *tx, int status, const struct mad_addr *from, const void *mad,
		   size_t len, ns_t now)
{
	mad_done_fn *done = tx->done;
	void *ctx = tx->ctx;

	if (status == -ETIMEDOUT)
		tx->ep->st.timeouts++;
	tx_unlink(tx);
	free(tx);
	if (done)
		done(ctx, status, from, mad, len, now);
}

void mad_cancel(struct mad_tx *tx)
{
	tx_unlink(tx);
	free(tx);
}

static void tx_start(struct mad_tx *tx, ns_t now)
{
	if (tx->rmpp) {
		mad_rmpp_send_start(tx, now);
		return;
	}
	/* The timer is armed first, because @tx may be freed during the send. A failure to send counts as a loss. */
	mad_tx_set_state(tx, MAD_TX_WAIT, now + tx->timeout);
	mad_ep_send(tx->ep, &tx->to, tx->msg, now);
}

void mad_tx_retry(struct mad_tx *tx, ns_t now)
{
	if (!tx->left) {
		mad_tx_finish(tx, -ETIMEDOUT, NULL, NULL, 0, now);
		return;
	}
	tx->left--;
	tx->ep->st.retries++;
	tx_start(tx, now);
}

static void tx_timer(struct timer *t, ns_t now)
{
	struct mad_tx *tx = container_of(t, struct mad_tx, timer);

	tx->ep->now = now;
	if (tx->state == MAD_TX_SEGMENTS)
		mad_rmpp_send_timeout(tx, now);
	else
		mad_tx_retry(tx, now);
}

/* Returns 1 if @mad has to be sent by RMPP, 0 if it is a single MAD, or -EINVAL. */
static int wants_rmpp(const struct mad_agent *a, const void *mad, size_t len)
{
	size_t hdr;

	if (len < MAD_HDR_LEN || len > a->ep->lim.max_rmpp_len)
		return -EINVAL;
	if (mad_class_is_smp(mad_class(mad)) != (a->cfg.qp == IB_QP0))
		return -EINVAL;
	hdr = a->cfg.rmpp ? rmpp_hdr_len(mad_class(mad)) : 0;
	if (hdr && len >= hdr && (len > MAD_LEN || mad_rmpp_active(mad)))
		return 1;
	return len == MAD_LEN ? 0 : -EINVAL;
}

static int tx_create(struct mad_agent *a, const struct mad_addr *to, const void *mad, size_t len,
		     bool rmpp, struct mad_tx **ret)
{
	struct mad_ep *ep = a->ep;
	struct mad_tx *tx;

	if (a->closing || ep->closing || ep->ntx >= ep->lim.max_tx ||
	    (rmpp && len > ep->lim.max_rmpp_tx_len - ep->rmpp_tx_len) ||
	    !quota_allows(a->cfg.quota, rmpp ? len : 0))
		return -EBUSY;
	tx = malloc(sizeof(*tx) + (len < MAD_LEN ? MAD_LEN : len));
	if (!tx)
		return -ENOMEM;
	*tx = (struct mad_tx){
		.ep = ep,
		.agent = a,
		.to = *to,
		.mgmt_class = mad_class_of(mad),
		.method = mad_method(mad),
		.rmpp = rmpp,
		.len = len,
	};
	tx->segs = rmpp ? mad_rmpp_segs(tx->mgmt_class, len) : 1;
	timer_init(&tx->timer, tx_timer);
	memcpy(tx->msg, mad, len);
	if (len < MAD_LEN)
		memset(tx->msg + len, 0, MAD_LEN - len);
	*ret = tx;
	return 0;
}

static int tx_link(struct mad_tx *tx, uint64_t tid)
{
	struct mad_ep *ep = tx->ep;

	tx->tid = tid;
	if (htab_add(&ep->txs, &tx->by_key, tx->done ? tid : reply_key(&tx->to, tid))) {
		free(tx);
		return -ENOMEM;
	}
	list_add_tail(&tx->agent->txs, &tx->link);
	ep->ntx++;
	quota_take(tx->agent->cfg.quota, tx->rmpp ? tx->len : 0);
	if (tx->rmpp) {
		ep->rmpp_tx_len += tx->len;
		ep->st.rmpp_tx++;
	}
	return 0;
}

static uint64_t tid_new(const struct mad_agent *a)
{
	uint64_t tid;

	do
		tid = (uint64_t)a->id << 32 | ++a->ep->next_tid;
	while (tx_first(a->ep, tid));
	return tid;
}

static uint64_t tid_kept(const struct mad_agent *a, const void *mad)
{
	return (uint64_t)a->id << 32 | (uint32_t)mad_tid(mad);
}

int mad_request(struct mad_agent *a, const struct mad_req *req, struct mad_tx **ret, ns_t now)
{
	int rmpp = wants_rmpp(a, req->mad, req->len), err;
	struct mad_tx *tx;
	uint64_t tid;

	if (rmpp < 0 || !req->done || !req->timeout_ms ||
	    mad_method_is_response(mad_method(req->mad)))
		return -EINVAL;
	err = tx_create(a, &req->to, req->mad, req->len, rmpp, &tx);
	if (err)
		return err;
	tid = req->keep_tid ? tid_kept(a, req->mad) : tid_new(a);
	if (tx_first(a->ep, tid)) {
		free(tx);
		return -EEXIST;
	}
	be64_put(tx->msg + MAD_OFF_TID, tid);
	tx->timeout = NS_MSEC(req->timeout_ms);
	tx->retries = tx->left = req->retries;
	tx->done = req->done;
	tx->ctx = req->ctx;
	err = tx_link(tx, tid);
	if (err)
		return err;
	a->ep->now = now;
	if (ret)
		*ret = tx;
	tx_start(tx, now);
	return 0;
}

int mad_reply(struct mad_agent *a, const struct mad_addr *to, const void *mad, size_t len, ns_t now)
{
	int rmpp = wants_rmpp(a, mad, len), err;
	struct mad_tx *tx;

	if (rmpp < 0)
		return -EINVAL;
	if (!rmpp)
		return mad_ep_send(a->ep, to, mad, now);
	if (tx_find_rmpp(a->ep, to, mad, mad_method(mad)))
		return 0;
	err = tx_create(a, to, mad, len, true, &tx);
	if (err)
		return err;
	tx->timeout = RMPP_TX_TIMEOUT;
	tx->retries = tx->left = RMPP_TX_RETRIES;
	err = tx_link(tx, mad_tid(mad));
	if (err)
		return err;
	a->ep->now = now;
	tx_start(tx, now);
	return 0;
}

size_t mad_agent_rmpp_octets(const struct mad_agent *a, uint16_t lid)
{
	const struct mad_tx *tx;
	size_t n = 0;

	list_for_each (tx, &a->txs, link) {
		if (tx->rmpp && tx->to.lid == lid)
			n += tx->len;
	}
	return n;
}
