/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_PROFILE_H
#define IPOIB_PROFILE_H

/*
 * DOC: Link profiles
 *
 * A profile is a set of independent choices, one for each matter on which the documents on IPoIB
 * disagree. Code reads the choice that it needs, and never asks which profile a link has.
 */

#include "util/ns.h"
#include "util/pkt.h"
#include "wire/mgid.h"
#include "wire/nd.h"

enum ipoib_proto {
	IPOIB_IPV4,
	IPOIB_IPV6,
};

/* Treatment of a sender's packets to a group that does not exist. */
enum ipoib_absent {
	/*
	 * if the scope is wider than link-local, send to the all-routers group; otherwise drop the
	 * packet
	 */
	IPOIB_ABSENT_ROUTERS,
	IPOIB_ABSENT_DROP, /* drop the packet */
	/*
	 * Send to the group's own MGID, but with the MLID of the all-systems group. If the
	 * all-systems group cannot be joined, use the MLID of the broadcast group. Receivers of a
	 * group receive packets to the group's MGID with these MLIDs, too. Every group that cannot
	 * be joined is treated in this way, whatever the reason is.
	 */
	IPOIB_ABSENT_LENT,
};

/* The source of the SL of unicast packets. Multicast packets have the SL of their group. */
enum ipoib_sl_from {
	IPOIB_SL_DEFAULT, /* no SL source is configured, so the profile decides */
	IPOIB_SL_PATH, /* the PathRecord of the destination */
	IPOIB_SL_GROUP, /* the record of the link's broadcast group */
	IPOIB_SL_FIXED, /* the configuration */
};

/* The source of the broadcast group of the link, and of the values with which packets to this group are sent. */
enum ipoib_group_from {
	/*
	 * the MGID comes from .mgid_broadcast, and the values come from the record that the SA
	 * returns for the join
	 */
	IPOIB_GROUP_MAP,
	IPOIB_GROUP_SIDR, /* the MGID and the values come from SIDR, see sidr/sidr.h */
};

/* How the kernel's ARP for IPv4 is carried on the link. IPv6 has Neighbour Discovery on every link. */
enum ipoib_resolve {
	IPOIB_RESOLVE_ARP, /* ARP with addresses of 20 octets (RFC 4391 §9.2) */
	IPOIB_RESOLVE_IBARP, /* IBARP, see wire/ibarp.h */
	IPOIB_RESOLVE_ND, /* no ARP, because links of the profile carry no IPv4 */
};

/* How an interface that only sends to a group becomes a member. */
struct ipoib_sender {
	bool asks; /* ask the SA whether the group exists, and join only if it exists */
	/*
	 * the join creates a missing group. If .asks and .creates are both false, a refused join
	 * means that the group does not exist
	 */
	bool creates;
	uint8_t join_state; /* JoinState of the join: MCM_JOIN_* */
	enum ipoib_absent absent;
	ns_t idle; /* the membership ends when no packet was sent to the group for this time */
};

/* The encapsulation of a payload in a UD packet, and its functions for the ethertype. */
struct ipoib_encap {
	/* octets of the encapsulation before the payload; 0: the packet begins with the payload */
	uint8_t len;
	uint8_t look; /* octets from the start of the packet that .read examines, at least .len */
	void (*write)(uint8_t *p, uint16_t ethertype); /* writes .len octets */
	/*
	 * Returns the ethertype of the packet that begins with @p. @len is .look, or the length of
	 * the packet if that is less. 0: the function does not recognize the packet; -EBADMSG: the
	 * packet is too short
	 */
	int (*read)(const uint8_t *p, size_t len);
	/* tells whether links of the profile carry packets of this ethertype */
	bool (*carries)(uint16_t ethertype);
};

/* Source and target link-layer address options of Neighbour Discovery. */
struct ipoib_nd_form {
	uint8_t len; /* octets of the option in sent messages, a multiple of 8, at most IPOIB_ND_OPT_MAX */
	bool has_lid; /* the option also contains the LID of the port */
	void (*encode)(void *p, uint8_t type, const struct nd_port *a); /* writes .len octets */
	int (*decode)(struct nd_port *ret, const struct nd_opt *o); /* returns 0 or -EBADMSG */
};
#define IPOIB_ND_OPT_MAX 40

