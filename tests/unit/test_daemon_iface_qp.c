/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/iface_qp.h"

#include <errno.h>

#include "check.h"
#include "daemon/iface.h"

/* Queue pairs of an interface on a CA that does what the test says. */

#define QPS 8

struct fake_qp {
	struct ca_qp qp; /* first */
	struct ca_qp_attr attr;
	bool live;
	uint16_t pkey_index;
	uint32_t qkey;
	unsigned int sent;
	int modify_err;
};

static struct fake_qp qps[QPS];
static unsigned int nqps;
static int create_err;
static bool armed_has_work;

static int fake_create(struct ca *ca, const struct ca_qp_attr *attr, void *ctx, struct ca_qp **ret)
{
	struct fake_qp *f = &qps[nqps];

	if (create_err)
		return create_err;
	assert_true(nqps++ < QPS);
	*f = (struct fake_qp){ .qp = { ca, ctx }, .attr = *attr, .live = true };
	f->pkey_index = attr->pkey_index;
	f->qkey = attr->qkey;
	*ret = &f->qp;
	return 0;
}

static void fake_destroy(struct ca_qp *qp)
{
	((struct fake_qp *)qp)->live = false;
}

static int fake_modify(struct ca_qp *qp, uint16_t pkey_index, uint32_t qkey)
{
	struct fake_qp *f = (struct fake_qp *)qp;

	if (f->modify_err)
		return f->modify_err;
	f->pkey_index = pkey_index;
	f->qkey = qkey;
	return 0;
}

static uint32_t fake_num(const struct ca_qp *qp)
{
	return ((const struct fake_qp *)qp)->attr.qpn_hint;
}

static bool fake_arm(struct ca_qp *qp)
{
	return !armed_has_work;
}

static unsigned int fake_post(struct ca_qp *qp, const struct ca_send *v, unsigned int n, ns_t now)
{
	((struct fake_qp *)qp)->sent += n;
	for (unsigned int i = 0; i < n; i++)
		pkt_free(v[i].pkt);
	return n;
}

static const struct ca_ops ops = {
	.qp_create = fake_create,
	.qp_destroy = fake_destroy,
	.qp_modify = fake_modify,
	.qp_num = fake_num,
	.arm = fake_arm,
	.post_send = fake_post,
};

/* --- an interface, with nothing but its port */

static struct ca ca = { .ops = &ops };
static struct timers timers;
static struct pkt_pool *pool;
static struct fabric *fabric;
static struct inst inst;
static struct inst_port port;
static struct inst_iface iface;

static void begin(void)
{
	struct fabric_cfg fc = { .timers = &timers };
	struct topo *t = topo_create();
	uint32_t a, b;

	timers_init(&timers);
	pool = pkt_pool_create(64, 2);
	fc.pool = pool;
	topo_add_node(t, IB_NODE_CA, 1, "a", NULL, &a);
	topo_add_node(t, IB_NODE_CA, 1, "b", NULL, &b);
	topo_link(t, a, 1, b, 1);
	assert_int_equal(fabric_create(&fabric, t, &fc, 1), 0);
	topo_free(t);
	memset(qps, 0, sizeof(qps));
	nqps = 0;
	create_err = 0;
	armed_has_work = false;
	list_init(&inst.rx_ready);
	port = (struct inst_port){ .ca = &ca, .node = fabric_node_at(fabric, 0), .num = 1 };
	iface = (struct inst_iface){ .inst = &inst, .port = &port, .name = "uib0", .pkey = 0xffff };
	iface.qp.iface = &iface;
	list_init(&iface.qp.rx_link);
	list_init(&iface.station_qps);
}

static void end(void)
{
	iface_qp_destroy(&iface);
	for (unsigned int i = 0; i < nqps; i++)
		assert_false(qps[i].live);
	assert_true(list_empty(&inst.rx_ready));
	fabric_destroy(fabric);
	pkt_pool_destroy(pool);
	timers_fini(&timers);
}

static const uint8_t a[6] = { 0x52, 0x54, 0, 0, 0, 0xa }, b[6] = { 0x52, 0x54, 0, 0, 0, 0xb };

static void *open_station(const uint8_t mac[6])
{
	uint32_t qpn = 0;
	void *qp = NULL;

	assert_int_equal(iface_station_open(&iface, NULL, mac, &qp, &qpn), 0);
	assert_int_equal(qpn, iface_qpn_hint(&iface, mac));
	return qp;
}

