/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FABRIC_PRIV_H
#define FABRIC_FABRIC_PRIV_H

/* Declarations that the files of fabric/ share. */

#include "fabric/fabric.h"
#include "fabric/trace.h"
#include "train/train.h"
#include "util/hash.h"
#include "util/list.h"

#define FABRIC_DATA_DEPTH 2048
#define FABRIC_VL15_DEPTH 1024
#define FABRIC_BUDGET 4096 /* number of packets after which fabric_run() returns */
/*
 * Delay between a Set(PortInfo) that takes the link down and the moment at which the link goes
 * down, so that the response can still cross the link.
 */
#define FABRIC_ACT_DELAY NS_MSEC(1)

/* Egress queues of a port, in the order in which they are served. */
enum fabric_queue {
	FABRIC_Q_VL15,
	FABRIC_Q_DATA,
	FABRIC_NQUEUES,
};

enum fabric_port_kind {
	PORT_CA,
	PORT_SWITCH,
	PORT_ZERO, /* port 0 of a switch; LID-routed packets that it sends enter this switch */
	PORT_EXT,
};

struct fabric_link {
	struct list all;
	struct fabric *f;
	struct fabric_port *end[2];
	enum fabric_link_state state;
	bool enabled, bounce;
	struct timer train; /* timer for the end of training */
	/*
	 * timer that applies a Set(PortInfo) to the link, FABRIC_ACT_DELAY after
	 * fabric_link_event()
	 */
	struct timer act;
};

struct fabric_port {
	enum fabric_port_kind kind;
	uint8_t num;
	bool up; /* true while packets may enter the egress queues */
	bool is_ready;
	unsigned int stalls; /* number of faults that stop the data queue */
	uint64_t sent; /* data packets that have left the queue */
	/*
	 * the port at the other end of the link, which receives the packets of this port; a port of
	 * kind PORT_ZERO is its own peer
	 */
	struct fabric_port *peer;
	struct fabric_port *next_ready;
	/* port of the node; NULL for a port of kind PORT_EXT, which uses .ext */
	struct node_port *np;
	struct fabric_node *node;
	struct fabric *f;
	struct pkt_queue q[FABRIC_NQUEUES];
	struct list devs; /* devices in the order in which packets pass them (fabric_dev.on_port) */
	struct fabric_link *link;

	const struct fabric_ext_ops *ext;
	void *ext_ctx;
	bool carrier;
	bool wanted; /* argument of the last call of ext->want() */
	char *label;
};

struct fabric_node {
	struct hlink by_name;
	char name[TOPO_NAME_MAX + 1];
	struct fabric *f;
	struct node *node; /* part of .hca for a CA; allocated separately for a switch */
	struct hca *hca; /* HCA of a CA, NULL for a switch */
	struct fabric_port *port; /* array of the ports 0 to node->info.nports */
	struct fabric_notify notify;
	void *notify_ctx;
	uint64_t drops[FABRIC_DROP_MAX];
};

struct fabric {
	struct fabric_cfg cfg;
	struct fabric_node **node;
	unsigned int nnodes;
	struct htab names;
	struct list links;
	struct fabric_port *ready_head, *ready_tail;
	unsigned int depth[FABRIC_NQUEUES];
	unsigned int queued; /* number of packets in all egress queues except stalled data queues */
	bool running;
	ns_t now; /* time of the last call of a function that has an argument now */
	bool tracing;
	struct fabric_trace trace;
	struct fabric_stats stats;
	struct list faults;
	unsigned int last_fault;
};

/* --- devices: stacked on the egress of a port */

struct fabric_dev;

struct fabric_dev_ops {
	/* Handle the packets in @q. The device may remove packets from @q and add packets to it. */
	void (*pass)(struct fabric_dev *d, struct pkt_queue *q, ns_t now);
	/* The link went down, so discard the packets that the device holds. May be NULL. */
	void (*flush)(struct fabric_dev *d);
	/* The port is destroyed, and the device is unlinked already: free the device. */
	void (*gone)(struct fabric_dev *d);
};

struct fabric_dev {
	struct list on_port;
	const struct fabric_dev_ops *ops;
	struct fabric_port *port;
};

void fabric_dev_add(struct fabric_port *p, struct fabric_dev *d, const struct fabric_dev_ops *ops);
void fabric_dev_del(struct fabric_dev *d);
/* Pass the packets in @q, which @d held back, through the devices after @d and over the link. */
void fabric_dev_emit(struct fabric_dev *d, struct pkt_queue *q, ns_t now);

/* Unlink @d, and then pass packets on as fabric_dev_emit() does. */
void fabric_dev_emit_last(struct fabric_dev *d, struct pkt_queue *q, ns_t now);

/* --- port.c */

/*
 * Put @pkt into an egress queue of @p. If @p cannot send @pkt, discard @pkt and count the discard
 * at @p. Takes ownership of @pkt. Return: FABRIC_SENT or the reason for the discard
 */
enum fabric_drop fabric_port_send(struct fabric_port *p, struct pkt *pkt);
#define FABRIC_SENT FABRIC_DROP_MAX

