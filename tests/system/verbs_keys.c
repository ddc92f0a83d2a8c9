/* SPDX-License-Identifier: BSD-2-Clause */

/* This program tries to use memory to which it has no right. */

#include <stdlib.h>
#include <sys/wait.h>

#include "system/verbs_rig.h"

#define GRH 40u

static void refused(struct ib_uverbs_sge sge)
{
	int s = send_one(sge), v = recv_one(sge);

	if (s != -EINVAL || v != -EINVAL)
		printf("#   key 0x%x, 0x%llx, %u octets: send %d, receive %d\n", sge.lkey,
		       (unsigned long long)sge.addr, sge.length, s, v);
	EXPECT(s == -EINVAL && v == -EINVAL);
}

static void keys(void)
{
	uint32_t own, other_pd = 0, other_context = 0;
	uint8_t *more = pages(1);
	int fd = uverbs_open(DEVICE), i;

	open_rig();
	own = r.lkey;
	EXPECT(uverbs_mr(r.fd, uverbs_pd(r.fd), more, PAGE, ACCESS_LOCAL_WRITE, &other_pd) >= 0);
	EXPECT(uverbs_mr(fd, uverbs_pd(fd), more, PAGE, ACCESS_LOCAL_WRITE, &other_context) >= 0);
	refused(sge_of(r.start, 100, 0));
	refused(sge_of(r.start, 100, 1)); /* the key that consumers in the kernel use */
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

/* Another process registers a region and passes its key to this process, which must not be able to use it. */
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

/*
 * A receive writes only to its own buffer, and only as many octets as the message has. The message
 * of this test is shorter than the buffer.
 */
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

/*
 * Posted work requests do not keep a region registered; if the region is deregistered, they fail.
 */
static void deregistered(void)
{
	struct ib_uverbs_sge sge;
	uint32_t lkey = 0;

	open_rig();
	/*
	 * Sends wait while the QP is in SQD. When one has failed, the QP is in SQE until the program
	 * sets RTS.
	 */
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
	/* Now two receives. When one has failed, the QP is in the error state. */
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

/* The region keeps its pages, even if other memory is mapped at its address later. */
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

int main(void)
{
	RUN(keys, "memory that no own key names is refused");
	RUN(bounds, "memory outside of a region is refused");
	RUN(other_process, "the key of another process is refused");
	RUN(only_its_own, "a receive writes only what it names");
	RUN(read_only, "a region that is not to be written");
	RUN(deregistered, "a work request whose region is deregistered fails");
	RUN(unmapped, "memory that is unmapped");
	return tap_end();
}
