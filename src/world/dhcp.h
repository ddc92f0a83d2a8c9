/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_DHCP_H
#define WORLD_DHCP_H

/*
 * A DHCP server for IPv4, which runs on the peer w->dhcp. The server tells its clients to renew
 * their lease after 3 s.
 */

#include "wire/dhcp.h"
#include "world/world.h"

/* Offsets of fields in a DHCP message, RFC 2131 section 2 */
#define DHCP_OFF_HTYPE 1
#define DHCP_OFF_HLEN 2
#define DHCP_OFF_FLAGS 10
#define DHCP_OFF_CIADDR 12
#define DHCP_OFF_CHADDR 28

/*
 * world_dhcp_rx() - Handle an IPv4 packet of the DUT, and answer it if it is a message to the DHCP
 * server
 */
void world_dhcp_rx(struct world *w, const struct seen *s);

/*
 * dhcp_message() - Find the message of a DHCP client in a packet. Return: the message, of @ret_len octets; NULL if the
 * packet has none
 */
const uint8_t *dhcp_message(const struct seen *s, size_t *ret_len);
/* dhcp_type_of() - Return: the type of a DHCP message; 0 for a BOOTP message, which has no type */
uint8_t dhcp_type_of(const uint8_t *msg, size_t len);

struct dhcp_want {
	uint8_t type;
	bool has_address; /* true if the field ciaddr (client IP address) is not 0 */
	bool any_address; /* true: ciaddr may have any value */
};
bool dhcp_is(const struct seen *s, const void *want);

#endif
