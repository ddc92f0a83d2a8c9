/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * This program tries to use objects that do not exist, to make requests without the privilege for
 * them, and to make more objects than a process may have.
 */

#include <sys/resource.h>
#include <sys/wait.h>

#include "system/verbs_rig.h"

static void not_there(void)
{
	struct ib_uverbs_create_srq_resp resp;
	struct ib_uverbs_create_srq srq = { .response = (uintptr_t)&resp,
					    .max_wr = 4,
					    .max_sge = 1 };
	struct ib_uverbs_sge sge;
	struct ib_uverbs_send_wr wr;
	unsigned int op;
	int pd2;

	open_rig();
	sge = sge_of(r.start, 100, r.lkey);
	srq.pd_handle = (uint32_t)r.pd;
	EXPECT(UVERBS(r.fd, CREATE_SRQ, srq, resp) == -EOPNOTSUPP);
	EXPECT(qp_with(&(struct ib_uverbs_create_qp){ .qp_type = QP_RC }) == -EOPNOTSUPP);
	EXPECT(qp_with(&(struct ib_uverbs_create_qp){ .qp_type = QP_UC }) == -EOPNOTSUPP);
	EXPECT(qp_with(&(struct ib_uverbs_create_qp){ .qp_type = 1 }) == -EINVAL); /* GSI */
	EXPECT(qp_with(&(struct ib_uverbs_create_qp){ .max_inline_data = 1 }) == -EINVAL);
	EXPECT(qp_with(&(struct ib_uverbs_create_qp){ .max_send_wr = 16385 }) == -EINVAL);
	EXPECT(qp_with(&(struct ib_uverbs_create_qp){ .max_recv_sge = 33 }) == -EINVAL);
	EXPECT(uverbs_cq(r.fd, 0) == -EINVAL && uverbs_cq(r.fd, UINT32_MAX) == -EINVAL);
	for (op = 0; op < 16; op++) {
		wr = to_self();
		wr.opcode = op;
		EXPECT(op == IB_UVERBS_WR_SEND || op == IB_UVERBS_WR_SEND_WITH_IMM ||
		       uverbs_send(r.fd, r.qp, wr, sge) == -EINVAL);
	}
	wr = to_self();
	wr.send_flags |= SEND_INLINE;
	EXPECT(uverbs_send(r.fd, r.qp, wr, sge) == -EINVAL);
	pd2 = uverbs_pd(r.fd);
	wr = to_self();
	wr.wr.ud.ah = (uint32_t)uverbs_ah(r.fd, pd2, (uint16_t)uverbs_lid(r.fd));
	EXPECT(uverbs_send(r.fd, r.qp, wr, sge) == -EINVAL);
	EXPECT(uverbs_ah(r.fd, r.pd, 0xc001) == -EINVAL); /* a group without GRH */
	EXPECT(!uverbs_modify(r.fd, r.qp, QP_RESET, 0, 0));
	EXPECT(send_one(sge) == -EINVAL && recv_one(sge) == -EINVAL);
	close_rig();
}

