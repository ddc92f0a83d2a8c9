/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "mad/priv.h"

#define NO_RESP_TIME 31

void mad_rmpp_rx_free(struct rmpp_rx *rx)
{
	if (rx->tx)
		rx->tx->rx = NULL;
	timer_cancel(rx->ep->timers, &rx->timer);
	list_del(&rx->link);
	rx->ep->nrx--;
	free(rx->msg);
	free(rx);
}

/*
 * Sends an ACK, STOP or ABORT, which has the headers of @mad with the response bit of the method
 * inverted.
 */
static void send_control(struct mad_ep *ep, const struct mad_addr *to, const void *mad,
			 const struct rmpp_hdr *h, ns_t now)
{
	size_t hdr = rmpp_hdr_len(mad_class(mad));
	uint8_t out[MAD_LEN] = { 0 };

	memcpy(out, mad, hdr);
	out[3] ^= MAD_METHOD_RESP;
	rmpp_hdr_encode(out + SA_RMPP_OFF, h);
	mad_ep_send(ep, to, out, now);
}

static void send_ack(struct rmpp_rx *rx, ns_t now)
{
	struct rmpp_hdr h = {
		.version = RMPP_VERSION,
		.type = RMPP_TYPE_ACK,
		.resp_time = NO_RESP_TIME,
		.flags = RMPP_FLAG_ACTIVE,
		.data1 = rx->in_order,
		.data2 = rx->win_last,
	};

	send_control(rx->ep, &rx->from, rx->hdr, &h, now);
}

static void send_refusal(struct mad_ep *ep, const struct mad_addr *to, const void *mad,
			 enum rmpp_status why, ns_t now)
{
	struct rmpp_hdr h = {
		.version = RMPP_VERSION,
		.type = why == RMPP_STATUS_RESX ? RMPP_TYPE_STOP : RMPP_TYPE_ABORT,
		.resp_time = NO_RESP_TIME,
		.flags = RMPP_FLAG_ACTIVE,
		.status = (uint8_t)why,
	};

	log_to(ep->log, LOG_LVL_DEBUG, "mad: RMPP from LID %u TID 0x%016llx: refused, status %d",
	       to->lid, (unsigned long long)mad_tid(mad), why);
	ep->st.rmpp_aborts++;
	send_control(ep, to, mad, &h, now);
}

/*
 * Ends a reception that failed. If the message was the response to a request and no segment came in
 * time (RMPP_STATUS_T2L), the request is sent again. After any other error the request ends with
 * -ECONNABORTED.
 */
static void rx_fail(struct rmpp_rx *rx, enum rmpp_status why, ns_t now)
{
	struct mad_tx *tx = rx->tx;

	send_refusal(rx->ep, &rx->from, rx->hdr, why, now);
	mad_rmpp_rx_free(rx);
	if (tx && why == RMPP_STATUS_T2L)
		mad_tx_retry(tx, now);
	else if (tx)
		mad_tx_finish(tx, -ECONNABORTED, NULL, NULL, 0, now);
}

static void rx_timer(struct timer *t, ns_t now)
{
	struct rmpp_rx *rx = container_of(t, struct rmpp_rx, timer);

	rx->ep->now = now;
	if (rx->done)
		mad_rmpp_rx_free(rx);
	else
		rx_fail(rx, RMPP_STATUS_T2L, now);
}

static struct rmpp_rx *rx_find(const struct mad_ep *ep, const struct mad_addr *from,
			       const void *mad)
{
	struct rmpp_rx *rx;

	list_for_each (rx, &ep->rxs, link)
		if (rx->tid == mad_tid(mad) && rx->mgmt_class == mad_class(mad) &&
		    rx->method == mad_method(mad) && mad_addr_same_peer(&rx->from, from))
			return rx;
	return NULL;
}

/*
 * Makes room for a new message. If necessary, the function frees a complete message, which is kept
 * only to repeat its last ACK. The function never frees an incomplete message.
 */
