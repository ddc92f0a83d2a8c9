/* SPDX-License-Identifier: BSD-2-Clause */

/*
 *	verbs_random SECONDS SEED	give random commands to uib.ko by four threads of one context; see tests/interop/linux/guest/verbs.sh
 *
 * The program ends after SECONDS, but not before it has executed enough commands for its checks, however slow the machine is.
 *
 * The threads use the same objects, because they share one table of handles and keys. Only 16 pages, the arena, may be
 * registered. At the end the pages before and after the arena must be unchanged.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "system/tap.h"
#include "system/uverbs.h"

#define HANDLES 16
#define PATIENCE 600 /* seconds */

enum { PD, CQ, MR, QP, AH, KINDS };

static volatile int handle[KINDS][HANDLES]; /* shared: threads overwrite each other's entries */
static volatile uint32_t key[HANDLES], qpns[HANDLES];
static uint8_t
	*arena; /* 16 pages that may be registered; the pages before and after them may not be */
static int fd;
static time_t end;
static unsigned long done[2]; /* numbers of commands: [0] refused, [1] accepted */
/* numbers of completed work requests: [0] without an error, [1] with an error */
static unsigned long completed[2];

static uint32_t rnd(unsigned int *seed)
{
	return (uint32_t)rand_r(seed) << 16 ^ (uint32_t)rand_r(seed);
}

/*
 * Return the handle of one of a few objects of @kind, so that threads often pick the same object.
 * Sometimes return the handle of an object of any kind, or a random number
 */
static int any(unsigned int *s, unsigned int kind)
{
	switch (rnd(s) % 32) {
	case 0:
		return handle[rnd(s) % KINDS][rnd(s) % HANDLES];
	case 1:
		return (int)rnd(s) % 200;
	default:
		return handle[kind][rnd(s) % HANDLES];
	}
}

static struct ib_uverbs_sge any_sge(unsigned int *s)
{
	uint64_t at = (uintptr_t)arena + rnd(s) % (18 * PAGE) - PAGE;
	uint32_t len = rnd(s) % 4 ? rnd(s) % 300 : rnd(s) % 5000, lkey = key[rnd(s) % HANDLES];

	switch (rnd(s) % 16) {
	case 0:
		return sge_of((uint64_t)rnd(s) << 32 | rnd(s), rnd(s), lkey);
	case 1:
		return sge_of(at, len, rnd(s));
	case 2:
		return sge_of(at, len, rnd(s) % 4096);
	default:
		return sge_of(at, len, lkey);
	}
}

static int random_post(unsigned int *s)
{
	struct ib_uverbs_send_wr wr = {
		.wr_id = rnd(s),
		.opcode = rnd(s) % 8 ? 2 : rnd(s) % 16,
		.send_flags = rnd(s) % 8 ? 2 : rnd(s) % 64,
		.wr.ud = { (uint32_t)any(s, AH), rnd(s) % 2 ? qpns[rnd(s) % HANDLES] : rnd(s) % 200,
			   QKEY, 0 },
	};

	return rnd(s) % 2 ? uverbs_send(fd, any(s, QP), wr, any_sge(s))
			  : uverbs_recv(fd, any(s, QP), 1, any_sge(s));
}

/* Fill a command with random words, some of which are pointers into the arena */
static int random_words(unsigned int *s)
{
	uint64_t body[32];
	unsigned int i, command = rnd(s) % 45;

	for (i = 0; i < 32; i++)
		body[i] = rnd(s) % 3 ? rnd(s) % 300 : (uint64_t)rnd(s) << 32 | rnd(s);
	body[0] = (uintptr_t)arena + rnd(s) % PAGE;
	/*
	 * Do not send these commands. With a small wqe_size, POST_SEND and POST_RECV make ib_uverbs
	 * itself read past the end of a WQE. Each of the other two commands opens a descriptor.
	 */
	if (command == IB_USER_VERBS_CMD_POST_SEND || command == IB_USER_VERBS_CMD_POST_RECV ||
	    command == IB_USER_VERBS_CMD_GET_CONTEXT ||
	    command == IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL)
		return -EINVAL;
	/* These commands could register memory outside the arena. */
	if (command == IB_USER_VERBS_CMD_REG_MR || command == IB_USER_VERBS_CMD_REREG_MR)
		return -EINVAL;
	return uverbs_write(fd, command, body, rnd(s) % 60 * 4, rnd(s) % 40 * 4);
}

