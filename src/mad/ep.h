/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MAD_EP_H
#define MAD_EP_H

/*
 * DOC: MAD endpoints
 *
 * An endpoint is QP0 and QP1 of one port (a CA port, or port 0 of a switch) as management
 * applications see them. Its agents register for classes and methods. They send requests, which are
 * repeated until a response comes or the last try times out. They also send and receive whole RMPP
 * messages. The owner provides one function that puts 256 octets on the wire, and calls
 * mad_ep_recv() for received MADs. The behaviour is that of Linux's ib_mad and ib_umad.
 *
 * An RMPP message is passed to the agent as a whole: the headers once (56 octets for SA, 36+4 for vendor classes with
 * OUI), then the data of all segments. So an SA table without records has 56 octets. All other MADs have 256 octets.
 *
 * Callbacks may call functions of the endpoint and remove their own agent, but must not destroy the
 * endpoint.
 */

#include <stddef.h>

#include "util/list.h"
#include "util/log.h"
#include "util/timer.h"
#include "wire/mad.h"

/*
 * Address of the remote port to which a MAD is sent, or from which it came, and the local QP and
 * port. The address that comes with a request is, unchanged, the address for the reply.
 */
struct mad_addr {
	uint8_t qp; /* local QP: 0 or 1 */
	/*
	 * local port: on receive, the ingress port; if a switch sends by a directed route, the
	 * egress port
	 */
	uint8_t port;
	uint8_t sl;
	uint8_t path_bits; /* path bits of the local LID */
	uint16_t lid; /* LID of the remote port; IB_LID_PERMISSIVE on directed routes */
	/* P_Key in the BTH; on send, an entry of the port's P_Key table must match this P_Key */
	uint16_t pkey;
	uint32_t qpn; /* remote QP */
	uint32_t qkey; /* Q_Key in the DETH; 0x80010000 to QP1 */
	bool has_grh;
	ib_gid gid; /* GID of the remote port, if has_grh */
	uint8_t gid_index; /* index of the local GID, if has_grh */
	uint8_t tclass, hop_limit;
	uint32_t flow_label;
};

/*
 * mad_addr_smp_dr(), mad_addr_smp_lid(), mad_addr_gmp() - Return the address for a directed-route
 * SMP, for a LID-routed SMP, or for a GMP (QP1)
 */
struct mad_addr mad_addr_smp_dr(void);
struct mad_addr mad_addr_smp_lid(uint16_t lid);
struct mad_addr mad_addr_gmp(uint16_t lid, uint8_t sl);

struct mad_agent;
struct mad_tx;

struct mad_ep_ops {
	/*
	 * Put one MAD (256 octets) on the wire. For MADs of class 0x81 the owner has to apply the
	 * rules of the SMI first.
	 * Return: 0, or an error such as -ENETDOWN, which counts as a loss, so that the request is retried
	 */
	int (*send)(void *ctx, const struct mad_addr *to, const void *mad, ns_t now);
};

struct mad_ep_limits {
	unsigned int max_tx; /* largest number of open requests and RMPP replies together */
	unsigned int max_rmpp_rx; /* largest number of RMPP messages that are being received */
	size_t max_rmpp_len; /* largest number of octets of one RMPP message */
	/* largest number of octets of all RMPP messages being sent; 0: the default of 256 MiB */
	size_t max_rmpp_tx_len;
};

struct mad_ep;

/*
 * mad_ep_create() - Make an endpoint. @timers and @log are borrowed until mad_ep_destroy(). Return:
 * NULL if out of memory
 */
struct mad_ep *mad_ep_create(const struct mad_ep_ops *ops, void *ctx, struct timers *timers,
			     const struct log_sink *log);
/*
 * mad_ep_destroy() - End every open request with -ECANCELED, and free the agents; NULL is accepted
 */
void mad_ep_destroy(struct mad_ep *ep);

/**
 * mad_ep_recv() - Deliver a MAD that arrived for this port's agents
 * @mad:	256 octets
 *
 * A response ends the request with the same TID and class and the matching method. Other MADs go to
 * every agent that registered for their class, version, OUI and method. MADs that match no request
 * and no agent are counted.
 * Return: 0: delivered; -ENOENT: the MAD fits no request and no agent; -EBADMSG: malformed
 */
int mad_ep_recv(struct mad_ep *ep, const struct mad_addr *from, const void *mad, ns_t now);

/*
 * Limits that several agents share. A quota can be part of a larger quota. The code that owns the
 * quota sets .max_open, .min_open and .max_octets.
 */
struct mad_quota {
	/* larger quota of which this quota is a part; NULL if there is none */
	struct mad_quota *up;
	/* .open: number of open requests and RMPP replies; .max_open: limit of .open */
	unsigned int open, max_open;
	/* number of requests and replies that may be open even if the larger quota is exhausted */
	unsigned int min_open;
	/* .octets: octets of RMPP messages being sent; .max_octets: limit of .octets */
	size_t octets, max_octets;
};

/* mad_ep_wants() - Tell whether an agent has registered for @mad, which must not be a response */
bool mad_ep_wants(struct mad_ep *ep, const struct mad_addr *from, const void *mad);

