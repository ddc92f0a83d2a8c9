/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ALL_LAB_CHECK_H
#define TESTS_ALL_LAB_CHECK_H

/*
 * Checks of an undisturbed lab: which interfaces have carrier, which hosts reach each other, and whether SA and hosts
 * agree on memberships.
 */

#include "unit/all_lab.h"
#include "util/prng.h"

/* The IPv4 group that the members in these checks join */
extern const uint8_t lab_group[4];

/* Counters of arrived packets; struct lab's .rx gets this as its ctx. */
struct lab_count {
	uint32_t *got; /* n * n counters: packets of host "from" at host "to" in [from * n + to] */
	uint32_t *group; /* n counters: packets to the group, indexed by receiver */
	uint32_t n;
	uint32_t wrong;
	/*
	 * Tells whether the interfaces of two hosts are on one link. Only such hosts are checked as pairs. NULL: all
	 * hosts are on one link
	 */
	bool (*same_link)(const struct lab_host *a, const struct lab_host *b);
};

void lab_count_init(struct lab_count *c, struct lab *l);
void lab_count_fini(struct lab_count *c);

/* lab_reachable() - Set @want for each host that working links connect to the SM's node */
void lab_reachable(struct lab *l, bool *want);

/* lab_faults_on(), lab_faults_off() - Add loss and reordering to every link, or remove them */
void lab_faults_on(struct lab *l);
void lab_faults_off(struct lab *l);

/* lab_wait_up() - Wait until all hosts with @want have carrier. Fail if this takes longer than @most */
void lab_wait_up(struct lab *l, const bool *want, ns_t most, uint64_t seed, const char *when);

/*
 * lab_warm_up() - Send a packet from each host to each other host; these packets may get lost. If an SM has assigned
 * other LIDs, the first packet is sent by the old path and triggers the query for the new path
 */
void lab_warm_up(struct lab *l, struct lab_count *c, const bool *want);

/*
 * lab_check_pairs() - Send one packet from each host with @want to every other such host on its link, and check that
 * each packet arrives once
 */
void lab_check_pairs(struct lab *l, struct lab_count *c, const bool *want, uint64_t seed);

/*
 * lab_check_group() - Send group packets from some hosts, and check that each packet arrives once at every member
 * with @want on its link except its sender
 */
void lab_check_group(struct lab *l, struct lab_count *c, const bool *want, const bool *member,
		     uint64_t seed);

/*
 * lab_check_beliefs() - Check that the members in the SA's list are exactly the ports that treat themselves as
 * members
 */
void lab_check_beliefs(struct lab *l, const bool *want, uint64_t seed);

#endif
