/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A program that wants more from uib.ko than it may have, by /dev/infiniband/uverbs0 of a VM; see tests/interop/linux/verbs.sh.
 *
 *	verbs_hostile keys		memory that is not its own, and what is not there
 *	verbs_hostile quotas		more objects than one process may have
 *	verbs_hostile hold		prints "ready" when it has one object of each kind, and uses them until the device is gone
 */

#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "system/tap.h"
#include "system/uverbs.h"

#define DEVICE "/dev/infiniband/uverbs0"
#define GRH 40u
#define PATIENCE 20000 /* milliseconds */

struct rig {
	int fd, pd, cq, qp, ah;
	uint32_t qpn, lkey;
	int mr;
	uint8_t *page; /* three pages; the middle of the second one is registered */
	uint64_t start; /* of what is registered */
	uint32_t len;
};

static struct rig r;

static void open_rig(void)
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

static void close_rig(void)
{
	close(r.fd);
	munmap(r.page, (size_t)3 * PAGE);
}

static struct ib_uverbs_send_wr to_self(void)
{
	return (struct ib_uverbs_send_wr){
		.wr_id = 7,
		.opcode = IB_UVERBS_WR_SEND,
		.send_flags = SEND_SIGNALED,
		.wr.ud = { .ah = (uint32_t)r.ah, .remote_qpn = r.qpn, .remote_qkey = QKEY },
	};
}

static int send_one(struct ib_uverbs_sge sge)
{
	return uverbs_send(r.fd, r.qp, to_self(), sge);
}

static int recv_one(struct ib_uverbs_sge sge)
{
	return uverbs_recv(r.fd, r.qp, 8, sge);
}

/* Status of the next completion; @ret_id says whose it is */
static int next_status(uint64_t *ret_id)
{
	struct ib_uverbs_wc wc = { 0 };
	int i, n;

	for (i = 0; i < PATIENCE; i++) {
		n = uverbs_poll(r.fd, r.cq, &wc);
		if (n) {
			*ret_id = n < 0 ? 0 : wc.wr_id;
			return n < 0 ? n : (int)wc.status;
		}
		usleep(1000);
	}
	return -ETIMEDOUT;
}

static void expect_next(uint64_t id, int status)
{
	uint64_t got = 0;
	int s = next_status(&got);

	if (s != status || got != id)
		printf("#   completion of %d with status %d\n", (int)got, s);
	EXPECT(s == status && got == id);
}

static void refused(struct ib_uverbs_sge sge)
{
	int s = send_one(sge), v = recv_one(sge);

	if (s != -EINVAL || v != -EINVAL)
		printf("#   key 0x%x, 0x%llx, %u octets: send %d, receive %d\n", sge.lkey,
		       (unsigned long long)sge.addr, sge.length, s, v);
	EXPECT(s == -EINVAL && v == -EINVAL);
}

/* --- memory that is not its own */

static void keys(void)
{
	uint32_t own, other_pd, other_context;
	uint8_t *more = pages(1);
	int fd = uverbs_open(DEVICE), i;

	open_rig();
	own = r.lkey;
	EXPECT(uverbs_mr(r.fd, uverbs_pd(r.fd), more, PAGE, ACCESS_LOCAL_WRITE, &other_pd) >= 0);
	EXPECT(uverbs_mr(fd, uverbs_pd(fd), more, PAGE, ACCESS_LOCAL_WRITE, &other_context) >= 0);
	refused(sge_of(r.start, 100, 0));
	refused(sge_of(r.start, 100, 1)); /* the key of consumers in the kernel */
	refused(sge_of(0xffff888000000000, 100, 1));
	refused(sge_of(0xffff888000000000, 100, own));
	refused(sge_of((uintptr_t)more, 100, other_pd));
	refused(sge_of((uintptr_t)more, 100, other_context));
	for (i = 1; i < 256; i++)
		refused(sge_of(r.start, 100, own ^ (uint32_t)i));
	for (i = 8; i < 32; i++)
		refused(sge_of(r.start, 100, own ^ 1u << i));
	close(fd);
	close_rig();
	munmap(more, PAGE);
}

static void bounds(void)
{
	open_rig();
	refused(sge_of(r.start - 1, 100, r.lkey));
	refused(sge_of(r.start, r.len + 1, r.lkey));
	refused(sge_of(r.start + r.len, 1, r.lkey));
	refused(sge_of(r.start + r.len - 1, 2, r.lkey));
	refused(sge_of(r.start, UINT32_MAX, r.lkey));
	refused(sge_of(UINT64_MAX, 1, r.lkey));
	refused(sge_of(UINT64_MAX - 50, 100, r.lkey));
	refused(sge_of(0, 100, r.lkey));
	close_rig();
}

