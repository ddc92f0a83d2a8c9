/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A host that controls its QP0 sends four thousand SMPs a second: routes that lead nowhere,
 * impossible hop pointers, writes with wrong M_Keys, answers without a request, and forged traps.
 * The SM must continue to sweep, no table may change, and there may be only few traps about wrong
 * M_Keys.
 */
#include "check.h"

#include <string.h>

#include "fabric/fabric.h"
#include "unit/all_lab_check.h"
#include "util/prng.h"
#include "wire/smp.h"

#define HOSTS 6
#define SWITCHES 3
#define MKEY 0x5ec7e7
#define PER_MS 4

struct fix {
	struct lab l;
	struct lab_count c;
	bool want[HOSTS];
	struct prng prng;
	uint64_t sent, kinds[8];
	uint8_t lft[SWITCHES][64];
};

static struct fix f;

static struct node *switch_at(unsigned int i)
{
	unsigned int n = 0;

	for (unsigned int k = 0; k < fabric_nnodes(f.l.f); k++) {
		struct node *node = fabric_node_node(fabric_node_at(f.l.f, k));

		if (node_is_switch(node) && n++ == i)
			return node;
	}
	fail();
	return NULL;
}

static void setup_lab(void)
{
	struct sm_cfg sm = sm_cfg_default();
	struct topo *topo = topo_gen_demo(HOSTS, SWITCHES);

	memset(&f, 0, sizeof(f));
	sm.mkey = MKEY;
	sm.mkey_protect = 1;
	lab_create(&f.l, &(struct lab_cfg){ .topo = topo, .seed = 1, .sm = &sm });
	topo_free(topo);
	lab_count_init(&f.c, &f.l);
	memset(f.want, true, sizeof(f.want));
	prng_seed(&f.prng, 42);
	lab_wait_up(&f.l, f.want, NS_SEC(10), 1, "at the start");
	lab_run(&f.l, NS_SEC(1));
	for (unsigned int i = 0; i < SWITCHES; i++)
		memcpy(f.lft[i], switch_at(i)->sw->lft, sizeof(f.lft[i]));
}

static int setup(void **state)
{
	(void)state;
	setup_lab();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	lab_destroy(&f.l);
	lab_count_fini(&f.c);
	return 0;
}

/* --- the hostile host, which is the last host of the lab */

static struct node_port *hostile(void)
{
	const struct lab_host *h = &f.l.host[HOSTS - 1];

	return &fabric_node_node(h->node)->port[h->port];
}

static uint32_t any(uint32_t below)
{
	return (uint32_t)prng_below(&f.prng, below);
}

static void put(const struct mad_addr *to, uint8_t *mad)
{
	struct node_port *p = hostile();

	/*
	 * Send the SMP to the port directly, because the node's own SMI would not send an invalid
	 * SMP.
	 */
	(void)p->node->ops->xmit(p->node->ctx, p->num, to, mad, f.l.now);
	f.sent++;
}

static void smp(uint8_t *mad, uint8_t mgmt_class, uint8_t method, uint16_t attr, uint32_t mod)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.method = method,
		.tid = f.sent,
		.attr_id = attr,
		.attr_mod = mod,
	};
	struct smp_dr dr = { .mkey = 0xbad, .dr_slid = 0xffff, .dr_dlid = 0xffff };
	uint8_t data[64];

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)any(256);
	smp_encode(mad, &h, &dr, data);
}

/*
 * Write a directed route with the hop count @hops into the SMP. The port numbers are random, and
 * only some of these ports exist.
 */
static void route(uint8_t *mad, unsigned int hops)
{
	mad[SMP_OFF_HOP_PTR] = 1;
	mad[SMP_OFF_HOP_CNT] = (uint8_t)hops;
	mad[SMP_OFF_INITIAL_PATH + 1] = hostile()->num;
	for (unsigned int i = 2; i <= hops && i < 64; i++)
		mad[SMP_OFF_INITIAL_PATH + i] = (uint8_t)(any(8) ? any(6) : any(256));
}

static uint16_t any_lid(void)
{
	return (uint16_t)(1 + any(HOSTS + SWITCHES + 2));
}

