// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * A module that is a consumer of InfiniBand devices, for tests/interop/linux/kmod.sh. It uses
 * uib.ko only through verbs.
 *
 *	/sys/kernel/debug/uib_test/NAME/events	lines "N EVENT": the number of times that each asynchronous event came
 *	/sys/kernel/debug/uib_test/NAME/run	writing the name of a case (below) runs the case.
 *						If the write fails with EIO, the kernel's log says
 *						which expectation failed
 *
 * A case sends from one QP to another QP of the same port, by the port's own LID, so no packet leaves over the link.
 */

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "wire.h"

MODULE_AUTHOR("The uipoib authors");
MODULE_DESCRIPTION("A kernel user of uib, for its tests");
MODULE_LICENSE("Dual BSD/GPL");

#define QKEY 0x1234
#define PORT 1
#define GRH sizeof(struct ib_grh)
#define BUF 8192
#define PATIENCE_MS 20000

static struct dentry *root;

/* --- two QPs */

struct cq {
	struct ib_cq *ib;
	atomic_t comps, errors; /* numbers of calls of the two handlers */
};

struct rig {
	struct ib_device *dev;
	const char *name; /* name of the case that runs */
	struct ib_port_attr port;
	struct ib_pd *pd;
	struct cq send, recv;
	struct ib_qp *from, *to;
	struct ib_ah *ah;
	u32 lkey; /* local key of the memory of .out and .in */
	u8 *out, *in;
	unsigned int failed;
};

static bool expect(struct rig *r, bool ok, const char *what, int line)
{
	if (!ok) {
		pr_err("uib_test: %s: line %d: expected %s\n", r->name, line, what);
		r->failed++;
	}
	return ok;
}
#define EXPECT(r, cond) expect(r, cond, #cond, __LINE__)

static void on_comp(struct ib_cq *ib, void *ctx)
{
	atomic_inc(&((struct cq *)ctx)->comps);
}

static void on_cq_event(struct ib_event *ev, void *ctx)
{
	if (ev->event == IB_EVENT_CQ_ERR)
		atomic_inc(&((struct cq *)ctx)->errors);
}

static struct ib_cq *create_cq(struct rig *r, struct cq *cq, unsigned int cqe)
{
	struct ib_cq_init_attr attr = { .cqe = cqe };

	return ib_create_cq(r->dev, on_comp, on_cq_event, cq, &attr);
}

static struct ib_qp *create_qp(struct rig *r, struct ib_qp_cap cap, enum ib_qp_type type)
{
	struct ib_qp_init_attr attr = {
		.send_cq = r->send.ib,
		.recv_cq = r->recv.ib,
		.cap = cap,
		.qp_type = type,
	};

	return ib_create_qp(r->pd, &attr);
}

static struct ib_ah *create_ah(struct rig *r, u16 dlid, u8 sl, u32 port)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_IB };

	rdma_ah_set_dlid(&attr, dlid);
	rdma_ah_set_sl(&attr, sl);
	rdma_ah_set_port_num(&attr, port);
	return rdma_create_ah(r->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
}

static enum ib_qp_state qp_state_of(struct ib_qp *qp)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return ib_query_qp(qp, &attr, IB_QP_STATE, &init) ? IB_QPS_ERR : attr.qp_state;
}

static int modify(struct ib_qp *qp, enum ib_qp_state state, u16 pkey_index)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.pkey_index = pkey_index,
		.port_num = PORT,
		.qkey = QKEY,
	};
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT)
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY;
	if (state == IB_QPS_RTS && qp_state_of(qp) == IB_QPS_RTR)
		mask |= IB_QP_SQ_PSN;
	return ib_modify_qp(qp, &attr, mask);
}

static int to_rts(struct ib_qp *qp, u16 pkey_index)
{
	return modify(qp, IB_QPS_INIT, pkey_index) ?: modify(qp, IB_QPS_RTR, 0)
		?: modify(qp, IB_QPS_RTS, 0);
}

static void close(struct rig *r)
{
	if (!IS_ERR_OR_NULL(r->ah))
		rdma_destroy_ah(r->ah, RDMA_DESTROY_AH_SLEEPABLE);
	if (!IS_ERR_OR_NULL(r->from))
		ib_destroy_qp(r->from);
	if (!IS_ERR_OR_NULL(r->to))
		ib_destroy_qp(r->to);
	if (!IS_ERR_OR_NULL(r->send.ib))
		ib_destroy_cq(r->send.ib);
	if (!IS_ERR_OR_NULL(r->recv.ib))
		ib_destroy_cq(r->recv.ib);
	if (!IS_ERR_OR_NULL(r->pd))
		ib_dealloc_pd(r->pd);
	kfree(r->out);
	kfree(r->in);
}

