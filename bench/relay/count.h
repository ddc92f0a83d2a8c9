/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RELAY_COUNT_H
#define RELAY_COUNT_H

#include <jansson.h>
#include <stdint.h>

enum count_drop {
	DROP_NONE,
	/* the virtio-net header contradicts its frame; such a frame is counted as one packet */
	DROP_HEADER,
	DROP_TOO_LONG, /* the packet is longer than the MTU */
	DROP_MEMORY, /* the pool is exhausted */
	DROP_VCRC,
	DROP_ICRC,
	DROP_DOWN, /* the TAP to which the frame would be written is down */
	DROP_NO_ROOM, /* the kernel has no memory for the frame */
	DROP_REFUSED, /* the kernel refused the frame or its virtio-net header as invalid */
	N_DROPS,
};

/* Counters of one direction */
struct count {
	uint64_t frames_read, octets_read;
	uint64_t super_frames; /* number of frames read that contained several packets */
	uint64_t packets; /* number of packets in all frames that were read */
	uint64_t cut; /* packets that were cut from super-frames */
	uint64_t checksums; /* checksums completed in frames of one packet */
	/*
	 * number of packets whose CRCs were computed, and number of packets whose CRCs were
	 * verified
	 */
	uint64_t sealed, verified;
	uint64_t coalesced; /* packets that were joined into super-frames */
	uint64_t frames_written, octets_written;
	uint64_t drops[N_DROPS]; /* packets dropped, by reason */
};

/* count_json() - Return the counters as a JSON object; NULL if there is no memory */
json_t *count_json(const struct count *c);

#endif
