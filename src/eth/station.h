/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_STATION_H
#define ETH_STATION_H

/* Ethernet shape. A station is a MAC behind the TAP that is not the interface's own. */

#include "eth/eth.h"

/* interval between two group queries to a station: RFC 3376 §8.2, RFC 3810 §9.2 */
#define ETH_QUERY_PERIOD NS_SEC(125)
/* time from the appearance of a station to the query that is sent to all stations */
#define ETH_QUERY_SOON NS_SEC(1)
/* time for which a station must have been idle before a new station may replace it */
#define ETH_STATION_SPARE NS_SEC(10)

/*
 * A station is a MAC address behind the interface, for example of a host behind a bridge. Each
 * station has a queue pair of its own. A packet from a station has the .id of the station in struct
 * frame_info.station. An id is not used again before 2^26 other stations were made. So a packet of
 * a closed station is never sent by the queue pair of another station.
 */
struct eth_station {
	struct hlink by_mac; /* in eth_stations.by_mac */
	/* id of the station: slot number in the low bits, .seq of struct eth_stations in the high bits; never 0 */
	uint32_t id;
	uint8_t mac[6];
	uint32_t qpn;
	void *qp; /* queue pair, as returned by eth_ops.station_open() */
	ns_t since, last_used;
	ns_t query_at; /* time of the next group query to this station */
	uint64_t tx_frames, rx_packets;
};

struct eth_stations {
	struct eth_station *slot[ETH_STATIONS_MAX];
	struct htab by_mac; /* struct eth_station.by_mac */
	unsigned int n;
	uint32_t seq; /* number in the id of the station that was made last */
	ns_t query_own_at; /* time of the next group query to the interface's own MAC */
	ns_t query_all_at; /* time of the next group query to all stations; 0: none is planned */
	struct timer timer; /* timer for ageing and queries */
};

void eth_stations_init(struct eth_if *e);
/* eth_stations_fini() - Close all stations */
void eth_stations_fini(struct eth_if *e);

/*
 * eth_station_from() - Find or create the station that sent a frame whose source MAC is not the
 * interface's own
 * @p:		the frame, whose struct frame_info.station becomes the station's id
 *
 * Return: ETH_DROP_NONE, or the reason for which the frame is dropped
 */
enum eth_drop eth_station_from(struct eth_if *e, const uint8_t mac[6], struct pkt *p, ns_t now);
/* eth_station_wake() - Make the stations' timer expire at @at at the latest */
void eth_station_wake(struct eth_if *e, ns_t at);
/* eth_station_by_id(), eth_station_by_mac() - Find a station; NULL: there is none */
struct eth_station *eth_station_by_id(const struct eth_if *e, uint32_t id);
struct eth_station *eth_station_by_mac(const struct eth_if *e, const uint8_t mac[6]);
/* eth_mac_is_local() - Tell whether @mac is the MAC of the interface or of a station */
bool eth_mac_is_local(const struct eth_if *e, const uint8_t mac[6]);
/*
 * eth_local_mac() - Return the MAC of a link-layer address of the interface or of a station; NULL: the address
 * belongs to neither
 */
const uint8_t *eth_local_mac(const struct eth_if *e, const struct ipoib_lladdr *a);
/*
 * eth_lladdr_is_local() - Tell whether @a is the address of the interface or of a station, without regard to its
 * flags
 */
bool eth_lladdr_is_local(const struct eth_if *e, const struct ipoib_lladdr *a);

/* --- query.c */

/*
 * eth_query() - Send a general IGMP query and an MLD query to the station @mac; if @mac is the
 * broadcast address, to all stations
 */
void eth_query(struct eth_if *e, const uint8_t mac[6]);

#endif