/* Make two QPs in RTS and a CQ for receives with @cqe entries. */
static bool open(struct rig *r, unsigned int cqe)
{
	struct ib_qp_cap cap = {
		.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2
	};

	r->out = kzalloc(BUF, GFP_KERNEL);
	r->in = kzalloc(BUF, GFP_KERNEL);
	r->pd = ib_alloc_pd(r->dev, 0);
	if (!EXPECT(r, r->out && r->in && !IS_ERR(r->pd)) ||
	    !EXPECT(r, !ib_query_port(r->dev, PORT, &r->port)))
		return false;
	r->lkey = r->pd->local_dma_lkey;
	r->send.ib = create_cq(r, &r->send, 16);
	r->recv.ib = create_cq(r, &r->recv, cqe);
	if (!EXPECT(r, !IS_ERR(r->send.ib) && !IS_ERR(r->recv.ib)))
		return false;
	r->from = create_qp(r, cap, IB_QPT_UD);
	r->to = create_qp(r, cap, IB_QPT_UD);
	r->ah = create_ah(r, r->port.lid ?: 1, 0, PORT);
	return EXPECT(r, !IS_ERR(r->from) && !IS_ERR(r->to) && !IS_ERR(r->ah)) &&
	       EXPECT(r, !to_rts(r->from, 0)) && EXPECT(r, !to_rts(r->to, 0));
}

static int post_recv(struct rig *r, u64 id, u32 len)
{
	/* Split the receive buffer into two parts at an offset within the headers. */
	struct ib_sge sge[2] = {
		{ .addr = (uintptr_t)r->in, .length = min(len, 50u), .lkey = r->lkey },
		{ .addr = (uintptr_t)r->in + 50, .length = len - min(len, 50u), .lkey = r->lkey },
	};
	struct ib_recv_wr wr = { .wr_id = id, .sg_list = sge, .num_sge = 2 };
	const struct ib_recv_wr *bad;

	return ib_post_recv(r->to, &wr, &bad);
}

static int post_send(struct rig *r, struct ib_ah *ah, u32 len, int flags)
{
	struct ib_sge sge[2] = {
		{ .addr = (uintptr_t)r->out, .length = min(len, 7u), .lkey = r->lkey },
		{ .addr = (uintptr_t)r->out + 7, .length = len - min(len, 7u), .lkey = r->lkey },
	};
	struct ib_ud_wr wr = {
		.wr = {
			.wr_id = len,
			.sg_list = sge,
			.num_sge = 2,
			.opcode = IB_WR_SEND_WITH_IMM,
			.send_flags = IB_SEND_SIGNALED | flags,
			.ex.imm_data = cpu_to_be32(len),
		},
		.ah = ah,
		.remote_qpn = r->to->qp_num,
		.remote_qkey = QKEY,
	};
	const struct ib_send_wr *bad;

	return ib_post_send(r->from, &wr.wr, &bad);
}

static bool poll(struct cq *cq, struct ib_wc *wc)
{
	unsigned int ms;

	for (ms = 0; ms < PATIENCE_MS; ms++) {
		if (ib_poll_cq(cq->ib, 1, wc) == 1)
			return true;
		usleep_range(1000, 2000);
	}
	return false;
}

/* Send and wait for the completion. A packet to the port's own LID has been delivered before its completion comes. */
static void send(struct rig *r, struct ib_ah *ah, u32 len, int flags)
{
	struct ib_wc wc = {};

	EXPECT(r, !post_send(r, ah, len, flags));
	EXPECT(r, poll(&r->send, &wc) && wc.status == IB_WC_SUCCESS && wc.wr_id == len);
}

/* --- the cases. uib.ko counts the packets that it discards, and the script that runs the case compares these counters. */

