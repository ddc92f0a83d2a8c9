/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_PART_H
#define WORLD_PART_H

/*
 * A second partition of the DUT's port, for which the DUT makes a second link (profile hld2002). Its values differ
 * from those of the first link, so that a DUT that uses the wrong values is noticed. The DUT does not see the
 * partition until world_part_set() has put its P_Key into the port's table.
 */

#include "world/world.h"

#define WORLD_PKEY2 0x8014 /* partition 20, as in the HLD's example of a name, ib0_1_14 */
#define WORLD_PKEY3 0x8015 /* a partition that is not in the DUT's list of P_Keys */
#define WORLD_QKEY2 0x80c0f0b2u
#define WORLD_MTU2 IB_MTU_1024

/* world_part_set() - Set the port's P_Key table to @pkeys, followed by zeros. False: the DUT refused it */
bool world_part_set(struct world *w, const uint16_t *pkeys, unsigned int n);

/* Return the P_Key of the link to which a packet of data, or a group, belongs */
uint16_t part_of_packet(const struct world *w, const struct seen *s);
uint16_t part_of_mgid(const struct world *w, const ib_gid *mgid);
/* The DUT's address and QPN on the link of a P_Key */
const uint8_t *part_dut_ip4(const struct world *w, uint16_t pkey);
uint32_t *part_dut_qpn(struct world *w, uint16_t pkey);
/* The IP MTU of a link */
unsigned int part_ip_mtu(const struct world *w, uint16_t pkey);

/* world_part_group() - Make the broadcast group of the second link. NULL: no room */
struct world_group *world_part_group(struct world *w);

/* Matches data of a link, by its P_Key, a uint16_t */
bool part_is(const struct seen *s, const void *pkey);

#endif
