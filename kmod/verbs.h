/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef UIB_VERBS_H
#define UIB_VERBS_H

/* The objects of the verbs: CQs, QPs, memory regions and their parts. uib.h lists the files. */

#include <rdma/ib_verbs.h>

#include "compat.h"
#include "inet.h"

struct uib_dev;

#define UIB_MAX_SGE 32
#define UIB_MAX_WR 16384
#define UIB_MAX_CQE (1 << 18)
#define UIB_MAX_MR (1 << 20)
#define UIB_FIRST_QPN 0x40
/*
 * The key with which a consumer in the kernel names any kernel address. No region has this key,
 * because its index would be 0, and index 0 of the table of regions is never used.
 */
#define UIB_LOCAL_DMA_LKEY 1

/*
 * Largest numbers of objects of a device that one process may have in all its contexts. UIB_USER_OCTETS is the largest
 * sum of the octets of all queues of the process.
 */
#define UIB_USER_CONTEXTS 64
#define UIB_USER_PDS 256
#define UIB_USER_AHS 4096
#define UIB_USER_MRS 4096
#define UIB_USER_CQS 1024
#define UIB_USER_QPS 256
#define UIB_USER_MCASTS 1024
#define UIB_USER_OCTETS (128 << 20)

struct uib_av {
	u16 dlid;
	u8 sl, path_bits;
	bool has_grh;
	u8 sgid_index, tclass, hop_limit;
	u32 flow_label;
	union ib_gid dgid;
};

struct uib_quota;

struct uib_ucontext {
	struct ib_ucontext ibuc;
	struct uib_quota *quota;
};

/*
 * In this struct and in those below, .quota is the quota of the process that made the object. It is
 * NULL if a consumer in the kernel made the object.
 */
struct uib_pd {
	struct ib_pd ibpd;
	struct uib_quota *quota;
};

struct uib_ah {
	struct ib_ah ibah;
	struct uib_quota *quota;
	struct uib_av av;
	u8 static_rate;
};

struct uib_cq {
	struct ib_cq ibcq;
	struct uib_quota *quota;
	spinlock_t lock;
	struct ib_wc *ring;
	u32 size, head, count;
	enum ib_cq_notify_flags armed; /* kind of completions that call the handler; 0: none */
	bool broken; /* a completion was lost because the CQ was full, so the CQ accepts no more completions */
	/* true if the CQ overflowed and the event CQ_ERR, which reports this to the consumer, was not raised yet */
	bool overflowed;
};

struct uib_mr {
	struct ib_mr ibmr;
	struct kref ref; /* references: one of the consumer, and one of each posted SGE */
	/* count of users: one while the region is registered, and one for each running copy */
	refcount_t users;
	/* completed when no copy to or from the region is running and none can begin any more */
	struct completion unused;
	struct uib_quota *quota;
	struct ib_pd *pd; /* compared with the PD of the QP, and never dereferenced */
	int access; /* enum ib_access_flags */
	u64 iova, length;
	/* NULL: a consumer in the kernel has registered all kernel addresses */
	struct ib_umem *umem;
	struct page **pages;
	u32 offset; /* offset of the first octet in the first page */
	struct rcu_head rcu;
};

/* A part of a posted buffer. mr.c checks the part when the buffer is posted, and again when the buffer is used. */
struct uib_sge {
	u64 addr;
	u32 length;
	struct uib_mr *mr; /* NULL: .addr is a kernel address, or .length is 0 */
};

struct uib_swqe {
	u64 wr_id;
	struct uib_av av;
	u32 dest_qpn, qkey;
	__be32 imm;
	u32 len;
	u16 pkey_index; /* used only if the QP is a GSI QP */
	u16 mss; /* octets of TCP data in each packet of a large send; 0: not a large send */
	u8 num_sge;
	u8 lso_len; /* octets of the headers of a large send, uib_sqe_lso() */
	bool signaled, solicited, has_imm, csum;
};

struct uib_rwqe {
	u64 wr_id;
	u32 len;
	u8 num_sge;
};

/*
 * Packets that leave together (burst.c). All have the same length, but the last may be shorter. They have one SL, and
 * are all multicast or all unicast.
 */
struct uib_burst {
	struct sk_buff *skb; /* the packets; NULL: there are none */
	u32 packet_len, n;
	u8 sl;
	bool mcast;
	struct page_frag room; /* memory for the next packets */
};

struct uib_qp {
	struct ib_qp ibqp;
	struct uib_dev *dev;
	struct uib_quota *quota;
	/*
	 * the QP that completions point to: .ibqp, or for programs the stub that user.c describes
	 */
	struct ib_qp *wc_qp;
	/* makes calls of modify_qp() wait for each other; taken before .lock */
	struct mutex modify_lock;
	spinlock_t lock; /* protects all members below but .burst and .work */
	enum ib_qp_state state;
	u16 pkey_index;
	u32 qkey;
	u32 psn;
	bool signal_all, block_loopback;
	bool is_user; /* the consumer is a program */
	bool sending; /* .work sends the oldest work request */
	bool drain_event; /* SQ_DRAINED is to be raised when the send that runs has ended */
	struct ib_qp_cap cap;
	struct uib_swqe *sq;
	struct uib_sge *sq_sge;
	u8 *sq_lso; /* UIB_LSO_HDR_MAX octets for each entry of .sq; NULL: the QP has no large sends */
	u32 sq_head, sq_count;
	struct uib_rwqe *rq;
	struct uib_sge *rq_sge;
	u32 rq_head, rq_count;
	struct uib_burst burst; /* only .work uses it; or trap.c, if this is the SMA's QP */
	struct work_struct work;
};

