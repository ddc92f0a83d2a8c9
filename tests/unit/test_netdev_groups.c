/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "groups_read.h"

/*
 * Lists of multicast groups in the text format of Linux 6.1: igmp_mc_seq_show() in net/ipv4/igmp.c,
 * and net/ipv6/mcast.c.
 */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define G_ALL "010000E0"
#define G_MDNS "FB0000E0"
#define G_OTHER "0A0B0CEF"
#else
#define G_ALL "E0000001"
#define G_MDNS "E00000FB"
#define G_OTHER "EF0C0B0A"
#endif

static const char igmp[] = "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"
			   "1\tlo        :     1      V3\n"
			   "\t\t\t\t" G_ALL "     1 0:00000000\t\t0\n"
			   "2\tuib0      :     2      V3\n"
			   "\t\t\t\t" G_MDNS "     1 0:00000000\t\t0\n"
			   "\t\t\t\t" G_ALL "     1 0:00000000\t\t0\n"
			   "22\tuib1      :     1      V2\n"
			   "\t\t\t\t" G_OTHER "     1 1:000003E8\t\t1\n";

static const char igmp6[] =
	"1    lo              ff020000000000000000000000000001     1 0000000C 0\n"
	"2    uib0            ff0200000000000000000001ff000002     1 00000004 0\n"
	"2    uib0            ff020000000000000000000000000001     1 0000000C 0\n"
	"22   averylongname15 ff0e0000000000000000000000123456     1 00000004 0\n";

