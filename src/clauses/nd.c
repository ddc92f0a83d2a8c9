/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/ip.h"
#include "world/peer.h"
#include "world/sa.h"

/* Cases about IPv6: groups, Neighbour Discovery, link-local addresses. RFC 4391 sections 4, 8 and 9.3. */

/* Tell whether the DUT joins, as FullMember, a group with this group ID, whatever the other bits of the MGID are */
static bool joins_group_id(const struct seen *s, const void *group_id)
{
	static const struct sa_want want = { .method = MAD_METHOD_SET,
					     .attr = SA_ATTR_MCMEMBER_RECORD,
					     .join_state = MCM_JOIN_FULL };

	return sa_is(s, &want) &&
	       !memcmp(s->payload + SA_DATA_OFF + 13, (const uint8_t *)group_id + 13, 3) &&
	       s->payload[SA_DATA_OFF + 12] == 0xff;
}

static bool joins_ip6(const struct seen *s, const void *arg)
{
	static const struct sa_want want = { .method = MAD_METHOD_SET,
					     .attr = SA_ATTR_MCMEMBER_RECORD };

	return sa_is(s, &want) && be16_at(s->payload + SA_DATA_OFF + 2) == 0x601b;
}

static void joins_solicited(struct run *r)
{
	uint8_t group[16];
	const struct seen *s;
	ib_gid mgid;

	ip6_solicited_node(group, r->w->dut.ip6);
	mgid = sa_mgid_ip6(r->w, group);
	s = world_expect(r->w, 1, joins_group_id, group, WORLD_LONGEST);
	if (!s && !world_log_find(&r->w->log, 1, joins_ip6, NULL)) {
		not_applicable(
			r,
			"the DUT has joined no group with the signature 0x601B, so it has no IPv6");
		return;
	}
	if (!s) {
		missing(r, "no FullMember join of the solicited-node group of its IPv6 address "
			   "within 18 s");
		return;
	}
	check_octets(r, s, s->payload + SA_DATA_OFF + 2, mgid.raw + 2, 2,
		     "the signature in the MGID");
}

static void low_80_bits(struct run *r)
{
	const struct seen *s;
	uint8_t group[16];
	ib_gid mgid;

	ip6_solicited_node(group, r->w->dut.ip6);
	mgid = sa_mgid_ip6(r->w, group);
	s = world_expect(r->w, 1, joins_group_id, group, NS_SEC(1));
	if (s)
		check_octets(r, s, s->payload + SA_DATA_OFF + 6, mgid.raw + 6, 10,
			     "the group ID in the MGID");
}

/*
 * Send a Neighbour Solicitation for an address of the DUT to the solicited-node group of the address. The group
 * exists because the DUT has joined it
 */
const struct seen *nd_solicit(struct run *r, const struct world_peer *p, const uint8_t target[16])
{
	struct nd_want want = { .type = ND_NA, .target = target };
	const struct seen *s = NULL;

	for (unsigned int i = 0; i < 3 && !s; i++) {
		peer_solicit(r->w, p, target);
		s = expect(r, nd_is, &want, NS_SEC(3));
	}
	return s;
}

const struct seen *nd_advertisement(struct run *r)
{
	const struct seen *s = nd_solicit(r, world_peer(r->w), r->w->dut.ip6);

	if (!s)
		missing(r, "no Neighbour Advertisement for its IPv6 address, asked three times");
	else if (!check(r, s->net_len >= ND_OPTION + 24, s,
			"the Neighbour Advertisement has no room for an option"))
		s = NULL;
	return s;
}

static void na_option(struct run *r)
{
	static const uint8_t head[2] = { 2, 3 };
	const struct seen *s = nd_advertisement(r);

	if (s)
		check_octets(r, s, s->net + ND_OPTION, head, 2,
			     "type and Length of the target's option");
}

static void na_zeros(struct run *r)
{
	static const uint8_t zeros[2];
	const struct seen *s = nd_advertisement(r);

	if (s)
		check_octets(r, s, s->net + ND_OPTION + 2, zeros, 2,
			     "the octets before the address");
}

static void check_address(struct run *r, const struct seen *s)
{
	check_own_address(r, s, s->net + ND_OPTION + 4,
			  "QPN and GID of the link-layer address in the option");
}

static void na_address(struct run *r)
{
	const struct seen *s = nd_advertisement(r);

	if (s)
		check_address(r, s);
}

void nd_solicits(struct run *r, nd_judge_option *judge)
{
	struct world_peer *p = world_peer(r->w);
	struct nd_want want = { .type = ND_NS, .target = p->ip6 };
	const struct seen *s = ping6_for(r, p, 84, 1, nd_is, &want);
	uint8_t group[16];
	ib_gid mgid;

	if (!s) {
		missing(r, "no Neighbour Solicitation for a peer that had sent pings");
		return;
	}
	ip6_solicited_node(group, p->ip6);
	mgid = sa_mgid_ip6(r->w, group);
	judge(r, s, 1);
	check_dgid(r, s, &mgid, "the DGID of the Neighbour Solicitation");
}

