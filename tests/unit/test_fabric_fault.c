/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests faults on links: their text form, what they do to packets (with fixed seeds), and that
 * every lost packet is counted.
 */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "fabric/fault.h"
#include "fabric_rig.h"
#include "util/list.h"
#include "crc/crc.h"

/* --- text */

static const struct {
	const char *text, *print;
	struct fault_spec spec;
} good[] = {
	{ "loss 2%", "loss 2%", { FAULT_LOSS, FAULT_ALL, 20000, 0, 0 } },
	{ " loss  0.0001% data ", "loss 0.0001% data", { FAULT_LOSS, FAULT_DATA, 1, 0, 0 } },
	{ "corrupt 0.1%", "corrupt 0.1%", { FAULT_CORRUPT, FAULT_ALL, 1000, 0, 0 } },
	{ "damage 7%", "damage 7%", { FAULT_DAMAGE, FAULT_ALL, 70000, 0, 0 } },
	{ "truncate 0.5%", "truncate 0.5%", { FAULT_TRUNCATE, FAULT_ALL, 5000, 0, 0 } },
	{ "duplicate 100% mad",
	  "duplicate 100% mad",
	  { FAULT_DUPLICATE, FAULT_MAD, 1000000, 0, 0 } },
	{ "reorder 5% 2ms", "reorder 5% 2ms", { FAULT_REORDER, FAULT_ALL, 50000, 2000000, 0 } },
	{ "delay 5ms 1ms", "delay 5ms 1ms", { FAULT_DELAY, FAULT_ALL, 0, 5000000, 1000000 } },
	{ "delay 1.5ms", "delay 1500us", { FAULT_DELAY, FAULT_ALL, 0, 1500000, 0 } },
	{ "delay 60s 1ns all", "delay 60s 1ns", { FAULT_DELAY, FAULT_ALL, 0, 60000000000ull, 1 } },
	{ "delay 0.5us mad", "delay 500ns mad", { FAULT_DELAY, FAULT_MAD, 0, 500, 0 } },
	{ "delay 1ms 0ms", "delay 1ms", { FAULT_DELAY, FAULT_ALL, 0, 1000000, 0 } },
	{ "cut", "cut", { FAULT_CUT, FAULT_ALL, 0, 0, 0 } },
	{ "stall", "stall", { FAULT_STALL, FAULT_ALL, 0, 0, 0 } },
	{ "cut data", "cut data", { FAULT_CUT, FAULT_DATA, 0, 0, 0 } },
};

static void test_text_and_back(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct fault_spec s, t;
		char err[128] = "", buf[FAULT_TEXT_MAX];

		assert_int_equal(fault_parse(&s, good[i].text, err, sizeof(err)), 0);
		assert_int_equal(s.kind, good[i].spec.kind);
		assert_int_equal(s.cls, good[i].spec.cls);
		assert_int_equal(s.ppm, good[i].spec.ppm);
		assert_int_equal(s.delay, good[i].spec.delay);
		assert_int_equal(s.jitter, good[i].spec.jitter);
		assert_string_equal(fault_print(buf, sizeof(buf), &s), good[i].print);
		assert_int_equal(fault_parse(&t, buf, err, sizeof(err)), 0);
		assert_memory_equal(&s, &t, sizeof(s));
	}
}

