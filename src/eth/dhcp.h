/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_DHCP_H
#define ETH_DHCP_H

/*
 * Translation of DHCP messages between the Ethernet format and the format of RFC 4390. The
 * functions that rewrite a message do not free @p. They return a new packet, or @p itself if
 * nothing in @p must be rewritten, or NULL if the message is refused; *why is then the reason.
 */

#include "eth/eth.h"

/*
 * table of those clients behind the device that wait for a reply; allocated when the first client
 * appears
 */
struct eth_dhcp;

/*
 * eth_is_dhcp() - Tell whether the IPv4 packet @p is possibly a DHCP message that must be
 * rewritten.
 * @ip: first 20 octets of @p
 */
bool eth_is_dhcp(const struct eth_if *e, struct pkt *p, const uint8_t *ip);
struct pkt *eth_dhcp_to_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why);
struct pkt *eth_dhcp_from_link(struct eth_if *e, struct pkt *p, struct ipoib_neigh *src,
			       enum eth_drop *why);
void eth_dhcp_fini(struct eth_if *e);

#endif
