/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests each row of the table of link profiles on the whole stack, with hosts of both shapes
 * (Ethernet device and InfiniBand device). Hosts of the profile must be up, reach each other with
 * the largest packet of every MTU, and receive the groups that they join. The SA must have exactly
 * the memberships that the hosts have. If a profile does not allow an MTU, links with this MTU must
 * not be up, and must give the reason. Hosts of different profiles must receive each other's
 * packets exactly if both profiles have the same packet format. The SM's node must answer SIDR
 * requests.
 */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "unit/all_lab_check.h"

#define HOSTS 4

static const enum ib_mtu_code mtus[] = { IB_MTU_256, IB_MTU_512, IB_MTU_1024, IB_MTU_2048,
					 IB_MTU_4096 };

static struct lab lab;
static struct lab_count count;
static const bool all[HOSTS] = { true, true, true, true };

/*
 * Hosts 0 and 3 have the Ethernet shape, hosts 1 and 2 have the InfiniBand shape, and so on for
 * each four hosts. So both shapes occur among the hosts with an even index, and among those with an
 * odd index.
 */
static void mix_shapes(struct lab_host *h, void *ctx)
{
	h->shape =
		h->index % 4 == 1 || h->index % 4 == 2 ? ETH_SHAPE_INFINIBAND : ETH_SHAPE_ETHERNET;
}

static void make(const struct ipoib_profile *even, const struct ipoib_profile *odd,
		 enum ib_mtu_code mtu)
{
	struct topo *t = topo_gen_demo(HOSTS, 3);
	char partitions[256];

	/*
	 * The partition file makes a broadcast group for each kind of link, because the hosts of
	 * some profiles do not create their broadcast group.
	 */
	snprintf(partitions, sizeof(partitions),
		 "Default=0x7fff, ipoib, mtu=%u : mgid=ff12:3333::1, mtu=%u\n"
		 "mgid=ff12::255.255.255.255, mtu=%u\nALL=full;\n",
		 mtu, mtu, mtu);
	lab_create(&lab, &(struct lab_cfg){ .topo = t,
					    .seed = mtu,
					    .crc = HCA_CRC_FULL,
					    .partitions = partitions,
					    .sidr = true,
					    .setup = mix_shapes,
					    .profile = { even, odd } });
	topo_free(t);
	lab_count_init(&count, &lab);
}

static void begin(const struct ipoib_profile *even, const struct ipoib_profile *odd,
		  enum ib_mtu_code mtu)
{
	make(even, odd, mtu);
	lab_wait_up(&lab, all, NS_SEC(30), mtu, even->name);
}

static void end(void)
{
	lab_check_beliefs(&lab, all, 0);
	lab_destroy(&lab);
	lab_count_fini(&count);
}

static unsigned int whole; /* number of packets that arrived complete */
static size_t whole_len;

static void on_whole(struct lab *l, struct lab_host *to, const struct ipoib_lladdr *src,
		     const uint8_t *data, size_t len)
{
	whole += len == whole_len;
}

/*
 * Check that the largest packet that the link's IP MTU allows arrives, and that a longer packet is
 * dropped and counted.
 */
static void check_mtu(unsigned int mtu)
{
	static uint8_t data[4096];

	assert_int_equal(mtu, ipoib_link_ip_mtu(lab.host[0].link));
	lab.rx = on_whole;
	whole = 0;
	whole_len = mtu - lab_ip_len(&lab.host[0]);
	for (unsigned int i = 0; i < 2; i++) {
		lab_send(&lab.host[i], &lab.host[!i], data, whole_len);
		lab_send(&lab.host[i], &lab.host[!i], data, whole_len + 1);
		lab_run(&lab, NS_SEC(1));
		assert_int_equal(whole, i + 1);
		assert_int_equal(ipoib_link_stats(lab.host[i].link)->drops[IPOIB_DROP_TOO_BIG], 1);
	}
}

/* Check that all links stay down, because the profile does not allow groups of this MTU. */
static void row_refuses(const struct ipoib_profile *p, enum ib_mtu_code mtu)
{
	struct ipoib_link_info info;
	char why[64];

	make(p, p, mtu);
	lab_run(&lab, NS_SEC(30));
	snprintf(why, sizeof(why), "MTU %u, which no link of profile %s has", ib_mtu_octets(mtu),
		 p->name);
	for (unsigned int i = 0; i < HOSTS; i++) {
		ipoib_link_info(lab.host[i].link, &info);
		assert_false(ipoib_link_is_up(lab.host[i].link));
		if (!strstr(info.reason, why))
			fail_msg("\"%s\" lacks \"%s\"", info.reason, why);
	}
	lab_destroy(&lab);
	lab_count_fini(&count);
}

