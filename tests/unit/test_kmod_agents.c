/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_rig.h"
#include "unit/kmod_rig.h"

/*
 * The project has two implementations of the SMA and the PMA: src/node and kmod. Both get the same
 * requests here, and their answers must have the same octets. Two things are not compared, because
 * they differ on purpose:
 *
 * 	SMInfo			src/node passes a request to the SM that runs on the port, and
 * 				refuses it if there is none. kmod leaves requests to ib_core,
 * 				which passes them to SMs that use umad
 * 	writing a counter	kmod has no storage for counters that it never counts. Such
 * 				counters stay 0, whatever is written
 */

#define PORT 1
#define ASKER_LID 1
#define SEEDS 20
#define REQUESTS 4000

struct request {
	uint8_t class, method;
	uint16_t attr;
	uint32_t mod;
	uint64_t mkey;
	uint8_t data[192]; /* an SMP has 64 octets of data */
};

static struct node_rig node;
static struct uib_dev *kmod;

static int setup(void **state)
{
	static const uint64_t guid = KMOD_RIG_GUID;
	const struct node_cfg cfg = {
		.type = IB_NODE_CA,
		.nports = 1,
		.sys_guid = guid,
		.node_guid = guid,
		.port_guids = &guid,
		.desc = "rig",
		.revision = 1,
	};

	node_rig_init_cfg(&node, &cfg);
	kmod = kmod_rig_new();
	return 0;
}

static int teardown(void **state)
{
	node_rig_fini(&node);
	kmod_rig_free(kmod);
	return 0;
}

/* --- steps for both implementations */

static void both_pass(unsigned int ms)
{
	kmod_rig_advance(kmod, ms);
	node_rig_run(&node, NS_MSEC(ms));
}

/*
 * Bring both links up. The link of kmod needs a time of silence and then a datagram of its peer.
 * For src/node, the test reports that the link is up.
 */
static void both_up(void)
{
	both_pass(4100);
	kmod_rig_hears(kmod);
	assert_string_equal(kmod_rig_link(kmod), "up");
	node_link(&node.n, PORT, true, node.now);
}

static void both_count(enum kmod_rig_counter c, uint64_t n)
{
	struct node_counters *cnt = &node.n.port[PORT].cnt;
	uint64_t *const map[KMOD_RIG_COUNTERS] = {
		[KMOD_RIG_XMIT_DATA] = &cnt->xmit_data,
		[KMOD_RIG_RCV_DATA] = &cnt->rcv_data,
		[KMOD_RIG_XMIT_PKTS] = &cnt->xmit_pkts,
		[KMOD_RIG_RCV_PKTS] = &cnt->rcv_pkts,
		[KMOD_RIG_MCAST_RCV] = &cnt->mcast_rcv,
		[KMOD_RIG_RCV_ERRORS] = &cnt->rcv_errors,
		[KMOD_RIG_RCV_MALFORMED] = &cnt->rcv_by_reason[NODE_RCV_MALFORMED],
		[KMOD_RIG_XMIT_MTU] = &cnt->xmit_by_reason[NODE_XMIT_MTU],
		[KMOD_RIG_LINK_DOWNED] = &cnt->link_downed,
		[KMOD_RIG_RCV_SL3] = &cnt->rcv_sl[3],
	};

	kmod_rig_count(kmod, c, n);
	*map[c] += n;
}

static void encode(uint8_t mad[MAD_LEN], const struct request *q)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = q->class,
		.class_version = 1,
		.method = q->method,
		.tid = RIG_TID,
		.attr_id = q->attr,
		.attr_mod = q->mod,
	};

	memset(mad, 0, MAD_LEN);
	mad_hdr_encode(mad, &h);
	be64_put(mad + SMP_OFF_MKEY, q->class == MAD_CLASS_PERF ? 0 : q->mkey);
	memcpy(mad + SMP_DATA_OFF, q->data,
	       q->class == MAD_CLASS_PERF ? sizeof(q->data) : SMP_DATA_LEN);
}

