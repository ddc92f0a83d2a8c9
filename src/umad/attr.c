/* SPDX-License-Identifier: BSD-2-Clause */
#include "umad/attr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Finds a path in the table umad_attr_rows. Each row is the path of a file. The path of a directory
 * is only the beginning of rows. In each of these rows, the next component is a name in this
 * directory.
 */

struct word {
	const char *s;
	size_t len;
};

/* Takes the next component off a path. Return: false if the path has no further component */
static bool next_word(const char **path, struct word *ret)
{
	const char *p = *path;

	while (*p == '/')
		p++;
	ret->s = p;
	ret->len = strcspn(p, "/");
	*path = p + ret->len;
	return ret->len > 0;
}

static bool word_is(const struct word *w, const char *s)
{
	return strlen(s) == w->len && !memcmp(w->s, s, w->len);
}

/*
 * Return a pointer to the '@' in the component @w of a row's path, such as "@ca" or "umad@"; NULL:
 * @w is literal
 */
static const char *varies(const struct word *w)
{
	return memchr(w->s, '@', w->len);
}

/* --- values of variable components */

static unsigned int first_port(const struct node *n)
{
	return node_is_switch(n) ? 0 : 1;
}

static unsigned int nports(const struct node *n)
{
	return node_is_switch(n) ? 1 : n->info.nports;
}

static unsigned int total_ports(const struct umad_view *v)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < v->n; i++)
		n += nports(v->node[i]);
	return n;
}

struct node_port *umad_view_port(const struct umad_view *v, unsigned int dev, unsigned int *ret_ca)
{
	for (unsigned int i = 0; i < v->n; i++) {
		struct node *n = v->node[i];

		if (dev < nports(n)) {
			if (ret_ca)
				*ret_ca = i;
			return &n->port[first_port(n) + dev];
		}
		dev -= nports(n);
	}
	return NULL;
}

/*
 * Names that a variable component of a path matches: the prefix and a number in the range [first,
 * first + n).
 */
struct numbers {
	const char *prefix;
	size_t prefix_len;
	unsigned int first, n;
	unsigned int *at; /* member of struct umad_place into which the number is written */
};

static struct numbers numbers_of(const struct word *pat, struct umad_place *p)
{
	const struct node *ca = p->ca < p->view->n ? p->view->node[p->ca] : NULL;

	if (word_is(pat, "@ca"))
		return (struct numbers){ UMAD_CA_NAME, strlen(UMAD_CA_NAME), 0, p->view->n,
					 &p->ca };
	if (word_is(pat, "@port"))
		return (struct numbers){ "", 0, ca ? first_port(ca) : 0, ca ? nports(ca) : 0,
					 &p->port };
	if (word_is(pat, "@gid"))
		return (struct numbers){ "", 0, 0, NODE_GUIDS, &p->index };
	if (word_is(pat, "@pkey"))
		return (struct numbers){ "", 0, 0, NODE_PKEYS, &p->index };
	return (struct numbers){ pat->s, pat->len - 1, 0, total_ports(p->view), &p->dev };
}

/*
 * Parses the decimal number in the name of a file or directory. A number with leading zeros is
 * refused, because sysfs has no such names.
 */
static bool number(const char *s, size_t len, unsigned int *ret)
{
	unsigned int v = 0;

	if (!len || len > 4 || (len > 1 && *s == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		v = v * 10 + (unsigned int)(s[i] - '0');
	}
	*ret = v;
	return true;
}

static bool match(const struct word *pat, const struct word *name, struct umad_place *p)
{
	struct numbers k;
	unsigned int v;

	if (!varies(pat))
		return pat->len == name->len && !memcmp(pat->s, name->s, pat->len);
	k = numbers_of(pat, p);
	if (name->len <= k.prefix_len || memcmp(name->s, k.prefix, k.prefix_len) ||
	    !number(name->s + k.prefix_len, name->len - k.prefix_len, &v) || v < k.first ||
	    v - k.first >= k.n)
		return false;
	*k.at = v;
	return true;
}

/* --- directories */

struct names {
	char *buf;
	size_t size, len;
};

static int add_name(struct names *out, const char *s, size_t len)
{
	for (size_t i = 0; i < out->len; i += strlen(out->buf + i) + 1)
		if (strlen(out->buf + i) == len && !memcmp(out->buf + i, s, len))
			return 0;
	if (len + 1 > out->size - out->len)
		return -ENOSPC;
	memcpy(out->buf + out->len, s, len);
	out->buf[out->len + len] = '\0';
	out->len += len + 1;
	return 0;
}

static int add_names(struct names *out, const struct word *pat, struct umad_place *p)
{
	struct numbers k;
	char name[32];

	if (!varies(pat))
		return add_name(out, pat->s, pat->len);
	k = numbers_of(pat, p);
	for (unsigned int i = 0; i < k.n; i++) {
		int len = snprintf(name, sizeof(name), "%.*s%u", (int)k.prefix_len, k.prefix,
				   k.first + i);
		int err = add_name(out, name, (size_t)len);

		if (err)
			return err;
	}
	return 0;
}

/*
 * Compares @path with the beginning of a row. Return: true if they match, with the rest of the row
 * in @ret_rest; otherwise false
 */
static bool match_row(const char *row, const char *path, struct umad_place *p,
		      const char **ret_rest)
{
	struct word pat, name;

	while (next_word(&path, &name))
		if (!next_word(&row, &pat) || !match(&pat, &name, p))
			return false;
	*ret_rest = row;
	return true;
}

int umad_attr_read(const struct umad_view *v, const char *path, char *buf, size_t size,
		   bool *ret_dir)
{
	struct names out = { buf, size, 0 };
	bool found = false;

	for (unsigned int i = 0; i < umad_attr_nrows; i++) {
		const struct umad_attr_row *row = &umad_attr_rows[i];
		struct umad_place p = { .view = v };
		const char *rest;
		struct word pat;
		int err;

		if (!match_row(row->path, path, &p, &rest))
			continue;
		if (!next_word(&rest, &pat)) {
			*ret_dir = false;
			p.arg = row->arg;
			return row->show(&p, buf, size);
		}
		found = true;
		err = add_names(&out, &pat, &p);
		if (err)
			return err;
	}
	if (!found)
		return -ENOENT;
	*ret_dir = true;
	return (int)out.len;
}
