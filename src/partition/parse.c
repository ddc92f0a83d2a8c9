/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/partition.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "partition/lex.h"
#include "partition/table.h"
#include "util/list.h"
#include "wire/mgid.h"

/*
 * DOC: Grammar
 *
 *	file       := { definition }
 *	definition := [ name ] [ "=" P_Key ] { "," flag } ":" [ item { sep item } ] ";"
 *	flag       := "ipoib" | "indx0" | "defmember" "=" membership | parameter
 *	parameter  := ( "mtu" | "rate" | "sl" | "scope" | "Q_Key" | "TClass" | "FlowLabel" ) "=" number
 *	item       := member [ "=" membership ] | "defmember" "=" membership
 *	            | "mgid" "=" GID { "," parameter } end of line
 *	member     := GUID | '"' NodeDescription '"' | ALL | ALL_CAS | ALL_SWITCHES | ALL_ROUTERS | SELF
 *	sep        := "," | ":" | after a group: end of line
 *
 * White space, "#" comments and "\" before the end of a line are ignored. The end of a line is
 * white space, too, except where the grammar above has "end of line".
 */

#define SCOPES_MAX 8

/*
 * The definition that is being read. The flags of the definition are merged into the partition when
 * everything before the ':' has been read.
 */
struct definition {
	char name[64];
	unsigned int line;
	uint16_t pkey;
	bool ipoib, indx0, has_params;
	enum sm_membership defmember;
	struct sm_partition_group params;
	uint8_t scope[SCOPES_MAX];
	unsigned int nscopes;
};

static bool membership(struct lex *ps, const char *word, enum sm_membership *ret)
{
	if (strcasecmp(word, "full") == 0)
		*ret = SM_MEMBER_FULL;
	else if (strcasecmp(word, "limited") == 0)
		*ret = SM_MEMBER_LIMITED;
	else if (strcasecmp(word, "both") == 0)
		*ret = SM_MEMBER_BOTH;
	else
		return lex_fail(ps, "membership \"%s\": expected full, limited or both", word);
	return true;
}

static bool check_code(struct lex *ps, const char *key, uint64_t v)
{
	if (strcasecmp(key, "mtu") == 0 && !ib_mtu_octets((unsigned int)v))
		return lex_fail(ps, "mtu=%llu is no MTU code: expected 1 (256 octets) to 5 (4096)",
				(unsigned long long)v);
	if (strcasecmp(key, "rate") == 0 && !ib_rate_mbps((unsigned int)v))
		return lex_fail(
			ps, "rate=%llu is no rate code: expected 2 (2.5 Gb/s), 3 (10 Gb/s), ...",
			(unsigned long long)v);
	if (strcasecmp(key, "scope") == 0 && v == 0)
		return lex_fail(ps, "scope 0 is reserved: expected 1 to 15, 2 is link-local");
	return true;
}

static const struct param {
	const char *key;
	uint64_t max;
} params[] = {
	{ "mtu", 63 },
	{ "rate", 63 },
	{ "sl", 15 },
	{ "scope", 15 },
	{ "Q_Key", 0xffffffff },
	{ "TClass", 255 },
	{ "FlowLabel", 0xfffff },
};

static const struct param *param_find(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		if (strcasecmp(params[i].key, key) == 0)
			return &params[i];
	}
	return NULL;
}

static bool parse_param(struct lex *ps, const struct param *pr, struct sm_partition_group *g)
{
	char word[WORD_MAX];
	uint64_t v;

	if (!lex_value(ps, pr->key, word, sizeof(word), false) ||
	    !lex_number(ps, pr->key, word, pr->max, &v) || !check_code(ps, pr->key, v))
		return false;
	switch (pr - params) {
	case 0:
		g->mtu_code = (uint8_t)v;
		break;
	case 1:
		g->rate_code = (uint8_t)v;
		break;
	case 2:
		g->sl = (uint8_t)v;
		break;
	case 3:
		g->scope = (uint8_t)v;
		break;
	case 4:
		g->qkey = (uint32_t)v;
		break;
	case 5:
		g->tclass = (uint8_t)v;
		break;
	default:
		g->flow_label = (uint32_t)v;
		break;
	}
	return true;
}

static bool parse_defmember(struct lex *ps, struct definition *d)
{
	char word[WORD_MAX];

	return lex_value(ps, "defmember", word, sizeof(word), false) &&
	       membership(ps, word, &d->defmember);
}

static bool parse_flag(struct lex *ps, struct definition *d)
{
	const struct param *pr;
	char key[WORD_MAX];

	if (!lex_word(ps, key, sizeof(key), false))
		return false;
	if (strcasecmp(key, "defmember") == 0)
		return parse_defmember(ps, d);
	if (strcasecmp(key, "ipoib") == 0) {
		d->ipoib = true;
		return true;
	}
	if (strcasecmp(key, "indx0") == 0) {
		d->indx0 = true;
		return true;
	}
	pr = param_find(key);
	if (!pr)
		return lex_fail(
			ps,
			"unknown flag \"%s\": expected ipoib, indx0, defmember=, mtu=, rate=, "
			"sl=, scope=, Q_Key=, TClass= or FlowLabel=",
			key[0] ? key : lex_found(ps));
	d->has_params = true;
	if (!parse_param(ps, pr, &d->params))
		return false;
	if (strcasecmp(key, "scope") != 0)
		return true;
	if (d->nscopes == SCOPES_MAX)
		return lex_fail(ps, "more than %d scopes", SCOPES_MAX);
	d->scope[d->nscopes++] = d->params.scope;
	return true;
}

