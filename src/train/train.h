/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

/*
 * DOC: Trains
 *
 * A train is one descriptor that represents the packets of one TCP or UDP super-frame. pkt_count()
 * returns the number of packets, which is at least two. hdr[] has only the headers that each packet
 * repeats. The slices have the payload of all packets: p->seg octets for each packet except the
 * last, which may have fewer. The headers are those of the first packet, but their flags FIN and
 * PSH are those of the last packet. The fields that differ from packet to packet follow from the
 * position of the packet in the train:
 *
 *	IP length, UDP length, PktLen, PayLen, PadCnt	from the length of the packet
 *	TCP sequence number, PSN			those of the first packet, counted upwards
 *	IPv4 identification				as these; the same in all packets with frame_info.fixed_id
 *	CWR						in the first packet only (RFC 3168 §6.1.2)
 *	FIN, PSH					in the last packet only
 *	checksums					computed over the packet
 *
 * So the first packets of a train, or its last packets, are a train again. A part that has only one
 * packet is an ordinary packet. The struct frame_info (util/frame.h) of a train has the offsets of
 * the headers. Lengths and checksums in the headers of a train have no meaning.
 *
 * Segmentation follows RFC 9293 §3.7.1 and RFC 768. Packets are slices of the super-frame's buffer:
 * no payload is copied.
 */

#include "util/frame.h"
#include "crc/crc.h"
#include "wire/ib_hdr.h"

/*
 * Number of octets of hdr[] that the headers of a train may occupy. The rest of hdr[] is for the
 * headers LRH to DETH, which the HCA puts before the train's headers.
 */
#define TRAIN_HDR_MAX (PKT_HDR_MAX - IB_UD_HDR_MAX)

/*
 * Bounds on the packets of a super-frame, as in Linux. UDP_SEGMENT makes at most 128 datagrams
 * (UDP_MAX_SEGMENTS; 64 before Linux 6.10). TCP has gso_size 8 or more (TCP_MIN_GSO_SIZE): the smallest MSS is 48
 * (net.ipv4.tcp_min_snd_mss), of which options take up to 40.
 */
#define TRAIN_UDP_MAX 128
#define TRAIN_TCP_MIN 8

/**
 * train_make() - Make a train of a super-frame, in the same descriptor
 * @p:		a packet with gso, gso_size and csum_start set, whose IP header begins after @l3 octets
 * @l3:	octets before the IP header, repeated in each packet: the encapsulation header; 0 without encapsulation
 * @ip_mtu:	octets that an IP packet may have; if gso_size is too large for this, TCP gets shorter segments
 *
 * A super-frame that contains only one packet becomes an ordinary packet.
 * Return: 0; -EBADMSG: the headers contradict gso, or the packets exceed the bounds above; -EMSGSIZE: a UDP datagram,
 * or the headers alone, exceed @ip_mtu; -ENOMEM. After an error, @p may only be passed to pkt_free()
 */
int train_make(struct pkt *p, unsigned int l3, unsigned int ip_mtu);

/*
 * train_may_travel() - Tell whether the fabric may deliver the train as a whole. It may if hosts
 * get the same data from the train as from the single packets. So TCP or UDP must directly follow
 * an IP header without options or extension headers. The packet must not be a fragment, and must
 * have only flags and lengths that super-frames have. Any other train must be split by the host
 * that made it
 */
bool train_may_travel(const struct pkt *t);

/**
 * train_split() - Take the first packets off a train
 * @k:	number of packets to take, fewer than the train has
 *
 * A part that is a single packet is no longer a train, and gets its lengths and checksums
 * (FRAME_CSUM_OK). With frame_info.offload, its TCP or UDP checksum is only the sum of the
 * pseudo-header (FRAME_CSUM_PARTIAL). So repeated calls of train_split(t, 1) take packet after
 * packet, until @t is the last packet.
 * Return: the first @k packets; NULL: no descriptor is left, and @t is unchanged
 */
struct pkt *train_split(struct pkt *t, unsigned int k);

/*
 * train_split_link() - As train_split(), for a train with the headers LRH to DETH. The packets have no CRCs unless the
 * train has seals
 */
struct pkt *train_split_link(struct pkt *t, unsigned int k);

/*
 * train_skip_link() - Drop the first @k packets of a train that has the headers LRH to DETH and
 * more than @k packets. The function needs no further descriptor, so it cannot fail
 */
void train_skip_link(struct pkt *t, unsigned int k);