/* QPNs are hashes: others' caches hold them, so they never change. */
static void test_qpn_is_the_same_every_time_and_its_own_for_each_mac(void **state)
{
	uint32_t own, of_a;

	begin();
	own = iface_qpn_hint(&iface, NULL);
	of_a = iface_qpn_hint(&iface, a);
	assert_int_equal(iface_qpn_hint(&iface, NULL), own);
	assert_int_equal(iface_qpn_hint(&iface, a), of_a);
	assert_int_not_equal(own, of_a);
	assert_int_not_equal(iface_qpn_hint(&iface, b), of_a);
	assert_true(of_a > 1 && of_a < IB_QPN_MCAST);
	iface.pkey = 0x8001;
	assert_int_not_equal(iface_qpn_hint(&iface, a), of_a);
	iface.pkey = 0xffff;
	iface.name[3] = '1';
	assert_int_not_equal(iface_qpn_hint(&iface, a), of_a);
	iface.name[3] = '0';
	port.node = fabric_node_at(fabric, 1);
	assert_int_not_equal(iface_qpn_hint(&iface, a), of_a);
	/* A configured one is the interface's own, not the stations'. */
	iface.qpn = 0x123456;
	assert_int_equal(iface_qpn_hint(&iface, NULL), 0x123456);
	assert_int_not_equal(iface_qpn_hint(&iface, a), 0x123456);
	end();
}

static void test_reset_and_new_keys_are_for_all_queue_pairs(void **state)
{
	void *sa, *sb;

	begin();
	assert_int_equal(iface_qp_create(&iface, 1, 0), 0);
	sa = open_station(a);
	assert_int_equal(iface_qp_modify(&iface, 2, 0x80000b1b), 0);
	sb = open_station(b); /* later ones begin with what the link said last */
	for (unsigned int i = 0; i < nqps; i++) {
		assert_int_equal(qps[i].pkey_index, 2);
		assert_int_equal(qps[i].qkey, 0x80000b1b);
	}
	/* One that refuses is told of, so that the link tries all again. */
	qps[1].modify_err = -EINVAL;
	assert_int_equal(iface_qp_modify(&iface, 3, 7), -EINVAL);
	assert_int_equal(qps[0].pkey_index, 3);
	assert_int_equal(qps[2].pkey_index, 3);
	qps[1].modify_err = 0;
	assert_int_equal(iface_qp_modify(&iface, 3, 7), 0);
	assert_int_equal(qps[1].pkey_index, 3);
	iface_station_close(&iface, sa);
	iface_station_close(&iface, sb);
	end();
}

/* What waits in a queue pair that is armed too late is polled for; one that goes waits no more. */
static void test_ready_queue_pairs_are_noted_and_forgotten(void **state)
{
	void *sa;

	begin();
	assert_int_equal(iface_qp_create(&iface, 1, 0), 0);
	assert_true(list_empty(&inst.rx_ready));
	armed_has_work = true;
	sa = open_station(a);
	assert_false(list_empty(&inst.rx_ready));
	iface_station_close(&iface, sa);
	assert_true(list_empty(&inst.rx_ready));
	assert_int_equal(iface_qp_modify(&iface, 1, 0), 0);
	assert_false(list_empty(&inst.rx_ready));
	end();
}

static void test_no_queue_pair_for_a_station(void **state)
{
	uint32_t qpn = 5;
	void *qp = &qpn;

	begin();
	create_err = -ENOSPC;
	assert_int_equal(iface_station_open(&iface, NULL, a, &qp, &qpn), -ENOSPC);
	assert_int_equal(qpn, 5);
	assert_ptr_equal(qp, &qpn);
	assert_true(list_empty(&iface.station_qps));
	end();
}

/* A batch of several senders: each packet by its own. */
static void test_batch_goes_to_the_queue_pairs_it_names(void **state)
{
	struct eth_send v[PKT_BATCH] = { 0 };
	void *sa, *sb;

	begin();
	assert_int_equal(iface_qp_create(&iface, 1, 0), 0);
	sa = open_station(a);
	sb = open_station(b);
	for (unsigned int i = 0; i < 20; i++) {
		v[i].pkt = pkt_alloc(pool);
		v[i].qp = i < 5 ? NULL : i < 12 ? sa : i % 2 ? sb : NULL;
	}
	iface_post(&iface, v, 20, 1);
	assert_int_equal(qps[0].sent, 5 + 4);
	assert_int_equal(qps[1].sent, 7);
	assert_int_equal(qps[2].sent, 4);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	iface_station_close(&iface, sa);
	iface_station_close(&iface, sb);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qpn_is_the_same_every_time_and_its_own_for_each_mac),
		cmocka_unit_test(test_reset_and_new_keys_are_for_all_queue_pairs),
		cmocka_unit_test(test_ready_queue_pairs_are_noted_and_forgotten),
		cmocka_unit_test(test_no_queue_pair_for_a_station),
		cmocka_unit_test(test_batch_goes_to_the_queue_pairs_it_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
