/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

/*
 * DOC: Soft fabric
 *
 * A fabric has the HCAs and switches of a topology, and the links between them. Every port has two
 * egress queues, one for VL15, which is served first, and one for data. A port with a packet in a
 * queue is ready. fabric_run() takes the ready ports in turn and moves up to PKT_BATCH packets of
 * each to the other end of its link. An HCA at the other end consumes the packets, and a switch
 * puts them into its egress queues. So delivery is not recursive. Packets in a forwarding loop are
 * discarded when they have used up their hop budget (PKT_HOPS links).
 *
 * A link is up while it is enabled, both ends take part, the rates of the ends match, and training
 * is over. The port of a node takes part if its PortPhysicalState is neither Disabled nor Sleep,
 * and an external end takes part if it has carrier. When a link goes down, the packets in the
 * queues and devices of both ends are discarded and counted.
 *
 * Devices (faults, captures) are stacked on one direction of a link, at the egress of a port.
 *
 * The caller calls timers_run(cfg.timers, now), and then fabric_run() until it returns false.
 */

#include "topo/topo.h"
#include "hca/hca.h"
#include "util/log.h"
#include "util/pkt.h"
#include "util/timer.h"

#define FABRIC_RETRAIN NS_MSEC(10) /* duration of training, after which a link is up */
#define FABRIC_NAME_MAX (TOPO_NAME_MAX + 5) /* room for a name such as "Switch1/254" */

struct fabric;
struct fabric_node; /* a CA or a switch */
struct fabric_port; /* one end of a link, with its egress queues */

/* Why a link or a switch discarded a packet. HCAs have their own reasons (enum hca_drop). */
enum fabric_drop {
	/* the port has no link, or the link went down while the packet was queued or in flight */
	FABRIC_DROP_LINK_DOWN,
	FABRIC_DROP_QUEUE, /* the egress queue is full */
	/*
	 * the packet crossed more than PKT_HOPS links, or left the fabric by external ends too
	 * often
	 */
	FABRIC_DROP_HOPS,
	FABRIC_DROP_LEN, /* the packet is shorter than its headers, or its PktLen is wrong */
	FABRIC_DROP_VERSION, /* LVer is not 0 */
	FABRIC_DROP_VCRC,
	FABRIC_DROP_STATE_IN, /* a data packet arrived at a port that is neither Armed nor Active */
	FABRIC_DROP_STATE_OUT, /* a data packet has to leave by a port that is not Active */
	/*
	 * a packet on VL15 is not for QP0, has a GRH or is multicast; or a packet for QP0 is not on
	 * VL15
	 */
	FABRIC_DROP_VL15,
	/* the DLID is 0, permissive, above LinearFDBTop, or has no port in the LFT */
	FABRIC_DROP_DLID,
	FABRIC_DROP_LOOP, /* the LFT points to the ingress port */
	/* the MFT has no port for the MLID, or the MLID is beyond the end of the MFT */
	FABRIC_DROP_MLID,
	FABRIC_DROP_VL, /* SLtoVL maps the SL to VL15 */
	FABRIC_DROP_MTU, /* the payload is larger than NeighborMTU of the egress port */
	FABRIC_DROP_PKEY_IN, /* refused by P_Key enforcement at the ingress port */
	FABRIC_DROP_PKEY_OUT,
	FABRIC_DROP_RAW_IN, /* the ingress port filters out raw packets */
	FABRIC_DROP_RAW_OUT,
	FABRIC_DROP_PORT0, /* a packet for switch port 0 is not a MAD for QP0 or QP1 */
	FABRIC_DROP_PORT0_KEY, /* a MAD for switch port 0 has a wrong P_Key or Q_Key */
	FABRIC_DROP_ICRC, /* the ICRC of a packet for port 0 of a switch is wrong */
	FABRIC_DROP_NO_MEM, /* no packet buffer is left for a copy */
	/* the packet came in by an external end that does not lead to the packet's SLID */
	FABRIC_DROP_SLID,
	FABRIC_DROP_MAX,
};
/* Return the name of a reason, such as "hop-limit"; never NULL. */
const char *fabric_drop_name(enum fabric_drop d);

struct fabric_cfg {
	struct timers *timers;
	struct pkt_pool *pool;
	const struct log_sink *log; /* may be NULL */
	enum hca_crc crc; /* CRCs that packets have on links between nodes of this fabric */
	/*
	 * Forward a train (several packets in one struct pkt, train/train.h) as a whole where the
	 * effect is the same as for single packets
	 */
	bool trains;
	/* largest number of packets in an egress queue for data; 0: 2048 */
	unsigned int data_depth;
	/* largest number of packets in an egress queue for VL15; 0: 1024 */
	unsigned int vl15_depth;
	/* largest number of queue pairs of an HCA; 0: the default of hca_create() */
	unsigned int max_qps;
	uint64_t seed; /* seed of the random generators of faults */
};

