/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_FABRIC_RIG_H
#define TESTS_UNIT_FABRIC_RIG_H

/*
 * A fabric on virtual time without an SM: the test itself sets port states and tables. External
 * ends send packets to switch ports, and store the packets that leave by these ports.
 */

#include "fabric/fabric.h"

#define RIG_ENDS 8
#define RIG_KEEP 4096

struct rig_end {
	struct rig *rig;
	struct fabric_port *end;
	struct pkt *got[RIG_KEEP];
	unsigned int n;
	unsigned int states; /* number of calls of ops->state */
	enum fabric_link_state state; /* the last state that ops->state reported for this end */
};

struct rig {
	struct timers ts;
	struct pkt_pool *pool;
	struct fabric *f;
	struct fabric_cfg cfg;
	ns_t now;
	struct rig_end end[RIG_ENDS];
	unsigned int nends;
	/*
	 * events[e]: number of events e (enum node_event) at those nodes for which the test has
	 * called rig_watch()
	 */
	unsigned int events[16];
};

/*
 * Make a fabric from the topology @text. Its switches and CAs are not configured yet. Settings in
 * r->cfg take effect if the test changes them before the call.
 */
void rig_init(struct rig *r, const char *text);
void rig_init_topo(struct rig *r, struct topo *t); /* takes @t over */
void rig_fini(struct rig *r); /* fails if a packet is still in use */

struct fabric_node *rig_node(struct rig *r, const char *name);
struct fabric_port *rig_port(struct rig *r, const char *name);
struct node_port *rig_np(struct rig *r, const char *name);
struct node *rig_sw(struct rig *r, const char *name);
void rig_watch(struct rig *r, const char *name);

/*
 * rig_settle() runs everything that is due at the present time. rig_pass() lets the time @t pass,
 * and stops at every deadline of a timer.
 */
void rig_settle(struct rig *r);
void rig_pass(struct rig *r, ns_t t);

/*
 * Configure the subnet as an SM would: LIDs from 1 on for end ports in the order of the topology,
 * shortest paths in the LFTs, SL n on VL n mod 8, MTU 4096, and connected ports Active.
 */
void rig_configure(struct rig *r);
uint16_t rig_lid(struct rig *r, const char *name);
void rig_set_state(struct rig *r, const char *port, enum ib_port_state s);

/* Attach an external end with carrier at @port */
struct rig_end *rig_attach(struct rig *r, const char *port);
/* Free the packets that have come out at this end so far */
void rig_end_clear(struct rig_end *e);

struct rig_pkt {
	uint16_t slid, dlid;
	uint8_t sl, vl;
	uint16_t pkey; /* 0 stands for 0xffff */
	uint32_t dest_qp, src_qp, qkey;
	const ib_gid *dgid; /* NULL: no GRH */
	unsigned int len; /* number of payload octets, whose values are 0, 1, 2, ... */
	const void *mad; /* 256 octets of a MAD, which are the payload in place of .len octets */
};

/*
 * Make a packet with CRCs as @s describes. A payload of more than 64 octets is in a packet buffer.
 */
struct pkt *rig_make(struct rig *r, const struct rig_pkt *s);
/* Send a packet from this end, and run the fabric until nothing is due. */
void rig_send(struct rig_end *e, const struct rig_pkt *s);
void rig_send_pkt(struct rig_end *e, struct pkt *p);

/*
 * Write a directed-route SMP with the path @path, which has @hops port numbers (InitialPath[1] and
 * following). @data has 64 octets; NULL: zeros
 */
void rig_smp(uint8_t mad[256], uint8_t method, uint16_t attr, uint32_t mod, const uint8_t *path,
	     unsigned int hops, const void *data);
void rig_send_smp(struct rig_end *e, uint8_t method, uint16_t attr, uint32_t mod, const void *data);
/* Copy the MAD out of a received packet */
void rig_mad_of(const struct pkt *p, uint8_t ret[256]);

#endif
