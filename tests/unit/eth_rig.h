/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ETH_RIG_H
#define TESTS_ETH_RIG_H

/*
 * One Ethernet interface over a link that is up, with a fake SA, on virtual time: what it
 * posts, delivers and reports is kept. Checksums are made and checked here an octet pair at a
 * time, independent of wire/inet.
 */

#include "eth/eth.h"
#include "ipoib_rig.h"
#include "wire/arp.h"
#include "wire/nd.h"

#define ER_PEER 7 /* the peer of most tests: its LID, and GID by peer_gid() */
#define ER_PEER_QPN 0x77
#define ER_KEPT 256
#define ER_OCTETS 4200

struct er_sent {
	uint8_t data[ER_OCTETS]; /* from the encapsulation on */
	size_t len;
	const struct pkt *pkt; /* who it was; freed */
	const uint8_t *slice; /* where its payload was */
	uint32_t flags, dest_qpn, qkey;
	uint32_t src_qpn; /* 0: the interface's own */
	struct ipoib_ah_attr ah;
};

struct er_got {
	uint8_t data[ER_OCTETS];
	size_t len;
	const struct pkt *pkt;
	unsigned int n; /* packets coalesced */
	uint8_t gso;
};

struct er_station {
	struct eth_station *st; /* NULL: closed */
	uint8_t mac[6];
	uint32_t qpn;
};

struct eth_rig {
	struct ipoib_rig r;
	struct eth_if *e;
	uint8_t mac[6];
	struct ipoib_lladdr own;
	struct er_sent sent[ER_KEPT];
	unsigned int nsent;
	struct er_got got[ER_KEPT];
	unsigned int ngot;
	uint8_t gone[ER_KEPT][6];
	unsigned int ngone;
	struct er_station station[ER_KEPT]; /* as they were opened */
	unsigned int nstation;
	int station_err; /* what opening one gives */
	bool no_ready; /* MCAST_READY gets lost, as if joins took for ever */
};

extern const uint8_t er_bcast_mac[6];
extern const uint8_t er_ip_own[4], er_ip_peer[4], er_ll_own[16];
extern uint8_t er_peer_mac[6];
extern struct eth_rig er; /* too large for a stack */

/* Stations that interfaces made from now on may have, and whether DHCP is left alone. */
extern unsigned int er_max_stations;
extern bool er_dhcp_raw;

/* Link up, TAP up, 224.0.0.1 and ff02::1 joined. */
void er_init(void);
/* The same, without eth_if_set_up(). */
void er_init_down(void);
/* And a peer: its token in er_peer_mac, the path to it known. */
void er_init_peer(void);
void er_fini(void);
void er_drain(void);
void er_run(ns_t dt);
/* er_clear() - Forget what was posted, delivered, reported */
void er_clear(void);

uint64_t er_drops(enum eth_drop why);
/* er_drops_sum() - Of all reasons, and of those of the link */
uint64_t er_drops_sum(void);
/* er_check_dropped() - Exactly one drop so far, for @why, and nothing left */
void er_check_dropped(enum eth_drop why);

/* --- from the TAP */

struct pkt *er_frame(const uint8_t dst[6], const uint8_t src[6], uint16_t type, const void *data,
		     size_t n);
/* er_tx_from() - One frame of a station */
void er_tx_from(const uint8_t src[6], const uint8_t dst[6], uint16_t type, const void *data,
		size_t n);
/* er_tx() - One frame of our own MAC */
void er_tx(const uint8_t dst[6], uint16_t type, const void *data, size_t n);
void er_tx_pkt(struct pkt *p);

/* --- from the link */

struct pkt *er_packet(uint16_t type, const void *data, size_t n);
/* er_rx_pkt() - From @peer, unicast; @grh: with one, to @mgid if not NULL */
void er_rx_pkt(struct pkt *p, unsigned int peer, uint32_t qpn, bool grh, const ib_gid *mgid);
void er_rx(uint16_t type, const void *data, size_t n);
void er_rx_mcast(const ib_gid *mgid, uint16_t type, const void *data, size_t n);

/* er_rx_station() - As er_rx(), by the QP of a station */
void er_rx_station(const uint8_t mac[6], uint16_t type, const void *data, size_t n);

/* --- addresses */

struct ipoib_lladdr er_peer_addr(unsigned int peer, uint32_t qpn);
/* er_station() - The open station with @mac, or NULL */
struct er_station *er_station(const uint8_t mac[6]);
/* er_learn() - A peer that the SA knows, known here by its token */
void er_learn(unsigned int peer, uint32_t qpn, uint8_t ret_mac[6]);

/* --- octets */

uint16_t er_sum(const uint8_t *p, size_t len, uint32_t sum);
/* er_check_ip() - Version, length, header and ICMPv6, TCP, UDP or IGMP checksum are right */
void er_check_ip(const uint8_t *ip, size_t len);

/* Write an IP packet, checksum of IPv4 header made; return its length. */
size_t er_ip4(uint8_t *b, const uint8_t src[4], const uint8_t dst[4], uint8_t proto,
	      const void *data, size_t n);
size_t er_ip6(uint8_t *b, const uint8_t src[16], const uint8_t dst[16], uint8_t next, uint8_t hop,
	      const void *data, size_t n);
/* er_icmp6() - @m's checksum made; hop limit 255 */
size_t er_icmp6(uint8_t *b, const uint8_t src[16], const uint8_t dst[16], const void *m, size_t n);
size_t er_udp4(uint8_t *b, const uint8_t src[4], const uint8_t dst[4], size_t n);

#endif
