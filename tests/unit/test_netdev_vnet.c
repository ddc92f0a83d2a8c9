/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/vnet.h"

#include <errno.h>
#include <string.h>

#include "check.h"

/* Codes of the VIRTIO specification 1.2, §5.1.6. */
#define F_NEEDS_CSUM 1
#define F_DATA_VALID 2
#define GSO_TCPV4 1
#define GSO_UDP 3
#define GSO_TCPV6 4
#define GSO_UDP_L4 5
#define GSO_ECN 0x80

static uint8_t frame[2000];

static void set_type(unsigned int off, uint16_t type)
{
	frame[off] = (uint8_t)(type >> 8);
	frame[off + 1] = (uint8_t)type;
}

static void test_vnet_plain_frame(void **state)
{
	struct virtio_net_hdr h = { 0 };
	struct tap_vnet v;

	(void)state;
	assert_int_equal(vnet_decode(&v, &h, frame, 60, TAP_ETHERNET), 0);
	assert_int_equal(v.gso, TAP_GSO_NONE);
	assert_false(v.needs_csum || v.csum_ok || v.ecn);
	h.flags = F_DATA_VALID;
	assert_int_equal(vnet_decode(&v, &h, frame, 60, TAP_ETHERNET), 0);
	assert_true(v.csum_ok);
	for (size_t len = 0; len < 14; len++)
		assert_int_equal(vnet_decode(&v, &h, frame, len, TAP_ETHERNET), -EBADMSG);
}

static void test_vnet_gso_round_trip(void **state)
{
	static const struct {
		uint8_t code;
		uint16_t type;
		enum tap_gso gso;
	} k[] = {
		{ GSO_TCPV4, 0x0800, TAP_GSO_TCP4 },	       { GSO_TCPV6, 0x86dd, TAP_GSO_TCP6 },
		{ GSO_UDP_L4, 0x0800, TAP_GSO_UDP4 },	       { GSO_UDP_L4, 0x86dd, TAP_GSO_UDP6 },
		{ GSO_TCPV4 | GSO_ECN, 0x0800, TAP_GSO_TCP4 },
	};

	(void)state;
	for (unsigned int i = 0; i < 5; i++) {
		struct virtio_net_hdr h = {
			.flags = F_NEEDS_CSUM,
			.gso_type = k[i].code,
			.hdr_len = 66,
			.gso_size = 1400,
			.csum_start = 34,
			.csum_offset = 16,
		}, back;
		struct tap_vnet v;

		set_type(12, k[i].type);
		assert_int_equal(vnet_decode(&v, &h, frame, sizeof(frame), TAP_ETHERNET), 0);
		assert_int_equal(v.gso, k[i].gso);
		assert_int_equal(v.ecn, i == 4);
		assert_int_equal(v.gso_size, 1400);
		assert_int_equal(v.csum_start, 34);
		assert_int_equal(v.csum_offset, 16);
		assert_int_equal(v.hdr_len, 66);
		vnet_encode(&back, &v);
		assert_memory_equal(&back, &h, sizeof(h));
	}
}

static void test_vnet_udp_behind_vlan_tags(void **state)
{
	struct virtio_net_hdr h = {
		.flags = F_NEEDS_CSUM,
		.gso_type = GSO_UDP_L4,
		.gso_size = 100,
		.csum_start = 62,
		.csum_offset = 6,
	};
	struct tap_vnet v;

	(void)state;
	set_type(12, 0x88a8);
	set_type(16, 0x8100);
	set_type(20, 0x86dd);
	assert_int_equal(vnet_decode(&v, &h, frame, 400, TAP_ETHERNET), 0);
	assert_int_equal(v.gso, TAP_GSO_UDP6);
	set_type(20, 0x0806);
	assert_int_equal(vnet_decode(&v, &h, frame, 400, TAP_ETHERNET), -EBADMSG);
	set_type(20, 0x8100);
	assert_int_equal(vnet_decode(&v, &h, frame, 400, TAP_ETHERNET), -EBADMSG);
}

