/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests of profile v6ib00 (draft-kashyap-ipoib-ipv6-over-ib-00) on the whole stack with uipoib's SA.
 * They check the packets that hosts send to each other: the Q_Keys that the hosts exchange, and the
 * P_Key, which must be that of the link's group.
 */

#include <string.h>

#include "check.h"
#include "fabric/capture.h"
#include "sm/group.h"
#include "unit/all_lab_check.h"
#include "wire/ib_hdr.h"
#include "wire/inet.h"
#include "wire/nd.h"

#define HOSTS 4
#define IP6_LEN 40
#define ND_LEN 24 /* octets of a Neighbour Solicitation or Advertisement without options */
#define ETH_LEN 14
#define QKEY 0x0b1bu /* a Q_Key without bit 31, like the Q_Key of OpenSM's groups */

static struct lab lab;
static const bool all[HOSTS] = { true, true, true, true };

/* --- the wire */

static struct {
	uint8_t data[1 << 20];
	size_t len;
	struct capture *c;
} wire;

static int keep(void *ctx, const void *data, size_t len)
{
	if (len > sizeof(wire.data) - wire.len)
		return -1;
	memcpy(wire.data + wire.len, data, len);
	wire.len += len;
	return 0;
}

static void capture_begin(void)
{
	const struct capture_cfg cfg = { .format = CAPTURE_PCAP, .write = keep };

	wire.len = 0;
	assert_int_equal(capture_create(&wire.c, lab.f, &cfg), 0);
	assert_int_equal(capture_add_end_ports(wire.c), 0);
}

static uint32_t native_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * End the capture, and call @fn for each captured packet that was sent to the QP of an IPoIB
 * interface. Returns the number of packets.
 */
static unsigned int capture_end(void (*fn)(const struct ib_ud_hdr *h, const uint8_t *payload,
					   size_t len))
{
	const size_t file = 24, record = 16, erf = 16;
	struct ib_ud_hdr h;
	unsigned int n = 0;

	assert_int_equal(capture_stats(wire.c)->missed, 0);
	capture_destroy(wire.c);
	for (size_t at = file, len; at + record <= wire.len; at += record + len) {
		const uint8_t *p = wire.data + at + record + erf;
		int hdr;

		len = native_at(wire.data + at + 8);
		hdr = ib_ud_hdr_decode(&h, p, len - erf);
		if (hdr < 0 || h.bth.dest_qp <= IB_QP1)
			continue;
		fn(&h, p + hdr, len - erf - (size_t)hdr);
		n++;
	}
	return n;
}

/* --- the lab */

static void on_frame(struct lab *l, struct lab_host *to, const struct eth_frame *f);

static void begin(uint16_t pkey, const char *partitions)
{
	struct topo *t = topo_gen_demo(HOSTS, 3);
	const struct ipoib_profile *p = ipoib_profile_find("v6ib00");

	lab_create(&lab, &(struct lab_cfg){ .topo = t,
					    .seed = 1,
					    .crc = HCA_CRC_FULL,
					    .pkey = pkey,
					    .partitions = partitions,
					    .profile = { p, p } });
	topo_free(t);
	lab.frame = on_frame;
}

/* --- Neighbour Discovery, as the kernels of two hosts would send it */

static struct {
	uint8_t mac[6]; /* MAC in the option of the Neighbour Discovery message that arrived last */
	unsigned int messages, data;
} heard[HOSTS];

static void on_frame(struct lab *l, struct lab_host *to, const struct eth_frame *f)
{
	uint8_t b[ETH_LEN + IP6_LEN + ND_LEN + 8];
	size_t len = pkt_copy_out(f->first, 0, b, sizeof(b));
	const uint8_t *icmp = b + ETH_LEN + IP6_LEN;

	if (len < ETH_LEN + IP6_LEN || b[ETH_LEN + 6] != 58) {
		heard[to->index].data++;
		return;
	}
	assert_int_equal(len, sizeof(b));
	assert_true(icmp[0] == ICMP6_NS || icmp[0] == ICMP6_NA);
	memcpy(heard[to->index].mac, icmp + ND_LEN + 2, 6);
	heard[to->index].messages++;
}

