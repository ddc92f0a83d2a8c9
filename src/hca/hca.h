/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_HCA_H
#define HCA_HCA_H

/*
 * DOC: Soft HCA
 *
 * A channel adapter in software: UD queue pairs, address handles with a
 * precomputed header, completion queues, multicast filtering by MGID, QP0 and QP1.
 * Packets leave by ops->xmit() with LRH .. DETH and tail, and come in by hca_rx().
 * It knows nothing of what is behind its ports.
 */

#include "node/node.h"
#include "wire/ib_hdr.h"

struct hca_qp;
struct hca_ah;

enum hca_drop {
	HCA_DROP_LEN, /* lengths do not agree, or below the headers */
	HCA_DROP_VERSION, /* LVer, TVer, GRH version or next header, opcode */
	HCA_DROP_ICRC,
	HCA_DROP_VCRC,
	HCA_DROP_PORT_STATE, /* data in Down or Init */
	HCA_DROP_VL15, /* VL15 to other than QP0, QP0 on another VL, with GRH or multicast; SL on VL15 */
	HCA_DROP_DLID,
	HCA_DROP_DGID,
	HCA_DROP_QPN, /* no such QP, or not on this port */
	HCA_DROP_QP_STATE, /* waited in a QP that was reset or destroyed */
	HCA_DROP_PKEY, /* does not match the QP's; on sending: the table entry is not valid */
	HCA_DROP_QKEY,
	HCA_DROP_MGID, /* no QP of this HCA is attached */
	HCA_DROP_NO_GRH, /* multicast without GRH */
	HCA_DROP_NO_RX, /* receive queue full */
	HCA_DROP_MTU, /* payload above the port's MTU */
	HCA_DROP_NO_MEM,
	HCA_DROP_TX_STATE, /* send on a port that is not Active */
	HCA_DROP_MAX,
};
const char *hca_drop_name(enum hca_drop d);

struct hca_ops {
	/* Takes @p: ready for the link, vl set. */
	void (*xmit)(void *ctx, uint8_t port, struct pkt *p, ns_t now);
	void (*event)(void *ctx, uint8_t port, enum node_event ev, ns_t now);
	/*
	 * The receive queue of an armed QP is no longer empty: once, until re-armed. Called after
	 * the batch that did it, so it may poll, send, arm and destroy QPs.
	 */
	void (*ready)(void *ctx, struct hca_qp *qp);
};

struct hca_cfg {
	struct node_cfg node;
	/* What sent packets carry: PKT_CRC, PKT_ICRC or neither is set. MADs always carry both CRCs. */
	enum hca_crc { HCA_CRC_FULL, HCA_CRC_ICRC, HCA_CRC_OFF } crc;
	unsigned int max_qps; /* 0: a default */
};

struct hca;

/* All borrowed but @cfg. 0, -EINVAL, -ENOMEM */
int hca_create(struct hca **ret, const struct hca_cfg *cfg, const struct hca_ops *ops, void *ctx,
	       struct timers *timers, struct pkt_pool *pool, const struct log_sink *log);
/* Destroys QPs and AHs that are left; NULL is accepted. */
void hca_destroy(struct hca *h);

struct node *hca_node(struct hca *h);
uint64_t hca_drops(const struct hca *h, enum hca_drop d);

/* hca_rx() - Packets arrive from the link at @port; takes them */
void hca_rx(struct hca *h, uint8_t port, struct pkt **v, unsigned int n, ns_t now);

struct hca_qp_attr {
	uint8_t port;
	uint16_t pkey_index;
	uint32_t qkey;
	unsigned int rx_depth; /* packets; 0: a default */
	uint32_t qpn_hint; /* preferred QPN, taken if free; 0: any */
};

/* hca_qp_create() - 0; -EINVAL port, index or depth; -ENOSPC no QPN free; -ENOMEM */
int hca_qp_create(struct hca *h, const struct hca_qp_attr *attr, void *ctx, struct hca_qp **ret);
void hca_qp_destroy(struct hca_qp *qp);
/* As RESET, INIT, RTR, RTS would: what is queued is dropped, attachments stay. 0; -EINVAL index */
int hca_qp_modify(struct hca_qp *qp, uint16_t pkey_index, uint32_t qkey);
uint32_t hca_qp_num(const struct hca_qp *qp);
void *hca_qp_ctx(const struct hca_qp *qp);

/*
 * hca_attach() - Receive what is sent to @mgid; twice is counted. -EINVAL: no MGID or MLID; -ENOMEM
 * The filter is the MGID alone, as in hardware: the MLID of a group may change under it.
 */
int hca_attach(struct hca_qp *qp, const ib_gid *mgid, uint16_t mlid);
/* hca_detach() - 0; -EINVAL: no MGID or MLID; -ENOENT: not attached */
int hca_detach(struct hca_qp *qp, const ib_gid *mgid, uint16_t mlid);

struct hca_ah_attr {
	uint8_t port;
	uint8_t sl;
	uint8_t src_path_bits;
	uint16_t dlid;
	uint8_t static_rate; /* recorded, inert */
	bool has_grh;
	uint8_t sgid_index, tclass, hop_limit;
	uint32_t flow_label;
	ib_gid dgid;
};
/* hca_ah_create() - 0; -EINVAL: port, SL, GID index, DLID 0 or permissive, multicast without MGID; -ENOMEM */
int hca_ah_create(struct hca *h, const struct hca_ah_attr *attr, struct hca_ah **ret);
void hca_ah_destroy(struct hca_ah *ah);

/* One send: @pkt holds the payload in place (head at its first octet). */
struct hca_send {
	struct pkt *pkt;
	struct hca_ah *ah;
	uint32_t dest_qp;
	uint32_t qkey; /* bit 31 set: the QP's own is used (IBTA 10.2.5) */
};

/**
 * hca_post_send() - Send a batch
 *
 * Takes the first n packets and returns n. A send that the port's state or MTU forbids is taken,
 * dropped and counted, as an HCA would complete it with an error.
 */
unsigned int hca_post_send(struct hca_qp *qp, const struct hca_send *v, unsigned int n, ns_t now);

/* A received packet: head at the payload; @grh points below it into pkt->hdr, or NULL. */
struct hca_wc {
	struct pkt *pkt;
	const uint8_t *grh; /* 40 octets */
	uint32_t src_qp;
	uint16_t slid;
	uint16_t pkey_index;
	uint8_t sl, dlid_path_bits;
};

/* hca_poll() - Up to @n received packets, whose ownership passes; returns how many */
unsigned int hca_poll(struct hca_qp *qp, struct hca_wc *v, unsigned int n);
/* hca_arm() - Ask for ops->ready(); false if packets are waiting already (poll again) */
bool hca_arm(struct hca_qp *qp);

struct hca_qp_stats {
	uint64_t tx_pkts, tx_octets, rx_pkts, rx_octets, rx_dropped;
};
const struct hca_qp_stats *hca_qp_stats(const struct hca_qp *qp);

#endif
