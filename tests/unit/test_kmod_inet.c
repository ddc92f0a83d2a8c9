/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "inet.h"
#include "util/prng.h"
#include "wire/inet.h"

/*
 * Tests kmod's checksums and large sends in user space (tests/kernel/kernel.h). The checksums are compared with those of
 * src/wire/inet.c.
 */

#define ENCAP 4
#define BUF 4400
#define TCP 6
#define UDP 17

struct packet {
	uint8_t octets[BUF];
	uint32_t ip_len, l4_len, len; /* .len: from the encapsulation header on */
	uint8_t proto;
	bool v4;
};

static void fill(struct prng *r, uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)prng_u64(r);
}

static uint8_t *ip_of(struct packet *p)
{
	return p->octets + ENCAP;
}

static uint8_t *l4_of(struct packet *p)
{
	return ip_of(p) + p->ip_len;
}

static uint8_t *checksum_of(struct packet *p)
{
	return l4_of(p) + (p->proto == TCP ? 16 : 6);
}

/* Make a packet with random contents and wrong checksums. @options: octets of options of IPv4, and of TCP */
static void make(struct packet *p, struct prng *r, bool v4, uint8_t proto, uint32_t options,
		 uint32_t data)
{
	uint32_t l4_hdr = proto == TCP ? 20 + options : 8;
	uint8_t *ip = ip_of(p);

	p->v4 = v4;
	p->proto = proto;
	p->ip_len = v4 ? 20 + options : 40;
	p->l4_len = l4_hdr + data;
	p->len = ENCAP + p->ip_len + p->l4_len;
	assert_in_range(p->len, 0, BUF);
	fill(r, p->octets, sizeof(p->octets));
	put_unaligned_be16(v4 ? 0x0800 : 0x86dd, p->octets);
	if (v4) {
		ip[0] = (uint8_t)(0x40 | p->ip_len / 4);
		put_unaligned_be16((uint16_t)(p->ip_len + p->l4_len), ip + 2);
		put_unaligned_be16(0x4000, ip + 6); /* DF */
		ip[9] = proto;
	} else {
		ip[0] = 0x60;
		put_unaligned_be16((uint16_t)p->l4_len, ip + 4);
		ip[6] = proto;
	}
	if (proto == TCP)
		l4_of(p)[12] = (uint8_t)(l4_hdr / 4 << 4);
	else
		put_unaligned_be16((uint16_t)p->l4_len, l4_of(p) + 4);
}

/* Return the checksum that the segment should have, by the functions of src/wire. */
static uint16_t wanted(struct packet *p)
{
	uint8_t *ip = ip_of(p), *l4 = l4_of(p), kept[2];
	uint32_t sum = p->v4 ? inet_pseudo4(ip + 12, ip + 16, p->proto, p->l4_len)
			     : inet_pseudo6(ip + 8, ip + 24, p->proto, p->l4_len);
	uint16_t c;

	memcpy(kept, checksum_of(p), sizeof(kept));
	memset(checksum_of(p), 0, sizeof(kept));
	c = inet_fold(inet_sum(sum, l4, p->l4_len));
	memcpy(checksum_of(p), kept, sizeof(kept));
	return !c && p->proto == UDP ? 0xffff : c;
}

static void check_checksums(struct packet *p)
{
	assert_false(uib_inet_csum_ok(p->octets, p->len));
	uib_inet_csum_put(p->octets, p->len);
	assert_int_equal(get_unaligned_be16(checksum_of(p)), wanted(p));
	if (p->v4)
		assert_int_equal(inet_fold(inet_sum(0, ip_of(p), p->ip_len)), 0);
	assert_true(uib_inet_csum_ok(p->octets, p->len));
}

static void test_checksums_are_those_of_the_user_space_stack(void **state)
{
	struct prng r;
	struct packet p;

	prng_seed(&r, 1);
	for (uint32_t data = 0; data < 4000; data += 1 + data / 7)
		for (uint32_t options = 0; options <= 40; options += 20)
			for (unsigned int kind = 0; kind < 4; kind++) {
				make(&p, &r, kind & 1, kind & 2 ? TCP : UDP, options, data);
				check_checksums(&p);
			}
}

