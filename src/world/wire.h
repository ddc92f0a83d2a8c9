/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_WIRE_H
#define WORLD_WIRE_H

/*
 * What the packets of a link look like: a row of independent choices. Each choice is computed from its document here, not by
 * code that the product uses.
 */

#include "wire/ib.h"

/* What MGIDs depend on besides the IP group */
struct world_map {
	uint16_t pkey;
	uint8_t scope;
	uint16_t subnet; /* number of the IP subnet; 0: none */
};

struct world_wire {
	/* The link's own group, and the groups of IP multicast addresses */
	ib_gid (*mgid_broadcast)(const struct world_map *map);
	ib_gid (*mgid_ip4)(const struct world_map *map, const uint8_t group[4]);
	ib_gid (*mgid_ip6)(const struct world_map *map, const uint8_t group[16]);
};

/* RFC 4391 */
extern const struct world_wire world_wire_rfc4391;
/* draft-kashyap-ipoib-ipv4-multicast-01: other groups of IPv4, otherwise as RFC 4391 */
extern const struct world_wire world_wire_v4mc01;

#endif
