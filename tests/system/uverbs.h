/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SYSTEM_UVERBS_H
#define TESTS_SYSTEM_UVERBS_H

/*
 * The commands of /dev/infiniband/uverbsN as the kernel takes them (rdma/ib_user_verbs.h). The functions do not use
 * libibverbs, because it would not send wrong commands. If the kernel refuses a command, a function returns -errno.
 * Otherwise a function that makes an object returns its handle, and other functions return 0 if not stated otherwise.
 */

#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE "/dev/infiniband/uverbs0"
#define PAGE 4096u
#define QKEY 0x1234u

enum { QP_RC = 2, QP_UC = 3, QP_UD = 4 };
enum { QP_RESET, QP_INIT, QP_RTR, QP_RTS, QP_SQD, QP_SQE, QP_ERR };
enum { WC_LOC_PROT_ERR = 4, WC_WR_FLUSH_ERR = 5 };
enum { SEND_SIGNALED = 2, SEND_INLINE = 8 };
enum { ACCESS_LOCAL_WRITE = 1 };

/* uverbs_write() - Write one command, with room for @resp_len octets of response */
static inline int uverbs_write(int fd, uint32_t command, const void *body, size_t len,
			       size_t resp_len)
{
	union {
		struct ib_uverbs_cmd_hdr hdr;
		char octets[8192];
	} c = { .hdr = { command, (uint16_t)((sizeof(c.hdr) + len) / 4),
			 (uint16_t)(resp_len / 4) } };
	size_t n = sizeof(c.hdr) + len;

	if (n > sizeof(c))
		return -E2BIG;
	memcpy(c.octets + sizeof(c.hdr), body, len);
	return write(fd, c.octets, n) == (ssize_t)n ? 0 : -errno;
}
#define UVERBS(fd, command, body, resp) \
	uverbs_write(fd, IB_USER_VERBS_CMD_##command, &(body), sizeof(body), sizeof(resp))

/* uverbs_open() - Open a device and make a context. Return: the descriptor */
static inline int uverbs_open(const char *path)
{
	struct ib_uverbs_get_context_resp resp = { 0 };
	struct ib_uverbs_get_context cmd = { .response = (uintptr_t)&resp };
	int fd = open(path, O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = UVERBS(fd, GET_CONTEXT, cmd, resp);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static inline int uverbs_pd(int fd)
{
	struct ib_uverbs_alloc_pd_resp resp = { 0 };
	struct ib_uverbs_alloc_pd cmd = { .response = (uintptr_t)&resp };
	int err = UVERBS(fd, ALLOC_PD, cmd, resp);

	return err ? err : (int)resp.pd_handle;
}

static inline int uverbs_cq(int fd, uint32_t cqe)
{
	struct ib_uverbs_create_cq_resp resp = { 0 };
	struct ib_uverbs_create_cq cmd = { .response = (uintptr_t)&resp,
					   .cqe = cqe,
					   .comp_channel = -1 };
	int err = UVERBS(fd, CREATE_CQ, cmd, resp);

	return err ? err : (int)resp.cq_handle;
}

static inline int uverbs_mr(int fd, int pd, void *at, size_t len, uint32_t access, uint32_t *lkey)
{
	struct ib_uverbs_reg_mr_resp resp = { 0 };
	struct ib_uverbs_reg_mr cmd = {
		.response = (uintptr_t)&resp,
		.start = (uintptr_t)at,
		.hca_va = (uintptr_t)at,
		.length = len,
		.pd_handle = (uint32_t)pd,
		.access_flags = access,
	};
	int err = UVERBS(fd, REG_MR, cmd, resp);

	if (err)
		return err;
	*lkey = resp.lkey;
	return (int)resp.mr_handle;
}

static inline int uverbs_dereg(int fd, int mr)
{
	struct ib_uverbs_dereg_mr cmd = { (uint32_t)mr };

	return uverbs_write(fd, IB_USER_VERBS_CMD_DEREG_MR, &cmd, sizeof(cmd), 0);
}

/*
 * uverbs_qp() - Make a QP with the type and sizes of @like. The function fills in handles, the address of the
 * response, and defaults for sizes that are 0 but must not be 0
 */
static inline int uverbs_qp(int fd, int pd, int cq, const struct ib_uverbs_create_qp *like,
			    uint32_t *qpn)
{
	struct ib_uverbs_create_qp_resp resp = { 0 };
	struct ib_uverbs_create_qp cmd = *like;
	int err;

	cmd.response = (uintptr_t)&resp;
	cmd.pd_handle = (uint32_t)pd;
	cmd.send_cq_handle = cmd.recv_cq_handle = (uint32_t)cq;
	cmd.qp_type = cmd.qp_type ? cmd.qp_type : QP_UD;
	cmd.max_send_wr = cmd.max_send_wr ? cmd.max_send_wr : 16;
	cmd.max_recv_wr = cmd.max_recv_wr ? cmd.max_recv_wr : 16;
	cmd.max_send_sge = cmd.max_send_sge ? cmd.max_send_sge : 2;
	cmd.max_recv_sge = cmd.max_recv_sge ? cmd.max_recv_sge : 2;
	err = UVERBS(fd, CREATE_QP, cmd, resp);
	if (err)
		return err;
	*qpn = resp.qpn;
	return (int)resp.qp_handle;
}

static inline int uverbs_destroy_qp(int fd, int qp)
{
	struct ib_uverbs_destroy_qp_resp resp = { 0 };
	struct ib_uverbs_destroy_qp cmd = { .response = (uintptr_t)&resp,
					    .qp_handle = (uint32_t)qp };

	return UVERBS(fd, DESTROY_QP, cmd, resp);
}

enum {
	ATTR_STATE = 1,
	ATTR_PKEY_INDEX = 1 << 4,
	ATTR_PORT = 1 << 5,
	ATTR_QKEY = 1 << 6,
	ATTR_SQ_PSN = 1 << 16
};

/* uverbs_modify() - Move a QP to @state, with the other attributes that @mask names */
static inline int uverbs_modify(int fd, int qp, int state, uint32_t mask, uint32_t qkey)
{
	struct ib_uverbs_modify_qp cmd = {
		.qp_handle = (uint32_t)qp,
		.attr_mask = ATTR_STATE | mask,
		.qp_state = (uint8_t)state,
		.qkey = qkey,
		.port_num = 1,
	};

	return uverbs_write(fd, IB_USER_VERBS_CMD_MODIFY_QP, &cmd, sizeof(cmd), 0);
}

/* uverbs_rts() - Move a QP from RESET to RTS */
static inline int uverbs_rts(int fd, int qp, uint32_t qkey)
{
	int err = uverbs_modify(fd, qp, QP_INIT, ATTR_PKEY_INDEX | ATTR_PORT | ATTR_QKEY, qkey);

	err = err ? err : uverbs_modify(fd, qp, QP_RTR, 0, 0);
	return err ? err : uverbs_modify(fd, qp, QP_RTS, ATTR_SQ_PSN, 0);
}

static inline int uverbs_ah(int fd, int pd, uint16_t dlid)
{
	struct ib_uverbs_create_ah_resp resp = { 0 };
	struct ib_uverbs_create_ah cmd = {
		.response = (uintptr_t)&resp,
		.pd_handle = (uint32_t)pd,
		.attr = { .dlid = dlid, .port_num = 1 },
	};
	int err = UVERBS(fd, CREATE_AH, cmd, resp);

	return err ? err : (int)resp.ah_handle;
}

static inline int uverbs_lid(int fd)
{
	struct ib_uverbs_query_port_resp resp = { 0 };
	struct ib_uverbs_query_port cmd = { .response = (uintptr_t)&resp, .port_num = 1 };
	int err = UVERBS(fd, QUERY_PORT, cmd, resp);

	return err ? err : resp.lid;
}

/* uverbs_send(), uverbs_recv() - Post one work request with one SGE */
static inline int uverbs_send(int fd, int qp, struct ib_uverbs_send_wr wr, struct ib_uverbs_sge sge)
{
	struct ib_uverbs_post_send_resp resp = { 0 };
	struct ib_uverbs_post_send cmd = {
		.response = (uintptr_t)&resp,
		.qp_handle = (uint32_t)qp,
		.wr_count = 1,
		.sge_count = 1,
		.wqe_size = sizeof(wr),
	};
	char body[sizeof(cmd) + sizeof(wr) + sizeof(sge)];

	wr.num_sge = 1;
	memcpy(body, &cmd, sizeof(cmd));
	memcpy(body + sizeof(cmd), &wr, sizeof(wr));
	memcpy(body + sizeof(cmd) + sizeof(wr), &sge, sizeof(sge));
	return UVERBS(fd, POST_SEND, body, resp);
}

static inline int uverbs_recv(int fd, int qp, uint64_t wr_id, struct ib_uverbs_sge sge)
{
	struct ib_uverbs_recv_wr wr = { wr_id, 1, 0 };
	struct ib_uverbs_post_recv_resp resp = { 0 };
	struct ib_uverbs_post_recv cmd = {
		.response = (uintptr_t)&resp,
		.qp_handle = (uint32_t)qp,
		.wr_count = 1,
		.sge_count = 1,
		.wqe_size = sizeof(wr),
	};
	char body[sizeof(cmd) + sizeof(wr) + sizeof(sge)];

	memcpy(body, &cmd, sizeof(cmd));
	memcpy(body + sizeof(cmd), &wr, sizeof(wr));
	memcpy(body + sizeof(cmd) + sizeof(wr), &sge, sizeof(sge));
	return UVERBS(fd, POST_RECV, body, resp);
}

/* uverbs_poll() - Poll the CQ once. Return: 1: @wc has a completion; 0: there is none */
static inline int uverbs_poll(int fd, int cq, struct ib_uverbs_wc *wc)
{
	struct ib_uverbs_poll_cq_resp head;
	char resp[sizeof(head) + sizeof(*wc)];
	struct ib_uverbs_poll_cq cmd = { .response = (uintptr_t)resp,
					 .cq_handle = (uint32_t)cq,
					 .ne = 1 };
	int err = UVERBS(fd, POLL_CQ, cmd, resp);

	if (err)
		return err;
	memcpy(&head, resp, sizeof(head));
	memcpy(wc, resp + sizeof(head), sizeof(*wc));
	return (int)head.count;
}

static inline struct ib_uverbs_sge sge_of(uint64_t at, uint32_t len, uint32_t lkey)
{
	return (struct ib_uverbs_sge){ at, len, lkey };
}

/* pages() - Map @n pages of memory, filled with 0xa5 */
static inline uint8_t *pages(unsigned int n)
{
	uint8_t *at =
		mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	memset(at, 0xa5, n * PAGE);
	return at;
}

#endif