static bool parse_pkey(struct lex *ps, struct definition *d)
{
	char word[WORD_MAX];
	uint64_t v;

	if (!lex_word(ps, word, sizeof(word), false) || !lex_number(ps, "P_Key", word, 0xffff, &v))
		return false;
	if ((v & 0x7fff) == 0)
		return lex_fail(ps, "P_Key 0x%04llx is invalid: its low 15 bits are 0",
				(unsigned long long)v);
	d->pkey = v & 0x7fff;
	return true;
}

/*
 * Find the partition of a definition by name and P_Key, which must agree, or add a new partition.
 */
static struct sm_partition *definition_target(struct lex *ps, struct definition *d)
{
	struct sm_partition *by_name = NULL, *by_key = NULL;

	for (size_t i = 0; i < ps->ps->n; i++) {
		struct sm_partition *part = &ps->ps->part[i];

		if (strcmp(part->name, d->name) == 0)
			by_name = part;
		if (d->pkey != SM_PKEY_AUTO && part->pkey == d->pkey)
			by_key = part;
	}
	if (by_key && by_key != by_name) {
		lex_fail(ps, "P_Key 0x%04x is called \"%s\" since line %u, not \"%s\"", d->pkey,
			 by_key->name, by_key->line, d->name);
		return NULL;
	}
	if (by_name && !by_key && d->pkey != SM_PKEY_AUTO) {
		if (by_name->pkey != SM_PKEY_AUTO) {
			lex_fail(ps, "\"%s\" has P_Key 0x%04x since line %u, not 0x%04x", d->name,
				 by_name->pkey, by_name->line, d->pkey);
			return NULL;
		}
		by_name->pkey = d->pkey;
	}
	if (by_name)
		return by_name;
	by_name = sm_partition_add(ps->ps, d->name, d->pkey);
	if (by_name)
		by_name->line = d->line;
	else
		lex_no_memory(ps);
	return by_name;
}

/* Read the part of a definition before its members: name [= P_Key] {, flag} : */
static bool parse_head(struct lex *ps, struct definition *d)
{
	if (!lex_word(ps, d->name, sizeof(d->name), false))
		return false;
	if (lex_accept(ps, '=')) {
		if (!parse_pkey(ps, d))
			return false;
	} else if (!d->name[0]) {
		return lex_fail(ps, "found '%s': expected the name of a partition or '='",
				lex_found(ps));
	} else if (strcmp(d->name, "Default") == 0) {
		d->pkey = 0x7fff;
	}
	if (!d->name[0])
		snprintf(d->name, sizeof(d->name), "0x%04x", d->pkey);
	while (lex_accept(ps, ',')) {
		if (!parse_flag(ps, d))
			return false;
	}
	if (!lex_accept(ps, ':'))
		return lex_fail(ps, "found '%s': expected ',' and a flag, or ':' and members",
				lex_found(ps));
	if (d->has_params && !d->ipoib)
		return lex_fail(ps, "parameters of a broadcast group without the flag ipoib");
	return true;
}

static bool parse_mgid(struct lex *ps, struct definition *d, struct sm_partition *part)
{
	struct sm_partition_group g = d->params;
	char word[WORD_MAX];

	if (!lex_value(ps, "mgid", word, sizeof(word), true))
		return false;
	if (inet_pton(AF_INET6, word, g.mgid.raw) != 1 || !ib_gid_is_mcast(&g.mgid))
		return lex_fail(ps, "mgid \"%s\": expected a multicast GID like ff12:401b::1",
				word);
	for (;;) {
		const struct param *pr;

		lex_skip(ps, true);
		if (ps->p >= ps->end || *ps->p != ',')
			break;
		ps->p++;
		lex_skip(ps, true);
		if (ps->p < ps->end && *ps->p == '\n')
			break;
		if (!lex_word(ps, word, sizeof(word), false))
			return false;
		pr = param_find(word);
		if (!pr)
			return lex_fail(ps,
					"\"%s\" after a group: expected mtu=, rate=, sl=, scope=, "
					"Q_Key=, TClass= or FlowLabel=, members on another line",
					word);
		if (!parse_param(ps, pr, &g))
			return false;
	}
	g.scope = mgid_scope(&g.mgid);
	return sm_partition_add_group(part, &g) == 0 || lex_no_memory(ps);
}