struct mad_agent_cfg {
	uint8_t qp; /* QP of the class: 0 for classes 0x01 and 0x81, which one registration covers; 1 for all others */
	uint8_t mgmt_class, class_version; /* class 0: the agent gets responses only */
	bool one_class; /* true: on QP0, register for mgmt_class only, as ib_mad does */
	uint32_t oui; /* OUI of a vendor class 0x30-0x4f, 24 bits */
	bool rmpp; /* messages may use RMPP if their class has it */
	/*
	 * true: the agent handles RMPP itself, so recv() gets single segments, even if the request that they answer
	 * has ended. Must not be set together with .rmpp.
	 */
	bool user_rmpp;
	uint64_t methods[2]; /* if bit m is set, the agent gets unsolicited MADs with method m */
	struct mad_quota *quota; /* NULL if only the limits of the endpoint apply */
	/*
	 * true: other agents may register the same methods. Each of these agents gets every MAD of
	 * 256 octets, but only the first agent gets RMPP messages
	 */
	bool shared;
	/*
	 * An unsolicited MAD or RMPP message of @len octets arrived. @mad is valid only during the
	 * call.
	 */
	void (*recv)(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now);
	void *ctx;
};

static inline void mad_agent_cfg_method(struct mad_agent_cfg *c, uint8_t method)
{
	c->methods[method >> 6 & 1] |= 1ull << (method & 63);
}

/*
 * mad_agent_add() - Register an agent. The agent receives the methods that it registers for, and may send MADs
 * of any class of its QP
 *
 * Return: 0; -EBUSY: another agent has a method of the class, and neither agent is .shared; -EINVAL; -ENOMEM
 */
int mad_agent_add(struct mad_ep *ep, const struct mad_agent_cfg *cfg, struct mad_agent **ret);
/*
 * mad_agent_id() - Return the id of an agent, which is the upper half of the TIDs of its requests
 */
uint32_t mad_agent_id(const struct mad_agent *a);
/*
 * mad_agent_is_alone() - Tell whether no other agent has registered for any unsolicited MADs that @a gets. Agents
 * with the same recv() as @a are ignored
 */
bool mad_agent_is_alone(const struct mad_agent *a);
/* mad_agent_del() - Remove an agent; its open requests end with -ECANCELED. NULL is accepted */
void mad_agent_del(struct mad_agent *a);

/*
 * Called when a request ends. @mad is the response, which has @len octets: a single MAD (256) or a
 * whole RMPP message. If @status is not 0, @mad is NULL
 */
typedef void mad_done_fn(void *ctx, int status, const struct mad_addr *from, const void *mad,
			 size_t len, ns_t now);

struct mad_req {
	struct mad_addr to;
	const void *mad; /* MAD to send, borrowed for the call; its TID is replaced */
	bool keep_tid; /* replace only the upper half of the TID, as ib_umad does */
	size_t len; /* octets of the MAD: 256, or more for an RMPP request */
	unsigned int timeout_ms; /* time to wait for a response to each try */
	unsigned int retries; /* number of tries after the first one, with the same TID */
	/* called once when the request ends; not by mad_cancel(), and never inside mad_request() */
	mad_done_fn *done;
	void *ctx;
};

/**
 * mad_request() - Send a request and wait for its response
 * @ret:	the open request, for mad_cancel(); may be NULL
 *
 * done() gets status 0 with a response, even if the MAD status in the response is an error. Otherwise done()
 * gets -ETIMEDOUT, -ECANCELED, or -ECONNABORTED after an RMPP ABORT or STOP.
 * Return: 0; -EBUSY: too many requests are open; -EEXIST: .keep_tid is set, and a request with the
 * same TID is open; -ENOMEM; -EINVAL
 */
int mad_request(struct mad_agent *a, const struct mad_req *req, struct mad_tx **ret, ns_t now);

/* mad_cancel() - Drop an open request; its done() is not called */
void mad_cancel(struct mad_tx *tx);

/**
 * mad_reply() - Send a MAD to which no response is expected: a response, a Trap or a TrapRepress
 * @len:	octets of @mad. A message of more than 256 octets, or with RMPP flag Active, is sent
 *		by RMPP. Its segments are acknowledged and repeated, and the transfer is aborted
 *		after the last retry
 *
 * The TID is not changed. The data of an RMPP message end at @len, even if @len is less than 256.
 * While a message is being sent, a second message for the same peer and TID is dropped, because it
 * answers a repetition of the same request.
 * Return: 0; -EBUSY; -ENOMEM; -EINVAL; for a single MAD the result of ops->send
 */
int mad_reply(struct mad_agent *a, const struct mad_addr *to, const void *mad, size_t len,
	      ns_t now);

/*
 * mad_agent_rmpp_octets() - Return the number of octets of the messages that @a is sending to @lid
 * by RMPP
 */
size_t mad_agent_rmpp_octets(const struct mad_agent *a, uint16_t lid);

struct mad_ep_stats {
	uint64_t rx, tx, retries, timeouts;
	uint64_t rx_unclaimed, rx_malformed,
		rx_late; /* rx_late: number of responses whose request is no longer open */
	uint64_t rmpp_rx, rmpp_tx, rmpp_aborts;
};
const struct mad_ep_stats *mad_ep_stats(const struct mad_ep *ep);
void mad_ep_set_limits(struct mad_ep *ep, const struct mad_ep_limits *l);

#endif
