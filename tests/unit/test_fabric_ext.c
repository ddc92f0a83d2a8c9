/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests external ends of a fabric: how the fabric tells an end whether it should have carrier, and
 * that packets that share a buffer pass without being copied.
 */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "fabric/capture.h"
#include "fabric_rig.h"
#include "crc/crc.h"
#include "udp_train.h"

static struct rig r;

/*
 * An external end that acts as a link over UDP: it loses carrier as soon as the fabric tells it to
 * have none, and gets carrier some time after the fabric has told it to have carrier.
 */
struct outside {
	struct fabric_port *end;
	/*
	 * one character for each call of on_want(): "+" if the end should have carrier, "-" if not
	 */
	char said[32];
	ns_t at;
	bool drops;
};

static void on_tx(void *ctx, struct pkt **v, unsigned int n, ns_t now)
{
	pkt_free_batch(v, n);
}

static void on_want(void *ctx, bool on, ns_t now)
{
	struct outside *o = ctx;

	assert_true(strlen(o->said) < sizeof(o->said) - 1);
	strcat(o->said, on ? "+" : "-");
	o->at = now;
	if (!on && o->drops)
		fabric_ext_carrier(o->end, false, now);
}

static const struct fabric_ext_ops ops = { .tx = on_tx, .want = on_want };

static void attach(struct outside *o, const char *port)
{
	memset(o, 0, sizeof(*o));
	o->drops = true;
	assert_int_equal(fabric_ext_attach(rig_port(&r, port), "out", &ops, o, &o->end), 0);
	fabric_ext_carrier(o->end, true, r.now);
}

static int setup(void **state)
{
	memset(&r, 0, sizeof(r));
	rig_init(&r, "Switch 8 \"s1\"\n[1] \"h1\"[1]\n\nHca 1 \"h1\"\n\nHca 1 \"h2\"\n");
	return 0;
}

static int teardown(void **state)
{
	rig_fini(&r);
	return 0;
}

/* Set the PortInfo of port s1/5 by an SMP that enters at @from, the external end at another port */
static void set_port_info(struct rig_end *from, uint8_t state, uint8_t phys)
{
	uint8_t data[64];
	struct smp_port_info pi = rig_np(&r, "s1/5")->pi;

	pi.port_state = state;
	pi.phys_state = phys;
	smp_port_info_encode(data, &pi);
	rig_send_smp(from, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, 5, data);
	rig_pass(&r, NS_MSEC(2));
}

static void test_a_link_that_is_set_down_is_not_wanted(void **state)
{
	struct outside o;

	attach(&o, "s1/5");
	assert_string_equal(o.said, "");
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_UP);
	assert_int_equal(fabric_link_set(rig_port(&r, "s1/5"), false, r.now), 0);
	assert_string_equal(o.said, "-");
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_DISABLED);
	assert_int_equal(fabric_link_set(rig_port(&r, "s1/5"), false, r.now), 0);
	assert_string_equal(o.said, "-");
	assert_int_equal(fabric_link_set(rig_port(&r, "s1/5"), true, r.now), 0);
	assert_string_equal(o.said, "-+");
	/*
	 * fabric_link_set() only enables the link. The link must come up when the end gets carrier.
	 */
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_DOWN);
	fabric_ext_carrier(o.end, true, r.now);
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_UP);
	assert_string_equal(o.said, "-+");
}

static void test_I5_a_port_told_down_retrains_what_is_outside(void **state)
{
	struct rig_end *other = rig_attach(&r, "s1/6");
	struct outside o;
	ns_t before;

	attach(&o, "s1/5");
	before = r.now;
	set_port_info(other, IB_PORT_DOWN, IB_PHYS_NOP);
	assert_string_equal(o.said, "-+");
	assert_true(o.at > before); /* the answer to the SMP was sent before the link went down */
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_DOWN);
	rig_pass(&r, FABRIC_RETRAIN * 2);
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_DOWN);
	fabric_ext_carrier(o.end, true, r.now);
	assert_int_equal(rig_np(&r, "s1/5")->pi.port_state, IB_PORT_INIT);
	set_port_info(other, IB_PORT_DOWN, IB_PHYS_POLLING);
	assert_string_equal(o.said, "-+-+");
}

