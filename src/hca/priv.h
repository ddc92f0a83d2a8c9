/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_PRIV_H
#define HCA_PRIV_H

/*
 * DOC: Inside the soft HCA
 *
 *	hca.c	creation, drop reasons, notification
 *	qp.c	queue pairs and their receive rings
 *	ah.c	address handles, each with a template of the headers
 *	group.c	map from MGIDs to the QPs that receive them
 *	tx.c	hca_post_send(): headers before the payload, tail after it
 *	rx.c	hca_rx(): checks, then a receive ring
 *	mgmt.c	QP0 and QP1
 *	tail.c	pad octets and CRCs, as configured
 *
 * Every received packet ends in exactly one of three places: at a caller of hca_poll(), in the
 * MAD dispatch of the node, or in one counter of h->drops.
 */

#include "hca/hca.h"
#include "train/train.h"
#include "util/hash.h"
#include "util/list.h"

#define HCA_FIRST_QPN 0x48 /* first QPN for a QP without a hint, as on mlx hardware */
#define HCA_MAX_QPS 256
#define HCA_RX_DEPTH 512
#define HCA_RX_DEPTH_MAX 65536
/*
 * largest number of MADs from a port to its own LIDs that wait until the timer delivers them
 */
#define HCA_MAD_LOOP_MAX 128

/* Result of the checks for a packet that is accepted */
#define HCA_OK HCA_DROP_MAX

struct hca {
	struct node node;
	const struct hca_ops *ops;
	void *ctx;
	struct timers *timers;
	struct pkt_pool *pool;
	const struct log_sink *log;
	enum hca_crc crc;
	bool trains;
	unsigned int max_qps;
	uint32_t next_qpn;
	struct htab qps; /* struct hca_qp; the hash is the QPN */
	struct htab groups; /* struct hca_group by MGID and port */
	struct list ahs;
	struct list ready; /* QPs for which ops->ready() is to be called */
	bool notifying;
	struct pkt_queue *mad_loop; /* queues of MADs that a port sends to itself, by port number */
	struct timer mad_loop_timer;
	uint64_t drops[HCA_DROP_MAX];
};

struct hca_qp {
	struct hlink by_qpn;
	struct hca *hca;
	struct node_port *np;
	void *ctx;
	uint32_t qpn, qkey, psn;
	uint16_t pkey_index;
	uint8_t port;
	bool armed;
	/*
	 * The ring has mask + 1 places, of which tail - head are in use. The places in use hold
	 * .waiting packets, and .waiting is at most .depth.
	 */
	uint32_t head, tail, mask, depth, waiting;
	struct hca_wc *ring;
	struct list ready; /* link in hca->ready */
};

struct hca_ah {
	struct list link; /* link in hca->ahs */
	struct hca_ah_attr attr;
	struct node_port *np;
	bool mcast;
	uint8_t hdr_len; /* octets of tmpl: 28, or 68 with GRH */
	uint8_t vl;
	/*
	 * attributes of the port when the template was made; if the port has other attributes now,
	 * the template is out of date
	 */
	uint32_t port_key;
	uint64_t gid_prefix, guid;
	uint8_t tmpl[IB_UD_HDR_MAX]; /* LRH to DETH; lengths, QPNs and keys are zero */
};

struct hca_member {
	struct hca_qp *qp;
	unsigned int attached; /* number of times that the QP is attached */
};

struct hca_group {
	struct hlink by_mgid;
	ib_gid mgid;
	uint8_t port;
	unsigned int n, cap;
	struct hca_member *member;
};

/* A received packet during the receive checks. */
struct hca_rx_ctx {
	struct hca *hca;
	struct node_port *np;
	struct pkt *pkt; /* the packet; its headers LRH to DETH begin at pkt->hdr[pkt->head] */
	ns_t now;
	unsigned int hdr_len;
	struct ib_ud_hdr hdr;
};

