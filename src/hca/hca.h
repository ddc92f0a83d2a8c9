/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_HCA_H
#define HCA_HCA_H

/*
 * DOC: Soft HCA
 *
 * A channel adapter in software: UD queue pairs, address handles with a precomputed header, receive rings, multicast
 * filtering by MGID, QP0 and QP1. Packets leave by ops->xmit() with all headers (LRH to DETH) and CRCs, and come in
 * by hca_rx(). The HCA does not know to what its ports are connected.
 */

#include "node/node.h"
#include "wire/ib_hdr.h"

struct hca_qp;
struct hca_ah;

enum hca_drop {
	HCA_DROP_LEN, /* the length fields contradict each other, or the packet ends within its headers */
	HCA_DROP_VERSION, /* unknown LVer, TVer, GRH version, next header or opcode */
	HCA_DROP_ICRC,
	HCA_DROP_VCRC,
	HCA_DROP_PORT_STATE, /* a data packet at a port in state Down or Init */
	/*
	 * On receive: a packet on VL15 is not for QP0, has a GRH or is multicast, or a packet for
	 * QP0 is not on VL15. On send: SLtoVL maps the SL to VL15.
	 */
	HCA_DROP_VL15,
	HCA_DROP_DLID,
	HCA_DROP_DGID,
	HCA_DROP_QPN, /* no QP has this number at this port */
	HCA_DROP_QP_STATE, /* the QP was reset or destroyed while the packet waited in its queue */
	/*
	 * on receive: the packet's P_Key does not match that of the QP; on send: the QP's P_Key is
	 * invalid
	 */
	HCA_DROP_PKEY,
	HCA_DROP_QKEY,
	HCA_DROP_MGID, /* no QP of this HCA is attached to the group */
	HCA_DROP_NO_GRH, /* multicast without GRH */
	HCA_DROP_NO_RX, /* receive queue full */
	HCA_DROP_MTU, /* the payload exceeds the MTU of the port */
	HCA_DROP_NO_MEM,
	HCA_DROP_TX_STATE, /* a QP sent on a port that is not Active */
	HCA_DROP_MAX,
};
const char *hca_drop_name(enum hca_drop d);

struct hca_ops {
	/* Send @p over the link; takes ownership of it. Headers, CRCs and p->vl are complete. */
	void (*xmit)(void *ctx, uint8_t port, struct pkt *p, ns_t now);
	void (*event)(void *ctx, uint8_t port, enum node_event ev, ns_t now);
	/*
	 * The receive queue of an armed QP is no longer empty. Called once for each time that the QP is armed, after
	 * the batch of packets was processed, so the function may poll, send, arm and destroy QPs.
	 */
	void (*ready)(void *ctx, struct hca_qp *qp);
};

struct hca_cfg {
	struct node_cfg node;
	/*
	 * CRCs of the packets that the HCA sends:
	 *
	 * HCA_CRC_FULL: ICRC and VCRC
	 * HCA_CRC_ICRC: only the ICRC, except MADs, which have both CRCs
	 * HCA_CRC_LAZY: none. Both CRCs are computed later, where a capture or another process
	 * sees the packet, or a fault can damage it
	 */
	enum hca_crc { HCA_CRC_FULL, HCA_CRC_ICRC, HCA_CRC_LAZY } crc;
	/*
	 * Trains (several packets in one struct pkt, train/train.h) are passed on as a whole where
	 * the effect is the same as for single packets. The HCA cuts them in all other cases, and
	 * always if .trains is false.
	 */
	bool trains;
	unsigned int max_qps; /* largest number of QPs; 0 for HCA_MAX_QPS */
};

struct hca;

/*
 * hca_create() - Create an HCA. All pointers except @cfg are borrowed until hca_destroy(). Return:
 * 0, -EINVAL, -ENOMEM.
 */
int hca_create(struct hca **ret, const struct hca_cfg *cfg, const struct hca_ops *ops, void *ctx,
	       struct timers *timers, struct pkt_pool *pool, const struct log_sink *log);
/* hca_destroy() - Destroy an HCA with its remaining QPs and AHs; NULL is accepted */
void hca_destroy(struct hca *h);

struct node *hca_node(struct hca *h);
uint64_t hca_drops(const struct hca *h, enum hca_drop d);
/* hca_trains() - Tell whether callers should post trains */
bool hca_trains(const struct hca *h);