static void loopback(struct rig *r)
{
	struct ib_wc wc = {};
	unsigned int i;

	for (i = 0; i < BUF; i++)
		r->out[i] = i * 7;
	EXPECT(r, !post_recv(r, 99, GRH + 4096));
	send(r, r->ah, 1021, 0);
	EXPECT(r, poll(&r->recv, &wc));
	EXPECT(r, wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_RECV && wc.wr_id == 99);
	EXPECT(r, wc.byte_len == GRH + 1021 && wc.qp == r->to && wc.src_qp == r->from->qp_num);
	EXPECT(r, wc.wc_flags == IB_WC_WITH_IMM && wc.ex.imm_data == cpu_to_be32(1021));
	EXPECT(r, wc.slid == r->port.lid && wc.port_num == PORT && wc.sl == 0);
	EXPECT(r, !memcmp(r->in + GRH, r->out, 1021));
	/* A payload of the whole MTU, and an empty payload */
	EXPECT(r, !post_recv(r, 1, GRH + 4096) && !post_recv(r, 2, GRH));
	send(r, r->ah, 128 << r->port.active_mtu, 0);
	send(r, r->ah, 0, 0);
	EXPECT(r, poll(&r->recv, &wc) && wc.byte_len == GRH + (128 << r->port.active_mtu));
	EXPECT(r, poll(&r->recv, &wc) && wc.byte_len == GRH);
}

static void no_receive(struct rig *r)
{
	send(r, r->ah, 100, 0);
}

static void small_receive(struct rig *r)
{
	struct ib_wc wc;

	EXPECT(r, !post_recv(r, 1, GRH + 99));
	send(r, r->ah, 100, 0);
	EXPECT(r, !ib_poll_cq(r->recv.ib, 1, &wc));
	send(r, r->ah, 99, 0); /* the small receive is still posted */
	EXPECT(r, ib_poll_cq(r->recv.ib, 1, &wc) == 1);
}

static void qp_state(struct rig *r)
{
	EXPECT(r, !modify(r->to, IB_QPS_RESET, 0) && !modify(r->to, IB_QPS_INIT, 0));
	EXPECT(r, !post_recv(r, 1, GRH + 100)); /* receives may be posted in INIT */
	send(r, r->ah, 100, 0);
}

/* Overflow a CQ that has two entries, by four messages. The owner of the CQ gets one CQ error. */
static void cq_full(struct rig *r)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		EXPECT(r, !post_recv(r, i, GRH + 100));
	for (i = 0; i < 4; i++)
		send(r, r->ah, 100, 0);
	EXPECT(r, atomic_read(&r->recv.errors) == 1);
}

static void tx_mtu(struct rig *r)
{
	send(r, r->ah, (128 << r->port.active_mtu) + 1, 0);
}

/* A send with P_Key index 5, whose entry in the table is empty, is discarded. */
static void tx_pkey(struct rig *r)
{
	EXPECT(r, !modify(r->from, IB_QPS_RESET, 0) && !to_rts(r->from, 5));
	send(r, r->ah, 100, 0);
}

