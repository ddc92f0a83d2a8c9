/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/records_sm.h"

#include <errno.h>

/*
 * Records of table blocks. Each has 8 octets that name the port and the block, laid out differently
 * in each type, and then the block itself. The comment at each decoder lists the fields of these 8
 * octets.
 */

static int data_decode(struct ib_table_rec *ret, const void *p, size_t len)
{
	if (len < TABLE_REC_LEN)
		return -EBADMSG;
	memset(ret, 0, sizeof(*ret));
	ret->lid = be16_at(p);
	memcpy(ret->data, (const uint8_t *)p + TABLE_REC_DATA_OFF, sizeof(ret->data));
	return 0;
}

static uint8_t *data_encode(void *p, const struct ib_table_rec *r)
{
	memset(p, 0, TABLE_REC_DATA_OFF);
	be16_put(p, r->lid);
	memcpy((uint8_t *)p + TABLE_REC_DATA_OFF, r->data, sizeof(r->data));
	return p;
}

/* LinearForwardingTableRecord (15.2.5.6): LID, 16 bits block, 32 reserved bits */
int ib_lft_rec_decode(struct ib_table_rec *ret, const void *p, size_t len)
{
	if (data_decode(ret, p, len))
		return -EBADMSG;
	ret->block = be16_at((const uint8_t *)p + 2);
	return 0;
}

void ib_lft_rec_encode(void *p, const struct ib_table_rec *r)
{
	be16_put(data_encode(p, r) + 2, r->block);
}

/*
 * MulticastForwardingTableRecord (15.2.5.8): LID, 4 bits position, 3 reserved, 9 bits block, 32
 * reserved
 */
int ib_mft_rec_decode(struct ib_table_rec *ret, const void *p, size_t len)
{
	uint16_t v;

	if (data_decode(ret, p, len))
		return -EBADMSG;
	v = be16_at((const uint8_t *)p + 2);
	ret->position = (uint8_t)(v >> 12);
	ret->block = v & 0x1ff;
	return 0;
}

void ib_mft_rec_encode(void *p, const struct ib_table_rec *r)
{
	be16_put(data_encode(p, r) + 2, (uint16_t)(r->position << 12 | (r->block & 0x1ff)));
}

/* P_KeyTableRecord (15.2.5.11): LID, 16 bits block, 8 bits port, 24 reserved bits */
int ib_pkey_table_rec_decode(struct ib_table_rec *ret, const void *p, size_t len)
{
	if (data_decode(ret, p, len))
		return -EBADMSG;
	ret->block = be16_at((const uint8_t *)p + 2);
	ret->port = ((const uint8_t *)p)[4];
	return 0;
}

void ib_pkey_table_rec_encode(void *p, const struct ib_table_rec *r)
{
	uint8_t *b = data_encode(p, r);

	be16_put(b + 2, r->block);
	b[4] = r->port;
}

/* VLArbitrationTableRecord (15.2.5.9): LID, 8 bits port, 8 bits block, 32 reserved bits */
int ib_vlarb_rec_decode(struct ib_table_rec *ret, const void *p, size_t len)
{
	if (data_decode(ret, p, len))
		return -EBADMSG;
	ret->port = ((const uint8_t *)p)[2];
	ret->block = ((const uint8_t *)p)[3];
	return 0;
}

void ib_vlarb_rec_encode(void *p, const struct ib_table_rec *r)
{
	uint8_t *b = data_encode(p, r);

	b[2] = r->port;
	b[3] = (uint8_t)r->block;
}

/* GuidInfoRecord (15.2.5.18): LID, 8 bits block, 40 reserved bits */
int ib_guid_info_rec_decode(struct ib_table_rec *ret, const void *p, size_t len)
{
	if (data_decode(ret, p, len))
		return -EBADMSG;
	ret->block = ((const uint8_t *)p)[2];
	return 0;
}

void ib_guid_info_rec_encode(void *p, const struct ib_table_rec *r)
{
	data_encode(p, r)[2] = (uint8_t)r->block;
}
