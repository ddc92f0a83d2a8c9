/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/list.h"

/*
 * Masks of enabled speeds by name. ibnetdiscover prints only the active speed. As in ibsim, a port
 * is assumed to enable all lower speeds, too. FDR10 is a vendor's QDR with a more efficient line
 * code. LinkSpeedExtActive has four bits, none of which means XDR, so XDR has the masks of NDR.
 */
static const struct {
	const char *name;
	uint8_t speed, ext, also;
} speeds[] = {
	{ "SDR", 1, 0, 0 },
	{ "DDR", 3, 0, 0 },
	{ "QDR", 7, 0, 0 },
	{ "FDR10", 7, 0, TOPO_ALSO_FDR10 },
	{ "FDR", 7, 1, 0 },
	{ "EDR", 7, 3, 0 },
	{ "HDR", 7, 7, 0 },
	{ "NDR", 7, 15, 0 },
	{ "XDR", 7, 15, TOPO_ALSO_XDR },
};

static const struct {
	uint8_t lanes, mask, code;
} widths[] = {
	{ 1, 1, 1 }, { 2, 16, 16 }, { 4, 3, 2 }, { 8, 4, 4 }, { 12, 11, 8 },
};

char *topo_rate_print(char *buf, size_t size, struct topo_rate r)
{
	static const char *const ext[] = { "FDR", "EDR", "HDR", "NDR" };
	static const char *const base[] = { "SDR", "DDR", "QDR" };
	const char *s = "?";
	unsigned int lanes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		if (widths[i].code == r.width)
			lanes = widths[i].lanes;
	for (unsigned int i = 0; i < ARRAY_SIZE(base); i++)
		if (r.speed & 1u << i)
			s = base[i];
	for (unsigned int i = 0; i < ARRAY_SIZE(ext); i++)
		if (r.ext & 1u << i)
			s = ext[i];
	if (r.also)
		s = r.also & TOPO_ALSO_XDR ? "XDR" : "FDR10";
	snprintf(buf, size, "%ux%s", lanes, s);
	return buf;
}

/*
 * Tell whether ibnetdiscover printed "??", because it did not know or could not read the width or
 * speed.
 */
static bool rate_unknown(const struct topo_cur *c)
{
	const char *q = topo_seek(c, "??");

	return q && q - c->p <= 3; /* "??QDR", "4x???", "12x???" */
}

/* Read a rate like "4xQDR". Text that is not a rate, such as "undefined (0)", is ignored. */
static int comment_rate(struct topo_parser *p, struct topo_cur *c, struct topo_rate *ret,
			bool *ret_has)
{
	struct topo_cur w = *c;
	struct topo_rate r = { 0 };
	uint64_t lanes;
	char found[64];

	topo_skip_ws(&w);
	*c = w;
	if (rate_unknown(c)) {
		/*
		 * a rate of 0 is unknown; topo_resolve() replaces it by the rate of the other end
		 */
		*ret = r;
		return 0;
	}
	if (!topo_take_uint(&w, 255, &lanes) || !topo_take(&w, 'x') || topo_cur_end(&w))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		if (widths[i].lanes == lanes)
			r.width = widths[i].mask;
	for (size_t i = 0; i < ARRAY_SIZE(speeds); i++) {
		struct topo_cur s = w;

		if (!topo_take_word(&s, speeds[i].name) || (!topo_cur_end(&s) && *s.p == '1'))
			continue; /* FDR is not FDR10 */
		r.speed = speeds[i].speed;
		r.ext = speeds[i].ext;
		r.also = speeds[i].also;
	}
	if (!r.width || !r.speed)
		return topo_fail(p, "expected a rate like 4xQDR, found %s",
				 topo_found(c, found, sizeof(found)));
	*ret = r;
	*ret_has = true;
	return 0;
}

static bool comment_number(const struct topo_cur *c, const char *word, uint64_t max, uint64_t *ret)
{
	const char *s = topo_seek(c, word);
	struct topo_cur w;

	if (!s)
		return false;
	w = (struct topo_cur){ s + strlen(word), c->end };
	topo_skip_ws(&w);
	return topo_take_uint(&w, max, ret);
}

