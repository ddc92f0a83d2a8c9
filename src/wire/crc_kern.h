/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_CRC_KERN_H
#define WIRE_CRC_KERN_H

/*
 * DOC: CRC-16 by carry-less multiplication
 *
 * This header has what the kernels of crc16_update() share. Only wire/crc*.c include it.
 *
 * Octets are read as polynomials over GF(2) in *reflected* order: in a register of
 * N bits loaded little-endian, bit i is the coefficient of x^(N-1-i). P is the
 * generator x^16 + x^12 + x^3 + x + 1 (0x100B). The CRC of a message M is
 * M * x^16 mod P, after the register was XORed into the first two octets of M.
 *
 * A carry-less product of two reflected 64-bit registers a and b is, read as a
 * reflected 128-bit register, a * b * x. So a constant that has to multiply by
 * x^n holds x^(n-1) mod P.
 *
 * Folding. A 128-bit register A = lo * x^64 + hi (lo: the low quadword, which holds the earlier
 * octets) that stands n bits before another register is moved onto that register by
 *
 *	A * x^n  =  lo * x^(n+64) + hi * x^n  ==  clmul(lo, k[0]) ^ clmul(hi, k[1])
 *	k[0] = x^(n+63) mod P,  k[1] = x^(n-1) mod P
 *
 * Finishing. Let Q = P * x^48, of degree 64. Then A * x^64 mod Q is the 16-bit
 * CRC A * x^16 mod P times x^48, so the usual reduction of a 64-bit CRC serves:
 *
 *	B = A * x^64  ==  clmul(lo, x^127 mod Q) ^ (hi moved to the low quadword)
 *	q = B.lo * x^64 div Q  =  low quadword of clmul(B.lo, x^127 div Q)	(Barrett)
 *	CRC = x^48..x^63 of (B ^ q * Q); only P - x^16 of Q reaches these bits, so
 *	      clmul(q, (P - x^16) * x^47) puts them at bits 64..79
 *
 * x^127 mod Q = x^48 * (x^79 mod P), and x^127 div Q = x^79 div P.
 */

#include <stddef.h>
#include <stdint.h>

struct crc16_fold {
	uint64_t k[2];
};

struct crc16_consts {
	struct crc16_fold by16, by32, by48; /* constants to fold over 16, 32, ... octets */
	struct crc16_fold by64, by128, by192, by256;
	uint64_t finish; /* x^127 mod Q */
	uint64_t mu; /* x^127 div Q */
	uint64_t poly; /* (P - x^16) * x^47 */
	/*
	 * Control masks for pshufb. The 16 octets from [n] on move the first n octets of a register to its
	 * end; those from [16 + n] on move the other 16 - n octets to its start. Other octets become zero.
	 */
	uint8_t shift[48];
} __attribute__((aligned(64)));

extern struct crc16_consts crc16_k;

/* crc16_slice() - The kernel that uses tables; crc16_short() - for less than 16 octets */
uint16_t crc16_slice(uint16_t reg, const void *p, size_t len);
uint16_t crc16_short(uint16_t reg, const uint8_t *p, size_t len);

/*
 * crc16_vl_delta() - The value by which the VCRC of a packet changes (XOR) when the bits @diff of LRH.VL
 * change. @octets counts LRH to ICRC; it is a multiple of 4 and at most CRC16_VL_MAX
 */
#define CRC16_VL_MAX (4 * 2047) /* LRH.PktLen has 11 bits and counts words */
uint16_t crc16_vl_delta(unsigned int diff, size_t octets);

#if defined(__x86_64__)
uint16_t crc16_clmul(uint16_t reg, const void *p, size_t len);
uint16_t crc16_vclmul(uint16_t reg, const void *p, size_t len);
#endif

#endif
