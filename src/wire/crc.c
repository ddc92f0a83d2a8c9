/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/crc.h"

#include <isa-l/crc.h>
#include <string.h>

#include "util/list.h"
#include "wire/crc_kern.h"
#include "wire/ib_hdr.h"

#define CRC16_POLY 0x100bu /* polynomial P of the VCRC without its term x^16 */
#define CRC16_POLY_REFLECTED 0xd008u

/*
 * table[k][b] is the register after octet b and k zero octets. With sixteen such tables, sixteen
 * octets are looked up independently of each other (slicing-by-16).
 */
static uint16_t table[16][256];
struct crc16_consts crc16_k;
static struct crc16_kernel kernels[3];
static size_t nkernels;
static uint16_t (*crc16_best)(uint16_t reg, const void *p, size_t len);

/* Return x^n mod P, reflected in 64 bits, so bit 63 is the coefficient of x^0. */
static uint64_t xpow(unsigned int n)
{
	uint32_t r = 1;
	uint64_t ret = 0;

	while (n--) {
		r <<= 1;
		if (r & 0x10000)
			r ^= 0x10000 | CRC16_POLY;
	}
	for (unsigned int i = 0; i < 16; i++)
		if (r & (1u << i))
			ret |= 1ull << (63 - i);
	return ret;
}

/* Return x^n div P, reflected in 64 bits; n is at most 79. */
static uint64_t xdiv(unsigned int n)
{
	uint32_t r = 1; /* x^i mod P, while i counts up to n */
	uint64_t ret = 0;

	for (unsigned int i = 1; i <= n; i++) {
		r <<= 1;
		if (r & 0x10000) {
			r ^= 0x10000 | CRC16_POLY;
			ret |= 1ull << (63 - (n - i));
		}
	}
	return ret;
}

static struct crc16_fold fold_by(unsigned int octets)
{
	return (struct crc16_fold){ { xpow(8 * octets + 63), xpow(8 * octets - 1) } };
}

static void consts_init(struct crc16_consts *k)
{
	uint64_t poly = 0;

	k->by16 = fold_by(16);
	k->by32 = fold_by(32);
	k->by48 = fold_by(48);
	k->by64 = fold_by(64);
	k->by128 = fold_by(128);
	k->by192 = fold_by(192);
	k->by256 = fold_by(256);
	k->finish = xpow(79) >> 48;
	k->mu = xdiv(79);
	for (unsigned int i = 0; i < 16; i++)
		if (CRC16_POLY & (1u << i))
			poly |= 1ull << (63 - i);
	k->poly = poly >> 47;
	memset(k->shift, 0x80, sizeof(k->shift)); /* 0x80: pshufb gives a zero octet */
	for (unsigned int i = 0; i < 16; i++)
		k->shift[16 + i] = (uint8_t)i;
}

static void table_init(void)
{
	for (unsigned int b = 0; b < 256; b++) {
		uint16_t r = (uint16_t)b;

		for (int i = 0; i < 8; i++)
			r = (uint16_t)(r & 1 ? r >> 1 ^ CRC16_POLY_REFLECTED : r >> 1);
		table[0][b] = r;
	}
	for (unsigned int k = 1; k < 16; k++)
		for (unsigned int b = 0; b < 256; b++) {
			uint16_t r = table[k - 1][b];

			table[k][b] = (uint16_t)(r >> 8 ^ table[0][r & 0xff]);
		}
}

/*
 * Changes of the VCRC by changes of the VL. The CRC is linear, so a change of some octets changes
 * it by the CRC of the difference (register 0, no complement), whatever the other octets are. Here
 * the difference is one of the four VL bits in the first octet, followed by zeros. The rows are
 * lengths of packets in 4-octet words, the columns are the bits.
 */
static uint16_t vl_delta[CRC16_VL_MAX / 4 + 1][4];

static void vl_delta_init(void)
{
	static const uint8_t zero[4];

	for (unsigned int bit = 0; bit < 4; bit++) {
		const uint8_t first[4] = { (uint8_t)(0x10 << bit) };
		uint16_t reg = crc16_short(0, first, sizeof(first));

		for (size_t words = 1; words < ARRAY_SIZE(vl_delta); words++) {
			vl_delta[words][bit] = reg;
			reg = crc16_short(reg, zero, sizeof(zero));
		}
	}
}

uint16_t crc16_vl_delta(unsigned int diff, size_t octets)
{
	const uint16_t *row = vl_delta[octets / 4];
	uint16_t delta = 0;

	for (unsigned int bit = 0; bit < 4; bit++)
		if (diff & (1u << bit))
			delta ^= row[bit];
	return delta;
}

static void kernel_add(const char *name, uint16_t (*update)(uint16_t, const void *, size_t))
{
	kernels[nkernels++] = (struct crc16_kernel){ name, update };
}