static const struct {
	const char *text, *err;
} bad[] = {
	{ "", "expected loss, corrupt, damage, truncate, duplicate, reorder, delay, cut or stall, "
	      "found "
	      "nothing" },
	{ "lose 1%",
	  "expected loss, corrupt, damage, truncate, duplicate, reorder, delay, cut or stall, "
	  "found \"lose\"" },
	{ "loss", "expected a share between 0.0001% and 100%, found nothing" },
	{ "loss 2", "expected a share between 0.0001% and 100%, found \"2\"" },
	{ "loss 0%", "expected a share between 0.0001% and 100%, found \"0%\"" },
	{ "loss 101%", "expected a share between 0.0001% and 100%, found \"101%\"" },
	{ "loss -1%", "expected a share between 0.0001% and 100%, found \"-1%\"" },
	{ "loss 0.00001%", "expected a share between 0.0001% and 100%, found \"0.00001%\"" },
	{ "loss 99999999999999999999%",
	  "expected a share between 0.0001% and 100%, found \"99999999999999999999%\"" },
	{ "reorder 5%", "expected a time like 5ms, up to 60s, found nothing" },
	{ "reorder 5% 2", "expected a time like 5ms, up to 60s, found \"2\"" },
	{ "delay 5", "expected a time like 5ms, up to 60s, found \"5\"" },
	{ "delay 0ms", "expected a time like 5ms, up to 60s, found \"0ms\"" },
	{ "delay 61s", "expected a time like 5ms, up to 60s, found \"61s\"" },
	{ "delay 1..5ms", "expected a time like 5ms, up to 60s, found \"1..5ms\"" },
	{ "delay 0.1ns", "expected a time like 5ms, up to 60s, found \"0.1ns\"" },
	{ "delay 5ms 9x", "expected a time like 1ms, up to 60s, found \"9x\"" },
	{ "loss 1% smp", "expected all, data, mad or the end, found \"smp\"" },
	{ "cut now", "expected all, data, mad or the end, found \"now\"" },
	{ "stall data", "expected the end, found \"data\"" },
	{ "loss 1% data data", "expected the end, found \"data\"" },
};

static void test_bad_text_says_what_was_expected(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fault_spec s = { .ppm = 77 };
		char err[128] = "";

		assert_int_equal(fault_parse(&s, bad[i].text, err, sizeof(err)), -EINVAL);
		assert_string_equal(err, bad[i].err);
		assert_int_equal(s.ppm, 77);
	}
}

/* --- faults on the link that connects port 2 of the switch to the external end "out" */

static struct rig r;
static struct rig_end *in, *out;
static unsigned int id;

static int setup(void **state)
{
	memset(&r, 0, sizeof(r));
	r.cfg.seed = 7;
	rig_init(&r, "Switch 8 \"s\"\n");
	in = rig_attach(&r, "s/1");
	out = rig_attach(&r, "s/2");
	rig_configure(&r);
	rig_sw(&r, "s")->sw->lft[0x90] = 2;
	rig_sw(&r, "s")->sw->si.lft_top = 0x90;
	return 0;
}

static int teardown(void **state)
{
	rig_fini(&r);
	return 0;
}

