/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRC_ADD_H
#define CRC_ADD_H

/*
 * DOC: Adding payloads to a sum, in vectors
 *
 * The payloads of packets are the rows of a table in memory. A row of the table is XORed into the
 * sum (crc/sum.h) in vectors of CRC_VEC octets. A vector of a row begins at a multiple of CRC_VEC,
 * as its place in the sum does. So no vector crosses the border between two lines of the cache; if
 * it did, it would take as long as two.
 *
 *	sum	|.......|.......|.......|.......|.......|.......|.......|
 *	row 0	    <------------------------------------------>
 *	row 1	        <------------------------------------------>
 *	row 2	            <------------------------------------------>
 *		   edges|    vectors that all rows have     |  edges
 *
 * In the vectors that all rows of a group have, the sum stays in registers while the rows are
 * added. The vectors at the edges are added row by row. The first and the last of them may have
 * octets that do not belong to the row, and these are masked.
 *
 * Each kernel includes this file, so that the functions are compiled for the registers of its CPU.
 */

#include <string.h>

#include "crc/kern.h"

/* octets of a vector register, CRC_VEC_MAX or less */
#if defined(__AVX512F__)
#define CRC_VEC 64
#elif defined(__AVX2__)
#define CRC_VEC 32
#else
#define CRC_VEC 16
#endif

typedef uint8_t crc_vec __attribute__((vector_size(CRC_VEC), may_alias));
typedef uint8_t crc_vec_unaligned __attribute__((vector_size(CRC_VEC), may_alias, aligned(1)));

#define CRC_INLINE static inline __attribute__((always_inline))
#define CRC_GROUP 8 /* largest number of rows that are added together */
#define CRC_BLOCK (4 * CRC_VEC) /* octets of the sum that are kept in registers */

CRC_INLINE uint32_t crc_vec_up(uint32_t at)
{
	return (at + CRC_VEC - 1) / CRC_VEC * CRC_VEC;
}

CRC_INLINE uint32_t crc_vec_down(uint32_t at)
{
	return at / CRC_VEC * CRC_VEC;
}

/*
 * The functions below take a row as the address @row that its octets would have if they began at
 * offset 0 of the sum.
 */

/* Add the whole vectors of a row from offset @from to offset @to */
CRC_INLINE void crc_add_vecs(uint8_t *sum, const uint8_t *row, uint32_t from, uint32_t to)
{
	for (; from < to; from += CRC_VEC)
		*(crc_vec *)(sum + from) ^= *(const crc_vec *)(row + from);
}

/* Add the octets from offset @from to offset @to, which are in the vector at offset @at. */
CRC_INLINE void crc_add_some(uint8_t *sum, const uint8_t *row, uint32_t at, uint32_t from,
			     uint32_t to)
{
	const uint8_t *ones = crc_k.mask + CRC_VEC_MAX;
	crc_vec v = *(const crc_vec *)(row + at);

	v &= *(const crc_vec_unaligned *)(ones - (from - at));
	v &= *(const crc_vec_unaligned *)(ones + CRC_VEC_MAX - (to - at));
	*(crc_vec *)(sum + at) ^= v;
}

/* Add the octets of a row from offset @from to offset @to that do not fill a vector. */
CRC_INLINE void crc_add_ends(uint8_t *sum, const uint8_t *row, uint32_t from, uint32_t to)
{
	uint32_t first = crc_vec_down(from), last = crc_vec_down(to);

	if (first == last) {
		crc_add_some(sum, row, first, from, to);
		return;
	}
	if (from > first)
		crc_add_some(sum, row, first, from, first + CRC_VEC);
	if (to > last)
		crc_add_some(sum, row, last, last, to);
}

/*
 * Add @n rows, from offset @from on, in blocks up to at most offset @to. The next row is at @next
 * octets from a row. Return: the offset up to which the rows are added
 */
CRC_INLINE uint32_t crc_add_blocks(uint8_t *sum, const uint8_t *rows, ptrdiff_t next,
				   unsigned int n, uint32_t from, uint32_t to)
{
	for (; from + CRC_BLOCK <= to; from += CRC_BLOCK) {
		crc_vec *s = (crc_vec *)(sum + from);
		crc_vec a = s[0], b = s[1], c = s[2], d = s[3];
		const uint8_t *row = rows + from;

		for (unsigned int i = 0; i < n; i++, row += next) {
			const crc_vec *v = (const crc_vec *)row;

			a ^= v[0];
			b ^= v[1];
			c ^= v[2];
			d ^= v[3];
		}
		s[0] = a;
		s[1] = b;
		s[2] = c;
		s[3] = d;
	}
	return from;
}

/* Add @n rows. The first one begins at offset @at of the sum. */
CRC_INLINE void crc_add_group(uint8_t *sum, const struct crc_rows *r, const uint8_t *row,
			      ptrdiff_t next, uint32_t at, unsigned int n)
{
	/* The last row begins last, and the first row ends first. */
	uint32_t from = crc_vec_up(at + (n - 1) * r->step), to = crc_vec_down(at + r->len);
	uint32_t done = crc_add_blocks(sum, row, next, n, from, to);

	for (unsigned int i = 0; i < n; i++, row += next, at += r->step) {
		uint32_t end = crc_vec_down(at + r->len);

		crc_add_vecs(sum, row, crc_vec_up(at), from < end ? from : end);
		crc_add_vecs(sum, row, done, end);
		crc_add_ends(sum, row, at, at + r->len);
	}
}

/* This is crc_kernel.add of each kernel. */
static inline void crc_add_rows(uint8_t *sum, const struct crc_rows *r)
{
	ptrdiff_t next = r->next - (ptrdiff_t)r->step;
	const uint8_t *row = r->first - r->at;

	for (unsigned int i = 0, n; i < r->n; i += n) {
		n = r->n - i < CRC_GROUP ? r->n - i : CRC_GROUP;
		crc_add_group(sum, r, row + (ptrdiff_t)i * next, next, r->at + i * r->step, n);
	}
}

#endif
