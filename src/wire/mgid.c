/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/mgid.h"

#include <errno.h>

#define FLAGS_TRANSIENT 0x10u

/* FF, flags 0001, scop, signature, P_Key and a zero group ID: RFC 4391 §4, figure 1. */
static int mgid_base(ib_gid *ret, uint16_t signature, uint16_t pkey, uint8_t scope)
{
	ib_gid g = { { 0 } };

	if (!(pkey & IB_PKEY_FULL) || scope > 0xf)
		return -EINVAL;

	g.raw[0] = 0xff;
	g.raw[1] = (uint8_t)(FLAGS_TRANSIENT | scope);
	be16_put(g.raw + 2, signature);
	be16_put(g.raw + 4, pkey);
	*ret = g;
	return 0;
}

int mgid_broadcast(ib_gid *ret, uint16_t pkey, uint8_t scope)
{
	int err = mgid_base(ret, MGID_SIG_IPV4, pkey, scope);

	if (!err)
		be32_put(ret->raw + 12, 0xffffffffu);
	return err;
}

int mgid_from_ipv4(ib_gid *ret, const uint8_t group[4], uint16_t pkey, uint8_t scope)
{
	uint32_t addr = be32_at(group);
	int err;

	if (addr == 0xffffffffu)
		return mgid_broadcast(ret, pkey, scope);
	if ((addr >> 28) != 0xe)
		return -EINVAL;

	err = mgid_base(ret, MGID_SIG_IPV4, pkey, scope);
	if (!err)
		be32_put(ret->raw + 12, addr & 0x0fffffffu);
	return err;
}

int mgid_from_ipv6(ib_gid *ret, const uint8_t group[16], uint16_t pkey, uint8_t scope)
{
	int err;

	if (group[0] != 0xff)
		return -EINVAL;

	err = mgid_base(ret, MGID_SIG_IPV6, pkey, scope);
	if (!err)
		memcpy(ret->raw + 6, group + 6, 10);
	return err;
}

bool mgid_is_ipoib(const ib_gid *mgid)
{
	uint16_t sig = mgid_signature(mgid);

	return ib_gid_is_mcast(mgid) && (mgid->raw[1] & FLAGS_TRANSIENT) &&
	       (sig == MGID_SIG_IPV4 || sig == MGID_SIG_IPV6);
}