/* Send the request @in to src/node. Returns the answer, or NULL if there is none */
static const uint8_t *ask_node(const uint8_t in[MAD_LEN])
{
	bool smp = mad_class(in) == MAD_CLASS_SM_LID;
	struct mad_addr from = {
		.qp = smp ? 0 : 1,
		.qpn = smp ? 0 : 1,
		.lid = ASKER_LID,
		.port = PORT,
		.pkey = IB_PKEY_DEFAULT,
		.qkey = smp ? 0 : IB_QP1_QKEY,
	};
	uint8_t mad[MAD_LEN];

	node.nsent = node.nevents = 0;
	memcpy(mad, in, sizeof(mad));
	node_mad_rx(&node.n, PORT, &from, mad, node.now);
	for (unsigned int i = 0; i < node.nsent; i++)
		if (mad_method(node.sent[i].mad) == MAD_METHOD_GET_RESP)
			return node.sent[i].mad;
	return NULL;
}

static void show(const char *who, const uint8_t *mad)
{
	print_message("%s", who);
	for (unsigned int i = 0; i < MAD_LEN; i++)
		print_message("%s%02x", i % 32 ? "" : "\n  ", mad[i]);
	print_message("\n");
}

/*
 * Asynchronous events that both implementations raise. .node: the event of src/node; .kmod: the
 * number that the event of kmod has in the kernel's enum ib_event_type
 */
static const struct {
	enum node_event node;
	unsigned int kmod;
} events[] = {
	{ NODE_EV_PORT_ACTIVE, 9 },  { NODE_EV_PORT_ERR, 10 },	{ NODE_EV_LID_CHANGE, 11 },
	{ NODE_EV_PKEY_CHANGE, 12 }, { NODE_EV_SM_CHANGE, 13 }, { NODE_EV_CLIENT_REREGISTER, 17 },
	{ NODE_EV_GID_CHANGE, 18 },
};

/*
 * Return the events that src/node raised for the last request, as a mask of rows of the table
 * events[]
 */
static unsigned int events_of_node(void)
{
	unsigned int mask = 0;

	for (unsigned int n = 0; n < node.nevents; n++)
		for (unsigned int i = 0; i < ARRAY_SIZE(events); i++)
			if (node.event[n].ev == events[i].node)
				mask |= 1u << i;
	return mask;
}

static unsigned int events_of_kmod(unsigned int before[ARRAY_SIZE(events)])
{
	unsigned int mask = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(events); i++) {
		unsigned int now = kmod_rig_event(events[i].kmod);

		mask |= (now != before[i]) << i;
		before[i] = now;
	}
	return mask;
}

/*
 * Send the request to both implementations, and check that they raise the same events and give the
 * same answer. Returns the answer, or NULL if neither answers.
 */
static const uint8_t *both(const struct request *q)
{
	static uint8_t in[MAD_LEN], out[MAD_LEN];
	unsigned int before[ARRAY_SIZE(events)];
	const uint8_t *answer;
	bool answered;

	encode(in, q);
	memset(out, 0, sizeof(out));
	events_of_kmod(before);
	answered = kmod_rig_mad(kmod, in, out);
	answer = ask_node(in);
	if (answered == (answer != NULL) && (!answered || !memcmp(answer, out, MAD_LEN))) {
		assert_int_equal(events_of_kmod(before), events_of_node());
		return answer;
	}
	show("request", in);
	if (answer)
		show("src/node", answer);
	if (answered)
		show("kmod", out);
	fail_msg("class 0x%02x method 0x%02x attribute 0x%04x modifier 0x%08x differ", q->class,
		 q->method, q->attr, q->mod);
	return NULL;
}

static uint16_t status_of(const struct request *q)
{
	const uint8_t *answer = both(q);

	assert_non_null(answer);
	return mad_status(answer);
}

static struct request smp(uint8_t method, uint16_t attr, uint32_t mod)
{
	return (struct request){ MAD_CLASS_SM_LID, method, attr, mod, 0, { 0 } };
}

