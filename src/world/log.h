/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_LOG_H
#define CONFORM_LOG_H

/*
 * The log of the packets that the suite and the DUT have sent. The log stores the last WORLD_LOG_MAX packets,
 * so that a flood from the DUT cannot use more memory.
 */

#include <stdio.h>

#include "util/ns.h"
#include "wire/ib_hdr.h"
#include "world/wire.h"

#define WORLD_LOG_MAX 4096

enum seen_kind {
	SEEN_MALFORMED, /* not a UD packet, or its ICRC is wrong */
	SEEN_SMP,
	SEEN_GMP,
	SEEN_DATA, /* a packet to a queue pair other than QP0 and QP1 */
};

struct seen {
	struct seen *next; /* next packet in a list that world_log_keep() has made */
	uint64_t n; /* number in the log, from 1 */
	ns_t at;
	bool ours; /* true if the suite sent the packet, false if the DUT did */
	enum seen_kind kind;
	struct ib_ud_hdr h; /* headers; not valid with SEEN_MALFORMED */
	const uint8_t *payload; /* payload without padding, inside .raw */
	size_t payload_len;
	/* With SEEN_DATA: the ethertype, or -1 if the packet is too short, and the octets behind the encapsulation */
	int type;
	const uint8_t *net;
	size_t net_len;
	const struct world_wire *wire;
	size_t len;
	uint8_t raw[]; /* the packet from LRH to VCRC */
};

struct world_log {
	const struct world_wire *wire; /* the encapsulation by which data is decoded */
	struct seen *v[WORLD_LOG_MAX]; /* packet n is at n % WORLD_LOG_MAX */
	uint64_t last; /* number of the last packet in the log; 0: the log has no packet yet */
	uint64_t from_dut, overwritten;
};

/*
 * world_log_add() - Decode a packet and append it to the log. Return: the packet, valid until it is
 * overwritten; NULL if out of memory
 */
const struct seen *world_log_add(struct world_log *l, const uint8_t *raw, size_t len, bool ours,
				 ns_t now);
/*
 * world_log_at() - Return: the packet with number @n; NULL if the log never had this packet, or has
 * overwritten it
 */
const struct seen *world_log_at(const struct world_log *l, uint64_t n);
void world_log_fini(struct world_log *l);

typedef bool seen_match(const struct seen *s, const void *arg);
/*
 * world_log_find() - Return: the first packet of the DUT, from number @from on, that @match
 * accepts; NULL: there is none
 */
const struct seen *world_log_find(const struct world_log *l, uint64_t from, seen_match *match,
				  const void *arg);

/*
 * world_log_keep() - Put a copy of packet @s at the head of @list; the copy stays when the log
 * overwrites the packet. Return: the copy; NULL if @s is NULL or memory ran out
 */
const struct seen *world_log_keep(struct seen **list, const struct seen *s);
void world_log_release(struct seen **list);

/* world_log_pcap() - Write the packets @first to @last, of both directions, as a pcap file of ERF records */
void world_log_pcap(const struct world_log *l, uint64_t first, uint64_t last, FILE *f);
/* world_log_pcap_one() - Write a pcap file that has only packet @s */
void world_log_pcap_one(const struct seen *s, FILE *f);

#endif
