/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MAD_PRIV_H
#define MAD_PRIV_H

/*
 * DOC: Inside an endpoint
 *
 *	ep.c		agents, dispatch of received MADs
 *	tx.c		transactions: requests until they are answered, and replies by RMPP
 *	rmpp_send.c	segments of a transaction's message, window and ACKs
 *	rmpp_recv.c	reassembly
 *	addr.c smi.c	addresses; directed routes
 *
 * An object is unlinked before its callback is called, and is not used after the callback, because
 * callbacks may remove agents and requests.
 */

#include "mad/ep.h"
#include "util/hash.h"
#include "wire/rmpp.h"
#include "wire/sa.h"

/* largest number of MADs that wait because mad_ep_recv() got them while ops->send was running */
#define MAD_LOOP_MAX 1024
/*
 * largest number of segments that a sender may be ahead of the last ACK that it got from this
 * endpoint, and number of bits in rmpp_rx.ooo
 */
#define RMPP_WINDOW 64
/*
 * largest number of segments that are sent ahead of the receiver's last ACK; ib_mad as a receiver
 * can grant a window of this size
 */
#define RMPP_TX_WINDOW 1024
#define RMPP_TX_TIMEOUT NS_SEC(1) /* time to wait for an ACK to the segments of a reply */
#define RMPP_TX_RETRIES 5
/* if no segment comes for this time, an incomplete message is dropped */
#define RMPP_RX_TIMEOUT NS_SEC(5)
/*
 * a complete message is kept for this time, so that its last ACK can be repeated if this ACK was
 * lost
 */
#define RMPP_RX_LINGER NS_SEC(10)
/* largest number of unsolicited messages that are received from one LID at a time */
#define RMPP_UNSOLICITED_SOURCE 8
#define RMPP_UNSOLICITED_MAX (256 * 1024) /* largest number of octets of an unsolicited message */

struct mad_ep {
	const struct mad_ep_ops *ops;
	void *ctx;
	struct timers *timers;
	const struct log_sink *log;
	struct mad_ep_limits lim;
	struct mad_ep_stats st;
	struct list agents;
	uint32_t next_agent, next_tid;
	struct htab txs; /* table of struct mad_tx: requests by TID, replies by peer and TID */
	unsigned int ntx;
	size_t rmpp_tx_len; /* number of octets of all messages in txs that are sent by RMPP */
	struct list rxs; /* list of struct rmpp_rx.link, oldest first */
	unsigned int nrx;
	/* nesting depth of calls of ops->send; MADs that arrive inside such a call wait in .loop */
	unsigned int sending;
	struct loop_mad *loop, **loop_end;
	unsigned int nloop;
	struct timer loop_timer;
	ns_t now; /* time of the last event, for the done() of cancelled requests */
	bool closing;
};

struct mad_agent {
	struct mad_ep *ep;
	struct mad_agent_cfg cfg;
	uint32_t id; /* upper half of the TIDs of the agent's requests */
	struct list link; /* link in ep->agents */
	struct list txs; /* list of struct mad_tx.link */
	bool closing;
};

enum mad_tx_state {
	/*
	 * Segments are sent and ACKs are received. The last ACK, a STOP, an ABORT, or the end of the last retry ends
	 * this state.
	 */
	MAD_TX_SEGMENTS,
	/* The request was sent. A response, its first segment, or the end of the last retry ends this state. */
	MAD_TX_WAIT,
	/* The response is being reassembled; the timer of .rx runs instead of .timer. */
	MAD_TX_RECV,
};

struct mad_tx {
	struct mad_ep *ep;
	struct mad_agent *agent;
	struct hlink by_key; /* link in ep->txs */
	struct list link; /* link in agent->txs */
	struct timer timer;
	enum mad_tx_state state;
	struct mad_addr to;
	uint64_t tid;
	uint8_t mgmt_class, method;
	ns_t timeout;
	unsigned int retries, left;
	mad_done_fn *done; /* NULL for a reply, which ends with its last ACK */
	void *ctx;
	struct rmpp_rx *rx; /* reception of the response, in the state MAD_TX_RECV */
	bool rmpp;
	/*
	 * .segs: number of segments of the message. .sent, .acked, .win_last: index (from 1) of the
	 * last segment that was sent, of the last one acknowledged, and of the last in the window
	 */
	uint32_t segs, sent, acked, win_last;
	size_t len;
	uint8_t msg[]; /* the message, with room for at least MAD_LEN octets */
};

