/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/verbs_fake_priv.h"

/* --- completions */

static void complete(struct fake_cq *cq, struct fake_qp *q, const struct ibv_wc *wc)
{
	struct fake_channel *ch = container_of(cq->cq.channel, struct fake_channel, ch);
	uint64_t one = 1;

	assert_true(cq->n < (unsigned int)cq->cq.cqe); /* otherwise the CQ overruns */
	cq->wc[cq->n] = *wc;
	cq->wc[cq->n++].qp_num = q->qp.qp_num;
	if (!cq->armed)
		return;
	cq->armed = false;
	assert_true(ch->n < ARRAY_SIZE(ch->event));
	ch->event[ch->n++] = cq;
	assert_int_equal(write(ch->ch.fd, &one, sizeof(one)), sizeof(one));
}

int fake_poll_cq(struct ibv_cq *h, int n, struct ibv_wc *wc)
{
	struct fake_cq *cq = container_of(h, struct fake_cq, cq);
	unsigned int k = cq->n < (unsigned int)n ? cq->n : (unsigned int)n;

	memcpy(wc, cq->wc, k * sizeof(*wc));
	memmove(cq->wc, cq->wc + k, (cq->n - k) * sizeof(*wc));
	cq->n -= k;
	return (int)k;
}

int fake_req_notify_cq(struct ibv_cq *h, int solicited_only)
{
	struct ca_suite_env *race = fake.race;

	assert_int_equal(solicited_only, 0);
	fake.race = NULL;
	while (race && fake_work(race))
		;
	container_of(h, struct fake_cq, cq)->armed = true;
	return 0;
}

static void purge(struct fake_cq *cq, const struct fake_qp *q)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < cq->n; i++)
		if (cq->wc[i].qp_num != q->qp.qp_num)
			cq->wc[n++] = cq->wc[i];
	cq->n = n;
}

/* --- states */

void fake_qp_init(struct fake_dev *d, struct fake_qp *q, struct ibv_pd *pd,
		  struct ibv_qp_init_attr *attr)
{
	struct hca_qp_attr a = { .port = 1, .rx_depth = FAKE_QUEUE };

	assert_int_equal(attr->qp_type, IBV_QPT_UD);
	assert_true(attr->cap.max_send_wr <= FAKE_QUEUE && attr->cap.max_recv_wr <= FAKE_QUEUE);
	assert_int_equal(hca_qp_create(d->end->hca, &a, q, &q->hq), 0);
	q->qp.context = pd->context;
	q->qp.qp_num = hca_qp_num(q->hq);
	q->dev = d;
	q->scq = container_of(attr->send_cq, struct fake_cq, cq);
	q->rcq = container_of(attr->recv_cq, struct fake_cq, cq);
	q->scq->users++;
	q->rcq->users++;
	q->max_send = attr->cap.max_send_wr;
	q->max_recv = attr->cap.max_recv_wr;
	q->state = IBV_QPS_RESET;
	list_add_tail(&d->qps, &q->link);
}

void fake_qp_fini(struct fake_qp *q)
{
	purge(q->scq, q);
	purge(q->rcq, q);
	q->scq->users--;
	q->rcq->users--;
	list_del(&q->link);
	hca_qp_destroy(q->hq);
}

static void reset(struct fake_qp *q)
{
	struct hca_wc wc[16];
	unsigned int n;

	while ((n = hca_poll(q->hq, wc, 16)))
		for (unsigned int i = 0; i < n; i++)
			pkt_free(wc[i].pkt);
	purge(q->scq, q);
	purge(q->rcq, q);
	q->nsend = q->nrecv = 0;
}

