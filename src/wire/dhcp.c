/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/dhcp.h"

#include <errno.h>
#include <string.h>

#define COOKIE 0x63825363u
#define SNAME 44
#define FILE_ 108
#define OVERLOAD_FILE 1
#define OVERLOAD_SNAME 2

int dhcp_hdr_decode(struct dhcp_hdr *ret, const void *p, size_t len)
{
	const uint8_t *b = p;

	if (len < DHCP_FIXED_LEN || b[2] > sizeof(ret->chaddr))
		return -EBADMSG;
	ret->op = b[0];
	ret->htype = b[1];
	ret->hlen = b[2];
	ret->hops = b[3];
	ret->xid = be32_at(b + 4);
	ret->secs = be16_at(b + 8);
	ret->flags = be16_at(b + 10);
	memcpy(ret->ciaddr, b + 12, 4);
	memcpy(ret->yiaddr, b + 16, 4);
	memcpy(ret->siaddr, b + 20, 4);
	memcpy(ret->giaddr, b + 24, 4);
	memcpy(ret->chaddr, b + 28, sizeof(ret->chaddr));
	return 0;
}

void dhcp_hdr_encode(void *p, const struct dhcp_hdr *h)
{
	uint8_t *b = p;

	b[0] = h->op;
	b[1] = h->htype;
	b[2] = h->hlen;
	b[3] = h->hops;
	be32_put(b + 4, h->xid);
	be16_put(b + 8, h->secs);
	be16_put(b + 10, h->flags);
	memcpy(b + 12, h->ciaddr, 4);
	memcpy(b + 16, h->yiaddr, 4);
	memcpy(b + 20, h->siaddr, 4);
	memcpy(b + 24, h->giaddr, 4);
	memcpy(b + 28, h->chaddr, sizeof(h->chaddr));
}

bool dhcp_has_options(const void *p, size_t len)
{
	const uint8_t *b = p;

	return len >= DHCP_OPTIONS && be32_at(b + DHCP_FIXED_LEN) == COOKIE;
}

/* --- reading */

void dhcp_walk_init(struct dhcp_walk *w, const void *p, size_t len)
{
	*w = (struct dhcp_walk){ .p = p, .len = len, .pos = DHCP_OPTIONS, .end = len };
}

/*
 * Move the walk to the next field that contains options. The order of the fields is options, file,
 * sname (RFC 2131 §4.1).
 */
static bool next_field(struct dhcp_walk *w)
{
	if (w->overload & OVERLOAD_FILE) {
		w->overload &= (uint8_t)~OVERLOAD_FILE;
		w->pos = FILE_;
		w->end = DHCP_FIXED_LEN;
		return true;
	}
	if (w->overload & OVERLOAD_SNAME) {
		w->overload &= (uint8_t)~OVERLOAD_SNAME;
		w->pos = SNAME;
		w->end = FILE_;
		return true;
	}
	return false;
}

static bool in_options(const struct dhcp_walk *w)
{
	return w->end == w->len;
}

int dhcp_walk_next(struct dhcp_walk *w, struct dhcp_opt *ret)
{
	for (;;) {
		while (w->pos < w->end && w->p[w->pos] == DHCP_OPT_PAD)
			w->pos++;
		if (w->pos < w->end && w->p[w->pos] != DHCP_OPT_END)
			break;
		if (!next_field(w))
			return 0;
	}
	if (w->end - w->pos < 2 || w->end - w->pos - 2 < w->p[w->pos + 1])
		return -EBADMSG;
	ret->code = w->p[w->pos];
	ret->len = w->p[w->pos + 1];
	ret->data = w->p + w->pos + 2;
	w->pos += 2u + ret->len;
	if (ret->code == DHCP_OPT_OVERLOAD && ret->len == 1 && in_options(w))
		w->overload = ret->data[0] & (OVERLOAD_FILE | OVERLOAD_SNAME);
	return 1;
}

int dhcp_opt_get(const void *p, size_t len, uint8_t code, uint8_t *ret, size_t max)
{
	struct dhcp_walk w;
	struct dhcp_opt o;
	bool found = false;
	size_t n = 0;
	int more;

	dhcp_walk_init(&w, p, len);
	while ((more = dhcp_walk_next(&w, &o)) > 0) {
		if (o.code != code)
			continue;
		if (o.len > max - n)
			return -EMSGSIZE;
		memcpy(ret + n, o.data, o.len);
		n += o.len;
		found = true;
	}
	if (more)
		return more;
	return found ? (int)n : -ENOENT;
}

