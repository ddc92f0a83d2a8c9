/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/mgid.h"

#include <errno.h>

#define FLAGS_TRANSIENT 0x10u

/* Write 0xff, flags 0001, scope, signature, P_Key and a zero group ID (RFC 4391 §4, figure 1). */
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

int mgid_to_group(uint8_t ret[16], const ib_gid *mgid, uint16_t pkey, uint8_t scope)
{
	uint8_t group[16] = { 0 };
	unsigned int version = mgid_signature(mgid) == MGID_SIG_IPV4 ? 4 : 6;
	ib_gid again;
	int err;

	if (!mgid_is_ipoib(mgid))
		return -EINVAL;
	if (version == 4) {
		be32_put(group, 0xe0000000u | (be32_at(mgid->raw + 12) & 0x0fffffffu));
		err = mgid_from_ipv4(&again, group, pkey, scope);
	} else {
		group[0] = 0xff;
		group[1] = scope;
		memcpy(group + 6, mgid->raw + 6, 10);
		err = mgid_from_ipv6(&again, group, pkey, scope);
	}
	if (err || !ib_gid_equal(&again, mgid))
		return -EINVAL;
	memcpy(ret, group, sizeof(group));
	return (int)version;
}

int mgid_3333_from_ipv6(ib_gid *ret, const uint8_t group[16])
{
	ib_gid g;

	if (group[0] != 0xff)
		return -EINVAL;
	g.raw[0] = 0xff;
	g.raw[1] = (uint8_t)(FLAGS_TRANSIENT | (group[1] & 0x0f));
	be16_put(g.raw + 2, MGID_SIG_3333);
	memcpy(g.raw + 4, group + 4, 12);
	*ret = g;
	return 0;
}

int mgid_3333_to_ipv6(uint8_t ret[16], const ib_gid *mgid)
{
	if (!ib_gid_is_mcast(mgid) || mgid->raw[1] >> 4 != FLAGS_TRANSIENT >> 4 ||
	    mgid_signature(mgid) != MGID_SIG_3333)
		return -EINVAL;
	ret[0] = 0xff;
	ret[1] = mgid_scope(mgid);
	be16_put(ret + 2, 0);
	memcpy(ret + 4, mgid->raw + 4, 12);
	return 0;
}

int mgid_v4mc_from_ipv4(ib_gid *ret, const uint8_t group[4], uint16_t subnet, uint8_t scope)
{
	uint32_t addr = be32_at(group);
	ib_gid g = { { 0xff, (uint8_t)(FLAGS_TRANSIENT | scope) } };

	if (scope > 0xf || (subnet && scope != MGID_SCOPE_GLOBAL))
		return -EINVAL;
	if (addr >> 28 != 0xe && addr != 0xffffffffu)
		return -EINVAL;
	be16_put(g.raw + 10, subnet);
	memcpy(g.raw + 12, group, 4);
	*ret = g;
	return 0;
}

int mgid_v4mc_to_ipv4(uint8_t ret[4], const ib_gid *mgid, uint16_t subnet, uint8_t scope)
{
	ib_gid again;
	int err = mgid_v4mc_from_ipv4(&again, mgid->raw + 12, subnet, scope);

	if (err || !ib_gid_equal(&again, mgid) || mgid->raw[12] >> 4 != 0xe)
		return -EINVAL;
	memcpy(ret, mgid->raw + 12, 4);
	return 0;
}