static bool member_keyword(const char *word, enum sm_member_kind *ret)
{
	static const struct {
		const char *word;
		enum sm_member_kind kind;
	} keywords[] = {
		{ "ALL", SM_MEMBER_ALL },
		{ "ALL_CAS", SM_MEMBER_ALL_CAS },
		{ "ALL_SWITCHES", SM_MEMBER_ALL_SWITCHES },
		{ "ALL_ROUTERS", SM_MEMBER_ALL_ROUTERS },
		{ "SELF", SM_MEMBER_SELF },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++) {
		if (strcasecmp(keywords[i].word, word) == 0) {
			*ret = keywords[i].kind;
			return true;
		}
	}
	return false;
}

static bool parse_quoted(struct lex *ps, struct sm_partition_rule *r)
{
	const char *stop;
	size_t n;

	ps->p++;
	stop = memchr(ps->p, '"', (size_t)(ps->end - ps->p));
	n = stop ? (size_t)(stop - ps->p) : 0;
	if (!stop || memchr(ps->p, '\n', n))
		return lex_fail(ps, "a name in quotes that do not end on its line");
	if (n == 0 || n >= sizeof(r->name) || memchr(ps->p, '\0', n))
		return lex_fail(ps, "a NodeDescription of %zu octets: expected 1 to 64", n);
	r->kind = SM_MEMBER_NAME;
	memcpy(r->name, ps->p, n);
	ps->p = stop + 1;
	return true;
}

static bool parse_member(struct lex *ps, struct definition *d, struct sm_partition *part,
			 const char *word)
{
	struct sm_partition_rule r = { .membership = d->defmember };
	char value[WORD_MAX];

	if (!word[0] && ps->p < ps->end && *ps->p == '"') {
		if (!parse_quoted(ps, &r))
			return false;
	} else if (!member_keyword(word, &r.kind)) {
		if (!isdigit((unsigned char)word[0]))
			return lex_fail(
				ps,
				"\"%s\" is no member: expected a port GUID, a name in quotes, "
				"ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF, mgid= or "
				"defmember=",
				word[0] ? word : lex_found(ps));
		r.kind = SM_MEMBER_GUID;
		if (!lex_number(ps, "port GUID", word, UINT64_MAX, &r.guid))
			return false;
	}
	if (lex_peek(ps) == '=' && (!lex_value(ps, "member", value, sizeof(value), false) ||
				    !membership(ps, value, &r.membership)))
		return false;
	return sm_partition_add_rule(part, &r) == 0 || lex_no_memory(ps);
}

/* Read a member or a group and the separator after it, but not the ';' that ends the definition. */
static bool parse_item(struct lex *ps, struct definition *d, struct sm_partition *part)
{
	char word[WORD_MAX];

	if (!lex_word(ps, word, sizeof(word), false))
		return false;
	if (strcasecmp(word, "mgid") == 0) {
		if (!parse_mgid(ps, d, part))
			return false;
		/* A group needs no separator, because the end of the line ends the group. */
		if (ps->p < ps->end && *ps->p == '\n')
			return true;
	} else if (strcasecmp(word, "defmember") == 0) {
		if (!parse_defmember(ps, d))
			return false;
	} else if (!parse_member(ps, d, part, word)) {
		return false;
	}
	if (lex_accept(ps, ',') || lex_accept(ps, ':') || lex_peek(ps) == ';')
		return true;
	return lex_fail(ps, "found '%s': expected ',' and a member, or ';'", lex_found(ps));
}

static bool add_broadcast(struct lex *ps, const struct definition *d, struct sm_partition *part)
{
	unsigned int n = d->nscopes ? d->nscopes : 1;

	for (unsigned int i = 0; i < n; i++) {
		struct sm_partition_group g = d->params;

		g.broadcast = true;
		if (d->nscopes)
			g.scope = d->scope[i];
		if (sm_partition_add_group(part, &g))
			return lex_no_memory(ps);
	}
	return true;
}

static bool parse_definition(struct lex *ps)
{
	struct definition d = {
		.line = ps->line,
		.defmember = SM_MEMBER_LIMITED,
		.params = sm_partition_group_default(),
	};
	struct sm_partition *part;

	if (!parse_head(ps, &d))
		return false;
	part = definition_target(ps, &d);
	if (!part)
		return false;
	part->indx0 |= d.indx0;
	part->ipoib |= d.ipoib;
	if (d.ipoib && !add_broadcast(ps, &d, part))
		return false;
	while (!lex_accept(ps, ';')) {
		if (!parse_item(ps, &d, part))
			return false;
	}
	return true;
}

static bool parse_file(struct lex *ps)
{
	while (lex_peek(ps), ps->p < ps->end) {
		if (!parse_definition(ps))
			return false;
	}
	return sm_partitions_finish(ps);
}

int sm_partitions_parse(struct sm_partitions **ret, const char *name, const char *text, size_t len,
			char *err, size_t err_len)
{
	struct lex ps = {
		.file = name,
		.p = text,
		.end = text + len,
		.line = 1,
		.err = err,
		.err_len = err_len,
		.ps = calloc(1, sizeof(struct sm_partitions)),
	};

	if (!ps.ps)
		return -ENOMEM;
	if (!parse_file(&ps)) {
		sm_partitions_free(ps.ps);
		return ps.code;
	}
	*ret = ps.ps;
	return 0;
}
