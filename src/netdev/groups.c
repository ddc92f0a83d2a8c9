/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/groups.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/hex.h"

/*
 * /proc/net/igmp has a title line, and then a line for each interface. The line begins with the
 * index of the interface. After it come indented lines, one for each group of the interface. Each
 * of them begins with the group's address as a 32-bit number in host order:
 *
 *	Idx	Device    : Count Querier	Group    Users Timer	Reporter
 *	2	uib0      :     1      V3
 *					010000E0     1 0:00000000		0
 *
 * /proc/net/igmp6 has no title line. Each line is one group of an interface: index and name of the
 * interface, address of the group in network order, users, flags, timer:
 *
 *	2    uib0            ff020000000000000000000000000001     1 0000000C 0
 */

#define READ_SIZE 4096 /* octets of one read; the kernel never returns more at once */
#define SHORTEST_LINE 20 /* a line of /proc/net/igmp that has a group is longer than this */

static_assert(READ_SIZE / SHORTEST_LINE < GROUPS_PIECE,
	      "a piece has room for all groups of a read");

void groups_parser_init(struct groups_parser *p, int family, int ifindex, struct netdev_group *ret,
			size_t max)
{
	*p = (struct groups_parser){
		.family = family,
		.ifindex = ifindex,
		.ret = ret,
		.max = max,
		.first = true,
	};
}

static void found(struct groups_parser *p, const uint8_t *addr, size_t alen)
{
	if (p->n < p->max) {
		struct netdev_group *g = &p->ret[p->n];

		memset(g, 0, sizeof(*g));
		g->family = p->family;
		memcpy(g->addr, addr, alen);
	}
	p->n++;
}

/* Reads exactly @n octets as hexadecimal digits, after which a blank must follow. */
static int hex_octets(const char *s, uint8_t *ret, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int hi = hex_digit(s[2 * i]), lo = hi < 0 ? -1 : hex_digit(s[2 * i + 1]);

		if (lo < 0)
			return -EBADMSG;
		ret[i] = (uint8_t)(hi << 4 | lo);
	}
	return s[2 * n] == ' ' || s[2 * n] == '\t' ? 0 : -EBADMSG;
}

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

static const char *skip_word(const char *s)
{
	while (*s && *s != ' ' && *s != '\t')
		s++;
	return skip_blanks(s);
}

/*
 * Reads a decimal interface index. Returns a pointer to the character after the number, or NULL if
 * there is no number.
 */
static const char *get_index(const char *s, int *ret)
{
	unsigned long v = 0;

	if (!isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*s); s++) {
		v = v * 10 + (unsigned long)(*s - '0');
		if (v > INT32_MAX)
			return NULL;
	}
	if (*s != ' ' && *s != '\t')
		return NULL;
	*ret = (int)v;
	return skip_blanks(s);
}

static int line_igmp(struct groups_parser *p, const char *s)
{
	uint8_t be[4];
	uint32_t host;
	int idx;

	if (p->first) {
		p->first = false;
		return strncmp(s, "Idx", 3) ? -EBADMSG : 0;
	}
	if (*s != ' ' && *s != '\t') {
		if (!get_index(s, &idx))
			return -EBADMSG;
		p->ours = idx == p->ifindex;
		return 0;
	}
	if (hex_octets(skip_blanks(s), be, 4))
		return -EBADMSG;
	if (!p->ours)
		return 0;
	/*
	 * The kernel prints the four octets of the address as one integer in the host's byte order.
	 */
	host = (uint32_t)be[0] << 24 | (uint32_t)be[1] << 16 | (uint32_t)be[2] << 8 | be[3];
	memcpy(be, &host, 4);
	found(p, be, 4);
	return 0;
}

static int line_igmp6(struct groups_parser *p, const char *s)
{
	uint8_t addr[16];
	int idx;

	s = get_index(s, &idx);
	if (!s || hex_octets(skip_word(s), addr, 16))
		return -EBADMSG;
	if (idx == p->ifindex)
		found(p, addr, 16);
	return 0;
}

static void end_line(struct groups_parser *p)
{
	int err = -EBADMSG;

	if (p->line_len < sizeof(p->line) && !memchr(p->line, 0, p->line_len)) {
		p->line[p->line_len] = 0;
		err = p->family == AF_INET ? line_igmp(p, p->line) : line_igmp6(p, p->line);
	}
	p->line_len = 0;
	if (err)
		p->err = err;
}

void groups_parser_feed(struct groups_parser *p, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			end_line(p);
		else if (p->line_len < sizeof(p->line))
			p->line[p->line_len++] = text[i];
	}
}

void groups_parser_end(struct groups_parser *p)
{
	if (p->line_len)
		end_line(p);
}

void groups_reader_init(struct groups_reader *r, int family, int ifindex)
{
	*r = (struct groups_reader){ 0 };
	groups_parser_init(&r->p, family, ifindex, NULL, GROUPS_PIECE);
}

int groups_reader_next(struct groups_reader *r, int fd, struct netdev_group ret[GROUPS_PIECE],
		       size_t *ret_n)
{
	char buf[READ_SIZE];
	ssize_t got = 0;

	if (fd >= 0)
		do
			got = pread(fd, buf, sizeof(buf), r->off);
		while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	r->p.ret = ret;
	r->p.n = 0;
	if (got)
		groups_parser_feed(&r->p, buf, (size_t)got);
	else
		groups_parser_end(&r->p);
	r->off += got;
	r->pieces += got != 0;
	*ret_n = r->p.n;
	return r->p.err ? r->p.err : got != 0;
}
