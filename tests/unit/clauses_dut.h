/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_CLAUSES_DUT_H
#define TESTS_UNIT_CLAUSES_DUT_H

/*
 * A small DUT on virtual time. It keeps the link up, answers SMPs and ARP, subscribes, and joins the broadcast group;
 * a second after each refusal it joins again. With a flaw it violates one clause.
 */

#include "check.h"

#include "conform/conform.h"
#include "util/prng.h"
#include "wire/ib_hdr.h"
#include "wire/mad.h"

enum dut_flaw {
	FLAW_NONE,
	FLAW_SILENT, /* the DUT sends no datagram */
	FLAW_NO_D_BIT, /* answers to SMPs with directed routes lack the D bit */
	FLAW_NO_PORT_GID, /* the join's component mask does not name PortGID */
	FLAW_RESERVED, /* Reserved of the encapsulation header is 1 */
	/* no flaw; the DUT also joins the broadcast group of a second P_Key, for a child interface */
	FLAW_OTHER_PARTITION,
	/*
	 * the DUT answers each packet with 16 random packets. Their headers are valid, so the suite parses what
	 * follows the headers
	 */
	FLAW_FLOOD,
	/* changes random octets of its packets and then computes the right CRCs; some packets are cut */
	FLAW_GARBLED,
	FLAW_DIES, /* the DUT is silent for ever after its join */
};

#define DUT_QUEUE 512

struct dut {
	enum dut_flaw flaw;
	ns_t now, keepalive_at, join_at;
	ns_t interrupt_at; /* time at which the user interrupts; 0: never */
	int hook_status;
	const char *profile; /* NULL: rfc4391 */
	unsigned int hooks;
	/* number of ARP requests at which the link was already down at the DUT's end for a moment */
	unsigned int flaps;
	bool dead, active, joined;
	uint8_t port[64]; /* PortInfo */
	uint16_t lid;
	uint32_t qkey;
	uint64_t tid;
	struct prng rng;
	struct {
		uint16_t len;
		uint8_t data[IB_PKT_MAX];
	} queue[DUT_QUEUE];
	unsigned int head, n;
};

/*
 * dut_run() - A whole run against a DUT with this flaw; @clauses as in struct conform_cfg. Return: as conform_run()
 */
int dut_run(struct dut *d, struct conform_report *ret, const char *const *clauses, bool with_hook);
const struct conform_result *dut_result(const struct conform_report *r, const char *id);

#endif