/*
 * Make an object. The new object replaces the table's entry for another object of the same kind; that object continues to
 * exist. A new PD replaces all entries for PDs, so that most objects belong to one PD.
 */
static int random_create(unsigned int *s, unsigned int kind)
{
	unsigned int slot = rnd(s) % HANDLES, i;
	uint32_t n = 0;
	int h = -EINVAL;

	if (kind == PD && (!handle[PD][0] || rnd(s) % 64 == 0))
		h = uverbs_pd(fd);
	else if (kind == CQ)
		h = uverbs_cq(fd, rnd(s) % 8 ? rnd(s) % 100 : rnd(s));
	else if (kind == MR)
		h = uverbs_mr(fd, any(s, PD), arena + rnd(s) % (8 * PAGE), rnd(s) % (8 * PAGE),
			      rnd(s) % 8 ? 1 : rnd(s), &n);
	else if (kind == QP)
		h = uverbs_qp(fd, any(s, PD), any(s, CQ),
			      &(struct ib_uverbs_create_qp){ .max_send_wr = rnd(s) % 100 }, &n);
	else if (kind == AH)
		h = uverbs_ah(fd, any(s, PD),
			      (uint16_t)(rnd(s) % 8 ? uverbs_lid(fd) : (int)rnd(s)));
	if (h < 0)
		return h;
	for (i = 0; i < HANDLES; i++)
		if (i == slot || kind == PD)
			handle[kind][i] = h;
	if (kind == MR)
		key[slot] = n;
	if (kind == QP)
		qpns[slot] = n;
	return kind == QP ? uverbs_rts(fd, h, QKEY) : h;
}

static int random_poll(unsigned int *s)
{
	struct ib_uverbs_wc wc = { 0 };
	int n = uverbs_poll(fd, any(s, CQ), &wc);

	if (n == 1)
		__atomic_add_fetch(&completed[wc.status != 0], 1, __ATOMIC_RELAXED);
	return n;
}

static int random_step(unsigned int *s)
{
	static const uint32_t masks[] = { 0, ATTR_SQ_PSN, ATTR_QKEY,
					  ATTR_PKEY_INDEX | ATTR_PORT | ATTR_QKEY };

	switch (rnd(s) % 64) {
	case 0:
	case 1:
	case 2:
	case 3:
		return random_create(s, rnd(s) % KINDS);
	case 4:
		return uverbs_dereg(fd, any(s, MR));
	case 5:
		return uverbs_destroy_qp(fd, any(s, QP));
	case 6:
		return uverbs_modify(fd, any(s, QP), (int)rnd(s) % 8, masks[rnd(s) % 4], QKEY);
	case 7:
		return uverbs_rts(fd, any(s, QP), QKEY);
	case 8:
		return random_words(s);
	default:
		return rnd(s) % 3 ? random_post(s) : random_poll(s);
	}
}

/* Tell whether enough commands were accepted and refused, and enough work requests succeeded. */
static bool enough(void)
{
	return done[1] > 100 && done[0] > 100 && completed[0] > 10;
}

static void *random_thread(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	while (time(NULL) < end || (!enough() && time(NULL) < end + PATIENCE))
		__atomic_add_fetch(&done[random_step(&seed) >= 0], 1, __ATOMIC_RELAXED);
	return NULL;
}

static unsigned int seconds, seed;

static void random_commands(void)
{
	uint8_t *around = pages(18);
	pthread_t t[4];
	uint32_t i;

	arena = around + PAGE;
	fd = uverbs_open(DEVICE);
	EXPECT(fd >= 0);
	end = time(NULL) + seconds;
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, random_thread, (void *)(uintptr_t)(seed * 4 + i + 1));
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("# %lu commands taken, %lu refused, %lu work requests completed, %lu failed\n",
	       done[1], done[0], completed[0], completed[1]);
	EXPECT(enough());
	close(fd);
	for (i = 0; i < PAGE; i++)
		EXPECT(around[i] == 0xa5 && around[17 * PAGE + i] == 0xa5);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: verbs_random SECONDS SEED\n");
		return 2;
	}
	seconds = (unsigned int)atoi(argv[1]);
	seed = (unsigned int)atoi(argv[2]);
	RUN(random_commands, "random commands");
	return tap_end();
}
