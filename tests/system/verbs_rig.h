/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SYSTEM_VERBS_RIG_H
#define TESTS_SYSTEM_VERBS_RIG_H

/*
 * One object of each kind of /dev/infiniband/uverbs0 (uib.ko), for the programs verbs_*.c, which
 * try forbidden operations on the objects. tests/interop/linux/guest/verbs.sh runs these programs.
 */

#include <stdbool.h>
#include <sys/mman.h>

#include "system/tap.h"
#include "system/uverbs.h"

#define PATIENCE 20000 /* milliseconds */

struct rig {
	int fd, pd, cq, qp, ah;
	uint32_t qpn, lkey;
	int mr;
	uint8_t *page; /* three pages, of which only the middle of the second one is registered */
	uint64_t start; /* first address of the registered memory, which has .len octets */
	uint32_t len;
};

static struct rig r;

static inline void open_rig(void)
{
	memset(&r, 0, sizeof(r));
	r.fd = uverbs_open(DEVICE);
	r.pd = uverbs_pd(r.fd);
	r.cq = uverbs_cq(r.fd, 64);
	r.qp = uverbs_qp(r.fd, r.pd, r.cq, &(struct ib_uverbs_create_qp){ 0 }, &r.qpn);
	r.ah = uverbs_ah(r.fd, r.pd, (uint16_t)uverbs_lid(r.fd));
	r.page = pages(3);
	r.start = (uintptr_t)r.page + PAGE + 100;
	r.len = 2000;
	r.mr = uverbs_mr(r.fd, r.pd, (void *)(uintptr_t)r.start, r.len, ACCESS_LOCAL_WRITE,
			 &r.lkey);
	EXPECT(r.fd >= 0 && r.pd >= 0 && r.cq >= 0 && r.qp >= 0 && r.ah >= 0 && r.mr >= 0);
	EXPECT(!uverbs_rts(r.fd, r.qp, QKEY));
}

static inline void close_rig(void)
{
	close(r.fd);
	munmap(r.page, (size_t)3 * PAGE);
}

static inline struct ib_uverbs_send_wr to_self(void)
{
	return (struct ib_uverbs_send_wr){
		.wr_id = 7,
		.opcode = IB_UVERBS_WR_SEND,
		.send_flags = SEND_SIGNALED,
		.wr.ud = { .ah = (uint32_t)r.ah, .remote_qpn = r.qpn, .remote_qkey = QKEY },
	};
}

static inline int send_one(struct ib_uverbs_sge sge)
{
	return uverbs_send(r.fd, r.qp, to_self(), sge);
}

static inline int recv_one(struct ib_uverbs_sge sge)
{
	return uverbs_recv(r.fd, r.qp, 8, sge);
}

/* Wait for the next completion. Return: its status, with the completion in @ret; -errno */
static inline int next_completion(struct ib_uverbs_wc *ret)
{
	int i, n;

	for (i = 0; i < PATIENCE; i++) {
		n = uverbs_poll(r.fd, r.cq, ret);
		if (n)
			return n < 0 ? n : (int)ret->status;
		usleep(1000);
	}
	return -ETIMEDOUT;
}

static inline void expect_next(uint64_t id, int status)
{
	struct ib_uverbs_wc wc = { 0 };
	int s = next_completion(&wc);

	if (s != status || wc.wr_id != id)
		printf("#   completion of %d with status %d\n", (int)wc.wr_id, s);
	EXPECT(s == status && wc.wr_id == id);
}

static inline int qp_with(const struct ib_uverbs_create_qp *cmd)
{
	uint32_t qpn;

	return uverbs_qp(r.fd, r.pd, r.cq, cmd, &qpn);
}

#endif