static inline bool hca_port_valid(const struct hca *h, uint8_t port)
{
	return port >= 1 && port <= h->node.info.nports;
}

static inline struct node_port *hca_port(struct hca *h, uint8_t port)
{
	return &h->node.port[port];
}

/* hca_count_xmit() - Count @n sent packets, which together have @words words of 4 octets */
static inline void hca_count_xmit(struct node_port *np, uint8_t sl, unsigned int n, uint32_t words,
				  bool mcast)
{
	np->cnt.xmit_pkts += n;
	np->cnt.xmit_data += words;
	np->cnt.xmit_sl[sl] += words;
	if (mcast)
		np->cnt.mcast_xmit += n;
	else
		np->cnt.ucast_xmit += n;
}

/* qp.c */
struct hca_qp *hca_qp_find(struct hca *h, uint32_t qpn);

/* hca_qp_room() - Return the number of packets for which the receive ring has room */
static inline unsigned int hca_qp_room(const struct hca_qp *qp)
{
	return qp->depth - qp->waiting;
}

/*
 * hca_qp_add() - Append a packet to the ring, which must have room. Return: the new entry; the caller
 * fills in all members of the entry except .pkt
 */
static inline struct hca_wc *hca_qp_add(struct hca_qp *qp, struct pkt *p)
{
	struct hca_wc *wc = &qp->ring[qp->tail++ & qp->mask];

	wc->pkt = p;
	qp->waiting += pkt_count(p);
	return wc;
}

/* hca_qp_take() - Take the first entry out of the ring, which must not be empty */
static inline struct hca_wc hca_qp_take(struct hca_qp *qp)
{
	struct hca_wc wc = qp->ring[qp->head++ & qp->mask];

	qp->waiting -= pkt_count(wc.pkt);
	return wc;
}

/* ah.c */
/* hca_ah_refresh() - Make the template again after a change of LID, LMC, GID, SLtoVL or OperationalVLs */
void hca_ah_refresh(struct hca_ah *ah);
bool hca_ah_stale(const struct hca_ah *ah);
/*
 * hca_sl_to_vl() - Return the VL for @sl at @np; 15 means that packets with this SL are discarded
 */
uint8_t hca_sl_to_vl(const struct node_port *np, uint8_t sl);

/* group.c */
struct hca_group *hca_group_find(struct hca *h, uint8_t port, const ib_gid *mgid);
/* hca_group_forget() - Detach a QP from all its groups */
void hca_group_forget(struct hca_qp *qp);
void hca_group_fini(struct hca *h);

/* tail.c */
/* hca_tail_seal() - Append pad octets and the CRCs that @crc calls for */
void hca_tail_seal(struct pkt *p, enum hca_crc crc);
/*
 * hca_tail_check() - Verify the CRCs that @p has according to its flags. Return: HCA_OK or a reason
 */
enum hca_drop hca_tail_check(const struct pkt *p);

/* rx.c */
/*
 * hca_rx_local() - Receive a packet that this HCA sent to itself. Makes all checks, but does not
 * change the counters of the port. Takes ownership of @p
 */
void hca_rx_local(struct hca *h, uint8_t port, struct pkt *p, ns_t now);

/* mgmt.c */
/*
 * hca_mgmt_rx() - Receive a packet for QP0 or QP1. Return: HCA_OK if the packet was accepted, otherwise the reason to
 * drop it
 */
enum hca_drop hca_mgmt_rx(struct hca_rx_ctx *r);
int hca_mgmt_xmit(void *ctx, uint8_t egress, const struct mad_addr *to, const void *mad, ns_t now);
void hca_mgmt_loop(struct timer *t, ns_t now);

/* hca.c */
/*
 * hca_notify() - Call ops->ready() for armed QPs that have received packets. The caller calls this
 * function after a batch of packets, never while a batch is processed
 */
void hca_notify(struct hca *h);

#endif
