/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FAULT_PRIV_H
#define FABRIC_FAULT_PRIV_H

#include "fabric/fault.h"

#define FAULT_TIME_MAX NS_SEC(60)

struct fault;

/* A kind of fault, one row of fault_kinds[]. Only FAULT_STALL also needs code outside its row. */
struct fault_kind_info {
	const char *name;
	/*
	 * Apply the fault to packet @p; takes ownership of @p. Packets that are neither dropped nor
	 * held back are appended to @out.
	 */
	void (*apply)(struct fault *x, struct pkt *p, struct pkt_queue *out, ns_t now);
	bool has_share; /* the fault has a share of packets, fault_spec.ppm */
	bool has_delay; /* the fault has a time, fault_spec.delay, and may hold packets back */
	bool has_jitter; /* the fault may have a second time, fault_spec.jitter */
	/*
	 * no class of packets (all, data, mad) may follow in the text form, because the kind itself
	 * defines which packets it affects
	 */
	bool has_no_class;
};
extern const struct fault_kind_info fault_kinds[FAULT_KINDS];

/* Tell whether all fields of @s that its kind uses are in range. */
bool fault_spec_ok(const struct fault_spec *s);

#endif