static void test_groups_igmp_of_one_interface(void **state)
{
	static const uint8_t mdns[16] = { 224, 0, 0, 251 }, all[16] = { 224, 0, 0, 1 };
	struct netdev_group g[4];
	size_t n;

	(void)state;
	assert_int_equal(parse_groups(AF_INET, igmp, sizeof(igmp) - 1, 2, g, 4, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(g[0].family, AF_INET);
	assert_memory_equal(g[0].addr, mdns, 16);
	assert_memory_equal(g[1].addr, all, 16);
	assert_int_equal(parse_groups(AF_INET, igmp, sizeof(igmp) - 1, 22, g, 4, &n), 0);
	assert_int_equal(n, 1);
	assert_memory_equal(g[0].addr, ((uint8_t[]){ 239, 12, 11, 10 }), 4);
	assert_int_equal(parse_groups(AF_INET, igmp, sizeof(igmp) - 1, 3, g, 4, &n), 0);
	assert_int_equal(n, 0);
}

static void test_groups_igmp6_of_one_interface(void **state)
{
	static const uint8_t sol[16] = { 0xff, 2, [11] = 1, 0xff, 0, 0, 2 };
	struct netdev_group g[4];
	size_t n;

	(void)state;
	assert_int_equal(parse_groups(AF_INET6, igmp6, sizeof(igmp6) - 1, 2, g, 4, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(g[0].family, AF_INET6);
	assert_memory_equal(g[0].addr, sol, 16);
	assert_int_equal(parse_groups(AF_INET6, igmp6, sizeof(igmp6) - 1, 22, g, 4, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(g[0].addr[15], 0x56);
}

static void test_groups_too_many_are_cut_and_said(void **state)
{
	struct netdev_group g[2] = { { 0 } };
	size_t n = 77;

	(void)state;
	assert_int_equal(parse_groups(AF_INET, igmp, sizeof(igmp) - 1, 2, g, 1, &n), -ENOSPC);
	assert_int_equal(n, 1);
	assert_int_equal(g[0].addr[3], 251);
	assert_int_equal(g[1].family, 0);
}

static void test_groups_nonsense_refused(void **state)
{
	static const char *const v4[] = {
		"no title\n",
		"Idx\tDevice\nx\tlo :\n",
		"Idx\tDevice\n1\tlo : 1 V3\n\t\t\t\t010000E     1\n",
		"Idx\tDevice\n1\tlo : 1 V3\n\t\t\t\t010000E00\n",
		"Idx\tDevice\n99999999999\tlo : 1 V3\n",
	};
	static const char *const v6[] = {
		"1 lo ff02\n",
		"lo ff020000000000000000000000000001 1 0 0\n",
		"1 lo ff0200000000000000000000000000011 1 0 0\n",
		"1\n",
		"-1 lo ff020000000000000000000000000001 1 0 0\n",
	};
	struct netdev_group g[4];
	char line[300];
	size_t n = 77;

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(parse_groups(AF_INET, v4[i], strlen(v4[i]), 1, g, 4, &n),
				 -EBADMSG);
		assert_int_equal(parse_groups(AF_INET6, v6[i], strlen(v6[i]), 1, g, 4, &n),
				 -EBADMSG);
	}
	memset(line, ' ', sizeof(line));
	memcpy(line, igmp6, 60);
	line[299] = '\n';
	assert_int_equal(parse_groups(AF_INET6, line, sizeof(line), 1, g, 4, &n), -EBADMSG);
	assert_int_equal(parse_groups(AF_INET6, "1 lo\0 ff\n", 9, 1, g, 4, &n), -EBADMSG);
	assert_int_equal(n, 77);
}

static void test_groups_every_split_is_the_same(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < sizeof(igmp6); cut++) {
		struct groups_parser p;
		struct netdev_group g[4];

		groups_parser_init(&p, AF_INET6, 2, g, 4);
		groups_parser_feed(&p, igmp6, cut);
		groups_parser_feed(&p, igmp6 + cut, sizeof(igmp6) - 1 - cut);
		groups_parser_end(&p);
		assert_int_equal(p.err, 0);
		assert_int_equal(p.n, 2);
		if (cut == sizeof(igmp6) - 1)
			break;
	}
}

static void test_groups_read_begins_anew_each_time(void **state)
{
	struct netdev_group g[64];
	size_t n, again;
	int fd = open("/proc/net/igmp", O_RDONLY);

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(read_groups(AF_INET, fd, 1, g, 64, &n), 0);
	assert_int_equal(read_groups(AF_INET, fd, 1, g, 64, &again), 0);
	assert_int_equal(n, again);
	close(fd);
	assert_int_equal(read_groups(AF_INET6, -1, 1, g, 64, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(read_groups(AF_INET, 1000000, 1, g, 64, &n), -EBADF);
}

/* A list of 40,000 groups must be read in pieces of bounded size, and each group must be found. */
static void test_groups_long_list_comes_in_pieces(void **state)
{
	int fd = memfd_create("igmp", 0);
	struct netdev_group v[GROUPS_PIECE];
	unsigned int found = 0, pieces = 0;
	struct groups_reader r;
	size_t n;
	int more;

	(void)state;
	assert_true(fd >= 0);
	dprintf(fd, "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"
		    "2\tuib0      : 40000      V3\n");
	for (unsigned int k = 0; k < 40000; k++)
		dprintf(fd, "\t\t\t\t%08X     1 0:00000000\t\t0\n", (k << 8) + 0xef);
	groups_reader_init(&r, AF_INET, 2);
	do {
		more = groups_reader_next(&r, fd, v, &n);
		assert_in_range(more, 0, 1);
		for (size_t k = 0; k < n; k++, found++)
			assert_int_equal(v[k].addr[0], 0xef);
		pieces++;
	} while (more);
	assert_int_equal(found, 40000);
	assert_true(pieces > 40000 / GROUPS_PIECE);
	assert_int_equal(r.pieces, pieces - 1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups_igmp_of_one_interface),
		cmocka_unit_test(test_groups_igmp6_of_one_interface),
		cmocka_unit_test(test_groups_too_many_are_cut_and_said),
		cmocka_unit_test(test_groups_nonsense_refused),
		cmocka_unit_test(test_groups_every_split_is_the_same),
		cmocka_unit_test(test_groups_read_begins_anew_each_time),
		cmocka_unit_test(test_groups_long_list_comes_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
