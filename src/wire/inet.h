/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_INET_H
#define WIRE_INET_H

/* Functions for the Internet checksum (RFC 1071) of a packet that is in several parts */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/pkt.h"

/*
 * inet_sum() - Add @len octets to a running sum, which is 0 at first. Only the last part of a
 * packet may have an odd length.
 */
uint32_t inet_sum(uint32_t sum, const void *p, size_t len);

/*
 * inet_sum_native() - Return the running sum after words whose sum, as words of 16 or 32 bits in host order, is @sum
 */
uint32_t inet_sum_native(uint64_t sum);

/*
 * inet_sum_pkt() - Add the octets of packet @p to a running sum, from offset @from up to the last
 * octet of the packet. @from must lie in hdr[]. The parts of the packet may have odd lengths.
 */
uint32_t inet_sum_pkt(uint32_t sum, const struct pkt *p, uint32_t from);

/*
 * inet_fold() - Return the checksum of a running sum, folded and complemented, in host order; the
 * caller stores it by be16_put()
 */
uint16_t inet_fold(uint32_t sum);

/*
 * inet_fold_udp() - As inet_fold(), for the checksum of a UDP header if @udp. UDP sends all ones in place of 0, because 0 means
 * that there is no checksum (RFC 768)
 */
static inline uint16_t inet_fold_udp(uint32_t sum, bool udp)
{
	uint16_t csum = inet_fold(sum);

	return udp && !csum ? 0xffff : csum;
}

/* Return the sum of the pseudo header; @l4_len is the length of the TCP or UDP header and its data */
uint32_t inet_pseudo4(const uint8_t src[4], const uint8_t dst[4], uint8_t proto, uint32_t l4_len);
uint32_t inet_pseudo6(const uint8_t src[16], const uint8_t dst[16], uint8_t proto, uint32_t l4_len);

#endif