static struct request pma(uint8_t method, uint16_t attr)
{
	return (struct request){ MAD_CLASS_PERF, method, attr, 0, 0, { 0, PORT } };
}

static uint16_t get(uint16_t attr, uint32_t mod)
{
	struct request q = smp(MAD_METHOD_GET, attr, mod);

	return status_of(&q);
}

static struct smp_port_info port_info(void)
{
	struct request q = smp(MAD_METHOD_GET, SMP_ATTR_PORT_INFO, PORT);
	struct smp_port_info pi;

	smp_port_info_decode(&pi, both(&q) + SMP_DATA_OFF, SMP_DATA_LEN);
	return pi;
}

/* Return the present PortInfo in the form in which an SM writes it to change nothing */
static struct smp_port_info nop(void)
{
	struct smp_port_info pi = port_info();

	pi.port_state = pi.phys_state = pi.down_default = 0;
	pi.width_enabled = pi.speed_enabled = pi.speed_ext_enabled = pi.oper_vls = 0;
	return pi;
}

static uint16_t set_port_info(const struct smp_port_info *pi)
{
	struct request q = smp(MAD_METHOD_SET, SMP_ATTR_PORT_INFO, PORT);

	smp_port_info_encode(q.data, pi);
	return status_of(&q);
}

static void both_active(void)
{
	struct smp_port_info pi;

	both_up();
	pi = nop();
	pi.lid = 5;
	pi.sm_lid = ASKER_LID;
	pi.port_state = IB_PORT_ARMED;
	assert_int_equal(set_port_info(&pi), 0);
	pi.port_state = IB_PORT_ACTIVE;
	assert_int_equal(set_port_info(&pi), 0);
}

/* --- cases */

static void test_every_attribute_at_power_up(void **state)
{
	static const uint16_t attrs[] = {
		SMP_ATTR_NODE_DESC, SMP_ATTR_NODE_INFO,	 SMP_ATTR_SWITCH_INFO, SMP_ATTR_GUID_INFO,
		SMP_ATTR_PORT_INFO, SMP_ATTR_PKEY_TABLE, SMP_ATTR_SLTOVL,      SMP_ATTR_VLARB,
		SMP_ATTR_LFT,	    SMP_ATTR_MFT,	 SMP_ATTR_VENDOR_DIAG, SMP_ATTR_LED_INFO,
		SMP_ATTR_NOTICE,
	};
	static const uint32_t mods[] = { 0,	     1,		 2,	    3,	     0x10000,
					 0x10001,    0x20000,	 0x30000,   0x30001, 0x100,
					 0x80000001, 0x20000000, 0xffffffff };

	for (unsigned int i = 0; i < ARRAY_SIZE(attrs); i++)
		for (unsigned int j = 0; j < ARRAY_SIZE(mods); j++)
			get(attrs[i], mods[j]);
}

static void test_pma_every_attribute_at_power_up(void **state)
{
	for (uint16_t attr = 0; attr < 0x40; attr++)
		for (unsigned int port = 0; port < 3; port++) {
			struct request q = pma(MAD_METHOD_GET, attr);

			q.data[1] = (uint8_t)port;
			status_of(&q);
		}
}

static void test_port_goes_init_armed_active(void **state)
{
	both_active();
	assert_int_equal(port_info().port_state, IB_PORT_ACTIVE);
}

static void test_fields_that_an_sm_may_write_are_kept(void **state)
{
	struct smp_port_info pi;

	both_up();
	pi = nop();
	pi.max_credit_hint = 0x1234;
	pi.link_latency = 0xabcdef;
	pi.mcast_pkey_trap_suppress = 3;
	pi.vl_high_limit = 9;
	pi.local_phys_errors = 8;
	pi.overrun_errors = 8;
	assert_int_equal(set_port_info(&pi), 0);
	pi = port_info();
	assert_int_equal(pi.max_credit_hint, 0x1234);
	assert_int_equal(pi.link_latency, 0xabcdef);
	assert_int_equal(pi.mcast_pkey_trap_suppress, 3);
}

