/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CA_CA_H
#define CA_CA_H

/*
 * DOC: Access layer
 *
 * The interface by which IPoIB uses one port of a channel adapter. The backends are the software
 * HCA (ca_soft.h) and libibverbs (verbs/verbs.h), so the interface needs nothing that libibverbs
 * lacks. A backend fills struct ca_ops; callers use the inline functions below.
 *
 * Of a received packet the caller gets the payload, and the GRH if there was one. It also gets the
 * source QP, SLID, SL, path bits and P_Key index, but not the DLID. In a send, a Q_Key with bit 31
 * set means the Q_Key of the QP.
 */

#include "mad/ep.h"
#include "util/pkt.h"
#include "wire/ib.h"

struct ca_qp;
struct ca_ah;
struct ca;

/* Asynchronous events, named as in libibverbs */
enum ca_event {
	CA_EVENT_PORT_ACTIVE,
	CA_EVENT_PORT_ERR,
	CA_EVENT_LID_CHANGE,
	CA_EVENT_PKEY_CHANGE,
	CA_EVENT_SM_CHANGE,
	CA_EVENT_CLIENT_REREGISTER,
	CA_EVENT_GID_CHANGE,
	CA_EVENT_DEVICE_FATAL,
	/*
	 * not an event of libibverbs: a device that had failed works again; all its QPs have new
	 * numbers and are not armed
	 */
	CA_EVENT_DEVICE_BACK,
};
const char *ca_event_name(enum ca_event ev);

struct ca_port_attr {
	uint8_t state; /* enum ib_port_state */
	uint8_t lmc, sm_sl;
	uint8_t max_mtu_code, active_mtu_code, rate_code;
	uint16_t lid, sm_lid;
	uint16_t pkey_tbl_len;
	uint32_t cap_mask;
	ib_gid gid; /* GID with index 0 */
};

struct ca_qp_attr {
	uint16_t pkey_index;
	uint32_t qkey;
	unsigned int rx_depth, tx_depth;
	/*
	 * QPN that the software HCA gives to the QP if no other QP has this QPN. The backend for
	 * libibverbs ignores this member, because libibverbs lets no caller choose the QPN
	 */
	uint32_t qpn_hint;
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
	/* the packet to send, which begins with the payload, because no headers are pushed yet */
	struct pkt *pkt;
	struct ca_ah *ah;
	uint32_t dest_qp, qkey;
};

struct ca_wc {
	/* the received packet, which begins with the payload, because the headers were removed */
	struct pkt *pkt;
	const uint8_t *grh; /* GRH of 40 octets, or NULL; valid while @pkt is unchanged */
	uint32_t src_qp;
	uint16_t slid, pkey_index;
	uint8_t sl, dlid_path_bits;
};

/*
 * Send queue of a port: the work requests that all QPs of the port have posted, and that the port
 * has not sent yet
 */
struct ca_send_queue {
	unsigned int waiting; /* number of packets in the queue */
	uint64_t sent; /* packets that have left the queue */
	bool stalled; /* the port cannot send now */
};

struct ca_notify {
	void (*event)(void *ctx, enum ca_event ev, ns_t now);
	/* Called once after ca_arm() has returned true, when a packet has arrived at the QP. */
	void (*ready)(void *ctx, struct ca_qp *qp);
	/*
	 * Called when packets have left a send queue that was stalled. May be NULL
	 */
	void (*room)(void *ctx, ns_t now);
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
	unsigned int (*queued)(struct ca *ca);
	struct ca_send_queue (*send_queue)(struct ca *ca);
	unsigned int (*send_flush)(struct ca *ca, ns_t now);
	struct mad_ep *(*mad_ep)(struct ca *ca);
	void (*cm_supported)(struct ca *ca, bool on, ns_t now);
	void (*dispatch)(struct ca *ca, ns_t now); /* NULL if .fd is -1 */
};

