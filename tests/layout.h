/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LAYOUT_H
#define TESTS_LAYOUT_H

/*
 * Check a decoder and an encoder against the table of bits that a specification prints. Each field
 * is checked alone, so that a wrong offset or width is found even if decoder and encoder have the
 * same error. The checks also cover reserved bits, every truncated length, and the number of octets
 * that the encoder writes.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "util/be.h"
#include "util/prng.h"

struct field {
	const char *name;
	unsigned int bit, width; /* place and width in bits on the wire; bit 0 is sent first */
	size_t offset, size; /* place and size in octets in the host structure */
};

/* clang-format off */
#define FIELD(type, member, bit, width) \
	{ #member, bit, width, offsetof(type, member), sizeof(((type *)0)->member) }
/* clang-format on */

struct layout {
	size_t wire_len, host_len;
	size_t min_len; /* the decoder must refuse fewer octets than this */
	int (*decode)(void *ret, const void *p, size_t len);
	void (*encode)(void *p, const void *h);
	const struct field *fields;
	size_t nfields;
};

#define LAYOUT_MAX 512

/* Define NAME, a struct layout, from a decoder, an encoder and a table of fields. */
#define LAYOUT(name, type, dec, enc, len, min, table)             \
	static int name##_dec(void *ret, const void *p, size_t n) \
	{                                                         \
		return dec((type *)ret, p, n);                    \
	}                                                         \
	static void name##_enc(void *p, const void *h)            \
	{                                                         \
		enc(p, (const type *)h);                          \
	}                                                         \
	static const struct layout name = { len,                  \
					    sizeof(type),         \
					    min,                  \
					    name##_dec,           \
					    name##_enc,           \
					    table,                \
					    sizeof(table) / sizeof((table)[0]) }

static inline void layout_ones(uint8_t *p, const struct field *f)
{
	for (unsigned int b = f->bit; b < f->bit + f->width; b++)
		p[b / 8] |= (uint8_t)(0x80 >> b % 8);
}

/*
 * Tell whether the field @f of the decoded structure @host is zero. With @ones, tell instead
 * whether it has the value to which a field of all ones is decoded.
 */
static inline bool layout_is(const uint8_t *host, const struct field *f, bool ones)
{
	uint64_t v = 0, want = ones ? ~0ull >> (64 - (f->width > 64 ? 64 : f->width)) : 0;
	size_t octets = f->width / 8;

	if (f->width > 64) {
		for (size_t i = 0; i < f->size; i++) {
			if (host[f->offset + i] != (ones && i < octets ? 0xff : 0))
				return false;
		}
		return true;
	}
	for (size_t i = 0; i < f->size; i++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		size_t octet = f->size - 1 - i;
#else
		size_t octet = i;
#endif
		v |= (uint64_t)host[f->offset + i] << 8 * octet;
	}
	return v == want;
}

static inline void layout_check_fields(const struct layout *l)
{
	_Alignas(16) uint8_t host[LAYOUT_MAX];
	uint8_t wire[LAYOUT_MAX], out[LAYOUT_MAX];

	for (size_t i = 0; i < l->nfields; i++) {
		memset(wire, 0, sizeof(wire));
		layout_ones(wire, &l->fields[i]);
		memset(host, 0x5a, sizeof(host));
		assert_int_equal(l->decode(host, wire, l->wire_len), 0);
		for (size_t j = 0; j < l->nfields; j++) {
			if (!layout_is(host, &l->fields[j], i == j))
				fail_msg("with only %s set, %s is wrong", l->fields[i].name,
					 l->fields[j].name);
		}
		memset(out, 0xcc, sizeof(out));
		l->encode(out, host);
		if (memcmp(out, wire, l->wire_len) != 0)
			fail_msg("%s is encoded at the wrong place", l->fields[i].name);
		assert_int_equal(out[l->wire_len], 0xcc);
	}
}

/*
 * Decode a message of all ones and encode the result: the decoder must ignore reserved bits, and
 * the encoder must write zeros in them.
 */
static inline void layout_check_reserved(const struct layout *l)
{
	_Alignas(16) uint8_t host[LAYOUT_MAX];
	uint8_t wire[LAYOUT_MAX], out[LAYOUT_MAX], want[LAYOUT_MAX] = { 0 };

	for (size_t i = 0; i < l->nfields; i++)
		layout_ones(want, &l->fields[i]);
	memset(wire, 0xff, sizeof(wire));
	assert_int_equal(l->decode(host, wire, l->wire_len), 0);
	l->encode(out, host);
	assert_memory_equal(out, want, l->wire_len);
}

/*
 * Decode from every length up to the full one. Each buffer has exactly that length, so that the
 * sanitizer notices a read beyond its end.
 */
static inline void layout_check_lengths(const struct layout *l)
{
	_Alignas(16) uint8_t host[LAYOUT_MAX], before[LAYOUT_MAX];

	memset(before, 0x5a, sizeof(before));
	for (size_t n = 0; n <= l->wire_len; n++) {
		uint8_t *p = malloc(n ? n : 1);

		assert_non_null(p);
		memset(p, 0xff, n ? n : 1);
		memcpy(host, before, sizeof(host));
		if (n < l->min_len) {
			assert_int_equal(l->decode(host, p, n), -EBADMSG);
			assert_memory_equal(host, before, sizeof(host));
		} else {
			assert_int_equal(l->decode(host, p, n), 0);
		}
		free(p);
	}
}

static inline void layout_check_stable(const struct layout *l)
{
	_Alignas(16) uint8_t host[LAYOUT_MAX];
	uint8_t wire[LAYOUT_MAX], once[LAYOUT_MAX], twice[LAYOUT_MAX];
	struct prng r = { 0 };

	prng_seed(&r, 1);
	for (unsigned int round = 0; round < 200; round++) {
		for (size_t i = 0; i < l->wire_len; i++)
			wire[i] = (uint8_t)prng_u64(&r);
		assert_int_equal(l->decode(host, wire, l->wire_len), 0);
		l->encode(once, host);
		assert_int_equal(l->decode(host, once, l->wire_len), 0);
		l->encode(twice, host);
		assert_memory_equal(once, twice, l->wire_len);
	}
}

static inline void layout_check(const struct layout *l)
{
	assert_true(l->wire_len < LAYOUT_MAX && l->host_len <= LAYOUT_MAX);
	layout_check_fields(l);
	layout_check_reserved(l);
	layout_check_lengths(l);
	layout_check_stable(l);
}

/* layout_hex() - Convert hex digits to octets, skipping spaces. Returns the number of octets */
static inline size_t layout_hex(uint8_t *ret, size_t max, const char *hex)
{
	size_t n = 0;
	unsigned int v;
	int used;

	while (n < max && sscanf(hex, " %2x%n", &v, &used) == 1) {
		ret[n++] = (uint8_t)v;
		hex += used;
	}
	return n;
}

#endif
