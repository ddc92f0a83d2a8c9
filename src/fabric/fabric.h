/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

/*
 * DOC: Soft fabric
 *
 * HCAs and switches of a topology, and the links between them. Every port has an egress
 * queue per class: VL15, which goes first, and data. What is put into a queue makes the
 * port ready; fabric_run() takes ready ports in turn, moves up to PKT_BATCH packets of each to the
 * other end of its link, and there the HCA consumes them or the switch puts them into its egress
 * queues. So nothing recurses, and a forwarding loop costs only its packets' hop budget.
 *
 * A link is up while it is enabled, its ends agree (PortPhysicalState neither Disabled nor Sleep,
 * an external end has carrier) and training is over. When it goes down, what is queued
 * or under way on it is discarded and counted.
 *
 * Devices (faults, capture) are stacked on one direction of a link: on the egress of a port.
 *
 * The caller runs both: timers_run(cfg.timers, now), then fabric_run() until it returns false.
 */

#include "fabric/topo.h"
#include "hca/hca.h"
#include "util/log.h"
#include "util/pkt.h"
#include "util/timer.h"

#define FABRIC_RETRAIN NS_MSEC(10) /* a link that was dropped or enabled is up after this */
#define FABRIC_NAME_MAX (TOPO_NAME_MAX + 5) /* "Switch1/254" */

struct fabric;
struct fabric_node; /* a CA or a switch */
struct fabric_port; /* one end of a link, and the direction that leaves it */

/* Why a link or a switch discarded a packet. HCAs have their own reasons (enum hca_drop). */
enum fabric_drop {
	FABRIC_DROP_LINK_DOWN, /* no link, or it went down with the packet on it */
	FABRIC_DROP_QUEUE, /* egress queue full */
	FABRIC_DROP_HOPS, /* crossed too many links */
	FABRIC_DROP_LEN, /* shorter than its headers, or PktLen is wrong */
	FABRIC_DROP_VERSION, /* LVer is not 0 */
	FABRIC_DROP_VCRC,
	FABRIC_DROP_STATE_IN, /* data on a port that is neither Armed nor Active */
	FABRIC_DROP_STATE_OUT, /* data for a port that is not Active */
	FABRIC_DROP_VL15, /* VL15 to a group, to other than QP0, or permissive without a route */
	FABRIC_DROP_DLID, /* 0, permissive, above LinearFDBTop, LFT 255 or no such port */
	FABRIC_DROP_LOOP, /* the LFT points to the ingress port */
	FABRIC_DROP_MLID, /* no member port, or above the MFT */
	FABRIC_DROP_VL, /* SLtoVL says VL15 */
	FABRIC_DROP_MTU, /* larger than the egress port's NeighborMTU */
	FABRIC_DROP_PKEY_IN, /* P_Key enforcement of the ingress port */
	FABRIC_DROP_PKEY_OUT,
	FABRIC_DROP_RAW_IN, /* raw packet filter */
	FABRIC_DROP_RAW_OUT,
	FABRIC_DROP_PORT0, /* for switch port 0, which has no use for it: not a MAD of QP0 or QP1 */
	FABRIC_DROP_PORT0_KEY, /* P_Key or Q_Key of a MAD for switch port 0 */
	FABRIC_DROP_ICRC, /* at switch port 0 */
	FABRIC_DROP_NO_MEM, /* no packet left for a copy */
	FABRIC_DROP_MAX,
};
/* "hop limit" and the like, for people; never NULL */
const char *fabric_drop_name(enum fabric_drop d);

struct fabric_cfg {
	struct timers *timers;
	struct pkt_pool *pool;
	const struct log_sink *log; /* may be NULL */
	enum hca_crc crc; /* what packets carry on the links between our nodes */
	unsigned int data_depth; /* packets in an egress queue of data; 0: 2048 */
	unsigned int vl15_depth; /* 0: 1024 */
	unsigned int max_qps; /* of each HCA; 0: hca's default */
	uint64_t seed; /* of the faults' generators */
};

/**
 * fabric_create() - Build what @t says; all its links come up at once
 *
 * All pointers of @cfg are borrowed; @t is not kept.
 * Return: 0; -EINVAL the topology has no node; -ENOMEM; what hca_create() returned
 */
int fabric_create(struct fabric **ret, const struct topo *t, const struct fabric_cfg *cfg,
		  ns_t now);
/* Frees what is queued, HCAs included; NULL is accepted. */
void fabric_destroy(struct fabric *f);

/**
 * fabric_run() - Move packets
 *
 * Ready ports in turn, a batch each, until none is ready or the budget of one call is used up.
 * Return: whether more is ready
 */
bool fabric_run(struct fabric *f, ns_t now);

/*
 * fabric_queued() - Packets in all egress queues. Links here have no credits: who brings packets from a source
 * that can wait does not while these are many, or queues overflow where hardware would have held the sender back.
 */
unsigned int fabric_queued(const struct fabric *f);

struct fabric_stats {
	uint64_t hops; /* packets moved over links */
	uint64_t drops[FABRIC_DROP_MAX]; /* of all nodes */
};
const struct fabric_stats *fabric_stats(const struct fabric *f);

/* --- nodes, in the order of the topology */

unsigned int fabric_nnodes(const struct fabric *f);
struct fabric_node *fabric_node_at(struct fabric *f, unsigned int index);
/* fabric_node_find() - By name, else by a description that only one node has; or NULL */
struct fabric_node *fabric_node_find(struct fabric *f, const char *name);
const char *fabric_node_name(const struct fabric_node *n);
/* Its SMA, PMA, tables and MAD endpoints (switch: node->port[0].ep). */
struct node *fabric_node_node(struct fabric_node *n);
/* NULL for a switch */
struct hca *fabric_node_hca(struct fabric_node *n);
uint64_t fabric_node_drops(const struct fabric_node *n, enum fabric_drop d);

