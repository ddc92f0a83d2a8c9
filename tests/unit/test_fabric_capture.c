/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests captures of the packets in a fabric. If the environment variable CAPTURE_DIR names a
 * folder, the tests also write the files to this folder, and tests/system/capture_tshark.sh reads
 * them with tshark.
 */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabric/capture.h"
#include "fabric_rig.h"
#include "fabric_wire.h"
#include "util/list.h"
#include "crc/crc.h"
#include "wire/inet.h"

static struct rig r;
static struct rig_end *in, *out;

struct sink {
	uint8_t data[1 << 20];
	size_t len;
	size_t room; /* number of octets after which writes fail, as on a full disk */
};
static struct sink file;

static int sink_write(void *ctx, const void *data, size_t len)
{
	struct sink *s = ctx;

	if (s->len + len > s->room)
		return -ENOSPC;
	memcpy(s->data + s->len, data, len);
	s->len += len;
	return 0;
}

static void save(const char *name)
{
	const char *dir = getenv("CAPTURE_DIR");
	char path[512];
	FILE *f;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(file.data, 1, file.len, f), file.len);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	memset(&r, 0, sizeof(r));
	file.len = 0;
	file.room = sizeof(file.data);
	rig_init(&r, "Switch 8 \"s\"\n[3] \"h\"[1]\n\nHca 1 \"h\"\n");
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

static struct capture *capture(enum capture_format format, uint64_t max)
{
	struct capture_cfg cfg = {
		.format = format,
		.write = sink_write,
		.ctx = &file,
		.epoch = 1700000000000000000ull,
		.max_octets = max,
	};
	struct capture *c = NULL;

	assert_int_equal(capture_create(&c, r.f, &cfg), 0);
	return c;
}

/*
 * The sample packet of IBTA volume 1, 7.8.3 with its ICRC and VCRC. The first 50 octets are the
 * LRH, the other headers and the payload; two pad octets follow
 */
static const uint8_t sample[] = {
	0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1,
	0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2,
	0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72,
	0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa,
};

/*
 * Read a 16-bit field of a pcap or pcapng file. These formats have the byte order of the host. (The
 * fields of ERF are in network byte order.)
 */
static uint16_t host16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t host32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void test_I33_sample_packet_without_crcs_gets_them(void **state)
{
	uint8_t buf[128];
	struct pkt *p;

	assert_int_equal(pkt_from_wire(&p, r.pool, sample, sizeof(sample)), 0);
	assert_int_equal(p->tail_len, 8); /* two pad octets, ICRC and VCRC */
	crc_pkt_pad(p); /* remove the CRCs, as on a link without CRCs */
	assert_int_equal(fabric_pkt_to_wire(p, buf, sizeof(buf)), sizeof(sample));
	assert_memory_equal(buf, sample, sizeof(sample));
	/* fabric_pkt_to_wire() must not have changed the packet itself */
	assert_false(p->flags & PKT_CRC);
	pkt_free(p);
}

static void send_sample(unsigned int n)
{
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .src_qp = 0x77, .len = 30 };

	for (unsigned int i = 0; i < n; i++)
		rig_send(in, &s);
}

/* Check the octets of a pcap file, field by field. */
static void test_pcap_octets(void **state)
{
	struct capture *c = capture(CAPTURE_PCAP, 0);
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .src_qp = 0x77, .len = 30 };
	const uint8_t *p = file.data;
	uint8_t wire[256];
	struct pkt *pkt;
	size_t n;

	assert_int_equal(file.len, 24);
	assert_int_equal(host32(p), 0xa1b23c4d);
	assert_int_equal(host16(p + 4), 2);
	assert_int_equal(host16(p + 6), 4);
	assert_int_equal(host32(p + 20), 197);
	assert_int_equal(capture_add_link(c, rig_port(&r, "s/2")), 0);
	r.now = NS_SEC(3) + 500000000;
	pkt = rig_make(&r, &s);
	n = fabric_pkt_to_wire(pkt, wire, sizeof(wire));
	rig_send_pkt(in, pkt);
	p += 24;
	assert_int_equal(file.len, 24 + 16 + 16 + n);
	assert_int_equal(host32(p), 1700000003);
	assert_int_equal(host32(p + 4), 500000000);
	assert_int_equal(host32(p + 8), 16 + n);
	assert_int_equal(host32(p + 12), 16 + n);
	p += 16; /* ERF */
	assert_int_equal(le32(p), 0x80000000); /* half a second */
	assert_int_equal(le32(p + 4), 1700000003);
	assert_int_equal(p[8], 21);
	assert_int_equal(p[9], 4);
	assert_int_equal(be16_at(p + 10), 16 + n);
	assert_int_equal(be16_at(p + 12), 0);
	assert_int_equal(be16_at(p + 14), n);
	assert_memory_equal(p + 16, wire, n);
	assert_int_equal(capture_stats(c)->packets, 1);
	assert_int_equal(capture_stats(c)->octets, file.len);
	capture_destroy(c);
	send_sample(1); /* the capture has ended, so nothing may be written */
	assert_int_equal(file.len, 24 + 32 + n);
}

