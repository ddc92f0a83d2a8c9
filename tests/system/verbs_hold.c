/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A program with one verbs object of each kind. It prints "ready" when it has the objects, and uses them until the
 * device is removed. Then it prints the error with which its calls fail; its exit status is 0 if the error is EIO. Some
 * tests kill the program instead.
 */

#include "system/verbs_rig.h"

int main(void)
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