int fake_modify_qp(struct ibv_qp *h, struct ibv_qp_attr *a, int mask)
{
	struct fake_qp *q = fake_qp_of(h);
	enum ibv_qp_state s = a->qp_state;

	assert_true(mask & IBV_QP_STATE);
	if (q->dev->gone)
		return EIO;
	fake.made++;
	if (fake.fail_in && !--fake.fail_in)
		return ENOMEM;
	if (s == IBV_QPS_RESET) {
		reset(q);
	} else if (s == IBV_QPS_INIT && q->state == IBV_QPS_RESET) {
		if (mask != (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) ||
		    hca_qp_modify(q->hq, a->pkey_index, a->qkey))
			return EINVAL;
	} else if (s == IBV_QPS_RTR && q->state == IBV_QPS_INIT) {
		if (mask != IBV_QP_STATE)
			return EINVAL;
	} else if (s == IBV_QPS_RTS && q->state == IBV_QPS_RTR) {
		if (mask != (IBV_QP_STATE | IBV_QP_SQ_PSN))
			return EINVAL;
	} else if (s == IBV_QPS_RTS && q->state == IBV_QPS_SQE) {
		if (mask != IBV_QP_STATE)
			return EINVAL;
	} else {
		return EINVAL;
	}
	q->state = s;
	return 0;
}

int fake_query_qp(struct ibv_qp *h, struct ibv_qp_attr *ret, int mask,
		  struct ibv_qp_init_attr *ret_init)
{
	*ret = (struct ibv_qp_attr){ .qp_state = fake_qp_of(h)->state };
	return fake_qp_of(h)->dev->gone ? EIO : 0;
}

/* --- sends */

static void check_memory(const struct fake_qp *q, const struct ibv_sge *s)
{
	const struct ibv_mr *mr = q->dev->mr;

	assert_int_equal(s->lkey, mr->lkey);
	assert_true(s->addr >= (uintptr_t)mr->addr &&
		    s->addr + s->length <= (uintptr_t)mr->addr + mr->length);
}

int fake_post_send(struct ibv_qp *h, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *q = fake_qp_of(h);
	unsigned int n = 0;

	for (; wr; wr = wr->next, n++) {
		*bad = wr;
		if (q->dev->gone)
			return EIO;
		assert_true(q->state == IBV_QPS_RTS || q->state == IBV_QPS_SQE);
		assert_true(n < 10); /* the first ABI of ipathverbs has an array for 10 */
		if (q->nsend == q->max_send || !fake.take)
			return ENOMEM;
		if (fake.take != FAKE_FOR_EVER)
			fake.take--;
		assert_int_equal(wr->opcode, IBV_WR_SEND);
		assert_int_equal(wr->num_sge, 1);
		check_memory(q, wr->sg_list);
		if ((wr->send_flags & IBV_SEND_IP_CSUM) && !fake.csum)
			return EINVAL;
		q->send[q->nsend++] = (struct fake_wr){
			.id = wr->wr_id,
			.sge = *wr->sg_list,
			.ah = container_of(wr->wr.ud.ah, struct fake_ah, ah),
			.qpn = wr->wr.ud.remote_qpn,
			.qkey = wr->wr.ud.remote_qkey,
			.signalled = wr->send_flags & IBV_SEND_SIGNALED,
			.csum = wr->send_flags & IBV_SEND_IP_CSUM,
		};
	}
	return 0;
}

static void finish_send(struct fake_qp *q, const struct fake_wr *w)
{
	struct ibv_wc wc = { .wr_id = w->id, .opcode = IBV_WC_SEND };
	struct hca_send s = { .ah = w->ah->hah, .dest_qp = w->qpn, .qkey = w->qkey };
	uint8_t data[4096];

	if (q->state == IBV_QPS_SQE || q->state == IBV_QPS_ERR) {
		wc.status = IBV_WC_WR_FLUSH_ERR;
	} else if (w->bad) {
		wc.status = IBV_WC_LOC_QP_OP_ERR;
		q->state = IBV_QPS_SQE;
	} else {
		memcpy(data, (const void *)(uintptr_t)w->sge.addr, w->sge.length);
		/*
		 * Only mlx4 makes checksums on queue pairs of user space. Other drivers, such as
		 * mlx5, ignore the flag.
		 */
		if (w->csum && fake.driver && !strcmp(fake.driver, "mlx4_core"))
			fake_csum_make(data, w->sge.length);
		s.pkt = pkt_from_data(q->dev->env->pool, data, w->sge.length);
		assert_non_null(s.pkt);
		assert_int_equal(hca_post_send(q->hq, &s, 1, q->dev->env->now), 1);
	}
	if (w->signalled || wc.status)
		complete(q->scq, q, &wc);
}

