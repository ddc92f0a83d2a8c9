/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * These tests run the whole stack with two kinds of interfaces on one link: those that look like
 * InfiniBand to their host, with link-layer addresses of 20 octets, and those that look like
 * Ethernet. Each host has a small model of a kernel, which resolves addresses by ARP or Neighbour
 * Discovery, depending on the link's profile, and answers pings.
 */

#include <string.h>

#include "check.h"
#include "unit/all_lab.h"
#include "wire/arp.h"
#include "wire/inet.h"

#define HOSTS 4

static struct lab lab;

static void shape_even(struct lab_host *h, void *ctx)
{
	h->shape = h->index % 2 ? ETH_SHAPE_ETHERNET : ETH_SHAPE_INFINIBAND;
}

static void begin(const struct ipoib_profile *p, const struct sm_cfg *sm)
{
	struct topo *t = topo_gen_demo(HOSTS, 2);

	lab_create(&lab,
		   &(struct lab_cfg){ .topo = t,
				      .seed = 1,
				      .crc = HCA_CRC_FULL,
				      .partitions = "Default=0x7fff, ipoib : mgid=ff12:3333::1\n"
						    "mgid=ff12::255.255.255.255\nALL=full;\n",
				      .sm = sm,
				      .sidr = true,
				      .profile = { p, p },
				      .setup = shape_even });
	topo_free(t);
}

static void wait_up(void)
{
	for (int i = 0; i < 30 && !lab_all_up(&lab, NULL); i++)
		lab_run(&lab, NS_SEC(1));
	assert_true(lab_all_up(&lab, NULL));
}

/*
 * An interface must report its own address and the MGID of the broadcast group to its owner before
 * it reports carrier. set_carrier() of the lab checks this.
 */
static void test_owner_is_told_each_pair_of_addresses_once(void **state)
{
	const struct lab_host *h = &lab.host[0];
	struct sm_cfg sm = sm_cfg_default();
	ib_gid before;

	begin(NULL, NULL);
	h = &lab.host[0];
	wait_up();
	assert_int_equal(h->told, 1);
	assert_int_equal(h->told_unknown, 0);
	assert_int_equal(lab.host[1].told, 0);
	before = h->told_own.gid;

	/*
	 * The port goes down and comes up with the same addresses, so the owner must not get them
	 * again.
	 */
	fabric_link_set(fabric_node_port(h->node, h->port), FABRIC_LINK_DOWN, lab.now);
	lab_run(&lab, NS_SEC(1));
	fabric_link_set(fabric_node_port(h->node, h->port), FABRIC_LINK_UP, lab.now);
	wait_up();
	assert_int_equal(h->told, 1);

	/* A new SM with another subnet prefix starts, so all GIDs change. */
	lab_sm_stop(&lab);
	sm.prefix = 0xfec0000000000001;
	lab_sm_start(&lab, &sm, NULL);
	lab_run(&lab, NS_SEC(20));
	wait_up();
	assert_int_equal(h->told, 2);
	assert_false(ib_gid_equal(&before, &h->told_own.gid));
	assert_true(ib_gid_prefix(&h->told_own.gid) == sm.prefix);
	lab_destroy(&lab);
}

/*
 * With SIDR, an interface learns its broadcast group some time after it created its queue pair. So
 * the owner of the interface must get two reports of its addresses, the first report without a
 * broadcast group.
 */
static void test_broadcast_group_is_told_when_sidr_has_told_it(void **state)
{
	const struct lab_host *h;

	begin(ipoib_profile_find("encaparp00"), NULL);
	h = &lab.host[0];
	wait_up();
	assert_int_equal(h->told, 2);
	assert_int_equal(h->told_unknown, 1);
	lab_destroy(&lab);
}

/* --- a small model of the kernel of each host */

#define PROTO_PING 253
#define PROTO_PONG 254

struct kern {
	struct {
		bool known;
		uint8_t hw[20];
	} neigh[HOSTS];
	unsigned int pings, pongs[HOSTS];
};

static struct kern kern[HOSTS];

static unsigned int alen(const struct lab_host *h)
{
	return h->shape == ETH_SHAPE_INFINIBAND ? 20 : 6;
}

static bool has_ipv4(const struct lab_host *h)
{
	return ipoib_profile_has(ipoib_link_profile(h->link), IPOIB_IPV4);
}

static void ip6_of(uint8_t ret[16], unsigned int host)
{
	memset(ret, 0, 16);
	ret[0] = 0xfd;
	ret[15] = (uint8_t)(host + 1);
}

