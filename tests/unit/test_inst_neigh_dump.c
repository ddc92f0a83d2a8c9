/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/neigh_dump.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "inst/host.h"
#include "inst/inst.h"
#include "netdev/rtnl_msg.h"

/*
 * Tests dumps of the kernel's neighbour table. The test acts as the kernel, at the other end of a
 * socket pair.
 */

#define HOSTS 2

struct owner {
	struct neigh_dump dump;
	unsigned int entries, done;
	uint8_t last; /* last octet of the last entry's address */
	int err;
};

struct rig {
	struct inst in;
	struct inst_host host[HOSTS];
	int kernel[HOSTS]; /* the kernel's end of host[i].dump */
	uint32_t seq[HOSTS]; /* sequence number of the last request */
	int always; /* descriptor that is always readable; the loop watches it with .other */
	struct loop_fd other;
	unsigned int others; /* calls of .other */
	struct owner o[3];
};

static void on_other(struct loop_fd *fd, uint32_t events, ns_t now)
{
	container_of(fd, struct rig, other)->others++;
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int s[2];

	if (!r)
		return -1;
	inst_init(&r->in, &(struct inst_cfg){ 0 });
	if (loop_init(&r->in.loop) || socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		return -1;
	r->always = s[0];
	close(s[1]);
	if (loop_watch(&r->in.loop, &r->other, r->always, EPOLLIN, on_other))
		return -1;
	for (unsigned int i = 0; i < HOSTS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, s))
			return -1;
		r->host[i].inst = &r->in;
		rtnl_attach(&r->host[i].dump, s[0]);
		r->kernel[i] = s[1];
	}
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	for (unsigned int i = 0; i < HOSTS; i++) {
		neigh_dump_host_gone(&r->host[i]);
		rtnl_close(&r->host[i].dump);
		close(r->kernel[i]);
	}
	loop_unwatch(&r->in.loop, &r->other);
	close(r->always);
	loop_fini(&r->in.loop);
	free(r);
	return 0;
}

/* ----- the kernel */

/* Check that the kernel has got a request for the table of @family (AF_INET or AF_INET6). */
static void asked(struct rig *r, unsigned int host, uint8_t family)
{
	char buf[256] __attribute__((aligned(4)));
	const struct nlmsghdr *nlh = (const void *)buf;
	const struct ndmsg *ndm;

	assert_true(recv(r->kernel[host], buf, sizeof(buf), 0) > 0);
	assert_int_equal(nlh->nlmsg_type, RTM_GETNEIGH);
	assert_int_equal(nlh->nlmsg_flags & NLM_F_DUMP, NLM_F_DUMP);
	ndm = mnl_nlmsg_get_payload(nlh);
	assert_int_equal(ndm->ndm_family, family);
	r->seq[host] = nlh->nlmsg_seq;
}

static void not_asked(struct rig *r, unsigned int host)
{
	char buf[256];

	assert_int_equal(recv(r->kernel[host], buf, sizeof(buf), 0), -1);
	assert_int_equal(errno, EAGAIN);
}

static void answer(struct rig *r, unsigned int host, struct nlmsghdr *nlh)
{
	nlh->nlmsg_seq = r->seq[host];
	assert_int_equal(send(r->kernel[host], nlh, nlh->nlmsg_len, 0), nlh->nlmsg_len);
}

/* Send one message of a dump, with one entry, which is about interface 7 */
static void piece(struct rig *r, unsigned int host, uint8_t last, uint16_t flags)
{
	char buf[256] __attribute__((aligned(4)));
	uint8_t ip[4] = { 10, 4, 0, last }, mac[6] = { 6, 0, 0, 0, 0, last };
	void *body;
	struct nlmsghdr *nlh =
		rtnl_begin(buf, RTM_NEWNEIGH, NLM_F_MULTI | flags, sizeof(struct ndmsg), &body);
	struct ndmsg *ndm = body;

	ndm->ndm_family = AF_INET;
	ndm->ndm_ifindex = 7;
	ndm->ndm_state = NUD_REACHABLE;
	mnl_attr_put(nlh, NDA_DST, 4, ip);
	mnl_attr_put(nlh, NDA_LLADDR, 6, mac);
	answer(r, host, nlh);
}

