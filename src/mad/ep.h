/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MAD_EP_H
#define MAD_EP_H

/*
 * DOC: MAD endpoints
 *
 * An endpoint is QP0 and QP1 of one port (a CA port, or port 0 of a switch) as
 * management applications see them: agents that register for classes and methods,
 * requests that are retried until their response or time-out, and whole RMPP
 * messages. Below it is one function that puts 256 octets on the wire; received
 * MADs go in by mad_ep_recv(). It is the model of the kernel's ib_mad/ib_umad.
 *
 * An RMPP message is handed over whole: the headers once (56 octets for SA, 36+4
 * for vendor classes with OUI), then all data, its length what the segments carried: an
 * SA table without records has 56. All other MADs have 256 octets.
 *
 * Callbacks may call back into the endpoint, also to remove their own agent, but not
 * destroy it.
 */

#include <stddef.h>

#include "util/list.h"
#include "util/log.h"
#include "util/timer.h"
#include "wire/mad.h"

/* The other end of a MAD. A reply goes to the address that its request came from, unchanged. */
struct mad_addr {
	uint8_t qp; /* our QP: 0 or 1 */
	uint8_t port; /* our port: ingress on receive; egress for directed routes of a switch */
	uint8_t sl;
	uint8_t path_bits; /* of our LID */
	uint16_t lid; /* theirs; IB_LID_PERMISSIVE on directed routes */
	uint16_t pkey; /* as in the BTH; send: the port's table must match it */
	uint32_t qpn; /* theirs */
	uint32_t qkey; /* send: 0x80010000 for QP1 */
	bool has_grh;
	ib_gid gid; /* theirs, if has_grh */
	uint8_t gid_index; /* ours */
	uint8_t tclass, hop_limit;
	uint32_t flow_label;
};

/* mad_addr_smp_dr() - Where directed-route SMPs go; mad_addr_gmp() - QP1 of a LID */
struct mad_addr mad_addr_smp_dr(void);
struct mad_addr mad_addr_smp_lid(uint16_t lid);
struct mad_addr mad_addr_gmp(uint16_t lid, uint8_t sl);

struct mad_agent;
struct mad_tx;

struct mad_ep_ops {
	/*
	 * Put one MAD (256 octets) on the wire. For class 0x81 the owner runs the SMI.
	 * Return: 0; -ENETDOWN and the like: the request goes on being retried
	 */
	int (*send)(void *ctx, const struct mad_addr *to, const void *mad, ns_t now);
};

struct mad_ep_limits {
	unsigned int max_tx; /* open requests, and RMPP sends */
	unsigned int max_rmpp_rx; /* RMPP messages being received */
	size_t max_rmpp_len; /* octets of one */
	size_t max_rmpp_tx_len; /* octets of all RMPP sends together; 0: the default, 256 MiB */
};

struct mad_ep;

/* @timers and @log are borrowed. NULL if out of memory. */
struct mad_ep *mad_ep_create(const struct mad_ep_ops *ops, void *ctx, struct timers *timers,
			     const struct log_sink *log);
/* Calls every open request's done with -ECANCELED and frees the agents; NULL is accepted. */
void mad_ep_destroy(struct mad_ep *ep);

/**
 * mad_ep_recv() - A MAD arrived for this port's agents
 * @mad:	256 octets
 *
 * A response goes to the request with its TID, class and method pair; others to the agent that
 * registered for class, version, OUI and method. What nobody wants is counted.
 * Return: 0 delivered; -ENOENT nobody wanted it; -EBADMSG malformed
 */
int mad_ep_recv(struct mad_ep *ep, const struct mad_addr *from, const void *mad, ns_t now);

/* What agents together may have under way; quotas of quotas limit too. The owner's, who sets the limits. */
struct mad_quota {
	struct mad_quota *up; /* NULL: none */
	unsigned int open, max_open; /* requests, and RMPP replies */
	unsigned int min_open; /* so many are allowed whatever @up says */
	size_t octets, max_octets; /* of RMPP messages */
};

/* mad_ep_wants() - Whether an agent registered for @mad, which is no response */
bool mad_ep_wants(struct mad_ep *ep, const struct mad_addr *from, const void *mad);

