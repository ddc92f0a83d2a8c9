/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FAULT_PRIV_H
#define FABRIC_FAULT_PRIV_H

#include "fabric/fault.h"

#define FAULT_TIME_MAX NS_SEC(60)

struct fault;

/* A kind of fault. Besides enum fault_kind, its row in the table is the only place that names it. */
struct fault_kind_info {
	const char *name;
	/* Apply the fault to packet @p, and take it. Packets that continue at once are appended to @out. */
	void (*apply)(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now);
	bool has_share; /* takes a share in percent, fault_spec.ppm */
	bool has_delay; /* takes a time, fault_spec.delay, and may hold packets */
	bool has_jitter; /* may take a second time, fault_spec.jitter */
	bool has_no_class; /* affects all packets that it can affect, so that it takes no class */
};
extern const struct fault_kind_info fault_kinds[FAULT_KINDS];

/* All fields that the kind uses are in range. */
bool fault_spec_ok(const struct fault_spec *s);

#endif
