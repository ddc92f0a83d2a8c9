/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

#include <errno.h>
#include <stdlib.h>

#define TABLE_KEEP (64u << 10)

static int table_grow(struct sa_table *t, size_t need)
{
	size_t cap = t->cap ? t->cap : 4096;
	uint8_t *buf;

	if (need <= t->cap)
		return 0;
	while (cap < need)
		cap *= 2;
	/* Never allocate more than the largest answer needs. */
	if (cap > t->max && need <= t->max)
		cap = t->max;
	buf = realloc(t->buf, cap);
	if (!buf)
		return -ENOMEM;
	t->buf = buf;
	t->cap = cap;
	return 0;
}

int sa_table_start(struct sa_table *t, size_t rec_len, uint32_t limit)
{
	t->rec_len = (rec_len + 7) & ~(size_t)7;
	t->n = 0;
	t->limit = limit;
	t->full = false;
	t->max = SA_DATA_OFF + t->rec_len * limit;
	return table_grow(t, MAD_LEN);
}

size_t sa_table_len(const struct sa_table *t)
{
	return SA_DATA_OFF + t->n * t->rec_len;
}

uint8_t *sa_table_add(struct sa_table *t)
{
	uint8_t *rec;

	if (t->n == t->limit || table_grow(t, sa_table_len(t) + t->rec_len)) {
		t->full = true;
		return NULL;
	}
	rec = t->buf + sa_table_len(t);
	memset(rec, 0, t->rec_len);
	t->n++;
	return rec;
}

void sa_table_trim(struct sa_table *t)
{
	if (t->cap > TABLE_KEEP)
		sa_table_fini(t);
}

void sa_table_fini(struct sa_table *t)
{
	free(t->buf);
	t->buf = NULL;
	t->cap = 0;
}

static unsigned int bit_of(const uint8_t *p, unsigned int i)
{
	return p[i / 8] >> (7 - i % 8) & 1;
}

static bool field_equal(const struct sa_field *f, const uint8_t *a, const uint8_t *b)
{
	unsigned int i = f->off, end = f->off + f->bits;

	if (f->off % 8 == 0 && f->bits % 8 == 0)
		return memcmp(a + f->off / 8, b + f->off / 8, f->bits / 8) == 0;
	for (; i < end; i++) {
		if (bit_of(a, i) != bit_of(b, i))
			return false;
	}
	return true;
}

bool sa_match(const struct sa_field *f, size_t nfields, uint64_t mask, const uint8_t *a,
	      const uint8_t *b)
{
	for (size_t i = 0; i < nfields && mask >> i; i++) {
		if ((mask >> i & 1) && !field_equal(&f[i], a, b))
			return false;
	}
	return true;
}

/* Try all codes of 6 bits. @order returns 0 for codes that are not defined. */
uint8_t sa_code_best(sa_order *order, uint8_t cap, unsigned int sel, uint8_t want)
{
	unsigned int max = order(cap), most = 0;
	uint8_t best = 0;

	if (sel == SA_SEL_LARGEST)
		return cap;
	for (uint8_t c = 1; c < 64; c++) {
		unsigned int v = order(c);

		if (v <= max && v > most && sa_sel_allows(sel, v, order(want))) {
			best = c;
			most = v;
		}
	}
	return best;
}
