/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/peer.h"
#include "world/sm.h"

/* Cases about keys: packets that an HCA has to drop, and traps about key violations. IBTA 10.9, 13.4.9, 14.2.4. */

void keys_not_answered(struct run *r, const struct ib_ud_hdr *h, const char *what)
{
	const struct world_peer *p = &r->w->peer[0];
	struct echo_want want = echo_reply_to(r->w, p, 0x0bad);
	uint8_t buf[4 + 84];
	const struct seen *s;

	peer_unicast(r->w, p, h, buf, peer_echo(buf, r->w, p, 84, 0x0bad));
	if (!settle(r))
		return;
	s = seen_since(r, echo_is, &want);
	check(r, !s, s, "a ping with %s was answered", what);
}

static void wrong_qkey(struct run *r)
{
	struct ib_ud_hdr h = peer_headers(r->w, &r->w->peer[0]);

	h.deth.qkey ^= 0x10;
	keys_not_answered(r, &h, "another Q_Key");
}

static void wrong_pkey(struct run *r)
{
	struct ib_ud_hdr h = peer_headers(r->w, &r->w->peer[0]);

	h.bth.pkey = 0x8123;
	keys_not_answered(r, &h, "another P_Key");
}

static void wrong_gid(struct run *r)
{
	struct ib_ud_hdr h = peer_headers(r->w, &r->w->peer[0]);

	h.has_grh = true;
	h.grh.dgid.raw[15] ^= 0x40;
	keys_not_answered(r, &h, "a GRH for another GID");
}

static void limited_pkey(struct run *r)
{
	const struct world_peer *p = &r->w->peer[0];
	struct ib_ud_hdr h = peer_headers(r->w, p);
	struct echo_want want = echo_reply_to(r->w, p, 0x0600);
	const struct seen *s = NULL;
	uint8_t buf[4 + 84];

	h.bth.pkey = 0x7fff;
	for (unsigned int i = 0; i < 3 && !s; i++) {
		peer_unicast(r->w, p, &h, buf, peer_echo(buf, r->w, p, 84, 0x0600));
		s = expect(r, echo_is, &want, NS_SEC(2));
	}
	if (!s)
		missing(r, "no answer to a ping with the limited member's P_Key 0x7fff");
	else
		check(r, true, NULL, "answered");
}

/* --- traps */

/*
 * Wait for the trap that follows a packet with a wrong key. The SM sends TrapRepress only when the same trap has come
 * twice.
 */
static void trap_after(struct run *r, const struct ib_ud_hdr *h, uint16_t trap)
{
	const struct seen *s;
	uint8_t buf[4 + 84];
	uint64_t tid;

	if (!(r->w->dut.port.cap_mask & SMP_CAP_IS_TRAP)) {
		not_applicable(r, "IsTrapSupported is 0 in the CapabilityMask");
		return;
	}
	r->w->trap_silent = true;
	peer_unicast(r->w, &r->w->peer[0], h, buf,
		     peer_echo(buf, r->w, &r->w->peer[0], 84, 0x0bad));
	s = expect(r, sm_is_trap, &trap, NS_SEC(3));
	if (!s) {
		not_applicable(r, "no trap %u came; IBTA makes it optional", trap);
		r->w->trap_silent = false;
		return;
	}
	check_be16(r, s, s->raw + IB_LRH_OFF_DLID, WORLD_SM_LID, "the DLID of the trap");
	check_octets(r, s, s->payload + MAD_OFF_CLASS, "\1", 1,
		     "the class of the trap (LID-routed)");
	tid = mad_tid(s->payload);
	mark(r);
	s = expect(r, sm_is_trap_again, &tid, NS_SEC(5));
	r->w->trap_silent = false;
	if (!s) {
		missing(r,
			"trap %u was not repeated with the same TID within 5 s, though nothing "
			"repressed it",
			trap);
		return;
	}
	/* From now on the SM represses the trap. */
	expect(r, sm_is_trap_again, &tid, NS_MSEC(1));
	check(r, true, NULL, "repeated");
}

static void qkey_trap(struct run *r)
{
	struct ib_ud_hdr h = peer_headers(r->w, &r->w->peer[0]);

	h.deth.qkey ^= 0x10;
	trap_after(r, &h, MAD_TRAP_BAD_QKEY);
}