static void test_vnet_contradictions_refused(void **state)
{
	const struct virtio_net_hdr good = {
		.flags = F_NEEDS_CSUM,
		.gso_type = GSO_TCPV4,
		.gso_size = 1400,
		.csum_start = 34,
		.csum_offset = 16,
	};
	struct virtio_net_hdr h = good;
	struct tap_vnet v = { .gso_size = 77 };

	(void)state;
	h.gso_size = 0;
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_ETHERNET), -EBADMSG);
	h = good;
	h.flags = 0;
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_ETHERNET), -EBADMSG);
	h = good;
	h.gso_type = GSO_UDP; /* UFO, which was never negotiated */
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_ETHERNET), -EBADMSG);
	h.gso_type = 2;
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_ETHERNET), -EBADMSG);
	h = good;
	assert_int_equal(vnet_decode(&v, &h, frame, 51, TAP_ETHERNET), -EBADMSG);
	h.csum_start = 65535;
	h.csum_offset = 65535;
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_ETHERNET), -EBADMSG);
	h = good;
	h.csum_start = 13;
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_ETHERNET), -EBADMSG);
	assert_int_equal(v.gso_size, 77);
	h = good;
	h.hdr_len = 2001; /* hdr_len is only a hint */
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_ETHERNET), 0);
	assert_int_equal(v.hdr_len, 0);
	assert_int_equal(vnet_decode(&v, &good, frame, 52, TAP_ETHERNET), 0);
}

static void test_vnet_packet_descriptor_round_trip(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 0);
	const struct tap_vnet v = {
		.gso = TAP_GSO_TCP4,
		.needs_csum = true,
		.gso_size = 1400,
		.hdr_len = 14 + 20 + 32,
		.csum_start = 34,
		.csum_offset = 16,
	};
	struct tap_vnet back;
	struct pkt *p = pkt_alloc(pool);
	uint8_t *h = pkt_push(p, 66);

	(void)state;
	memset(h, 0, 66);
	h[12] = 8;
	h[46] = 8 << 4; /* TCP data offset 8: a header of 32 octets */
	assert_int_equal(tap_vnet_to_pkt(p, &v, TAP_ETHERNET), 0);
	assert_int_equal(frame_info(p)->gso, FRAME_GSO_TCP4);
	assert_int_equal(frame_info(p)->gso_size, 1400);
	assert_int_equal(frame_info(p)->csum_start, 20);
	assert_int_equal(frame_info(p)->csum_offset, 16);
	assert_int_equal(frame_info(p)->csum, FRAME_CSUM_PARTIAL);
	tap_vnet_from_pkt(&back, p, TAP_ETHERNET);
	assert_int_equal(back.gso, v.gso);
	assert_true(back.needs_csum);
	assert_int_equal(back.gso_size, v.gso_size);
	assert_int_equal(back.hdr_len, v.hdr_len);
	assert_int_equal(back.csum_start, v.csum_start);
	assert_int_equal(back.csum_offset, v.csum_offset);

	/*
	 * Of the segments of a super-frame, only the first may have TCP's flag CWR. A super-frame
	 * with CWR must therefore have the flag ECN in its virtio-net header.
	 */
	assert_false(back.ecn);
	h[47] = 0x90;
	tap_vnet_from_pkt(&back, p, TAP_ETHERNET);
	assert_true(back.ecn);
	frame_info(p)->gso = FRAME_GSO_UDP;
	tap_vnet_from_pkt(&back, p, TAP_ETHERNET);
	assert_false(back.ecn);

	/*
	 * A VLAN tag moves the IP header away from the place that the virtio-net header names, so a
	 * frame with the EtherType of a VLAN tag must be refused.
	 */
	h[12] = 0x81;
	h[13] = 0x00;
	assert_int_equal(tap_vnet_to_pkt(p, &v, TAP_ETHERNET), -EBADMSG);
	assert_int_equal(tap_vnet_to_pkt(p, &(struct tap_vnet){ .csum_ok = true }, TAP_ETHERNET),
			 0);
	assert_int_equal(frame_info(p)->csum, FRAME_CSUM_OK);
	assert_int_equal(frame_info(p)->gso, FRAME_GSO_NONE);
	pkt_free(p);
	pkt_pool_destroy(pool);
}