static void fault(const char *text)
{
	struct fault_spec s;
	char err[128];

	if (fault_parse(&s, text, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(fabric_fault_add(rig_port(&r, "s/2"), &s, &id), 0);
}

static struct fault_info info(void)
{
	struct fault_info i;

	assert_true(fabric_fault_next(r.f, id - 1, &i));
	assert_int_equal(i.id, id);
	return i;
}

/* Send @n packets, whose PSNs are 0, 1, 2, ..., and let the time @step pass after each packet */
static void send_n(unsigned int n, ns_t step)
{
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 200 };

	for (unsigned int i = 0; i < n; i++) {
		struct pkt *p = rig_make(&r, &s);

		be32_put(pkt_hdr(p) + 16, i);
		crc_pkt_seal(p);
		rig_send_pkt(in, p);
		if (step)
			rig_pass(&r, step);
	}
}

static unsigned int psn(const struct pkt *p)
{
	return be32_at(p->hdr + p->head + 16);
}

static void test_loss(void **state)
{
	fault("loss 10%");
	send_n(4000, 0);
	assert_int_equal(info().seen, 4000);
	assert_int_equal(out->n + info().hit, 4000);
	/* the expected value is 400, with standard deviation 19 */
	assert_in_range(info().hit, 340, 460);
	assert_int_equal(fabric_link_state(rig_port(&r, "s/2")), FABRIC_LINK_UP);
}

static void test_same_seed_same_fate(void **state)
{
	unsigned int first[200], n;

	fault("loss 30%");
	send_n(200, 0);
	n = out->n;
	for (unsigned int i = 0; i < n; i++)
		first[i] = psn(out->got[i]);
	teardown(NULL);
	setup(NULL);
	fault("loss 30%");
	send_n(200, 0);
	assert_int_equal(out->n, n);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(psn(out->got[i]), first[i]);
	assert_in_range(n, 100, 180);
}

static void test_cut_is_silent(void **state)
{
	fault("cut");
	send_n(5, 0);
	assert_int_equal(out->n, 0);
	assert_int_equal(info().hit, 5);
	assert_int_equal(rig_np(&r, "s/2")->pi.port_state, IB_PORT_ACTIVE);
	assert_int_equal(rig_np(&r, "s/2")->cnt.xmit_discards, 0);
	assert_int_equal(fabric_fault_del(r.f, id, r.now), 0);
	assert_int_equal(fabric_fault_del(r.f, id, r.now), -ENOENT);
	send_n(5, 0);
	assert_int_equal(out->n, 5);
}

static void test_corrupt_flips_one_bit_that_crcs_find(void **state)
{
	unsigned int bad_n = 0;

	fault("corrupt 50%");
	send_n(600, 0);
	assert_int_equal(out->n, 600);
	for (unsigned int i = 0; i < out->n; i++)
		bad_n += crc_pkt_check(out->got[i]) != CRC_OK;
	assert_int_equal(bad_n, info().hit);
	assert_in_range(bad_n, 250, 350);
}

/*
 * A packet has come from a link over UDP, and its flags mark its CRCs as verified. If a fault then
 * damages the packet, its CRCs must be verified again.
 */
static void test_damage_is_found_though_the_crcs_were_right_before(void **state)
{
	static const char *const kinds[] = { "corrupt 100%", "damage 100%" };
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 900 };

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		fault(kinds[k]);

		for (unsigned int i = 0; i < 20; i++) {
			struct pkt *p = rig_make(&r, &s);

			p->flags |= PKT_VCRC_OK | PKT_ICRC_OK;
			rig_send_pkt(in, p);
			assert_int_equal(out->n, 1);
			assert_int_not_equal(crc_pkt_check(out->got[0]), CRC_OK);
			rig_end_clear(out);
		}
		assert_int_equal(fabric_fault_del(r.f, id, r.now), 0);
	}
}

/*
 * A fault "corrupt" must flip exactly one bit of a packet. Over many packets it must hit the
 * headers, the payload and the CRCs.
 */
static void test_corrupt_hits_headers_payload_and_tail(void **state)
{
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 200 };
	unsigned int hdr = 0, data = 0, tail = 0;
	uint8_t a[512], b[512];
	struct pkt *p;
	size_t n;

	fault("corrupt 100%");
	p = rig_make(&r, &s);
	n = fabric_pkt_to_wire(p, a, sizeof(a));
	pkt_free(p);
	for (unsigned int i = 0; i < 500; i++) {
		unsigned int bits = 0;

		rig_send(in, &s);
		assert_int_equal(out->n, 1);
		assert_int_equal(fabric_pkt_to_wire(out->got[0], b, sizeof(b)), n);
		for (size_t k = 0; k < n; k++) {
			unsigned int d = (unsigned int)__builtin_popcount(a[k] ^ b[k]);

			bits += d;
			hdr += d && k < 28;
			data += d && k >= 28 && k < n - 6;
			tail += d && k >= n - 6;
		}
		assert_int_equal(bits, 1);
		rig_end_clear(out);
	}
	assert_true(hdr > 20 && data > 300 && tail > 2);
}

