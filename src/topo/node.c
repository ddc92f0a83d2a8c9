/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo/priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/list.h"

/*
 * Find the end of a quoted description. The description itself may contain quotes. So the
 * description ends at the last quote of the line, if the text after this quote is in the format of
 * ibnetdiscover. Otherwise it ends at the first quote after its beginning.
 */
static const char *quoted_end(const struct topo_cur *c)
{
	static const char *const tails[] = { "enhanced port 0 ", "base port 0 ", "(scp)" };
	const char *last = memrchr(c->p, '"', (size_t)(c->end - c->p));
	struct topo_cur after;

	if (!last)
		return c->end;
	after = (struct topo_cur){ last + 1, c->end };
	topo_skip_ws(&after);
	if (topo_cur_end(&after))
		return last;
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++)
		if (topo_seek(&after, tails[i]) == after.p)
			return last;
	return memchr(c->p, '"', (size_t)(c->end - c->p));
}

/*
 * Read the description after '#'. A description without quotes ends where the text of ibnetdiscover
 * about port 0 or LIDs begins. The cursor moves to the end of the description.
 */
static void take_desc(struct topo_parser *p, struct topo_cur *c, char buf[TOPO_DESC_MAX + 1])
{
	static const char *const ends[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	const char *e = c->end;
	size_t n;

	if (topo_take(c, '"'))
		e = quoted_end(c);
	for (size_t i = 0; e == c->end && i < ARRAY_SIZE(ends); i++) {
		const char *s = topo_seek(c, ends[i]);

		if (s)
			e = s;
	}
	n = (size_t)(e - c->p);
	if (n > TOPO_DESC_MAX) {
		n = TOPO_DESC_MAX;
		while (n && ((unsigned char)c->p[n] & 0xc0) == 0x80)
			n--; /* do not cut inside a UTF-8 character */
		topo_note(p, TOPO_NOTE_CUT_DESC, "the description is cut to %d octets",
			  TOPO_DESC_MAX);
	}
	memcpy(buf, c->p, n);
	buf[n] = '\0';
	c->p = e < c->end && *e == '"' ? e + 1 : e;
}

static int take_node_name(struct topo_parser *p, struct topo_cur *c, char name[TOPO_NAME_MAX + 1])
{
	struct topo_cur at;
	char id[65];

	topo_skip_ws(c);
	at = *c;
	if (!topo_take_quoted(c, id, sizeof(id)) || !*id)
		return topo_fail_expected(p, &at, "a quoted name of 1 to 64 characters");
	if (strpbrk(id, "#@"))
		return topo_fail(p, "expected a name without '#' and '@', found \"%s\"", id);
	if (snprintf(name, TOPO_NAME_MAX + 1, "%s%s%s", p->module, *p->module ? "#" : "", id) >
	    TOPO_NAME_MAX)
		return topo_fail(p, "the name \"%s\" is too long", id);
	return 0;
}

static int add_node(struct topo_parser *p, enum ib_node_type type, unsigned int nports,
		    const char *name, const char *desc)
{
	uint64_t guid = type == IB_NODE_CA ? p->t->next_ca_guid : p->t->next_switch_guid;
	uint32_t old;
	int err = topo_add_node(p->t, type, nports, name, desc, &p->node);

	if (err == -EEXIST && !topo_find(p->t, name, &old) && !strcmp(p->t->node[old]->name, name))
		return topo_fail(p, "node \"%s\" was defined on line %u already", name,
				 p->t->node[old]->line);
	if (err == -EEXIST)
		return topo_fail(p, "node \"%s\": GUID 0x%llx belongs to another node already",
				 name, (unsigned long long)guid);
	if (err == -ENOSPC)
		return topo_fail(p, "more than %u nodes", TOPO_MAX_NODES);
	return err;
}

void topo_next_node(struct topo_parser *p)
{
	p->vendor_id = 0;
	p->sys_guid = p->port0_guid = 0;
}

/* Read the rest of a node's line, such as: 36 "S-1" # "description" base port 0 lid 1 lmc 0 */
int topo_parse_node(struct topo_parser *p, struct topo_cur *c, enum ib_node_type type)
{
	char name[TOPO_NAME_MAX + 1], desc[TOPO_DESC_MAX + 1] = "";
	struct topo_node *n;
	struct topo_cur at;
	uint64_t nports;
	int err;

	topo_skip_ws(c);
	at = *c;
	if (!topo_take_uint(c, 254, &nports) || !nports)
		return topo_fail_expected(p, &at, "a number of ports between 1 and 254");
	err = take_node_name(p, c, name);
	if (err)
		return err;
	topo_skip_ws(c);
	if (topo_take(c, '#')) {
		topo_skip_ws(c);
		take_desc(p, c, desc);
	} else if (!topo_cur_end(c)) {
		return topo_fail_expected(p, c, "'#' or the end of the line");
	}
	err = add_node(p, type, (unsigned int)nports, name, desc);
	if (err)
		return err;

	n = p->t->node[p->node];
	n->line = p->line;
	n->vendor_id = p->vendor_id;
	n->device_id = p->device_id;
	if (p->sys_guid)
		n->sys_guid = p->sys_guid;
	for (unsigned int i = 0; i <= n->nports; i++)
		n->port[i].rate = p->rate;
	if (type == IB_NODE_SWITCH) {
		n->enhanced_port0 = topo_seek(c, "enhanced port 0") != NULL;
		topo_comment_lid(c, &n->port[0].lid, &n->port[0].lmc);
		if (p->port0_guid)
			n->port[0].guid = p->port0_guid;
	}
	topo_next_node(p);
	return 0;
}