static void test_I5_a_port_told_disabled_is_not_wanted_until_polling(void **state)
{
	struct rig_end *other = rig_attach(&r, "s1/6");
	struct outside o;

	attach(&o, "s1/5");
	set_port_info(other, IB_PORT_DOWN, IB_PHYS_DISABLED);
	assert_string_equal(o.said, "-");
	rig_pass(&r, NS_SEC(60));
	assert_string_equal(o.said, "-");
	set_port_info(other, IB_PORT_NOP, IB_PHYS_POLLING);
	assert_string_equal(o.said, "-+");
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_DOWN);
	fabric_ext_carrier(o.end, true, r.now);
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_UP);
}

static void test_disabled_twice_it_is_wanted_when_both_have_ended(void **state)
{
	struct rig_end *other = rig_attach(&r, "s1/6");
	struct outside o;

	attach(&o, "s1/5");
	set_port_info(other, IB_PORT_DOWN, IB_PHYS_DISABLED);
	fabric_link_set(o.end, false, r.now);
	fabric_link_set(o.end, true, r.now);
	assert_string_equal(o.said, "-");
	fabric_link_set(o.end, false, r.now);
	set_port_info(other, IB_PORT_NOP, IB_PHYS_POLLING);
	assert_string_equal(o.said, "-");
	fabric_link_set(o.end, true, r.now);
	assert_string_equal(o.said, "-+");
}

static void test_an_end_that_keeps_its_carrier_is_down_while_not_wanted(void **state)
{
	struct outside o;

	attach(&o, "s1/5");
	o.drops = false;
	fabric_link_set(o.end, false, r.now);
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_DISABLED);
	fabric_link_set(o.end, true, r.now);
	assert_int_equal(fabric_link_state(o.end), FABRIC_LINK_UP);
	assert_string_equal(o.said, "-+");
}

static void test_detached_it_hears_nothing(void **state)
{
	struct outside o;

	attach(&o, "h2/1");
	fabric_ext_detach(o.end, r.now);
	assert_string_equal(o.said, "");
	assert_int_equal(fabric_link_state(rig_port(&r, "h2/1")), FABRIC_LINK_NONE);
	assert_int_equal(fabric_link_set(rig_port(&r, "h2/1"), false, r.now), -ENOTCONN);
}

static const struct rig_pkt shape = {
	.slid = 1, .dlid = 2, .dest_qp = 5, .src_qp = 6, .len = 2044
};

/*
 * Many packets are in one buffer, one after the other. The packets must stay in this buffer, so
 * that nothing is copied.
 */
static void test_packets_stay_in_the_buffer_they_came_in(void **state)
{
	struct pkt *p = rig_make(&r, &shape), *q[8];
	struct pkt_buf *b = pkt_buf_alloc(r.pool);
	uint8_t out[IB_PKT_MAX];
	unsigned int bufs;
	size_t len;

	len = fabric_pkt_to_wire(p, b->data, PKT_BUF_SIZE);
	assert_int_not_equal(len, 0);
	for (unsigned int i = 1; i < 8; i++)
		memcpy(b->data + i * len, b->data, len);
	bufs = pkt_pool_bufs_used(r.pool);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(fabric_pkt_from_buf(&q[i], r.pool, b, b->data + i * len, len), 0);
	assert_int_equal(pkt_pool_bufs_used(r.pool), bufs);
	assert_int_equal(b->refs, 9);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(q[i]->nslices, 1);
		assert_ptr_equal(q[i]->slice[0].buf, b);
		assert_int_equal(q[i]->flags, PKT_CRC);
		assert_int_equal(crc_pkt_check(q[i]), CRC_OK);
		assert_int_equal(fabric_pkt_to_wire(q[i], out, sizeof(out)), len);
		assert_memory_equal(out, b->data, len);
	}
	pkt_free_batch(q, 8);
	assert_int_equal(b->refs, 1);
	/* A malformed packet must be refused, and no reference to the buffer may be taken. */
	assert_int_equal(fabric_pkt_from_buf(&q[0], r.pool, b, b->data, len - 1), -EBADMSG);
	assert_int_equal(fabric_pkt_from_buf(&q[0], r.pool, b, b->data, 13), -EBADMSG);
	assert_int_equal(b->refs, 1);
	pkt_buf_put(b);
	pkt_free(p);
}

