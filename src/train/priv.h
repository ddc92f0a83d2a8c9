/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRAIN_PRIV_H
#define TRAIN_PRIV_H

/*
 * Declarations that the files of train/ share: functions that find the headers of a train in hdr[],
 * and functions that compute the headers of one packet from the headers of its train
 */

#include <string.h>

#include "train/train.h"
#include "crc/crc.h"
#include "util/be.h"

#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_CWR 0x80

/* --- where the headers of a train lie: they end where hdr[] ends */

static inline uint8_t *train_ip(struct pkt *p)
{
	return p->hdr + PKT_HDR_MAX - frame_info(p)->hlen;
}

static inline const uint8_t *train_ip_const(const struct pkt *p)
{
	return p->hdr + PKT_HDR_MAX - frame_info_const(p)->hlen;
}

static inline uint8_t *train_l4(struct pkt *p)
{
	return train_ip(p) + frame_info(p)->csum_start;
}

static inline bool train_is_udp(const struct frame_info *f)
{
	return f->gso == FRAME_GSO_UDP;
}

static inline bool train_is_ipv6(const uint8_t *ip)
{
	return ip[0] >> 4 == 6;
}

static inline uint8_t *train_csum_field(struct pkt *p)
{
	return train_l4(p) + (train_is_udp(frame_info(p)) ? 6 : 16);
}

/* --- make the headers of one packet from those of its train */

static inline struct train_hdrs train_hdrs(struct pkt *p)
{
	uint8_t *ip = train_ip(p);

	return (struct train_hdrs){ ip, train_l4(p), !train_is_ipv6(ip) && !frame_info(p)->fixed_id,
				    !train_is_udp(frame_info(p)) };
}

static inline uint8_t *train_psn(struct pkt *p)
{
	uint8_t *lrh = pkt_hdr(p);

	return lrh + ib_bth_off(lrh) + IB_BTH_OFF_PSN;
}

/*
 * Remove the first @k packets of a train, which have @octets of payload, from its headers: the
 * headers become those of the first packet that remains.
 *
 * train_advance() - from the headers of IP and TCP or UDP
 * train_advance_psn() - from the PSN
 */
static inline void train_advance(const struct train_hdrs *h, unsigned int k, uint32_t octets)
{
	if (h->counts_id)
		be16_put(h->ip + 4, (uint16_t)(be16_at(h->ip + 4) + k));
	if (h->tcp) {
		be32_put(h->l4 + 4, be32_at(h->l4 + 4) + octets);
		h->l4[13] &= (uint8_t)~TCP_CWR;
	}
}

static inline void train_advance_psn(uint8_t *psn, unsigned int k)
{
	be32_put(psn, (be32_at(psn) + k) & IB_QPN_MASK);
}

/*
 * The checksum of an IPv4 header with another identification, by RFC 1624, section 3:
 * HC' = ~(~HC + ~m + m'). HC and m are the checksum and the identification of a header, HC' and m' those of a header
 * that equals it otherwise. HC' equals a newly computed checksum, because the sum of a header is never 0.
 *
 * train_ip_csum_rest() - Return: ~HC + ~m, the sum of the header without its identification
 * train_ip_csum() - Return: HC'
 */
static inline uint32_t train_ip_csum_rest(uint16_t csum, uint16_t id)
{
	return (uint32_t)(uint16_t)~csum + (uint16_t)~id;
}

static inline uint16_t train_ip_csum(uint32_t rest, uint16_t id)
{
	uint32_t sum = rest + id;

	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

/* train_mend_lengths() - Write the lengths of IP and UDP, and the IPv4 header checksum, of the single packet @p */
void train_mend_lengths(struct pkt *p);
/* train_mend_link() - Write PktLen, PayLen and PadCnt of the single packet @p, and a tail without CRCs */
void train_mend_link(struct pkt *p);
/*
 * train_pseudo_sum() - Return the sum of the pseudo-header of TCP or UDP, whose header and data have @l4_len octets
 */
uint32_t train_pseudo_sum(const uint8_t *ip, bool udp, uint32_t l4_len);
/* train_make_csum() - Compute the TCP or UDP checksum of the single packet @p */
void train_make_csum(struct pkt *p);

/* --- the packets of a train, one after the other (walk.c) */

/*
 * train_walk_next() - Write the headers and the payload of the next packet of the train into
 * w->pkt, without TCP or UDP checksum and without CRCs. The first call writes the first packet.
 * Return: false if there is no further packet
 */
bool train_walk_next(struct train_walk *w);
/*
 * train_walk_run() - Return the number of packets, from the current one on, that are all as long as the first packet
 * and whose payloads follow each other in memory; 0 if the current packet is the last one, or is in two slices
 */
unsigned int train_walk_run(const struct train_walk *w);
/*
 * train_walk_skip() - Go on by @n packets: w->pkt becomes what @n calls of train_walk_next() would
 * make of it. There has been such a call, and the last packet of the train is not reached
 */
void train_walk_skip(struct train_walk *w, unsigned int n);

/* --- the seals of a train, which are the CRCs and checksums of its packets (seal.c) */

struct train_seal {
	uint8_t csum[2]; /* TCP or UDP checksum, as in the header */
	uint8_t crcs[IB_CRCS_LEN]; /* CRCs, as in the tail */
};

static inline struct train_seal *train_seal_of(const struct pkt *t, unsigned int k)
{
	return (struct train_seal *)t->seals->data + t->seals_at + k;
}

static inline bool train_is_sealed(const struct pkt *p)
{
	return p->seals && (p->flags & (PKT_CRC | PKT_ICRC));
}

/*
 * train_share_seals() - Let @f refer to the buffer with the seals of @t. @f has the packets that
 * were taken off the head of @t
 */
void train_share_seals(struct pkt *f, const struct pkt *t);
/*
 * train_load_seal() - Copy the TCP or UDP checksum and the CRCs of packet @k of @t from the seal
 * into the single packet @p
 */
void train_load_seal(struct pkt *p, const struct pkt *t, unsigned int k);
/*
 * train_seal_csum(), train_seal_tail() - Write the TCP or UDP checksum, or the CRCs, from the seal
 * of the single packet @p into this packet
 */
void train_seal_csum(struct pkt *p);
void train_seal_tail(struct pkt *p);

#endif