static void emit(struct lab_host *h, const uint8_t *dst, uint16_t type, const void *data, size_t n)
{
	uint8_t b[512];
	struct pkt *p;

	lab_put_head(h, b, dst, type);
	memcpy(b + lab_head_len(h), data, n);
	p = pkt_from_data(lab.pool, b, lab_head_len(h) + n);
	assert_non_null(p);
	lab_frame(h, p);
}

static void emit_arp(struct lab_host *h, uint16_t op, unsigned int to)
{
	struct arp_pkt a = { .hrd = alen(h) == 20 ? ARP_HRD_INFINIBAND : ARP_HRD_ETHER,
			     .pro = ETH_P_IPV4,
			     .hln = (uint8_t)alen(h),
			     .pln = 4,
			     .op = op };
	uint8_t b[ARP_IPOIB_LEN], dst[20];

	lab_own_hw(h, a.sha);
	be32_put(a.spa, 0x0a000001 + h->index);
	be32_put(a.tpa, 0x0a000001 + to);
	lab_broadcast_hw(h, dst);
	if (op == ARP_OP_REPLY) {
		memcpy(a.tha, kern[h->index].neigh[to].hw, a.hln);
		memcpy(dst, a.tha, a.hln);
	}
	emit(h, dst, ETH_P_ARP4, b, arp_encode(b, &a));
}

/*
 * Send a Neighbour Solicitation for host @to to all nodes, or a Neighbour Advertisement to host
 * @to, as the kernel of host @h would.
 */
static void emit_nd(struct lab_host *h, uint8_t type, unsigned int to)
{
	unsigned int pad = alen(h) == 20 ? 2 : 0, opt = 2 + pad + alen(h);
	uint8_t b[40 + 24 + 24] = { 0x60, [6] = 58, 255 }, dst[20], *m = b + 40;
	uint16_t len = (uint16_t)(24 + opt);

	be16_put(b + 4, len);
	ip6_of(b + 8, h->index);
	lab_broadcast_hw(h, dst);
	m[0] = type;
	if (type == ICMP6_NS) {
		memcpy(b + 24, (uint8_t[16]){ 0xff, 2, [15] = 1 }, 16);
		ip6_of(m + 8, to);
	} else {
		ip6_of(b + 24, to);
		m[4] = 0x60;
		ip6_of(m + 8, h->index);
		memcpy(dst, kern[h->index].neigh[to].hw, alen(h));
	}
	m[24] = type == ICMP6_NS ? ND_OPT_SLLA : ND_OPT_TLLA;
	m[25] = (uint8_t)(opt / 8);
	lab_own_hw(h, m + 26 + pad);
	be16_put(m + 2, inet_fold(inet_sum(inet_pseudo6(b + 8, b + 24, 58, len), m, len)));
	emit(h, dst, ETH_P_IPV6_, b, 40u + len);
}

static void learn(struct lab_host *h, unsigned int who, const uint8_t *hw)
{
	assert_in_range(who, 0, HOSTS - 1);
	kern[h->index].neigh[who].known = true;
	memcpy(kern[h->index].neigh[who].hw, hw, alen(h));
}

static void on_arp(struct lab_host *h, const uint8_t *data, size_t n)
{
	struct arp_pkt a;
	unsigned int who;

	assert_int_equal(arp_decode(&a, data, n), 0);
	assert_int_equal(a.hln, alen(h));
	who = a.spa[3] - 1u;
	if (a.tpa[3] != h->index + 1)
		return;
	learn(h, who, a.sha);
	if (a.op == ARP_OP_REQUEST)
		emit_arp(h, ARP_OP_REPLY, who);
}

static void on_nd(struct lab_host *h, const uint8_t *ip, size_t n)
{
	unsigned int pad = alen(h) == 20 ? 2 : 0, who = ip[23] - 1u;
	const uint8_t *m = ip + 40;

	assert_int_equal(n, 40 + 24 + 2 + pad + alen(h));
	assert_int_equal(m[25], (2 + pad + alen(h)) / 8);
	if (m[0] == ICMP6_NS && m[23] != h->index + 1)
		return;
	learn(h, who, m + 26 + pad);
	if (m[0] == ICMP6_NS)
		emit_nd(h, ICMP6_NA, who);
}

static void emit_ip(struct lab_host *h, unsigned int to, uint8_t proto)
{
	uint8_t b[60] = { 0 };

	assert_true(kern[h->index].neigh[to].known);
	if (has_ipv4(h)) {
		b[0] = 0x45;
		b[3] = 20 + 8;
		b[8] = 64;
		b[9] = proto;
		be32_put(b + 12, 0x0a000001 + h->index);
		be32_put(b + 16, 0x0a000001 + to);
		be16_put(b + 10, inet_fold(inet_sum(0, b, 20)));
		emit(h, kern[h->index].neigh[to].hw, ETH_P_IPV4, b, 20 + 8);
		return;
	}
	b[0] = 0x60;
	b[5] = 8;
	b[6] = proto;
	b[7] = 64;
	ip6_of(b + 8, h->index);
	ip6_of(b + 24, to);
	emit(h, kern[h->index].neigh[to].hw, ETH_P_IPV6_, b, 40 + 8);
}

