/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MAD_PRIV_H
#define MAD_PRIV_H

/*
 * DOC: Inside an endpoint
 *
 *	ep.c		agents, dispatch of what arrives
 *	tx.c		transactions: what is sent and kept until it is answered
 *	rmpp_send.c	segments of a transaction's message, window and ACKs
 *	rmpp_recv.c	reassembly
 *	addr.c smi.c	addresses; directed routes
 *
 * A callback is always the last thing that is done with the object it belongs to, which
 * is unlinked before: callbacks may remove agents and requests.
 */

#include "mad/ep.h"
#include "util/hash.h"
#include "wire/rmpp.h"
#include "wire/sa.h"

#define MAD_LOOP_MAX 1024 /* MADs that came back to us while we sent */
#define RMPP_WINDOW 64 /* segments that a sender may be ahead of our ACK; bits of rmpp_rx.ooo */
#define RMPP_TX_TIMEOUT NS_SEC(1) /* a reply's segments wait so long for an ACK */
#define RMPP_TX_RETRIES 5
#define RMPP_RX_TIMEOUT NS_SEC(5) /* silence in the middle of a message */
#define RMPP_RX_LINGER NS_SEC(10) /* our last ACK may be lost: repeat it so long */
#define RMPP_UNSOLICITED_SOURCE 8 /* messages that a LID sends us at a time without being asked */
#define RMPP_UNSOLICITED_MAX (256 * 1024) /* octets of a message that we did not ask for */

struct mad_ep {
	const struct mad_ep_ops *ops;
	void *ctx;
	struct timers *timers;
	const struct log_sink *log;
	struct mad_ep_limits lim;
	struct mad_ep_stats st;
	struct list agents;
	uint32_t next_agent, next_tid;
	struct htab txs; /* requests by TID, replies by peer and TID */
	unsigned int ntx;
	size_t rmpp_tx_len; /* octets of all messages in txs that go out by RMPP */
	struct list rxs; /* struct rmpp_rx, oldest first */
	unsigned int nrx;
	unsigned int sending; /* depth of ops->send: what arrives meanwhile waits in loop */
	struct loop_mad *loop, **loop_end;
	unsigned int nloop;
	struct timer loop_timer;
	ns_t now; /* of the last event: cancelled requests are told it */
	bool closing;
};

struct mad_agent {
	struct mad_ep *ep;
	struct mad_agent_cfg cfg;
	uint32_t id; /* high half of its TIDs */
	struct list node; /* ep->agents */
	struct list txs; /* struct mad_tx */
	bool closing;
};

enum mad_tx_state {
	/* Segments go out, ACKs come in. Leaves: last ACK, STOP, ABORT, retries used up. */
	MAD_TX_SEGMENTS,
	/* The request is out. Leaves: response, first segment of it, retries used up. */
	MAD_TX_WAIT,
	/* The response is being reassembled: rx's timer runs instead of ours. */
	MAD_TX_RECV,
};

struct mad_tx {
	struct mad_ep *ep;
	struct mad_agent *agent;
	struct hnode hn; /* ep->txs */
	struct list node; /* agent->txs */
	struct timer timer;
	enum mad_tx_state state;
	struct mad_addr to;
	uint64_t tid;
	uint8_t mgmt_class, method;
	ns_t timeout;
	unsigned int retries, left;
	mad_done_fn *done; /* NULL: a reply, which ends with its last ACK */
	void *ctx;
	struct rmpp_rx *rx; /* MAD_TX_RECV */
	bool rmpp;
	uint32_t segs, sent, acked, win_last; /* numbers of segments, from 1 */
	size_t len;
	uint8_t msg[]; /* at least MAD_LEN octets */
};

/* A message being received, or (done) the memory of one whose last ACK may be lost. */
struct rmpp_rx {
	struct mad_ep *ep;
	struct list node; /* ep->rxs */
	struct timer timer;
	struct mad_addr from;
	uint64_t tid;
	uint8_t mgmt_class, method;
	bool done;
	struct mad_tx *tx; /* the request that this answers */
	uint8_t hdr[RMPP_HDR_MAX]; /* of the first segment, for ACKs */
	uint32_t in_order; /* segments 1 .. in_order are here */
	uint64_t ooo; /* bit i: so is in_order + 1 + i */
	uint32_t win_last;
	uint32_t last_seg; /* 0: not seen yet */
	size_t len; /* octets of the whole message, once last_seg is known */
	uint8_t *msg;
	size_t cap;
};

/* SMPs of both classes are one to agents and transactions. */
static inline uint8_t mad_class_of(const void *mad)
{
	uint8_t c = mad_class(mad);

	return c == MAD_CLASS_SM_DR ? MAD_CLASS_SM_LID : c;
}

static inline uint32_t mad_oui(const void *mad)
{
	return be32_at((const uint8_t *)mad + SA_HDR_OFF) & 0xffffff;
}

/* Octets of a segment's class header, which PayloadLength counts. */
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

/* mad_ep_send() - ops->send, counted; nothing is received inside it */
int mad_ep_send(struct mad_ep *ep, const struct mad_addr *to, const void *mad, ns_t now);

/* mad_agent_find() - Who wants this unsolicited MAD; NULL if nobody */
struct mad_agent *mad_agent_find(struct mad_ep *ep, const struct mad_addr *from, const void *mad);

/* mad_tx_find_response() - The request that @mad, a response, answers */
struct mad_tx *mad_tx_find_response(struct mad_ep *ep, const struct mad_addr *from,
				    const void *mad);
/* mad_tx_find_segments() - The message that @mad (an ACK, STOP or ABORT from its receiver) is about */
struct mad_tx *mad_tx_find_segments(struct mad_ep *ep, const struct mad_addr *from,
				    const void *mad);
void mad_tx_set_state(struct mad_tx *tx, enum mad_tx_state state, ns_t deadline);
/* mad_tx_finish() - Unlink, free, then call done() */
void mad_tx_finish(struct mad_tx *tx, int status, const struct mad_addr *from, const void *mad,
		   size_t len, ns_t now);
/* mad_tx_retry() - No (further) response: once more, or -ETIMEDOUT */
void mad_tx_retry(struct mad_tx *tx, ns_t now);

/* mad_rmpp_recv() - An MAD with RMPP flag Active. Return: as mad_ep_recv() */
int mad_rmpp_recv(struct mad_ep *ep, const struct mad_addr *from, const void *mad, ns_t now);
void mad_rmpp_rx_free(struct rmpp_rx *rx);

/* A transaction's message in segments: from the beginning; an ACK; no ACK in time. */
void mad_rmpp_send_start(struct mad_tx *tx, ns_t now);
void mad_rmpp_send_ack(struct mad_tx *tx, const struct rmpp_hdr *h, ns_t now);
void mad_rmpp_send_timeout(struct mad_tx *tx, ns_t now);
/* mad_rmpp_send_nack() - Abort it and tell the receiver why */
void mad_rmpp_send_nack(struct mad_tx *tx, enum rmpp_status why, int status, ns_t now);
/* mad_rmpp_segs() - Segments of a message of @len octets */
uint32_t mad_rmpp_segs(uint8_t mgmt_class, size_t len);

#endif
