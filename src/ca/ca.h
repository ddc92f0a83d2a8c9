/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CA_CA_H
#define CA_CA_H

/*
 * DOC: Access layer
 *
 * One port of a channel adapter as IPoIB uses it, over the soft HCA or over
 * libibverbs: the least that verbs can do, so that no backend bends. A backend
 * fills struct ca_ops; callers use the inline functions below.
 *
 * Receives give the payload, the GRH if there was one, source QP, SLID, SL, path
 * bits and P_Key index; never the DLID. A send Q_Key with bit 31 set means the
 * QP's own.
 */

#include "mad/ep.h"
#include "util/pkt.h"
#include "wire/ib.h"

struct ca_qp;
struct ca_ah;
struct ca;

/* Asynchronous events under libibverbs' names. */
enum ca_event {
	CA_EVENT_PORT_ACTIVE,
	CA_EVENT_PORT_ERR,
	CA_EVENT_LID_CHANGE,
	CA_EVENT_PKEY_CHANGE,
	CA_EVENT_SM_CHANGE,
	CA_EVENT_CLIENT_REREGISTER,
	CA_EVENT_GID_CHANGE,
	CA_EVENT_DEVICE_FATAL,
};
const char *ca_event_name(enum ca_event ev);

struct ca_port_attr {
	uint8_t state; /* enum ib_port_state */
	uint8_t lmc, sm_sl;
	uint8_t max_mtu_code, active_mtu_code, rate_code;
	uint16_t lid, sm_lid;
	uint16_t pkey_tbl_len;
	uint32_t cap_mask;
	ib_gid gid; /* index 0 */
};

struct ca_qp_attr {
	uint16_t pkey_index;
	uint32_t qkey;
	unsigned int rx_depth, tx_depth;
	uint32_t qpn_hint; /* soft: taken if free; verbs: ignored */
};

struct ca_ah_attr {
	uint16_t dlid;
	uint8_t sl, src_path_bits, static_rate;
	bool has_grh;
	uint8_t tclass, hop_limit;
	uint32_t flow_label;
	ib_gid dgid;
};

struct ca_send {
	struct pkt *pkt; /* head at the payload */
	struct ca_ah *ah;
	uint32_t dest_qp, qkey;
};

struct ca_wc {
	struct pkt *pkt; /* head at the payload, GRH aside */
	const uint8_t *grh; /* 40 octets, or NULL; valid while @pkt is unchanged */
	uint32_t src_qp;
	uint16_t slid, pkey_index;
	uint8_t sl, dlid_path_bits;
};

struct ca_notify {
	void (*event)(void *ctx, enum ca_event ev, ns_t now);
	/* An armed QP has something to poll. */
	void (*ready)(void *ctx, struct ca_qp *qp);
};

struct ca_ops {
	void (*close)(struct ca *ca);
	int (*port_query)(struct ca *ca, struct ca_port_attr *ret);
	int (*pkey_query)(struct ca *ca, uint16_t index, uint16_t *ret);
	int (*qp_create)(struct ca *ca, const struct ca_qp_attr *attr, void *ctx,
			 struct ca_qp **ret);
	void (*qp_destroy)(struct ca_qp *qp);
	int (*qp_modify)(struct ca_qp *qp, uint16_t pkey_index, uint32_t qkey);
	uint32_t (*qp_num)(const struct ca_qp *qp);
	int (*ah_create)(struct ca *ca, const struct ca_ah_attr *attr, struct ca_ah **ret);
	void (*ah_destroy)(struct ca_ah *ah);
	int (*attach)(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid);
	int (*detach)(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid);
	unsigned int (*post_send)(struct ca_qp *qp, const struct ca_send *v, unsigned int n,
				  ns_t now);
	unsigned int (*poll)(struct ca_qp *qp, struct ca_wc *v, unsigned int n);
	bool (*arm)(struct ca_qp *qp);
	struct mad_ep *(*mad_ep)(struct ca *ca);
};

/* Backends embed these first. */
struct ca {
	const struct ca_ops *ops;
	const struct ca_notify *notify;
	void *ctx; /* of notify */
	int fd; /* poll this; -1: notify alone tells (soft) */
};

struct ca_qp {
	struct ca *ca;
	void *ctx; /* the caller's */
};

struct ca_ah {
	struct ca *ca;
};

static inline void ca_close(struct ca *ca)
{
	if (ca)
		ca->ops->close(ca);
}

static inline int ca_port_query(struct ca *ca, struct ca_port_attr *ret)
{
	return ca->ops->port_query(ca, ret);
}

/* -EINVAL: @index past the table */
static inline int ca_pkey_query(struct ca *ca, uint16_t index, uint16_t *ret)
{
	return ca->ops->pkey_query(ca, index, ret);
}

/* ca_pkey_find() - Index whose entry matches @pkey's low 15 bits: full first, then limited; -ENOENT. ca/ca.c */
int ca_pkey_find(struct ca *ca, uint16_t pkey);

static inline int ca_qp_create(struct ca *ca, const struct ca_qp_attr *attr, void *ctx,
			       struct ca_qp **ret)
{
	return ca->ops->qp_create(ca, attr, ctx, ret);
}

static inline void ca_qp_destroy(struct ca_qp *qp)
{
	if (qp)
		qp->ca->ops->qp_destroy(qp);
}

/* The QP is reset and brought back to RTS: what is queued is lost, attachments stay. */
static inline int ca_qp_modify(struct ca_qp *qp, uint16_t pkey_index, uint32_t qkey)
{
	return qp->ca->ops->qp_modify(qp, pkey_index, qkey);
}

static inline uint32_t ca_qp_num(const struct ca_qp *qp)
{
	return qp->ca->ops->qp_num(qp);
}

/* May fail (-ENOMEM, -EINVAL, -EAGAIN) and be slow. */
static inline int ca_ah_create(struct ca *ca, const struct ca_ah_attr *attr, struct ca_ah **ret)
{
	return ca->ops->ah_create(ca, attr, ret);
}

/* Sends posted before may still use it; the backend frees it after them. */
static inline void ca_ah_destroy(struct ca_ah *ah)
{
	if (ah)
		ah->ca->ops->ah_destroy(ah);
}

static inline int ca_attach(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	return qp->ca->ops->attach(qp, mgid, mlid);
}

static inline int ca_detach(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid)
{
	return qp->ca->ops->detach(qp, mgid, mlid);
}

/* Takes the first n of @v and returns n; fewer than @n: the send queue is full. */
static inline unsigned int ca_post_send(struct ca_qp *qp, const struct ca_send *v, unsigned int n,
					ns_t now)
{
	return qp->ca->ops->post_send(qp, v, n, now);
}

static inline unsigned int ca_poll(struct ca_qp *qp, struct ca_wc *v, unsigned int n)
{
	return qp->ca->ops->poll(qp, v, n);
}

/* false: something is waiting already, poll again */
static inline bool ca_arm(struct ca_qp *qp)
{
	return qp->ca->ops->arm(qp);
}

static inline struct mad_ep *ca_mad_ep(struct ca *ca)
{
	return ca->ops->mad_ep(ca);
}

#endif