/* Run @what as a user without capabilities; return its exit status */
static int as_nobody(int (*what)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(setgid(65534) || setuid(65534) ? 99 : what());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int controlled_qkey(void)
{
	uint32_t qpn, ok = 1;
	int fd = uverbs_open(DEVICE), pd = uverbs_pd(fd);
	int qp = uverbs_qp(fd, pd, uverbs_cq(fd, 4), &(struct ib_uverbs_create_qp){ 0 }, &qpn);

	ok &= uverbs_rts(fd, qp, 0x80010000) == -EPERM;
	return ok && !uverbs_rts(fd, qp, QKEY) ? 0 : 1;
}

static int locked_memory(void)
{
	struct rlimit limit = { 4 * PAGE, 4 * PAGE };
	int fd = uverbs_open(DEVICE), pd = uverbs_pd(fd), a, b, c, d;
	uint8_t *at = pages(8);
	uint32_t lkey = 0;

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		return 2;
	a = uverbs_mr(fd, pd, at, (size_t)5 * PAGE, 1, &lkey);
	b = uverbs_mr(fd, pd, at, (size_t)4 * PAGE, 1, &lkey);
	c = uverbs_mr(fd, pd, at + (size_t)4 * PAGE, PAGE, 1, &lkey);
	d = uverbs_dereg(fd, b) ? -1 : uverbs_mr(fd, pd, at, PAGE, 1, &lkey);
	return a == -ENOMEM && b >= 0 && c == -ENOMEM && d >= 0 ? 0 : 1;
}

static void privileges(void)
{
	EXPECT(as_nobody(controlled_qkey) == 0);
	EXPECT(as_nobody(locked_memory) == 0);
}

/* --- quotas */

static void count_qps(void)
{
	uint32_t qpn;
	int n, fd, qp = -1, last = -1;

	open_rig();
	fd = uverbs_open(DEVICE); /* a second context does not get a quota of its own */
	for (n = 1; (qp = qp_with(&(struct ib_uverbs_create_qp){ 0 })) >= 0; n++)
		last = qp;
	EXPECT(n == 256 && qp == -ENOMEM);
	EXPECT(uverbs_qp(fd, uverbs_pd(fd), uverbs_cq(fd, 4), &(struct ib_uverbs_create_qp){ 0 },
			 &qpn) == -ENOMEM);
	EXPECT(!uverbs_destroy_qp(r.fd, last));
	EXPECT(qp_with(&(struct ib_uverbs_create_qp){ 0 }) >= 0 &&
	       qp_with(&(struct ib_uverbs_create_qp){ 0 }) == -ENOMEM);
	close(fd);
	close_rig();
}

static void count_octets(void)
{
	int n, cq = 0;

	open_rig();
	for (n = 0; n < 256 && (cq = uverbs_cq(r.fd, 1 << 18)) >= 0; n++)
		;
	EXPECT(n > 0 && n < 32 && cq == -ENOMEM);
	EXPECT(qp_with(&(struct ib_uverbs_create_qp){ .max_send_wr = 16384, .max_send_sge = 32 }) ==
	       -ENOMEM);
	EXPECT(uverbs_cq(r.fd, 16) >= 0);
	close_rig();
}

static void count_others(void)
{
	struct ib_uverbs_attach_mcast m = { .gid = { 0xff, 0x12 }, .mlid = 0xc001 };
	uint32_t lkey = 0;
	int n, err = 0, fds[80];

	open_rig();
	for (n = 0; (err = uverbs_ah(r.fd, r.pd, 1)) >= 0; n++)
		;
	EXPECT(n == 4095 && err == -ENOMEM);
	for (n = 0; (err = uverbs_pd(r.fd)) >= 0; n++)
		;
	EXPECT(n == 255 && err == -ENOMEM);
	for (n = 0; (err = uverbs_mr(r.fd, r.pd, r.page, 1, 1, &lkey)) >= 0; n++)
		;
	EXPECT(n == 4095 && err == -ENOMEM);
	m.qp_handle = (uint32_t)r.qp;
	for (n = 0; !(err = uverbs_write(r.fd, IB_USER_VERBS_CMD_ATTACH_MCAST, &m, sizeof(m), 0));
	     n++)
		memcpy(m.gid + 8, &n, sizeof(n));
	/* the first two calls attach the same group, so more than 1024 calls can succeed */
	EXPECT(n >= 1024 && n <= 1025 && err == -ENOMEM);
	for (n = 0; n < 80 && (fds[n] = uverbs_open(DEVICE)) >= 0; n++)
		;
	EXPECT(n == 63 && fds[n] == -ENOMEM);
	while (n)
		close(fds[--n]);
	close_rig();
}

int main(void)
{
	RUN(not_there, "what is not there is refused");
	RUN(privileges, "a controlled Q_Key and more memory than RLIMIT_MEMLOCK are refused");
	RUN(count_qps, "a process has 256 QPs at most, in all its contexts");
	RUN(count_octets, "the queues of a process have a limit");
	RUN(count_others, "AHs, PDs, regions, groups and contexts have a limit");
	return tap_end();
}
