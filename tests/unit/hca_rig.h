/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_HCA_RIG_H
#define TESTS_UNIT_HCA_RIG_H

/*
 * A soft HCA of two Active ports on virtual time, whose sent packets are kept, and
 * packets made octet by octet to be received by it.
 */

#include "check.h"
#include "hca/hca.h"
#include "wire/crc.h"

#define RIG_LID1 0x0020 /* port 1, LMC 0 */
#define RIG_LID2 0x0030
#define RIG_FAR_LID 0x0044
#define RIG_FAR_QPN 0x000777
#define RIG_QKEY 0x0b1b
#define RIG_PREFIX 0xfec0000000000001ull
#define RIG_GUID1 0x0002c90300000011ull
#define RIG_GUID2 0x0002c90300000012ull
#define RIG_FAR_GUID 0x0002c903000000ffull
#define RIG_MLID 0xc005
#define RIG_PKTS 256
#define RIG_OUT_MAX 256

struct rig {
	struct timers timers;
	struct pkt_pool *pool;
	struct log_sink log;
	struct hca *h;
	struct pkt *out[RIG_OUT_MAX]; /* what went to the link */
	uint8_t out_port[RIG_OUT_MAX];
	unsigned int nout;
	unsigned int events[NODE_EV_PHYS + 1];
	unsigned int ready;
	void (*on_ready)(struct rig *r, struct hca_qp *qp);
	ns_t now;
};

void rig_up(struct rig *r, enum hca_crc crc);
/* Fails the test if a packet or buffer is not back in the pool. */
void rig_down(struct rig *r);
/* For cmocka: *state is a rig, by what it makes of CRCs. */
int rig_setup(void **state); /* HCA_CRC_FULL */
int rig_setup_icrc(void **state);
int rig_setup_off(void **state);
int rig_teardown(void **state);

struct node_port *rig_port(struct rig *r, uint8_t port);
struct hca_qp *rig_qp(struct rig *r, uint8_t port, uint32_t qpn, unsigned int depth);
ib_gid rig_mgid(uint8_t last);
/* The packets that went out so far are freed. */
void rig_forget(struct rig *r);

/* A good unicast packet from the far end to @qpn of port 1, to be spoiled by the test. */
struct ib_ud_hdr rig_hdr(uint32_t qpn);
/* The same with GRH, or to a multicast group. */
struct ib_ud_hdr rig_hdr_grh(uint32_t qpn);
struct ib_ud_hdr rig_hdr_mcast(const ib_gid *mgid);
/* Sealed with both CRCs; the payload is 0, 1, 2, ... */
struct pkt *rig_pkt(struct rig *r, const struct ib_ud_hdr *h, unsigned int payload_len);

void rig_rx(struct rig *r, uint8_t port, struct pkt *p);
uint64_t rig_drops(struct rig *r);
/* @p arrives at @port, and exactly the reason @why is counted; nothing is delivered. */
void rig_expect_drop(struct rig *r, uint8_t port, struct pkt *p, enum hca_drop why);
/* @p arrives at @port and is what @qp gets; returns the completion, whose packet the caller frees. */
struct hca_wc rig_expect_rx(struct rig *r, uint8_t port, struct pkt *p, struct hca_qp *qp);
/* The payload is 0, 1, 2, ... */
void rig_check_payload(const struct pkt *p, unsigned int len);

/* --- sending from port 1 */

struct hca_ah *rig_ah(struct rig *r, const struct hca_ah_attr *a);
struct hca_ah *rig_ucast_ah(struct rig *r, uint16_t dlid);
struct hca_ah *rig_mcast_ah(struct rig *r, const ib_gid *mgid);
/* 0, 1, 2, ... */
struct pkt *rig_payload(struct rig *r, unsigned int len);
void rig_send(struct rig *r, struct hca_qp *qp, struct hca_ah *ah, struct pkt *p, uint32_t dest_qp);
/* Payload @len to the far end; the only packet that went out is returned. */
struct pkt *rig_sent(struct rig *r, struct hca_qp *qp, struct hca_ah *ah, unsigned int len);

/* All octets of a packet, tail included; returns how many. */
unsigned int rig_flatten(const struct pkt *p, uint8_t *buf, size_t size);
struct ib_ud_hdr rig_header_of(const struct pkt *p);
/* By other means than wire/crc; @len without CRCs */
uint32_t rig_slow_icrc(const uint8_t *pkt, size_t len);
/* ICRC and VCRC at the end of the @len octets are right. */
void rig_check_crcs(const uint8_t *b, unsigned int len);

#endif
