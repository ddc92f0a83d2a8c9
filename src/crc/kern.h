/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRC_KERN_H
#define CRC_KERN_H

/*
 * DOC: Both CRCs by one carry-less fold
 *
 * A kernel is the code that computes the CRCs on one kind of CPU. This header has what the kernels
 * share. Only crc/ includes it.
 *
 * Octets are read as polynomials over GF(2) in *reflected* order: in a register of N bits loaded
 * little-endian, bit i is the coefficient of x^(N-1-i). P16 is the generator of the VCRC,
 * x^16 + x^12 + x^3 + x + 1 (0x100B). P32 is the generator of the ICRC (0x04C11DB7). To compute the
 * CRC of a message M, first the initial register is XORed into the first octets of M. Then the CRC
 * is M * x^16 mod P16, or M * x^32 mod P32.
 *
 * The carry-less product of two reflected 64-bit registers a and b has 128 bits. Read as a
 * reflected register, it is a * b * x. So a constant that has to multiply by x^n holds x^(n-1).
 *
 * Folding. The message is folded modulo Q = P16 * P32, which has degree 48, so one fold serves both
 * CRCs. Let a 128-bit register be A = lo * x^64 + hi (lo: the low quadword, which holds the earlier
 * octets). Let another register come n bits later in the message. The fold drops A, and adds this
 * value to the later register instead:
 *
 *	A * x^n  =  lo * x^(n+64) + hi * x^n  ==  clmul(lo, k[0]) ^ clmul(hi, k[1])
 *	k[0] = x^(n+63) mod Q,  k[1] = x^(n-1) mod Q
 *
 * Two messages in one. The ICRC begins with another register than the VCRC, and runs over ones in
 * place of the header fields that switches may change. So, if V is the message of the VCRC, the
 * message of the ICRC is V + D, with a difference D in the first octets. By the Chinese remainder
 * theorem there is a polynomial e with e = 1 mod P32 and e = 0 mod P16. So V + (D * e mod Q) equals
 * V modulo P16, and equals V + D modulo P32. The product D * e of a register D is computed as a
 * fold with these constants:
 *
 *	k[0] = x^63 * e mod Q,  k[1] = x^-1 * e mod Q
 *
 * Finishing. Let P be P16 and d = 16, or P32 and d = 32. Let R = P * x^(64-d), of degree 64. The
 * CRC is A * x^d mod P, and A * x^64 mod R is x^(64-d) times the CRC. So the usual reduction of a
 * 64-bit CRC can be used:
 *
 *	B = A * x^64  ==  clmul(lo, x^127 mod R) ^ (hi moved to the low quadword)
 *	q = B.lo * x^64 div R  =  low quadword of clmul(B.lo, x^127 div R)	(Barrett)
 *	CRC = the coefficients of x^(64-d) to x^63 in (B ^ q * R)
 *
 * R is x^64 plus (P - x^d) * x^(64-d), and the product q * x^64 has no terms below x^64. So
 * B ^ clmul(q, (P - x^d) * x^(63-d)) has the same coefficients there, at bits 64 to 63 + d. The
 * other constants come from P:
 *
 *	x^127 mod R = x^(64-d) * (x^(63+d) mod P),  x^127 div R = x^(63+d) div P
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "crc/run.h"
#include "wire/ib_hdr.h"

#define CRC_BODY_MIN 256 /* smallest number of octets for crc_kernel.body() */
#define CRC_BODY_MAX 4096 /* largest number of octets of payload and pad in a run */
#define CRC_VEC_MAX 64 /* octets of the largest vector register */

struct crc_fold {
	uint64_t k[2];
};

/* Constants that reduce a folded register to one of the two CRCs */
struct crc_finish {
	uint64_t first; /* x^127 mod R, where R, P and d are those of "Finishing" above */
	uint64_t mu; /* x^127 div R */
	uint64_t poly; /* (P - x^d) * x^(63-d) */
};

struct crc_consts {
	struct crc_fold by16, by32, by48, by64; /* constants to fold over 16, 32, ... octets */
	struct crc_fold by96, by128, by192, by256;
	/* [n]: constants to fold over n words of 4 octets */
	struct crc_fold by_words[(CRC_BODY_MAX + PKT_HDR_MAX) / 4];
	struct crc_fold only_icrc; /* constants to multiply by e, see "Two messages in one" above */
	struct crc_finish vcrc, icrc;
	/*
	 * Control masks for pshufb. The 16 octets from [n] on move the first n octets of a register to its
	 * end; those from [16 + n] on move the other 16 - n octets to its start. Other octets become zero.
	 */
	uint8_t shift[48];
	/*
	 * CRC_VEC_MAX octets of zeros, as many of ones, and as many of zeros. A vector that is loaded from one of the
	 * borders between them masks the first or the last octets of another vector
	 */
	uint8_t mask[3 * CRC_VEC_MAX];
} __attribute__((aligned(64)));

