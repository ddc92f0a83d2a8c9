/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_GROUP_H
#define WORLD_GROUP_H

/* IP multicast groups */

#include "world/world.h"

/* An IP multicast group: its address as text, for the hook program, and as octets, for the SA */
struct ip_group {
	const char *text;
	uint8_t ip[16]; /* IPv4 uses only the first 4 octets */
	bool v6;
	ib_gid mgid;
};

/*
 * group_of() - Return: the group with the address @ip4 if the link carries IPv4, otherwise the
 * group with the address @ip6
 */
struct ip_group group_of(const struct world *w, const char *ip4, const char *ip6);
/* Tell whether a packet is an IP packet to @group, a struct ip_group */
bool to_group_of(const struct seen *s, const void *group);

/* Tell whether a packet is a report of IGMP, or of MLD, that names @group, a struct ip_group */
bool igmp_reports(const struct seen *s, const void *group);
bool mld_reports(const struct seen *s, const void *group);

#endif