static void row_works(const struct ipoib_profile *p, enum ib_mtu_code mtu)
{
	static const bool member[HOSTS] = { false, true, false, true };

	begin(p, p, mtu);
	lab_check_pairs(&lab, &count, all, mtu);
	for (unsigned int i = 0; i < HOSTS; i++)
		if (member[i])
			lab_receive(&lab.host[i], lab_group);
	lab_run(&lab, NS_SEC(3));
	lab_check_group(&lab, &count, all, member, mtu);
	check_mtu(p->ip_mtu(ib_mtu_octets(mtu)));
	end();
}

static void test_every_row_reaches_its_own_kind_at_every_mtu(void **state)
{
	const struct ipoib_profile *p;

	for (unsigned int i = 0; (p = ipoib_profile_at(i)); i++)
		for (unsigned int k = 0; k < ARRAY_SIZE(mtus); k++) {
			if (p->ip_mtu(ib_mtu_octets(mtus[k])))
				row_works(p, mtus[k]);
			else
				row_refuses(p, mtus[k]);
		}
}

/*
 * Profiles with equal .wire have the same packet format, so that their hosts accept unicasts from
 * each other. Profiles with equal .link have the same multicast groups as well, so their hosts
 * share one link.
 */
struct kind {
	const char *name;
	int wire, link;
};

static const struct kind *kind_of(const struct ipoib_profile *p)
{
	static const struct kind kinds[] = {
		{ "rfc4391", 1, 1 }, { "linux", 1, 1 },	     { "v6ib00", 2, 2 },
		{ "v4mc01", 1, 3 },  { "encaparp00", 3, 4 }, { "hld2002", 1, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(p->name, kinds[i].name))
			return &kinds[i];
	fail_msg("profile %s: no line in kinds[]", p->name);
	return NULL;
}

static int wire_of(const struct ipoib_profile *p)
{
	return kind_of(p)->wire;
}

/*
 * Let all hosts join a group. Host 0 sends a packet to the group, and exactly the hosts whose
 * profile shares a link with host 0's profile must receive it.
 */
static void check_group_hearing(const struct ipoib_profile *a, const struct ipoib_profile *b)
{
	/* magic and sender, as lab_check_group() sends them */
	const uint32_t msg[4] = { 0x6d756c74, 0, 0, 0 };
	bool one = kind_of(a)->link == kind_of(b)->link;

	for (unsigned int i = 0; i < HOSTS; i++)
		lab_receive(&lab.host[i], lab_group);
	lab_run(&lab, NS_SEC(3));
	memset(count.group, 0, HOSTS * sizeof(*count.group));
	lab_send_group(&lab.host[0], lab_group, msg, sizeof(msg));
	lab_run(&lab, NS_SEC(3));
	for (unsigned int i = 0; i < HOSTS; i++)
		if (count.group[i] != (i && (i % 2 == 0 || one)))
			fail_msg("%s and %s: group packet: %u got %u", a->name, b->name, i,
				 count.group[i]);
}

/*
 * Check that each host has dropped the packets from hosts of the other profile, and has counted
 * these drops under a reason.
 */
static void check_drops(void)
{
	for (unsigned int i = 0; i < HOSTS; i++)
		assert_int_equal(ipoib_link_stats(lab.host[i].link)->drops[IPOIB_DROP_RX_TYPE],
				 HOSTS / 2);
}

/*
 * Give profile @a to the hosts with an even index and profile @b to the others, and check which
 * hosts receive each other's packets.
 */
static void check_hearing(const struct ipoib_profile *a, const struct ipoib_profile *b)
{
	begin(a, b, IB_MTU_2048);
	lab_warm_up(&lab, &count, all);
	for (unsigned int i = 0; i < HOSTS * HOSTS; i++) {
		unsigned int from = i / HOSTS, to = i % HOSTS;
		bool hears = (from - to) % 2 == 0 || wire_of(a) == wire_of(b);

		if (count.got[i] != (from != to && hears))
			fail_msg("%s and %s: %u -> %u: %u packets", a->name, b->name, from, to,
				 count.got[i]);
	}
	if (wire_of(a) != wire_of(b))
		check_drops();
	check_group_hearing(a, b);
	end();
}

static void test_who_hears_whom(void **state)
{
	const struct ipoib_profile *a, *b;

	for (unsigned int i = 0; (a = ipoib_profile_at(i)); i++)
		for (unsigned int k = 0; (b = ipoib_profile_at(k)); k++)
			check_hearing(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_reaches_its_own_kind_at_every_mtu),
		cmocka_unit_test(test_who_hears_whom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