#define IPOIB_IFNAME_LEN 16 /* IFNAMSIZ */
/*
 * The values from which MGIDs are computed, in addition to the IP group. All interfaces of a link have the same
 * values.
 */
struct ipoib_map {
	uint16_t pkey; /* P_Key with bit 15 set */
	uint8_t scope; /* scope of the broadcast group, 1 to 15 */
	uint16_t subnet; /* number of the IP subnet; 0: none */
};

struct ipoib_profile {
	const char *name;
	struct ipoib_encap encap;
	enum ipoib_resolve resolve;
	struct ipoib_nd_form nd;
	/* Makes the interface identifier of IPv6 addresses from the port GUID, see ipoib/iid.h */
	void (*iid)(uint8_t ret[8], uint64_t guid);
	enum ipoib_group_from group_from;
	/*
	 * Map IP groups to MGIDs, see wire/mgid.h. Return: 0; -EINVAL: the profile has no MGID for
	 * the group
	 */
	int (*mgid_broadcast)(ib_gid *ret, const struct ipoib_map *map);
	int (*mgid_ipv4)(ib_gid *ret, const uint8_t group[4], const struct ipoib_map *map);
	int (*mgid_ipv6)(ib_gid *ret, const uint8_t group[16], const struct ipoib_map *map);
	/*
	 * Writes the IP group of an MGID. Return: 4 or 6, the IP version of the group; -EINVAL if the MGID belongs
	 * to no IP group of this link
	 */
	int (*mgid_group)(uint8_t ret[16], const ib_gid *mgid, const struct ipoib_map *map);
	uint8_t scope; /* scope of the broadcast group if none is configured */
	/*
	 * true if a link can be given the number of its IP subnet, which then becomes a part of the
	 * link's MGIDs
	 */
	bool subnet_numbers;
	/*
	 * IP MTU of a link whose broadcast group has an MTU of @group_mtu octets; 0: links of the profile use neither
	 * broadcast groups nor paths with this MTU
	 */
	unsigned int (*ip_mtu)(unsigned int group_mtu);
	struct ipoib_sender sender;
	/*
	 * true if a receiver first tries to join a group without creating it, and creates it only
	 * after a refusal
	 */
	bool join_first;
	enum ipoib_sl_from sl_from; /* PATH or GROUP */
	/* Never create the broadcast group, even if ipoib_link_cfg.create_broadcast is set. */
	bool joins_only;
	/*
	 * If set, a port has an interface for each P_Key. The network device of an interface exists from the first
	 * join of the broadcast group on. This function makes the name of the device from the CA's number on the
	 * host, the port's number and the P_Key. With P_Key 0, which no interface has, the function writes the
	 * prefix that the names for all P_Keys of the port share. NULL: there is one interface, whose name and
	 * P_Key are configured.
	 */
	void (*ifname)(char ret[IPOIB_IFNAME_LEN], unsigned int ca, unsigned int port,
		       uint16_t pkey);
	/*
	 * Tells whether .ifname writes this name for some CA, port and P_Key; NULL if .ifname is
	 * NULL
	 */
	bool (*is_ifname)(const char *name);
	/* Subscribe to traps 64 to 67, and handle Reports of these traps (RFC 4391 §10). */
	bool reports;
};

/*
 * ipoib_profile_has() - Tell whether links of the profile carry packets of @proto, and therefore have groups of
 * @proto
 */
bool ipoib_profile_has(const struct ipoib_profile *p, enum ipoib_proto proto);

/*
 * ipoib_profile_map() - Return the values from which the MGIDs of a link are computed. @pkey may lack bit 15; @scope
 * 0 means global if there is a subnet number, and otherwise the profile's scope
 */
struct ipoib_map ipoib_profile_map(const struct ipoib_profile *p, uint16_t pkey, uint8_t scope,
				   uint16_t subnet);

/* ipoib_profile_find() - Return the profile named @name; NULL: there is none */
const struct ipoib_profile *ipoib_profile_find(const char *name);

/*
 * ipoib_profile_at() - Return row @i of the table of profiles, NULL past its end; row 0 is the
 * default
 */
const struct ipoib_profile *ipoib_profile_at(unsigned int i);

#endif