void topo_comment_lid(const struct topo_cur *c, uint16_t *ret_lid, uint8_t *ret_lmc)
{
	uint64_t v;

	if (comment_number(c, "lid ", IB_LID_MCAST_MIN - 1, &v))
		*ret_lid = (uint16_t)v;
	if (comment_number(c, "lmc ", 7, &v))
		*ret_lmc = (uint8_t)v;
}

/*
 * Read the comment of a port line: lid 2 lmc 0 "Switch1" lid 5 4xQDR. The LID before the
 * description belongs to this port (CAs only). The LID after the description belongs to the other
 * end. The rate comes last.
 */
static int parse_comment(struct topo_parser *p, struct topo_cur *c, struct topo_port *port,
			 struct topo_plink *l)
{
	struct topo_cur before = *c, after = *c;
	const char *s;
	uint64_t lid;

	s = memchr(c->p, '"', (size_t)(c->end - c->p));
	if (!s)
		return 0;
	before.end = s;
	after.p = memrchr(c->p, '"', (size_t)(c->end - c->p));
	after.p++;
	if (p->t->node[p->node]->type == IB_NODE_CA)
		topo_comment_lid(&before, &port->lid, &port->lmc);
	topo_skip_ws(&after);
	if (!topo_take_word(&after, "lid"))
		return 0;
	topo_skip_ws(&after);
	if (!topo_take_uint(&after, 0xffff, &lid))
		return 0;
	if (ib_lid_is_unicast((uint16_t)lid))
		l->peer_lid = (uint16_t)lid;
	return comment_rate(p, &after, &port->rate, &l->has_rate);
}

/* Read one of ibsim's masks: w=2 (width), s=4 (speed) or e=1 (extended speed). */
static int parse_option(struct topo_parser *p, struct topo_cur *c, struct topo_rate *r)
{
	static const struct {
		char name;
		uint8_t min, max;
	} opts[] = { { 'w', 1, 31 }, { 's', 0, 7 }, { 'e', 0, 15 } };
	uint8_t *const dst[] = { &r->width, &r->speed, &r->ext };
	struct topo_cur at = *c;
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(opts); i++) {
		if (!topo_take(c, opts[i].name))
			continue;
		topo_skip_ws(c);
		if (!topo_take(c, '='))
			return topo_fail_expected(p, &at, "w=, s=, e= or '#'");
		at = *c;
		if (!topo_take_uint(c, opts[i].max, &v) || v < opts[i].min)
			return topo_fail(p, "expected %c= and a mask between %u and %u",
					 opts[i].name, opts[i].min, opts[i].max);
		*dst[i] = (uint8_t)(i == 1 && !v ? 4 : v); /* s=0 means QDR, as in ibsim */
		return 0;
	}
	return topo_fail_expected(p, c, "w=, s=, e=, '#' or the end of the line");
}

static int parse_rest(struct topo_parser *p, struct topo_cur *c, struct topo_port *port,
		      struct topo_plink *l)
{
	for (;;) {
		int err;

		topo_skip_ws(c);
		if (topo_cur_end(c))
			return 0;
		if (topo_take(c, '#'))
			return parse_comment(p, c, port, l);
		err = parse_option(p, c, &port->rate);
		if (err)
			return err;
		l->has_rate = true;
	}
}

static int take_guid(struct topo_parser *p, struct topo_cur *c, uint64_t *ret)
{
	if (topo_take(c, '(') && (!topo_take_hex(c, ret) || !*ret || !topo_take(c, ')')))
		return topo_fail_expected(p, c, "a port GUID and ')'");
	return 0;
}

/*
 * Read a port GUID after a space. ibnetdiscover prints this space where a CA is connected to a CA:
 * "[1] (2c90300000201)"
 */
static int take_guid_apart(struct topo_parser *p, struct topo_cur *c, uint64_t *ret)
{
	struct topo_cur at = *c;

	topo_skip_ws(&at);
	if (topo_cur_end(&at) || *at.p != '(')
		return 0;
	*c = at;
	return take_guid(p, c, ret);
}