/* A clone of the packet shares its buffer. The fault must not change the clone. */
static void test_corrupt_does_not_touch_shared_payload(void **state)
{
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 2000 };
	struct pkt *p = rig_make(&r, &s), *keep = pkt_clone(p);

	fault("corrupt 100%");
	for (unsigned int i = 0; i < 50; i++)
		rig_send_pkt(in, pkt_clone(keep));
	rig_send_pkt(in, p);
	assert_int_equal(crc_pkt_check(keep), CRC_OK);
	for (unsigned int i = 0; i < out->n; i++)
		assert_int_not_equal(crc_pkt_check(out->got[i]), CRC_OK);
	pkt_free(keep);
}

/*
 * The fault must add CRCs to a packet without CRCs before it corrupts the packet, because otherwise
 * nobody would notice the damage.
 */
static void test_corrupt_seals_packets_without_crcs(void **state)
{
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 33 };
	struct pkt *p = rig_make(&r, &s);

	fault("corrupt 100%");
	crc_pkt_pad(p);
	rig_send_pkt(in, p);
	assert_int_equal(out->n, 1);
	assert_true(out->got[0]->flags & PKT_CRC);
	assert_int_not_equal(crc_pkt_check(out->got[0]), CRC_OK);
}

/*
 * The fault "damage" must leave the VCRC right and the ICRC wrong, and must not change the headers
 * by which switches forward the packet.
 */
static void test_damage_is_for_the_icrc_alone_to_find(void **state)
{
	static const ib_gid dgid = { .raw = { 0xfe, 0x80, [15] = 9 } };
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 33 };
	uint8_t a[512], b[512];
	struct pkt *p;

	fault("damage 100%");
	for (unsigned int i = 0; i < 400; i++) {
		size_t n, way = i & 1 ? 60 : 20;

		s.dgid = i & 1 ? &dgid : NULL;
		p = rig_make(&r, &s);
		n = fabric_pkt_to_wire(p, a, sizeof(a));
		if (i & 2)
			crc_pkt_pad(p); /* this packet has no CRCs, so the fault has to add them */
		rig_send_pkt(in, p);
		assert_int_equal(out->n, 1);
		assert_int_equal(crc_pkt_check_vcrc(out->got[0]), CRC_OK);
		assert_int_equal(crc_pkt_check(out->got[0]), CRC_BAD_ICRC);
		assert_int_equal(fabric_pkt_to_wire(out->got[0], b, sizeof(b)), n);
		assert_memory_equal(a, b, way);
		rig_end_clear(out);
	}
	assert_int_equal(info().hit, 400);
	assert_int_equal(rig_np(&r, "s/2")->cnt.symbol_errors, 0);
}

/* Raw packets have no ICRC that could show the damage, so they must not be changed. */
static void test_damage_spares_raw_packets(void **state)
{
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 33 };
	struct pkt *p = rig_make(&r, &s);

	fault("damage 100%");
	p->hdr[p->head + 1] &= 0xfc; /* LNH 0 */
	crc_pkt_mend_vcrc(p);
	rig_send_pkt(in, p);
	assert_int_equal(info().seen, 1);
	assert_int_equal(info().hit, 0);
	assert_int_equal(out->n, 1);
	assert_int_equal(crc_pkt_check_vcrc(out->got[0]), CRC_OK);
}

/*
 * The fault "truncate" must cut off at least one octet at the end of a packet, but no octet of the
 * LRH. All octets that are left must be unchanged.
 */