static bool rx_room(struct mad_ep *ep)
{
	struct rmpp_rx *rx;

	if (ep->nrx < ep->lim.max_rmpp_rx)
		return true;
	list_for_each (rx, &ep->rxs, link)
		if (rx->done) {
			mad_rmpp_rx_free(rx);
			return true;
		}
	return false;
}

/*
 * Tell whether the endpoint may begin to receive an unsolicited message. RMPP_UNSOLICITED_SOURCE
 * limits the unsolicited messages from one LID, and a quarter of lim.max_rmpp_rx is reserved for
 * responses.
 */
static bool unsolicited_room(const struct mad_ep *ep, const struct mad_addr *from)
{
	unsigned int all = 0, source = 0;
	const struct rmpp_rx *rx;

	list_for_each (rx, &ep->rxs, link) {
		if (rx->tx || rx->done)
			continue;
		all++;
		source += rx->from.lid == from->lid;
	}
	return source < RMPP_UNSOLICITED_SOURCE &&
	       all < ep->lim.max_rmpp_rx - ep->lim.max_rmpp_rx / 4;
}

static size_t rx_max_len(const struct rmpp_rx *rx)
{
	size_t max = rx->ep->lim.max_rmpp_len;

	return rx->tx || max < RMPP_UNSOLICITED_MAX ? max : RMPP_UNSOLICITED_MAX;
}

static int rx_reserve(struct rmpp_rx *rx, size_t len)
{
	size_t cap = rx->cap ? rx->cap : MAD_LEN;
	uint8_t *msg;

	if (len <= rx->cap)
		return 0;
	if (len > rx_max_len(rx))
		return -ENOSPC;
	while (cap < len)
		cap *= 2;
	msg = realloc(rx->msg, cap);
	if (!msg)
		return -ENOMEM;
	memset(msg + rx->cap, 0, cap - rx->cap);
	rx->msg = msg;
	rx->cap = cap;
	return 0;
}

static struct rmpp_rx *rx_create(struct mad_ep *ep, struct mad_tx *tx, const struct mad_addr *from,
				 const void *mad)
{
	struct rmpp_rx *rx = rx_room(ep) ? calloc(1, sizeof(*rx)) : NULL;

	if (!rx)
		return NULL;
	rx->ep = ep;
	timer_init(&rx->timer, rx_timer);
	rx->from = *from;
	rx->tid = mad_tid(mad);
	rx->mgmt_class = mad_class(mad);
	rx->method = mad_method(mad);
	rx->win_last = 1;
	memcpy(rx->hdr, mad, rmpp_hdr_len(rx->mgmt_class));
	list_add_tail(&ep->rxs, &rx->link);
	ep->nrx++;
	if (tx) {
		rx->tx = tx;
		tx->rx = rx;
		/*
		 * The request can still be in MAD_TX_SEGMENTS, but the answer means that all segments of the
		 * request have arrived.
		 */
		mad_tx_set_state(tx, MAD_TX_RECV, NS_NEVER);
	}
	return rx;
}

/*
 * Delivers a complete message. Afterwards @rx keeps only the values that are needed to repeat the
 * last ACK.
 */
static void rx_complete(struct rmpp_rx *rx, ns_t now)
{
	struct mad_ep *ep = rx->ep;
	struct mad_addr from = rx->from;
	struct mad_tx *tx = rx->tx;
	uint8_t *msg = rx->msg;
	size_t len = rx->len;
	struct mad_agent *a;

	rx->done = true;
	rx->msg = NULL;
	rx->cap = 0;
	rx->tx = NULL;
	timer_arm(ep->timers, &rx->timer, now + RMPP_RX_LINGER);
	ep->st.rmpp_rx++;
	send_ack(rx, now);
	if (tx) {
		tx->rx = NULL;
		mad_tx_finish(tx, 0, &from, msg, len, now);
	} else {
		a = mad_agent_find(ep, &from, msg);
		if (a)
			a->cfg.recv(a->cfg.ctx, &from, msg, len, now);
		else
			ep->st.rx_unclaimed++;
	}
	free(msg);
}