static void on_ip(struct lab_host *h, unsigned int from, uint8_t proto)
{
	assert_in_range(from, 0, HOSTS - 1);
	if (proto == PROTO_PONG) {
		kern[h->index].pongs[from]++;
	} else if (proto == PROTO_PING) {
		kern[h->index].pings++;
		emit_ip(h, from, PROTO_PONG);
	}
}

static void on_frame(struct lab *l, struct lab_host *h, const struct eth_frame *f)
{
	uint8_t b[512];
	size_t n = pkt_copy_out(f->first, 0, b, sizeof(b)), head = lab_head_len(h);
	const uint8_t *data = b + head;

	switch (lab_head_type(h, b)) {
	case ETH_P_ARP4:
		on_arp(h, data, n - head);
		break;
	case ETH_P_IPV4:
		on_ip(h, data[15] - 1u, data[9]);
		break;
	case ETH_P_IPV6_:
		if (data[6] == 58)
			on_nd(h, data, n - head);
		else
			on_ip(h, data[23] - 1u, data[6]);
		break;
	}
}

static void resolve(struct lab_host *h, unsigned int to)
{
	if (has_ipv4(h))
		emit_arp(h, ARP_OP_REQUEST, to);
	else
		emit_nd(h, ICMP6_NS, to);
}

/* Let each host resolve the address of each other host by multicast, and ping it. */
static void ping_all(void)
{
	for (unsigned int i = 0; i < HOSTS; i++)
		for (unsigned int k = 0; k < HOSTS; k++)
			if (i != k)
				resolve(&lab.host[i], k);
	lab_run(&lab, NS_SEC(1));
	for (unsigned int i = 0; i < HOSTS; i++)
		for (unsigned int k = 0; k < HOSTS; k++)
			if (i != k)
				emit_ip(&lab.host[i], k, PROTO_PING);
	lab_run(&lab, NS_SEC(1));
}

static void check_pings(const char *profile, unsigned int n)
{
	for (unsigned int i = 0; i < HOSTS; i++) {
		for (unsigned int k = 0; k < HOSTS; k++)
			if (kern[i].pongs[k] != (i == k ? 0 : n))
				fail_msg("%s: %u heard %u pongs of %u", profile, i,
					 kern[i].pongs[k], k);
		for (unsigned int d = 0; d < ETH_DROP_MAX; d++)
			if (eth_if_stats(lab.host[i].ifc.eth)->drops[d])
				fail_msg("%s: %u dropped by %s", profile, i, eth_drop_name(d));
	}
}

/*
 * If the profile's ARP or ND messages contain a Q_Key, the kernel must be told when the link has
 * deleted a peer's Q_Key, so that the kernel resolves the peer again. Messages of RFC 4391 contain
 * no Q_Key.
 */
static void check_forgotten(const struct ipoib_profile *p)
{
	bool tells_qkey = p->resolve == IPOIB_RESOLVE_IBARP || p->nd.has_lid;

	for (unsigned int i = 0; i < HOSTS; i++)
		if (lab.host[i].shape == ETH_SHAPE_INFINIBAND)
			assert_int_equal(lab.host[i].forgotten, tells_qkey ? HOSTS - 1 : 0);
}

static void test_hosts_of_both_shapes_resolve_and_ping_on_every_profile(void **state)
{
	const struct ipoib_profile *p;

	for (unsigned int i = 0; (p = ipoib_profile_at(i)); i++) {
		memset(kern, 0, sizeof(kern));
		begin(p, NULL);
		lab.frame = on_frame;
		wait_up();
		lab_run(&lab, NS_SEC(3)); /* hosts join the groups that every host receives */
		ping_all();
		check_pings(p->name, 1);
		/*
		 * In a quarter of an hour the link deletes all neighbours and all paths. Hosts must
		 * be able to ping again.
		 */
		lab_run(&lab, NS_SEC(900));
		check_forgotten(p);
		ping_all();
		check_pings(p->name, 2);
		lab_destroy(&lab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_owner_is_told_each_pair_of_addresses_once),
		cmocka_unit_test(test_broadcast_group_is_told_when_sidr_has_told_it),
		cmocka_unit_test(test_hosts_of_both_shapes_resolve_and_ping_on_every_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
