/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CM_CM_H
#define CM_CM_H

/*
 * DOC: The part of communication management that Service ID Resolution needs
 *
 * Each MAD endpoint has one agent, for class 0x07 on QP1. It sends SIDR_REQs and waits for their SIDR_REPs, and it
 * answers SIDR_REQs for the services of this port (IBTA volume 1, 12.11). Both messages have the method Send, so the
 * code in mad/ cannot match a SIDR_REP to its SIDR_REQ. The agent matches them by RequestID.
 *
 * The agent stores no state of a SIDR_REQ that it has answered. A repeated SIDR_REQ gets the same
 * answer, because the answer is computed again from the same values. The agent answers
 * CM_SOURCE_BURST requests of a source (LID) at once, and then CM_SOURCE_RATE requests a second. It
 * drops the excess requests, so that other sources are answered while one source floods. If no
 * service of this port has the ServiceID of a SIDR_REQ, the agent refuses the SIDR_REQ with Status
 * 1. It does so only if the port has at least one service, and no other program has registered for
 * the class. Otherwise the agent does not answer, because another program may serve the ServiceID.
 *
 * Other messages of the class are dropped and counted. A REQ is not refused with a REJ, because it may be for another
 * agent of the port.
 *
 * The agent registers at the endpoint with its first request or service.
 */

#include "mad/ep.h"
#include "util/list.h"
#include "util/log.h"
#include "util/timer.h"
#include "wire/cm_sidr.h"

#define CM_TRY_MS 500 /* time to wait for a SIDR_REP after each try */
#define CM_RETRIES 5 /* number of repetitions of a SIDR_REQ, with the same RequestID and TID */
#define CM_SOURCE_BURST 128
#define CM_SOURCE_RATE 64
/* number of sources (LIDs) whose request rate is stored; a new source replaces the source that was silent longest */
#define CM_SOURCES 256

struct cm;

struct cm_cfg {
	struct mad_ep *ep; /* this and the pointers below are borrowed */
	struct timers *timers;
	const struct log_sink *log; /* NULL: nothing is logged */
	uint64_t seed; /* seed of RequestIDs */
};

/* cm_create() - Make the agent of an endpoint. Return: 0; -ENOMEM */
int cm_create(struct cm **ret, const struct cm_cfg *cfg);
/* cm_destroy() - Free the agent, and drop its remaining requests and services. NULL is accepted */
void cm_destroy(struct cm *c);

/* cm_timers(), cm_random() - Return the agent's timers, and a random number, for users of the agent */
struct timers *cm_timers(const struct cm *c);
uint64_t cm_random(struct cm *c);
const struct log_sink *cm_log(const struct cm *c);

/* --- Requests */

struct cm_request {
	struct list link;
	struct cm *cm; /* agent that sends the request; NULL: the request is not open */
	struct timer timer;
	struct mad_addr to;
	struct sidr_req req;
	uint64_t tid;
	unsigned int left; /* number of repetitions that may still be sent */
	/*
	 * Called once when the request has ended, but never inside cm_request(). @status is 0 or
	 * -ETIMEDOUT; @rep is borrowed, and NULL unless @status is 0
	 */
	void (*done)(struct cm_request *q, int status, const struct sidr_rep *rep, ns_t now);
};

/**
 * cm_request() - Send a SIDR_REQ
 * @q:	the caller sets .to, .done, .req.service_id, .req.pkey and .req.priv, and all other members
 *	to 0. This function sets the RequestID
 *
 * A SIDR_REP is the answer if it comes from @q->to.lid and has the RequestID and ServiceID of the
 * request. Return: 0; -EBUSY: the endpoint is being destroyed; -EALREADY: @q is open; -ENOMEM
 */
int cm_request(struct cm *c, struct cm_request *q, ns_t now);
/* cm_request_cancel() - Cancel a request; no effect if it is not open */
void cm_request_cancel(struct cm_request *q);

/* --- Services */

struct cm_service {
	struct list link;
	struct cm *cm; /* agent to which the service was added; NULL: none */
	uint64_t id; /* ServiceID */
	/* the service answers requests whose P_Key has the same low 15 bits; 0: all requests */
	uint16_t pkey;
	/*
	 * Fill in the Status of the answer to a request. If the Status is 0, fill in QPN, Q_Key and
	 * private data, too. RequestID and ServiceID are filled in already. As long as the values
	 * of the service do not change, equal requests must get equal answers.
	 */
	void (*answer)(struct cm_service *v, const struct mad_addr *from,
		       const struct sidr_req *req, struct sidr_rep *ret, ns_t now);
};

/*
 * cm_service_add() - Add a service. Return: 0; -EEXIST: the port has a service with this ID and P_Key already; -EBUSY
 * and -ENOMEM as cm_request()
 */
int cm_service_add(struct cm *c, struct cm_service *v);
/* cm_service_del() - Remove a service; no effect if @v was not added */
void cm_service_del(struct cm_service *v);
/*
 * cm_serves() - Tell whether the port has a service. If so, the port's bit
 * IsCommunicationManagementSupported is to be set
 */
bool cm_serves(const struct cm *c);

struct cm_stats {
	/* counters of requests that this port sent */
	uint64_t requests, retries, answers, timeouts;
	uint64_t served, refused; /* SIDR_REPs sent with Status 0, and with another Status */
	uint64_t drop_paced; /* SIDR_REQs above the rate limit of their source */
	uint64_t drop_no_server; /* SIDR_REQs that no service of this port answers */
	uint64_t drop_late; /* SIDR_REPs that match no open request */
	uint64_t drop_other; /* other messages of the class */
	uint64_t drop_busy; /* SIDR_REPs that the endpoint could not send */
};
const struct cm_stats *cm_stats(const struct cm *c);

#endif