static bool rx_has(const struct rmpp_rx *rx, uint32_t seg)
{
	return seg <= rx->in_order || rx->ooo >> (seg - rx->in_order - 1) & 1;
}

static enum rmpp_status seg_check(const struct rmpp_rx *rx, const struct rmpp_hdr *h)
{
	size_t extra = rmpp_extra_len(rx->mgmt_class);
	bool last = h->flags & RMPP_FLAG_LAST;

	if (h->status != RMPP_STATUS_NORMAL)
		return RMPP_STATUS_BAD_STATUS;
	if (h->data1 == 0 || !(h->flags & RMPP_FLAG_FIRST) != (h->data1 != 1))
		return RMPP_STATUS_BAD_FIRST;
	if (last && (h->data2 < extra || h->data2 > MAD_LEN - SA_HDR_OFF))
		return RMPP_STATUS_BAD_LEN;
	if (rx->last_seg && (h->data1 > rx->last_seg || last != (h->data1 == rx->last_seg)))
		return RMPP_STATUS_BAD_LEN;
	return RMPP_STATUS_NORMAL;
}

/* Stores a segment. Segments may come in any order within the window. */
static enum rmpp_status seg_store(struct rmpp_rx *rx, const struct rmpp_hdr *h, const void *mad)
{
	size_t hdr = rmpp_hdr_len(rx->mgmt_class), per = MAD_LEN - hdr, n = per;
	size_t off = hdr + (h->data1 - 1) * per;

	if (h->flags & RMPP_FLAG_LAST) {
		if (h->data1 <= rx->in_order || rx->ooo >> (h->data1 - rx->in_order - 1))
			/*
			 * a segment with a higher number than this last segment has arrived already
			 */
			return RMPP_STATUS_BAD_LEN;
		n = h->data2 - rmpp_extra_len(rx->mgmt_class);
		rx->last_seg = h->data1;
		rx->len = off + n;
	}
	if (rx_reserve(rx, off + n))
		return RMPP_STATUS_RESX;
	if (h->data1 == 1)
		memcpy(rx->msg, mad, hdr);
	memcpy(rx->msg + off, (const uint8_t *)mad + hdr, n);
	rx->ooo |= 1ull << (h->data1 - rx->in_order - 1);
	while (rx->ooo & 1) {
		rx->ooo >>= 1;
		rx->in_order++;
	}
	return RMPP_STATUS_NORMAL;
}

static void rx_data(struct rmpp_rx *rx, const struct rmpp_hdr *h, const void *mad, ns_t now)
{
	enum rmpp_status why;

	if (rx->done) {
		send_ack(rx, now);
		return;
	}
	why = seg_check(rx, h);
	if (why == RMPP_STATUS_NORMAL) {
		if (h->data1 > rx->win_last)
			return;
		if (rx_has(rx, h->data1)) {
			send_ack(rx, now);
			return;
		}
		why = seg_store(rx, h, mad);
	}
	if (why != RMPP_STATUS_NORMAL) {
		rx_fail(rx, why, now);
		return;
	}
	timer_arm(rx->ep->timers, &rx->timer, now + RMPP_RX_TIMEOUT);
	if (rx->in_order == rx->last_seg) {
		rx_complete(rx, now);
	} else if (rx->in_order == rx->win_last) {
		rx->win_last = rx->in_order + RMPP_WINDOW;
		send_ack(rx, now);
	}
}

static int refuse(struct mad_ep *ep, const struct mad_addr *from, const void *mad,
		  enum rmpp_status why, ns_t now)
{
	send_refusal(ep, from, mad, why, now);
	return -EBADMSG;
}

