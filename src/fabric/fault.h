/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FAULT_H
#define FABRIC_FAULT_H

/*
 * Faults are devices on one direction of a link, and are applied in the order in which they were
 * added. The random generator of a fault is seeded with the seed of the fabric and the id of the
 * fault. Text form:
 *
 *	loss 2%			drop packets
 *	corrupt 0.1%		flip one bit anywhere from LRH to VCRC
 *	damage 0.1%		flip one bit after the BTH and correct the VCRC, as a switch with
 *				bad memory does, so that only the ICRC shows the damage
 *	truncate 0.1%		cut a random number of octets off the end, but none of the LRH, like
 *				an HCA or switch that stops sending in the middle of a packet; PktLen
 *				is then wrong, so the next hop drops the packet
 *	duplicate 1%		send packets twice
 *	reorder 5% 2ms		hold packets back for the given time, so that others overtake them
 *	delay 5ms 1ms		hold all packets for 5 ms and up to 1 ms more, in order
 *	cut			drop all packets, while the link stays up
 *	stall			send only packets on VL15, which need no credits; data packets wait in the queue of the
 *				port, as on a link whose other end gives no credits
 *
 * The class of affected packets may follow, but not after stall: all (default), data (not MADs) or
 * mad (QP0 and QP1).
 */

#include "fabric/fabric.h"

enum fault_kind {
	FAULT_LOSS,
	FAULT_CORRUPT,
	FAULT_DAMAGE,
	FAULT_TRUNCATE,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_DELAY,
	FAULT_CUT,
	FAULT_STALL,
	FAULT_KINDS,
};

enum fault_class {
	FAULT_ALL,
	FAULT_DATA,
	FAULT_MAD,
};

struct fault_spec {
	enum fault_kind kind;
	enum fault_class cls;
	uint32_t ppm; /* share of packets, 1 to 1000000; not for delay, cut and stall */
	ns_t delay; /* time for which delay and reorder hold a packet, 1 ns to 60 s */
	ns_t jitter; /* longest additional time of delay, 0 to 60 s */
};

#define FAULT_TEXT_MAX 64

/*
 * fault_parse() - Parse the text form of a fault. Return: 0; -EINVAL: @err contains the text that
 * was expected
 */
int fault_parse(struct fault_spec *ret, const char *text, char *err, size_t err_size);
/* Write the text form of a fault, which fault_parse() reads. Return: @buf */
char *fault_print(char *buf, size_t size, const struct fault_spec *s);

struct fault_info {
	unsigned int id;
	struct fabric_port *port; /* port at whose egress packets are affected */
	struct fault_spec spec;
	uint64_t seen; /* number of packets of the class */
	uint64_t hit; /* number of packets dropped, changed, doubled or held back */
	unsigned int held; /* number of packets held back now */
};

/**
 * fabric_fault_add() - Apply a fault to the packets that leave @port
 * @ret_id:	id of the fault, for fabric_fault_del(); may be NULL
 *
 * Return: 0; -ENOTCONN: no cable; -EINVAL: @spec is out of range; -ENOMEM
 */
int fabric_fault_add(struct fabric_port *port, const struct fault_spec *spec, unsigned int *ret_id);

/*
 * fabric_fault_del() - Remove a fault; packets that the fault holds back are sent at once. Return:
 * 0, -ENOENT
 */
int fabric_fault_del(struct fabric *f, unsigned int id, ns_t now);

/*
 * fabric_fault_next() - Return the fault with the lowest id above @after. @after is 0 for the first fault.
 * Return: false if there is none
 */
bool fabric_fault_next(const struct fabric *f, unsigned int after, struct fault_info *ret);

#endif
