/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/smp.h"

#include <errno.h>

static_assert(SMP_PKEYS_PER_BLOCK * 2 == SMP_DATA_LEN, "IBTA 14.2.5.7");
static_assert(SMP_GUIDS_PER_BLOCK * 8 == SMP_DATA_LEN, "IBTA 14.2.5.5");
static_assert(SMP_LFT_PER_BLOCK == SMP_DATA_LEN, "IBTA 14.2.5.10");
static_assert(SMP_MFT_PER_BLOCK * 2 == SMP_DATA_LEN, "IBTA 14.2.5.12");

/* A block of P_KeyTable or MulticastForwardingTable has 32 elements of 16 bits. */
static int block16_decode(uint16_t ret[32], const void *p, size_t len)
{
	const uint8_t *b = p;

	if (len < SMP_DATA_LEN)
		return -EBADMSG;

	for (size_t i = 0; i < 32; i++)
		ret[i] = be16_at(b + 2 * i);
	return 0;
}

static void block16_encode(void *p, const uint16_t v[32])
{
	uint8_t *b = p;

	for (size_t i = 0; i < 32; i++)
		be16_put(b + 2 * i, v[i]);
}

int smp_pkey_block_decode(uint16_t ret[SMP_PKEYS_PER_BLOCK], const void *p, size_t len)
{
	return block16_decode(ret, p, len);
}

void smp_pkey_block_encode(void *p, const uint16_t pkeys[SMP_PKEYS_PER_BLOCK])
{
	block16_encode(p, pkeys);
}

int smp_mft_block_decode(uint16_t ret[SMP_MFT_PER_BLOCK], const void *p, size_t len)
{
	return block16_decode(ret, p, len);
}

void smp_mft_block_encode(void *p, const uint16_t masks[SMP_MFT_PER_BLOCK])
{
	block16_encode(p, masks);
}

int smp_guid_block_decode(uint64_t ret[SMP_GUIDS_PER_BLOCK], const void *p, size_t len)
{
	const uint8_t *b = p;

	if (len < SMP_DATA_LEN)
		return -EBADMSG;

	for (size_t i = 0; i < SMP_GUIDS_PER_BLOCK; i++)
		ret[i] = be64_at(b + 8 * i);
	return 0;
}

void smp_guid_block_encode(void *p, const uint64_t guids[SMP_GUIDS_PER_BLOCK])
{
	uint8_t *b = p;

	for (size_t i = 0; i < SMP_GUIDS_PER_BLOCK; i++)
		be64_put(b + 8 * i, guids[i]);
}

#define SLTOVL_LEN 8

int smp_sltovl_decode(uint8_t ret[16], const void *p, size_t len)
{
	const uint8_t *b = p;

	if (len < SLTOVL_LEN)
		return -EBADMSG;

	/*
	 * Each octet has the VL of an even SL in its high 4 bits, and the VL of the next SL in its
	 * low 4 bits.
	 */
	for (size_t i = 0; i < SLTOVL_LEN; i++) {
		ret[2 * i] = b[i] >> 4;
		ret[2 * i + 1] = b[i] & 0xf;
	}
	return 0;
}

void smp_sltovl_encode(void *p, const uint8_t vl[16])
{
	uint8_t *b = p;

	for (size_t i = 0; i < SLTOVL_LEN; i++)
		b[i] = (uint8_t)(vl[2 * i] << 4 | (vl[2 * i + 1] & 0xf));
}

int smp_vlarb_decode(struct smp_vlarb_entry ret[32], const void *p, size_t len)
{
	const uint8_t *b = p;

	if (len < SMP_DATA_LEN)
		return -EBADMSG;

	for (size_t i = 0; i < 32; i++)
		ret[i] = (struct smp_vlarb_entry){ .vl = b[2 * i] & 0xf, .weight = b[2 * i + 1] };
	return 0;
}

void smp_vlarb_encode(void *p, const struct smp_vlarb_entry e[32])
{
	uint8_t *b = p;

	for (size_t i = 0; i < 32; i++) {
		b[2 * i] = e[i].vl & 0xf;
		b[2 * i + 1] = e[i].weight;
	}
}