static void last_piece(struct rig *r, unsigned int host, uint16_t flags)
{
	char buf[64] __attribute__((aligned(4)));
	void *body;

	answer(r, host, rtnl_begin(buf, NLMSG_DONE, NLM_F_MULTI | flags, 4, &body));
}

static void refusal(struct rig *r, unsigned int host, int err)
{
	char buf[64] __attribute__((aligned(4)));
	void *body;
	struct nlmsghdr *nlh = rtnl_begin(buf, NLMSG_ERROR, 0, sizeof(struct nlmsgerr), &body);

	((struct nlmsgerr *)body)->error = err;
	answer(r, host, nlh);
}

/* ----- owners */

static void on_entry(struct neigh_dump *d, const struct rtnl_neigh *n)
{
	struct owner *o = container_of(d, struct owner, dump);

	o->entries++;
	o->last = n->ip.addr[3];
}

static void on_done(struct neigh_dump *d, int err)
{
	struct owner *o = container_of(d, struct owner, dump);

	o->done++;
	o->err = err;
}

static void start(struct rig *r, struct owner *o, unsigned int host)
{
	*o = (struct owner){
		.dump = { .host = &r->host[host], .ifindex = 7, .entry = on_entry, .done = on_done }
	};
	assert_int_equal(neigh_dump_start(&o->dump), 0);
}

static void turn(struct rig *r)
{
	bool busy = true;

	assert_int_equal(loop_turn(&r->in.loop, &busy, 0), 0);
}

static void turns(struct rig *r, unsigned int n)
{
	while (n--)
		turn(r);
}

/* ----- cases */

static void test_neigh_dump_reads_one_piece_a_turn(void **state)
{
	struct rig *r = *state;
	struct owner *o = r->o;

	start(r, o, 0);
	asked(r, 0, AF_INET);
	for (uint8_t k = 1; k <= 50; k++)
		piece(r, 0, k, 0);
	last_piece(r, 0, 0);
	for (unsigned int k = 1; k <= 50; k++) {
		turn(r);
		assert_int_equal(o->entries, k);
		/* the loop must serve other descriptors, too, in each round */
		assert_int_equal(r->others, k);
	}
	assert_int_equal(o->last, 50);
	not_asked(r, 0);
	turn(r);
	asked(r, 0, AF_INET6);
	assert_int_equal(o->done, 0);
	last_piece(r, 0, 0);
	turn(r);
	assert_int_equal(o->done, 1);
	assert_int_equal(o->err, 0);
	assert_int_equal(r->in.neigh_dumps.dumps, 2);
	assert_int_equal(r->in.neigh_dumps.pieces, 52);
	assert_int_equal(r->in.neigh_dumps.entries, 50);
}

static void test_neigh_dump_without_ipv6_is_complete(void **state)
{
	struct rig *r = *state;
	struct owner *o = r->o;

	start(r, o, 0);
	asked(r, 0, AF_INET);
	piece(r, 0, 1, 0);
	last_piece(r, 0, 0);
	turns(r, 2);
	asked(r, 0, AF_INET6);
	refusal(r, 0, -EOPNOTSUPP);
	turn(r);
	assert_int_equal(o->done, 1);
	assert_int_equal(o->err, 0);
	assert_int_equal(o->entries, 1);
}

static void test_neigh_dump_of_a_table_that_changed_says_so(void **state)
{
	struct rig *r = *state;
	struct owner *o = r->o;

	/*
	 * Any message of a dump may have the flag NLM_F_DUMP_INTR. The dump must then end with
	 * -EAGAIN, and the flag must not affect later dumps.
	 */
	for (unsigned int marked = 0; marked < 3; marked++) {
		start(r, o, 0);
		asked(r, 0, AF_INET);
		for (unsigned int k = 0; k < 2; k++)
			piece(r, 0, 1, k == marked ? NLM_F_DUMP_INTR : 0);
		last_piece(r, 0, marked == 2 ? NLM_F_DUMP_INTR : 0);
		turns(r, 3);
		assert_int_equal(o->done, 1);
		assert_int_equal(o->err, -EAGAIN);
		not_asked(r, 0);
	}
}