static void pkey_trap(struct run *r)
{
	struct ib_ud_hdr h = peer_headers(r->w, &r->w->peer[0]);

	h.bth.pkey = 0x8123;
	trap_after(r, &h, MAD_TRAP_BAD_PKEY);
}

/* --- M_Key */

#define MKEY 0x00c0f00000c0f000ull

static void set_mkey(struct smp_port_info *pi, unsigned int on)
{
	pi->mkey = on ? MKEY : 0;
	pi->mkey_protect = 1;
	/*
	 * Set a lease of 10 s, so that other managers can manage the DUT again if the suite is
	 * killed while the M_Key is set.
	 */
	pi->mkey_lease = 10;
}

static void mkey(struct run *r)
{
	uint8_t data[SMP_DATA_LEN];
	struct sm_request q = { .method = MAD_METHOD_SET,
				.attr = SMP_ATTR_PORT_INFO,
				.mod = 1,
				.data = data,
				.mkey = 0x1,
				.once = true };
	uint16_t before = r->w->dut.port.mkey_violations;
	struct smp_port_info pi;
	const struct seen *s;

	if (world_sm_port(r->w, set_mkey, 1, &s) != 0) {
		missing(r, "an M_Key cannot be set");
		return;
	}
	r->w->mkey = MKEY;
	smp_port_info_encode(data, &r->w->dut.port);
	/* The DUT must not answer this Set. The DUT's answer to the next request shows that the DUT still works. */
	if (world_sm_ask(r->w, &q, &s) >= 0)
		check(r, false, s, "a Set with a wrong M_Key was answered");
	q = (struct sm_request){ .method = MAD_METHOD_GET, .attr = SMP_ATTR_PORT_INFO, .mod = 1 };
	if (world_sm_ask(r->w, &q, &s) < 0) {
		missing(r, "no answer to a Get with the right M_Key");
	} else {
		smp_port_info_decode(&pi, sm_attr_data(s), SMP_DATA_LEN);
		check(r, pi.mkey_violations != before || before == 0xffff, s,
		      "M_KeyViolations is still %u after a Set with a wrong M_Key", before);
	}
	if (world_sm_port(r->w, set_mkey, 0, &s) == 0)
		r->w->mkey = 0;
	else
		missing(r, "the M_Key cannot be removed");
}

static const struct conform_case cases[] = {
	{ "R43", "the DUT drops packets with another Q_Key", "RFC 4391 §9.1",
	  "The Q_Key must match that of the queue pair.", REACHED, wrong_qkey, NULL },
	{ "R44/other", "the DUT drops packets with another P_Key", "RFC 4391 §9.1; IBTA 10.9.3",
	  "Compatible P_Keys are required between endpoints.", REACHED, wrong_pkey, NULL },
	{ "R44/limited", "the DUT accepts packets of a limited member", "IBTA 10.9.3",
	  "P_Keys match if 15 bits are equal and one is a full member's.", REACHED, limited_pkey,
	  NULL },
	{ "I8", "the DUT drops packets whose GRH has another port's GID", "IBTA 9.6.1.2.3",
	  "The DGID must be one of the port's.", REACHED, wrong_gid, NULL },
	{ "I14/qkey", "after a packet with a wrong Q_Key the DUT sends trap 258 until TrapRepress",
	  "IBTA 14.2.5.1, 13.4.9",
	  "Traps go to MasterSMLID, repeated with the same TID until TrapRepress.", "R43",
	  qkey_trap, NULL },
	{ "I14/pkey", "after a packet with a wrong P_Key the DUT sends trap 257 until TrapRepress",
	  "IBTA 14.2.5.1, 13.4.9",
	  "Traps go to MasterSMLID, repeated with the same TID until TrapRepress.", "R44/other",
	  pkey_trap, NULL },
	{ "I6", "a Set with a wrong M_Key is counted, and not answered", "IBTA 14.2.4.1",
	  "A request with a wrong M_Key is dropped; M_KeyViolations counts it.", "I5/active", mkey,
	  NULL },
};

const struct conform_chapter chapter_keys = { "keys", cases, sizeof(cases) / sizeof(cases[0]) };