bool fake_qps_send(struct fake_dev *d)
{
	struct fake_qp *q;
	bool moved = false;

	if (fake.hold || d->gone)
		return false;
	list_for_each (q, &d->qps, link) {
		for (unsigned int i = 0; i < q->nsend; i++, moved = true)
			finish_send(q, &q->send[i]);
		q->nsend = 0;
	}
	return moved;
}

void fake_fail_send(unsigned int side)
{
	struct fake_qp *q;

	list_for_each (q, &fake_devs[side].qps, link)
		if (q->nsend)
			q->send[0].bad = true;
}

/* --- receives */

int fake_post_recv(struct ibv_qp *h, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *q = fake_qp_of(h);
	unsigned int n = 0;

	for (; wr; wr = wr->next, n++) {
		*bad = wr;
		if (q->dev->gone)
			return EIO;
		assert_int_not_equal(q->state, IBV_QPS_RESET);
		assert_true(n < 10);
		if (q->nrecv == q->max_recv)
			return ENOMEM;
		assert_int_equal(wr->num_sge, 1);
		check_memory(q, wr->sg_list);
		q->recv[q->nrecv++] = (struct fake_wr){ .id = wr->wr_id, .sge = *wr->sg_list };
	}
	return 0;
}

static void take(struct fake_qp *q, const struct hca_wc *w)
{
	struct ibv_wc wc = {
		.opcode = IBV_WC_RECV,
		.byte_len = 40 + w->pkt->len,
		.src_qp = w->src_qp,
		.slid = w->slid,
		.sl = w->sl,
		.dlid_path_bits = w->dlid_path_bits,
		.wc_flags = w->grh ? IBV_WC_GRH : 0,
	};
	uint8_t *buf;

	if (!q->nrecv ||
	    (q->state != IBV_QPS_RTR && q->state != IBV_QPS_RTS && q->state != IBV_QPS_SQE))
		return;
	assert_true(q->recv[0].sge.length >= wc.byte_len);
	buf = (uint8_t *)(uintptr_t)q->recv[0].sge.addr;
	memset(buf, 0xa5, 40);
	if (w->grh)
		memcpy(buf, w->grh, 40);
	pkt_copy_out(w->pkt, 0, buf + 40, w->pkt->len);
	if (fake.csum && fake_csum_right(buf + 40, w->pkt->len))
		wc.wc_flags |= IBV_WC_IP_CSUM_OK;
	wc.wr_id = q->recv[0].id;
	memmove(q->recv, q->recv + 1, --q->nrecv * sizeof(q->recv[0]));
	complete(q->rcq, q, &wc);
}

bool fake_qps_receive(struct fake_dev *d)
{
	struct fake_qp *q;
	struct hca_wc wc;
	bool moved = false;

	list_for_each (q, &d->qps, link)
		for (; hca_poll(q->hq, &wc, 1); moved = true) {
			if (!d->gone)
				take(q, &wc);
			pkt_free(wc.pkt);
		}
	return moved;
}

static void fail_qp(struct fake_qp *q)
{
	q->state = IBV_QPS_ERR;
	for (unsigned int i = 0; i < q->nrecv; i++) {
		struct ibv_wc wc = {
			.wr_id = q->recv[i].id,
			.status = i ? IBV_WC_WR_FLUSH_ERR : IBV_WC_LOC_PROT_ERR,
		};

		complete(q->rcq, q, &wc);
	}
	q->nrecv = 0;
	for (unsigned int i = 0; i < q->nsend; i++)
		finish_send(q, &q->send[i]);
	q->nsend = 0;
}

void fake_fail_qps(unsigned int side)
{
	struct fake_qp *q;

	list_for_each (q, &fake_devs[side].qps, link)
		fail_qp(q);
}

bool fake_qps_work(unsigned int side)
{
	struct fake_qp *q;

	list_for_each (q, &fake_devs[side].qps, link)
		if (q->state != IBV_QPS_RTS || q->nrecv != q->max_recv)
			return false;
	return true;
}
