/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_GROUPS_H
#define NETDEV_GROUPS_H

/*
 * The kernel's multicast memberships of an interface, from the text of /proc/net/igmp and /proc/net/igmp6. Such a
 * file shows the memberships in the namespace in which the file was opened, even if a process in another namespace
 * reads it; netdev_ns_files() opens both files. The kernel also lists interface-local groups (ff01::), which never
 * appear on a link.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netdev_group {
	int family; /* AF_INET or AF_INET6 */
	/* In network order; an IPv4 address is in the first four octets, and the other octets are zero */
	uint8_t addr[16];
};

/**
 * struct groups_parser - Parser of /proc/net/igmp or igmp6, which is read in pieces of any length
 *
 * groups_parser_init() initializes the parser; after groups_parser_end(), @n and @err are the result.
 */
struct groups_parser {
	int family;
	int ifindex;
	struct netdev_group *ret;
	size_t max;
	size_t n; /* number of groups of the interface, including those beyond @max */
	int err; /* 0, or -EBADMSG after a line that could not be parsed */
	bool ours; /* true while the lines that follow in /proc/net/igmp belong to the interface */
	bool first; /* true before the title line of /proc/net/igmp */
	/* Number of octets in .line; sizeof(line) if the line is too long */
	unsigned int line_len;
	char line[128];
};

void groups_parser_init(struct groups_parser *p, int family, int ifindex, struct netdev_group *ret,
			size_t max);
void groups_parser_feed(struct groups_parser *p, const char *text, size_t len);
void groups_parser_end(struct groups_parser *p);

/*
 * A list of tens of thousands of groups is read in pieces, so that the caller can do other work
 * between two pieces. The kernel walks the list from its beginning for each read, which takes 0.3
 * ms at 40,000 groups.
 */
#define GROUPS_PIECE 256 /* largest number of groups in one piece */

struct groups_reader {
	struct groups_parser p;
	long long off; /* number of octets read so far */
	unsigned int pieces; /* number of pieces so far that were not empty */
};

void groups_reader_init(struct groups_reader *r, int family, int ifindex);

/**
 * groups_reader_next() - Read the next piece by one system call
 * @fd:		descriptor of the list's file; -1 if the kernel lacks the address family, whose list is then empty
 * @ret_n:	number of groups that were written
 *
 * If entries are added or removed between two reads, other entries may shift, so a list of more than one piece may
 * lack some groups.
 * Return: 1: there may be more; 0: the list has ended; -EBADMSG: a line of the list could not be parsed; -errno of
 * the read
 */
int groups_reader_next(struct groups_reader *r, int fd, struct netdev_group ret[GROUPS_PIECE],
		       size_t *ret_n);

#endif
