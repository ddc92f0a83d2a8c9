/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FAULT_H
#define FABRIC_FAULT_H

/*
 * Faults: devices on one direction of a link, applied in the order in which they were
 * added. Their dice are seeded by the fabric's seed and the fault's id. Text form:
 *
 *	loss 2%			drop
 *	corrupt 0.1%		flip one bit, anywhere from LRH to VCRC
 *	damage 0.1%		flip one bit behind the BTH, and make the VCRC right again, as a
 *				switch with bad memory does: only the ICRC tells
 *	duplicate 1%		send twice
 *	reorder 5% 2ms		hold back for that long, so that others overtake
 *	delay 5ms 1ms		hold all, in order; and up to that much more
 *	cut			drop all, silently: the link stays up
 *
 * each with an optional class at the end: all (default), data (not MADs), mad (QP0 and QP1).
 */

#include "fabric/fabric.h"

enum fault_kind {
	FAULT_LOSS,
	FAULT_CORRUPT,
	FAULT_DAMAGE,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_DELAY,
	FAULT_CUT,
};

enum fault_class {
	FAULT_ALL,
	FAULT_DATA,
	FAULT_MAD,
};

struct fault_spec {
	enum fault_kind kind;
	enum fault_class cls;
	uint32_t ppm; /* loss, corrupt, damage, duplicate, reorder: 1..1000000 */
	ns_t delay; /* delay, reorder: 1 ns .. 60 s */
	ns_t jitter; /* delay: 0 .. 60 s */
};

#define FAULT_TEXT_MAX 64

/* fault_parse() - 0; -EINVAL with what was expected in @err */
int fault_parse(struct fault_spec *ret, const char *text, char *err, size_t err_size);
/* The text that fault_parse() reads back to the same. Returns @buf */
char *fault_print(char *buf, size_t size, const struct fault_spec *s);

struct fault_info {
	unsigned int id;
	struct fabric_port *port; /* what leaves it is affected */
	struct fault_spec spec;
	uint64_t seen; /* packets of its class */
	uint64_t hit; /* dropped, changed, doubled or held */
	unsigned int held; /* now */
};

/**
 * fabric_fault_add() - Let packets that leave @port suffer
 * @ret_id:	for fabric_fault_del(); may be NULL
 *
 * Return: 0; -ENOTCONN no cable; -EINVAL @spec is out of range; -ENOMEM
 */
int fabric_fault_add(struct fabric_port *port, const struct fault_spec *spec, unsigned int *ret_id);

/* fabric_fault_del() - What it holds goes on at once. 0 or -ENOENT */
int fabric_fault_del(struct fabric *f, unsigned int id, ns_t now);

/* fabric_fault_next() - Walk the faults by rising id: start with 0 as @after. False at the end */
bool fabric_fault_next(const struct fabric *f, unsigned int after, struct fault_info *ret);

#endif
