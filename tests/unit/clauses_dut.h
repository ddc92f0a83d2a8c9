/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_CLAUSES_DUT_H
#define TESTS_UNIT_CLAUSES_DUT_H

/*
 * A small device under test (DUT) on virtual time, for the conformance suite. The DUT keeps the
 * link up, answers SMPs, ARP and pings, subscribes to the SA's notices, and joins the broadcast
 * group. If the SA refuses the join, the DUT joins again one second later. A test can choose one
 * flaw, by which the DUT violates one clause.
 */

#include "check.h"

#include "conform/conform.h"
#include "util/prng.h"
#include "wire/ib_hdr.h"
#include "wire/mad.h"

enum dut_flaw {
	FLAW_NONE,
	FLAW_SILENT, /* the DUT sends nothing at all, not even keepalives of the link over UDP */
	FLAW_NO_D_BIT, /* answers to directed-route SMPs lack the D bit (direction) */
	FLAW_NO_PORT_GID, /* the component mask of the request to join lacks PortGID */
	FLAW_RESERVED, /* the reserved field of the IPoIB encapsulation header is 1 */
	/*
	 * no flaw: the DUT also joins the broadcast group of a second P_Key, as for a child
	 * interface
	 */
	FLAW_OTHER_PARTITION,
	/*
	 * the DUT answers each packet with 16 packets that have valid headers and a random payload,
	 * so that the suite has to parse the payloads
	 */
	FLAW_FLOOD,
	/*
	 * the DUT changes random octets of some of its packets, and may also cut these packets;
	 * then it computes their CRCs again
	 */
	FLAW_GARBLED,
	FLAW_DIES, /* after its join the DUT sends nothing any more */
	/*
	 * no flaw: when a Set(P_KeyTable) changes the P_Key after the join, the DUT answers it, and
	 * then sends a data packet with the former P_Key. This is as if the answer, which is on
	 * VL15, had overtaken the data packet
	 */
	FLAW_OVERTAKEN,
	FLAW_KEEPS_LIMITED, /* once the SM has set P_Key 0x7fff, the DUT uses no other P_Key */
};

#define DUT_QUEUE 512

struct dut {
	enum dut_flaw flaw;
	ns_t now, keepalive_at, join_at;
	ns_t interrupt_at; /* time at which the user interrupts the suite; 0: never */
	int hook_status;
	/* true: each step of the hook program starts a DHCP client, which accepts no offer */
	bool has_dhcp;
	const char *profile; /* NULL: rfc4391 */
	const struct conform_profile *own_profile; /* made by the test; NULL: .profile is used */
	unsigned int hooks;
	/*
	 * number of further ARP requests that the DUT will not answer, because its end of the link
	 * is down for a moment when they arrive
	 */
	unsigned int flaps;
	bool dead, active, joined;
	uint8_t port[64]; /* PortInfo */
	uint16_t lid, pkey;
	ns_t discover_at; /* time of the next DHCPDISCOVER; 0: the DUT sends none */
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
 * dut_run() - Run the conformance suite against a DUT that has the flaw d->flaw. @clauses is as in
 * struct conform_cfg. Returns the result of conform_run()
 */
int dut_run(struct dut *d, struct conform_report *ret, const char *const *clauses, bool with_hook);
const struct conform_result *dut_result(const struct conform_report *r, const char *id);

#endif
