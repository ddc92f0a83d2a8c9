/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "eth/priv.h"
#include "wire/inet.h"

/*
 * Queries to the stations behind the TAP. From the answers this layer learns the groups of the
 * stations even if no router on the link sends queries, and again after a restart of this process.
 *
 * A query is a general query (RFC 3376 §4.1, RFC 3810 §5.1) in a frame to the MAC of one station.
 * Unicast queries have three advantages. Other routers do not see a unicast query, so it has no
 * effect on the election of a querier. A bridge that snoops looks only at frames to multicast MACs,
 * so it does not treat the TAP as the port of a router. And no station suppresses its answer
 * because another station answered. There is one exception: after a new station appeared, one query
 * is sent to the broadcast MAC, because there may be further new stations that have not sent a
 * frame yet.
 *
 * The source of an IGMP query is 0.0.0.0, as RFC 4541 §2.1.1 recommends for such queries. The
 * source of an MLD query is a link-local address that no host makes.
 */

#define MAX_RESP 10 /* time within which stations answer, in tenths of a second */
#define ETHER_HLEN 14
#define QRV 2 /* robustness, RFC 3376 §4.1.6 */
#define QQIC 125 /* interval between queries in seconds, RFC 3376 §4.1.7 */

static const uint8_t nobody[6] = { 0x06 }; /* MAC of an unknown sender, as in ether.c */

/* query4() fills in the checksum, octets 10 and 11. */
static const uint8_t ip4_header[24] = {
	0x46, 0xc0, 0, 36, 0, 0, 0, 0, 1, 2, 0, 0, /* TTL 1, IGMP */
	0,    0,    0, 0, /* from 0.0.0.0 */
	224,  0,    0, 1, /* to all systems */
	0x94, 4,    0, 0, /* router alert */
};

static const uint8_t igmp[12] = { 0x11, MAX_RESP, [8] = QRV, [9] = QQIC };

static const uint8_t ip6_header[48] = {
	0x60,	     [5] = 36, [7] = 1, /* hop-by-hop options follow, hop limit 1 */
	[8] = 0xfe,  0x80,     [16] = 0x04, [19] = 0xff, 0xfe, /* from fe80::, EUI-64 of nobody[] */
	[24] = 0xff, 0x02,     [39] = 1, /* to all nodes */
	[40] = 58,   0,	       5,	    2,		 0,    0, 1, 0, /* router alert, PadN */
};

static const uint8_t mld[28] = { 130, [4] = MAX_RESP * 100 >> 8,
				 MAX_RESP * 100 & 0xff, [24] = QRV, [25] = QQIC };

static size_t query4(uint8_t *b)
{
	memcpy(b, ip4_header, sizeof(ip4_header));
	be16_put(b + 10, inet_fold(inet_sum(0, b, sizeof(ip4_header))));
	b += sizeof(ip4_header);
	memcpy(b, igmp, sizeof(igmp));
	be16_put(b + 2, inet_fold(inet_sum(0, b, sizeof(igmp))));
	return sizeof(ip4_header) + sizeof(igmp);
}

static size_t query6(uint8_t *b)
{
	uint8_t *m = b + sizeof(ip6_header);
	uint32_t pseudo;

	memcpy(b, ip6_header, sizeof(ip6_header));
	memcpy(m, mld, sizeof(mld));
	pseudo = inet_pseudo6(b + 8, b + 24, 58, sizeof(mld));
	be16_put(m + 2, inet_fold(inet_sum(pseudo, m, sizeof(mld))));
	return sizeof(ip6_header) + sizeof(mld);
}

static void ask(struct eth_if *e, const uint8_t mac[6], uint16_t type, size_t (*make)(uint8_t *b))
{
	uint8_t b[ETHER_HLEN + sizeof(ip6_header) + sizeof(mld)];
	struct eth_frame f = { .n = 1 };

	memcpy(b, mac, 6);
	memcpy(b + 6, nobody, 6);
	be16_put(b + 12, type);
	f.len = (uint32_t)(ETHER_HLEN + make(b + ETHER_HLEN));
	f.first = pkt_from_data(e->cfg.pool, b, f.len);
	if (!f.first)
		return; /* this query is omitted; the next query is sent within ETH_QUERY_PERIOD */
	e->stats.queries++;
	e->ops->deliver(e->ctx, &f);
}

void eth_query(struct eth_if *e, const uint8_t mac[6])
{
	if (!e->up)
		return;
	ask(e, mac, ETH_P_IPV4, query4);
	ask(e, mac, ETH_P_IPV6_, query6);
}