/* Another process's region, whose key it tells */
static void other_process(void)
{
	int tell[2], end[2];
	uint32_t lkey = 0;
	char c = 0;
	pid_t pid;

	EXPECT(!pipe(tell) && !pipe(end));
	open_rig();
	pid = fork();
	if (!pid) {
		int fd = uverbs_open(DEVICE);

		close(end[1]);
		uverbs_mr(fd, uverbs_pd(fd), r.page, PAGE, ACCESS_LOCAL_WRITE, &lkey);
		if (write(tell[1], &lkey, sizeof(lkey)) < 0 || read(end[0], &c, 1) < 0)
			_exit(1);
		_exit(r.page[0] == 0xa5 && r.page[PAGE - 1] == 0xa5 ? 0 : 2);
	}
	EXPECT(read(tell[0], &lkey, sizeof(lkey)) == sizeof(lkey) && lkey);
	refused(sge_of((uintptr_t)r.page, 100, lkey));
	close(end[0]);
	close(end[1]);
	{
		int status = -1;

		EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	}
	close(tell[0]);
	close(tell[1]);
	close_rig();
}

static bool only_changed(uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = 0; i < 3 * PAGE; i++)
		if ((i < from || i >= to) && r.page[i] != 0xa5)
			return false;
	return true;
}

/* A receive writes what it names and not an octet besides; the message is smaller than its buffer. */
static void only_its_own(void)
{
	uint32_t at;

	open_rig();
	memset((void *)(uintptr_t)r.start, 0x11, 500);
	EXPECT(!recv_one(sge_of(r.start + 700, 1000, r.lkey)));
	EXPECT(!send_one(sge_of(r.start, 500, r.lkey)));
	expect_next(8, 0);
	expect_next(7, 0);
	memset((void *)(uintptr_t)r.start, 0xa5, 500);
	at = PAGE + 100 + 700 + GRH;
	EXPECT(r.page[at] == 0x11 && r.page[at + 499] == 0x11 && only_changed(at, at + 500));
	close_rig();
}

static void read_only(void)
{
	uint8_t *at = pages(1);
	uint32_t lkey = 0;

	open_rig();
	EXPECT(uverbs_mr(r.fd, r.pd, at, PAGE, 0, &lkey) >= 0);
	EXPECT(recv_one(sge_of((uintptr_t)at, 100, lkey)) == -EINVAL);
	EXPECT(!send_one(sge_of((uintptr_t)at, 100, lkey)));
	expect_next(7, 0);
	EXPECT(!mprotect(at, PAGE, PROT_READ));
	EXPECT(uverbs_mr(r.fd, r.pd, at, PAGE, ACCESS_LOCAL_WRITE, &lkey) == -EFAULT);
	EXPECT(uverbs_mr(r.fd, r.pd, (void *)0xffff888000000000, PAGE, 1, &lkey) < 0);
	EXPECT(uverbs_mr(r.fd, r.pd, at, 0, 1, &lkey) < 0);
	EXPECT(uverbs_mr(r.fd, r.pd, at, UINT64_MAX, 1, &lkey) < 0);
	close_rig();
	munmap(at, PAGE);
}

/* What is posted does not keep memory that has been deregistered, and fails. */
static void deregistered(void)
{
	struct ib_uverbs_sge sge;
	uint32_t lkey = 0;

	open_rig();
	/* a send that waits in SQD; the QP is in SQE after it, until RTS is asked for */
	EXPECT(!uverbs_modify(r.fd, r.qp, QP_SQD, 0, 0));
	sge = sge_of(r.start, 100, r.lkey);
	EXPECT(!send_one(sge) && !send_one(sge));
	EXPECT(!uverbs_dereg(r.fd, r.mr));
	EXPECT(send_one(sge) == -EINVAL);
	EXPECT(!uverbs_modify(r.fd, r.qp, QP_RTS, 0, 0));
	expect_next(7, WC_LOC_PROT_ERR);
	expect_next(7, WC_WR_FLUSH_ERR);
	r.mr = uverbs_mr(r.fd, r.pd, (void *)(uintptr_t)r.start, r.len, ACCESS_LOCAL_WRITE, &lkey);
	EXPECT(r.mr >= 0 && lkey != r.lkey);
	EXPECT(!uverbs_modify(r.fd, r.qp, QP_RTS, 0, 0));
	/* a receive; the QP is in ERR after it */
	EXPECT(!recv_one(sge_of(r.start + 700, 1000, lkey)));
	EXPECT(!recv_one(sge_of(r.start + 700, 1000, lkey)));
	EXPECT(!uverbs_dereg(r.fd, r.mr));
	EXPECT(uverbs_mr(r.fd, r.pd, r.page, PAGE, ACCESS_LOCAL_WRITE, &lkey) >= 0);
	EXPECT(!send_one(sge_of((uintptr_t)r.page, 100, lkey)));
	expect_next(8, WC_LOC_PROT_ERR);
	expect_next(7, 0);
	expect_next(8, WC_WR_FLUSH_ERR);
	EXPECT(only_changed(0, 0));
	close_rig();
}

