/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_MEMBER_H
#define UTIL_MEMBER_H

/*
 * Access to unsigned members of structs. A table of the caller describes each member by its offset
 * and its size (1, 2, 4 or 8 octets).
 */

#include <stddef.h>
#include <stdint.h>

/* member_put() - Store @v, cut to @size octets, in the member at @at, which must be aligned */
static inline void member_put(void *at, size_t size, uint64_t v)
{
	switch (size) {
	case 1:
		*(uint8_t *)at = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)at = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)at = (uint32_t)v;
		break;
	default:
		*(uint64_t *)at = v;
		break;
	}
}

/* member_get() - Return the value of the member at @at, which must be aligned */
static inline uint64_t member_get(const void *at, size_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		return *(const uint16_t *)at;
	case 4:
		return *(const uint32_t *)at;
	default:
		return *(const uint64_t *)at;
	}
}

#endif
