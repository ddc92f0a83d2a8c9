/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLAUSES_CHAPTERS_H
#define CLAUSES_CHAPTERS_H

#include "conform/case.h"

extern const struct conform_chapter chapter_bringup, chapter_join, chapter_link, chapter_encap,
	chapter_arp, chapter_nd, chapter_path, chapter_keys, chapter_mgid, chapter_mcast,
	chapter_mcast_later, chapter_rereg, chapter_pma, chapter_dhcp, chapter_router,
	chapter_limited, chapter_mtu;
/* draft-kashyap-ipoib-ipv4-multicast-01 */
extern const struct conform_chapter chapter_v4mc_map, chapter_v4mc;
/* draft-kashyap-ipoib-ipv6-over-ib-00 */
extern const struct conform_chapter chapter_v6ib_map, chapter_v6ib_nd, chapter_v6ib;
/* draft-pelissier-ipoib-encaparp-00 */
extern const struct conform_chapter chapter_sidr, chapter_sidr_group, chapter_ibarp,
	chapter_encaparp, chapter_sidr_server;

/* intel-ipoib-linux-hld-2002 */
extern const struct conform_chapter chapter_hld, chapter_hld_pkeys, chapter_hld_end;

/*
 * Ids of the cases that check whether the DUT answers pings of peers. Each profile has one of the
 * three cases: R25 for ARP, V10/ns for Neighbour Discovery, P16/request for IBARP. A case that
 * pings lists all three in its .after; cases that the profile does not have are ignored.
 */
#define REACHED "R25 V10/ns P16/request"

/* --- judgements that several chapters make */

/*
 * join_mgid_octets() - Judge @n octets of the MGID in the first join that the DUT sends in this
 * run. @off is the offset of the first of these octets in the MGID. Of each octet, only the bits in
 * @mask are compared
 */
void join_mgid_octets(struct run *r, unsigned int off, unsigned int n, uint8_t mask,
		      const char *what);
/*
 * join_of_unfit() - Judge that the DUT sends no data while the only broadcast group is one that it
 * cannot use. The function creates this group, waits until the DUT has joined it, and gives the
 * verdict when the DUT tries to join again. Then it deletes the group.
 * @spoil:	makes the group unusable
 * @why:	what is wrong with the group, for a message "the DUT sent a packet, though ..."
 */
void join_of_unfit(struct run *r, void (*spoil)(struct world_group *g), const char *why);
void join_of_another_pkey(struct run *r);
/*
 * encap_qkey() - For watch(): judge that a packet has the right Q_Key, which struct world_wire of
 * the profile determines
 */
void encap_qkey(struct run *r, const struct seen *s);
/* Case: the DUT ignores the reserved field of the encapsulation header in received packets */
void encap_reserved_received(struct run *r);
/*
 * Two cases: the DUT sends its answer as one packet if the ping has the length of the IP MTU, and
 * in fragments if the ping is longer
 */
void encap_full_mtu(struct run *r);
void encap_fragments(struct run *r);
/*
 * Offset of the first option of a Neighbour Solicitation or Advertisement, counted from the end of
 * the encapsulation header: the length of the IPv6 header plus that of the message's fixed part
 */
#define ND_OPTION (40 + 24)
/*
 * nd_solicit() - Send Neighbour Solicitations for @target, an address of the DUT, to the
 * solicited-node group of @target. The DUT should be a member of this group already. Return: the
 * DUT's advertisement; NULL: none came
 */
const struct seen *nd_solicit(struct run *r, const struct world_peer *p, const uint8_t target[16]);
/*
 * nd_advertisement() - Let a new peer solicit the DUT's IPv6 address (nd_solicit()). Return: the
 * advertisement, which is long enough for an option of 24 octets; NULL: no advertisement came, or
 * it is too short. If NULL is returned, the case has a verdict
 */
const struct seen *nd_advertisement(struct run *r);
/*
 * nd_solicits() - Ping the DUT from a peer that is new to the DUT. The DUT has to send a Neighbour
 * Solicitation for the peer's address to the solicited-node group of this address.
 * @judge:	judges the option of this solicitation; its parameter @type is the type that the
 *		option has to have
 */
typedef void nd_judge_option(struct run *r, const struct seen *s, uint8_t type);
void nd_solicits(struct run *r, nd_judge_option *judge);
/*
 * nd_has_address() - Tell whether the DUT has the address that consists of @prefix and @iid:
 * whether it is a member of the solicited-node group of the address, and answers a solicitation for
 * it
 */
bool nd_has_address(struct run *r, const uint8_t prefix[8], uint64_t iid);
/*
 * Case: the DUT has the link-local address that follows from its GUID, with the right u bit
 * (universal/local)
 */
void nd_interface_id(struct run *r);
/* join_never_creates() - For watch(): the DUT must not try to create the broadcast group */
void join_never_creates(struct run *r, const struct seen *s);

/*
 * keys_not_answered() - Send an echo request with the changed headers @h. The DUT must not answer
 * this request, but must answer the correct request that follows.
 */
void keys_not_answered(struct run *r, const struct ib_ud_hdr *h, const char *what);
/*
 * rereg_now() - Call mark(), and delete the DUT's registrations from the SA. Then send the DUT a
 * Set(PortInfo) with ClientReregister, so that the DUT registers again. Return: the DUT's answer to
 * this Set; NULL: no answer came, and the case has a verdict
 */
const struct seen *rereg_now(struct run *r);
/*
 * rereg_set_pkey() - Set entry 0 of the DUT's P_Key table to @pkey, and entries 1 to 31 to 0.
 * Return: false if the DUT refused this; then the case has a verdict
 */
bool rereg_set_pkey(struct run *r, uint16_t pkey);
/*
 * rereg_ping_until() - After a change, ping the DUT until it sends an answer that @good accepts.
 * Give up after the longest time that the DUT may need to notice the change. Return: the answer to
 * the last ping, even if @good refused it; NULL: this ping got no answer, and the case has a
 * verdict
 */
const struct seen *rereg_ping_until(struct run *r,
				    bool (*good)(const struct run *r, const struct seen *s));
bool rereg_any_answer(const struct run *r, const struct seen *s);

#endif
