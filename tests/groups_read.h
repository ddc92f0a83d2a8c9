/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_GROUPS_READ_H
#define TESTS_GROUPS_READ_H

#include <errno.h>
#include <string.h>

#include "netdev/groups.h"

/*
 * parse_groups() - Find the groups of one interface in a complete text of /proc/net/igmp or igmp6
 * @ret:	room for @max groups
 * @ret_n:	number of groups that were written
 *
 * Return: 0; -EBADMSG: the text is not such a list; -ENOSPC: there are more than @max groups, and
 * the first @max groups were written
 */
static inline int parse_groups(int family, const char *text, size_t len, int ifindex,
			       struct netdev_group *ret, size_t max, size_t *ret_n)
{
	struct groups_parser p;

	groups_parser_init(&p, family, ifindex, ret, max);
	groups_parser_feed(&p, text, len);
	groups_parser_end(&p);
	if (p.err)
		return p.err;
	*ret_n = p.n < p.max ? p.n : p.max;
	return p.n > p.max ? -ENOSPC : 0;
}

/*
 * read_groups() - Read a whole list at once. Return: as parse_groups(), but at -ENOSPC @ret_n is
 * not set, and @ret may have fewer groups than @max
 */
static inline int read_groups(int family, int fd, int ifindex, struct netdev_group *ret, size_t max,
			      size_t *ret_n)
{
	struct netdev_group v[GROUPS_PIECE];
	struct groups_reader r;
	size_t n = 0, got;
	int more;

	groups_reader_init(&r, family, ifindex);
	do {
		more = groups_reader_next(&r, fd, v, &got);
		if (more < 0)
			return more;
		if (n + got > max)
			return -ENOSPC;
		memcpy(ret + n, v, got * sizeof(*v));
		n += got;
	} while (more);
	*ret_n = n;
	return 0;
}

#endif