static void own_address(const struct lab_host *h, uint8_t ret[16])
{
	be64_put(ret, 0xfe80000000000000ull);
	be64_put(ret + 8, h->index + 1);
}

static void send_nd(struct lab_host *from, uint8_t type, const uint8_t mac[6],
		    const uint8_t dst[16])
{
	uint8_t b[ETH_LEN + IP6_LEN + ND_LEN + 8] = { 0 };
	uint8_t *ip = b + ETH_LEN, *icmp = ip + IP6_LEN;

	memcpy(b, mac, 6);
	memcpy(b + 6, from->ifc.mac, 6);
	be16_put(b + 12, ETH_P_IPV6_);
	ip[0] = 0x60;
	be16_put(ip + 4, ND_LEN + 8);
	ip[6] = 58;
	ip[7] = 255;
	own_address(from, ip + 8);
	memcpy(ip + 24, dst, 16);
	icmp[0] = type;
	own_address(from, icmp + 8);
	icmp[ND_LEN] = type == ICMP6_NS ? ND_OPT_SLLA : ND_OPT_TLLA;
	icmp[ND_LEN + 1] = 1;
	memcpy(icmp + ND_LEN + 2, from->ifc.mac, 6);
	be16_put(icmp + 2, inet_fold(inet_sum(inet_pseudo6(ip + 8, ip + 24, 58, ND_LEN + 8), icmp,
					      ND_LEN + 8)));
	lab_frame(from, pkt_from_data(lab.pool, b, sizeof(b)));
	lab_run(&lab, NS_MSEC(100));
}

static void send_data(struct lab_host *from, const uint8_t mac[6])
{
	uint8_t b[ETH_LEN + IP6_LEN] = { 0 };

	memcpy(b, mac, 6);
	memcpy(b + 6, from->ifc.mac, 6);
	be16_put(b + 12, ETH_P_IPV6_);
	b[ETH_LEN] = 0x60;
	b[ETH_LEN + 6] = 59; /* no next header */
	b[ETH_LEN + 7] = 64;
	own_address(from, b + ETH_LEN + 8);
	lab_frame(from, pkt_from_data(lab.pool, b, sizeof(b)));
	lab_run(&lab, NS_MSEC(100));
}

/*
 * Let host @a ask for the address of host @b by multicast. Host @b answers, and then both hosts
 * send data to each other.
 */
static void talk(struct lab_host *a, struct lab_host *b)
{
	static const uint8_t all_mac[6] = { 0x33, 0x33, [5] = 1 };
	static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 1 };
	uint8_t dst[16];

	memset(heard, 0, sizeof(heard));
	send_nd(a, ICMP6_NS, all_mac, all_nodes);
	for (unsigned int i = 0; i < HOSTS; i++)
		assert_int_equal(heard[i].messages, i != a->index);
	own_address(a, dst);
	send_nd(b, ICMP6_NA, heard[b->index].mac, dst);
	assert_int_equal(heard[a->index].messages, 1);
	send_data(a, heard[a->index].mac);
	assert_int_equal(heard[b->index].data, 1);
	send_data(b, heard[b->index].mac);
	assert_int_equal(heard[a->index].data, 1);
}

/* --- V14 */

static unsigned int options;

static const struct lab_host *host_at(uint16_t lid)
{
	for (unsigned int i = 0; i < HOSTS; i++)
		if (sac_port(lab.host[i].sac)->lid == lid)
			return &lab.host[i];
	fail();
	return NULL;
}

static void check_qkey(const struct ib_ud_hdr *h, const uint8_t *payload, size_t len)
{
	const struct lab_host *from = host_at(h->lrh.slid);
	const uint8_t *icmp = payload + IP6_LEN;
	size_t pos = 0;
	struct nd_opt o;
	struct nd_port p;

	assert_int_equal(h->deth.qkey, QKEY);
	assert_int_equal(h->deth.src_qp, from->addr.qpn);
	if (payload[6] != 58)
		return;
	assert_int_equal(nd_opt_next(&o, icmp + ND_LEN, be16_at(payload + 4) - ND_LEN, &pos), 1);
	assert_int_equal(nd_opt_link_info_decode(&p, &o), 0);
	assert_int_equal(p.qkey, QKEY);
	assert_int_equal(p.lladdr.qpn, from->addr.qpn);
	assert_memory_equal(&p.lladdr.gid, &from->addr.gid, 16);
	assert_int_equal(p.lid, h->lrh.slid);
	options++;
}

