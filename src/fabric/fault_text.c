/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fault_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/list.h"
#include "util/text.h"

static const char *const classes[] = {
	[FAULT_ALL] = "all",
	[FAULT_DATA] = "data",
	[FAULT_MAD] = "mad",
};

static const struct {
	const char *name;
	ns_t ns;
} units[] = {
	{ "s", 1000000000 },
	{ "ms", 1000000 },
	{ "us", 1000 },
	{ "ns", 1 },
};

static const char *next_word(const char *s, char *word, size_t size)
{
	size_t n;

	s += strspn(s, " \t");
	n = strcspn(s, " \t");
	snprintf(word, size, "%.*s", (int)(n < size ? n : size - 1), s);
	return s + n;
}

/*
 * Read a decimal number and multiply it by @scale. For example, the text 0.1 and scale 10000 give
 * 1000 (0.1 % in ppm). A number whose product is not an integer is refused, so nothing is rounded.
 */
static bool take_decimal(const char **s, uint64_t scale, uint64_t *ret)
{
	uint64_t v = 0;
	const char *p = *s;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (v > 1000000000000ull)
			return false;
		v = v * 10 + (uint64_t)(*p - '0');
	}
	if (v > UINT64_MAX / scale)
		return false;
	v *= scale;
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9'; p++) {
			if (scale % 10 && *p != '0')
				return false;
			scale /= 10;
			v += (uint64_t)(*p - '0') * scale;
		}
	}
	*s = p;
	*ret = v;
	return true;
}

static bool parse_share(const char *w, uint32_t *ret)
{
	uint64_t v;

	if (!take_decimal(&w, 10000, &v) || strcmp(w, "%") != 0 || v < 1 || v > 1000000)
		return false;
	*ret = (uint32_t)v;
	return true;
}

static bool parse_time(const char *w, ns_t *ret)
{
	size_t digits = strspn(w, "0123456789.");
	const char *p = w;
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(w + digits, units[i].name) != 0)
			continue;
		if (!take_decimal(&p, units[i].ns, &v) || p != w + digits || v > FAULT_TIME_MAX)
			return false;
		*ret = v;
		return true;
	}
	return false;
}

static int expected(char *err, size_t size, const char *what, const char *found)
{
	snprintf(err, size, "expected %s, found %s%s%s", what, *found ? "\"" : "",
		 *found ? found : "nothing", *found ? "\"" : "");
	return -EINVAL;
}

static bool find_class(const char *w, enum fault_class *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (strcmp(w, classes[i]) != 0)
			continue;
		*ret = (enum fault_class)i;
		return true;
	}
	return false;
}

static int find_kind(const char *w)
{
	for (size_t i = 0; i < FAULT_KINDS; i++)
		if (!strcmp(w, fault_kinds[i].name))
			return (int)i;
	return -1;
}

/* Write the names of all kinds of faults as a list, such as "loss, corrupt or cut". Return: @buf */
static const char *kind_names(char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };

	for (unsigned int i = 0; i < FAULT_KINDS; i++)
		text_add_item(&t, i + 1 < FAULT_KINDS ? ", " : " or ", fault_kinds[i].name);
	return buf;
}

int fault_parse(struct fault_spec *ret, const char *text, char *err, size_t err_size)
{
	struct fault_spec s = { 0 };
	char w[32], names[128];
	int kind;

	text = next_word(text, w, sizeof(w));
	kind = find_kind(w);
	if (kind < 0)
		return expected(err, err_size, kind_names(names, sizeof(names)), w);
	s.kind = (enum fault_kind)kind;
	text = next_word(text, w, sizeof(w));
	if (fault_kinds[kind].has_share) {
		if (!parse_share(w, &s.ppm))
			return expected(err, err_size, "a share between 0.0001% and 100%", w);
		text = next_word(text, w, sizeof(w));
	}
	if (fault_kinds[kind].has_delay) {
		if (!parse_time(w, &s.delay) || !s.delay)
			return expected(err, err_size, "a time like 5ms, up to 60s", w);
		text = next_word(text, w, sizeof(w));
	}
	if (fault_kinds[kind].has_jitter && *w >= '0' && *w <= '9') {
		if (!parse_time(w, &s.jitter))
			return expected(err, err_size, "a time like 1ms, up to 60s", w);
		text = next_word(text, w, sizeof(w));
	}
	if (*w && fault_kinds[kind].has_no_class)
		return expected(err, err_size, "the end", w);
	if (*w) {
		if (!find_class(w, &s.cls))
			return expected(err, err_size, "all, data, mad or the end", w);
		next_word(text, w, sizeof(w));
		if (*w)
			return expected(err, err_size, "the end", w);
	}
	*ret = s;
	return 0;
}

/* Write a time in the largest unit of which it is a multiple. */
static void add_time(struct text *text, ns_t t)
{
	size_t i = 0;

	while (t % units[i].ns)
		i++;
	text_add(text, " %llu%s", (unsigned long long)(t / units[i].ns), units[i].name);
}

static void add_share(struct text *text, uint32_t ppm)
{
	char buf[16];
	struct text share = TEXT_IN(buf);

	text_add(&share, "%u.%04u", ppm / 10000, ppm % 10000);
	while (buf[share.len - 1] == '0')
		share.len--;
	if (buf[share.len - 1] == '.')
		share.len--;
	text_add(text, " %.*s%%", (int)share.len, buf);
}

char *fault_print(char *buf, size_t size, const struct fault_spec *s)
{
	struct text t = { .buf = buf, .size = size };

	text_add(&t, "%s", fault_kinds[s->kind].name);
	if (fault_kinds[s->kind].has_share)
		add_share(&t, s->ppm);
	if (fault_kinds[s->kind].has_delay)
		add_time(&t, s->delay);
	if (fault_kinds[s->kind].has_jitter && s->jitter)
		add_time(&t, s->jitter);
	if (s->cls != FAULT_ALL)
		text_add(&t, " %s", classes[s->cls]);
	return buf;
}

bool fault_spec_ok(const struct fault_spec *s)
{
	if ((unsigned int)s->kind >= FAULT_KINDS || (unsigned int)s->cls >= ARRAY_SIZE(classes))
		return false;
	if (fault_kinds[s->kind].has_share && (s->ppm < 1 || s->ppm > 1000000))
		return false;
	if (fault_kinds[s->kind].has_delay && (s->delay < 1 || s->delay > FAULT_TIME_MAX))
		return false;
	if (fault_kinds[s->kind].has_no_class && s->cls != FAULT_ALL)
		return false;
	return !fault_kinds[s->kind].has_jitter || s->jitter <= FAULT_TIME_MAX;
}