static void test_pcapng_names_the_ports(void **state)
{
	struct capture *c = capture(CAPTURE_PCAPNG, 0);
	const uint8_t *p = file.data;
	unsigned int idb = 0, epb = 0;

	assert_int_equal(capture_add_link(c, rig_port(&r, "s/3")), 0);
	assert_int_equal(capture_add_link(c, rig_port(&r, "h/1")), 0); /* the same link again */
	assert_int_equal(capture_add_link(c, rig_port(&r, "s/2")), 0);
	assert_int_equal(capture_add_link(c, rig_port(&r, "s/7")), -ENOTCONN);
	send_sample(2);
	rig_send_smp(out, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, NULL);
	assert_int_equal(host32(p), 0x0a0d0d0a);
	assert_int_equal(host32(p + 4), 28); /* a header without options */
	assert_int_equal(host32(p + 8), 0x1a2b3c4d);
	assert_int_equal(host16(p + 12), 1); /* version 1.0 */
	assert_int_equal(host16(p + 14), 0);
	assert_int_equal(host32(p + 16), UINT32_MAX); /* unknown length of the section */
	assert_int_equal(host32(p + 20), UINT32_MAX);
	while (p < file.data + file.len) {
		uint32_t len = host32(p + 4);

		assert_int_equal(len % 4, 0);
		assert_int_equal(host32(p + len - 4), len);
		if (host32(p) == 1) {
			static const char *const names[] = { "s/3", "h/1", "s/2", "far:s/2" };

			assert_int_equal(host16(p + 8), 197);
			assert_int_equal(host16(p + 16), 2); /* if_name */
			assert_memory_equal(p + 20, names[idb], host16(p + 18));
			idb++;
		} else if (host32(p) == 6) {
			/*
			 * indices of the interfaces of the four packets: two packets leave by s/2
			 * (index 2), a request comes from the end at s/2 (3), and its answer leaves
			 * by s/2 (2)
			 */
			static const unsigned int ifs[] = { 2, 2, 3, 2 };

			assert_int_equal(host32(p + 8), ifs[epb]);
			epb++;
		}
		p += len;
	}
	assert_ptr_equal(p, file.data + file.len);
	assert_int_equal(idb, 4);
	assert_int_equal(epb, 4);
	save("links.pcapng");
	capture_destroy(c);
}

/*
 * Return the value of the option @code among the pcapng options from @p to @end, and store its
 * length in *ret_len. NULL: there is no such option
 */
static const uint8_t *option(const uint8_t *p, const uint8_t *end, uint16_t code, size_t *ret_len)
{
	while (p + 4 <= end && host16(p)) {
		*ret_len = host16(p + 2);
		if (host16(p) == code)
			return p + 4;
		p += 4 + ((*ret_len + 3) & ~(size_t)3);
	}
	assert_ptr_equal(p + 4, end); /* the end of the options */
	return NULL;
}

static void check_text(const uint8_t *p, const uint8_t *end, uint16_t code, const char *text)
{
	size_t len;
	const uint8_t *v = option(p, end, code, &len);

	assert_non_null(v);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(v, text, len);
}

/*
 * capture_packet() must record a packet that no link of a fabric carries. The record must have pad
 * octets and CRCs, the direction of the packet, and a comment.
 */
