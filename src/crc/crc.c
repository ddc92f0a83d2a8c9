/* SPDX-License-Identifier: BSD-2-Clause */
#include "crc/crc.h"

#include <string.h>

#include "crc/kern.h"

static const struct crc_kernel *kernels[4];
static size_t nkernels;
const struct crc_kernel *crc_best;

/*
 * Compute tables and constants and choose the kernel before main(), and so before there are threads. kernels[]
 * begins with the fastest kernel.
 */
__attribute__((constructor)) static void crc_init(void)
{
	crc_tables_init();
	crc_consts_init();
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni") &&
	    __builtin_cpu_supports("vpclmulqdq"))
		kernels[nkernels++] = &crc_vclmul512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq"))
		kernels[nkernels++] = &crc_vclmul256;
	if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"))
		kernels[nkernels++] = &crc_clmul;
#endif
	kernels[nkernels++] = &crc_portable;
	crc_best = kernels[0];
}

const struct crc_kernel *const *crc_kernels(size_t *ret_n)
{
	*ret_n = nkernels;
	return kernels;
}

uint16_t crc16_update(uint16_t reg, const void *p, size_t len)
{
	return len < 16 ? crc16_short(reg, p, len) : crc_best->crc16(reg, p, len);
}

uint32_t crc32_update(uint32_t reg, const void *p, size_t len)
{
	return len < 16 ? crc_portable.crc32(reg, p, len) : crc_best->crc32(reg, p, len);
}

/*
 * Masks of the header fields that switches and routers may change. The ICRC is computed as if all
 * bits of these fields were ones (IBTA 7.8.1).
 */
const uint8_t crc_local_ones[16] = {
	[0] = 0xf0, /* VL */
	[IB_LRH_LEN + 4] = 0xff, /* FECN, BECN and reserved bits of the BTH */
};
const uint8_t crc_global_ones[16] = {
	0xff,	     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* LRH */
	0x0f,	     0xff, 0xff, 0xff, /* TClass, FlowLabel */
	[15] = 0xff, /* HopLmt */
};
const uint8_t crc_global_bth_ones[16] = {
	[IB_LRH_LEN + IB_GRH_LEN + 4 - CRC_GLOBAL_ROW] = 0xff,
};

typedef uint8_t row __attribute__((vector_size(16)));

/*
 * Copy 16 octets and set the bits of @ones. Storing whole rows avoids a stall, because the CRC
 * loads rows of 16 octets, and such a load waits for earlier stores of single octets.
 */
static void row_ones(uint8_t *dst, const uint8_t *src, const uint8_t *ones)
{
	row r, m;

	memcpy(&r, src, sizeof(r));
	memcpy(&m, ones, sizeof(m));
	r |= m;
	memcpy(dst, &r, sizeof(r));
}

/*
 * Return the ICRC register of a packet that ends within its headers. In the octets that exist,
 * the fields that switches may change are replaced by ones, as in any packet.
 */
static uint32_t icrc_stub(const uint8_t *hdr, size_t len)
{
	uint8_t copy[CRC_GLOBAL_HDR] = { 0 };
	bool global = len > 1 && ib_lrh_has_grh(hdr);

	memcpy(copy, hdr, len);
	row_ones(copy, copy, global ? crc_global_ones : crc_local_ones);
	if (global)
		row_ones(copy + CRC_GLOBAL_ROW, copy + CRC_GLOBAL_ROW, crc_global_bth_ones);
	return crc32_update(CRC32_INIT, copy, len);
}

uint32_t crc_icrc_hdr(const uint8_t *hdr, size_t len)
{
	uint8_t copy[CRC_GLOBAL_HDR];
	size_t n = CRC_LOCAL_HDR;

	if (len >= CRC_GLOBAL_HDR && ib_lrh_has_grh(hdr)) {
		n = CRC_GLOBAL_HDR;
		memcpy(copy, hdr, CRC_GLOBAL_HDR);
		row_ones(copy, hdr, crc_global_ones);
		row_ones(copy + CRC_GLOBAL_ROW, hdr + CRC_GLOBAL_ROW, crc_global_bth_ones);
	} else if (len >= CRC_LOCAL_HDR && !ib_lrh_has_grh(hdr)) {
		memcpy(copy, hdr, CRC_LOCAL_HDR);
		row_ones(copy, hdr, crc_local_ones);
	} else {
		return icrc_stub(hdr, len);
	}
	return crc32_update(crc32_update(CRC32_INIT, copy, n), hdr + n, len - n);
}

uint32_t crc_icrc(const uint8_t *pkt, size_t len)
{
	return ~crc_icrc_hdr(pkt, len);
}

uint16_t crc_vcrc(const uint8_t *pkt, size_t len)
{
	return (uint16_t)~crc16_update(CRC16_INIT, pkt, len);
}