/* Change each octet of a small packet in turn. Only an octet that no checksum covers may be changed. */
static void test_damage_is_found_in_every_octet_that_a_checksum_covers(void **state)
{
	struct prng r;
	struct packet p;

	prng_seed(&r, 2);
	for (unsigned int kind = 0; kind < 4; kind++) {
		make(&p, &r, kind & 1, kind & 2 ? TCP : UDP, 4, 33);
		uib_inet_csum_put(p.octets, p.len);
		for (uint32_t at = 0; at < p.len; at++) {
			/* the reserved octets of the encapsulation; Traffic Class, Flow Label and Hop Limit of IPv6 */
			bool covered = p.v4 ? at < 2 || at >= ENCAP
					    : at < 2 || at == ENCAP ||
						       (at >= ENCAP + 4 && at != ENCAP + 7);

			p.octets[at] ^= at == ENCAP ? 0xf0 : 0x5a;
			assert_int_equal(uib_inet_csum_ok(p.octets, p.len), !covered);
			p.octets[at] ^= at == ENCAP ? 0xf0 : 0x5a;
		}
		assert_true(uib_inet_csum_ok(p.octets, p.len));
	}
}

static void test_a_udp_checksum_of_0_is_sent_as_ffff(void **state)
{
	struct prng r;
	struct packet p;

	prng_seed(&r, 3);
	make(&p, &r, true, UDP, 0, 2);
	memset(l4_of(&p) + 8, 0, 2);
	put_unaligned_be16(wanted(&p), l4_of(&p) + 8); /* now all words add up to ffff */
	uib_inet_csum_put(p.octets, p.len);
	assert_int_equal(get_unaligned_be16(checksum_of(&p)), 0xffff);
	assert_true(uib_inet_csum_ok(p.octets, p.len));
	memset(checksum_of(&p), 0, 2); /* no checksum, so there is nothing that could be right */
	assert_false(uib_inet_csum_ok(p.octets, p.len));
}

/* A fragment has an IPv4 checksum, but its segment cannot be checked. Other protocols and packets have no checksums. */
static void test_fragments_and_strange_packets_are_left_alone(void **state)
{
	struct prng r;
	struct packet p, copy;

	prng_seed(&r, 4);
	make(&p, &r, true, TCP, 0, 100);
	put_unaligned_be16(0x2000, ip_of(&p) + 6); /* MF */
	copy = p;
	uib_inet_csum_put(p.octets, p.len);
	assert_int_equal(inet_fold(inet_sum(0, ip_of(&p), p.ip_len)), 0);
	memcpy(ip_of(&copy) + 10, ip_of(&p) + 10, 2);
	assert_memory_equal(p.octets, copy.octets, p.len);
	assert_false(uib_inet_csum_ok(p.octets, p.len));
	make(&p, &r, true, 1, 0, 100); /* ICMP */
	uib_inet_csum_put(p.octets, p.len);
	assert_false(uib_inet_csum_ok(p.octets, p.len));
	make(&p, &r, true, TCP, 0, 100);
	put_unaligned_be16(0x0806, p.octets); /* ARP */
	copy = p;
	uib_inet_csum_put(p.octets, p.len);
	assert_memory_equal(p.octets, copy.octets, p.len);
	assert_false(uib_inet_csum_ok(p.octets, p.len));
}

/* Every length of every packet, with random octets in place of the headers: no octet outside of the packet is touched. */
static void test_random_and_truncated_packets_stay_inside_their_octets(void **state)
{
	struct prng r;
	struct packet p;

	prng_seed(&r, 5);
	for (unsigned int i = 0; i < 20000; i++) {
		uint32_t len = (uint32_t)(prng_u64(&r) % 130);
		uint8_t *exact = malloc(len ? len : 1);

		assert_non_null(exact);
		make(&p, &r, i & 1, i & 2 ? TCP : UDP, 4 * (uint32_t)(prng_u64(&r) % 11), 20);
		if (i & 4)
			p.octets[ENCAP + prng_u64(&r) % 30] = (uint8_t)prng_u64(&r);
		memcpy(exact, p.octets, len);
		uib_inet_csum_ok(exact, len);
		uib_inet_csum_put(exact, len);
		uib_lso_ok(exact, len);
		free(exact);
	}
}

