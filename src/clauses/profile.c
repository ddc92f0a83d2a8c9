/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/profile.h"

#include "clauses/chapters.h"

/*
 * Clauses of CONFORMANCE.md that have no case in the conformance suite, and the reasons. A reason
 * that begins with "not yet" marks a clause for which a case could be written.
 */

const struct conform_reason conform_unseen[] = {
	{ "R2", "it is about the fabric, which the suite plays" },
	{ "R4", "seen by every case: a field in the wrong order is a wrong field" },
	{ "R12", "its P_Key 0x8000 is not valid on a fabric" },
	{ "R16", "the SM chooses the Q_Key" },
	{ "R17", "the SM chooses the MTU" },
	{ "R18", "the SM chooses these fields; R24 sees that they are used" },
	{ "R21", "it needs a configuration of the DUT" },
	{ "R26", "the SA refuses; that the interface stays down is seen by R22" },
	{ "R32", "a drop without an answer; only a counter of the DUT shows it" },
	{ "R38", "seen by R40" },
	{ "R39", "seen by R40; RECOMMENDED only" },
	{ "R41", "it needs a configuration of the DUT" },
	{ "R42", "seen by R40" },
	{ "R51", "seen by R45: a peer's multicasts do not make the DUT send" },
	{ "R53", "it is about configuration; R3 sees that the P_Key is used" },
	{ "R55", "a static rate is not in the packets; R45 sees that the SA is asked first" },
	{ "R59", "how long an entry of ARP is valid is not on the wire" },
	{ "R64", "a cache is not on the wire" },
	{ "R71", "a log is not on the wire" },
	{ "R72", "it is about the operating system" },
	{ "R73", "the SM chooses the Q_Key" },
	{ "R74", "seen by R47/received" },
	{ "I9", "groups that the DUT has not joined; not yet" },
	{ "I10", "it is about switches" },
	{ "I11", "it is about switches" },
	{ "I12", "it is about switches" },
	{ "I13", "it is about uipoib's topologies" },
	{ "I15", "seen by I14/qkey and I14/pkey" },
	{ "I17", "it is about the SM" },
	{ "I19", "it is about the SA" },
	{ "I20", "it is about the SA" },
	{ "I21", "it is about the SA" },
	{ "I22", "it is about the SA" },
	{ "I23", "it is about the SA" },
	{ "I24", "it is about switches" },
	{ "I26", "it is about the SM" },
	{ "I27", "a drop without an answer; the switch of the suite sends no multicast back" },
	{ "I28", "it is about uipoib's TAP" },
	{ "I30", "it is about uipoib's TAP" },
	{ "I31", "it is about uipoib's TAP" },
	{ "I32", "R45 sees that held packets leave; their order, not yet" },
	{ "I33", "it is about uipoib's captures" },
	{ "I34", "ibping; not yet" },
	{ "D4", "it is about uipoib's TAP" },
	{ "C1", "seen by R47/received" },
	{ "S1", "it needs a configuration of the DUT" },
	{ "L4 to L6", "what profile linux does otherwise on purpose" },
	{ NULL, NULL },
};

/* --- RFC 4391, and profile linux, whose packets have the format of the RFC */

static const struct conform_chapter *const rfc4391_chapters[] = {
	&chapter_bringup,     &chapter_join,   &chapter_link,
	&chapter_arp,	      &chapter_encap,  &chapter_nd,
	&chapter_path,	      &chapter_keys,   &chapter_pma,
	&chapter_mgid,	      &chapter_mcast,  &chapter_dhcp,
	&chapter_mcast_later, &chapter_router, &chapter_rereg,
	&chapter_limited,     &chapter_mtu,    NULL,
};

/*
 * Clauses of RFC 4391 that Linux's driver does not follow (doc/fidelity.md, L4 to L6). The profile
 * linux imitates the driver, so it does not follow them either.
 */
static const struct conform_reason not_linux[] = {
	{ "R61", "a sender of profile linux makes an absent group" },
	{ "R62", "a sender of profile linux joins as SendOnlyFullMember" },
	{ "R63", "a sender of profile linux makes an absent group" },
	{ "R65", "profile linux subscribes to nothing" },
	{ "R70", "profile linux subscribes to nothing, so it is no router's" },
	{ "R66", "a sender of profile linux makes an absent group" },
	{ "I25", "profile linux subscribes to nothing" },
	{ NULL, NULL },
};

/* --- intel-ipoib-linux-hld-2002: the packets of RFC 4391, and a driver with a link for each P_Key */

