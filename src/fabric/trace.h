/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_TRACE_H
#define FABRIC_TRACE_H

/* What happens to chosen packets on their way, for `uipoib trace`. Costs one test a hop when off. */

#include "fabric/fabric.h"

enum fabric_trace_kind {
	FABRIC_TRACE_SENT, /* leaves a CA or a switch's port 0 by out_port */
	FABRIC_TRACE_LFT, /* a switch: LFT[dlid] = out_port */
	FABRIC_TRACE_MFT, /* a switch: MFT[dlid] = mask, with the ingress port and ports that are not Active */
	FABRIC_TRACE_SMI, /* a switch handles a MAD in its port 0: SMP or GMP for it, or a directed route */
	FABRIC_TRACE_DELIVERED, /* a CA took it */
	FABRIC_TRACE_DISCARDED, /* a switch or link: drop; by a CA: hca_drop */
	FABRIC_TRACE_FAULT, /* a fault on the egress of out_port lost it */
};

struct fabric_trace_event {
	enum fabric_trace_kind kind;
	struct fabric_node *node;
	uint8_t in_port, out_port;
	uint64_t mask[4]; /* MFT: bit p of word p / 64 */
	int drop; /* enum fabric_drop, or -1 */
	int hca_drop; /* enum hca_drop, or -1 */
	const struct pkt *pkt; /* borrowed for the call */
	ns_t now;
};

struct fabric_trace {
	/* Does @p interest? Asked wherever something happens to a packet. */
	bool (*match)(void *ctx, const struct pkt *p);
	void (*event)(void *ctx, const struct fabric_trace_event *ev);
	void *ctx;
};

/* fabric_trace_set() - @t is copied; NULL: off */
void fabric_trace_set(struct fabric *f, const struct fabric_trace *t);

/* A match by LIDs, for a match function. */
struct fabric_trace_lids {
	uint16_t slid, dlid; /* 0: any */
};
bool fabric_trace_lids_match(const struct fabric_trace_lids *l, const struct pkt *p);

#endif