static void test_small_packets_hold_no_buffer(void **state)
{
	struct rig_pkt s = shape;
	struct pkt_buf *b = pkt_buf_alloc(r.pool);
	struct pkt *p, *q;
	size_t len;

	s.len = 8;
	p = rig_make(&r, &s);
	len = fabric_pkt_to_wire(p, b->data, PKT_BUF_SIZE);
	assert_int_equal(fabric_pkt_from_buf(&q, r.pool, b, b->data, len), 0);
	assert_int_equal(b->refs, 1);
	assert_int_equal(crc_pkt_check(q), CRC_OK);
	pkt_free(q);
	pkt_free(p);
	pkt_buf_put(b);
}

static void test_a_seal_is_made_once(void **state)
{
	struct pkt *p = rig_make(&r, &shape);
	uint8_t tail;

	p->flags = 0;
	memset(p->tail, 0, p->tail_len);
	fabric_pkt_seal(p);
	assert_int_equal(crc_pkt_check(p), CRC_OK);
	assert_true(p->flags & PKT_CRC);
	/* The CRC of the packet is damaged on purpose, and fabric_pkt_seal() must not repair it. */
	tail = p->tail[0] ^= 1;
	fabric_pkt_seal(p);
	assert_int_equal(p->tail[0], tail);
	pkt_free(p);
}

static int count(void *ctx, const void *data, size_t len)
{
	*(unsigned int *)ctx += 1;
	return 0;
}

static void test_a_capture_of_end_ports_sees_what_enters(void **state)
{
	struct rig_end *in, *late;
	struct capture *c;
	unsigned int n = 0;
	const struct capture_cfg cfg = { .format = CAPTURE_PCAP, .write = count, .ctx = &n };

	in = rig_attach(&r, "s1/5");
	rig_configure(&r);
	assert_int_equal(capture_create(&c, r.f, &cfg), 0);
	assert_int_equal(capture_add_end_ports(c), 0);
	assert_int_equal(capture_stats(c)->packets, 0);
	rig_send(in, &shape);
	assert_int_equal(capture_stats(c)->packets, 1);

	/*
	 * An end that is attached later is captured only after another call of
	 * capture_add_end_ports(). After this call, packets of the first end must still be recorded
	 * only once.
	 */
	late = rig_attach(&r, "s1/6");
	rig_configure(&r);
	rig_send(late, &shape);
	assert_int_equal(capture_stats(c)->packets, 1);
	assert_int_equal(capture_add_end_ports(c), 0);
	rig_send(late, &shape);
	rig_send(in, &shape);
	assert_int_equal(capture_stats(c)->packets, 3);
	capture_destroy(c);
}

/* --- trains */

static struct {
	struct pkt *v[8];
	unsigned int n;
} taken;

static void take(void *ctx, struct pkt **v, unsigned int n, ns_t now)
{
	for (unsigned int i = 0; i < n; i++) {
		assert_true(taken.n < 8);
		taken.v[taken.n++] = v[i];
	}
}