static void test_notice_can_be_read_and_acknowledged(void **state)
{
	struct request q = smp(MAD_METHOD_GET, SMP_ATTR_NOTICE, 0);

	both_active();
	assert_int_equal(status_of(&q), 0);
	q.method = MAD_METHOD_SET;
	assert_int_equal(status_of(&q), 0);
}

static void test_mkey_protects_and_its_lease_ends(void **state)
{
	struct request q = smp(MAD_METHOD_GET, SMP_ATTR_PORT_INFO, PORT);
	struct smp_port_info pi;

	both_active();
	for (uint8_t protect = 0; protect < 4; protect++) {
		pi = nop();
		pi.mkey = 7;
		pi.mkey_protect = protect;
		pi.mkey_lease = 2;
		assert_int_equal(set_port_info(&pi), 0);
		assert_true((both(&q) != NULL) == (protect < 2));
		q.method = MAD_METHOD_SET;
		assert_null(both(&q));
		/* the link of kmod goes down if no datagram of its peer arrives for 3 s */
		both_pass(2100);
		kmod_rig_hears(kmod);
		q.method = MAD_METHOD_GET;
		assert_non_null(both(&q));
		pi.mkey_protect = 0;
		q = smp(MAD_METHOD_SET, SMP_ATTR_PORT_INFO, PORT);
		q.mkey = 7;
		pi.mkey = 0;
		smp_port_info_encode(q.data, &pi);
		assert_int_equal(status_of(&q), 0);
		q = smp(MAD_METHOD_GET, SMP_ATTR_PORT_INFO, PORT);
	}
}

static void test_pma_a_measurement(void **state)
{
	struct pma_samples_control c = { .port_select = PORT, .tag = 0xbeef };
	struct request control = pma(MAD_METHOD_SET, PMA_ATTR_PORT_SAMPLES_CONTROL);
	struct request result = pma(MAD_METHOD_GET, PMA_ATTR_PORT_SAMPLES_RESULT);
	struct pma_samples_result r;

	/* the sampling begins after one second and lasts one second; both are in ticks of 4 ns */
	c.start = c.interval = 250000000;
	c.select[0] = PMA_SAMPLE_RCV_PKTS;
	c.select[1] = PMA_SAMPLE_XMIT_DATA;
	c.select[2] = PMA_SAMPLE_XMIT_WAIT;
	pma_samples_control_encode(control.data, &c);
	assert_int_equal(status_of(&control), 0);
	for (unsigned int i = 0; i < 5; i++) {
		both_count(KMOD_RIG_RCV_PKTS, 1);
		both_count(KMOD_RIG_XMIT_DATA, 1ull << 31);
		both_pass(600);
		assert_int_equal(status_of(&result), 0);
		/* a further request must have no effect until the sampling has finished */
		status_of(&control);
	}
	pma_samples_result_decode(&r, both(&result) + PMA_DATA_OFF, PMA_SAMPLES_RESULT_LEN);
	assert_int_equal(r.tag, 0xbeef);
}

/* --- random requests */

static uint64_t rnd_state;

static uint32_t rnd(uint32_t n)
{
	rnd_state = rnd_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rnd_state >> 33) % n;
}

static void random_port_info(struct request *q)
{
	struct smp_port_info pi;
	uint8_t raw[SMP_DATA_LEN];

	smp_port_info_decode(&pi, q->data, SMP_DATA_LEN);
	pi.mkey = rnd(8) ? 0 : 7;
	if (rnd(4))
		pi.lid = (uint16_t)(1 + rnd(40)), pi.lmc = (uint8_t)rnd(3);
	if (rnd(4))
		pi.sm_lid = (uint16_t)(1 + rnd(4));
	pi.mkey_lease = (uint16_t)rnd(3);
	pi.port_state = (uint8_t)rnd(6);
	pi.phys_state = (uint8_t)(rnd(3) ? 0 : rnd(7));
	if (rnd(2))
		pi.width_enabled = pi.speed_enabled = pi.speed_ext_enabled = 0;
	if (rnd(3))
		pi.neighbor_mtu = (uint8_t)rnd(6), pi.oper_vls = (uint8_t)rnd(5);
	smp_port_info_encode(raw, &pi);
	memcpy(q->data, raw, sizeof(raw));
}

