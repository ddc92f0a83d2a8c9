/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_GROUP_H
#define WORLD_GROUP_H

/* IP multicast groups */

#include "world/world.h"

/* An IP multicast group as the hook and the SA name it */
struct ip_group {
	const char *text;
	uint8_t ip[16]; /* IPv4 has 4 octets */
	bool v6;
	ib_gid mgid;
};

/* group_of() - Return: the group of one of two texts: the IPv4 one if the link carries IPv4, otherwise the IPv6 one */
struct ip_group group_of(const struct world *w, const char *ip4, const char *ip6);
/* Matches packets of IP to a group, @group */
bool to_group_of(const struct seen *s, const void *group);

/* Matches a report of IGMP or MLD with this group in it */
bool igmp_reports(const struct seen *s, const void *group);
bool mld_reports(const struct seen *s, const void *group);

#endif
