/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRAIN_FIELDS_H
#define TRAIN_FIELDS_H

/*
 * DOC: The fields in which the packets of a train differ
 *
 * The headers of the packets of a train are equal, except for six fields. The last packet may also
 * have other lengths and TCP flags; it is not meant here. So the CRCs of these packets are made
 * (crc/run.h) and verified (crc/sum.h) from their common headers and these fields, without the
 * headers of each packet.
 */

#include "train/priv.h"

enum {
	TRAIN_PSN,
	TRAIN_ID, /* IPv4: identification, unless all packets have the same one */
	TRAIN_IP_CSUM, /* IPv4: header checksum, as TRAIN_ID */
	TRAIN_SEQ, /* TCP: sequence number */
	TRAIN_CWR, /* TCP: the flag CWR, which only the first packet of a train has */
	TRAIN_CSUM, /* TCP or UDP checksum */
	TRAIN_FIELDS
};

/*
 * The fields of one packet. Each is a word of 4 octets that contains the field and has zeros in its
 * other bits. If the packets do not have a field, its word is 0, and has the place of the PSN
 */
struct train_fields {
	uint32_t at[TRAIN_FIELDS]; /* offsets of the words from the LRH */
	uint32_t word[TRAIN_FIELDS]; /* in host byte order */
	bool counts_id; /* as in struct train_hdrs */
	uint32_t ip_csum_rest; /* see train_ip_csum_rest() */
	uint32_t seq_step; /* from a packet to the next one */
	unsigned int csum_shift; /* number of bits behind the TCP or UDP checksum in its word */
};

/*
 * train_fields_take() - Return the fields of the current packet of a walk, without TCP or UDP
 * checksum, and set them to 0 in the headers of this packet: what remains is common to all packets
 */
struct train_fields train_fields_take(struct train_walk *w);

/* train_fields_put() - Write the fields, except the TCP or UDP checksum, into the headers again */
void train_fields_put(const struct train_fields *f, struct train_walk *w);

static inline void train_fields_set_csum(struct train_fields *f, uint16_t csum)
{
	f->word[TRAIN_CSUM] = (uint32_t)csum << f->csum_shift;
}

/* train_fields_next() - Go on to the next packet, as train_walk_next() does */
static inline void train_fields_next(struct train_fields *f)
{
	f->word[TRAIN_PSN] = (f->word[TRAIN_PSN] + 1) & IB_QPN_MASK;
	f->word[TRAIN_SEQ] += f->seq_step;
	f->word[TRAIN_CWR] = 0;
	if (f->counts_id) {
		f->word[TRAIN_ID] += 1u << 16;
		f->word[TRAIN_IP_CSUM] =
			train_ip_csum(f->ip_csum_rest, (uint16_t)(f->word[TRAIN_ID] >> 16));
	}
}

#endif
