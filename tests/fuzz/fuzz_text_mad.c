/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Give the input to every decoder of management formats, and to print_mad(). What a
 * decoder accepts is encoded, decoded and encoded again. The second decoding must succeed, and both
 * encodings must be equal.
 */

#include <stdlib.h>

#include "wire/cm_sidr.h"
#include "wire/pma.h"
#include "text/print.h"
#include "wire/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROUND_TRIP(type, name, octets)                         \
	static void trip_##name(const uint8_t *p, size_t len)  \
	{                                                      \
		uint8_t once[octets], twice[octets];           \
		type h;                                        \
                                                               \
		if (name##_decode(&h, p, len) < 0)             \
			return;                                \
		name##_encode(once, &h);                       \
		if (name##_decode(&h, once, sizeof(once)) < 0) \
			abort();                               \
		name##_encode(twice, &h);                      \
		if (memcmp(once, twice, sizeof(once)) != 0)    \
			abort();                               \
	}

ROUND_TRIP(struct mad_hdr, mad_hdr, MAD_HDR_LEN)
ROUND_TRIP(struct mad_class_port_info, mad_class_port_info, MAD_CLASS_PORT_INFO_LEN)
ROUND_TRIP(struct mad_notice, mad_notice, MAD_NOTICE_GID_LEN)
ROUND_TRIP(struct mad_inform_info, mad_inform_info, MAD_INFORM_INFO_LEN)
ROUND_TRIP(struct smp_node_info, smp_node_info, SMP_NODE_INFO_LEN)
ROUND_TRIP(struct smp_switch_info, smp_switch_info, SMP_SWITCH_INFO_LEN)
ROUND_TRIP(struct smp_port_info, smp_port_info, SMP_PORT_INFO_LEN)
ROUND_TRIP(struct smp_sm_info, smp_sm_info, SMP_SM_INFO_LEN)
ROUND_TRIP(struct rmpp_hdr, rmpp_hdr, SA_RMPP_LEN)
ROUND_TRIP(struct sa_hdr, sa_hdr, SA_HDR_LEN)
ROUND_TRIP(struct ib_path_rec, ib_path_rec, PATH_REC_LEN)
ROUND_TRIP(struct ib_mcmember_rec, ib_mcmember_rec, MCMEMBER_REC_LEN)
ROUND_TRIP(struct ib_node_rec, ib_node_rec, NODE_REC_LEN)
ROUND_TRIP(struct ib_port_info_rec, ib_port_info_rec, PORT_INFO_REC_LEN)
ROUND_TRIP(struct ib_service_rec, ib_service_rec, SERVICE_REC_LEN)
ROUND_TRIP(struct sidr_group, sidr_group, SIDR_GROUP_LEN)
ROUND_TRIP(struct pma_port_counters, pma_port_counters, PMA_PORT_COUNTERS_LEN)
ROUND_TRIP(struct pma_port_counters_ext, pma_port_counters_ext, PMA_PORT_COUNTERS_EXT_LEN)

static void (*const trips[])(const uint8_t *p, size_t len) = {
	trip_mad_hdr,	      trip_mad_class_port_info, trip_mad_notice,
	trip_mad_inform_info, trip_smp_node_info,	trip_smp_switch_info,
	trip_smp_port_info,   trip_smp_sm_info,		trip_rmpp_hdr,
	trip_sa_hdr,	      trip_ib_path_rec,		trip_ib_mcmember_rec,
	trip_ib_node_rec,     trip_ib_port_info_rec,	trip_ib_service_rec,
	trip_sidr_group,      trip_pma_port_counters,	trip_pma_port_counters_ext,
};

static void trip_smp(const uint8_t *p, size_t len)
{
	uint8_t once[MAD_LEN], twice[MAD_LEN];
	struct mad_hdr h;
	struct smp_dr dr;

	if (smp_hdr_decode(&h, &dr, p, len) < 0)
		return;
	smp_encode(once, &h, &dr, p + SMP_DATA_OFF);
	if (smp_hdr_decode(&h, &dr, once, sizeof(once)) < 0)
		abort();
	smp_encode(twice, &h, &dr, once + SMP_DATA_OFF);
	if (memcmp(once, twice, sizeof(once)) != 0)
		abort();
}

static void trip_sidr(const uint8_t *p, size_t len)
{
	uint8_t once[MAD_LEN], twice[MAD_LEN];
	struct sidr_req q;
	struct sidr_rep r;

	if (sidr_req_decode(&q, p, len) < 0)
		return;
	sidr_req_encode(once, 1, &q);
	if (sidr_req_decode(&q, once, sizeof(once)) < 0)
		abort();
	sidr_req_encode(twice, 1, &q);
	if (memcmp(once, twice, sizeof(once)) != 0 || sidr_rep_decode(&r, p, len) < 0)
		abort();
	sidr_rep_encode(once, 1, &r);
	if (sidr_rep_decode(&r, once, sizeof(once)) < 0)
		abort();
	sidr_rep_encode(twice, 1, &r);
	if (memcmp(once, twice, sizeof(once)) != 0)
		abort();
}

static void trip_tables(const uint8_t *p, size_t len)
{
	struct smp_vlarb_entry vlarb[32];
	uint8_t out[64], vl[16];
	uint16_t v16[32];
	uint64_t v64[8];

	if (smp_sltovl_decode(vl, p, len) == 0) {
		smp_sltovl_encode(out, vl);
		if (memcmp(out, p, 8) != 0)
			abort();
	}
	if (smp_pkey_block_decode(v16, p, len) < 0)
		return;
	smp_pkey_block_encode(out, v16);
	if (memcmp(out, p, 64) != 0)
		abort();
	if (smp_mft_block_decode(v16, p, len) < 0 || smp_guid_block_decode(v64, p, len) < 0 ||
	    smp_vlarb_decode(vlarb, p, len) < 0)
		abort();
	smp_guid_block_encode(out, v64);
	if (memcmp(out, p, 64) != 0)
		abort();
}

static void print(const uint8_t *p, size_t len)
{
	char line[PRINT_LINE];
	size_t small = len % 97 + 1;

	memset(line, 'x', sizeof(line));
	print_mad(line, sizeof(line), p, len);
	if (!memchr(line, '\0', sizeof(line)))
		abort();
	for (const char *c = line; *c; c++) {
		if (*c < ' ' || *c > '~')
			abort();
	}
	memset(line, 'x', sizeof(line));
	print_mad(line, small, p, len);
	if (!memchr(line, '\0', small) || line[small] != 'x')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sa_mad m;

	for (size_t i = 0; i < sizeof(trips) / sizeof(trips[0]); i++)
		trips[i](data, size);
	trip_smp(data, size);
	trip_sidr(data, size);
	trip_tables(data, size);
	if (sa_mad_decode(&m, data, size) == 0 && m.data + m.data_len != data + size)
		abort();
	print(data, size);
	return 0;
}
