/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/model.h"

/*
 * Reads forwarding tables that other programs have printed. A file has a section for each switch,
 * which begins with one of these headings (the program or its file is named on the right):
 *
 *	Unicast lids [0x0-0x12] of switch DR path ... guid 0x0000000000200008 (Switch9):	ibroute, dump_fts, dump_lfts.sh
 *	0x0001 001 : (Channel Adapter portguid 0x0000000000100001: 'Hca1')
 *
 *	Unicast lids [0-18] of switch Lid 2 guid 0x0000000000200000 ('Switch1'):	opensm-lfts.dump
 *	0x0001 005 # Channel Adapter portguid 0x0000000000100001: 'Hca1'
 *
 *	Multicast mlids [0xc000-0xc01f] of switch Lid 2 guid 0x0000000000200000 (Switch1):	ibroute -M, dump_fts -M
 *	     Ports: 0 1 2 3 4 5
 *	0xc000        x       x		two columns for each port, from the 13th on
 *
 *	dump_ucast_routes: Switch 0x0000000000200000	opensm.fdbs
 *	LID    : Port : Hops : Optimal
 *	0x0001 : 005  : 01   : yes
 *
 *	Switch 0x0000000000200000	opensm.mcfdbs
 *	LID    : Out Port(s)
 *	0xC000 : 0x001  0x005
 */

#define COLUMN 12 /* column of the first port in a multicast table of ibroute, from 0 */

enum section { NO_SECTION, HEAD, UCAST, UCAST_COLON, MCAST_COLUMNS, MCAST_LIST };

struct reader {
	struct chk_fabric *f;
	enum section section;
	struct chk_switch *sw; /* NULL: the fabric has no switch with the section's GUID */
	unsigned int unknown;
	const char *name;
	unsigned int line;
	struct chk_err *err;
};

static int bad(struct reader *r, const char *expected, const char *line)
{
	snprintf(r->err->text, sizeof(r->err->text), "%s:%u: expected %s, found '%.60s'", r->name,
		 r->line, expected, line);
	return -EINVAL;
}

/* --- heads of sections */

/* Begin the section of the switch whose GUID is at @s. */
static int begin(struct reader *r, enum section kind, const char *s, const char *line)
{
	const struct chk_node *n;
	unsigned long long guid;
	char *end;

	errno = 0;
	guid = strtoull(s, &end, 16);
	if (errno || end == s || !guid)
		return bad(r, "the GUID of a switch", line);
	n = chk_find(r->f, guid);
	if (n && !n->sw)
		return bad(r, "a switch, not a CA", line);
	r->section = kind;
	r->sw = n ? n->sw : NULL;
	r->unknown += !n;
	return 0;
}

/*
 * Allocate the switch's forwarding table even if no row follows, because an empty table differs
 * from a table that was not read.
 */
static int start_table(struct reader *r)
{
	if (!r->sw)
		return 0;
	if (r->section == UCAST || r->section == UCAST_COLON)
		return chk_set_lft(r->f, r->sw, 0, SMP_LFT_NONE);
	r->sw->mft_known = true;
	return 0;
}

static int head(struct reader *r, const char *line, enum section kind)
{
	const char *guid = strstr(line, " guid 0x");
	int err;

	if (!guid)
		return bad(r, "guid 0x...", line);
	err = begin(r, kind, guid + strlen(" guid "), line);
	return err ? err : start_table(r);
}

static int columns(struct reader *r, const char *line)
{
	if (r->section != HEAD)
		return bad(r, "Switch 0x... before this line", line);
	r->section = strstr(line, "Out Port(s)") ? MCAST_LIST : UCAST_COLON;
	return start_table(r);
}

/* --- rows */

static bool number(const char **s, int base, unsigned long max, unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(*s, &end, base);
	if (errno || end == *s || **s == '-' || *ret > max)
		return false;
	*s = end;
	return true;
}

static const char *blanks(const char *s)
{
	return s + strspn(s, " \t:");
}

static int ucast(struct reader *r, unsigned long lid, const char *s, const char *line)
{
	unsigned long port;

	s = blanks(s);
	if (!strncmp(s, "UNREACHABLE", 11))
		return 0;
	if (!number(&s, 10, 255, &port))
		return bad(r, "a port of 0 to 255", line);
	if (lid >= IB_LID_MCAST_MIN)
		return bad(r, "a unicast LID", line);
	return r->sw ? chk_set_lft(r->f, r->sw, (unsigned int)lid, (uint8_t)port) : 0;
}

