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
 * Ids of the cases that prove that the DUT answers pings of peers, one for each kind of profile. A case that pings
 * lists these ids in .after.
 */
#define REACHED "R25 V10/ns P16/request"

/* --- judgements that several chapters make */

/*
 * join_mgid_octets() - Judge @n octets of the MGID in the first join of the run, from octet @off on; bits that are
 * not in @mask are ignored
 */
void join_mgid_octets(struct run *r, unsigned int off, unsigned int n, uint8_t mask,
		      const char *what);
/*
 * join_of_unfit() - Offer a broadcast group that the DUT cannot use, before the right one exists. The DUT must not
 * send any data. The verdict is given when the DUT tries to join again.
 * @why:	"the ... of the group ..."
 */
void join_of_unfit(struct run *r, void (*spoil)(struct world_group *g), const char *why);
void join_of_another_pkey(struct run *r);
/*
 * The judges below are for watch(). encap_qkey() expects the Q_Key that links of the profile have (struct
 * world_wire).
 */
void encap_qkey(struct run *r, const struct seen *s);
/* The DUT ignores the reserved field of the encapsulation on receive */
void encap_reserved_received(struct run *r);
/* Two cases: packets as long as the IP MTU arrive whole, and the DUT fragments longer packets at the IP MTU */
void encap_full_mtu(struct run *r);
void encap_fragments(struct run *r);
/*
 * Neighbour Discovery. Offset of the option from the end of the encapsulation: the IPv6 header and the fixed part of
 * the message
 */
#define ND_OPTION (40 + 24)
/*
 * nd_solicit() - Ask for an address of the DUT, in the address's group, which exists because the DUT has joined it. NULL:
 * no advertisement came
 */
const struct seen *nd_solicit(struct run *r, const struct world_peer *p, const uint8_t target[16]);
/*
 * nd_advertisement() - Wait for an advertisement of the DUT's address that has an option. NULL: no advertisement
 * came, and the case has a verdict
 */
const struct seen *nd_advertisement(struct run *r);
/*
 * nd_solicits() - Ping the DUT from a peer that it does not know. The DUT has to solicit the peer's address in the
 * solicited-node group of this address.
 * @judge: judges the option of the solicitation, which must be of @type
 */
typedef void nd_judge_option(struct run *r, const struct seen *s, uint8_t type);
void nd_solicits(struct run *r, nd_judge_option *judge);
/*
 * nd_has_address() - Tell whether the DUT has this address, which means that it has joined the address's group and answers
 * for it
 */
bool nd_has_address(struct run *r, const uint8_t prefix[8], uint64_t iid);
/* The link-local address, and the u bit in it */
void nd_interface_id(struct run *r);
/* join_never_creates() - For watch(): the DUT must not try to create the broadcast group */
void join_never_creates(struct run *r, const struct seen *s);

/*
 * keys_not_answered() - Send an echo request whose headers were changed. The DUT must not answer it, but it must
 * answer the correct request that follows.
 */
void keys_not_answered(struct run *r, const struct ib_ud_hdr *h, const char *what);
/*
 * rereg_now() - Let the SA forget the DUT's registrations, and ask the DUT to register again; see mark(). NULL: the
 * DUT did not answer, and the case has a verdict
 */
const struct seen *rereg_now(struct run *r);
/*
 * rereg_set_pkey() - Set entry 0 of the DUT's P_Key table to @pkey, and all other entries to 0. False: the DUT
 * refused, and the case has a verdict
 */
bool rereg_set_pkey(struct run *r, uint16_t pkey);
/*
 * rereg_ping_until() - Ping the DUT after a change until it sends an answer that @good accepts, for as long as the DUT may
 * need to notice the change
 */
const struct seen *rereg_ping_until(struct run *r,
				    bool (*good)(const struct run *r, const struct seen *s));
bool rereg_any_answer(const struct run *r, const struct seen *s);

#endif
