/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_HEAP_H
#define UTIL_HEAP_H

#include <stddef.h>

/*
 * heap_expect() - Announce that about @octets will be allocated in many small pieces and kept
 *
 * The heap gets an address range of this size, whose memory the kernel provides in huge pages on first use. A large
 * fabric needs hundreds of megabytes. With small pages, the page faults (one for each 4096 octets) take longer than
 * writing the data into the memory. If @octets is small or the C library is not glibc, the call has no effect.
 */
void heap_expect(size_t octets);

#endif