static int set_port(struct reader *r, unsigned long mlid, unsigned long port)
{
	if (!r->sw)
		return 0;
	return chk_set_mft(r->f, r->sw, (unsigned int)mlid, (unsigned int)port / 16,
			   (uint16_t)(1u << (port % 16)));
}

static int mcast_columns(struct reader *r, unsigned long mlid, const char *line)
{
	size_t len = strlen(line);
	int err = 0;

	for (size_t at = COLUMN; !err && at < len; at++) {
		if (line[at] == 'x' && at % 2 == 0 && (at - COLUMN) / 2 < 256)
			err = set_port(r, mlid, (at - COLUMN) / 2);
		else if (line[at] != ' ')
			return bad(r, "x in the column of a port", line);
	}
	return err;
}

static int mcast_list(struct reader *r, unsigned long mlid, const char *s, const char *line)
{
	unsigned long port;
	int err = 0;

	for (s = blanks(s); !err && *s; s = blanks(s)) {
		if (!number(&s, 16, 255, &port))
			return bad(r, "ports as 0x001", line);
		err = set_port(r, mlid, port);
	}
	return err;
}

static int row(struct reader *r, const char *line)
{
	const char *s = line;
	unsigned long lid;

	if (!number(&s, 16, 0xffff, &lid))
		return bad(r, "a LID", line);
	switch (r->section) {
	case UCAST:
	case UCAST_COLON:
		return ucast(r, lid, s, line);
	case MCAST_COLUMNS:
	case MCAST_LIST:
		if (!ib_lid_is_mcast((unsigned int)lid))
			return bad(r, "a multicast LID", line);
		return r->section == MCAST_LIST ? mcast_list(r, lid, s, line)
						: mcast_columns(r, lid, line);
	default:
		return bad(r, "the head of a table before its rows", line);
	}
}

/* --- lines */

/*
 * Tell whether a line has no data: an empty line, a comment, a heading of columns, a count of rows
 * at the end of a section, or a warning of ibroute
 */
static bool is_idle(const char *line)
{
	static const char *const starts[] = { "Lid  Out", "Port     Info", "Ports:", "MLid",
					      "ibwarn:" };

	line += strspn(line, " \t");
	if (!*line || *line == '#' || strstr(line, "lids dumped"))
		return true;
	if (strncmp(line, "0x", 2) && strspn(line, "0123456789 \t") == strlen(line))
		return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(line, starts[i], strlen(starts[i])))
			return true;
	return false;
}

static int one_line(struct reader *r, const char *line)
{
	const char *sw;

	if (is_idle(line))
		return 0;
	if (!strncmp(line, "Unicast lids", 12))
		return head(r, line, UCAST);
	if (!strncmp(line, "Multicast mlids", 15))
		return head(r, line, MCAST_COLUMNS);
	if (!strncmp(line, "LID ", 4))
		return columns(r, line);
	if (!strncmp(line, "0x", 2))
		return row(r, line);
	sw = strstr(line, "Switch 0x");
	if (sw)
		return begin(r, HEAD, sw + strlen("Switch "), line);
	return bad(r, "a table of ibroute, dump_fts or OpenSM", line);
}

int chk_read_tables(struct chk_fabric *f, const char *name, const char *text, size_t len,
		    unsigned int *ret_unknown, struct chk_err *err)
{
	struct reader r = { .f = f, .name = name, .err = err };
	char line[1024];
	int status = 0;

	for (size_t at = 0; !status && at < len;) {
		const char *nl = memchr(text + at, '\n', len - at);
		size_t n = nl ? (size_t)(nl - (text + at)) : len - at;

		r.line++;
		if (n >= sizeof(line)) {
			status = bad(&r, "lines of less than 1024 octets", "a longer one");
			break;
		}
		memcpy(line, text + at, n);
		line[n] = 0;
		if (n && line[n - 1] == '\r')
			line[n - 1] = 0;
		status = one_line(&r, line);
		at += n + 1;
	}
	if (!status && r.section == NO_SECTION)
		status = bad(&r, "a table of ibroute, dump_fts or OpenSM", "none");
	*ret_unknown = r.unknown;
	return status;
}