/* A send with SL 7, which the subnet manager has mapped to VL15, is discarded. */
static void tx_vl15(struct rig *r)
{
	struct ib_ah *ah = create_ah(r, r->port.lid, 7, PORT);

	if (!EXPECT(r, !IS_ERR(ah)))
		return;
	send(r, ah, 100, 0);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

/* A send on a port that is not Active is discarded. */
static void tx_state(struct rig *r)
{
	EXPECT(r, r->port.state != IB_PORT_ACTIVE);
	send(r, r->ah, 100, 0);
}

/* Requests beyond the limits that the HCA reports are refused. */
static void limits(struct rig *r)
{
	const struct ib_device_attr *a = &r->dev->attrs;
	const struct ib_qp_cap good = { .max_send_wr = a->max_qp_wr,
					.max_recv_wr = a->max_qp_wr,
					.max_send_sge = 1,
					.max_recv_sge = 1 };
	struct ib_qp_cap cap = good;
	struct ib_qp *qp = create_qp(r, good, IB_QPT_UD);

	EXPECT(r, !IS_ERR(qp));
	if (!IS_ERR(qp))
		ib_destroy_qp(qp);
	EXPECT(r, create_cq(r, &r->send, 0) == ERR_PTR(-EINVAL));
	EXPECT(r, create_cq(r, &r->send, a->max_cqe + 1) == ERR_PTR(-EINVAL));
	EXPECT(r, create_qp(r, good, IB_QPT_RC) == ERR_PTR(-EOPNOTSUPP));
	cap.max_send_wr++;
	EXPECT(r, create_qp(r, cap, IB_QPT_UD) == ERR_PTR(-EINVAL));
	cap = good;
	cap.max_recv_sge = a->max_recv_sge + 1;
	EXPECT(r, create_qp(r, cap, IB_QPT_UD) == ERR_PTR(-EINVAL));
	cap = good;
	cap.max_inline_data = 1;
	EXPECT(r, create_qp(r, cap, IB_QPT_UD) == ERR_PTR(-EINVAL));
	EXPECT(r, IS_ERR(create_ah(r, 1, 0, 2))); /* there is no such port */
	/* a multicast address needs a GRH */
	EXPECT(r, create_ah(r, 0xc000, 0, PORT) == ERR_PTR(-EINVAL));
}

/* Posting fails in RESET. In SQD work requests wait, so both queues can be filled. */
static void queues(struct rig *r)
{
	struct ib_wc wc = {};
	unsigned int i;

	EXPECT(r, post_send(r, r->ah, (128 << IB_MTU_4096) + 1, 0) == -EINVAL);
	EXPECT(r, post_send(r, r->ah, 100, IB_SEND_INLINE) == -EINVAL);
	EXPECT(r, !modify(r->from, IB_QPS_SQD, 0));
	for (i = 0; i < 4; i++) {
		EXPECT(r, !post_recv(r, i, GRH + 100));
		EXPECT(r, !post_send(r, r->ah, 100, 0));
	}
	EXPECT(r, post_recv(r, 4, GRH + 100) == -ENOMEM);
	EXPECT(r, post_send(r, r->ah, 100, 0) == -ENOMEM);
	EXPECT(r, !ib_poll_cq(r->send.ib, 1, &wc));
	EXPECT(r, !modify(r->from, IB_QPS_RTS, 0));
	for (i = 0; i < 4; i++) {
		EXPECT(r, poll(&r->send, &wc) && wc.status == IB_WC_SUCCESS);
		EXPECT(r, poll(&r->recv, &wc) && wc.status == IB_WC_SUCCESS && wc.wr_id == i);
	}
	EXPECT(r, !modify(r->to, IB_QPS_RESET, 0));
	EXPECT(r, post_recv(r, 1, GRH) == -EINVAL);
	EXPECT(r, !modify(r->from, IB_QPS_RESET, 0));
	EXPECT(r, post_send(r, r->ah, 1, 0) == -EINVAL);
	EXPECT(r, modify(r->from, IB_QPS_RTS, 0) == -EINVAL);
}

/*
 * A work request can neither send nor overwrite memory with a wrong key: a key that does not exist,
 * the key of another PD, or a key that does not allow writing. ib_core gives the second PD a key
 * for all kernel addresses. This key does not allow local writes.
 */
static void keys(struct rig *r)
{
	struct ib_pd *own = r->pd, *other = ib_alloc_pd(r->dev, IB_PD_UNSAFE_GLOBAL_RKEY);
	struct ib_wc wc = {};
	struct ib_ah *ah;
	u32 good[2], bad[5];
	unsigned int i;

	if (!EXPECT(r, !IS_ERR(other)))
		return;
	good[0] = own->local_dma_lkey;
	good[1] = other->unsafe_global_rkey;
	bad[0] = 0;
	bad[1] = good[0] + 1;
	bad[2] = good[1];
	bad[3] = good[1] ^ 1;
	bad[4] = U32_MAX;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		r->lkey = bad[i];
		EXPECT(r, post_recv(r, 1, GRH + 100) == -EINVAL);
		EXPECT(r, post_send(r, r->ah, 100, 0) == -EINVAL);
		EXPECT(r, !post_send(r, r->ah, 0,
				     0)); /* the key of a buffer of length 0 is not checked */
		EXPECT(r, poll(&r->send, &wc) && wc.status == IB_WC_SUCCESS);
	}
	r->lkey = good[0];
	r->pd = other;
	ah = create_ah(r, r->port.lid, 0, PORT);
	/* The QP refuses the address handle, because it is of another protection domain. */
	EXPECT(r, !IS_ERR(ah) && post_send(r, ah, 100, 0) == -EINVAL);
	EXPECT(r, !ib_destroy_qp(r->from));
	r->from = create_qp(r, (struct ib_qp_cap){ 4, 4, 2, 2, 0 }, IB_QPT_UD);
	if (EXPECT(r, !IS_ERR(r->from) && !to_rts(r->from, 0)) && EXPECT(r, !IS_ERR(ah))) {
		EXPECT(r, !post_recv(r, 1, GRH + 100));
		r->lkey = good[1];
		memset(r->out, 0x5a, 100);
		send(r, ah, 100, 0);
		EXPECT(r, poll(&r->recv, &wc) && wc.byte_len == GRH + 100 &&
				  !memcmp(r->in + GRH, r->out, 100));
		swap(r->from, r->to);
		EXPECT(r, post_recv(r, 1, GRH + 100) == -EINVAL);
		swap(r->from, r->to);
	}
	if (!IS_ERR(ah))
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
	if (!IS_ERR_OR_NULL(r->from))
		ib_destroy_qp(r->from);
	r->from = NULL;
	ib_dealloc_pd(other);
	r->pd = own;
}