static void test_truncate_cuts_the_end_off(void **state)
{
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 33 };
	unsigned int in_crcs = 0, in_headers = 0;
	uint8_t a[512], b[512] = { 0 };
	size_t n, left;

	fault("truncate 100%");
	for (unsigned int i = 0; i < 400; i++) {
		struct pkt *p = rig_make(&r, &s);

		n = fabric_pkt_to_wire(p, a, sizeof(a));
		if (i & 1)
			crc_pkt_pad(p); /* a packet without CRCs */
		rig_send_pkt(in, p);
		assert_int_equal(out->n, 1);
		p = out->got[0];
		left = p->len + p->tail_len;
		assert_in_range(left, IB_LRH_LEN, n - 1);
		pkt_copy_out(p, 0, b, p->len);
		memcpy(b + p->len, p->tail, p->tail_len);
		assert_memory_equal(a, b, left);
		in_crcs += left > n - 6;
		in_headers += left < 28;
		rig_end_clear(out);
	}
	assert_int_equal(info().hit, 400);
	assert_true(in_crcs > 5 && in_headers > 50);
}

/*
 * PktLen in the LRH of a truncated packet no longer fits the packet, so the next hop must drop the
 * packet and count a receive error.
 */
static void test_truncated_packets_end_at_the_next_hop(void **state)
{
	struct fault_spec s = { .kind = FAULT_TRUNCATE, .ppm = 300000 };

	assert_int_equal(fabric_fault_add(in->end, &s, &id), 0);
	send_n(500, 0);
	assert_in_range(info().hit, 100, 200);
	assert_int_equal(out->n, 500 - info().hit);
	assert_int_equal(fabric_stats(r.f)->drops[FABRIC_DROP_LEN], info().hit);
	assert_int_equal(rig_np(&r, "s/1")->cnt.rcv_errors, info().hit);
	for (unsigned int i = 0; i < out->n; i++)
		assert_int_equal(crc_pkt_check(out->got[i]), CRC_OK);
}

static void send_smps(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		rig_send_smp(out, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL);
}

/*
 * Truncated packets pass other faults on their way. No fault may read a header beyond the end of
 * such a packet.
 */
static void test_truncated_packets_meet_other_faults(void **state)
{
	fault("truncate 100%");
	fault("truncate 100% data");
	fault("corrupt 100%");
	fault("damage 100%");
	fault("duplicate 100%");
	fault("delay 1ms mad");
	send_n(300, 0);
	send_smps(20);
	rig_pass(&r, NS_MSEC(2));
	assert_int_equal(out->n, 640);
}

static void test_duplicate(void **state)
{
	fault("duplicate 20%");
	send_n(1000, 0);
	assert_int_equal(out->n, 1000 + info().hit);
	assert_in_range(info().hit, 140, 260);
	for (unsigned int i = 0; i < out->n; i++)
		assert_int_equal(crc_pkt_check(out->got[i]), CRC_OK);
}

/*
 * The fault duplicates all packets of a full batch, so more packets leave the fault than fit into
 * one batch.
 */
static void test_duplicate_of_a_full_batch(void **state)
{
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 8 };
	struct pkt *v[PKT_BATCH];

	fault("duplicate 100%");
	fault("duplicate 100%");
	for (unsigned int i = 0; i < PKT_BATCH; i++)
		v[i] = rig_make(&r, &s);
	fabric_ext_rx(in->end, v, PKT_BATCH, r.now);
	rig_settle(&r);
	assert_int_equal(out->n, 4 * PKT_BATCH);
}

static void test_delay_keeps_order(void **state)
{
	ns_t t0 = r.now;

	fault("delay 5ms 1ms");
	send_n(100, NS_USEC(100));
	assert_int_equal(out->n + info().held, 100);
	assert_true(info().held > 40);
	rig_pass(&r, NS_MSEC(7));
	assert_int_equal(out->n, 100);
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(psn(out->got[i]), i);
	assert_int_equal(r.now - t0, NS_MSEC(17));
}

static void test_delay_is_at_least_its_time(void **state)
{
	fault("delay 5ms");
	send_n(1, 0);
	rig_pass(&r, NS_MSEC(5) - 1);
	assert_int_equal(out->n, 0);
	rig_pass(&r, 1);
	assert_int_equal(out->n, 1);
}