static void attack(void)
{
	static const uint16_t writes[] = { SMP_ATTR_PORT_INFO,	 SMP_ATTR_LFT,
					   SMP_ATTR_MFT,	 SMP_ATTR_PKEY_TABLE,
					   SMP_ATTR_SWITCH_INFO, SMP_ATTR_SLTOVL };
	struct mad_addr dr = mad_addr_smp_dr(), lid = mad_addr_smp_lid(any_lid());
	uint8_t mad[MAD_LEN];
	uint32_t kind = any(7);

	f.kinds[kind]++;
	switch (kind) {
	case 0: /* routes that lead nowhere, or in circles */
		smp(mad, MAD_CLASS_SM_DR, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0);
		route(mad, 1 + any(63));
		return put(&dr, mad);
	case 1: /* impossible hop pointers */
		smp(mad, MAD_CLASS_SM_DR, MAD_METHOD_GET, SMP_ATTR_PORT_INFO, any(10));
		route(mad, any(256));
		mad[SMP_OFF_HOP_PTR] = (uint8_t)any(256);
		return put(&dr, mad);
	case 2: /* writes by directed routes */
		smp(mad, MAD_CLASS_SM_DR, MAD_METHOD_SET, writes[any(ARRAY_SIZE(writes))], any(4));
		route(mad, 1 + any(4));
		return put(&dr, mad);
	case 3: /* writes by LID routes */
		smp(mad, MAD_CLASS_SM_LID, MAD_METHOD_SET, writes[any(ARRAY_SIZE(writes))], any(4));
		return put(&lid, mad);
	case 4: /* answers, also to the SM */
		smp(mad, MAD_CLASS_SM_LID, MAD_METHOD_GET_RESP, SMP_ATTR_PORT_INFO, any(4));
		return put(&lid, mad);
	case 5: /* traps */
		smp(mad, MAD_CLASS_SM_LID, MAD_METHOD_TRAP, MAD_ATTR_NOTICE, 0);
		lid = mad_addr_smp_lid(hostile()->pi.sm_lid);
		return put(&lid, mad);
	default: /* random octets */
		for (unsigned int i = 0; i < MAD_LEN; i++)
			mad[i] = (uint8_t)any(256);
		mad[1] = any(2) ? MAD_CLASS_SM_DR : MAD_CLASS_SM_LID;
		return put(any(2) ? &dr : &lid, mad);
	}
}

static void attack_for(ns_t d)
{
	for (ns_t end = f.l.now + d; f.l.now < end;) {
		for (unsigned int i = 0; i < PER_MS; i++)
			attack();
		lab_run(&f.l, NS_MSEC(1));
	}
}

static uint64_t mkey_violations(void)
{
	uint64_t n = 0;

	for (unsigned int k = 0; k < fabric_nnodes(f.l.f); k++) {
		struct node *node = fabric_node_node(fabric_node_at(f.l.f, k));

		for (unsigned int p = 0; p <= node->info.nports; p++)
			n += node->port[p].pi.mkey_violations;
	}
	return n;
}

/* --- */

static void test_I6_nothing_is_written_without_the_key(void **state)
{
	(void)state;
	attack_for(NS_SEC(2));
	assert_true(mkey_violations() > 500);
	for (unsigned int i = 0; i < SWITCHES; i++) {
		assert_memory_equal(switch_at(i)->sw->lft, f.lft[i], sizeof(f.lft[i]));
		assert_true(switch_at(i)->port[0].pi.mkey == MKEY);
	}
	assert_true(lab_all_up(&f.l, f.want));
	lab_check_pairs(&f.l, &f.c, f.want, 1);
}

/*
 * Clause I15: an end port sends trap 256 (bad M_Key) at most once in each interval of the trap
 * timer (13.4.9), however many wrong M_Keys arrive.
 */
static void test_I15_traps_about_wrong_keys_stay_few(void **state)
{
	uint64_t tids = 0, before, interval_ms;

	(void)state;
	for (unsigned int k = 0; k < fabric_nnodes(f.l.f); k++)
		tids += fabric_node_node(fabric_node_at(f.l.f, k))->trap_tid;
	before = tids;
	interval_ms = (4096ull << switch_at(0)->port[0].pi.subnet_timeout) / 1000000;
	attack_for(NS_SEC(4));
	tids = 0;
	for (unsigned int k = 0; k < fabric_nnodes(f.l.f); k++)
		tids += fabric_node_node(fabric_node_at(f.l.f, k))->trap_tid;
	/*
	 * Each end port sends at most one new trap in an interval. The measured time can also
	 * contain a part of an interval at its beginning and another part at its end, so two more
	 * traps are allowed.
	 */
	assert_true(tids > before);
	assert_true(tids - before <= (HOSTS + SWITCHES) * (4000 / interval_ms + 2));
}

/*
 * While the hostile host sends, a cable is pulled and plugged. The SM must notice both changes, and
 * afterwards all hosts must reach each other.
 */
static void test_I14_the_sm_goes_on_sweeping(void **state)
{
	struct sm_status st;
	struct fabric_port *cable;
	uint64_t sweeps;

	(void)state;
	assert_int_equal(fabric_port_find(f.l.f, "Switch1/4", &cable), 0);
	sm_status(f.l.sm, &st);
	sweeps = st.heavy_sweeps + st.partial_sweeps;
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(fabric_link_set(cable, i & 1, f.l.now), 0);
		attack_for(NS_MSEC(1500));
		assert_int_equal(node_port_active(&switch_at(0)->port[4]), i & 1);
		lab_warm_up(&f.l, &f.c, f.want);
		lab_check_pairs(&f.l, &f.c, f.want, 1);
	}
	sm_status(f.l.sm, &st);
	assert_true(st.heavy_sweeps + st.partial_sweeps >= sweeps + 4);
}

