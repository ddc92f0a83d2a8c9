/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_QEMU_H
#define VM_QEMU_H

/* The command line of QEMU, and whether QEMU can use KVM */

#include <stdbool.h>

#include "vm/guest.h"

#define QEMU_PROGRAM "qemu-system-x86_64"
#define QEMU_ARGS_MAX 96

struct qemu_cfg {
	const char *kernel; /* path of the kernel's image */
	int kernel_fd; /* inherited descriptor of an unpacked kernel that is booted instead of .kernel; -1: none */
	bool kvm;
	unsigned int tsc_khz; /* without KVM: rate of this machine's TSC; 0: unknown */
	unsigned int cpus, mem_mb;
	bool verbose; /* the kernel prints all of its log */
	const char *systemd; /* as guest_cfg.systemd */
	const char *root; /* as guest_cfg.root */
	const char *
		modules; /* folder of the kernel's modules, for a guest whose root is not the host's */
	/* Inherited descriptors: the initramfs, two stream sockets and a datagram socket */
	int initrd_fd, serial_fd, channel_fd, eth_fd;
	const char *const *share; /* folders that the guest may write, as guest_cfg.share */
};

struct qemu_args {
	char *v[QEMU_ARGS_MAX + 1];
	unsigned int n;
};

/*
 * qemu_args_make() - Make the command line. Return: 0; -ENOMEM; -E2BIG. In all cases the caller has to call
 * qemu_args_free()
 */
int qemu_args_make(struct qemu_args *a, const struct qemu_cfg *c);
void qemu_args_free(struct qemu_args *a);

/*
 * qemu_kvm_works() - Tell whether KVM exists and can be expected to boot a kernel. /dev/kvm alone is no proof,
 * because some hypervisors have that file although the processor lacks the extensions
 */
bool qemu_kvm_works(void);

#endif
