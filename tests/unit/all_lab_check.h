/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ALL_LAB_CHECK_H
#define TESTS_ALL_LAB_CHECK_H

/* What a lab must be like when nothing disturbs it: who is up, who hears whom, who believes what. */

#include "unit/all_lab.h"
#include "util/prng.h"

/* The group that members are in */
extern const uint8_t lab_group[4];

/* Counts what arrives: the lab's rx and ctx. */
struct lab_count {
	uint32_t *got; /* [n * n]: from * n + to */
	uint32_t *group; /* [n]: by receiver */
	uint32_t n;
	uint32_t wrong;
};

void lab_count_init(struct lab_count *c, struct lab *l);
void lab_count_fini(struct lab_count *c);

/* lab_reachable() - Which hosts the cables that are up connect to the SM's node */
void lab_reachable(struct lab *l, bool *want);

/* Loss and reordering on every link */
void lab_faults_on(struct lab *l);
void lab_faults_off(struct lab *l);

/* lab_wait_up() - Fails if a host that has @want set has no carrier after @most */
void lab_wait_up(struct lab *l, const bool *want, ns_t most, uint64_t seed, const char *when);

/*
 * lab_warm_up() - A packet from each to each that may get lost: after an SM gave out other LIDs the
 * first one asks for the path while it leaves by the old
 */
void lab_warm_up(struct lab *l, struct lab_count *c, const bool *want);

/* lab_check_pairs() - One packet from each wanted host to each other: arrives once */
void lab_check_pairs(struct lab *l, struct lab_count *c, const bool *want, uint64_t seed);

/* lab_check_group() - Packets of some hosts arrive once at each wanted member, the sender aside */
void lab_check_group(struct lab *l, struct lab_count *c, const bool *want, const bool *member,
		     uint64_t seed);

/* lab_check_beliefs() - The SA's members are those that believe to be one, and nobody else */
void lab_check_beliefs(struct lab *l, const bool *want, uint64_t seed);

#endif