static void test_a_large_send_needs_the_exact_headers_of_a_tcp_segment(void **state)
{
	struct prng r;
	struct packet p;

	prng_seed(&r, 6);
	for (unsigned int v4 = 0; v4 < 2; v4++) {
		uint32_t hdr;

		make(&p, &r, v4, TCP, 40, 0);
		hdr = p.len;
		assert_int_equal(hdr, v4 ? UIB_LSO_HDR_MAX : 104);
		assert_true(uib_lso_ok(p.octets, hdr));
		assert_false(uib_lso_ok(p.octets, hdr - 1));
		assert_false(uib_lso_ok(p.octets, hdr + 1));
		for (uint32_t len = 0; len < hdr; len++)
			assert_false(uib_lso_ok(p.octets, len));
		p.octets[v4 ? ENCAP + 9 : ENCAP + 6] = UDP;
		assert_false(uib_lso_ok(p.octets, hdr));
		make(&p, &r, v4, TCP, 0, 0);
		p.octets[1]++;
		assert_false(uib_lso_ok(p.octets, p.len));
	}
	make(&p, &r, true, TCP, 0, 0);
	put_unaligned_be16(1, ip_of(&p) + 6); /* a fragment */
	assert_false(uib_lso_ok(p.octets, p.len));
}

#define MSS 1000
#define SEGMENTS 5
#define FLAGS 0x99 /* CWR, ACK, PSH, FIN */

/* RFC 9293, RFC 3168 section 6.1.2 (CWR), RFC 791 (Identification) */
static void check_segment(struct packet *large, uint32_t index)
{
	bool last = index == SEGMENTS - 1;
	uint32_t len = last ? 7 : MSS, hdr = large->len;
	uint8_t *tcp_in = l4_of(large), *tcp;
	struct packet p = *large;

	uib_lso_header(p.octets, large->octets, hdr, index, MSS, len, last);
	tcp = l4_of(&p);
	assert_int_equal(get_unaligned_be16(p.octets), get_unaligned_be16(large->octets));
	assert_int_equal(get_unaligned_be32(tcp + 4),
			 (uint32_t)(get_unaligned_be32(tcp_in + 4) + index * MSS));
	assert_int_equal(tcp[13], (index ? 0x10 : 0x90) | (last ? 0x09 : 0));
	if (p.v4) {
		assert_int_equal(get_unaligned_be16(ip_of(&p) + 2), hdr - ENCAP + len);
		assert_int_equal(get_unaligned_be16(ip_of(&p) + 4),
				 (uint16_t)(get_unaligned_be16(ip_of(large) + 4) + index));
	} else {
		assert_int_equal(get_unaligned_be16(ip_of(&p) + 4), hdr - ENCAP - 40 + len);
	}
	/* all other octets of the headers are unchanged */
	memcpy(ip_of(&p) + (p.v4 ? 2 : 4), ip_of(large) + (p.v4 ? 2 : 4), p.v4 ? 4 : 2);
	memcpy(tcp + 4, tcp_in + 4, 4);
	tcp[13] = tcp_in[13];
	assert_memory_equal(p.octets, large->octets, hdr);
}

static void
test_the_segments_of_a_large_send_have_the_headers_that_tcp_would_give_them(void **state)
{
	struct prng r;
	struct packet large;

	prng_seed(&r, 7);
	for (unsigned int v4 = 0; v4 < 2; v4++)
		for (uint32_t options = 0; options <= 40; options += 8) {
			make(&large, &r, v4, TCP, options, 0);
			put_unaligned_be16(0xfffe,
					   ip_of(&large) +
						   (v4 ? 4 : 2)); /* the Identification wraps */
			put_unaligned_be32(0xfffffff0,
					   l4_of(&large) + 4); /* and so does the sequence number */
			l4_of(&large)[13] = FLAGS;
			for (uint32_t i = 0; i < SEGMENTS; i++)
				check_segment(&large, i);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksums_are_those_of_the_user_space_stack),
		cmocka_unit_test(test_damage_is_found_in_every_octet_that_a_checksum_covers),
		cmocka_unit_test(test_a_udp_checksum_of_0_is_sent_as_ffff),
		cmocka_unit_test(test_fragments_and_strange_packets_are_left_alone),
		cmocka_unit_test(test_random_and_truncated_packets_stay_inside_their_octets),
		cmocka_unit_test(test_a_large_send_needs_the_exact_headers_of_a_tcp_segment),
		cmocka_unit_test(
			test_the_segments_of_a_large_send_have_the_headers_that_tcp_would_give_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