static void test_neigh_dump_refused_by_the_kernel_ends(void **state)
{
	struct rig *r = *state;
	struct owner *o = r->o;

	start(r, o, 0);
	asked(r, 0, AF_INET);
	refusal(r, 0, -EBUSY);
	turn(r);
	assert_int_equal(o->done, 1);
	assert_int_equal(o->err, -EBUSY);
	/* The request cannot be sent, so neigh_dump_start() must return the error. */
	close(r->kernel[0]);
	r->kernel[0] = -1;
	signal(SIGPIPE, SIG_IGN);
	*o = (struct owner){ .dump = { .host = &r->host[0], .done = on_done } };
	assert_int_equal(neigh_dump_start(&o->dump), -EPIPE);
	assert_int_equal(o->done, 0);
}

static void end_both_families(struct rig *r, unsigned int host)
{
	asked(r, host, AF_INET);
	last_piece(r, host, 0);
	turn(r);
	asked(r, host, AF_INET6);
	last_piece(r, host, 0);
	turn(r);
}

static void test_neigh_dumps_are_read_one_after_the_other(void **state)
{
	struct rig *r = *state;
	struct owner *o = r->o;

	for (unsigned int k = 0; k < 3; k++)
		start(r, &o[k], k % HOSTS);
	not_asked(r, 1);
	end_both_families(r, 0);
	assert_true(o[0].done == 1 && !o[1].done && !o[2].done);
	not_asked(r, 0);
	end_both_families(r, 1);
	assert_true(o[1].done == 1 && !o[2].done);
	end_both_families(r, 0);
	assert_int_equal(o[2].done, 1);
	not_asked(r, 0);
	not_asked(r, 1);
}

static void test_neigh_dump_cancelled_is_read_to_its_end_for_nobody(void **state)
{
	struct rig *r = *state;
	struct owner *o = r->o;

	for (unsigned int k = 0; k < 3; k++)
		start(r, &o[k], 0);
	asked(r, 0, AF_INET);
	piece(r, 0, 1, 0);
	piece(r, 0, 2, 0);
	last_piece(r, 0, 0);
	turn(r);
	assert_int_equal(o[0].entries, 1);
	neigh_dump_cancel(&o[0].dump);
	neigh_dump_cancel(&o[1].dump); /* this dump has not begun yet */
	/*
	 * overwrite the structs of two dumps, as if their owners had freed them; the structs must
	 * not be used any more
	 */
	memset(o, 0xa5, 2 * sizeof(*o));
	turns(r, 2);
	end_both_families(r, 0);
	assert_int_equal(o[2].done, 1);
	assert_int_equal(o[2].entries, 0);
	not_asked(r, 0);
}

static void test_neigh_dumps_of_a_host_that_goes_end(void **state)
{
	struct rig *r = *state;
	struct owner *o = r->o;

	start(r, &o[0], 0);
	start(r, &o[1], 1);
	start(r, &o[2], 0);
	neigh_dump_host_gone(&r->host[0]);
	assert_true(o[0].done == 1 && o[0].err == -ENODEV);
	assert_true(o[2].done == 1 && o[2].err == -ENODEV);
	assert_int_equal(o[1].done, 0);
	end_both_families(r, 1);
	assert_true(o[1].done == 1 && !o[1].err);
	neigh_dump_host_gone(&r->host[1]);
	assert_int_equal(o[1].done, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_neigh_dump_reads_one_piece_a_turn, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_neigh_dump_without_ipv6_is_complete, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_neigh_dump_of_a_table_that_changed_says_so,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_neigh_dump_refused_by_the_kernel_ends, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_neigh_dumps_are_read_one_after_the_other,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_neigh_dump_cancelled_is_read_to_its_end_for_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(test_neigh_dumps_of_a_host_that_goes_end, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
