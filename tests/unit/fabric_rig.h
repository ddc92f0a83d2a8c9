/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_FABRIC_RIG_H
#define TESTS_UNIT_FABRIC_RIG_H

/*
 * A fabric on virtual time, brought up by hand: ports are put into their states, tables
 * are written directly, and external ends put packets on a switch port and keep what comes out.
 */

#include "fabric/fabric.h"

#define RIG_ENDS 8
#define RIG_KEEP 4096

struct rig_end {
	struct rig *rig;
	struct fabric_port *end;
	struct pkt *got[RIG_KEEP];
	unsigned int n;
	unsigned int states; /* calls of ops->state */
	enum fabric_link_state state; /* the last one */
};

struct rig {
	struct timers ts;
	struct pkt_pool *pool;
	struct fabric *f;
	struct fabric_cfg cfg;
	ns_t now;
	struct rig_end end[RIG_ENDS];
	unsigned int nends;
	unsigned int events[16]; /* by enum node_event, of nodes that rig_watch() watches */
};

/* @text: a topology; its switches and CAs are not configured yet. Changes to r->cfg before count. */
void rig_init(struct rig *r, const char *text);
void rig_init_topo(struct rig *r, struct topo *t); /* takes @t */
void rig_fini(struct rig *r); /* nothing may be left in the pool */

struct fabric_node *rig_node(struct rig *r, const char *name);
struct fabric_port *rig_port(struct rig *r, const char *name);
struct node_port *rig_np(struct rig *r, const char *name);
struct node *rig_sw(struct rig *r, const char *name);
void rig_watch(struct rig *r, const char *name);

/* Run what is due now; then pass time, stopping at every deadline. */
void rig_settle(struct rig *r);
void rig_pass(struct rig *r, ns_t t);

/*
 * What a subnet manager would do: LIDs 1.. for end ports in topology order, LFTs by
 * shortest paths, SLtoVL 1:1, MTU 4096, connected ports Active.
 */
void rig_configure(struct rig *r);
uint16_t rig_lid(struct rig *r, const char *name);
void rig_set_state(struct rig *r, const char *port, enum ib_port_state s);

/* An external end with carrier at @port */
struct rig_end *rig_attach(struct rig *r, const char *port);
/* Free what the end has got so far */
void rig_end_clear(struct rig_end *e);

struct rig_pkt {
	uint16_t slid, dlid;
	uint8_t sl, vl;
	uint16_t pkey; /* 0: 0xffff */
	uint32_t dest_qp, src_qp, qkey;
	const ib_gid *dgid; /* NULL: no GRH */
	unsigned int len; /* payload octets: 0, 1, 2 .. */
	const void *mad; /* 256 octets instead */
};

/* A sealed packet of that; its payload is in a buffer of its own when longer than 64 octets. */
struct pkt *rig_make(struct rig *r, const struct rig_pkt *s);
void rig_send(struct rig_end *e, const struct rig_pkt *s); /* and settle */
void rig_send_pkt(struct rig_end *e, struct pkt *p); /* and settle */

/* A directed-route SMP over @path (hops ports, as InitialPath[1..]); @data NULL or 64 octets */
void rig_smp(uint8_t mad[256], uint8_t method, uint16_t attr, uint32_t mod, const uint8_t *path,
	     unsigned int hops, const void *data);
void rig_send_smp(struct rig_end *e, uint8_t method, uint16_t attr, uint32_t mod, const void *data);
/* The MAD of a received packet */
void rig_mad_of(const struct pkt *p, uint8_t ret[256]);

#endif
