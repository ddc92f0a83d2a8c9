/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "mad/priv.h"

#define NO_RESP_TIME 31

static size_t seg_data_len(uint8_t mgmt_class)
{
	return MAD_LEN - rmpp_hdr_len(mgmt_class);
}

uint32_t mad_rmpp_segs(uint8_t mgmt_class, size_t len)
{
	size_t per = seg_data_len(mgmt_class), data = len - rmpp_hdr_len(mgmt_class);

	return data ? (uint32_t)((data + per - 1) / per) : 1;
}

/*
 * Return PayloadLength (13.6.2.1) of a segment. PayloadLength includes the class header of each
 * segment, which has 20 octets in SA.
 */
static uint32_t payload_len(const struct mad_tx *tx, uint32_t seg)
{
	size_t extra = rmpp_extra_len(tx->mgmt_class), per = seg_data_len(tx->mgmt_class);
	size_t data = tx->len - rmpp_hdr_len(tx->mgmt_class);

	if (seg == tx->segs)
		return (uint32_t)(extra + data - (seg - 1) * per);
	return seg == 1 ? (uint32_t)(extra * tx->segs + data) : 0;
}

static int send_segment(struct mad_tx *tx, uint32_t seg, ns_t now)
{
	size_t hdr = rmpp_hdr_len(tx->mgmt_class), per = seg_data_len(tx->mgmt_class);
	size_t off = hdr + (seg - 1) * per, n = tx->len - off;
	struct rmpp_hdr h = {
		.version = RMPP_VERSION,
		.type = RMPP_TYPE_DATA,
		.resp_time = NO_RESP_TIME,
		.flags = RMPP_FLAG_ACTIVE,
		.data1 = seg,
		.data2 = payload_len(tx, seg),
	};
	uint8_t mad[MAD_LEN] = { 0 };

	if (seg == 1)
		h.flags |= RMPP_FLAG_FIRST;
	if (seg == tx->segs)
		h.flags |= RMPP_FLAG_LAST;
	memcpy(mad, tx->msg, hdr);
	rmpp_hdr_encode(mad + SA_RMPP_OFF, &h);
	memcpy(mad + hdr, tx->msg + off, n < per ? n : per);
	return mad_ep_send(tx->ep, &tx->to, mad, now);
}

/*
 * Send the segments in the window. A segment that cannot be sent counts as lost, and is sent again
 * after the time-out.
 */
static void send_window(struct mad_tx *tx, ns_t now)
{
	mad_tx_set_state(tx, MAD_TX_SEGMENTS, now + tx->timeout);
	while (tx->sent < tx->segs && tx->sent < tx->win_last) {
		if (send_segment(tx, tx->sent + 1, now))
			return;
		tx->sent++;
	}
}

void mad_rmpp_send_start(struct mad_tx *tx, ns_t now)
{
	tx->acked = tx->sent = 0;
	tx->win_last = 1; /* the window is one segment until the first ACK (13.6.2.2) */
	send_window(tx, now);
}

/* Ends the transfer and tells the receiver the reason. */
static void send_nack(struct mad_tx *tx, enum rmpp_status why, int status, ns_t now)
{
	struct rmpp_hdr h = {
		.version = RMPP_VERSION,
		.type = RMPP_TYPE_ABORT,
		.resp_time = NO_RESP_TIME,
		.flags = RMPP_FLAG_ACTIVE,
		.status = (uint8_t)why,
	};
	size_t hdr = rmpp_hdr_len(tx->mgmt_class);
	uint8_t mad[MAD_LEN] = { 0 };

	log_to(tx->ep->log, LOG_LVL_DEBUG, "mad: RMPP to LID %u TID 0x%016llx: abort, status %d",
	       tx->to.lid, (unsigned long long)tx->tid, why);
	tx->ep->st.rmpp_aborts++;
	memcpy(mad, tx->msg, hdr);
	rmpp_hdr_encode(mad + SA_RMPP_OFF, &h);
	mad_ep_send(tx->ep, &tx->to, mad, now);
	mad_tx_finish(tx, status, NULL, NULL, 0, now);
}

void mad_rmpp_send_timeout(struct mad_tx *tx, ns_t now)
{
	if (!tx->left) {
		send_nack(tx, RMPP_STATUS_TMR, -ETIMEDOUT, now);
		return;
	}
	tx->left--;
	tx->ep->st.retries++;
	/*
	 * Repeat one segment only, because its ACK shows how many of the following segments have
	 * arrived.
	 */
	tx->sent = tx->acked;
	mad_tx_set_state(tx, MAD_TX_SEGMENTS, now + tx->timeout);
	if (send_segment(tx, tx->sent + 1, now) == 0)
		tx->sent++;
}

static enum rmpp_status ack_check(const struct mad_tx *tx, const struct rmpp_hdr *h)
{
	if (h->status != RMPP_STATUS_NORMAL)
		return RMPP_STATUS_BAD_STATUS;
	if (h->data2 < h->data1)
		return RMPP_STATUS_W2S;
	if (h->data1 > tx->segs || h->data1 > tx->win_last)
		return RMPP_STATUS_S2B;
	return RMPP_STATUS_NORMAL;
}

static void all_acked(struct mad_tx *tx, ns_t now)
{
	if (tx->done)
		mad_tx_set_state(tx, MAD_TX_WAIT, now + tx->timeout);
	else
		mad_tx_finish(tx, 0, NULL, NULL, 0, now);
}

/*
 * Return NewWindowLast of an ACK, limited by RMPP_TX_WINDOW. The receiver chooses NewWindowLast.
 * Without the limit, one ACK could make this endpoint send a message of 96 MiB at once, which would
 * use up all packet descriptors of the pool.
 */
static uint32_t ack_win_last(const struct rmpp_hdr *h)
{
	uint32_t most = h->data1 + RMPP_TX_WINDOW;

	return h->data2 < most ? h->data2 : most;
}

void mad_rmpp_send_ack(struct mad_tx *tx, const struct rmpp_hdr *h, ns_t now)
{
	enum rmpp_status why = ack_check(tx, h);
	uint32_t win_last = ack_win_last(h);

	if (tx->state != MAD_TX_SEGMENTS)
		return;
	if (why != RMPP_STATUS_NORMAL) {
		send_nack(tx, why, -ECONNABORTED, now);
		return;
	}
	if (h->data1 < tx->acked || win_last < tx->win_last)
		return; /* a later ACK has overtaken this ACK */
	if (h->data1 > tx->acked)
		tx->left = tx->retries;
	else if (win_last == tx->win_last)
		return; /* a duplicate ACK; missing segments are sent again after the time-out */
	tx->acked = h->data1;
	tx->win_last = win_last;
	if (tx->sent < tx->acked)
		tx->sent = tx->acked;
	if (tx->acked == tx->segs)
		all_acked(tx, now);
	else
		send_window(tx, now);
}
