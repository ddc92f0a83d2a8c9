/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ETH_IB_H
#define TESTS_ETH_IB_H

/*
 * The rig of eth_rig.h for interfaces of the InfiniBand shape. Frames have a link header of 44
 * octets: the source address (20), the destination address (20), the ethertype (2) and zeros (2).
 * The interface has LID 5 and QPN 0x48, and the peer has LID 7 and QPN 0x77.
 */

#include "unit/eth_rig.h"

#define HLEN 44
#define OWN_HW "\0\0\0\x48\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x05"
#define PEER_HW "\0\0\0\x77\xfe\x80\0\0\0\0\0\0\0\x02\xc9\x03\0\0\0\x07"
#define BCAST_HW "\0\xff\xff\xff\xff\x12\x40\x1b\x80\x01\0\0\0\0\0\0\xff\xff\xff\xff"
#define NO_HW "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

static inline const uint8_t *hw(const char *s)
{
	return (const uint8_t *)s;
}

static inline void ib_begin(const char *profile)
{
	er_shape = ETH_SHAPE_INFINIBAND;
	er_profile = ipoib_profile_find(profile);
	assert_non_null(er_profile);
	er_init();
	rig_peer(&er.r, ER_PEER);
}

static inline void ib_end(void)
{
	er_fini();
	er_shape = ETH_SHAPE_ETHERNET;
	er_profile = NULL;
}

static inline struct pkt *ib_frame(const uint8_t src[20], const uint8_t dst[20], uint16_t type,
				   const void *data, size_t n)
{
	static uint8_t b[68000];
	struct pkt *p;

	assert_true(HLEN + n <= sizeof(b));
	memcpy(b, src, 20);
	memcpy(b + 20, dst, 20);
	be16_put(b + 40, type);
	be16_put(b + 42, 0);
	memcpy(b + HLEN, data, n);
	p = pkt_from_data(er.r.pool, b, HLEN + n);
	assert_non_null(p);
	return p;
}

/* Send a frame whose source is the interface's own address, as the kernel does. */
static inline void ib_tx(const uint8_t dst[20], uint16_t type, const void *data, size_t n)
{
	er_tx_pkt(ib_frame(hw(OWN_HW), dst, type, data, n));
	er_run(NS_MSEC(10));
}

/*
 * Check that exactly one frame was delivered, and that its link header is right. Returns the octets
 * after this header.
 */
static inline const uint8_t *ib_got(const uint8_t src[20], const uint8_t dst[20], uint16_t type)
{
	const struct er_got *g = &er.got[0];

	assert_int_equal(er.ngot, 1);
	assert_true(g->len >= HLEN);
	assert_memory_equal(g->data, src, 20);
	assert_memory_equal(g->data + 20, dst, 20);
	assert_int_equal(be16_at(g->data + 40), type);
	assert_int_equal(be16_at(g->data + 42), 0);
	return g->data + HLEN;
}

/*
 * Let a packet with a GRH arrive from the peer, in the encapsulation of the link's profile. The
 * packet is a multicast to the group @mgid, or a unicast if @mgid is NULL
 */
static inline void ib_rx(uint16_t type, const void *data, size_t n, const ib_gid *mgid)
{
	const struct ipoib_encap *encap = &ipoib_link_profile(er.r.link)->encap;
	uint8_t b[ER_OCTETS];
	struct pkt *p;

	encap->write(b, type);
	memcpy(b + encap->len, data, n);
	p = pkt_from_data(er.r.pool, b, encap->len + n);
	assert_non_null(p);
	er_rx_pkt(p, ER_PEER, ER_PEER_QPN, true, mgid);
}

#endif
