/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_FABRIC_PRIV_H
#define FABRIC_FABRIC_PRIV_H

/* What the files of fabric/ share. */

#include "fabric/fabric.h"
#include "fabric/trace.h"
#include "util/hash.h"
#include "util/list.h"

#define FABRIC_DATA_DEPTH 2048
#define FABRIC_VL15_DEPTH 1024
#define FABRIC_BUDGET 4096 /* packets of one fabric_run() */
/* A Set(PortInfo) that takes the link down is answered over it first. */
#define FABRIC_ACT_DELAY NS_MSEC(1)

/* Egress classes, the first goes first. */
enum fabric_queue {
	FABRIC_Q_VL15,
	FABRIC_Q_DATA,
	FABRIC_NQUEUES,
};

enum fabric_port_kind {
	PORT_CA,
	PORT_SWITCH,
	PORT_ZERO, /* of a switch: what it sends by LID enters the switch itself */
	PORT_EXT,
};

struct fabric_link {
	struct list all;
	struct fabric *f;
	struct fabric_port *end[2];
	enum fabric_link_state state;
	bool enabled, bounce;
	struct timer train; /* -> up */
	struct timer act; /* do what a node asked for */
};

struct fabric_port {
	enum fabric_port_kind kind;
	uint8_t num;
	bool up; /* packets may enter the egress queue */
	bool is_ready;
	struct fabric_port *peer; /* where packets arrive; PORT_ZERO: itself */
	struct fabric_port *next_ready;
	struct node_port *np; /* NULL: external */
	struct fabric_node *node;
	struct fabric *f;
	struct pkt_queue q[FABRIC_NQUEUES];
	struct list devs; /* struct fabric_dev.on_port, in the order of passing */
	struct fabric_link *link;

	const struct fabric_ext_ops *ext;
	void *ext_ctx;
	bool carrier;
	bool wanted; /* what ext->want() was told last */
	char *label;
};

struct fabric_node {
	struct hnode by_name;
	char name[TOPO_NAME_MAX + 1];
	struct fabric *f;
	struct node *node;
	struct hca *hca; /* NULL: a switch */
	struct node sw; /* a switch's own */
	struct fabric_port *port; /* [0 .. nports] */
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
	unsigned int queued; /* packets in all egress queues */
	bool running;
	ns_t now; /* of the last call that brought a time */
	bool tracing;
	struct fabric_trace trace;
	struct fabric_stats stats;
	struct list faults;
	unsigned int last_fault;
};

/* --- devices: stacked on the egress of a port */

struct fabric_dev;

struct fabric_dev_ops {
	/* Packets pass: take out, add, change. What is left in @q goes on. */
	void (*pass)(struct fabric_dev *d, struct pkt_queue *q, ns_t now);
	/* The link went down: give up what is held. May be NULL. */
	void (*flush)(struct fabric_dev *d);
	/* The port goes away; it is unlinked already. */
	void (*gone)(struct fabric_dev *d);
};

struct fabric_dev {
	struct list on_port;
	const struct fabric_dev_ops *ops;
	struct fabric_port *port;
};

void fabric_dev_add(struct fabric_port *p, struct fabric_dev *d, const struct fabric_dev_ops *ops);
void fabric_dev_del(struct fabric_dev *d);
/* What @d held goes on to the devices after it and over the link. */
void fabric_dev_emit(struct fabric_dev *d, struct pkt_queue *q, ns_t now);

/* The same, and @d is unlinked before the packets move. */
void fabric_dev_emit_last(struct fabric_dev *d, struct pkt_queue *q, ns_t now);

/* --- port.c */

/* Into the egress queue, or discarded and counted at @p; takes @pkt. 0 or why not */
enum fabric_drop fabric_port_send(struct fabric_port *p, struct pkt *pkt);
#define FABRIC_SENT FABRIC_DROP_MAX

/* Discard, counted at @p's node, traced; takes @pkt. */
void fabric_port_drop(struct fabric_port *p, struct pkt *pkt, enum fabric_drop why, ns_t now);
void fabric_port_purge(struct fabric_port *p);
/* Take a port that goes away off the ready list. */
void fabric_unready(struct fabric *f, struct fabric_port *p);

/* --- link.c */
int fabric_link_new(struct fabric *f, struct fabric_port *a, struct fabric_port *b);
void fabric_link_free(struct fabric_link *l);
/* See whether the link may be up; @at_once: without training */
void fabric_link_update(struct fabric_link *l, bool at_once, ns_t now);
/* A node asked for something: Down (retrain) or another physical state */
void fabric_link_event(struct fabric_port *p, enum node_event ev, ns_t now);

/* --- switch.c, switch_port0.c */
extern const struct node_ops fabric_switch_ops;
/* Packets arrive at a switch; takes them. */
void fabric_switch_rx(struct fabric_port *in, struct pkt **v, unsigned int n, ns_t now);
/* For port 0: a MAD of its QP0 or QP1, or nothing; takes @p. */
void fabric_switch_rx_port0(struct fabric_port *in, struct pkt *p, ns_t now);

/* What a node's owner is told; also acts upon the link. */
void fabric_node_event(struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now);

/* --- trace.c; called only while f->tracing */
void fabric_trace_emit(struct fabric *f, struct fabric_trace_event *ev);
bool fabric_trace_wants(const struct fabric *f, const struct pkt *p);
/* hca_rx(), with the verdict for each packet that is of interest */
void fabric_trace_hca_rx(struct fabric_port *to, struct pkt **v, unsigned int n, ns_t now);
void fabric_trace_sent(struct fabric_port *from, const struct pkt *p, ns_t now);

/* ext.c */
/* Octet @off of the payload after pkt_unshare(): one slice, in a buffer that is ours alone */
uint8_t *fabric_own_octet(const struct pkt *p, uint32_t off);

/* --- LRH fields of a packet whose LRH lies in hdr[] */
static inline uint16_t pkt_dlid(const struct pkt *p)
{
	return be16_at(p->hdr + p->head + 2);
}

static inline uint8_t pkt_sl(const struct pkt *p)
{
	return p->hdr[p->head + 1] >> 4;
}

/* PktLen: LRH .. ICRC in words, as PortXmitData counts (IBTA 16.1.3.5) */
static inline unsigned int pkt_words(const struct pkt *p)
{
	return (p->len + p->tail_len - 2u) / 4;
}

/* fabric_sum() - What a batch adds to a port's counters; what is too short for an LRH has no SL */
struct fabric_sum {
	uint64_t words;
	unsigned int mcast;
};
struct fabric_sum fabric_sum(struct pkt **v, unsigned int n, uint64_t by_sl[PMA_SLS]);

#endif