static void send_train(struct rig_end *from, unsigned int to)
{
	const struct ib_ud_hdr h = {
		.lrh = { .lnh = IB_LNH_LOCAL, .dlid = 2, .slid = 1 },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = IB_PKEY_DEFAULT, .dest_qp = 0x48 },
		.deth = { .qkey = 0x0b1b, .src_qp = 0x49 },
	};
	struct pkt *t = udp_train(r.pool, 5, 1000, 100);

	ib_ud_hdr_encode(pkt_push(t, ib_ud_hdr_len(false)), &h, train_first_len(t));
	crc_pkt_pad(t);
	rig_sw(&r, "s1")->sw->lft[2] = (uint8_t)to;
	rig_settle(&r);
	rig_send_pkt(from, t);
}

static void expect_taken(unsigned int n, unsigned int packets)
{
	assert_int_equal(taken.n, n);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(pkt_count(taken.v[i]), packets);
	pkt_free_batch(taken.v, n);
	taken.n = 0;
}

/*
 * An end whose ops declare that it accepts trains must get trains. While a capture records the link
 * of this end, the end must get single packets.
 */
static void test_an_end_gets_trains_if_it_takes_them(void **state)
{
	static const struct fabric_ext_ops single = { .tx = take },
					   whole = { .tx = take, .trains = true };
	struct rig_end *in = rig_attach(&r, "s1/5");
	const struct capture_cfg cfg = { .format = CAPTURE_PCAP,
					 .write = count,
					 .ctx = &(unsigned int){ 0 } };
	struct fabric_port *a, *b;
	struct capture *c;

	assert_int_equal(fabric_ext_attach(rig_port(&r, "s1/6"), "a", &single, NULL, &a), 0);
	assert_int_equal(fabric_ext_attach(rig_port(&r, "s1/7"), "b", &whole, NULL, &b), 0);
	fabric_ext_carrier(a, true, r.now);
	fabric_ext_carrier(b, true, r.now);
	rig_configure(&r);
	send_train(in, 6);
	expect_taken(5, 1);
	send_train(in, 7);
	expect_taken(1, 5);
	assert_int_equal(rig_np(&r, "s1/7")->cnt.xmit_pkts, 5);
	assert_int_equal(capture_create(&c, r.f, &cfg), 0);
	assert_int_equal(capture_add_link(c, rig_port(&r, "s1/7")), 0);
	send_train(in, 7);
	expect_taken(5, 1);
	capture_destroy(c);
}

/*
 * Bad datagrams of a link over UDP must be counted in the error counters of the port (IBTA volume
 * 1, 16.1.3.5), each as an error of its kind.
 */
static void test_a_bad_datagram_is_an_error_of_the_port(void **state)
{
	const struct node_counters *c = &rig_np(&r, "s1/5")->cnt;
	struct outside o;

	attach(&o, "s1/5");
	fabric_ext_rx_error(o.end, true);
	fabric_ext_rx_error(o.end, true);
	fabric_ext_rx_error(o.end, false);
	assert_int_equal(c->rcv_errors, 3);
	assert_int_equal(c->rcv_by_reason[NODE_RCV_LOCAL_PHYSICAL], 2);
	assert_int_equal(c->rcv_by_reason[NODE_RCV_MALFORMED], 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_link_that_is_set_down_is_not_wanted),
		CASE(test_I5_a_port_told_down_retrains_what_is_outside),
		CASE(test_I5_a_port_told_disabled_is_not_wanted_until_polling),
		CASE(test_disabled_twice_it_is_wanted_when_both_have_ended),
		CASE(test_an_end_that_keeps_its_carrier_is_down_while_not_wanted),
		CASE(test_detached_it_hears_nothing),
		CASE(test_packets_stay_in_the_buffer_they_came_in),
		CASE(test_small_packets_hold_no_buffer),
		CASE(test_a_seal_is_made_once),
		CASE(test_a_capture_of_end_ports_sees_what_enters),
		CASE(test_an_end_gets_trains_if_it_takes_them),
		CASE(test_a_bad_datagram_is_an_error_of_the_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
