/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_TSC_H
#define VM_TSC_H

/*
 * The rate of this machine's time stamp counter (TSC). The TSC of an emulated processor is that of the machine. A guest that
 * knows its rate can take the time from it, which is much cheaper than the emulated HPET. The guest cannot measure the rate
 * reliably, because a busy machine does not run QEMU in time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/ns.h"

struct vm_tsc {
	ns_t ns; /* CLOCK_MONOTONIC */
	uint64_t ticks; /* the TSC at the same time */
};

/* vm_tsc_read() - Read both clocks at the same time, as nearly as possible */
struct vm_tsc vm_tsc_read(void);

/*
 * vm_tsc_khz() - Return the rate of the TSC between two readings, in kHz
 *
 * Return 0 if they are less than 1 ms apart, or if the rate is outside the range of real TSCs (100 MHz to 20 GHz)
 */
unsigned int vm_tsc_khz(const struct vm_tsc *from, const struct vm_tsc *to);

/*
 * vm_tsc_is_clock() - Tell whether the kernel of this machine takes its time from the TSC. If not, the TSC may stop, or
 * change its rate, or the machine has none
 * @path:	file with the name of the kernel's clock; NULL: the kernel's own file
 */
bool vm_tsc_is_clock(const char *path);

#endif
