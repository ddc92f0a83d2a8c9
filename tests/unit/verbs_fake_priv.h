/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_VERBS_FAKE_PRIV_H
#define TESTS_UNIT_VERBS_FAKE_PRIV_H

/*
 * Declarations that the files of the imitated libibverbs share: verbs_fake.c (objects),
 * verbs_fake_qp.c (queue pairs), verbs_fake_umad.c (MADs), verbs_fake_csum.c (checksums)
 */

#include "unit/verbs_fake.h"
#include "util/list.h"

struct fake_ctx;

struct fake_dev {
	struct ibv_device dev;
	struct wire_end *end;
	struct ca_suite_env *env;
	struct fake_ctx *ctx; /* NULL: not open */
	struct ibv_mr *mr;
	struct list qps; /* struct fake_qp.link */
	int nah;
	int pkeys_fd;
	int umad; /* the kernel's end of the umad device */
	struct mad_agent *agent;
	bool gone;
};
extern struct fake_dev fake_devs[2];

struct fake_ctx {
	struct ibv_context ctx;
	struct fake_dev *dev;
	struct ibv_async_event async[64];
	unsigned int nasync;
};

struct fake_ah {
	struct ibv_ah ah;
	struct hca_ah *hah;
};

struct fake_cq {
	struct ibv_cq cq;
	unsigned int events, acked, users;
	unsigned int n;
	bool armed;
	struct ibv_wc wc[];
};

struct fake_channel {
	struct ibv_comp_channel ch;
	struct fake_cq *event[256];
	unsigned int n;
};

struct fake_wr {
	uint64_t id;
	struct ibv_sge sge;
	struct fake_ah *ah;
	uint32_t qpn, qkey;
	bool signalled, bad, csum;
};

#define FAKE_QUEUE 1024

struct fake_qp {
	struct ibv_qp qp;
	struct list link;
	struct fake_dev *dev;
	struct hca_qp *hq;
	struct fake_cq *scq, *rcq;
	enum ibv_qp_state state;
	uint16_t pkey_index;
	uint32_t qkey;
	unsigned int max_send, max_recv, nsend, nrecv, groups;
	struct fake_wr send[FAKE_QUEUE], recv[FAKE_QUEUE];
};

static inline struct fake_qp *fake_qp_of(struct ibv_qp *qp)
{
	return container_of(qp, struct fake_qp, qp);
}

void fake_qp_init(struct fake_dev *d, struct fake_qp *q, struct ibv_pd *pd,
		  struct ibv_qp_init_attr *attr);
void fake_qp_fini(struct fake_qp *q);
int fake_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask);
int fake_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *ret, int mask,
		  struct ibv_qp_init_attr *ret_init);
int fake_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int fake_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
bool fake_qps_send(struct fake_dev *d);
bool fake_qps_receive(struct fake_dev *d);

/* fake_csum_make() - Write the TCP or UDP checksum into an IPv4 packet with encapsulation */
void fake_csum_make(uint8_t *pkt, size_t len);
/* fake_csum_right() - Tell whether the checksums of the IPv4 header and of TCP or UDP are right */
bool fake_csum_right(const uint8_t *pkt, size_t len);

int fake_umad_open(struct fake_dev *d);
void fake_umad_close(struct fake_dev *d);
bool fake_umad_work(struct fake_dev *d);

#endif
