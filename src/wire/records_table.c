/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/records_sm.h"

#include <errno.h>

/* Table records: 8 octets that say whose block it is, in a different order in each, and the block. */

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

/* 15.2.5.6: LID, block, 32 reserved bits */
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

/* 15.2.5.8: LID, position in 4 bits, 3 reserved, block in 9, 32 reserved bits */
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

/* 15.2.5.11: LID, block, port, 24 reserved bits */
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

/* 15.2.5.9: LID, port, block, 32 reserved bits */
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

/* 15.2.5.18: LID, block, 40 reserved bits */
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