static void test_packets_of_a_source(void **state)
{
	enum { HDR = 28, PAD = 2, LEN = sizeof(sample) - HDR - PAD - 6 };
	struct capture *c = capture(CAPTURE_PCAPNG, 0);
	struct capture_packet s = { .hdr = sample, .hdr_len = HDR };
	static const char *const comments[] = { "a", "abcd" };
	const uint8_t *p = file.data + 28;
	struct pkt *payload = pkt_from_data(r.pool, sample + HDR, LEN);
	size_t len;

	assert_int_equal(capture_add_source(c, "one", NULL), 0);
	assert_int_equal(capture_add_source(c, "verbs:x/1", "text"), 1);
	p += host32(p + 4);
	check_text(p + 16, p + host32(p + 4) - 4, 2, "verbs:x/1");
	check_text(p + 16, p + host32(p + 4) - 4, 3, "text");
	s.source = 1;
	s.payload = payload;
	for (unsigned int i = 0; i < 2; i++) {
		s.sent = i;
		s.comment = comments[i];
		capture_packet(c, &s, r.now);
	}
	for (unsigned int i = 0; i < 2; i++) {
		const uint8_t *options, *end;

		p += host32(p + 4);
		end = p + host32(p + 4) - 4;
		assert_int_equal(host32(p), 6);
		assert_int_equal(host32(end), host32(p + 4));
		assert_int_equal(host32(p + 8), 1);
		assert_int_equal(host32(p + 20), 16 + sizeof(sample));
		assert_memory_equal(p + 28 + 16, sample, sizeof(sample));
		options = p + 28 + ((16 + sizeof(sample) + 3) & ~3ul);
		check_text(options, end, 1, comments[i]);
		assert_int_equal(host32(option(options, end, 2, &len)), i ? 2 : 1);
	}
	assert_ptr_equal(p + host32(p + 4), file.data + file.len);
	assert_int_equal(capture_stats(c)->packets, 2);
	save("source.pcapng");
	pkt_free(payload);
	capture_destroy(c);
}

static void test_packet_of_a_source_that_no_link_could_carry(void **state)
{
	static const uint8_t octets[4100], hdr[68] = { [1] = 3 };
	struct capture *c = capture(CAPTURE_PCAPNG, 0);
	struct capture_packet s = { .hdr = hdr, .hdr_len = sizeof(hdr), .comment = "" };

	assert_int_equal(capture_add_source(c, "one", NULL), 0);
	for (size_t n = 4095; n <= 4097; n++) {
		struct pkt *p = pkt_from_data(r.pool, octets, n);

		s.payload = p;
		capture_packet(c, &s, r.now);
		pkt_free(p);
	}
	assert_int_equal(capture_stats(c)->packets, 2);
	assert_int_equal(capture_stats(c)->missed, 0);
	capture_destroy(c);
}

static void on_answer(void *ctx, int status, const struct mad_addr *from, const void *mad,
		      size_t len, ns_t now)
{
	assert_int_equal(status, 0);
}

/*
 * A capture of all end ports must have each packet once: at the port of the CA that sends it, at
 * the external end by which it enters, or at port 0 of the switch that sends it.
 */
static void test_end_ports_see_each_packet_once(void **state)
{
	struct capture *c = capture(CAPTURE_PCAP, 0);
	static const uint8_t there[] = { 3 }, through[] = { 1, 3 };
	struct mad_agent_cfg cfg = { .qp = 0, .mgmt_class = MAD_CLASS_SM_DR, .class_version = 1 };
	struct mad_agent *a;
	uint8_t mad[256];
	struct mad_req req = { .to = mad_addr_smp_dr(), .mad = mad, .len = 256, .timeout_ms = 100 };

	assert_int_equal(capture_add_end_ports(c), 0);
	/* a packet from an external end to an external end is recorded where it enters */
	send_sample(2);
	assert_int_equal(capture_stats(c)->packets, 2);
	/* an SM on the switch sends a request to the CA: the request and the answer are recorded */
	req.done = on_answer;
	assert_int_equal(mad_agent_add(rig_np(&r, "s/0")->ep, &cfg, &a), 0);
	rig_smp(mad, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, there, 1, NULL);
	assert_int_equal(mad_request(a, &req, NULL, r.now), 0);
	rig_settle(&r);
	assert_int_equal(capture_stats(c)->packets, 4);
	/*
	 * an SMP that comes from a neighbour and is only forwarded by the switch is recorded where
	 * it enters, not at port 0 of the switch
	 */
	rig_smp(mad, MAD_METHOD_GET, SMP_ATTR_NODE_INFO, 0, through, 2, NULL);
	mad[SMP_OFF_HOP_PTR] = 1;
	rig_send(in, &(struct rig_pkt){ .slid = 0xffff, .dlid = 0xffff, .vl = 15, .mad = mad });
	assert_int_equal(in->n, 1);
	assert_int_equal(capture_stats(c)->packets, 6); /* the SMP and the CA's answer */
	save("ends.pcap");
	mad_agent_del(a);
	capture_destroy(c);
}