/**
 * fabric_create() - Build the fabric of a topology; its links come up without training
 *
 * All pointers of @cfg are borrowed; @t is not needed after the call.
 * Return: 0; -EINVAL: the topology has no node; -ENOMEM; the error of hca_create()
 */
int fabric_create(struct fabric **ret, const struct topo *t, const struct fabric_cfg *cfg,
		  ns_t now);
/* Free the fabric with its nodes, HCAs and queued packets; NULL is accepted. */
void fabric_destroy(struct fabric *f);

/**
 * fabric_run() - Move packets
 *
 * Takes ready ports in turn, and moves a batch of packets from each, until no port is ready or the budget of one call
 * is used up.
 * Return: true if ports are still ready
 */
bool fabric_run(struct fabric *f, ns_t now);

/*
 * fabric_queued() - Return the number of packets in all egress queues that are not stalled. Links
 * of the fabric have no flow control by credits, so a source that can wait should not send while
 * this number is high. Otherwise queues overflow where hardware would have stopped the sender.
 */
unsigned int fabric_queued(const struct fabric *f);

/* The data queue at the egress of a port. On a CA, it is the send queue of all queue pairs. */
struct fabric_send_queue {
	unsigned int waiting; /* packets in the queue */
	uint64_t sent; /* packets that have left the queue */
	bool stalled; /* the port sends no data, as if its link had no credits */
};
struct fabric_send_queue fabric_send_queue(const struct fabric_port *p);
/* fabric_send_flush() - Discard the packets in the data queue of a port, and return their number */
unsigned int fabric_send_flush(struct fabric_port *p, ns_t now);

struct fabric_stats {
	uint64_t hops; /* packets moved over links */
	uint64_t drops[FABRIC_DROP_MAX]; /* packets discarded at all nodes, by reason */
};
const struct fabric_stats *fabric_stats(const struct fabric *f);

/* --- nodes, in the order of the topology */

unsigned int fabric_nnodes(const struct fabric *f);
struct fabric_node *fabric_node_at(struct fabric *f, unsigned int index);
/*
 * fabric_node_find() - Find a node by name, or by NodeDescription if only one node has it; NULL:
 * none
 */
struct fabric_node *fabric_node_find(struct fabric *f, const char *name);
const char *fabric_node_name(const struct fabric_node *n);
struct fabric *fabric_node_fabric(const struct fabric_node *n);
/*
 * Return the struct node of a fabric node, with the SMA, PMA, tables and MAD endpoints of the node.
 * A switch has one MAD endpoint, port[0].ep.
 */
struct node *fabric_node_node(struct fabric_node *n);
/* Return the HCA of a node, NULL for a switch. */
struct hca *fabric_node_hca(struct fabric_node *n);
uint64_t fabric_node_drops(const struct fabric_node *n, enum fabric_drop d);

/*
 * Callbacks for events of a node, called from fabric_run(), timers or hca calls. Both callbacks may
 * be NULL.
 */
struct fabric_notify {
	void (*event)(void *ctx, struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now);
	void (*ready)(void *ctx, struct hca_qp *qp); /* see hca_ops.ready */
};
/* Set the callbacks of a node; @fn is copied, NULL means no callbacks. */
void fabric_set_hca_notify(struct fabric *f, struct fabric_node *n, const struct fabric_notify *fn,
			   void *ctx);

/* --- ports and links */

/**
 * fabric_port_find() - Find a port by "NODE/PORT", where the number of the port follows the last '/'
 *
 * Switches have a port 0, which has no link.
 * Return: 0; -EINVAL: no '/' or number; -ENOENT: no such node; -ERANGE: no such port
 */
int fabric_port_find(struct fabric *f, const char *name, struct fabric_port **ret);
/* Return port @num of @n, NULL if there is no such port. */
struct fabric_port *fabric_node_port(struct fabric_node *n, unsigned int num);
/* Return the node of a port, NULL for an external end. */
struct fabric_node *fabric_port_node(const struct fabric_port *p);
unsigned int fabric_port_num(const struct fabric_port *p);
/* Return the other end of the cable, NULL without a cable. */
struct fabric_port *fabric_port_peer(const struct fabric_port *p);
/* Write the name of a port, such as "Switch1/7", or the label of an external end. Return: @buf */
char *fabric_port_name(const struct fabric_port *p, char *buf, size_t size);

enum fabric_link_state {
	FABRIC_LINK_NONE, /* there is no cable */
	FABRIC_LINK_DISABLED, /* disabled by fabric_link_set() */
	/* an end is disabled, asleep or has no carrier, or the rates do not match */
	FABRIC_LINK_DOWN,
	/* the link comes up after it has been in this state for FABRIC_RETRAIN */
	FABRIC_LINK_TRAINING,
	FABRIC_LINK_UP,
};
enum fabric_link_state fabric_link_state(const struct fabric_port *p);
const char *fabric_link_state_name(enum fabric_link_state s);
/*
 * fabric_link_retrains() - Tell whether the link of @p goes down only for a moment, because a
 * Set(PortInfo) retrains it. To be called inside fabric_ext_ops.want(), to find out the reason why
 * @on is false there: a retrain, or an end that was disabled
 */
