/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RELAY_WAY_H
#define RELAY_WAY_H

/*
 * One direction of the relay: the frames read from one TAP are written to the other TAP. The comment in bench/relay.c
 * describes each mode.
 */

#include <net/ethernet.h>

#include "eth/gro.h"
#include "netdev/tap.h"
#include "relay/count.h"

/*
 * Sizes of the pool that each direction of the relay has. WAY_PKTS: packets for a batch, and for
 * the flows whose packets wait to be coalesced. WAY_BUFS: buffers for the data of these packets,
 * and for the frames that are being read.
 */
#define WAY_PKTS (4 * PKT_BATCH * (ETH_GRO_FLOWS + 2))
#define WAY_BUFS 160

struct way;

struct way_mode {
	const char *name;
	/*
	 * Read the TAP until it is empty, or until READ_FRAMES or READ_OCTETS is reached. Return:
	 * 0; -EAGAIN if the TAP is empty; another -errno
	 */
	int (*forward)(struct way *w);
	bool crc; /* packets get the headers and CRCs of a link between the TAPs */
};

/* A packet between its read from one TAP and its write to the other TAP */
struct flight {
	struct pkt *pkt;
	uint8_t eth[ETH_HLEN]; /* Ethernet header, which the link of mode crc does not carry */
};

struct way {
	const struct way_mode *mode;
	unsigned int mtu; /* octets of the largest IP packet */
	struct tap *from, *to;
	struct tap_rx rx;
	struct eth_gro gro;
	struct flight batch[PKT_BATCH];
	unsigned int n; /* number of packets in .batch */
	uint32_t psn; /* PSN of the next packet; only mode "crc" uses it */
	struct count count;
};

/* way_mode_find() - Return the mode that is called @name, or NULL */
const struct way_mode *way_mode_find(const char *name);

void way_init(struct way *w, const struct way_mode *mode, unsigned int mtu, struct pkt_pool *pool,
	      struct tap *from, struct tap *to);

#endif