struct mad_agent_cfg {
	uint8_t qp; /* 0: classes 0x01 and 0x81 (one registration gets both); else 1 */
	uint8_t mgmt_class, class_version; /* class 0: none, responses only */
	bool one_class; /* QP0: only the class named, as ib_mad registers them */
	uint32_t oui; /* vendor classes 0x30-0x4f, 24 bits */
	bool rmpp; /* messages may use RMPP where their class has it */
	/* Without @rmpp: it speaks RMPP itself. Single segments, also to requests that are done, go to recv(). */
	bool user_rmpp;
	uint64_t methods[2]; /* bit m: unsolicited method m; all zero: responses only */
	struct mad_quota *quota; /* NULL: the endpoint's limits alone */
	bool shared; /* others may register the same methods: each gets single MADs, the first RMPP */
	/* An unsolicited MAD or RMPP message; @len 256 or a whole message. Borrowed. */
	void (*recv)(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now);
	void *ctx;
};

static inline void mad_agent_cfg_method(struct mad_agent_cfg *c, uint8_t method)
{
	c->methods[method >> 6 & 1] |= 1ull << (method & 63);
}

/*
 * mad_agent_add() - An agent receives what it registers for, and sends any class of its QP
 *
 * Return: 0; -EBUSY a method of the class is taken; -EINVAL; -ENOMEM
 */
int mad_agent_add(struct mad_ep *ep, const struct mad_agent_cfg *cfg, struct mad_agent **ret);
/* mad_agent_id() - The high half of its requests' TIDs */
uint32_t mad_agent_id(const struct mad_agent *a);
/* Open requests end with -ECANCELED. NULL is accepted. */
void mad_agent_del(struct mad_agent *a);

/* @mad is the response, 256 octets or a whole RMPP message; NULL unless @status is 0 */
typedef void mad_done_fn(void *ctx, int status, const struct mad_addr *from, const void *mad,
			 size_t len, ns_t now);

struct mad_req {
	struct mad_addr to;
	const void *mad; /* borrowed for the call; the TID is replaced */
	bool keep_tid; /* only its high half, as ib_umad does */
	size_t len; /* 256, or more for an RMPP request */
	unsigned int timeout_ms; /* per try */
	unsigned int retries; /* after the first; same TID */
	mad_done_fn *done; /* called exactly once, never from inside mad_request() */
	void *ctx;
};

/**
 * mad_request() - Send and wait for the response
 * @ret:	the open request, for mad_cancel(); may be NULL
 *
 * done() gets 0 with the response whatever its MAD status says; -ETIMEDOUT; -ECANCELED; -ECONNABORTED
 * an RMPP ABORT or STOP.
 * Return: 0; -EBUSY too many open; -EEXIST @keep_tid and such a request is open; -ENOMEM; -EINVAL
 */
int mad_request(struct mad_agent *a, const struct mad_req *req, struct mad_tx **ret, ns_t now);

/* mad_cancel() - Forget a request: done() is not called any more */
void mad_cancel(struct mad_tx *tx);

/**
 * mad_reply() - Send without expecting a response (responses, traps, repress)
 * @len:	256; more, or a MAD with RMPP flag Active set, goes out by RMPP: acknowledged, repeated,
 *		aborted after the retries
 *
 * The TID stays as it is. The data of an RMPP message end at @len, also if that is less than
 * 256. A second message for the same peer and TID while the first is still on its way is
 * taken for the answer to a repeated request and not sent.
 * Return: 0; -EBUSY; -ENOMEM; -EINVAL; what ops->send says of a single MAD
 */
int mad_reply(struct mad_agent *a, const struct mad_addr *to, const void *mad, size_t len,
	      ns_t now);

/* mad_agent_rmpp_octets() - Of the messages that @a is sending to @lid by RMPP */
size_t mad_agent_rmpp_octets(const struct mad_agent *a, uint16_t lid);

struct mad_ep_stats {
	uint64_t rx, tx, retries, timeouts;
	uint64_t rx_unclaimed, rx_malformed, rx_late; /* late: a response without its request */
	uint64_t rmpp_rx, rmpp_tx, rmpp_aborts;
};
const struct mad_ep_stats *mad_ep_stats(const struct mad_ep *ep);
void mad_ep_set_limits(struct mad_ep *ep, const struct mad_ep_limits *l);

#endif
