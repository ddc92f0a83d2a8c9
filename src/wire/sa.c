/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/sa.h"

#include <errno.h>

static_assert(SA_RMPP_OFF + SA_RMPP_LEN == SA_HDR_OFF, "IBTA 15.2.1.1");
static_assert(SA_HDR_OFF + SA_HDR_LEN == SA_DATA_OFF, "IBTA 15.2.1.1");
static_assert(SA_DATA_OFF + SA_DATA_LEN == MAD_LEN, "IBTA 15.2.1.1");

struct rmpp_hdr_wire {
	uint8_t version, type;
	uint8_t resp_flags; /* 5 bits RRespTime, 3 bits RMPPFlags */
	uint8_t status;
	be32 data1, data2;
};
static_assert(sizeof(struct rmpp_hdr_wire) == SA_RMPP_LEN, "IBTA 13.6.2.1");

int rmpp_hdr_decode(struct rmpp_hdr *ret, const void *p, size_t len)
{
	struct rmpp_hdr_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct rmpp_hdr){
		.version = w.version,
		.type = w.type,
		.resp_time = w.resp_flags >> 3,
		.flags = w.resp_flags & 7,
		.status = w.status,
		.data1 = be32_get(w.data1),
		.data2 = be32_get(w.data2),
	};
	return 0;
}

void rmpp_hdr_encode(void *p, const struct rmpp_hdr *h)
{
	struct rmpp_hdr_wire w = {
		.version = h->version,
		.type = h->type,
		.resp_flags = (uint8_t)(h->resp_time << 3 | (h->flags & 7)),
		.status = h->status,
		.data1 = be32_of(h->data1),
		.data2 = be32_of(h->data2),
	};

	memcpy(p, &w, sizeof(w));
}

struct sa_hdr_wire {
	be64 sm_key;
	be16 attr_offset, resv;
	be64 comp_mask;
};
static_assert(sizeof(struct sa_hdr_wire) == SA_HDR_LEN, "IBTA 15.2.1.1");

int sa_hdr_decode(struct sa_hdr *ret, const void *p, size_t len)
{
	struct sa_hdr_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	ret->sm_key = be64_get(w.sm_key);
	ret->attr_offset = be16_get(w.attr_offset);
	ret->comp_mask = be64_get(w.comp_mask);
	return 0;
}

void sa_hdr_encode(void *p, const struct sa_hdr *h)
{
	struct sa_hdr_wire w = {
		.sm_key = be64_of(h->sm_key),
		.attr_offset = be16_of(h->attr_offset),
		.comp_mask = be64_of(h->comp_mask),
	};

	memcpy(p, &w, sizeof(w));
}

int sa_mad_decode(struct sa_mad *ret, const void *mad, size_t len)
{
	const uint8_t *m = mad;

	if (len < SA_DATA_OFF || mad_class(m) != MAD_CLASS_SA)
		return -EBADMSG;

	mad_hdr_decode(&ret->mad, m, len);
	rmpp_hdr_decode(&ret->rmpp, m + SA_RMPP_OFF, SA_RMPP_LEN);
	sa_hdr_decode(&ret->sa, m + SA_HDR_OFF, SA_HDR_LEN);
	ret->data = m + SA_DATA_OFF;
	ret->data_len = len - SA_DATA_OFF;
	return 0;
}

void sa_mad_encode(void *mad, const struct mad_hdr *h, const struct sa_hdr *sa)
{
	uint8_t *m = mad;

	memset(m, 0, MAD_LEN);
	mad_hdr_encode(m, h);
	sa_hdr_encode(m + SA_HDR_OFF, sa);
}