static void test_reorder_lets_others_overtake(void **state)
{
	unsigned int back = 0;

	fault("reorder 10% 2ms");
	send_n(500, NS_USEC(500));
	rig_pass(&r, NS_MSEC(10));
	assert_int_equal(out->n, 500);
	for (unsigned int i = 1; i < 500; i++)
		back += psn(out->got[i]) < psn(out->got[i - 1]);
	assert_in_range(info().hit, 25, 80);
	assert_in_range(back, 15, 80);
}

static void test_held_packets_are_lost_with_the_link(void **state)
{
	fault("delay 50ms");
	send_n(7, 0);
	assert_int_equal(info().held, 7);
	fabric_ext_carrier(out->end, false, r.now);
	assert_int_equal(info().held, 0);
	assert_int_equal(rig_np(&r, "s/2")->cnt.xmit_discards, 7);
	rig_pass(&r, NS_SEC(1));
	assert_int_equal(out->n, 0);
}

static void test_deleted_fault_lets_go(void **state)
{
	fault("delay 50ms");
	send_n(7, 0);
	assert_int_equal(fabric_fault_del(r.f, id, r.now), 0);
	assert_int_equal(out->n, 7);
}

static void test_stall_holds_data_as_a_link_without_credits(void **state)
{
	struct fabric_port *p = rig_port(&r, "s/2");
	unsigned int other;

	fault("stall");
	send_n(5, 0);
	send_smps(3);
	/* the three SMPs; a stall does not stop VL15, which has no credits that could run out */
	assert_int_equal(out->n, 3);
	assert_int_equal(info().held, 5);
	assert_true(fabric_send_queue(p).stalled);
	assert_int_equal(fabric_send_queue(p).waiting, 5);
	assert_int_equal(fabric_send_queue(p).sent, 0);
	/*
	 * Packets that a fault holds back must not be counted as queued, because otherwise senders
	 * would wait until these packets had left the queue.
	 */
	assert_int_equal(fabric_queued(r.f), 0);
	other = id;
	fault("stall");
	assert_int_equal(fabric_fault_del(r.f, other, r.now), 0);
	send_n(2, 0);
	assert_int_equal(out->n, 3);
	assert_int_equal(fabric_fault_del(r.f, id, r.now), 0);
	rig_settle(&r);
	assert_int_equal(out->n, 3 + 7);
	assert_int_equal(psn(out->got[3]), 0); /* the stalled packets must come out in order */
	assert_int_equal(fabric_send_queue(p).waiting, 0);
	assert_int_equal(fabric_send_queue(p).sent, 7);
	assert_int_equal(fabric_queued(r.f), 0);
}

static void test_stalled_packets_are_discarded_by_a_flush_and_by_the_link(void **state)
{
	struct fabric_port *p = rig_port(&r, "s/2");

	fault("stall");
	send_n(5, 0);
	assert_int_equal(fabric_send_flush(p, r.now), 5);
	assert_int_equal(rig_np(&r, "s/2")->cnt.xmit_discards, 5);
	assert_int_equal(fabric_send_queue(p).waiting, 0);
	send_n(4, 0);
	fabric_link_set(p, false, r.now);
	rig_settle(&r);
	assert_int_equal(fabric_send_queue(p).waiting, 0);
	assert_int_equal(fabric_queued(r.f), 0);
	assert_int_equal(out->n, 0);
}

static void test_classes(void **state)
{
	fault("cut mad"); /* the answers to the SMPs leave by port s/2, where the fault is */
	send_smps(3);
	send_n(2, 0);
	assert_int_equal(out->n, 2);
	assert_int_equal(info().seen, 3);
	assert_int_equal(fabric_fault_del(r.f, id, r.now), 0);
	rig_end_clear(out);
	fault("cut data");
	send_smps(3);
	send_n(2, 0);
	assert_int_equal(out->n, 3);
	fault("cut"); /* cuts VL15 too */
	send_smps(1);
	assert_int_equal(out->n, 3);
}

