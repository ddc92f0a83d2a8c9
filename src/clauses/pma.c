/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/peer.h"
#include "world/pma.h"

/*
 * Cases about the performance management agent, and about the headers of answers to GMPs. IBTA
 * volume 1, chapters 13 and 16.
 */

/* Judge status and headers of the answer to a request from the suite's switch */
static void check_answer(struct run *r, const struct seen *s)
{
	check_octets(r, s, s->payload + MAD_OFF_METHOD, "\x81", 1, "the method");
	check_be16(r, s, s->payload + MAD_OFF_STATUS, 0, "the status");
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, WORLD_SM_LID, "DLID (the request's SLID)");
	check_be16(r, s, s->raw + IB_LRH_OFF_SLID, r->w->dut.lid, "SLID");
	check(r, s->h.lrh.sl == WORLD_PMA_SL, s, "SL is %u, expected %u as in the request",
	      s->h.lrh.sl, WORLD_PMA_SL);
	check(r, ib_pkey_match(s->h.bth.pkey, WORLD_PKEY), s, "the P_Key is 0x%04x", s->h.bth.pkey);
	check(r, s->h.deth.src_qp == IB_QP1, s, "the source QP is 0x%x, expected QP1",
	      s->h.deth.src_qp);
}

static void class_port_info(struct run *r)
{
	struct pma_request q = { .method = MAD_METHOD_GET, .attr = MAD_ATTR_CLASS_PORT_INFO };
	const struct seen *s;

	if (world_pma_ask(r->w, &q, &s) < 0 && r->w->up && !r->w->interrupted)
		not_applicable(r, "no answer to PerformanceGet(ClassPortInfo), asked three times: "
				  "a link over UDP needs no PMA");
	else if (!s)
		missing(r, "no answer to PerformanceGet(ClassPortInfo)");
	else
		check_answer(r, s);
}

static void with_grh(struct run *r)
{
	const ib_gid asker = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, WORLD_SWITCH_GUID);
	struct pma_request q = { .method = MAD_METHOD_GET,
				 .attr = MAD_ATTR_CLASS_PORT_INFO,
				 .grh = true };
	const struct seen *s;

	if (world_pma_ask(r->w, &q, &s) < 0) {
		missing(r, "no answer to PerformanceGet(ClassPortInfo) with a GRH");
		return;
	}
	check_answer(r, s);
	check_dgid(r, s, &asker, "the DGID of the answer to a request with a GRH");
}

static void unknown_attribute(struct run *r)
{
	struct pma_request q = { .method = MAD_METHOD_GET, .attr = 0x7f7f };
	const struct seen *s;
	int status = world_pma_ask(r->w, &q, &s);

	if (status < 0)
		missing(r, "no answer to PerformanceGet of an attribute that does not exist");
	else
		check(r, status == MAD_STATUS_BAD_ATTR, s, "status 0x%04x, expected 0x000c",
		      (unsigned int)status);
}

static bool counters(struct run *r, struct pma_port_counters *ret)
{
	const struct seen *s;
	int status = world_pma_counters(r->w, ret, &s);

	if (status < 0)
		missing(r, "no answer to PerformanceGet(PortCounters), asked three times");
	return status >= 0 &&
	       check(r, status == 0, s, "the status of PerformanceGet(PortCounters) is 0x%04x",
		     (unsigned int)status);
}

#define PINGS 4

/*
 * Judge that a counter whose values were @before and @after has grown by at least @least. A counter
 * that has reached its largest value does not grow.
 */
static void check_grown(struct run *r, uint32_t before, uint32_t after, size_t least,
			const char *what)
{
	check(r, after == UINT32_MAX || after >= before + least, NULL,
	      "%s was %u and is %u, expected %zu more at least", what, before, after, least);
}

static void count(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	struct pma_port_counters before, after;
	size_t words = 0;

	if (!counters(r, &before))
		return;
	for (unsigned int i = 0; i < PINGS; i++) {
		struct echo_want want = echo_reply_to(r->w, p, 0x0400 + (int)i);
		const struct seen *s = ping_for(r, p, 1000, (uint16_t)want.seq, echo_is, &want);

		if (!s) {
			missing(r, "no answer to a ping");
			return;
		}
		/* count the octets from the LRH to the ICRC in words of 4 octets */
		words += (s->len - IB_VCRC_LEN) / 4;
	}
	if (!counters(r, &after))
		return;
	check_grown(r, before.xmit_pkts, after.xmit_pkts, PINGS, "PortXmitPkts");
	check_grown(r, before.rcv_pkts, after.rcv_pkts, PINGS, "PortRcvPkts");
	check_grown(r, before.xmit_data, after.xmit_data, words, "PortXmitData");
	check_grown(r, before.rcv_data, after.rcv_data, words, "PortRcvData");
}

static void clear(struct run *r)
{
	/* select the counter PortXmitPkts alone */
	struct pma_port_counters c = { .port_select = r->w->dut.node.local_port,
				       .counter_select = 0x4000 },
				 before, after;
	uint8_t data[PMA_PORT_COUNTERS_LEN];
	struct pma_request q = { .method = MAD_METHOD_SET,
				 .attr = PMA_ATTR_PORT_COUNTERS,
				 .data = data,
				 .len = sizeof(data) };
	const struct seen *s;
	int status;

	if (!counters(r, &before))
		return;
	pma_port_counters_encode(data, &c);
	status = world_pma_ask(r->w, &q, &s);
	if (status < 0) {
		missing(r, "no answer to PerformanceSet(PortCounters)");
		return;
	}
	check(r, status == 0, s, "the status of PerformanceSet(PortCounters) is 0x%04x",
	      (unsigned int)status);
	if (!counters(r, &after))
		return;
	check(r, after.xmit_pkts < before.xmit_pkts, NULL,
	      "PortXmitPkts was %u, and is %u after a Set of 0 that selects it", before.xmit_pkts,
	      after.xmit_pkts);
	check_grown(r, before.rcv_pkts, after.rcv_pkts, 0,
		    "PortRcvPkts, which the Set did not select,");
}

static const struct conform_case cases[] = {
	{ "PMA/class",
	  "the answer to ClassPortInfo goes to the requester's LID with its SL and P_Key",
	  "IBTA 16.1, 13.5.4; doc/udp-link.md",
	  "Each port has a PMA; an answer goes to the SLID with the SL of the request.", REACHED,
	  class_port_info, NULL },
	{ "PMA/grh", "the PMA answers a request with a GRH by a packet with a GRH", "IBTA 13.5.4",
	  "If the request had a GRH, the answer has one, whose DGID is the request's SGID.",
	  "PMA/class", with_grh, NULL },
	{ "PMA/attribute", "the PMA answers an unknown attribute with status 0x0C", "IBTA 13.4.7",
	  "The status is 0x0C for a combination of method and attribute that is not supported.",
	  "PMA/class", unknown_attribute, NULL },
	{ "PMA/counters", "PortCounters count packets and words in both directions",
	  "IBTA 16.1.3.5", "Packets, and data in units of 4 octets from LRH to ICRC.", "PMA/class",
	  count, NULL },
	{ "PMA/clear", "a Set changes the counters that CounterSelect names, and no other",
	  "IBTA 16.1.3.5", "Counters are written only if their bit of CounterSelect is 1.",
	  "PMA/counters", clear, NULL },
};

const struct conform_chapter chapter_pma = { "performance", cases,
					     sizeof(cases) / sizeof(cases[0]) };