/* Begins to receive a message, if a request waits for it or an agent has registered for it. */
static int rx_open(struct mad_ep *ep, const struct mad_addr *from, const struct rmpp_hdr *h,
		   const void *mad, ns_t now)
{
	bool response = mad_method_is_response(mad_method(mad));
	struct mad_tx *tx = response ? mad_tx_find_response(ep, from, mad) : NULL;
	struct rmpp_rx *rx;

	if (response && (!tx || tx->rx)) {
		ep->st.rx_late++;
		return -ENOENT;
	}
	if (!response && !mad_agent_find(ep, from, mad)) {
		ep->st.rx_unclaimed++;
		return -ENOENT;
	}
	if (h->data1 != 1)
		return -ENOENT; /* segment of a message that was dropped */
	rx = response || unsolicited_room(ep, from) ? rx_create(ep, tx, from, mad) : NULL;
	if (!rx) {
		send_refusal(ep, from, mad, RMPP_STATUS_RESX, now);
		return -ENOENT;
	}
	rx_data(rx, h, mad, now);
	return 0;
}

/*
 * Handles a STOP or ABORT, which comes from the sender of a message that this endpoint receives, or from the
 * receiver of a message that this endpoint sends.
 */
static int recv_end(struct mad_ep *ep, const struct mad_addr *from, const void *mad, ns_t now)
{
	struct rmpp_rx *rx = rx_find(ep, from, mad);
	struct mad_tx *tx = rx ? rx->tx : mad_tx_find_segments(ep, from, mad);

	if (!rx && !tx) {
		tx = mad_tx_find_response(ep, from, mad);
		if (tx && !mad_addr_same_peer(&tx->to, from))
			tx = NULL;
	}
	if (!tx && (!rx || rx->done)) {
		ep->st.rx_late++;
		return -ENOENT;
	}
	ep->st.rmpp_aborts++;
	if (rx)
		mad_rmpp_rx_free(rx);
	if (tx)
		mad_tx_finish(tx, -ECONNABORTED, NULL, NULL, 0, now);
	return 0;
}

static int recv_ack(struct mad_ep *ep, const struct mad_addr *from, const struct rmpp_hdr *h,
		    const void *mad, ns_t now)
{
	struct mad_tx *tx = mad_tx_find_segments(ep, from, mad);

	if (!tx) {
		ep->st.rx_late++;
		return -ENOENT;
	}
	mad_rmpp_send_ack(tx, h, now);
	return 0;
}

static int recv_data(struct mad_ep *ep, const struct mad_addr *from, const struct rmpp_hdr *h,
		     const void *mad, ns_t now)
{
	struct rmpp_rx *rx = rx_find(ep, from, mad);

	if (!rx)
		return rx_open(ep, from, h, mad, now);
	rx_data(rx, h, mad, now);
	return 0;
}

int mad_rmpp_recv(struct mad_ep *ep, const struct mad_addr *from, const void *mad, ns_t now)
{
	struct rmpp_hdr h;

	rmpp_hdr_decode(&h, (const uint8_t *)mad + SA_RMPP_OFF, SA_RMPP_LEN);
	/*
	 * A STOP or ABORT is never answered, because otherwise two endpoints could answer each
	 * other for ever.
	 */
	if (h.type == RMPP_TYPE_STOP || h.type == RMPP_TYPE_ABORT)
		return recv_end(ep, from, mad, now);
	if (h.version != RMPP_VERSION) {
		ep->st.rx_malformed++;
		return refuse(ep, from, mad, RMPP_STATUS_UNV, now);
	}
	switch (h.type) {
	case RMPP_TYPE_DATA:
		return recv_data(ep, from, &h, mad, now);
	case RMPP_TYPE_ACK:
		return recv_ack(ep, from, &h, mad, now);
	default:
		ep->st.rx_malformed++;
		return refuse(ep, from, mad, RMPP_STATUS_BAD_TYPE, now);
	}
}