static void test_qp1_is_mad(void **state)
{
	ib_gid g = { { 0xfe, 0x80 } };
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 1, .len = 8 };

	fault("cut mad");
	rig_send(in, &s);
	s.dgid = &g;
	rig_send(in, &s);
	assert_int_equal(out->n, 0);
	s.dest_qp = 2;
	rig_send(in, &s);
	assert_int_equal(out->n, 1);
}

static void test_stacked_and_listed(void **state)
{
	struct fault_info i;
	unsigned int a, b;

	fault("loss 50%");
	a = id;
	fault("duplicate 100%");
	b = id;
	send_n(400, 0);
	assert_true(fabric_fault_next(r.f, 0, &i));
	assert_int_equal(i.id, a);
	assert_ptr_equal(i.port, rig_port(&r, "s/2"));
	assert_int_equal(i.seen, 400);
	assert_true(fabric_fault_next(r.f, a, &i));
	assert_int_equal(i.id, b);
	assert_int_equal(out->n, 2 * i.seen);
	assert_int_equal(i.spec.kind, FAULT_DUPLICATE);
	assert_false(fabric_fault_next(r.f, b, &i));
}

static void test_add_refuses(void **state)
{
	struct fault_spec s = { .kind = FAULT_LOSS, .ppm = 0 };

	assert_int_equal(fabric_fault_add(rig_port(&r, "s/2"), &s, NULL), -EINVAL);
	s.ppm = 1000001;
	assert_int_equal(fabric_fault_add(rig_port(&r, "s/2"), &s, NULL), -EINVAL);
	s.ppm = 5;
	assert_int_equal(fabric_fault_add(rig_port(&r, "s/5"), &s, NULL), -ENOTCONN);
	assert_int_equal(fabric_fault_add(rig_port(&r, "s/0"), &s, NULL), -ENOTCONN);
	s = (struct fault_spec){ .kind = FAULT_DELAY };
	assert_int_equal(fabric_fault_add(rig_port(&r, "s/2"), &s, NULL), -EINVAL);
}

/*
 * The fabric is destroyed while a fault holds packets back. rig_fini() checks that these packets
 * have been freed.
 */
static void test_destroy_while_holding(void **state)
{
	fault("delay 50ms");
	send_n(7, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_and_back),
		cmocka_unit_test(test_bad_text_says_what_was_expected),
		CASE(test_loss),
		CASE(test_same_seed_same_fate),
		CASE(test_cut_is_silent),
		CASE(test_corrupt_flips_one_bit_that_crcs_find),
		CASE(test_damage_is_found_though_the_crcs_were_right_before),
		CASE(test_corrupt_hits_headers_payload_and_tail),
		CASE(test_corrupt_does_not_touch_shared_payload),
		CASE(test_corrupt_seals_packets_without_crcs),
		CASE(test_damage_is_for_the_icrc_alone_to_find),
		CASE(test_damage_spares_raw_packets),
		CASE(test_truncate_cuts_the_end_off),
		CASE(test_truncated_packets_end_at_the_next_hop),
		CASE(test_truncated_packets_meet_other_faults),
		CASE(test_duplicate),
		CASE(test_duplicate_of_a_full_batch),
		CASE(test_delay_keeps_order),
		CASE(test_delay_is_at_least_its_time),
		CASE(test_reorder_lets_others_overtake),
		CASE(test_held_packets_are_lost_with_the_link),
		CASE(test_deleted_fault_lets_go),
		CASE(test_stall_holds_data_as_a_link_without_credits),
		CASE(test_stalled_packets_are_discarded_by_a_flush_and_by_the_link),
		CASE(test_classes),
		CASE(test_qp1_is_mad),
		CASE(test_stacked_and_listed),
		CASE(test_add_refuses),
		CASE(test_destroy_while_holding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