/* In the error state all posted work requests come back with a flush error. */
static void flush(struct rig *r)
{
	struct ib_wc wc = {};
	unsigned int i;

	EXPECT(r, !post_recv(r, 0, GRH) && !post_recv(r, 1, GRH));
	EXPECT(r, !modify(r->to, IB_QPS_ERR, 0) && !modify(r->from, IB_QPS_ERR, 0));
	EXPECT(r, !post_recv(r, 2, GRH));
	for (i = 0; i < 3; i++)
		EXPECT(r, poll(&r->recv, &wc) && wc.status == IB_WC_WR_FLUSH_ERR && wc.wr_id == i);
	EXPECT(r, !post_send(r, r->ah, 8, 0));
	EXPECT(r, poll(&r->send, &wc) && wc.status == IB_WC_WR_FLUSH_ERR && wc.wr_id == 8);
}

/*
 * A CQ is armed for the next completion, or for the next solicited completion. If a consumer requests both, the CQ is
 * armed for the next completion (IBTA 11.4.2.2).
 */
static void notify(struct rig *r)
{
	struct ib_cq *cq = r->recv.ib;
	struct ib_wc wc;
	unsigned int i;

	for (i = 0; i < 4; i++)
		EXPECT(r, !post_recv(r, i, GRH + 100));
	send(r, r->ah, 1, IB_SEND_SOLICITED);
	EXPECT(r, atomic_read(&r->recv.comps) == 0); /* the CQ was not armed */
	EXPECT(r, ib_req_notify_cq(cq, IB_CQ_SOLICITED | IB_CQ_REPORT_MISSED_EVENTS) > 0);
	send(r, r->ah, 1, 0);
	EXPECT(r, atomic_read(&r->recv.comps) == 0); /* the completion is not solicited */
	EXPECT(r, !ib_req_notify_cq(cq, IB_CQ_NEXT_COMP) && !ib_req_notify_cq(cq, IB_CQ_SOLICITED));
	send(r, r->ah, 1, 0);
	EXPECT(r, atomic_read(&r->recv.comps) == 1);
	send(r, r->ah, 1, 0);
	EXPECT(r, atomic_read(&r->recv.comps) == 1); /* ib_req_notify_cq() gives only one call */
	for (i = 0; i < 4; i++)
		EXPECT(r, poll(&r->recv, &wc));
	EXPECT(r, !ib_req_notify_cq(cq, IB_CQ_SOLICITED | IB_CQ_REPORT_MISSED_EVENTS));
	EXPECT(r, !post_recv(r, 0, GRH + 100));
	send(r, r->ah, 1, IB_SEND_SOLICITED);
	EXPECT(r, atomic_read(&r->recv.comps) == 2);
}

/*
 * --- large sends. A receive has a part of .in of its own, because the packets of a large send arrive together. The
 * headers are those of RFC 4391, IPv4 and TCP; lengths and checksums are wrong, because the HCA writes them.
 */

#define PART (BUF / 4)
#define HDR 44
#define DATA 64 /* offset of the TCP data in .out */

static const u8 tcp_header[HDR] = {
	0x08, 0x00, 0,	  0, /* IPv4 */
	0x45, 0,    0,	  0,	0x12, 0x34, 0x40, 0,   64, 6,
	0,    0,    10,	  0,	0,    1,    10,	  0,   0,  2, /* Identification 0x1234, DF, TCP */
	0,    1,    0,	  2,	0,    0,    0,	  100, 0,  0,
	0,    0,    0x50, 0x18, 1,    0,    0,	  0,   0,  0, /* sequence number 100, PSH and ACK */
};

