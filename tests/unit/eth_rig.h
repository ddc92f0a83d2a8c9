/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ETH_RIG_H
#define TESTS_ETH_RIG_H

/*
 * One Ethernet interface over a link that is up, with a fake SA, on virtual time. All packets that
 * the interface posts and delivers, and all its reports, are stored for the test. The rig computes
 * and checks checksums one octet pair at a time, independent of wire/inet.
 */

#include "eth/eth.h"
#include "ipoib_rig.h"
#include "wire/arp.h"
#include "wire/nd.h"

#define ER_PEER 7 /* LID of the peer in most tests; peer_gid() returns the peer's GID */
#define ER_PEER_QPN 0x77
#define ER_KEPT 512
#define ER_OCTETS 4200

struct er_sent {
	uint8_t data[ER_OCTETS]; /* the packet from the IPoIB encapsulation header on */
	size_t len;
	/*
	 * address of the descriptor that was delivered, only for comparison, because the descriptor
	 * is already freed
	 */
	const struct pkt *pkt;
	const uint8_t *slice; /* address at which its payload was */
	uint32_t dest_qpn, qkey;
	uint8_t csum; /* enum frame_csum */
	uint32_t src_qpn; /* source QPN; 0: the interface's own */
	struct ipoib_ah_attr ah;
};

struct er_got {
	uint8_t data[ER_OCTETS];
	size_t len;
	const struct pkt *pkt;
	unsigned int n; /* number of packets coalesced into this frame */
	uint8_t gso;
};

struct er_station {
	struct eth_station *st; /* NULL: the station was closed */
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
	/* address of the neighbour that was last reported as forgotten */
	struct ipoib_lladdr lladdr_gone;
	unsigned int nlladdr_gone;
	struct er_station station[ER_KEPT]; /* stations in the order in which they were opened */
	unsigned int nstation;
	int station_err; /* error with which opening a station's QP fails; 0: none */
	bool no_ready; /* true: IPOIB_ACT_MCAST_READY is dropped, as if joins never ended */
};

extern const uint8_t er_bcast_mac[6];
extern const uint8_t er_ip_own[4], er_ip_peer[4], er_ll_own[16];
extern uint8_t er_peer_mac[6];
extern struct eth_rig er; /* too large for a stack */

/*
 * Settings of all interfaces that are made from now on: the shape; the largest number of stations;
 * whether DHCP passes unchanged; the link's profile (NULL: the default)
 */
extern enum eth_shape er_shape;
extern unsigned int er_max_stations;
extern bool er_dhcp_raw;
extern const struct ipoib_profile *er_profile;
extern const struct log_sink *er_log; /* log of the interface; NULL: the log is discarded */

/* Make the interface with its link up, its TAP up, and 224.0.0.1 and ff02::1 joined. */
void er_init(void);
/* As er_init(), but without eth_if_set_up(). */
void er_init_down(void);
/* Like er_init(), with one peer: its token is in er_peer_mac, and the path to it is known. */
void er_init_peer(void);
void er_fini(void);
void er_drain(void);
void er_run(ns_t dt);
/*
 * er_groups_sync() - Give the interface the kernel's lists of joined groups, which were read just
 * now: @n4 IPv4 groups and @n6 IPv6 groups
 */
void er_groups_sync(const uint8_t (*v4)[4], unsigned int n4, const uint8_t (*v6)[16],
		    unsigned int n6);
/* er_clear() - Forget the packets, frames and reports of the interface so far */
void er_clear(void);

uint64_t er_drops(enum eth_drop why);
/* er_drops_sum() - Sum of the drops for all reasons, including those of the link */
uint64_t er_drops_sum(void);
/*
 * er_check_dropped() - Check that exactly one packet was dropped, for the reason @why, and that no
 * packet is left
 */
void er_check_dropped(enum eth_drop why);

/* --- from the TAP */

struct pkt *er_frame(const uint8_t dst[6], const uint8_t src[6], uint16_t type, const void *data,
		     size_t n);
/* er_tx_from() - The TAP sends one frame with the source MAC @src */
void er_tx_from(const uint8_t src[6], const uint8_t dst[6], uint16_t type, const void *data,
		size_t n);
/* er_tx() - The TAP sends one frame with the interface's own MAC */
void er_tx(const uint8_t dst[6], uint16_t type, const void *data, size_t n);
void er_tx_pkt(struct pkt *p);

/* --- from the link */

struct pkt *er_packet(uint16_t type, const void *data, size_t n);
/*
 * er_rx_pkt() - Let a unicast packet of @peer arrive. With @grh the packet has a GRH, and @mgid, if
 * it is not NULL, is the GRH's destination
 */
void er_rx_pkt(struct pkt *p, unsigned int peer, uint32_t qpn, bool grh, const ib_gid *mgid);
void er_rx(uint16_t type, const void *data, size_t n);
void er_rx_mcast(const ib_gid *mgid, uint16_t type, const void *data, size_t n);

/* er_rx_station() - As er_rx(), but the packet arrives at the QP of a station */
void er_rx_station(const uint8_t mac[6], uint16_t type, const void *data, size_t n);

/* --- addresses */

struct ipoib_lladdr er_peer_addr(unsigned int peer, uint32_t qpn);
/* er_station() - Return the open station with @mac, or NULL */
struct er_station *er_station(const uint8_t mac[6]);
/*
 * er_learn() - Add a peer to the SA, and an entry for the peer to the interface's neighbours;
 * @ret_mac gets the peer's token
 */
void er_learn(unsigned int peer, uint32_t qpn, uint8_t ret_mac[6]);

/* --- octets */

uint16_t er_sum(const uint8_t *p, size_t len, uint32_t sum);
/*
 * er_check_ip() - Check version, length, IPv4 header checksum, and the checksum of ICMPv6, TCP, UDP
 * or IGMP
 */
void er_check_ip(const uint8_t *ip, size_t len);

/* Write an IP packet with a right IPv4 header checksum; return its length. */
size_t er_ip4(uint8_t *b, const uint8_t src[4], const uint8_t dst[4], uint8_t proto,
	      const void *data, size_t n);
size_t er_ip6(uint8_t *b, const uint8_t src[16], const uint8_t dst[16], uint8_t next, uint8_t hop,
	      const void *data, size_t n);
/*
 * er_icmp6() - Write an ICMPv6 packet with the body @m, its checksum and hop limit 255; return its
 * length
 */
size_t er_icmp6(uint8_t *b, const uint8_t src[16], const uint8_t dst[16], const void *m, size_t n);
size_t er_udp4(uint8_t *b, const uint8_t src[4], const uint8_t dst[4], size_t n);

#endif