static const struct conform_chapter *const hld2002_chapters[] = {
	&chapter_bringup,     &chapter_join,	&chapter_link,
	&chapter_arp,	      &chapter_encap,	&chapter_nd,
	&chapter_path,	      &chapter_keys,	&chapter_pma,
	&chapter_mgid,	      &chapter_mcast,	&chapter_dhcp,
	&chapter_mcast_later, &chapter_router,	&chapter_hld,
	&chapter_rereg,	      &chapter_limited, &chapter_mtu,
	&chapter_hld_pkeys,   &chapter_hld_end, NULL,
};

static const struct conform_reason hld2002_unseen[] = {
	{ "H13", "the room before a packet is in the driver's memory" },
	{ "H15", "how long a packet may wait in the port is not on the wire" },
	{ "H17", "the length of the kernel's queue is not on the wire" },
	{ "H18", "it is about functions of a driver; H19 sees what set_multicast_list does" },
	{ "H21", "the pseudo header is between the kernel and its driver" },
	{ "H24", "the document leaves open how an entry is refreshed, and names no time" },
	{ "H27", "a pool of buffers is in the driver's memory" },
	{ "H32", "a structure between programs of the DUT" },
	{ "H33", "a function for programs of the DUT; R50/query sees the query behind it" },
	{ NULL, NULL },
};

/* --- draft-kashyap-ipoib-ipv4-multicast-01 */

static const struct conform_chapter *const v4mc01_chapters[] = {
	&chapter_bringup, &chapter_join,  &chapter_v4mc_map, &chapter_link, &chapter_arp,
	&chapter_encap,	  &chapter_nd,	  &chapter_path,     &chapter_keys, &chapter_pma,
	&chapter_mgid,	  &chapter_mcast, &chapter_dhcp,     &chapter_v4mc, &chapter_mcast_later,
	&chapter_router,  &chapter_rereg, &chapter_limited,  &chapter_mtu,  NULL,
};

static const struct conform_reason not_v4mc01[] = {
	{ "R5", "the draft has a map of its own: M7 to M11" },
	{ "R6", "the draft has a map of its own: M7" },
	{ "R7", "the draft has a map of its own: M8, M9" },
	{ "R9", "the draft has a map of its own, without the P_Key: M8, M9" },
	{ "R11", "the draft has a map of its own, of 32 bits: M9" },
	{ "R13", "the draft has a map of its own: M8" },
	{ "R15", "the draft has a map of its own, without the P_Key: M8, M9" },
	{ "R20", "the draft has a clause of its own: M3" },
	{ "R61", "the draft has another fallback: M22" },
	{ "R62", "the draft names no kind of membership: M21" },
	{ "R63", "the draft has another fallback: M22" },
	{ NULL, NULL },
};

static const struct conform_reason v4mc01_unseen[] = {
	{ "M2", "documented: it is about the fabric" },
	{ "M4", "documented: it is about the administrator" },
	{ "M16", "documented: it is about the administrator" },
	{ "M26", "it needs a multicast router in the DUT; RECOMMENDED only" },
	{ NULL, NULL },
};

/* --- draft-kashyap-ipoib-ipv6-over-ib-00 */

static const struct conform_chapter *const v6ib00_chapters[] = {
	&chapter_bringup,     &chapter_join,	&chapter_v6ib_map,
	&chapter_link,	      &chapter_v6ib_nd, &chapter_encap,
	&chapter_path,	      &chapter_keys,	&chapter_pma,
	&chapter_mgid,	      &chapter_mcast,	&chapter_v6ib,
	&chapter_mcast_later, &chapter_router,	&chapter_rereg,
	&chapter_limited,     &chapter_mtu,	NULL,
};

static const struct conform_reason not_v6ib00[] = {
	{ "R5", "the draft has a map of its own: V5" },
	{ "R6", "the draft has a map of its own: V5" },
	{ "R7", "the draft has a map of its own: V6" },
	{ "R9", "the draft has a map of its own, without the P_Key: V6" },
	{ "R11", "the link carries no IPv4" },
	{ "R13", "the link's group is that of all hosts: V24" },
	{ "R14", "the scope is that of the IPv6 address: V4" },
	{ "R15", "the draft has a map of its own, without the P_Key: V6" },
	{ "R20", "the link's group is that of all hosts: V24" },
	{ "R25", "the link carries no IPv4" },
	{ "R29", "there is no encapsulation header: V20" },
	{ "R30", "there is no encapsulation header: V20" },
	{ "R31", "there is no encapsulation header: V20" },
	{ "R35", "the IP MTU is that of the group: V16" },
	{ "R52", "unicasts have the peer's Q_Key: V14" },
	{ "R54", "unicasts have the SL of the group: V15" },
	{ NULL, NULL },
};

static const struct conform_reason v6ib00_unseen[] = {
	{ "V7", "documented: it is about the administrator" },
	{ "V23", "documented: it is about the SM" },
	{ "D1 to D3, I29", "the link carries no IPv4" },
	{ NULL, NULL },
};