bool fabric_link_retrains(const struct fabric_port *p);

/*
 * fabric_link_set() - Disable the link of @p, or enable the link, which then trains and comes up.
 * Return: 0; -ENOTCONN: no cable
 */
int fabric_link_set(struct fabric_port *p, bool up, ns_t now);

/**
 * fabric_inject() - Put a packet on the link of a CA port or switch port as if its node had sent it
 * @p:	packet, of which the function takes ownership. Its head is at the LRH, and its tail is as
 *	crc_pkt_seal() makes it, or damaged on purpose
 *
 * Tests use this function to see how other nodes handle the packet.
 */
void fabric_inject(struct fabric_port *port, struct pkt *p, ns_t now);

/* --- external ends: ends of links that belong not to a node of this fabric, but to a UDP link or a test */

struct fabric_ext_ops {
	/*
	 * Send packets to the outside; takes ownership of them. The headers from LRH to DETH are in
	 * hdr[]. The CRCs are valid if PKT_CRC is set. If fabric_ext_ops.trains is false, trains
	 * are cut into single packets before the call.
	 */
	void (*tx)(void *ctx, struct pkt **v, unsigned int n, ns_t now);
	/* The link changed its state; may be NULL. */
	void (*state)(void *ctx, enum fabric_link_state state, ns_t now);
	/*
	 * Tells the external end that the node's side of the link is ready (@on) or not ready. The node's side is
	 * ready from the start, except while fabric_link_set() or a Set(PortInfo) at the node's port disables it. A
	 * retrain calls the function with false, then with true. May be NULL.
	 */
	void (*want)(void *ctx, bool on, ns_t now);
	/*
	 * True if the end belongs to this fabric, for example the end of a test that plays several nodes. Packets
	 * from all other ends have an unknown sender and hop budget, so their SLIDs and their number of passages
	 * through external ends are checked (fabric/border.c).
	 */
	bool inside;
	bool trains; /* true if tx() accepts trains */
};

/* Largest number of times that a packet from outside the fabric can leave by external ends */
#define FABRIC_TRANSITS_MAX 63

/**
 * fabric_ext_attach() - Connect @port to the outside
 * @label:	name of the end in captures and messages
 * @ret:	the external end; the link is down until fabric_ext_carrier()
 *
 * Return: 0; -EBUSY: the port has a cable; -EINVAL: port 0; -ENOMEM
 */
int fabric_ext_attach(struct fabric_port *port, const char *label, const struct fabric_ext_ops *ops,
		      void *ctx, struct fabric_port **ret);
void fabric_ext_detach(struct fabric_port *end, ns_t now);

/*
 * fabric_ext_carrier() - Set or clear the carrier of an external end. With a carrier the link comes
 * up at once, without training.
 */
void fabric_ext_carrier(struct fabric_port *end, bool on, ns_t now);

/*
 * fabric_ext_rx() - Let packets in from the outside; takes ownership of them. The caller makes the packets with
 * fabric_pkt_from_buf(), because the packet's head must be at the LRH, and the tail must be as crc_pkt_seal()
 * makes it. A caller that has checked the VCRC of a packet sets PKT_VCRC_OK. A fabric with lazy
 * CRCs then does not check this VCRC again.
 */
void fabric_ext_rx(struct fabric_port *end, struct pkt **v, unsigned int n, ns_t now);

/*
 * fabric_ext_rx_error() - Count an error at the node's port: data from the outside were dropped before they became a
 * packet. @physical: true for a wrong VCRC, false for malformed data
 */
void fabric_ext_rx_error(struct fabric_port *end, bool physical);

/**
 * fabric_pkt_from_buf() - Make a packet with PKT_CRC from its octets, LRH to VCRC
 * @b:		buffer in which @data is
 *
 * Headers go to hdr[], pad octets and CRCs to the tail. A long payload is not copied but stays in @b, to which the
 * packet has a reference.
 * Return: 0; -EBADMSG: @len is too short for LRH and CRCs, exceeds IB_PKT_MAX, or contradicts
 * PktLen; -ENOBUFS: the pool is exhausted
 */
int fabric_pkt_from_buf(struct pkt **ret, struct pkt_pool *pool, struct pkt_buf *b,
			const uint8_t *data, size_t len);

/* fabric_pkt_seal() - Compute the CRCs of a packet that has none */
void fabric_pkt_seal(struct pkt *p);

/*
 * fabric_pkt_to_wire() - Write the octets of @p, with CRCs even if @p has none. Return: number of
 * octets; 0 if the packet is larger than @size or shorter than any valid packet
 */
size_t fabric_pkt_to_wire(const struct pkt *p, uint8_t *buf, size_t size);

#endif
