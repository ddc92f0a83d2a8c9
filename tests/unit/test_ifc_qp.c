/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/qp.h"

#include <errno.h>

#include "check.h"

/* Tests the queue pairs of an interface, on a fake CA whose results the test sets. */

#define QPS 8

struct fake_qp {
	struct ca_qp qp; /* must be the first member */
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

static struct ca_send_queue fake_queue(struct ca *ca)
{
	return (struct ca_send_queue){ 0 };
}

static const struct ca_ops ops = {
	.send_queue = fake_queue,
	.qp_create = fake_create,
	.qp_destroy = fake_destroy,
	.qp_modify = fake_modify,
	.qp_num = fake_num,
	.arm = fake_arm,
	.post_send = fake_post,
};

/* --- a fake CA, and an interface that has only those parts that ifc_qp uses */

static struct ca ca = { .ops = &ops };
static struct timers timers;
static struct pkt_pool *pool;
static struct ifc_set set;
static struct ifc_port port;
static struct ifc iface;

static void begin(void)
{
	static const struct ifc_cfg cfg = { .name = "uib0", .pkey = 0xffff };

	timers_init(&timers);
	pool = pkt_pool_create(64, 2);
	memset(qps, 0, sizeof(qps));
	nqps = 0;
	create_err = 0;
	armed_has_work = false;
	ifc_set_init(&set, &timers, pool, NULL);
	ifc_port_init(&port, &set);
	port.guid = 0x100;
	port.ca = &ca;
	ifc_init(&iface, &port, &cfg, NULL, NULL);
}

static void end(void)
{
	ifc_qp_destroy(&iface);
	for (unsigned int i = 0; i < nqps; i++)
		assert_false(qps[i].live);
	assert_true(list_empty(&set.rx_ready));
	pkt_pool_destroy(pool);
	timers_fini(&timers);
}

static const uint8_t a[6] = { 0x52, 0x54, 0, 0, 0, 0xa }, b[6] = { 0x52, 0x54, 0, 0, 0, 0xb };

static void *open_station(const uint8_t mac[6])
{
	uint32_t qpn = 0;
	void *qp = NULL;

	assert_int_equal(ifc_station_open(&iface, NULL, mac, &qp, &qpn), 0);
	assert_int_equal(qpn, ifc_qpn_hint(&iface, mac));
	return qp;
}

/*
 * The setting rq_depth (HLD of 2002, section 4.2) must be the depth of the queue pair's receive
 * ring, which the CA makes.
 */
static void test_H34_rq_depth_is_the_ring_of_the_queue_pair(void **state)
{
	begin();
	assert_int_equal(ifc_qp_create(&iface, 0, 1), 0);
	assert_int_equal(qps[0].attr.rx_depth, IFC_RQ_DEPTH);
	ifc_qp_destroy(&iface);
	iface.rq_depth = 65;
	assert_int_equal(ifc_qp_create(&iface, 0, 1), 0);
	assert_int_equal(qps[1].attr.rx_depth, 65);
	ifc_station_close(&iface, open_station(a));
	assert_int_equal(qps[2].attr.rx_depth, 33);
	end();
}

/*
 * A QPN is a hash of the port's GUID, the P_Key, the name and the MAC. The QPN must be the same in
 * every run, because other nodes keep it in their caches.
 */
static void test_qpn_is_the_same_every_time_and_its_own_for_each_mac(void **state)
{
	uint32_t own, of_a;

	begin();
	own = ifc_qpn_hint(&iface, NULL);
	of_a = ifc_qpn_hint(&iface, a);
	assert_int_equal(ifc_qpn_hint(&iface, NULL), own);
	assert_int_equal(ifc_qpn_hint(&iface, a), of_a);
	assert_int_not_equal(own, of_a);
	assert_int_not_equal(ifc_qpn_hint(&iface, b), of_a);
	assert_true(of_a > 1 && of_a < IB_QPN_MCAST);
	iface.pkey = 0x8001;
	assert_int_not_equal(ifc_qpn_hint(&iface, a), of_a);
	iface.pkey = 0xffff;
	iface.name[3] = '1';
	assert_int_not_equal(ifc_qpn_hint(&iface, a), of_a);
	iface.name[3] = '0';
	port.guid = 0x200;
	assert_int_not_equal(ifc_qpn_hint(&iface, a), of_a);
	/* A QPN from the configuration is for the interface itself, and not for its stations. */
	iface.qpn = 0x123456;
	assert_int_equal(ifc_qpn_hint(&iface, NULL), 0x123456);
	assert_int_not_equal(ifc_qpn_hint(&iface, a), 0x123456);
	end();
}

static void test_reset_and_new_keys_are_for_all_queue_pairs(void **state)
{
	void *sa, *sb;

	begin();
	assert_int_equal(ifc_qp_create(&iface, 1, 0), 0);
	sa = open_station(a);
	assert_int_equal(ifc_qp_modify(&iface, 2, 0x80000b1b), 0);
	/* a queue pair that is made after the change must get the current P_Key index and Q_Key */
	sb = open_station(b);
	for (unsigned int i = 0; i < nqps; i++) {
		assert_int_equal(qps[i].pkey_index, 2);
		assert_int_equal(qps[i].qkey, 0x80000b1b);
	}
	/*
	 * One queue pair refuses the change. The other queue pairs must be changed, and the error
	 * must be returned, so that the link tries all queue pairs again.
	 */
	qps[1].modify_err = -EINVAL;
	assert_int_equal(ifc_qp_modify(&iface, 3, 7), -EINVAL);
	assert_int_equal(qps[0].pkey_index, 3);
	assert_int_equal(qps[2].pkey_index, 3);
	qps[1].modify_err = 0;
	assert_int_equal(ifc_qp_modify(&iface, 3, 7), 0);
	assert_int_equal(qps[1].pkey_index, 3);
	ifc_station_close(&iface, sa);
	ifc_station_close(&iface, sb);
	end();
}

/*
 * A packet arrives before a station's queue pair is armed, so the queue pair is put into the list
 * of queue pairs to poll. When the station is closed, its queue pair must be removed from this
 * list.
 */
static void test_ready_queue_pairs_are_noted_and_forgotten(void **state)
{
	void *sa;

	begin();
	assert_int_equal(ifc_qp_create(&iface, 1, 0), 0);
	assert_true(list_empty(&set.rx_ready));
	armed_has_work = true;
	sa = open_station(a);
	assert_false(list_empty(&set.rx_ready));
	ifc_station_close(&iface, sa);
	assert_true(list_empty(&set.rx_ready));
	assert_int_equal(ifc_qp_modify(&iface, 1, 0), 0);
	assert_false(list_empty(&set.rx_ready));
	end();
}

static void test_no_queue_pair_for_a_station(void **state)
{
	uint32_t qpn = 5;
	void *qp = &qpn;

	begin();
	create_err = -ENOSPC;
	assert_int_equal(ifc_station_open(&iface, NULL, a, &qp, &qpn), -ENOSPC);
	assert_int_equal(qpn, 5);
	assert_ptr_equal(qp, &qpn);
	assert_true(list_empty(&iface.station_qps));
	end();
}

/*
 * A batch has packets of the interface and of stations. Each packet must be posted to the queue
 * pair of its sender.
 */
static void test_batch_goes_to_the_queue_pairs_it_names(void **state)
{
	struct eth_send v[PKT_BATCH] = { 0 };
	void *sa, *sb;

	begin();
	assert_int_equal(ifc_qp_create(&iface, 1, 0), 0);
	sa = open_station(a);
	sb = open_station(b);
	for (unsigned int i = 0; i < 20; i++) {
		v[i].pkt = pkt_alloc(pool);
		v[i].qp = i < 5 ? NULL : i < 12 ? sa : i % 2 ? sb : NULL;
	}
	ifc_post(&iface, v, 20, 1);
	assert_int_equal(qps[0].sent, 5 + 4);
	assert_int_equal(qps[1].sent, 7);
	assert_int_equal(qps[2].sent, 4);
	assert_int_equal(pkt_pool_pkts_used(pool), 0);
	ifc_station_close(&iface, sa);
	ifc_station_close(&iface, sb);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H34_rq_depth_is_the_ring_of_the_queue_pair),
		cmocka_unit_test(test_qpn_is_the_same_every_time_and_its_own_for_each_mac),
		cmocka_unit_test(test_reset_and_new_keys_are_for_all_queue_pairs),
		cmocka_unit_test(test_ready_queue_pairs_are_noted_and_forgotten),
		cmocka_unit_test(test_no_queue_pair_for_a_station),
		cmocka_unit_test(test_batch_goes_to_the_queue_pairs_it_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