static int post_large(struct rig *r, u32 hlen, u32 len, int mss)
{
	struct ib_sge sge = { .addr = (uintptr_t)r->out + DATA, .length = len, .lkey = r->lkey };
	struct ib_ud_wr wr = {
		.wr = {
			.wr_id = len,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IB_WR_LSO,
			.send_flags = IB_SEND_SIGNALED | IB_SEND_IP_CSUM,
		},
		.ah = r->ah,
		.header = r->out,
		.hlen = hlen,
		.mss = mss,
		.remote_qpn = r->to->qp_num,
		.remote_qkey = QKEY,
	};
	const struct ib_send_wr *bad;

	return ib_post_send(r->from, &wr.wr, &bad);
}

static int post_recv_part(struct rig *r, unsigned int i)
{
	struct ib_sge sge = { .addr = (uintptr_t)r->in + i * PART,
			      .length = PART,
			      .lkey = r->lkey };
	struct ib_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	return ib_post_recv(r->to, &wr, &bad);
}

static void large_qp(struct rig *r)
{
	struct ib_qp_init_attr attr = {
		.send_cq = r->send.ib,
		.recv_cq = r->recv.ib,
		.cap = { 4, 4, 2, 2, 0 },
		.qp_type = IB_QPT_UD,
		.create_flags = IB_QP_CREATE_IPOIB_UD_LSO,
	};

	EXPECT(r, !ib_destroy_qp(r->from));
	r->from = ib_create_qp(r->pd, &attr);
	EXPECT(r, !IS_ERR(r->from) && !to_rts(r->from, 0));
}

/* Check the segment @i of a large send of 2500 octets by 1000. */
static void segment(struct rig *r, unsigned int i)
{
	const u8 *p = r->in + i * PART + GRH;
	u32 len = i < 2 ? 1000 : 500;
	struct ib_wc wc = {};

	EXPECT(r, poll(&r->recv, &wc) && wc.status == IB_WC_SUCCESS && wc.wr_id == i);
	EXPECT(r, wc.byte_len == GRH + HDR + len && wc.wc_flags == IB_WC_IP_CSUM_OK);
	EXPECT(r, get_unaligned_be16(p + 6) == HDR - 4 + len);
	EXPECT(r, get_unaligned_be16(p + 8) == 0x1234 + i);
	EXPECT(r, get_unaligned_be32(p + 28) == 100 + i * 1000);
	EXPECT(r, p[37] == (i < 2 ? 0x10 : 0x18));
	EXPECT(r, !memcmp(p + HDR, r->out + DATA + i * 1000, len));
}

static void large_send(struct rig *r)
{
	struct ib_wc wc = {};
	unsigned int i;

	for (i = 0; i < BUF; i++)
		r->out[i] = i * 7;
	memcpy(r->out, tcp_header, HDR);
	EXPECT(r,
	       post_large(r, HDR, 2500, 1000) == -EINVAL); /* the QP was made without large sends */
	large_qp(r);
	for (i = 0; i < 3; i++)
		EXPECT(r, !post_recv_part(r, i));
	EXPECT(r, !post_large(r, HDR, 2500, 1000));
	EXPECT(r, poll(&r->send, &wc) && wc.status == IB_WC_SUCCESS && wc.wr_id == 2500);
	for (i = 0; i < 3; i++)
		segment(r, i);
	/* the headers without data are one packet */
	EXPECT(r, !post_recv_part(r, 0) && !post_large(r, HDR, 0, 1000) && poll(&r->send, &wc));
	EXPECT(r, poll(&r->recv, &wc) && wc.byte_len == GRH + HDR);
	EXPECT(r, post_large(r, HDR, 100, 0) == -EINVAL);
	EXPECT(r, post_large(r, HDR, 100, -1) == -EINVAL);
	EXPECT(r, post_large(r, HDR - 1, 100, 1000) == -EINVAL);
	EXPECT(r, post_large(r, 0, 100, 1000) == -EINVAL);
	r->out[13] = 17; /* UDP */
	EXPECT(r, post_large(r, HDR, 100, 1000) == -EINVAL);
	r->out[13] = 6;
	/* two packets that are longer than the MTU */
	EXPECT(r, !post_large(r, HDR, (256 << r->port.active_mtu) - 1, 128 << r->port.active_mtu));
	EXPECT(r, poll(&r->send, &wc) && wc.status == IB_WC_SUCCESS);
}

