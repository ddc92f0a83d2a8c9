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

/*
 * train_advance() - Remove the first @k packets: the headers become those of the first packet that
 * remains, and .count gets smaller by @k
 */
static inline void train_advance(struct pkt *t, unsigned int k)
{
	uint8_t *ip = train_ip(t), *l4 = train_l4(t);

	if (!train_is_ipv6(ip))
		be16_put(ip + 4, (uint16_t)(be16_at(ip + 4) + k));
	if (!train_is_udp(frame_info(t))) {
		be32_put(l4 + 4, be32_at(l4 + 4) + k * t->seg);
		l4[13] &= (uint8_t)~TCP_CWR;
	}
	t->count = (uint16_t)(t->count - k);
}

static inline void train_advance_psn(struct pkt *t, unsigned int k)
{
	uint8_t *psn = pkt_hdr(t) + ib_bth_off(pkt_hdr(t)) + IB_BTH_OFF_PSN;

	be32_put(psn, (be32_at(psn) + k) & IB_QPN_MASK);
}

/* train_mend_lengths() - Write the lengths of IP and UDP, and the IPv4 header checksum, of the single packet @p */
void train_mend_lengths(struct pkt *p);
/* train_mend_link() - Write PktLen, PayLen and PadCnt of the single packet @p, and a tail without CRCs */
void train_mend_link(struct pkt *p);
/* train_make_csum() - Compute the TCP or UDP checksum of the single packet @p */
void train_make_csum(struct pkt *p);

/* --- the packets of a train, one after the other (walk.c) */

/*
 * train_walk_next() - Write the headers and the payload of the next packet of the train into
 * w->pkt, without TCP or UDP checksum and without CRCs. The first call writes the first packet.
 * Return: false if there is no further packet
 */
bool train_walk_next(struct train_walk *w);

/* --- the seals of a train, which are the CRCs and checksums of its packets (seal.c) */

static inline bool train_is_sealed(const struct pkt *p)
{
	return p->seals && (p->flags & (PKT_CRC | PKT_ICRC));
}

/*
 * train_share_seals() - Let @f, which has the packets that were taken off the head of @t, refer to
 * the buffer with the seals of @t
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