/* The region keeps its pages, whatever is mapped at its address later. */
static void unmapped(void)
{
	open_rig();
	EXPECT(mmap(r.page, (size_t)3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0) == r.page);
	EXPECT(!recv_one(sge_of(r.start + 700, 1000, r.lkey)));
	EXPECT(!send_one(sge_of(r.start, 500, r.lkey)));
	expect_next(8, 0);
	expect_next(7, 0);
	EXPECT(r.page[PAGE + 100 + 700 + GRH] == 0);
	close_rig();
}

/* --- what is not there */

static int qp_with(const struct ib_uverbs_create_qp *cmd)
{
	uint32_t qpn;

	return uverbs_qp(r.fd, r.pd, r.cq, cmd, &qpn);
}

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

/* Runs @what as a user without capabilities: its exit status */
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
	fd = uverbs_open(DEVICE); /* a second context has no quota of its own */
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
	EXPECT(n >= 1024 && n <= 1025 && err == -ENOMEM); /* the first group comes twice */
	for (n = 0; n < 80 && (fds[n] = uverbs_open(DEVICE)) >= 0; n++)
		;
	EXPECT(n == 63 && fds[n] == -ENOMEM);
	while (n)
		close(fds[--n]);
	close_rig();
}

/* --- one object of each kind, in use, until the device is gone or the process is killed */

static int hold(void)
{
	struct ib_uverbs_attach_mcast m = { .gid = { 0xff, 0x12, 1 }, .mlid = 0xc001 };
	struct ib_uverbs_wc wc = { 0 };
	uint32_t lkey = 0;
	int err = 0, i, mr;

	open_rig();
	m.qp_handle = (uint32_t)r.qp;
	uverbs_write(r.fd, IB_USER_VERBS_CMD_ATTACH_MCAST, &m, sizeof(m), 0);
	for (i = 0; i < 8; i++)
		recv_one(sge_of(r.start, 1000, r.lkey));
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		mr = uverbs_mr(r.fd, r.pd, r.page, 3 * PAGE, 1, &lkey);
		send_one(sge_of((uintptr_t)r.page, 100, lkey));
		recv_one(sge_of(r.start, 1000, r.lkey));
		while ((err = uverbs_poll(r.fd, r.cq, &wc)) > 0)
			;
		if (err)
			break;
		uverbs_dereg(r.fd, mr);
		uverbs_modify(r.fd, r.qp, QP_RESET, 0, 0);
		uverbs_rts(r.fd, r.qp, QKEY);
	}
	printf("%s\n", strerror(-err));
	return err == -EIO && !tap_bad ? 0 : 1;
}

static void usage(void)
{
	fprintf(stderr, "usage: verbs_hostile keys | quotas | hold\n");
	exit(2);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "keys")) {
		RUN(keys, "memory that no own key names is refused");
		RUN(bounds, "memory outside of a region is refused");
		RUN(other_process, "the key of another process is refused");
		RUN(only_its_own, "a receive writes only what it names");
		RUN(read_only, "a region that is not to be written");
		RUN(deregistered, "a work request whose region is deregistered fails");
		RUN(unmapped, "memory that is unmapped");
		RUN(not_there, "what is not there is refused");
		RUN(privileges,
		    "a controlled Q_Key and more memory than RLIMIT_MEMLOCK are refused");
	} else if (!strcmp(what, "quotas")) {
		RUN(count_qps, "a process has 256 QPs at most, in all its contexts");
		RUN(count_octets, "the queues of a process have a limit");
		RUN(count_others, "AHs, PDs, regions, groups and contexts have a limit");
	} else if (!strcmp(what, "hold")) {
		return hold();
	} else {
		usage();
	}
	return tap_end();
}