/* --- forged traps */

static void forged_trap(uint16_t trap)
{
	struct mad_addr to = mad_addr_smp_lid(hostile()->pi.sm_lid);
	struct mad_notice n = { .generic = true, .type = MAD_NOTICE_TYPE_URGENT, .trap = trap };
	uint8_t mad[MAD_LEN];

	/*
	 * This notice claims that its issuer is a switch, but the packet has the SLID of the
	 * hostile host.
	 */
	n.producer = IB_NODE_SWITCH;
	n.issuer_lid = switch_at(0)->port[0].pi.lid;
	mad_notice_lid(&n, n.issuer_lid);
	smp(mad, MAD_CLASS_SM_LID, MAD_METHOD_TRAP, MAD_ATTR_NOTICE, 0);
	mad_notice_encode(mad + SMP_DATA_OFF, &n);
	put(&to, mad);
}

static void trap_flood(ns_t d)
{
	static const uint16_t traps[] = { MAD_TRAP_LINK_STATE, MAD_TRAP_CAP_CHANGE,
					  MAD_TRAP_BAD_MKEY,   MAD_TRAP_BAD_PKEY,
					  MAD_TRAP_BAD_QKEY,   MAD_TRAP_SWITCH_BAD_PKEY };

	for (ns_t end = f.l.now + d; f.l.now < end;) {
		for (unsigned int i = 0; i < PER_MS; i++)
			forged_trap(traps[any(ARRAY_SIZE(traps))]);
		lab_run(&f.l, NS_MSEC(1));
	}
}

static struct sm_status status(void)
{
	struct sm_status st;

	sm_status(f.l.sm, &st);
	return st;
}

static void test_I15_forged_traps_cause_a_sweep_a_second_at_most(void **state)
{
	uint64_t sweeps = status().heavy_sweeps, traps = status().traps;
	uint64_t many = status().traps_many;

	(void)state;
	trap_flood(NS_SEC(10));
	assert_in_range(status().heavy_sweeps - sweeps, 1, 4 + 10 + 1);
	/*
	 * The SM receives all forged traps, but its limit on traps lets only some of them start a
	 * sweep: 32 at once, then 8 in each 1.07 s.
	 */
	traps = status().traps - traps;
	many = status().traps_many - many;
	assert_true(traps >= 10 * 1000 * PER_MS - 10);
	assert_in_range(traps - many, 32, 32 + 80 + 8);
	assert_true(lab_all_up(&f.l, f.want));
}

/*
 * While a host floods the SM with forged traps, a cable is pulled. The switch sends a true trap
 * about this cable, and the SM must handle this trap at once.
 */
static void test_I14_forged_traps_do_not_hide_true_ones(void **state)
{
	struct fabric_port *cable;

	(void)state;
	assert_int_equal(fabric_port_find(f.l.f, "Switch1/4", &cable), 0);
	trap_flood(NS_SEC(3));
	for (unsigned int i = 0; i < 6; i++) {
		uint32_t links = status().last.links;
		ns_t cut;

		assert_int_equal(fabric_link_set(cable, i & 1, f.l.now), 0);
		cut = f.l.now;
		while (status().last.links == links && f.l.now < cut + NS_SEC(1))
			trap_flood(NS_MSEC(1));
		assert_in_range(f.l.now - cut, 1, NS_MSEC(50));
		assert_int_equal(status().last.links, links + (i & 1 ? 1u : -1u));
		trap_flood(NS_MSEC(2500));
	}
}

/*
 * A true trap comes from the same host that floods the SM. The limit on the traps of this host
 * delays the sweep, but the sweep must take place.
 */
static void test_I14_a_sweep_that_is_put_off_takes_place(void **state)
{
	uint64_t sweeps;
	ns_t asked;

	(void)state;
	trap_flood(NS_SEC(8));
	lab_run(&f.l, NS_MSEC(1));
	sweeps = status().heavy_sweeps;
	forged_trap(MAD_TRAP_CAP_CHANGE);
	asked = f.l.now;
	while (status().heavy_sweeps == sweeps && f.l.now < asked + NS_SEC(5))
		lab_run(&f.l, NS_MSEC(10));
	assert_in_range(f.l.now - asked, NS_MSEC(20), NS_MSEC(1200));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
		CASE(test_I6_nothing_is_written_without_the_key),
		CASE(test_I15_traps_about_wrong_keys_stay_few),
		CASE(test_I14_the_sm_goes_on_sweeping),
		CASE(test_I15_forged_traps_cause_a_sweep_a_second_at_most),
		CASE(test_I14_forged_traps_do_not_hide_true_ones),
		CASE(test_I14_a_sweep_that_is_put_off_takes_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
