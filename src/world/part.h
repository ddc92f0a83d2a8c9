/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_PART_H
#define WORLD_PART_H

/*
 * A second partition of the DUT's port, for which the DUT makes a second link (profile hld2002).
 * The values of the second link differ from the values of the first link, so that a DUT that uses
 * the wrong values is noticed. The DUT does not see the partition until world_part_set() has put
 * WORLD_PKEY2 into the P_Key table of the DUT's port.
 */

#include "world/world.h"

/* partition 0x14, as in ib0_1_14, the example of a device name in intel-ipoib-linux-hld-2002 */
#define WORLD_PKEY2 0x8014
#define WORLD_PKEY3 0x8015 /* a partition that is not in the DUT's list of P_Keys */
#define WORLD_QKEY2 0x80c0f0b2u
#define WORLD_MTU2 IB_MTU_1024

/*
 * world_part_set() - Set the port's P_Key table to @pkeys, followed by zeros. Return: false if the
 * DUT refused the table or did not answer
 */
bool world_part_set(struct world *w, const uint16_t *pkeys, unsigned int n);

/*
 * part_of_packet(), part_of_mgid() - Return: the P_Key of the link to which a data packet, or the
 * group with the MGID @mgid, belongs
 */
uint16_t part_of_packet(const struct world *w, const struct seen *s);
uint16_t part_of_mgid(const struct world *w, const ib_gid *mgid);
/*
 * For the link with this P_Key: part_dut_ip4() returns the DUT's IPv4 address, part_dut_qpn() a
 * pointer to the DUT's QPN
 */
const uint8_t *part_dut_ip4(const struct world *w, uint16_t pkey);
uint32_t *part_dut_qpn(struct world *w, uint16_t pkey);
/* The IP MTU of a link */
unsigned int part_ip_mtu(const struct world *w, uint16_t pkey);

/*
 * world_part_group() - Make the broadcast group of the second link. Return: NULL if there is no
 * room for another group
 */
struct world_group *world_part_group(struct world *w);

/* Tell whether a packet carries data on the link with the P_Key @pkey, a uint16_t */
bool part_is(const struct seen *s, const void *pkey);

#endif
