/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/profile.h"

#include <string.h>

#include "util/list.h"
#include "wire/ipoib_hdr.h"
#include "wire/records.h"

static void encap_type_reserved(uint8_t *p, uint16_t ethertype)
{
	ipoib_hdr_encode(p, ethertype);
}

static int decap_type_reserved(const uint8_t *p, size_t len)
{
	return ipoib_hdr_decode(p, len);
}

/* RFC 4391 §7: the encapsulation is inside the IB MTU. */
static unsigned int mtu_less_encap(unsigned int group_mtu)
{
	return group_mtu - IPOIB_HDR_LEN;
}

static const struct ipoib_profile profiles[] = {
	{
		.name = "rfc4391",
		.encap_len = IPOIB_HDR_LEN,
		.encap_write = encap_type_reserved,
		.encap_read = decap_type_reserved,
		.mgid_broadcast = mgid_broadcast,
		.mgid_ipv4 = mgid_from_ipv4,
		.mgid_ipv6 = mgid_from_ipv6,
		.scope = 2, /* link-local, §4.1 */
		.ip_mtu = mtu_less_encap,
		.send_join_state = MCM_JOIN_SEND_ONLY_NON,
		.sender_absent = IPOIB_ABSENT_ROUTERS,
		.sender_idle = NS_SEC(120),
	},
};

const struct ipoib_profile *ipoib_profile_at(unsigned int i)
{
	return i < ARRAY_SIZE(profiles) ? &profiles[i] : NULL;
}

const struct ipoib_profile *ipoib_profile_find(const char *name)
{
	const struct ipoib_profile *p;

	for (unsigned int i = 0; (p = ipoib_profile_at(i)); i++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}
