/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/rtnl.h"

#include <arpa/inet.h>
#include <linux/neighbour.h>

#include "netdev/tap.h"
#include "kernel_tables.h"
#include "netdev_env.h"

/* Tests the decoding of the kernel's messages about the neighbours of one interface. */

static const uint8_t mac[6] = { 6, 1, 2, 3, 4, 5 };

static struct rtnl_ip ip(enum rtnl_family family, const char *text)
{
	struct rtnl_ip ret = { .family = family };

	assert_int_equal(inet_pton(family == RTNL_V6 ? AF_INET6 : AF_INET, text, ret.addr), 1);
	return ret;
}

struct seen {
	struct rtnl_neigh v[8];
	unsigned int n;
};

static int see(const struct rtnl_neigh *n, void *arg)
{
	struct seen *s = arg;

	/*
	 * Skip the entries that the kernel makes for multicast groups (ff02::16 and the like),
	 * because they name no peer.
	 */
	if (n->state & NUD_NOARP)
		return 0;
	assert_true(s->n < 8);
	s->v[s->n++] = *n;
	return 0;
}

static void dump(struct rtnl *nl, int ifindex, struct seen *s)
{
	static const enum rtnl_family family[] = { RTNL_V4, RTNL_V6 };

	*s = (struct seen){ .n = 0 };
	for (unsigned int i = 0; i < 2; i++) {
		int res = rtnl_neigh_dump_start(nl, ifindex, family[i]);

		assert_int_equal(res, 0);
		do
			res = rtnl_neigh_dump_piece(nl, ifindex, see, s);
		while (res == 1);
		assert_int_equal(res, 0);
		assert_false(nl->changed);
	}
}

static int make_tap(struct rtnl *nl, const char *name, int *ret_fd)
{
	struct rtnl_link_conf up = { .set = RTNL_SET_UP };
	struct rtnl_link l;

	assert_int_equal(tap_open(name, ret_fd, NULL), 0);
	assert_int_equal(rtnl_link_get(nl, 0, name, &l), 0);
	assert_int_equal(rtnl_link_set(nl, l.ifindex, &up), 0);
	return l.ifindex;
}

static void test_neigh_dump_tells_both_families_of_one_link(void **state)
{
	struct rtnl_ip a = ip(RTNL_V4, "10.4.0.2"), b = ip(RTNL_V6, "fe80::2"),
		       c = ip(RTNL_V4, "10.4.0.3");
	int fd[2], t0, t1;
	struct seen s;
	struct rtnl_neigh n;
	struct rtnl nl;

	(void)state;
	env_need_tap();
	env_enter_new();
	assert_int_equal(rtnl_open(&nl), 0);
	t0 = make_tap(&nl, "t0", &fd[0]);
	t1 = make_tap(&nl, "t1", &fd[1]);
	dump(&nl, t0, &s);
	assert_int_equal(s.n, 0);
	assert_int_equal(kernel_neigh_add(&nl, t0, &a, mac), 0);
	assert_int_equal(kernel_neigh_add(&nl, t0, &b, mac), 0);
	assert_int_equal(kernel_neigh_add(&nl, t1, &c, mac), 0);

	dump(&nl, t0, &s);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.v[0].ip.family, RTNL_V4);
	assert_memory_equal(s.v[0].ip.addr, a.addr, 4);
	assert_int_equal(s.v[1].ip.family, RTNL_V6);
	assert_memory_equal(s.v[1].ip.addr, b.addr, 16);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(s.v[i].ifindex, t0);
		assert_true(s.v[i].hw_len == 6 && s.v[i].state);
		assert_memory_equal(s.v[i].hw, mac, 6);
	}
	dump(&nl, t1, &s);
	assert_int_equal(s.n, 1);
	assert_memory_equal(s.v[0].ip.addr, c.addr, 4);
	/*
	 * rtnl_neigh_get() finds the entry of one address without a dump of the table. It must find
	 * the entry only if the caller names the interface of this entry.
	 */
	assert_int_equal(rtnl_neigh_get(&nl, t0, &b, &n), 0);
	assert_memory_equal(n.ip.addr, b.addr, 16);
	assert_memory_equal(n.hw, mac, 6);
	assert_int_equal(n.ifindex, t0);
	assert_true(rtnl_neigh_resolved(&n));
	assert_int_equal(rtnl_neigh_get(&nl, t1, &b, &n), -ENOENT);
	assert_int_equal(rtnl_neigh_get(&nl, t0, &c, &n), -ENOENT);
	assert_int_equal(rtnl_neigh_get(&nl, t0, &a, &n), 0);
	close(fd[0]);
	close(fd[1]);
	rtnl_close(&nl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_neigh_dump_tells_both_families_of_one_link),
	};

	return cmocka_run_group_tests(tests, env_setup, NULL);
}
