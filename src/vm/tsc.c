/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/tsc.h"

#include <stdio.h>
#include <string.h>

#include "os/clock.h"

#define CLOCK_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define READINGS \
	20 /* the quickest of this number of readings counts, during which nothing else ran */
#define KHZ_MIN 100e3
#define KHZ_MAX 20e6

static uint64_t ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 0; /* vm_tsc_khz() then returns 0 */
#endif
}

struct vm_tsc vm_tsc_read(void)
{
	uint64_t least = UINT64_MAX;
	struct vm_tsc r = { 0 };

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = ticks(), took;
		ns_t ns = clock_now();

		took = ticks() - before;
		if (took >= least)
			continue;
		least = took;
		r = (struct vm_tsc){ .ns = ns, .ticks = before + took / 2 };
	}
	return r;
}

unsigned int vm_tsc_khz(const struct vm_tsc *from, const struct vm_tsc *to)
{
	ns_t ns = to->ns - from->ns;
	double khz;

	if (ns < NS_MSEC(1))
		return 0;
	khz = (double)(to->ticks - from->ticks) * 1e6 / (double)ns;
	return khz < KHZ_MIN || khz > KHZ_MAX ? 0 : (unsigned int)(khz + 0.5);
}

bool vm_tsc_is_clock(const char *path)
{
	FILE *f = fopen(path ? path : CLOCK_FILE, "re");
	char name[16] = "";
	bool is;

	is = f && fgets(name, sizeof(name), f) && !strcmp(name, "tsc\n");
	if (f)
		fclose(f);
	return is;
}