/*
 * Write a mixture of packets for tshark: ARP and IPv4 over IPoIB with and without GRH, with and
 * without CRCs.
 */
static void test_mixture(void **state)
{
	static const uint8_t arp[] = { 0x08, 0x06, 0, 0, 0, 0x20, 0x08, 0, 20, 4, 0, 1 };
	ib_gid g = { { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff,
		       0xff } };
	struct capture *c = capture(CAPTURE_PCAP, 0);
	uint8_t payload[60] = { 0 };

	assert_int_equal(capture_add_link(c, rig_port(&r, "s/2")), 0);
	memcpy(payload, arp, sizeof(arp));
	node_mft_own(rig_sw(&r, "s")->sw)[0][0] = 1ull << 2;
	for (unsigned int i = 0; i < 4; i++) {
		struct ib_ud_hdr h = {
			.lrh = { .lnh = i & 1 ? IB_LNH_GLOBAL : IB_LNH_LOCAL,
				 .dlid = i & 1 ? 0xc000 : 0x90,
				 .slid = 1 },
			.has_grh = i & 1,
			.grh = { .ip_ver = 6, .nxt_hdr = IB_GRH_NXTHDR, .dgid = g },
			.bth = { .opcode = IB_OP_UD_SEND_ONLY,
				 .pkey = 0xffff,
				 .dest_qp = i & 1 ? IB_QPN_MCAST : 0x48 },
			.deth = { .qkey = 0x0b1b, .src_qp = 0x49 },
		};
		struct pkt *p = pkt_from_data(r.pool, payload, sizeof(payload));

		h.grh.sgid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 0x100001);
		ib_ud_hdr_encode(pkt_push(p, ib_ud_hdr_len(h.has_grh)), &h, sizeof(payload));
		if (i & 2)
			crc_pkt_pad(p);
		else
			crc_pkt_seal(p);
		rig_pass(&r, NS_MSEC(1));
		rig_send_pkt(in, p);
	}
	rig_send_smp(out, MAD_METHOD_GET, SMP_ATTR_PORT_INFO, 1, NULL);
	assert_int_equal(capture_stats(c)->packets, 6);
	save("mixture.pcap");
	capture_destroy(c);
}

static void test_full_disk_stops_the_capture_only(void **state)
{
	struct capture *c = capture(CAPTURE_PCAP, 0);

	assert_int_equal(capture_add_link(c, rig_port(&r, "s/2")), 0);
	send_sample(3);
	assert_int_equal(capture_stats(c)->packets, 3);
	file.room = file.len + 10;
	send_sample(5);
	file.room = sizeof(file.data);
	/*
	 * the capture has ended after the failed write, so further packets must count as missed,
	 * and the file must have no gap
	 */
	send_sample(2);
	assert_int_equal(capture_stats(c)->packets, 3);
	assert_int_equal(capture_stats(c)->missed, 7);
	assert_int_equal(capture_stats(c)->error, -ENOSPC);
	assert_int_equal(out->n, 10);
	capture_destroy(c);
}

static void test_create_fails_when_the_header_does(void **state)
{
	struct capture_cfg cfg = { .write = sink_write, .ctx = &file };
	struct capture *c = NULL;

	file.room = 3;
	assert_int_equal(capture_create(&c, r.f, &cfg), -ENOSPC);
	assert_null(c);
}

