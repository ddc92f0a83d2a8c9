/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_GROUPS_H
#define NETDEV_GROUPS_H

/*
 * The kernel's multicast memberships of an interface, from the text of
 * /proc/net/igmp and /proc/net/igmp6. Such a file shows the namespace in which it
 * was opened, to whoever reads it later: netdev_ns_files() gives both. The kernel
 * lists interface-local groups (ff01::) too, which never appear on a link.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netdev_group {
	int family; /* AF_INET or AF_INET6 */
	uint8_t addr[16]; /* network order; an IPv4 address in the first four, then zeros */
};

/**
 * struct groups_parser - Parses a list that comes in pieces of any length
 *
 * Set by groups_parser_init(); @n and @err are the result after groups_parser_end().
 */
struct groups_parser {
	int family;
	int ifindex;
	struct netdev_group *ret;
	size_t max;
	size_t n; /* groups of the interface found, even those beyond @max */
	int err; /* 0, or -EBADMSG once a line made no sense */
	bool ours; /* igmp: the lines that follow belong to the interface */
	bool first; /* igmp: the title line is still to come */
	unsigned int line_len; /* over sizeof(line): the line is too long */
	char line[128];
};

void groups_parser_init(struct groups_parser *p, int family, int ifindex, struct netdev_group *ret,
			size_t max);
void groups_parser_feed(struct groups_parser *p, const char *text, size_t len);
void groups_parser_end(struct groups_parser *p);

/**
 * groups_parse() - Groups of one interface out of a whole text
 * @family:	AF_INET: /proc/net/igmp, AF_INET6: /proc/net/igmp6
 * @ret:	room for @max groups
 * @ret_n:	how many were written
 *
 * Return: 0; -EBADMSG the text is not such a list; -ENOSPC there are more than @max,
 * and the first @max were written
 */
int groups_parse(int family, const char *text, size_t len, int ifindex, struct netdev_group *ret,
		 size_t max, size_t *ret_n);

/**
 * groups_read() - The same from the beginning of an open file
 *
 * @fd may be -1 (a kernel without that family): no groups.
 * Return: as groups_parse(), or -errno of the read
 */
int groups_read(int family, int fd, int ifindex, struct netdev_group *ret, size_t max,
		size_t *ret_n);

#endif
