/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_QEMU_H
#define VM_QEMU_H

/* The command line of QEMU, and what it may use. */

#include <stdbool.h>

#include "vm/guest.h"

#define QEMU_PROGRAM "qemu-system-x86_64"
#define QEMU_ARGS_MAX 96

struct qemu_cfg {
	const char *kernel; /* the image */
	int kernel_fd; /* inherited: what is booted instead; -1 */
	bool kvm;
	unsigned int cpus, mem_mb;
	bool verbose; /* all of the kernel's log */
	int initrd_fd, serial_fd, channel_fd,
		eth_fd; /* inherited: a file, a stream, a stream, datagrams */
	const char *const *share; /* as guest_cfg.share */
};

struct qemu_args {
	char *v[QEMU_ARGS_MAX + 1];
	unsigned int n;
};

/* qemu_args_make() - 0; -ENOMEM; -E2BIG. Free it in any case */
int qemu_args_make(struct qemu_args *a, const struct qemu_cfg *c);
void qemu_args_free(struct qemu_args *a);

/*
 * qemu_kvm_works() - Whether KVM is there and may boot a kernel as it is: a hypervisor may offer /dev/kvm
 * on processors without the extensions that it is made for
 */
bool qemu_kvm_works(void);

#endif