/* hca_rx() - Receive packets from the link at @port; takes ownership of them */
void hca_rx(struct hca *h, uint8_t port, struct pkt **v, unsigned int n, ns_t now);

struct hca_qp_attr {
	uint8_t port;
	uint16_t pkey_index;
	uint32_t qkey;
	/* largest number of packets in the receive queue; 0 for HCA_RX_DEPTH */
	unsigned int rx_depth;
	uint32_t qpn_hint; /* QPN to use if it is free; 0 for any */
};

/*
 * hca_qp_create() - Make a queue pair. Return: 0; -EINVAL: wrong port, P_Key index or depth; -ENOSPC: no QPN is free;
 * -ENOMEM
 */
int hca_qp_create(struct hca *h, const struct hca_qp_attr *attr, void *ctx, struct hca_qp **ret);
void hca_qp_destroy(struct hca_qp *qp);
/*
 * hca_qp_modify() - Change the P_Key index and Q_Key of a QP, as if the QP went through the states
 * RESET, INIT, RTR and RTS. Packets in its receive queue are dropped, but the QP stays attached to
 * its groups. Return: 0; -EINVAL: wrong P_Key index
 */
int hca_qp_modify(struct hca_qp *qp, uint16_t pkey_index, uint32_t qkey);
uint32_t hca_qp_num(const struct hca_qp *qp);
void *hca_qp_ctx(const struct hca_qp *qp);

/*
 * hca_attach() - Receive packets that are sent to @mgid; a QP that attaches twice must detach twice.
 * The filter is the MGID alone, as in hardware, because the MLID of a group may change.
 * Return: 0; -EINVAL: @mgid or @mlid is not multicast; -ENOMEM
 */
int hca_attach(struct hca_qp *qp, const ib_gid *mgid, uint16_t mlid);
/*
 * hca_detach() - Undo one hca_attach(). Return: 0; -EINVAL: @mgid or @mlid is not multicast;
 * -ENOENT: not attached
 */
int hca_detach(struct hca_qp *qp, const ib_gid *mgid, uint16_t mlid);

struct hca_ah_attr {
	uint8_t port;
	uint8_t sl;
	uint8_t src_path_bits;
	uint16_t dlid;
	uint8_t static_rate; /* stored, but has no effect */
	bool has_grh;
	uint8_t sgid_index, tclass, hop_limit;
	uint32_t flow_label;
	ib_gid dgid;
};
/*
 * hca_ah_create() - Make an address handle. Return: 0; -EINVAL: wrong port, SL or GID index, DLID 0
 * or permissive, multicast DLID without MGID; -ENOMEM
 */
int hca_ah_create(struct hca *h, const struct hca_ah_attr *attr, struct hca_ah **ret);
void hca_ah_destroy(struct hca_ah *ah);

/* One send. @pkt may be a train. It begins with the payload; the HCA adds LRH to DETH. */
struct hca_send {
	struct pkt *pkt;
	struct hca_ah *ah;
	uint32_t dest_qp;
	uint32_t qkey; /* Q_Key; a value with bit 31 set means the Q_Key of the QP (10.2.5) */
};

/**
 * hca_post_send() - Send a batch
 *
 * Takes ownership of all packets and returns @n. A packet that the state or the MTU of the port forbids is dropped and
 * counted; hardware would complete such a send with an error.
 */
unsigned int hca_post_send(struct hca_qp *qp, const struct hca_send *v, unsigned int n, ns_t now);

/* A received packet. Its head is at the payload; the GRH, if there is one, is before the payload in pkt->hdr. */
struct hca_wc {
	struct pkt *pkt;
	const uint8_t *grh; /* 40 octets, or NULL */
	uint32_t src_qp;
	uint16_t slid;
	uint16_t pkey_index;
	uint8_t sl, dlid_path_bits;
};

/*
 * hca_poll() - Take the descriptors of up to @n received packets, which then belong to the caller.
 * Return: number of descriptors
 */
unsigned int hca_poll(struct hca_qp *qp, struct hca_wc *v, unsigned int n);
/*
 * hca_arm() - Ask for one call of ops->ready(). Return: false if packets wait already, so that the
 * caller must poll
 */
bool hca_arm(struct hca_qp *qp);

#endif