static void source_option(struct run *r, const struct seen *s, uint8_t type)
{
	const uint8_t head[2] = { type, 3 };

	if (!check(r, s->net_len >= ND_OPTION + 24, s, "the Neighbour Solicitation has no option"))
		return;
	check_octets(r, s, s->net + ND_OPTION, head, 2, "type and Length of the source's option");
	check_address(r, s);
}

static void solicits(struct run *r)
{
	nd_solicits(r, source_option);
}

#define U_BIT (1ull << 57)

bool nd_has_address(struct run *r, const uint8_t prefix[8], uint64_t iid)
{
	uint8_t ip[16], group[16];
	ib_gid mgid;

	memcpy(ip, prefix, 8);
	be64_put(ip + 8, iid);
	ip6_solicited_node(group, ip);
	mgid = sa_mgid_ip6(r->w, group);
	return sa_is_full_member_of(r->w, &mgid) && nd_solicit(r, &r->w->peer[0], ip);
}

static bool has_linklocal(struct run *r, uint64_t iid)
{
	static const uint8_t prefix[8] = { 0xfe, 0x80 };

	return nd_has_address(r, prefix, iid);
}

void nd_interface_id(struct run *r)
{
	uint64_t guid = r->w->dut.node.port_guid;

	if (has_linklocal(r, guid | U_BIT))
		check(r, true, NULL, "fe80:: and the modified EUI-64");
	else if (!(guid & U_BIT) && has_linklocal(r, guid))
		check(r, false, NULL,
		      "the link-local address ends with the port GUID, whose u bit is 0 and was "
		      "not toggled");
	else if ((guid & U_BIT) && has_linklocal(r, guid & ~U_BIT))
		check(r, false, NULL,
		      "the link-local address ends with the port GUID whose u bit was 1 and has "
		      "been toggled");
	else
		not_applicable(r, "the link-local address is not made from the port GUID, which is "
				  "only RECOMMENDED");
}

/*
 * For watch(): judge the reserved octet of the link-layer address option in every solicitation and
 * advertisement that has this option as its first option
 */
static void option_reserved(struct run *r, const struct seen *s)
{
	static const struct nd_want ns = { .type = ND_NS }, na = { .type = ND_NA };

	if ((nd_is(s, &ns) || nd_is(s, &na)) && s->net_len >= ND_OPTION + 24 &&
	    s->net[ND_OPTION + 1] == 3)
		check_octets(r, s, s->net + ND_OPTION + 4, "", 1,
			     "the reserved octet of the link-layer address in the option");
}

static const struct conform_case cases[] = {
	{ "R8", "the signature of IPv6 groups is 0x601B", "RFC 4391 §4",
	  "For IPv6 over IB, the signature MUST be 0x601B.", "R28", joins_solicited, NULL },
	{ "R10", "the MGID of an IPv6 group ends with the low 80 bits of the group's address",
	  "RFC 4391 §4", "For IPv6 the lower 80 bits of the group ID are used directly.", "R8",
	  low_80_bits, NULL },
	{ "R57/na", "the link-layer address option of a Neighbour Advertisement has Length 3",
	  "RFC 4391 §9.3", "Source/Target Link-layer Address: Length is 3.",
	  "R10 R56/reply R31 R68", na_option, NULL },
	{ "R58", "two zero octets precede the address in the option", "RFC 4391 §9.3",
	  "Two octets of zeros MUST be prepended to the link-layer address.", "R57/na", na_zeros,
	  NULL },
	{ "R46/nd", "the address in the option is the same as in ARP", "RFC 4391 §9.1.1",
	  "The link-layer address is the same in ARP and Neighbour Discovery.", "R57/na",
	  na_address, NULL },
	{ "R47/nd", "the reserved octet of the address in the option is 0", "RFC 4391 §9.1.1",
	  "It MUST be set to zero on send.", "R29 R57/na", NULL, option_reserved },
	{ "R57/ns", "the link-layer address option of a Neighbour Solicitation has Length 3",
	  "RFC 4391 §9.3", "Source Link-layer Address: Length is 3.", "R10 R56/reply R31 R68",
	  solicits, NULL },
	{ "R40", "the u bit of the interface identifier is 1", "RFC 4391 §8",
	  "A modified EUI-64 MUST NOT be toggled, an unmodified one MUST be.",
	  "R10 R56/reply R31 R68", nd_interface_id, NULL },
};

const struct conform_chapter chapter_nd = { "Neighbour Discovery", cases,
					    sizeof(cases) / sizeof(cases[0]) };