static inline struct uib_qp *to_uqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct uib_qp, ibqp);
}

static inline struct uib_cq *to_ucq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct uib_cq, ibcq);
}

static inline struct uib_swqe *uib_sqe(struct uib_qp *qp, u32 i)
{
	return &qp->sq[(qp->sq_head + i) % qp->cap.max_send_wr];
}

static inline struct uib_sge *uib_sqe_sge(struct uib_qp *qp, const struct uib_swqe *w)
{
	return &qp->sq_sge[(w - qp->sq) * qp->cap.max_send_sge];
}

static inline u32 uib_swqe_packets(const struct uib_swqe *w)
{
	return w->mss ? max_t(u32, DIV_ROUND_UP(w->len, w->mss), 1) : 1;
}

static inline u8 *uib_sqe_lso(struct uib_qp *qp, const struct uib_swqe *w)
{
	return &qp->sq_lso[(w - qp->sq) * UIB_LSO_HDR_MAX];
}

/* --- cq.c */

int uib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uib_cq_udata *udata);
int uib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int uib_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc);
int uib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
/*
 * uib_cq_push() - Add a completion. Return: true if the caller must call uib_cq_fire() as soon as
 * the caller has released its locks
 */
bool uib_cq_push(struct uib_cq *cq, const struct ib_wc *wc, bool solicited);
/* uib_cq_fire() - Call the consumer's handlers; with no lock held and bottom halves disabled */
void uib_cq_fire(struct uib_cq *cq);
/* uib_cq_purge() - Remove the completions whose .qp is @wc_qp, because the QP is being reset or destroyed */
void uib_cq_purge(struct uib_cq *cq, const struct ib_qp *wc_qp);

/* --- qp.c */

int uib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int uib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int uib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int uib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
/* --- post.c */

int uib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int uib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

/* --- user.c */

enum uib_quota_kind {
	UIB_Q_CONTEXT,
	UIB_Q_PD,
	UIB_Q_AH,
	UIB_Q_MR,
	UIB_Q_CQ,
	UIB_Q_QP,
	UIB_Q_MCAST,
	UIB_Q_COUNT,
};

int uib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void uib_dealloc_ucontext(struct ib_ucontext *ibuc);
void uib_disassociate_ucontext(struct ib_ucontext *ibuc);
/*
 * uib_quota_of() - Return the quota of the process that makes an object; NULL: a consumer in the
 * kernel, which has no limit
 */
struct uib_quota *uib_quota_of(struct ib_udata *udata);
/*
 * uib_quota_take() - Charge an object to a process. Return: 0; -ENOMEM: the process already has the largest number of
 * objects of this kind
 */
int uib_quota_take(struct uib_quota *q, enum uib_quota_kind kind);
void uib_quota_give(struct uib_quota *q, enum uib_quota_kind kind);
int uib_quota_take_octets(struct uib_quota *q, u64 n);
void uib_quota_give_octets(struct uib_quota *q, u64 n);
struct ib_qp *uib_stub_new(void);
/* uib_stub_free() - Free a stub as soon as no code can access it any more; NULL is accepted */
void uib_stub_free(struct ib_qp *stub);
void uib_stub_exit(void);

/* --- mr.c */

struct ib_mr *uib_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *uib_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr, int access,
			      uib_dmah_param struct ib_udata *udata);
int uib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
/*
 * uib_sge_get() - Check key, PD, bounds and access of @sge for @qp, and fill @ret with a reference to its region.
 * Return: 0; -EINVAL if the QP is not allowed to use this memory in this way. Callable in any context
 */
int uib_sge_get(const struct uib_qp *qp, const struct ib_sge *sge, int access, struct uib_sge *ret);
void uib_sge_put(struct uib_sge *sge, unsigned int n);
/*
 * uib_sge_read() - Copy @len octets from the buffer, after its first @skip octets
 * uib_sge_write() - Copy @len octets into the buffer, after its first @skip octets
 *
 * Return: false if the buffer's region has been deregistered. Callable in any context except a hard
 * interrupt
 */
bool uib_sge_read(const struct uib_sge *sge, u32 skip, u8 *to, u32 len);
bool uib_sge_write(const struct uib_sge *sge, u32 skip, const u8 *from, u32 len);

/* --- mcast.c */

struct uib_mcast {
	struct hlist_node node;
	union ib_gid mgid;
	struct uib_qp *qp;
	/* number of times that .qp is attached. Each attachment counts in the quota */
	unsigned int attached;
	struct rcu_head rcu;
};

struct hlist_head *uib_mcast_bucket(struct uib_dev *dev, const union ib_gid *mgid);
int uib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int uib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
void uib_mcast_forget(struct uib_qp *qp);

#endif