/*
 * train_to_frame() - Make a super-frame of a train: write the length of the whole IP packet, a
 * partial checksum, and the values for the virtio-net header. Octets before the IP header stay as
 * they are
 */
void train_to_frame(struct pkt *t);

/*
 * train_frame_headers() - Write lengths, IP checksum and partial L4 checksum into the headers of a super-frame
 * @ip:		the IP header
 * @info:	with .gso and .csum_start set; the other values for the virtio-net header, except .gso_size, are written
 * @ip_len:	octets of the whole IP packet
 */
void train_frame_headers(uint8_t *ip, struct frame_info *info, uint32_t ip_len);

/*
 * Trains with CRCs (seal.c, check.c). The seals of a train are the CRCs of its packets. The flag PKT_CRC of
 * a train means that the seals have both CRCs, and PKT_ICRC means that they have the ICRC alone. If
 * train_split_link() takes a single packet off a train, this packet gets its CRCs from its seal.
 *
 * train_take_seals() - Get memory for seals. Return: 0; -ENOMEM; -EMSGSIZE: the train has too many
 *	packets
 * train_seal() - Make the CRCs, and set PKT_CRC (@vcrc) or PKT_ICRC. The train has memory for
 *	seals, and headers from LRH to DETH
 * train_check() - Verify each packet as crc_pkt_check() would, or with PKT_ICRC as
 *	crc_pkt_check_icrc() would. Many packets are verified at once (crc/sum.h)
 * train_check_vcrc() - Verify each packet as crc_pkt_check_vcrc() would. For both functions, a
 *	verdict other than CRC_OK concerns one of the packets; other packets may be good
 * train_set_vl() - Do as crc_pkt_set_vl() does, for a train or a packet
 * train_unseal() - Free the memory for seals, if there is any; the caller has to clear the flags
 */
int train_take_seals(struct pkt *t);
void train_seal(struct pkt *t, bool vcrc);
enum crc_verdict train_check(const struct pkt *t);
enum crc_verdict train_check_vcrc(const struct pkt *t);
void train_set_vl(struct pkt *p, uint8_t vl);
void train_unseal(struct pkt *p);

/* Places of headers of a train, or of a packet of a train, in its hdr[] */
struct train_hdrs {
	uint8_t *ip, *l4; /* IP header; TCP or UDP header */
	bool counts_id; /* IPv4, with an identification that counts upwards */
	bool tcp;
};

/* A walk, which visits the packets of a train one after the other and does not change the train */
struct train_walk {
	/*
	 * the current packet of the walk: it has hdr[] and tail of its own, refers to the payload
	 * of the train, and owns no buffer
	 */
	struct pkt pkt;
	struct train_hdrs hdrs; /* in the headers of .pkt, as is .psn */
	uint8_t *psn;
	const struct pkt *train;
	unsigned int k; /* number of packets that the walk has visited, including .pkt */
	unsigned int slice; /* slice of the train in which the payload of the next packet begins */
	uint32_t used; /* octets of this slice that come before this payload */
	/* TCP flags of the headers of the train; only the last packet gets FIN and PSH */
	uint8_t last_flags;
};

/*
 * train_walk_begin() - Begin a walk over @t, which has the headers LRH to DETH and must not change
 * before the walk ends
 */
void train_walk_begin(struct train_walk *w, const struct pkt *t);

/*
 * train_out_next() - Return the next packet of the walk as it is to be sent, with checksums, ICRC
 * and VCRC. The CRCs come from the seals of the train (PKT_CRC), or are computed
 *
 * Return: the packet, valid until the next call; NULL after the last one
 */
const struct pkt *train_out_next(struct train_walk *w);

/*
 * train_first_len() - Return: the length of the first packet of a train, which is the largest; for a single packet,
 * p->len
 */
static inline uint32_t train_first_len(const struct pkt *p)
{
	return pkt_is_train(p) ? pkt_hdr_len(p) + p->seg : p->len;
}

/*
 * train_words() - Return: the number of words (of 4 octets) from LRH to ICRC in all packets of a train with the
 * headers LRH to DETH
 */
static inline uint32_t train_words(const struct pkt *t)
{
	uint32_t last = t->len - (t->count - 1u) * t->seg;

	return (t->count - 1u) * ((train_first_len(t) + IB_ICRC_LEN + 3) / 4) +
	       (last + IB_ICRC_LEN + 3) / 4;
}

#endif