/* --- writing */

/*
 * A field that contains options: offset of its start in the message, and offset up to which it may
 * grow
 */
struct field {
	size_t start, end;
};

static struct field field_of(const struct dhcp_walk *w, size_t max)
{
	if (in_options(w))
		return (struct field){ DHCP_OPTIONS, max };
	return w->end == FILE_ ? (struct field){ SNAME, FILE_ }
			       : (struct field){ FILE_, DHCP_FIXED_LEN };
}

/*
 * Write the End option at @pos and pad the field up to @fill. Return: offset after the field;
 * -EMSGSIZE if the field has no room
 */
static int field_close(uint8_t *out, const struct field *f, size_t pos, size_t fill)
{
	if (pos >= f->end)
		return -EMSGSIZE;
	out[pos++] = DHCP_OPT_END;
	if (fill > f->end)
		fill = f->end;
	if (fill > pos)
		memset(out + pos, DHCP_OPT_PAD, fill - pos);
	return (int)(pos > fill ? pos : fill);
}

static int put(uint8_t *out, size_t *pos, size_t end, uint8_t code, const uint8_t *data, uint8_t n)
{
	if (*pos + 2u + n > end)
		return -EMSGSIZE;
	out[*pos] = code;
	out[*pos + 1] = n;
	memcpy(out + *pos + 2, data, n);
	*pos += 2u + n;
	return 0;
}

struct edit {
	uint8_t *out;
	size_t max, min; /* largest and smallest length of the new message */
	uint8_t code;
	const uint8_t *data;
	uint8_t n;
};

/*
 * Finish a field. The option to be set is appended to the options field; file and sname are padded
 * to their fixed size.
 */
static int edit_close(const struct edit *e, const struct field *f, size_t pos)
{
	bool options = f->start == DHCP_OPTIONS;

	if (options && e->data) {
		int err = put(e->out, &pos, f->end, e->code, e->data, e->n);

		if (err)
			return err;
	}
	return field_close(e->out, f, pos, options ? e->min : f->end);
}

static int edit_fields(const struct edit *e, struct dhcp_walk *w)
{
	struct field f = { DHCP_OPTIONS, e->max };
	size_t pos = f.start;
	int total = 0, status, more;
	struct dhcp_opt o;

	while ((more = dhcp_walk_next(w, &o)) > 0) {
		struct field now = field_of(w, e->max);

		if (now.start != f.start) {
			status = edit_close(e, &f, pos);
			if (status < 0)
				return status;
			total = f.start == DHCP_OPTIONS ? status : total;
			f = now;
			pos = f.start;
		}
		if (o.code != e->code && put(e->out, &pos, f.end, o.code, o.data, o.len))
			return -EMSGSIZE;
	}
	if (more)
		return more;
	status = edit_close(e, &f, pos);
	if (status < 0)
		return status;
	return f.start == DHCP_OPTIONS ? status : total;
}

int dhcp_opt_set(uint8_t *out, size_t max, const void *p, size_t len, uint8_t code,
		 const uint8_t *data, uint8_t n)
{
	struct edit e = { .out = out, .max = max, .code = code, .data = data, .n = n };
	struct dhcp_walk w;

	if (max < DHCP_OPTIONS)
		return -EMSGSIZE;
	e.min = len < DHCP_BOOTP_LEN ? DHCP_BOOTP_LEN : len;
	if (e.min > max)
		e.min = max;
	memcpy(out, p, DHCP_OPTIONS);
	dhcp_walk_init(&w, p, len);
	return edit_fields(&e, &w);
}

void dhcp_client_id_make(uint8_t *ret, uint8_t htype, const uint8_t *addr, size_t n)
{
	ret[0] = 255;
	memcpy(ret + 1, addr + n - 4, 4);
	be16_put(ret + 5, 3); /* DUID-LL */
	be16_put(ret + 7, htype);
	memcpy(ret + 9, addr, n);
}