/*
 * A message that is being received. If .done is true, the message is complete, and is kept only to
 * repeat its last ACK
 */
struct rmpp_rx {
	struct mad_ep *ep;
	struct list link; /* link in ep->rxs */
	struct timer timer;
	struct mad_addr from;
	uint64_t tid;
	uint8_t mgmt_class, method;
	bool done;
	struct mad_tx *tx; /* request that the message answers; NULL for an unsolicited message */
	uint8_t hdr[RMPP_HDR_MAX]; /* headers of the first segment, for ACKs */
	uint32_t in_order; /* segments 1 to in_order have arrived */
	/* bit i: segment .in_order + 1 + i has arrived before a segment that precedes it */
	uint64_t ooo;
	uint32_t win_last;
	uint32_t last_seg; /* number of the last segment; 0 until it is known */
	size_t len; /* octets of the message; valid once last_seg is known */
	uint8_t *msg;
	size_t cap;
};

/* mad_class_of() - Return the class of a MAD; 0x01 for both classes of SMPs */
static inline uint8_t mad_class_of(const void *mad)
{
	uint8_t c = mad_class(mad);

	return c == MAD_CLASS_SM_DR ? MAD_CLASS_SM_LID : c;
}

static inline uint32_t mad_oui(const void *mad)
{
	return be32_at((const uint8_t *)mad + SA_HDR_OFF) & 0xffffff;
}

/* rmpp_extra_len() - Return the number of octets of the class header in each segment, which PayloadLength includes */
static inline size_t rmpp_extra_len(uint8_t mgmt_class)
{
	return rmpp_hdr_len(mgmt_class) - SA_HDR_OFF;
}

static inline bool mad_rmpp_active(const void *mad)
{
	return rmpp_hdr_len(mad_class(mad)) &&
	       ((const uint8_t *)mad)[SA_RMPP_OFF + 2] & RMPP_FLAG_ACTIVE;
}

static inline bool mad_addr_same_peer(const struct mad_addr *a, const struct mad_addr *b)
{
	return a->lid == b->lid && a->qpn == b->qpn;
}

/* mad_ep_send() - Call ops->send; MADs that arrive inside the call are delivered later */
int mad_ep_send(struct mad_ep *ep, const struct mad_addr *to, const void *mad, ns_t now);

/*
 * mad_agent_find() - Return the first agent that has registered for the unsolicited MAD @mad; NULL:
 * none
 */
struct mad_agent *mad_agent_find(struct mad_ep *ep, const struct mad_addr *from, const void *mad);

/* mad_tx_find_response() - Return the open request that the response @mad answers; NULL: none */
struct mad_tx *mad_tx_find_response(struct mad_ep *ep, const struct mad_addr *from,
				    const void *mad);
/*
 * mad_tx_find_segments() - Return the open transaction whose segments @mad concerns. @mad is an
 * ACK, STOP or ABORT from the receiver of these segments
 */
struct mad_tx *mad_tx_find_segments(struct mad_ep *ep, const struct mad_addr *from,
				    const void *mad);
void mad_tx_set_state(struct mad_tx *tx, enum mad_tx_state state, ns_t deadline);
/* mad_tx_finish() - Unlink and free a transaction, then call its done() */
void mad_tx_finish(struct mad_tx *tx, int status, const struct mad_addr *from, const void *mad,
		   size_t len, ns_t now);
/*
 * mad_tx_retry() - Send the request again, because no complete response came in time. After the
 * last retry end it with -ETIMEDOUT
 */
void mad_tx_retry(struct mad_tx *tx, ns_t now);

/* mad_rmpp_recv() - Handle a MAD with RMPP flag Active. Return: as mad_ep_recv() */
int mad_rmpp_recv(struct mad_ep *ep, const struct mad_addr *from, const void *mad, ns_t now);
void mad_rmpp_rx_free(struct rmpp_rx *rx);

/* Send a message in segments: begin, continue after an ACK, and repeat when no ACK came in time */
void mad_rmpp_send_start(struct mad_tx *tx, ns_t now);
void mad_rmpp_send_ack(struct mad_tx *tx, const struct rmpp_hdr *h, ns_t now);
void mad_rmpp_send_timeout(struct mad_tx *tx, ns_t now);
/* mad_rmpp_segs() - Return the number of segments of a message of @len octets */
uint32_t mad_rmpp_segs(uint8_t mgmt_class, size_t len);

#endif
