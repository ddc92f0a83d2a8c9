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

/* Cases after which pings of peers are answered, in the profiles that have them */
#define REACHED "R25 V10/ns P16/request"

/* --- judgements that several chapters make */

/* join_mgid_octets() - Octets of the MGID in the first join of the run, those bits that @mask has */
void join_mgid_octets(struct run *r, unsigned int off, unsigned int n, uint8_t mask,
		      const char *what);
/*
 * join_of_unfit() - Before the right broadcast group is there: one that the DUT cannot use. The DUT must send nothing, which is
 * decided when it tries to join again.
 * @why:	"the ... of the group ..."
 */
void join_of_unfit(struct run *r, void (*spoil)(struct world_group *g), const char *why);
void join_of_another_pkey(struct run *r);
/* For watch(): the Q_Key is the one by which the link goes, see struct world_wire */
void encap_qkey(struct run *r, const struct seen *s);
/* Reserved of the encapsulation is ignored on receive */
void encap_reserved_received(struct run *r);
/* Packets of the whole IP MTU pass; longer ones are cut there */
void encap_full_mtu(struct run *r);
void encap_fragments(struct run *r);
/* Neighbour Discovery. Offset of the option behind the encapsulation: IPv6, and the fixed part */
#define ND_OPTION (40 + 24)
/* nd_solicit() - Ask for an address of the DUT; its group exists, because the DUT has joined it. NULL: no advertisement */
const struct seen *nd_solicit(struct run *r, const struct world_peer *p, const uint8_t target[16]);
/* nd_advertisement() - An advertisement of the DUT's address with an option. NULL: none came, and the case has a verdict */
const struct seen *nd_advertisement(struct run *r);
/*
 * nd_solicits() - The DUT has to solicit a peer whose packets it has to answer, in the group of the peer's address
 * @judge:	judges the option, which has to be of @type
 */
typedef void nd_judge_option(struct run *r, const struct seen *s, uint8_t type);
void nd_solicits(struct run *r, nd_judge_option *judge);
/* nd_has_address() - Whether the DUT has this address: it has joined its group, and answers for it */
bool nd_has_address(struct run *r, const uint8_t prefix[8], uint64_t iid);
/* The link-local address, and the u bit in it */
void nd_interface_id(struct run *r);
/* join_never_creates() - For watch(): the DUT does not try to create the broadcast group */
void join_never_creates(struct run *r, const struct seen *s);

/* keys_not_answered() - Send an echo request whose headers were changed. It must not be answered; a later right one is. */
void keys_not_answered(struct run *r, const struct ib_ud_hdr *h, const char *what);
/* rereg_now() - The SA forgets what the DUT has registered, and asks for it; see mark(). NULL: no answer, and the case has a verdict */
const struct seen *rereg_now(struct run *r);
/* rereg_set_pkey() - Set entry 0 of the P_Key table; the others become 0. False: in vain, and the case has a verdict */
bool rereg_set_pkey(struct run *r, uint16_t pkey);
/* rereg_ping_until() - The first answer to a ping after a change that is @good, waited for as long as the DUT may need to notice it */
const struct seen *rereg_ping_until(struct run *r,
				    bool (*good)(const struct run *r, const struct seen *s));
bool rereg_any_answer(const struct run *r, const struct seen *s);

#endif
