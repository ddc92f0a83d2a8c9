/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/iid.h"

#include <string.h>

#include "util/be.h"
#include "util/hash.h"
#include "wire/ib.h"

#define EUI64_U 0x02 /* the "universal/local" bit of the first octet */

void ipoib_iid_from_guid(uint8_t ret[8], uint64_t guid)
{
	be64_put(ret, guid);
	ret[0] |= EUI64_U;
}

void ipoib_iid_complement(uint8_t ret[8], uint64_t guid)
{
	be64_put(ret, guid);
	ret[0] ^= EUI64_U;
}

void ipoib_iid_from_lid(uint8_t ret[8], uint16_t lid)
{
	be64_put(ret, 0x000000fffe000000ull |
			      /* the u bit is clear, because a LID is unique on this subnet only */
			      lid);
}

void ipoib_linklocal(uint8_t ret[16], const uint8_t iid[8])
{
	be64_put(ret, 0xfe80000000000000ull);
	memcpy(ret + 8, iid, 8);
}

/*
 * Writes a keyed hash of 128 bits. The result consists of two hashes of 64 bits, whose inputs
 * differ in in[0], which is 0 for the first hash and 1 for the second hash.
 */
static void hash_128(uint8_t ret[16], const uint8_t key[16], uint8_t *in, size_t len)
{
	struct hash_key k = { be64_at(key), be64_at(key + 8) };

	for (in[0] = 0; in[0] < 2; in[0]++)
		be64_put(ret + 8 * in[0], hash_siphash(&k, in, len));
}

void ipoib_stable_secret(uint8_t ret[IPOIB_STABLE_SECRET],
			 const uint8_t secret[IPOIB_STABLE_SECRET], uint64_t guid, uint16_t pkey,
			 const char *name)
{
	uint8_t in[11 + 128] = { 0 };
	size_t len = strnlen(name, sizeof(in) - 11);

	be64_put(in + 1, guid);
	be16_put(in + 9, pkey | IB_PKEY_FULL);
	memcpy(in + 11, name, len);
	hash_128(ret, secret, in, 11 + len);
}

void ipoib_machine_secret(uint8_t ret[IPOIB_STABLE_SECRET], const void *machine, size_t len)
{
	/*
	 * The key ("uipoib secret v1") makes the secret differ from everything else that is
	 * computed from the identifier of the machine.
	 */
	static const uint8_t key[16] = { 'u', 'i', 'p', 'o', 'i', 'b', ' ', 's',
					 'e', 'c', 'r', 'e', 't', ' ', 'v', '1' };
	uint8_t in[1 + 64] = { 0 };

	if (len > sizeof(in) - 1)
		len = sizeof(in) - 1;
	memcpy(in + 1, machine, len);
	hash_128(ret, key, in, 1 + len);
}