/* A send with IB_SEND_IP_CSUM gets its checksums. Wrong checksums are delivered without IB_WC_IP_CSUM_OK. */
static void checksums(struct rig *r)
{
	struct ib_wc wc = {};

	memcpy(r->out, tcp_header, HDR);
	r->out[7] = HDR - 4 + 60;
	EXPECT(r, !post_recv(r, 0, GRH + 104) && !post_recv(r, 1, GRH + 104));
	send(r, r->ah, HDR + 60, IB_SEND_IP_CSUM);
	send(r, r->ah, HDR + 60, 0);
	EXPECT(r, poll(&r->recv, &wc) && wc.wc_flags == (IB_WC_WITH_IMM | IB_WC_IP_CSUM_OK));
	EXPECT(r, poll(&r->recv, &wc) && wc.wc_flags == IB_WC_WITH_IMM);
}

static const struct {
	const char *name;
	void (*run)(struct rig *r);
	unsigned int cqe; /* entries of the CQ for receives */
} cases[] = {
	{ "loopback", loopback, 16 },
	{ "no_receive", no_receive, 16 },
	{ "small_receive", small_receive, 16 },
	{ "qp_state", qp_state, 16 },
	{ "cq_full", cq_full, 2 },
	{ "tx_mtu", tx_mtu, 16 },
	{ "tx_pkey", tx_pkey, 16 },
	{ "tx_vl15", tx_vl15, 16 },
	{ "tx_state", tx_state, 16 },
	{ "limits", limits, 16 },
	{ "queues", queues, 16 },
	{ "keys", keys, 16 },
	{ "flush", flush, 16 },
	{ "notify", notify, 16 },
	{ "large_send", large_send, 16 },
	{ "checksums", checksums, 16 },
};

/* --- devices */

struct test_dev {
	struct ib_device *ibdev;
	struct ib_event_handler handler;
	atomic_t events[IB_EVENT_WQ_FATAL + 1];
	struct dentry *dir;
};

static struct ib_client client;

static ssize_t run_write(struct file *f, const char __user *from, size_t len, loff_t *pos)
{
	struct test_dev *d = file_inode(f)->i_private;
	struct rig r = { .dev = d->ibdev };
	char name[32] = {};
	unsigned int i;

	if (len >= sizeof(name) || copy_from_user(name, from, len))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(strim(name), cases[i].name))
			continue;
		r.name = cases[i].name;
		if (open(&r, cases[i].cqe))
			cases[i].run(&r);
		close(&r);
		return r.failed ? -EIO : len;
	}
	return -ENOENT;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int events_show(struct seq_file *m, void *v)
{
	struct test_dev *d = m->private;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(d->events); i++)
		seq_printf(m, "%d %s\n", atomic_read(&d->events[i]), ib_event_msg(i));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(events);

static void on_event(struct ib_event_handler *h, struct ib_event *ev)
{
	struct test_dev *d = container_of(h, struct test_dev, handler);

	if (ev->event < ARRAY_SIZE(d->events))
		atomic_inc(&d->events[ev->event]);
}

static int add_one(struct ib_device *ibdev)
{
	struct test_dev *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return -ENOMEM;
	d->ibdev = ibdev;
	d->dir = debugfs_create_dir(dev_name(&ibdev->dev), root);
	debugfs_create_file("events", 0400, d->dir, d, &events_fops);
	debugfs_create_file("run", 0200, d->dir, d, &run_fops);
	INIT_IB_EVENT_HANDLER(&d->handler, ibdev, on_event);
	ib_register_event_handler(&d->handler);
	ib_set_client_data(ibdev, &client, d);
	return 0;
}

static void remove_one(struct ib_device *ibdev, void *data)
{
	struct test_dev *d = data;

	ib_unregister_event_handler(&d->handler);
	debugfs_remove(d->dir); /* waits for a case that runs */
	kfree(d);
}

static struct ib_client client = { .name = "uib_test", .add = add_one, .remove = remove_one };

static int __init test_init(void)
{
	int err;

	root = debugfs_create_dir("uib_test", NULL);
	err = ib_register_client(&client);
	if (err)
		debugfs_remove(root);
	return err;
}

static void __exit test_exit(void)
{
	ib_unregister_client(&client);
	debugfs_remove(root);
}

module_init(test_init);
module_exit(test_exit);