static void test_limit_of_octets(void **state)
{
	struct capture *c = capture(CAPTURE_PCAP, 300);

	assert_int_equal(capture_add_link(c, rig_port(&r, "s/2")), 0);
	send_sample(10);
	assert_int_equal(capture_stats(c)->error, -EFBIG);
	assert_true(file.len <= 300);
	assert_int_equal(capture_stats(c)->packets + capture_stats(c)->missed, 10);
	assert_int_equal(capture_stats(c)->packets, 2);
	capture_destroy(c);
}

/* A packet with CRCs must be recorded unchanged, so that damage stays visible in the capture. */
static void test_corrupted_packet_is_recorded_as_it_is(void **state)
{
	struct capture *c = capture(CAPTURE_PCAP, 0);
	struct rig_pkt s = { .slid = 1, .dlid = 0x90, .dest_qp = 0x48, .len = 30 };
	struct pkt *p = rig_make(&r, &s);

	assert_int_equal(capture_add_link(c, rig_port(&r, "s/1")), 0);
	p->tail[p->tail_len - 1] ^= 0x55;
	rig_send_pkt(in, p);
	assert_int_equal(capture_stats(c)->packets, 1);
	assert_int_not_equal((uint16_t)(file.data[file.len - 2] | file.data[file.len - 1] << 8),
			     crc_vcrc(file.data + 24 + 32, file.len - 24 - 32 - 2));
	capture_destroy(c);
}

static int discard(void *ctx, const void *data, size_t len)
{
	return 0;
}

/*
 * Return the CPU time, in seconds, for adding the end ports of @n CAs to a new capture @rounds
 * times
 */
static double cpu_of_end_ports(unsigned int n, unsigned int rounds)
{
	const struct capture_cfg cfg = { .format = CAPTURE_PCAP, .write = discard };
	struct rig big;
	clock_t from;
	double took;

	memset(&big, 0, sizeof(big));
	rig_init_topo(&big, topo_gen_demo(n, 2 + n / 30));
	from = clock();
	for (unsigned int i = 0; i < rounds; i++) {
		struct capture *c;

		assert_int_equal(capture_create(&c, big.f, &cfg), 0);
		assert_int_equal(capture_add_end_ports(c), 0);
		capture_destroy(c);
	}
	took = (double)(clock() - from) / CLOCKS_PER_SEC;
	rig_fini(&big);
	return took;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/*
 * The cost of adding a port to a capture must not depend on the number of ports. If the capture
 * searched all ports for each port that it adds, adding the same number of ports would take 8 times
 * as long with 4000 CAs as with 500. Each measurement adds about 400,000 ports, because some
 * kernels count CPU time in steps of 4 ms. The test uses the smallest of several measurements,
 * because other programs compete for the CPU's caches.
 */
static void test_tapping_end_ports_costs_the_same_for_each(void **state)
{
	double few = HUGE_VAL, many = HUGE_VAL;

	for (int i = 0; i < 8 && !(many < 3 * few); i++) {
		few = least(few, cpu_of_end_ports(500, 800));
		many = least(many, cpu_of_end_ports(4000, 100));
	}
	print_message("500 CAs %.6f s, 4000 CAs %.6f s\n", few, many);
	assert_true(many < 3 * few);
}

static void test_fabric_ends_before_the_capture(void **state)
{
	struct capture *c = capture(CAPTURE_PCAP, 0);

	assert_int_equal(capture_add_end_ports(c), 0);
	assert_int_equal(capture_add_link(c, rig_port(&r, "s/2")), 0);
	rig_fini(&r);
	capture_destroy(c);
	setup(NULL);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_I33_sample_packet_without_crcs_gets_them),
		CASE(test_pcap_octets),
		CASE(test_pcapng_names_the_ports),
		CASE(test_packets_of_a_source),
		CASE(test_packet_of_a_source_that_no_link_could_carry),
		CASE(test_end_ports_see_each_packet_once),
		CASE(test_mixture),
		CASE(test_full_disk_stops_the_capture_only),
		CASE(test_create_fails_when_the_header_does),
		CASE(test_limit_of_octets),
		CASE(test_corrupted_packet_is_recorded_as_it_is),
		CASE(test_tapping_end_ports_costs_the_same_for_each),
		CASE(test_fabric_ends_before_the_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
