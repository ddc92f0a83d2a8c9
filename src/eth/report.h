/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_REPORT_H
#define ETH_REPORT_H

/* Parsers of IGMP and MLD reports, without state */

#include "ipoib/ipoib.h"

struct eth_report {
	enum ipoib_proto proto;
	uint8_t group[16]; /* IPv4: the first 4 octets */
	bool join; /* true: the sender joins the group; false: it leaves the group */
};

/*
 * eth_report_maybe() - Tell whether a packet is possibly an IGMP or MLD report, from its fixed IP
 * header @ip (20 or 40 octets)
 */
bool eth_report_maybe(const uint8_t *ip);

/*
 * eth_report_parse() - Call @fn for each group of an IGMP or MLD report, leave or done message
 * @len:	octets of the IP packet, without Ethernet's padding
 *
 * A truncated record ends the list.
 * Return: true if the packet was a report, leave or done message with the right checksum
 */
bool eth_report_parse(const uint8_t *ip, size_t len,
		      void (*fn)(void *ctx, const struct eth_report *r), void *ctx);

#endif
