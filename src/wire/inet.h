/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_INET_H
#define WIRE_INET_H

/* Internet checksum, RFC 1071, over parts of a packet. */

#include <stddef.h>
#include <stdint.h>

/* inet_sum() - Add @len octets to a running sum; @sum starts at 0. Parts of odd length: only the last */
uint32_t inet_sum(uint32_t sum, const void *p, size_t len);

/* inet_fold() - Fold and complement: the value to store, in host order of a big-endian field */
uint16_t inet_fold(uint32_t sum);

/* inet_copy_sum() - memcpy() and sum in one pass */
uint32_t inet_copy_sum(void *dst, const void *src, size_t len, uint32_t sum);

/* Pseudo headers: @proto and the length of the L4 header and data. */
uint32_t inet_pseudo4(const uint8_t src[4], const uint8_t dst[4], uint8_t proto, uint32_t l4_len);
uint32_t inet_pseudo6(const uint8_t src[16], const uint8_t dst[16], uint8_t proto, uint32_t l4_len);

#endif