/* What a node tells its owner. Called from fabric_run(), timers or hca calls; either may be NULL. */
struct fabric_notify {
	void (*event)(void *ctx, struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now);
	void (*ready)(void *ctx, struct hca_qp *qp); /* hca_ops.ready */
};
/* @fn is copied; NULL: nobody */
void fabric_set_hca_notify(struct fabric *f, struct fabric_node *n, const struct fabric_notify *fn,
			   void *ctx);

/* --- ports and links */

/**
 * fabric_port_find() - The port "Name/port"; the last '/' divides
 *
 * Switches have a port 0, which has no link.
 * Return: 0; -EINVAL no '/' or number; -ENOENT no such node; -ERANGE no such port
 */
int fabric_port_find(struct fabric *f, const char *name, struct fabric_port **ret);
/* NULL if @num is not a port of @n */
struct fabric_port *fabric_node_port(struct fabric_node *n, unsigned int num);
/* NULL: an external end */
struct fabric_node *fabric_port_node(const struct fabric_port *p);
unsigned int fabric_port_num(const struct fabric_port *p);
/* The other end of the cable, or NULL */
struct fabric_port *fabric_port_peer(const struct fabric_port *p);
/* "Switch1/7"; an external end: its label. Returns @buf */
char *fabric_port_name(const struct fabric_port *p, char *buf, size_t size);

enum fabric_link_state {
	FABRIC_LINK_NONE, /* no cable */
	FABRIC_LINK_DISABLED, /* by fabric_link_set() */
	FABRIC_LINK_DOWN, /* an end does not take part */
	FABRIC_LINK_TRAINING, /* comes up FABRIC_RETRAIN after this began */
	FABRIC_LINK_UP,
};
enum fabric_link_state fabric_link_state(const struct fabric_port *p);
const char *fabric_link_state_name(enum fabric_link_state s);

/* fabric_link_set() - Enable (it trains, then is up) or disable the link of @p. 0; -ENOTCONN no cable */
int fabric_link_set(struct fabric_port *p, bool up, ns_t now);

/**
 * fabric_inject() - Put a packet on the link of a CA port or switch port as if its node had sent it
 * @p:	taken; head at the LRH, tail as crc_pkt_seal() leaves it or spoilt on purpose
 *
 * For tests of what the others make of it.
 */
void fabric_inject(struct fabric_port *port, struct pkt *p, ns_t now);

/* --- external ends: a link whose other end is not a node here (a UDP link, a test) */

struct fabric_ext_ops {
	/* Packets leave to the outside; takes them. LRH .. DETH are in hdr[], CRCs as PKT_CRC says. */
	void (*tx)(void *ctx, struct pkt **v, unsigned int n, ns_t now);
	/* The link changed its state; may be NULL. */
	void (*state)(void *ctx, enum fabric_link_state state, ns_t now);
	/*
	 * This side takes part in the link, as it does at first, or no longer: it was
	 * disabled by fabric_link_set(), or by Set(PortInfo) at the node's port. A retrain is
	 * false, then true. May be NULL.
	 */
	void (*want)(void *ctx, bool on, ns_t now);
};

/**
 * fabric_ext_attach() - Connect @port to the outside
 * @label:	what captures and messages call it
 * @ret:	the external end; the link is down until fabric_ext_carrier()
 *
 * Return: 0; -EBUSY the port has a cable; -EINVAL port 0; -ENOMEM
 */
int fabric_ext_attach(struct fabric_port *port, const char *label, const struct fabric_ext_ops *ops,
		      void *ctx, struct fabric_port **ret);
void fabric_ext_detach(struct fabric_port *end, ns_t now);

/* fabric_ext_carrier() - The outside is there, or gone. There is no training time. */
void fabric_ext_carrier(struct fabric_port *end, bool on, ns_t now);

/*
 * fabric_ext_rx() - Packets come in from the outside; takes them. head at the LRH, tail
 * as crc_pkt_seal() leaves it: make them with fabric_pkt_from_wire().
 */
void fabric_ext_rx(struct fabric_port *end, struct pkt **v, unsigned int n, ns_t now);

/*
 * fabric_ext_rx_error() - Something came in that was dropped before it was a packet: the port
 * that the link is at counts it. @physical: by its VCRC; else by its form
 */
void fabric_ext_rx_error(struct fabric_port *end, bool physical);

/**
 * fabric_pkt_from_wire() - A packet from its octets, LRH .. VCRC, with PKT_CRC
 *
 * Headers go to hdr[], pad and CRCs to the tail.
 * Return: 0; -EBADMSG shorter than LRH and CRCs, longer than IB_PKT_MAX, or PktLen is not its length;
 * -ENOBUFS the pool is exhausted
 */
int fabric_pkt_from_wire(struct pkt **ret, struct pkt_pool *pool, const void *data, size_t len);

/*
 * fabric_pkt_from_buf() - The same, but what is long stays where it is, in @b, which gets a
 * reference; @data lies in it
 */
int fabric_pkt_from_buf(struct pkt **ret, struct pkt_pool *pool, struct pkt_buf *b,
			const uint8_t *data, size_t len);

/* fabric_pkt_seal() - See that a packet has right CRCs; a partial checksum is completed first */
void fabric_pkt_seal(struct pkt *p);

/* fabric_pkt_to_wire() - The octets of @p with right CRCs; at most IB_PKT_MAX. Returns how many, 0: too long */
size_t fabric_pkt_to_wire(const struct pkt *p, uint8_t *buf, size_t size);

#endif