/*
 * Read one end of a cable: "[7]", optionally followed by "[ext 3]" (ibnetdiscover -g) and "(guid)".
 */
static int take_end(struct topo_parser *p, struct topo_cur *c, uint64_t *ret_port,
		    uint64_t *ret_guid)
{
	struct topo_cur at = *c;
	uint64_t ext;

	if (!topo_take(c, '[') || !topo_take_uint(c, 254, ret_port) || !*ret_port)
		return topo_fail_expected(p, &at, "a port between 1 and 254 in brackets");
	if (!topo_take(c, ']'))
		return topo_fail_expected(p, c, "']'");
	if (topo_take(c, '[')) {
		if (!topo_take_word(c, "ext"))
			return topo_fail_expected(p, c, "'ext'");
		topo_skip_ws(c);
		if (!topo_take_uint(c, 0xffff, &ext) || !topo_take(c, ']'))
			return topo_fail_expected(p, c, "an external port number and ']'");
	}
	return take_guid(p, c, ret_guid);
}

static int take_peer(struct topo_parser *p, struct topo_cur *c, struct topo_plink *l)
{
	char id[TOPO_NAME_MAX + 1];
	uint64_t port = 1; /* default, as in ibsim */
	int n;

	topo_skip_ws(c);
	if (!topo_take_quoted(c, id, sizeof(id)) || !*id)
		return topo_fail_expected(p, c, "the quoted name of the other end");
	if (strchr(id, '@'))
		return topo_fail(p, "port aliases of ibsim (\"%s\") are not supported", id);
	n = snprintf(l->peer, sizeof(l->peer), "%s%s%s", strchr(id, '#') ? "" : p->module,
		     *p->module && !strchr(id, '#') ? "#" : "", id);
	if (n < 0 || (size_t)n >= sizeof(l->peer))
		return topo_fail(p, "the name \"%s\" is too long", id);
	if (!topo_cur_end(c) && *c->p == '[') {
		int err = take_end(p, c, &port, &l->peer_guid);

		if (!err && !l->peer_guid)
			err = take_guid_apart(p, c, &l->peer_guid);
		if (err)
			return err;
	}
	l->peer_port = (uint8_t)port;
	return 0;
}

static struct topo_plink *new_link(struct topo_parser *p)
{
	size_t cap = p->cap_links ? p->cap_links * 2 : 64;
	struct topo_plink *v;

	if (p->nlinks == p->cap_links) {
		v = realloc(p->links, cap * sizeof(*v));
		if (!v)
			return NULL;
		p->links = v;
		p->cap_links = cap;
	}
	v = &p->links[p->nlinks];
	*v = (struct topo_plink){ .file = p->file, .line = p->line, .node = p->node };
	return v;
}

int topo_parse_port(struct topo_parser *p, struct topo_cur *c)
{
	struct topo_plink *l;
	struct topo_node *n;
	struct topo_port *port;
	uint64_t num = 0;
	int err;

	if (p->node == TOPO_NO_PEER && p->skipping)
		return 0;
	if (p->node == TOPO_NO_PEER)
		return topo_fail(p, "expected a Switch or Ca before its ports, found a port");
	n = p->t->node[p->node];
	l = new_link(p);
	if (!l)
		return -ENOMEM;
	err = take_end(p, c, &num, &l->guid);
	if (err)
		return err;
	if (num > n->nports)
		return topo_fail(p, "expected a port between 1 and %u of \"%s\", found %u",
				 n->nports, n->name, (unsigned int)num);
	port = &n->port[num];
	if (port->line)
		return topo_fail(p, "port %u of \"%s\" was given on line %u already",
				 (unsigned int)num, n->name, port->line);
	l->port = (uint8_t)num;
	err = take_peer(p, c, l);
	if (err)
		return err;
	if (l->guid && n->type == IB_NODE_SWITCH)
		return topo_fail(p, "port %u of switch \"%s\" has no GUID of its own",
				 (unsigned int)num, n->name);
	port->line = p->line;
	err = parse_rest(p, c, port, l);
	if (!err)
		p->nlinks++;
	return err;
}
