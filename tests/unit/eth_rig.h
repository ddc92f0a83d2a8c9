/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ETH_RIG_H
#define TESTS_ETH_RIG_H

/*
 * One interface of src/eth over an IPoIB link that is up, with a fake SA, on virtual time. All
 * packets that the interface sends and delivers, and all its reports, are stored for the test. The
 * rig computes checksums by code of its own, not by that of src/wire/inet.
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
	 * address of the sent packet's descriptor; only to be compared, because the descriptor was
	 * freed
	 */
	const struct pkt *pkt;
	const uint8_t *slice; /* address of the payload of the sent packet, only to be compared */
	unsigned int train; /* number of packets of the descriptor with which the packet was sent */
	uint32_t dest_qpn, qkey;
	uint8_t csum; /* enum frame_csum */
	/* QPN of the station that sends; 0: the interface's own queue pair sends */
	uint32_t src_qpn;
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
	/*
	 * address of the neighbour that the interface last reported as forgotten (.lladdr_gone of
	 * struct eth_ops), and the number of these reports
	 */
	struct ipoib_lladdr lladdr_gone;
	unsigned int nlladdr_gone;
	struct er_station station[ER_KEPT]; /* stations in the order in which they were opened */
	unsigned int nstation;
	int station_err; /* error that opening a queue pair for a station returns; 0: none */
	/*
	 * set by er_csum_by_ca(). true: sent packets may have partial checksums, which the rig
	 * completes in .sent, as a CA does
	 */
	bool ca_csum;
	/* true: the event IPOIB_ACT_MCAST_READY is dropped, as if joins never ended */
	bool no_ready;
};

extern const uint8_t er_bcast_mac[6];
extern const uint8_t er_ip_own[4], er_ip_peer[4], er_ll_own[16];
extern uint8_t er_peer_mac[6];
extern struct eth_rig er; /* too large for a stack */

/*
 * Settings for the interfaces that later calls of er_init() and the similar functions make: the
 * shape (Ethernet or InfiniBand); the largest number of stations; whether DHCP passes unchanged;
 * whether trains are sent, of which .sent has the packets; the link's profile (NULL: the default)
 */
extern enum eth_shape er_shape;
extern unsigned int er_max_stations;
extern bool er_dhcp_raw, er_trains;
extern const struct ipoib_profile *er_profile;
extern const struct log_sink *er_log; /* log of the interface; NULL: the log is discarded */

/* Make the interface, set its link and its TAP up, and join 224.0.0.1 and ff02::1. */
void er_init(void);
/* As er_init(), but the TAP stays down (eth_if_set_up() is not called). */
void er_init_down(void);
/*
 * As er_init(), and let the interface learn one peer and the path to it. er_peer_mac becomes the
 * peer's token: the MAC that stands for the peer in the frames of the TAP (eth/eth.h).
 */
void er_init_peer(void);
void er_fini(void);
void er_drain(void);
void er_run(ns_t dt);
/*
 * er_groups_sync() - Give the interface the kernel's lists of joined groups, as if they had been
 * read just now: @n4 IPv4 groups and @n6 IPv6 groups
 */
void er_groups_sync(const uint8_t (*v4)[4], unsigned int n4, const uint8_t (*v6)[16],
		    unsigned int n6);
/* er_csum_by_ca() - Set whether the CA computes checksums from now on */
void er_csum_by_ca(bool on);
/* er_clear() - Forget the packets, frames and reports that were stored so far */
void er_clear(void);

uint64_t er_drops(enum eth_drop why);
/*
 * er_drops_sum() - Return the number of dropped packets, summed over all reasons of the interface
 * and of its link
 */
uint64_t er_drops_sum(void);
/*
 * er_check_dropped() - Check that exactly one packet was dropped, for the reason @why, and that no
 * packet is still in use
 */
void er_check_dropped(enum eth_drop why);

/* --- from the TAP */

struct pkt *er_frame(const uint8_t dst[6], const uint8_t src[6], uint16_t type, const void *data,
		     size_t n);
/* er_tx_from() - Let the TAP send one frame with the source MAC @src */
void er_tx_from(const uint8_t src[6], const uint8_t dst[6], uint16_t type, const void *data,
		size_t n);
/* er_tx() - Let the TAP send one frame with the interface's own MAC as source */
void er_tx(const uint8_t dst[6], uint16_t type, const void *data, size_t n);
void er_tx_pkt(struct pkt *p);

/* --- from the link */

struct pkt *er_packet(uint16_t type, const void *data, size_t n);
/*
 * er_rx_pkt() - Let a packet from QPN @qpn of the port with LID @peer arrive. If @mgid is not NULL,
 * it is a multicast to this group, and has a GRH. Otherwise it is a unicast to the interface, and
 * has a GRH if @grh is true
 */
void er_rx_pkt(struct pkt *p, unsigned int peer, uint32_t qpn, bool grh, const ib_gid *mgid);
void er_rx(uint16_t type, const void *data, size_t n);
void er_rx_mcast(const ib_gid *mgid, uint16_t type, const void *data, size_t n);

/*
 * er_rx_station() - As er_rx(), but the packet arrives at the queue pair of the station with the
 * MAC @mac
 */
void er_rx_station(const uint8_t mac[6], uint16_t type, const void *data, size_t n);

/* --- addresses */

struct ipoib_lladdr er_peer_addr(unsigned int peer, uint32_t qpn);
/* er_station() - Return the open station with @mac, or NULL */
struct er_station *er_station(const uint8_t mac[6]);
/*
 * er_learn() - Add a peer to the fake SA and to the interface's neighbours. @ret_mac gets the MAC
 * that stands for the peer in the TAP (its token)
 */
void er_learn(unsigned int peer, uint32_t qpn, uint8_t ret_mac[6]);

/* --- octets */

uint16_t er_sum(const uint8_t *p, size_t len, uint32_t sum);
/*
 * er_check_ip() - Check the version, the length, the header checksum of IPv4, and the checksum of
 * ICMPv6, TCP, UDP or IGMP
 */
void er_check_ip(const uint8_t *ip, size_t len);

/* Write an IP packet with a right IPv4 header checksum; return its length. */
size_t er_ip4(uint8_t *b, const uint8_t src[4], const uint8_t dst[4], uint8_t proto,
	      const void *data, size_t n);
size_t er_ip6(uint8_t *b, const uint8_t src[16], const uint8_t dst[16], uint8_t next, uint8_t hop,
	      const void *data, size_t n);
/*
 * er_icmp6() - Write an IPv6 packet with hop limit 255 and the ICMPv6 message @m, and compute the
 * message's checksum; return the length of the packet
 */
size_t er_icmp6(uint8_t *b, const uint8_t src[16], const uint8_t dst[16], const void *m, size_t n);
size_t er_udp4(uint8_t *b, const uint8_t src[4], const uint8_t dst[4], size_t n);

#endif