/*
 * A receiver's QP has a Q_Key without bit 31 and accepts only packets with this Q_Key. So a packet
 * arrives only if the sender has learned the Q_Key from the option in the receiver's ND message.
 * (In place of a Q_Key with bit 31, the sender's HCA sends the Q_Key of its own QP.)
 */
static void test_V14_default_qpn_and_a_qkey_without_bit_31_are_exchanged(void **state)
{
	begin(0, "Default=0x7fff, ipoib : mgid=ff12:3333::1, Q_Key=0x0b1b\nALL=full;\n");
	lab_wait_up(&lab, all, NS_SEC(30), 1, "V14");
	capture_begin();
	talk(&lab.host[0], &lab.host[1]);
	talk(&lab.host[3], &lab.host[2]);
	options = 0;
	assert_int_equal(capture_end(check_qkey), 8);
	assert_int_equal(options, 4);
	lab_destroy(&lab);
}

/* --- V17 */

static const char in_lab[] = "Default=0x7fff, ipoib : ALL=full;\n"
			     "Lab=0x0001 : mgid=ff12:3333::1\nALL=full;\n";
static const char in_default[] = "Default=0x7fff, ipoib : mgid=ff12:3333::1\nALL=full;\n"
				 "Lab=0x0001 : ALL=full;\n";

static void check_pkey(const struct ib_ud_hdr *h, const uint8_t *payload, size_t len)
{
	assert_int_equal(h->bth.pkey, 0x8001);
}

static void test_V17_all_traffic_has_the_pkey_of_the_group(void **state)
{
	ib_gid mgid = { { 0xff, 0x1e, 0x33, 0x33, [12] = 239, 1, 2, 3 } };
	static const uint8_t group[4] = { 239, 1, 2, 3 };
	const struct sm_group *g;

	begin(0x8001, in_lab);
	lab_wait_up(&lab, all, NS_SEC(30), 1, "V17");
	capture_begin();
	talk(&lab.host[0], &lab.host[1]);
	/*
	 * Groups that the hosts create must belong to the partition of the link, too, and packets
	 * to these groups must have the partition's P_Key.
	 */
	for (unsigned int i = 0; i < HOSTS; i++)
		lab_receive(&lab.host[i], group);
	lab_run(&lab, NS_SEC(3));
	g = sm_group_find(lab.sm, &mgid);
	assert_non_null(g);
	assert_int_equal(g->rec.pkey, 0x8001);
	memset(heard, 0, sizeof(heard));
	lab_send_group(&lab.host[0], group, "data", 4);
	lab_run(&lab, NS_SEC(1));
	for (unsigned int i = 1; i < HOSTS; i++)
		assert_int_equal(heard[i].data, 1);
	assert_int_equal(capture_end(check_pkey), 5);
	lab_destroy(&lab);
}

/*
 * The broadcast group belongs to another partition than the configured one, so the link must not
 * come up, and must state this as the reason.
 */
static void test_V17_group_of_another_pkey_makes_no_link(void **state)
{
	struct ipoib_link_info info;

	begin(0x8001, in_default);
	lab_run(&lab, NS_SEC(30));
	for (unsigned int i = 0; i < HOSTS; i++) {
		ipoib_link_info(lab.host[i].link, &info);
		assert_false(ipoib_link_is_up(lab.host[i].link));
		if (!strstr(info.reason, "P_Key 0xffff is not the link's 0x8001"))
			fail_msg("\"%s\"", info.reason);
	}
	/* Now the group belongs to the configured partition, so the links must come up. */
	lab_partitions(&lab, in_lab);
	lab_wait_up(&lab, all, NS_SEC(60), 1, "V17 again");
	lab_destroy(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_V14_default_qpn_and_a_qkey_without_bit_31_are_exchanged),
		cmocka_unit_test(test_V17_all_traffic_has_the_pkey_of_the_group),
		cmocka_unit_test(test_V17_group_of_another_pkey_makes_no_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