/*
 * Fill the tables and choose the kernel before main(), and so before there are threads. kernels[]
 * begins with the fastest one.
 */
__attribute__((constructor)) static void crc_init(void)
{
	table_init();
	vl_delta_init();
	consts_init(&crc16_k);
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("vpclmulqdq"))
		kernel_add("vpclmulqdq", crc16_vclmul);
	if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"))
		kernel_add("pclmulqdq", crc16_clmul);
#endif
	kernel_add("slice16", crc16_slice);
	crc16_best = kernels[0].update;
}

static uint16_t load16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

uint16_t crc16_short(uint16_t reg, const uint8_t *p, size_t len)
{
	for (; len >= 4; len -= 4, p += 4) {
		uint16_t x = reg ^ load16(p);

		reg = table[3][x & 0xff] ^ table[2][x >> 8] ^ table[1][p[2]] ^ table[0][p[3]];
	}
	for (; len; len--, p++)
		reg = (uint16_t)(reg >> 8 ^ table[0][(reg ^ *p) & 0xff]);
	return reg;
}

uint16_t crc16_slice(uint16_t reg, const void *p, size_t len)
{
	const uint8_t *o = p;

	for (; len >= 16; len -= 16, o += 16) {
		uint16_t x = reg ^ load16(o);
		uint16_t r = table[15][x & 0xff] ^ table[14][x >> 8];

		for (unsigned int i = 2; i < 16; i++)
			r ^= table[15 - i][o[i]];
		reg = r;
	}
	return crc16_short(reg, o, len);
}

uint16_t crc16_update(uint16_t reg, const void *p, size_t len)
{
	return len < 16 ? crc16_short(reg, p, len) : crc16_best(reg, p, len);
}

const struct crc16_kernel *crc16_kernels(size_t *ret_n)
{
	*ret_n = nkernels;
	return kernels;
}

/*
 * ISA-L 2.30's AVX-512 kernel returns with the upper halves of the vector registers in use, and
 * the SSE instructions that follow then pay about 100 ns for the transition.
 */
static inline void clean_vectors(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper" ::: "memory");
#endif
}

/* ISA-L complements the register before and after, as zlib does, so complement it twice more. */
uint32_t crc32_update(uint32_t reg, const void *p, size_t len)
{
	reg = ~crc32_gzip_refl(~reg, p, len);
	clean_vectors();
	return reg;
}

/*
 * Lengths of the headers from LRH to DETH, without and with a GRH. Switches and routers may change
 * some of their fields. The ICRC is computed as if these fields were all ones (IBTA 7.8.1).
 */
#define LOCAL_HDR (IB_LRH_LEN + IB_BTH_LEN + IB_DETH_LEN)
#define GLOBAL_HDR IB_UD_HDR_MAX

typedef uint8_t row __attribute__((vector_size(16)));

static const uint8_t local_ones[16] = {
	[0] = 0xf0, /* VL */
	[IB_LRH_LEN + 4] = 0xff, /* FECN, BECN and reserved bits of the BTH */
};
static const uint8_t global_ones[16] = {
	0xff,	     0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* LRH */
	0x0f,	     0xff, 0xff, 0xff, /* TClass, FlowLabel */
	[15] = 0xff, /* HopLmt */
};
#define GLOBAL_BTH_ROW 48
static const uint8_t global_bth_ones[16] = {
	[IB_LRH_LEN + IB_GRH_LEN + 4 - GLOBAL_BTH_ROW] = 0xff,
};

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
 * ICRC register of a packet that is shorter than its headers. In the octets that exist, the fields
 * that may change on the way count as ones, as in any packet.
 */
static uint32_t icrc_stub(const uint8_t *hdr, size_t len)
{
	uint8_t copy[GLOBAL_HDR] = { 0 };
	bool global = len > 1 && ib_lrh_has_grh(hdr);

	memcpy(copy, hdr, len);
	row_ones(copy, copy, global ? global_ones : local_ones);
	if (global)
		row_ones(copy + GLOBAL_BTH_ROW, copy + GLOBAL_BTH_ROW, global_bth_ones);
	return crc32_update(CRC32_INIT, copy, len);
}

uint32_t crc_icrc_hdr(const uint8_t *hdr, size_t len)
{
	uint8_t copy[GLOBAL_HDR];
	size_t n = LOCAL_HDR;

	if (len >= GLOBAL_HDR && ib_lrh_has_grh(hdr)) {
		n = GLOBAL_HDR;
		memcpy(copy, hdr, GLOBAL_HDR);
		row_ones(copy, hdr, global_ones);
		row_ones(copy + GLOBAL_BTH_ROW, hdr + GLOBAL_BTH_ROW, global_bth_ones);
	} else if (len >= LOCAL_HDR && !ib_lrh_has_grh(hdr)) {
		memcpy(copy, hdr, LOCAL_HDR);
		row_ones(copy, hdr, local_ones);
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
