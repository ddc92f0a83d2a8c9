/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "crc/crc.h"
#include "crc/kern.h"
#include "crc_ref.h"

/*
 * A kernel is one implementation of the CRCs. Compares the CRCs of each kernel that this CPU
 * supports with CRCs that are computed bit by bit.
 */

static uint8_t buf[BUF_LEN + 64];

static void test_kernels_agree_with_the_cpu(void **state)
{
	const struct crc_kernel *const *k;
	size_t n, want = 1;

#if defined(__x86_64__)
	want += __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
	want += __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
	want += __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("vpclmulqdq");
#endif
	k = crc_kernels(&n);
	assert_int_equal(n, want);
	assert_ptr_equal(k[n - 1], &crc_portable);
	assert_ptr_equal(crc_best, k[0]);
}

static void test_crc16_and_crc32_every_kernel_every_length(void **state)
{
	const struct crc_kernel *const *k;
	struct prng r;
	size_t n;

	prng_seed(&r, 1);
	fill(&r, buf, sizeof(buf));
	k = crc_kernels(&n);
	assert_int_equal(~crc32_update(CRC32_INIT, "123456789", 9), 0xcbf43926);
	for (size_t len = 0; len <= 4200; len++) {
		const uint8_t *p = buf + prng_below(&r, 64);
		uint32_t reg = (uint32_t)prng_u64(&r), want32 = ref_crc32(reg, p, len);
		uint16_t want16 = ref_crc16((uint16_t)reg, p, len);

		for (size_t i = 0; i < n && len >= 16; i++)
			if (k[i]->crc16((uint16_t)reg, p, len) != want16 ||
			    k[i]->crc32(reg, p, len) != want32)
				fail_msg("%s: %zu octets", k[i]->name, len);
		assert_int_equal(crc16_update((uint16_t)reg, p, len), want16);
		assert_int_equal(crc32_update(reg, p, len), want32);
	}
}

/*
 * Compute the CRCs of a message whose part i has @len[i] octets, with each kernel. Each part is a
 * heap block of its own, so that the sanitizer notices reads before its start or beyond its end.
 */
static void try_msg(struct prng *r, bool grh, const size_t *len, unsigned int nparts)
{
	uint8_t whole[BUF_LEN], *part[4];
	struct crc_msg m = { .grh = grh, .nparts = nparts };
	const struct crc_kernel *const *k;
	size_t n = 0, nk;

	for (unsigned int i = 0; i < nparts; i++) {
		part[i] = malloc(len[i] + !len[i]);
		assert_non_null(part[i]);
		fill(r, part[i], len[i]);
		if (!i)
			part[0][1] = (uint8_t)((part[0][1] & ~3) | (grh ? 3 : 2));
		memcpy(whole + n, part[i], len[i]);
		n += len[i];
		m.part[i] = (struct crc_part){ part[i], len[i] };
	}
	k = crc_kernels(&nk);
	for (size_t i = 0; i < nk; i++) {
		struct crc_regs regs;

		if (!k[i]->msg)
			continue;
		regs = k[i]->msg(&m);
		if ((regs.vcrc ^ ref_vcrc(whole, n)) != 0xffff ||
		    (regs.icrc ^ ref_icrc(whole, n)) != 0xffffffff)
			fail_msg("%s: GRH %d, parts of %zu, %zu, %zu, %zu", k[i]->name, grh, len[0],
				 nparts > 1 ? len[1] : 0, nparts > 2 ? len[2] : 0,
				 nparts > 3 ? len[3] : 0);
	}
	for (unsigned int i = 0; i < nparts; i++)
		free(part[i]);
}

static void test_messages_every_length(void **state)
{
	struct prng r;

	prng_seed(&r, 2);
	for (int grh = 0; grh < 2; grh++) {
		size_t hdr = ib_ud_hdr_len(grh);

		for (size_t len = 0; len <= 300; len++) {
			try_msg(&r, grh, (size_t[]){ hdr + len }, 1);
			try_msg(&r, grh, (size_t[]){ hdr, len }, 2);
			try_msg(&r, grh,
				(size_t[]){ hdr + len % 128, len, prng_below(&r, 40), len % 4 }, 4);
		}
		for (size_t len = 300; len <= 4150; len += 1 + prng_below(&r, 5))
			try_msg(&r, grh, (size_t[]){ hdr + 56, len, -len & 3 }, 3);
	}
}

static void test_messages_of_random_parts(void **state)
{
	struct prng r;

	prng_seed(&r, 3);
	for (int round = 0; round < 3000; round++) {
		bool grh = prng_below(&r, 2);
		size_t len[4] = { ib_ud_hdr_len(grh) + prng_below(&r, 125) };
		uint32_t most = prng_below(&r, 4) ? 40 : 1380;

		for (unsigned int i = 1; i < 4; i++)
			len[i] = prng_below(&r, most);
		try_msg(&r, grh, len, 1 + prng_below(&r, 4));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_agree_with_the_cpu),
		cmocka_unit_test(test_crc16_and_crc32_every_kernel_every_length),
		cmocka_unit_test(test_messages_every_length),
		cmocka_unit_test(test_messages_of_random_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
