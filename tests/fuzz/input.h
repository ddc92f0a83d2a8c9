/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

/* The input of a fuzz target. The target takes pieces of the input until no octets are left. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input {
	const uint8_t *p;
	size_t left;
};

/*
 * take() - Copy the next @n octets of the input to @dst, or all that are left if they are fewer.
 * The rest of @dst is not changed. Return: number of octets copied
 */
static inline size_t take(struct input *in, void *dst, size_t n)
{
	if (n > in->left)
		n = in->left;
	memcpy(dst, in->p, n);
	in->p += n;
	in->left -= n;
	return n;
}

#endif