/*
 * A frame of a device of link-layer type 32 (InfiniBand) has 44 octets before its IP header, and no
 * VLAN tag.
 */
static void test_vnet_infiniband(void **state)
{
	struct virtio_net_hdr h = {
		.flags = F_NEEDS_CSUM,
		.gso_type = GSO_UDP_L4,
		.gso_size = 1400,
		.csum_start = 64,
		.csum_offset = 6,
	};
	struct tap_vnet v;

	(void)state;
	memset(frame, 0, sizeof(frame));
	set_type(12, 0x86dd); /* this value in the source address is no EtherType */
	set_type(40, 0x0800);
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_INFINIBAND), 0);
	assert_int_equal(v.gso, TAP_GSO_UDP4);
	set_type(40, 0x86dd);
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_INFINIBAND), 0);
	assert_int_equal(v.gso, TAP_GSO_UDP6);
	set_type(40, 0x8100);
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_INFINIBAND), -EBADMSG);
	set_type(40, 0x0800);
	h.csum_start = 43;
	assert_int_equal(vnet_decode(&v, &h, frame, 2000, TAP_INFINIBAND), -EBADMSG);
	h = (struct virtio_net_hdr){ 0 };
	for (size_t len = 0; len < 44; len++)
		assert_int_equal(vnet_decode(&v, &h, frame, len, TAP_INFINIBAND), -EBADMSG);
	assert_int_equal(vnet_decode(&v, &h, frame, 44, TAP_INFINIBAND), 0);
}

static void test_vnet_infiniband_packet_descriptor(void **state)
{
	struct pkt_pool *pool = pkt_pool_create(1, 0);
	const struct tap_vnet v = {
		.gso = TAP_GSO_TCP4,
		.needs_csum = true,
		.gso_size = 1400,
		.hdr_len = 44 + 20 + 32,
		.csum_start = 64,
		.csum_offset = 16,
	};
	struct tap_vnet back;
	struct pkt *p = pkt_alloc(pool);
	uint8_t *h = pkt_push(p, 96);

	(void)state;
	memset(h, 0, 96);
	h[12] = 0x81; /* would be a VLAN tag in Ethernet */
	h[76] = 8 << 4; /* TCP data offset 8 */
	assert_int_equal(tap_vnet_to_pkt(p, &v, TAP_INFINIBAND), 0);
	assert_int_equal(frame_info(p)->csum_start, 20);
	tap_vnet_from_pkt(&back, p, TAP_INFINIBAND);
	assert_int_equal(back.hdr_len, v.hdr_len);
	assert_int_equal(back.csum_start, v.csum_start);
	assert_int_equal(back.csum_offset, v.csum_offset);
	assert_int_equal(tap_vnet_to_pkt(p,
					 &(struct tap_vnet){ .needs_csum = true, .csum_start = 44 },
					 TAP_INFINIBAND),
			 -EBADMSG);
	pkt_free(p);
	pkt_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vnet_plain_frame),
		cmocka_unit_test(test_vnet_gso_round_trip),
		cmocka_unit_test(test_vnet_udp_behind_vlan_tags),
		cmocka_unit_test(test_vnet_contradictions_refused),
		cmocka_unit_test(test_vnet_packet_descriptor_round_trip),
		cmocka_unit_test(test_vnet_infiniband),
		cmocka_unit_test(test_vnet_infiniband_packet_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
