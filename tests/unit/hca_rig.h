/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_HCA_RIG_H
#define TESTS_UNIT_HCA_RIG_H

/*
 * A soft HCA with two Active ports on virtual time. The rig stores the packets that the HCA sends.
 * For packets that the HCA receives, the test can set each octet.
 */

#include "check.h"
#include "hca/hca.h"
#include "crc/crc.h"

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
	struct pkt *out[RIG_OUT_MAX]; /* packets that the HCA sent to the link */
	uint8_t out_port[RIG_OUT_MAX];
	unsigned int nout;
	unsigned int events[NODE_EV_PHYS + 1];
	unsigned int ready;
	void (*on_ready)(struct rig *r, struct hca_qp *qp);
	ns_t now;
};

void rig_up(struct rig *r, enum hca_crc crc);
/*
 * Destroy the rig, and fail the test if a packet or a buffer was not returned to the packet pool.
 */
void rig_down(struct rig *r);
/* Setup functions for cmocka, one for each value of enum hca_crc. They set *state to the rig. */
int rig_setup(void **state); /* HCA_CRC_FULL */
int rig_setup_icrc(void **state);
int rig_setup_off(void **state);
int rig_teardown(void **state);

struct node_port *rig_port(struct rig *r, uint8_t port);
struct hca_qp *rig_qp(struct rig *r, uint8_t port, uint32_t qpn, unsigned int depth);
ib_gid rig_mgid(uint8_t last);
/* Free the packets that the HCA has sent so far. */
void rig_forget(struct rig *r);

/*
 * Return the header of a valid unicast packet from the far end of the link to @qpn of port 1. The
 * test can then change a field to a wrong value.
 */
struct ib_ud_hdr rig_hdr(uint32_t qpn);
/* As rig_hdr(), but the packet has a GRH, or its destination is a multicast group */
struct ib_ud_hdr rig_hdr_grh(uint32_t qpn);
struct ib_ud_hdr rig_hdr_mcast(const ib_gid *mgid);
/* Make a packet sealed with both CRCs; its payload is 0, 1, 2, ... */
struct pkt *rig_pkt(struct rig *r, const struct ib_ud_hdr *h, unsigned int payload_len);

void rig_rx(struct rig *r, uint8_t port, struct pkt *p);
uint64_t rig_drops(struct rig *r);
/*
 * Let @p arrive at @port, and check that only the counter of @why grows and that nothing is
 * delivered.
 */
void rig_expect_drop(struct rig *r, uint8_t port, struct pkt *p, enum hca_drop why);
/*
 * Let @p arrive at @port, and check that @qp receives the packet. Return the completion, whose
 * packet the caller frees.
 */
struct hca_wc rig_expect_rx(struct rig *r, uint8_t port, struct pkt *p, struct hca_qp *qp);
/* Check that the payload is 0, 1, 2, ... */
void rig_check_payload(const struct pkt *p, unsigned int len);

/* --- sending from port 1 */

struct hca_ah *rig_ah(struct rig *r, const struct hca_ah_attr *a);
struct hca_ah *rig_ucast_ah(struct rig *r, uint16_t dlid);
struct hca_ah *rig_mcast_ah(struct rig *r, const ib_gid *mgid);
/*
 * Make a packet that the test can pass to rig_send(). It has only a payload (0, 1, 2, ...), and no
 * IB headers
 */
struct pkt *rig_payload(struct rig *r, unsigned int len);
void rig_send(struct rig *r, struct hca_qp *qp, struct hca_ah *ah, struct pkt *p, uint32_t dest_qp);
/* Send a payload of @len octets to the far end; return the only packet that was sent. */
struct pkt *rig_sent(struct rig *r, struct hca_qp *qp, struct hca_ah *ah, unsigned int len);

/* Copy all octets of a packet, including its CRCs, to @buf; returns their number. */
unsigned int rig_flatten(const struct pkt *p, uint8_t *buf, size_t size);
struct ib_ud_hdr rig_header_of(const struct pkt *p);
/* Compute the ICRC without code of src/crc; @len does not include the CRCs */
uint32_t rig_slow_icrc(const uint8_t *pkt, size_t len);
/* Check that the @len octets end with a right ICRC and VCRC. */
void rig_check_crcs(const uint8_t *b, unsigned int len);

#endif