/* Discard @pkt, count it at the node of @p, and trace it; takes ownership of @pkt. */
void fabric_port_drop(struct fabric_port *p, struct pkt *pkt, enum fabric_drop why, ns_t now);
void fabric_port_purge(struct fabric_port *p);
/*
 * If @on, stop the data queue of @p; otherwise undo one earlier stop. The queue sends again when
 * all stops are undone.
 */
void fabric_port_stall(struct fabric_port *p, bool on);
/* Remove a port from the ready list, because the port is about to be freed. */
void fabric_unready(struct fabric *f, struct fabric_port *p);

/* --- link.c */
int fabric_link_new(struct fabric *f, struct fabric_port *a, struct fabric_port *b);
void fabric_link_free(struct fabric_link *l);
/*
 * Bring the link up if both ends are ready; otherwise take it down. With @at_once the link comes up
 * without training.
 */
void fabric_link_update(struct fabric_link *l, bool at_once, ns_t now);
/*
 * Apply a Set(PortInfo) to the link of @p after FABRIC_ACT_DELAY: NODE_EV_RETRAIN (PortState Down)
 * retrains the link; NODE_EV_PHYS adapts the link to a new physical state or new enabled rates.
 */
void fabric_link_event(struct fabric_port *p, enum node_event ev, ns_t now);

/* --- switch.c, switch_port0.c */
extern const struct node_ops fabric_switch_ops;
/* Handle packets that arrive at a switch; takes ownership of them. */
void fabric_switch_rx(struct fabric_port *in, struct pkt **v, unsigned int n, ns_t now);
/* Handle a packet for port 0, which accepts MADs for QP0 and QP1 only; takes ownership of @p. */
void fabric_switch_rx_port0(struct fabric_port *in, struct pkt *p, ns_t now);
/*
 * Handle the SMP in @p without making another packet: change the SMP in place and forward @p, or
 * let the SMA write its response into @p. Return: true if the function took ownership of @p; false
 * if @p cannot be handled in this way and has to be handled like any other packet
 */
bool fabric_switch_smp(struct fabric_port *in, struct pkt *p, ns_t now);

/* Apply event @ev to the link of port @port, and tell the owner of @n (struct fabric_notify). */
void fabric_node_event(struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now);

/* --- trace.c; called only while f->tracing */
void fabric_trace_emit(struct fabric *f, struct fabric_trace_event *ev);
bool fabric_trace_wants(const struct fabric *f, const struct pkt *p);
/* Call hca_rx(), and trace the fate of each packet that matches the condition of the trace. */
void fabric_trace_hca_rx(struct fabric_port *to, struct pkt **v, unsigned int n, ns_t now);
void fabric_trace_sent(struct fabric_port *from, const struct pkt *p, ns_t now);

/* Tell whether the LFT of a switch has an entry for a unicast LID. */
static inline bool fabric_lft_has(const struct node_switch *s, uint16_t lid)
{
	return lid && lid <= s->si.lft_top && lid < IB_LID_MCAST_MIN;
}

/* --- border.c */
/* Tell whether the SLID in @lrh can be genuine in a packet that came in at @in, a switch port with an external end */
bool fabric_border_slid_ok(const struct fabric_port *in, const uint8_t *lrh);
/*
 * Count that @p leaves by an external end, if it came in by one. The count is in the packet itself
 * (fabric/border.c). Return: false if @p must not leave, because the count is at its limit, or
 * because @p has no BTH, which holds the count
 */
bool fabric_border_transit(struct pkt *p);

/* ext.c */
/*
 * Return a pointer to octet @off of the payload of @p. The caller must have called pkt_unshare(), so the
 * payload is one slice in a buffer that no other packet uses.
 */
uint8_t *fabric_own_octet(const struct pkt *p, uint32_t off);

/* --- LRH fields of a packet whose LRH is in hdr[] */
static inline uint16_t pkt_dlid(const struct pkt *p)
{
	return be16_at(p->hdr + p->head + 2);
}

static inline uint8_t pkt_sl(const struct pkt *p)
{
	return p->hdr[p->head + 1] >> 4;
}

/*
 * Return PktLen, the number of 4-octet words from LRH to ICRC, as PortXmitData counts them (IBTA 16.1.3.5). For a
 * train, return the sum of its packets.
 */
static inline unsigned int pkt_words(const struct pkt *p)
{
	return pkt_is_train(p) ? train_words(p) : (p->len + p->tail_len - 2u) / 4;
}

/* Count a unicast packet that port 0 of a switch receives. */
static inline void fabric_port0_count(struct fabric_port *port0, const struct pkt *p, uint8_t sl)
{
	struct node_counters *c = &port0->np->cnt;

	c->rcv_pkts += pkt_count(p);
	c->ucast_rcv += pkt_count(p);
	c->rcv_data += pkt_words(p);
	c->rcv_sl[sl] += pkt_words(p);
}

/*
 * fabric_sum() - Sum up the amounts by which a batch of packets raises the counters of a port. Packets that are too
 * short for an LRH are not counted by SL
 */
struct fabric_sum {
	uint64_t words;
	unsigned int packets, mcast;
};
struct fabric_sum fabric_sum(struct pkt **v, unsigned int n, uint64_t by_sl[PMA_SLS]);

#endif
