/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CM_PRIV_H
#define CM_PRIV_H

/*
 * Declarations for the files of the agent only.
 *
 *	cm.c		the agent: registration, dispatch
 *	request.c	SIDR_REQs that wait for their SIDR_REP
 *	serve.c		SIDR_REQs that other ports send to this port, and a rate limit for each of those ports
 */

#include "cm/cm.h"
#include "util/hash.h"
#include "util/pace.h"
#include "util/prng.h"

struct cm_source {
	struct list link; /* link in cm.sources, in which the most recent source is the first */
	struct hlink by_lid;
	uint16_t lid; /* LID of the source; 0: the entry is unused */
	struct pace pace;
};

struct cm {
	struct mad_ep *ep;
	struct mad_agent *agent; /* NULL: not registered yet */
	struct timers *timers;
	const struct log_sink *log;
	struct prng prng;
	struct cm_stats stats;
	struct list requests; /* struct cm_request */
	struct list services; /* struct cm_service */
	struct list sources;
	struct htab source_tab;
	struct cm_source *source; /* array of CM_SOURCES entries; NULL: no request came yet */
};

/* cm_register() - Register at the endpoint, unless the agent is registered already. Return: 0; -EBUSY; -ENOMEM */
int cm_register(struct cm *c);

void cm_requests_init(struct cm *c);
void cm_requests_fini(struct cm *c);
/* cm_reply_recv() - Process a SIDR_REP that has arrived */
void cm_reply_recv(struct cm *c, const struct mad_addr *from, const void *mad, size_t len,
		   ns_t now);

void cm_services_init(struct cm *c);
void cm_services_fini(struct cm *c);
/* cm_request_recv() - Process a SIDR_REQ that has arrived */
void cm_request_recv(struct cm *c, const struct mad_addr *from, const void *mad, size_t len,
		     ns_t now);

#endif
