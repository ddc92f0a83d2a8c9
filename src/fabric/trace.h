/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_TRACE_H
#define FABRIC_TRACE_H

/*
 * Events of selected packets, for `uipoib trace`. While no trace runs, each hop costs one test of a
 * flag.
 */

#include "fabric/fabric.h"

enum fabric_trace_kind {
	FABRIC_TRACE_SENT, /* out_port, a port of a CA or port 0 of a switch, sent the packet */
	FABRIC_TRACE_LFT, /* a switch found out_port in its LFT */
	/*
	 * a switch looked up the MLID in its MFT; .mask has the ports in the MFT entry, possibly
	 * with the ingress port and inactive ports
	 */
	FABRIC_TRACE_MFT,
	FABRIC_TRACE_SMI, /* port 0 of a switch handles a MAD, for itself or on a directed route */
	FABRIC_TRACE_DELIVERED, /* a CA accepted the packet */
	/*
	 * a switch or link discarded the packet for the reason .drop, or a CA discarded it for the
	 * reason .hca_drop
	 */
	FABRIC_TRACE_DISCARDED,
	FABRIC_TRACE_FAULT, /* a fault at the egress of out_port lost the packet */
};

struct fabric_trace_event {
	enum fabric_trace_kind kind;
	struct fabric_node *node;
	uint8_t in_port, out_port;
	uint64_t mask[4]; /* for FABRIC_TRACE_MFT; port p is bit p % 64 of word p / 64 */
	int drop; /* reason, enum fabric_drop; -1: none */
	int hca_drop; /* reason, enum hca_drop; -1: none */
	const struct pkt *pkt; /* borrowed for the call */
	ns_t now;
};

struct fabric_trace {
	/*
	 * Tell whether @p is to be traced. Called before each event; events of packets that do not
	 * match are not reported.
	 */
	bool (*match)(void *ctx, const struct pkt *p);
	void (*event)(void *ctx, const struct fabric_trace_event *ev);
	void *ctx;
};

/* fabric_trace_set() - Start the trace @t, which is copied; NULL ends the present trace */
void fabric_trace_set(struct fabric *f, const struct fabric_trace *t);

#endif
