/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_UDP_TRAIN_H
#define TESTS_UNIT_UDP_TRAIN_H

/*
 * A train (several packets of one flow in one descriptor) as an interface makes it, for tests of
 * modules that carry trains
 */

#include <string.h>

#include "check.h"
#include "train/train.h"

#define UDP_TRAIN_ENCAP 4 /* octets of the encapsulation header */

/*
 * Make a train of @n datagrams over IPv4. Each has @size octets of payload (0x5a), except the last
 * one, which has @last octets.
 */
static inline struct pkt *udp_train(struct pkt_pool *pool, unsigned int n, unsigned int size,
				    unsigned int last)
{
	uint32_t len = (n - 1) * size + last;
	struct pkt_buf *b = pkt_buf_alloc(pool);
	struct pkt *p = pkt_alloc(pool);
	uint8_t h[UDP_TRAIN_ENCAP + 28] = { 8 }, *ip = h + UDP_TRAIN_ENCAP;

	assert_non_null(b);
	assert_non_null(p);
	memset(b->data, 0x5a, len);
	pkt_add_slice(p, b, b->data, len);
	pkt_buf_put(b);
	ip[0] = 0x45;
	be16_put(ip + 2, (uint16_t)(28 + len));
	ip[9] = 17;
	be16_put(ip + 24, (uint16_t)(8 + len));
	memcpy(pkt_push(p, sizeof(h)), h, sizeof(h));
	*frame_info(p) = (struct frame_info){
		.gso = FRAME_GSO_UDP,
		.gso_size = (uint16_t)size,
		.csum_start = 20,
		.csum_offset = 6,
		.csum = FRAME_CSUM_PARTIAL,
	};
	assert_int_equal(train_make(p, UDP_TRAIN_ENCAP, 2044), 0);
	assert_int_equal(pkt_count(p), n);
	return p;
}

#endif
