/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_HEX_H
#define UTIL_HEX_H

/*
 * hex_digit() - Return the value of a hexadecimal digit of either case; -1 if @c is not such a
 * digit
 */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

#endif