/* --- draft-pelissier-ipoib-encaparp-00 */

static const struct conform_chapter *const encaparp00_chapters[] = {
	&chapter_bringup,     &chapter_sidr,	&chapter_join,
	&chapter_sidr_group,  &chapter_link,	&chapter_ibarp,
	&chapter_encap,	      &chapter_nd,	&chapter_encaparp,
	&chapter_path,	      &chapter_keys,	&chapter_pma,
	&chapter_mgid,	      &chapter_mcast,	&chapter_dhcp,
	&chapter_mcast_later, &chapter_router,	&chapter_sidr_server,
	&chapter_rereg,	      &chapter_limited, NULL,
};

static const struct conform_reason not_encaparp00[] = {
	{ "R5", "SIDR gives the group: P18" },
	{ "R6", "SIDR gives the group: P18" },
	{ "R7", "SIDR gives the group: P18" },
	{ "R9", "SIDR gives the group: P18" },
	{ "R13", "SIDR gives the group: P18" },
	{ "R15", "SIDR gives the group: P18" },
	{ "R20", "SIDR gives the group: P18" },
	{ "R29", "the draft has another header: P2" },
	{ "R30", "the draft has another header: P3" },
	{ "R31", "the draft has other ethertypes: P4" },
	{ "R35", "the draft has another default MTU: P8" },
	{ "R37/fragment", "the draft has another default MTU: P8" },
	{ "R40", "the draft complements the u bit always: P12" },
	{ "R46", "the draft has other link-layer addresses: P14, P26" },
	{ "R47", "the draft has other link-layer addresses: P14" },
	{ "R52", "unicasts have the peer's Q_Key: P15" },
	{ "R57", "the draft has another option: P14" },
	{ "R58", "the draft has another option: P14" },
	{ NULL, NULL },
};

static const struct conform_reason encaparp00_unseen[] = {
	{ "P6", "seen by every case: a field in the wrong order is a wrong field" },
	{ "P11", "it is about the DHCP client of the host" },
	{ "P17", "a cache is not on the wire; MAY only" },
	{ "P21", "documented: it is about lengths of headers, which are IBA's" },
	{ "I29", "the draft has no RARP" },
	{ "R36", "the draft has MTUs of its own: P7 to P10" },
	{ NULL, NULL },
};

static const struct conform_profile profiles[] = {
	{ .name = "rfc4391", .wire = &world_wire_rfc4391, .chapters = rfc4391_chapters },
	{ .name = "linux",
	  .wire = &world_wire_rfc4391,
	  .chapters = rfc4391_chapters,
	  .exempt = not_linux },
	{ .name = "hld2002",
	  .wire = &world_wire_rfc4391,
	  .chapters = hld2002_chapters,
	  .unseen = hld2002_unseen },
	{ .name = "v4mc01",
	  .wire = &world_wire_v4mc01,
	  .chapters = v4mc01_chapters,
	  .exempt = not_v4mc01,
	  .unseen = v4mc01_unseen,
	  .prepare = v4mc_prepare },
	{ .name = "v6ib00",
	  .wire = &world_wire_v6ib00,
	  .chapters = v6ib00_chapters,
	  .exempt = not_v6ib00,
	  .unseen = v6ib00_unseen,
	  .prepare = v6ib_prepare },
	{ .name = "encaparp00",
	  .wire = &world_wire_encaparp00,
	  .chapters = encaparp00_chapters,
	  .exempt = not_encaparp00,
	  .unseen = encaparp00_unseen,
	  .prepare = encaparp_prepare },
};

const struct conform_profile *conform_profile_at(unsigned int i)
{
	return i < sizeof(profiles) / sizeof(profiles[0]) ? &profiles[i] : NULL;
}

const struct conform_profile *conform_profile_find(const char *name)
{
	const struct conform_profile *p;

	for (unsigned int i = 0; (p = conform_profile_at(i)); i++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

/* --- lists for people */

static void print_reasons(FILE *f, const char *title, const struct conform_reason *v)
{
	if (v)
		fprintf(f, "%s\n", title);
	for (; v && v->id; v++)
		fprintf(f, "  %-14s  %s\n", v->id, v->why);
}

void conform_print_list(FILE *f, const struct conform_profile *p)
{
	for (const struct conform_chapter *const *c = p->chapters; *c; c++) {
		fprintf(f, "%s\n", (*c)->name);
		for (size_t k = 0; k < (*c)->n; k++)
			fprintf(f, "  %-14s  %s (%s)\n", (*c)->v[k].id, (*c)->v[k].title,
				(*c)->v[k].section);
	}
	print_reasons(f, "does not apply to this profile", p->exempt);
	print_reasons(f, "no case, of the profile's own document", p->unseen);
	print_reasons(f, "no case", conform_unseen);
}