/* The structs of a backend begin with struct ca, struct ca_qp or struct ca_ah. */
struct ca {
	const struct ca_ops *ops;
	const struct ca_notify *notify;
	void *ctx; /* argument of the functions of notify */
	bool trains; /* ca_post_send() accepts trains (train/train.h), and ca_poll() may return trains */
	/*
	 * true: the CA computes TCP and UDP checksums in sent packets. ca_post_send() then accepts
	 * a packet with FRAME_CSUM_PARTIAL (util/frame.h) if the packet has the encapsulation of
	 * RFC 4391 and an IPv4 header without options, and is no fragment. The value can change
	 * with CA_EVENT_DEVICE_BACK. This member says nothing about received packets: even if it is
	 * false, ca_poll() can return packets with FRAME_CSUM_OK
	 */
	bool csum;
	bool shared; /* other programs, or the kernel, may use the port for IPoIB, too */
	/*
	 * file descriptor that becomes readable when ca_dispatch() has to be called; -1 if the
	 * backend calls the functions of .notify without ca_dispatch(), as the software HCA does
	 */
	int fd;
};

struct ca_qp {
	struct ca *ca;
	void *ctx; /* pointer of the caller */
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

/*
 * ca_pkey_query() - Read the P_Key at @index of the port's table. Return: 0; -EINVAL: @index is
 * past the end of the table
 */
static inline int ca_pkey_query(struct ca *ca, uint16_t index, uint16_t *ret)
{
	return ca->ops->pkey_query(ca, index, ret);
}

/*
 * ca_pkey_find() - Return the index of the entry that matches the low 15 bits of @pkey, preferably
 * an entry of a full member; -ENOENT: no entry matches
 */
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

/*
 * ca_qp_modify() - Reset a QP and bring it back to RTS with other attributes. Packets in the queues of the QP are
 * lost; its attachments to groups stay
 */
static inline int ca_qp_modify(struct ca_qp *qp, uint16_t pkey_index, uint32_t qkey)
{
	return qp->ca->ops->qp_modify(qp, pkey_index, qkey);
}

static inline uint32_t ca_qp_num(const struct ca_qp *qp)
{
	return qp->ca->ops->qp_num(qp);
}

/*
 * ca_ah_create() - Make an address handle. The call can take long. Return: 0; -ENOMEM, -EINVAL,
 * -EAGAIN
 */
static inline int ca_ah_create(struct ca *ca, const struct ca_ah_attr *attr, struct ca_ah **ret)
{
	return ca->ops->ah_create(ca, attr, ret);
}

/* ca_ah_destroy() - Free an address handle, as soon as no posted send uses it any more */
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

/*
 * ca_post_send() - Post the packets of @v in their order. Return: number of packets posted, which
 * the backend now owns; less than @n if the send queue is full
 */
static inline unsigned int ca_post_send(struct ca_qp *qp, const struct ca_send *v, unsigned int n,
					ns_t now)
{
	return qp->ca->ops->post_send(qp, v, n, now);
}

/*
 * ca_poll() - Write up to @n received packets to @v. Return: number of elements written; an element
 * may be a train of several packets
 */
static inline unsigned int ca_poll(struct ca_qp *qp, struct ca_wc *v, unsigned int n)
{
	return qp->ca->ops->poll(qp, v, n);
}

/*
 * ca_arm() - Ask for one call of notify->ready() when a packet arrives. Return: false if packets
 * wait already, so that the caller must poll
 */
static inline bool ca_arm(struct ca_qp *qp)
{
	return qp->ca->ops->arm(qp);
}

/*
 * ca_queued() - Return the number of packets that wait to be sent: in the port's send queue, or, on
 * a software fabric, in all egress queues of the fabric. A sender that can wait should send nothing
 * while this number is high, because packets for a full queue are lost
 */
static inline unsigned int ca_queued(struct ca *ca)
{
	return ca->ops->queued(ca);
}

static inline struct ca_send_queue ca_send_queue(struct ca *ca)
{
	return ca->ops->send_queue(ca);
}

/* ca_send_flush() - Discard the packets in the send queue, and return their number */
static inline unsigned int ca_send_flush(struct ca *ca, ns_t now)
{
	return ca->ops->send_flush(ca, now);
}

/* ca_dispatch() - Handle the notifications, asynchronous events and MADs that made ca.fd readable */
static inline void ca_dispatch(struct ca *ca, ns_t now)
{
	ca->ops->dispatch(ca, now);
}

static inline struct mad_ep *ca_mad_ep(struct ca *ca)
{
	return ca->ops->mad_ep(ca);
}

/*
 * ca_cm_supported() - Set or clear the port's bit IsCommunicationManagementSupported. The function has no effect if
 * the backend uses a port of the kernel, whose own CM sets the bit
 */
static inline void ca_cm_supported(struct ca *ca, bool on, ns_t now)
{
	ca->ops->cm_supported(ca, on, now);
}

#endif