static struct request random_request(void)
{
	static const uint16_t smps[] = {
		SMP_ATTR_PORT_INFO, SMP_ATTR_PORT_INFO,	  SMP_ATTR_PORT_INFO, SMP_ATTR_NODE_DESC,
		SMP_ATTR_NODE_INFO, SMP_ATTR_SWITCH_INFO, SMP_ATTR_GUID_INFO, SMP_ATTR_PKEY_TABLE,
		SMP_ATTR_SLTOVL,    SMP_ATTR_VLARB,	  SMP_ATTR_LFT,	      SMP_ATTR_LED_INFO,
	};
	static const uint16_t pmas[] = { 1, 0x10, 0x11, 0x12, 0x15, 0x16, 0x1d, 0x36, 0x37, 0x13 };
	static const uint8_t methods[] = { 1, 1, 1, 2, 2, 2, 2, 3, 0x12 };
	static const uint32_t mods[] = { 0,	  1,	   1,	    1,		2,
					 3,	  4,	   7,	    0x10000,	0x10001,
					 0x20001, 0x30001, 0x40001, 0x80000001, 0x20000000 };
	bool is_pma = !rnd(4);
	struct request q = {
		.class = is_pma ? MAD_CLASS_PERF : MAD_CLASS_SM_LID,
		.method = methods[rnd(ARRAY_SIZE(methods))],
		.attr = is_pma ? pmas[rnd(ARRAY_SIZE(pmas))] : smps[rnd(ARRAY_SIZE(smps))],
		.mod = rnd(8) ? mods[rnd(ARRAY_SIZE(mods))] : rnd(UINT32_MAX),
		.mkey = rnd(3) ? 7 : 0,
	};

	for (unsigned int i = 0; i < sizeof(q.data); i++)
		q.data[i] = (uint8_t)(rnd(3) ? rnd(256) : 0);
	if (is_pma && rnd(8))
		q.data[1] = PORT;
	if (is_pma && q.attr >= PMA_ATTR_PORT_COUNTERS)
		memset(q.data + 4, 0,
		       /*
		        * zeros, because kmod does not store a value that is written to a counter
		        * which it never counts
		        */
		       sizeof(q.data) - 4);
	if (!is_pma && q.attr == SMP_ATTR_PORT_INFO)
		random_port_info(&q);
	return q;
}

/*
 * The link of kmod goes down 100 ms after a Set(PortInfo) that demands it. Bring the link of
 * src/node into the same state. If both links are down, sometimes bring both up again.
 */
static void follow(void)
{
	bool up;

	both_pass(120);
	up = !strcmp(kmod_rig_link(kmod), "up");
	if (node.n.port[PORT].link_up != up)
		node_link(&node.n, PORT, up, node.now);
	if (!up && !rnd(8)) {
		both_pass(4100);
		kmod_rig_hears(kmod);
		up = !strcmp(kmod_rig_link(kmod), "up");
		node_link(&node.n, PORT, up, node.now);
	}
	kmod_rig_hears(kmod);
}

static void test_random_requests(void **state)
{
	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		rnd_state = seed;
		for (unsigned int i = 0; i < REQUESTS; i++) {
			struct request q = random_request();

			both_count((enum kmod_rig_counter)rnd(KMOD_RIG_COUNTERS),
				   rnd(4) ? rnd(100) : rnd(UINT32_MAX));
			both(&q);
			follow();
		}
		teardown(NULL);
		setup(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		CASE(test_every_attribute_at_power_up),
		CASE(test_pma_every_attribute_at_power_up),
		CASE(test_port_goes_init_armed_active),
		CASE(test_fields_that_an_sm_may_write_are_kept),
		CASE(test_notice_can_be_read_and_acknowledged),
		CASE(test_mkey_protects_and_its_lease_ends),
		CASE(test_pma_a_measurement),
		CASE(test_random_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
