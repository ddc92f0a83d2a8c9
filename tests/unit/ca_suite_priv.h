/* SPDX-License-Identifier: BSD-2-Clause */

#ifndef TESTS_UNIT_CA_SUITE_PRIV_H
#define TESTS_UNIT_CA_SUITE_PRIV_H

/* Declarations that the files of the conformance suite (ca_suite*.c) share */

#include "unit/ca_suite.h"

#define QKEY 0x0b1b
#define MCAST_QKEY 0x80010b1b

extern const struct ca_suite_backend *suite_backend;

/* The environment of a case, and the notifications that each of the two ports got */
struct suite {
	struct ca_suite_env e;
	struct ca_port_attr port[2];
	struct side {
		unsigned int ready, events[CA_EVENT_DEVICE_BACK + 1];
		struct ca_qp *ready_qp;
	} side[2];
};

struct ca_qp *suite_qp(struct suite *s, unsigned int side, uint16_t pkey_index, uint32_t qkey);
struct ca_ah *suite_ah(struct suite *s, unsigned int side, const struct ca_ah_attr *a);
/* Make an address handle at port @side for the other port */
struct ca_ah *suite_peer_ah(struct suite *s, unsigned int side, bool grh);
ib_gid suite_group(void);
struct ca_ah *suite_group_ah(struct suite *s, unsigned int side);
/* Make a packet with a payload of @len octets: @seed, @seed + 1, ... */
struct pkt *suite_payload(struct suite *s, unsigned int len, uint8_t seed);
void suite_check_payload(const struct pkt *p, unsigned int len, uint8_t seed);
void suite_send(struct suite *s, struct ca_qp *qp, struct ca_ah *ah, struct pkt *p,
		uint32_t dest_qp, uint32_t qkey);
/* Send 32 octets, and return whether they arrive at the queue pair @to. */
bool suite_reaches(struct suite *s, struct ca_qp *qp, struct ca_ah *ah, uint32_t dest_qp,
		   uint32_t qkey, struct ca_qp *to);
/*
 * Free the packets that wait in the receive queue of @qp, and return the number of these packets.
 */
unsigned int suite_drain(struct ca_qp *qp);

/* The test cases */
void test_ca_port_attributes(void **state);
void test_ca_pkey_table(void **state);
void test_ca_event_names(void **state);
void test_ca_qpns_are_usable_and_different(void **state);
void test_ca_bad_objects_are_refused(void **state);
void test_ca_unicast_without_grh(void **state);
void test_ca_unicast_with_grh(void **state);
void test_ca_payloads_of_any_shape(void **state);
void test_ca_up_to_the_mtu(void **state);
void test_ca_batches_keep_their_order(void **state);
void test_ca_overflow_costs_nothing_else(void **state);
void test_ca_ah_is_destroyed_behind_its_sends(void **state);
void test_ca_R43_qkeys_must_match(void **state);
void test_ca_qkey_with_high_bit_means_the_qps_own(void **state);
void test_ca_R44_partitions_are_apart(void **state);
void test_ca_unknown_qp_gets_nothing(void **state);
void test_ca_I9_multicast_reaches_the_attached(void **state);
void test_ca_I9_an_attached_sender_hears_itself_once(void **state);
void test_ca_ready_comes_once_per_arming(void **state);
void test_ca_send_queue_empties(void **state);
void test_ca_flushed_sends_do_not_arrive(void **state);
void test_ca_modify_resets_and_keeps_attachments(void **state);
void test_ca_two_qps_are_told_apart(void **state);
void test_ca_mads_are_answered(void **state);
void test_ca_link_down_is_told(void **state);
void test_ca_pkey_change_is_told(void **state);

#endif
