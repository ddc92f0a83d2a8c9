/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_LIMITS_H
#define VM_LIMITS_H

/*
 * DOC: How long a virtual machine may take
 *
 *	until its first process has opened the channel	10 s with KVM; if a boot takes longer, it is assumed that KVM does not work
 *	until ib0 is up					60 s, or the time of --timeout if that is longer
 *	until CMD runs					120 s (360 s with systemd), or the time of --timeout if it is given
 *	until CMD has ended				no limit, or the time of --timeout if it is given
 *
 * CMD is the command of the user that runs in the VM. All limits but the second are measured from
 * the first start of QEMU, even if the VM boots again. The limits are long, because an emulated
 * processor on a busy machine is slow.
 */

#include <stdbool.h>

#define VM_KVM_MS 10000
#define VM_UP_S 60
#define VM_BOOT_MS 120000
#define VM_SYSTEMD_MS 360000

struct vm_limits {
	long long timeout_ms; /* value of --timeout, in milliseconds; -1: not given */
	bool kvm, systemd;
};

/**
 * vm_limits_ms() - Return the time at which the present step must have ended
 * @hello:	true if the first process of the guest has opened the channel
 * @ready:	true if CMD runs
 *
 * Return: milliseconds since the first start of QEMU; -1: there is no limit
 */
long long vm_limits_ms(const struct vm_limits *l, bool hello, bool ready);

/* vm_limits_allow_no_kvm() - Tell whether a boot without KVM has time after VM_KVM_MS with KVM */
bool vm_limits_allow_no_kvm(const struct vm_limits *l);

/* vm_limits_up_s() - Return the number of seconds within which ib0 must be up */
unsigned int vm_limits_up_s(const struct vm_limits *l);

#endif
