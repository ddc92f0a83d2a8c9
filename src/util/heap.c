/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define EXPECT_MIN ((size_t)32 << 20) /* for less memory, huge pages gain too little */
#define EXPECT_MAX ((size_t)1 << 30) /* fits in the int of mallopt() */

#ifdef __GLIBC__

/*
 * Extend the heap by about @octets in advance, by allocating and freeing one piece:
 *
 *	M_MMAP_THRESHOLD	The piece is smaller than this, so it comes from the heap.
 *	M_TOP_PAD		If no free part of the heap is large enough for the piece,
 *				malloc() asks the kernel for this many octets more than the
 *				piece needs.
 *	M_TRIM_THRESHOLD	While the free memory at the end of the heap is smaller than
 *				this, free() does not return it to the kernel. When the piece
 *				is freed, this memory has about the size of @octets and the
 *				piece together. So the threshold is higher than this.
 */
static void heap_extend(size_t octets)
{
	/* volatile, because a compiler may leave out a malloc() whose result is only freed */
	void *volatile piece;

	mallopt(M_MMAP_THRESHOLD, (int)EXPECT_MIN);
	mallopt(M_TRIM_THRESHOLD, (int)(octets + EXPECT_MIN));
	mallopt(M_TOP_PAD, (int)octets);
	piece = malloc(EXPECT_MIN / 2);
	free(piece);
	mallopt(M_TOP_PAD, 128 << 10);
}

void heap_expect(size_t octets)
{
	char *start = sbrk(0), *end;

	if (octets < EXPECT_MIN)
		return;
	heap_extend(octets < EXPECT_MAX ? octets : EXPECT_MAX);
	end = sbrk(0);
	/* round the start up, and the end down, to a boundary of a huge page */
	start += -(uintptr_t)start % HUGE_PAGE;
	end -= (uintptr_t)end % HUGE_PAGE;
	if (start < end)
		madvise(start, (size_t)(end - start), MADV_HUGEPAGE);
}

#else

void heap_expect(size_t octets)
{
	(void)octets;
}

#endif
