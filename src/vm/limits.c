/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/limits.h"

#include <limits.h>

bool vm_limits_allow_no_kvm(const struct vm_limits *l)
{
	return l->timeout_ms < 0 || l->timeout_ms > VM_KVM_MS;
}

long long vm_limits_ms(const struct vm_limits *l, bool hello, bool ready)
{
	long long ms = l->timeout_ms;

	if (ms < 0 && !ready)
		ms = l->systemd ? VM_SYSTEMD_MS : VM_BOOT_MS;
	if (l->kvm && !hello && vm_limits_allow_no_kvm(l))
		ms = VM_KVM_MS;
	return ms;
}

unsigned int vm_limits_up_s(const struct vm_limits *l)
{
	long long s = l->timeout_ms / 1000;

	if (s > UINT_MAX)
		s = UINT_MAX;
	return s > VM_UP_S ? (unsigned int)s : VM_UP_S;
}
