/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_CA_WIRE_H
#define TESTS_UNIT_CA_WIRE_H

/*
 * Two soft HCAs for backends of the suite of ca.h. A wire in memory connects port 1 of one HCA to
 * port 1 of the other HCA:
 *
 * 	end 0 - hca, port 1  =====  port 1, hca - end 1
 *
 * ca_suite_env.priv is the struct wire.
 */

#include "hca/hca.h"
#include "unit/ca_suite.h"

struct wire_end {
	struct hca *hca;
	struct pkt_queue out;
	uint64_t sent; /* number of packets that were taken from .out */
	struct wire_end *peer;
	/*
	 * called for each event of the HCA that comes after wire_up() has ended and before
	 * wire_down()
	 */
	void (*event)(struct wire_end *e, uint8_t port, enum node_event ev, ns_t now);
	void (*ready)(struct wire_end *e, struct hca_qp *qp);
	void *ctx; /* data of the backend */
	/* called for each packet that the wire carries from this end; may be NULL */
	void (*carried)(struct wire_end *e, const struct pkt *p);
};

struct wire {
	struct timers timers;
	struct log_sink log;
	struct wire_end end[2];
};

/*
 * wire_up() - Make the packet pool and both HCAs, and bring the ports into the state that
 * ca_suite.h requires
 */
struct wire *wire_up(struct ca_suite_env *env,
		     void (*event)(struct wire_end *e, uint8_t port, enum node_event ev, ns_t now),
		     void (*ready)(struct wire_end *e, struct hca_qp *qp));
/*
 * wire_down() - Free everything, and fail the test if a packet or a buffer was not returned to the
 * packet pool
 */
void wire_down(struct ca_suite_env *env);
/*
 * wire_carry() - Deliver the packets that the HCAs have sent so far. Returns false if there were no
 * packets
 */
bool wire_carry(struct ca_suite_env *env);
void wire_link_down(struct ca_suite_env *env);
/*
 * wire_set_pkey() - Set a P_Key as an SM does: the other end sends a Set(P_KeyTable) in a
 * LID-routed SMP, and @run delivers this SMP
 */
void wire_set_pkey(struct ca_suite_env *env, unsigned int side, uint16_t index, uint16_t pkey,
		   void (*run)(struct ca_suite_env *env));

#endif
