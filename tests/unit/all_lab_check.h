/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ALL_LAB_CHECK_H
#define TESTS_ALL_LAB_CHECK_H

/*
 * Checks of a lab in which nothing fails at the moment: which interfaces have carrier, which hosts
 * reach each other, and whether the SA and the hosts agree on the members of groups.
 */

#include "unit/all_lab.h"
#include "util/prng.h"

/* The IPv4 group of which these checks make some hosts members */
extern const uint8_t lab_group[4];

/*
 * Counters of arrived packets. lab_count_init() sets .rx of struct lab to a function that counts
 * packets, and .ctx to this struct.
 */
struct lab_count {
	/*
	 * n * n counters: [from * n + to] is the number of packets from host @from that reached @to
	 */
	uint32_t *got;
	uint32_t *group; /* n counters: [to]: packets to lab_group that reached host @to */
	uint32_t n;
	uint32_t wrong;
	/*
	 * Tells whether the interfaces of two hosts are on one link. The checks send unicasts only
	 * between such hosts. NULL: all hosts are on one link
	 */
	bool (*same_link)(const struct lab_host *a, const struct lab_host *b);
};

void lab_count_init(struct lab_count *c, struct lab *l);
void lab_count_fini(struct lab_count *c);

/*
 * lab_reachable() - Set want[i] to true if a path of links that are up leads from host i to the
 * SM's node, and to false otherwise
 */
void lab_reachable(struct lab *l, bool *want);

/*
 * lab_faults_on(), lab_faults_off() - Add packet loss and reordering to every link, or end these
 * faults
 */
void lab_faults_on(struct lab *l);
void lab_faults_off(struct lab *l);

/*
 * lab_wait_up() - Run the lab until all hosts i with want[i] have carrier. Fail if this takes
 * longer than @most
 */
void lab_wait_up(struct lab *l, const bool *want, ns_t most, uint64_t seed, const char *when);

/*
 * lab_warm_up() - Send the same packets as lab_check_pairs(), but allow that they get lost. If a
 * new SM has assigned other LIDs, the first packet to a host still goes to its old LID, and only
 * makes the sender query the new path
 */
void lab_warm_up(struct lab *l, struct lab_count *c, const bool *want);

/*
 * lab_check_pairs() - Send one packet from each host i with want[i] to every other host j with
 * want[j] on the same link, and check that each packet arrives once
 */
void lab_check_pairs(struct lab *l, struct lab_count *c, const bool *want, uint64_t seed);

/*
 * lab_check_group() - Let the first three hosts i with want[i] send one packet each to lab_group.
 * Check that each packet arrives once at every other host k on the sender's link for which want[k]
 * and member[k] are true. Check that it arrives nowhere else
 */
void lab_check_group(struct lab *l, struct lab_count *c, const bool *want, const bool *member,
		     uint64_t seed);

/*
 * lab_check_beliefs() - Check that the SA lists as members of each group exactly those ports whose
 * interfaces treat themselves as members
 */
void lab_check_beliefs(struct lab *l, const bool *want, uint64_t seed);

#endif
