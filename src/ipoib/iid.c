/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/iid.h"

#include <string.h>

#include "util/be.h"

#define EUI64_U 0x02 /* the "universal/local" bit of the first octet */

void ipoib_iid_from_guid(uint8_t ret[8], uint64_t guid)
{
	be64_put(ret, guid);
	ret[0] |= EUI64_U;
}

void ipoib_iid_from_lid(uint8_t ret[8], uint16_t lid)
{
	be64_put(ret, 0x000000fffe000000ull |
			      lid); /* u bit clear, because a LID is unique on this subnet only */
}

void ipoib_linklocal(uint8_t ret[16], const uint8_t iid[8])
{
	be64_put(ret, 0xfe80000000000000ull);
	memcpy(ret + 8, iid, 8);
}
