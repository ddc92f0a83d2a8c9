/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_PROFILE_H
#define IPOIB_PROFILE_H

/*
 * DOC: Link profiles
 *
 * A profile is a row of independent choices, where the documents of IPoIB disagree. Code asks
 * for a choice, never for the profile.
 */

#include "util/ns.h"
#include "util/pkt.h"
#include "wire/mgid.h"

/* What a sender does when the group does not exist (RFC 4391 §10). */
enum ipoib_absent {
	IPOIB_ABSENT_ROUTERS, /* all-routers group beyond link-local scope, else drop */
};

struct ipoib_profile {
	const char *name;
	/* Encapsulation: octets before the payload, how to push them and take them off. */
	uint8_t encap_len;
	void (*encap_write)(uint8_t *p, uint16_t ethertype);
	/* The ethertype; -EBADMSG too short; the header is not removed */
	int (*encap_read)(const uint8_t *p, size_t len);
	/* Maps from groups to MGIDs, see wire/mgid.h */
	int (*mgid_broadcast)(ib_gid *ret, uint16_t pkey, uint8_t scope);
	int (*mgid_ipv4)(ib_gid *ret, const uint8_t group[4], uint16_t pkey, uint8_t scope);
	int (*mgid_ipv6)(ib_gid *ret, const uint8_t group[16], uint16_t pkey, uint8_t scope);
	uint8_t scope; /* of the broadcast group unless configured */
	/* IP MTU of a link whose broadcast group has @group_mtu octets */
	unsigned int (*ip_mtu)(unsigned int group_mtu);
	uint8_t send_join_state; /* MCM_JOIN_* of a sender that does not receive */
	enum ipoib_absent sender_absent;
	ns_t sender_idle; /* such a sender leaves after */
};

/* ipoib_profile_find() - By name; NULL if there is none */
const struct ipoib_profile *ipoib_profile_find(const char *name);

/* ipoib_profile_at() - Row @i of the table, NULL past its end; row 0 is the default */
const struct ipoib_profile *ipoib_profile_at(unsigned int i);

#endif