extern struct crc_consts crc_k;

/* crc_consts_init() - Compute crc_k */
void crc_consts_init(void);

/*
 * Masks of 16 octets. Their bits are ones in the fields that are replaced by ones for the ICRC
 * (IBTA 7.8.1). Without a GRH, crc_local_ones is the mask for the octets from 0 on. With a GRH,
 * crc_global_ones is the mask for the octets from 0 on, and crc_global_bth_ones for the octets from
 * CRC_GLOBAL_ROW on
 */
extern const uint8_t crc_local_ones[16], crc_global_ones[16], crc_global_bth_ones[16];
#define CRC_GLOBAL_ROW 48

/* Lengths of the headers from LRH to DETH, without and with a GRH */
#define CRC_LOCAL_HDR (IB_LRH_LEN + IB_BTH_LEN + IB_DETH_LEN)
#define CRC_GLOBAL_HDR IB_UD_HDR_MAX

/* A packet from LRH to pad, in parts. The first part has all headers from LRH to DETH. */
struct crc_msg {
	bool grh;
	unsigned int nparts;
	struct crc_part {
		const uint8_t *p;
		size_t len;
	} part[4];
};

/* CRC registers after the last octet of a struct crc_msg, not complemented */
struct crc_regs {
	uint32_t icrc;
	uint16_t vcrc;
};

/* Payloads of packets, the rows of a table in memory, and their places in a sum (crc/add.h) */
struct crc_rows {
	const uint8_t *first; /* the row that comes first in the sum */
	ptrdiff_t next; /* octets in memory from a row to the row that comes next in the sum */
	uint32_t len; /* octets of each row */
	unsigned int n; /* number of rows */
	uint32_t at; /* offset in the sum of the first row */
	uint32_t step; /* octets in the sum from a row to the next one */
};

/* Code for one kind of CPU. crc16() and crc32() get at least 16 octets. */
struct crc_kernel {
	const char *name;
	struct crc_regs (*msg)(
		/*
		 * NULL: on this CPU no function is faster than separate calls of crc32_update() and
		 * crc16_update()
		 */
		const struct crc_msg *m);
	/*
	 * The functions of a run (crc/run.h). body() is NULL on a CPU where it would take as long as a CRC and a sum,
	 * or longer. Then nothing calls the other two, which may be NULL.
	 *
	 * body() - Fold and sum a payload of CRC_BODY_MIN octets or more in one pass
	 * common() - Set run->common to the folded headers @hdr. @octets is the number of octets of payload and pad
	 * join() - Return the registers of a packet with the words @words
	 */
	struct crc_body (*body)(const uint8_t *p, size_t len);
	void (*common)(struct crc_run *run, const struct crc_part *hdr, size_t octets);
	struct crc_regs (*join)(const struct crc_run *run, const uint32_t *words,
				const struct crc_body *body);
	uint16_t (*crc16)(uint16_t reg, const void *p, size_t len);
	uint32_t (*crc32)(uint32_t reg, const void *p, size_t len);
	/*
	 * Add payloads to a sum (crc/add.h). @sum and the memory that contains the rows begin and end at multiples of
	 * CRC_VEC_MAX, and a row and its place in the sum begin at equal distances from such multiples
	 */
	void (*add)(uint8_t *sum, const struct crc_rows *r);
};

/*
 * crc_is_plain() - Tell whether a packet has its headers from LRH to DETH in hdr[], a payload in one slice,
 * and a tail with room for both CRCs
 */
bool crc_is_plain(const struct pkt *p);

/*
 * crc_kernels() - Return all kernels that this CPU supports, the fastest one first, and the
 * portable one last
 */
const struct crc_kernel *const *crc_kernels(size_t *ret_n);

extern const struct crc_kernel *crc_best;
extern const struct crc_kernel crc_portable;

/*
 * crc16_short() - Do the work of crc_kernel.crc16 for any number of octets, also for fewer than 16
 */
uint16_t crc16_short(uint16_t reg, const uint8_t *p, size_t len);

/* crc_put_regs() - Write ICRC and VCRC at @crcs. The registers are those after the last pad octet */
void crc_put_regs(uint8_t *crcs, const struct crc_regs *r);

/* crc_tables_init() - Compute the tables of crc_portable, crc16_short() and crc16_vl_delta() */
void crc_tables_init(void);

/*
 * crc16_vl_delta() - Return the value by which the VCRC of a packet changes (XOR) when the bits @diff of LRH.VL
 * change. @octets is the number of octets from LRH to ICRC, a multiple of 4 and at most CRC16_VL_MAX
 */
#define CRC16_VL_MAX (4 * 2047) /* LRH.PktLen has 11 bits and counts words */
uint16_t crc16_vl_delta(unsigned int diff, size_t octets);

#if defined(__x86_64__)
extern const struct crc_kernel crc_clmul, crc_vclmul256, crc_vclmul512;
#endif

#endif
