/* SPDX-License-Identifier: BSD-2-Clause */
#include "node/priv.h"

static_assert(NODE_PKEYS % SMP_PKEYS_PER_BLOCK == 0, "blocks are whole");
static_assert(NODE_GUIDS % SMP_GUIDS_PER_BLOCK == 0, "blocks are whole");

#define VLARB_BLOCKS 4
#define VLARB_PER_BLOCK 32

/*
 * Return the block of P_KeyTable that the attribute modifier (port << 16 | block) selects. NULL: no
 * such port or block
 */
static uint16_t *pkey_block(const struct sma_req *r, struct node_port **ret_p)
{
	struct node_port *p = sma_port(r, r->mod >> 16);
	unsigned int block = r->mod & 0xffff;

	if (!p || block >= NODE_PKEYS / SMP_PKEYS_PER_BLOCK)
		return NULL;
	*ret_p = p;
	return &p->pkeys[block * SMP_PKEYS_PER_BLOCK];
}

uint16_t sma_get_pkeys(struct sma_req *r)
{
	struct node_port *p;
	const uint16_t *block = pkey_block(r, &p);

	if (!block)
		return MAD_STATUS_BAD_VALUE;
	smp_pkey_block_encode(r->data, block);
	return 0;
}

uint16_t sma_set_pkeys(struct sma_req *r)
{
	uint16_t v[SMP_PKEYS_PER_BLOCK];
	struct node_port *p;
	uint16_t *block = pkey_block(r, &p);

	if (!block)
		return MAD_STATUS_BAD_VALUE;
	smp_pkey_block_decode(v, r->data, SMP_DATA_LEN);
	if (memcmp(block, v, sizeof(v)) == 0)
		return 0;
	memcpy(block, v, sizeof(v));
	r->ev_port = p;
	r->events |= NODE_EV_BIT(NODE_EV_PKEY_CHANGE);
	return 0;
}

/*
 * Return the block of GUIDInfo that the attribute modifier selects. The check compares block
 * numbers instead of offsets, because the product of a 32-bit modifier and the size of a block can
 * overflow.
 */
static uint64_t *guid_block(const struct sma_req *r)
{
	unsigned int blocks =
		(r->end->pi.guid_cap + SMP_GUIDS_PER_BLOCK - 1u) / SMP_GUIDS_PER_BLOCK;

	if (r->mod >= blocks)
		return NULL;
	return &r->end->guids[r->mod * SMP_GUIDS_PER_BLOCK];
}

uint16_t sma_get_guids(struct sma_req *r)
{
	const uint64_t *block = guid_block(r);

	if (!block)
		return MAD_STATUS_BAD_VALUE;
	smp_guid_block_encode(r->data, block);
	return 0;
}

uint16_t sma_set_guids(struct sma_req *r)
{
	uint64_t *block = guid_block(r), v[SMP_GUIDS_PER_BLOCK];

	if (!block)
		return MAD_STATUS_BAD_VALUE;
	smp_guid_block_decode(v, r->data, SMP_DATA_LEN);
	if (r->mod == 0)
		v[0] = block[0]; /* the port GUID is read-only */
	for (unsigned int i = 0; i < SMP_GUIDS_PER_BLOCK; i++)
		if (r->mod * SMP_GUIDS_PER_BLOCK + i >= r->end->pi.guid_cap)
			v[i] = 0;
	if (memcmp(block, v, sizeof(v)) == 0)
		return 0;
	memcpy(block, v, sizeof(v));
	r->ev_port = r->end;
	r->events |= NODE_EV_BIT(NODE_EV_GID_CHANGE);
	return 0;
}

/*
 * Return the SLtoVL table that the attribute modifier selects. On a switch, the modifier is ingress
 * port << 8 | egress port. A CA port has one table, for the packets that it sends.
 */
static const uint8_t *sltovl_of(const struct sma_req *r)
{
	unsigned int in = r->mod >> 8 & 0xff, out = r->mod & 0xff;
	const struct node_port *p = sma_port(r, out);

	if (!p || in > r->n->info.nports)
		return NULL;
	if (!node_is_switch(r->n))
		return p->sltovl;
	return node_switch_vl(r->n, (uint8_t)in, (uint8_t)out);
}

static uint8_t *sltovl_own(const struct sma_req *r)
{
	unsigned int in = r->mod >> 8 & 0xff, out = r->mod & 0xff;
	uint8_t(*table)[16];

	if (!node_is_switch(r->n))
		return sma_port(r, out)->sltovl;
	table = node_sltovl_own(r->n);
	return table ? table[in * (r->n->info.nports + 1u) + out] : NULL;
}

uint16_t sma_get_sltovl(struct sma_req *r)
{
	const uint8_t *map = sltovl_of(r);

	if (!map)
		return MAD_STATUS_BAD_VALUE;
	smp_sltovl_encode(r->data, map);
	return 0;
}

uint16_t sma_set_sltovl(struct sma_req *r)
{
	const uint8_t *map = sltovl_of(r);
	uint8_t v[16], *own;

	if (!map)
		return MAD_STATUS_BAD_VALUE;
	smp_sltovl_decode(v, r->data, SMP_DATA_LEN);
	if (memcmp(map, v, sizeof(v)) == 0)
		return 0;
	own = sltovl_own(r);
	if (!own)
		return MAD_STATUS_BUSY;
	memcpy(own, v, sizeof(v));
	return 0;
}

/*
 * Return the port that the attribute modifier of VLArbitrationTable (block << 16 | port) selects.
 * Blocks 1 and 2 have low priority, 3 and 4 have high priority; each has 32 entries.
 */
static struct node_port *vlarb_port(const struct sma_req *r, unsigned int *ret_block)
{
	struct node_port *p = sma_port(r, r->mod & 0xffff);
	unsigned int block = r->mod >> 16, cap;

	if (!p || block < 1 || block > VLARB_BLOCKS)
		return NULL;
	cap = block <= 2 ? p->pi.vlarb_low_cap : p->pi.vlarb_high_cap;
	if (block % 2 == 0 && cap <= VLARB_PER_BLOCK)
		return NULL;
	*ret_block = block - 1;
	return p;
}

uint16_t sma_get_vlarb(struct sma_req *r)
{
	unsigned int block;
	const struct node_port *p = vlarb_port(r, &block);

	if (!p)
		return MAD_STATUS_BAD_VALUE;
	smp_vlarb_encode(r->data, node_rare_get(p)->vlarb[block]);
	return 0;
}

uint16_t sma_set_vlarb(struct sma_req *r)
{
	unsigned int block;
	struct node_port *p = vlarb_port(r, &block);
	struct node_rare *own;

	if (!p)
		return MAD_STATUS_BAD_VALUE;
	own = node_rare_own(p);
	if (!own)
		return MAD_STATUS_BUSY;
	smp_vlarb_decode(own->vlarb[block], r->data, SMP_DATA_LEN);
	return 0;
}
