/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_VM_H
#define VM_VM_H

/*
 * DOC: A virtual machine on the fabric
 *
 *	uipoib vm  --- UDP socket ---> a port of an instance's switch
 *	  |  \
 *	  |   '- frames --- QEMU --- eth0 (namespace VM_CABLE), uib.ko, ib_ipoib: ib0
 *	  |                  |
 *	  '---- channel -----'------ init (src/guest) --- CMD
 *
 * CMD is the command of the user that runs in the VM. There are two processes, `uipoib vm` and
 * QEMU. When `uipoib vm` ends for whatever reason, QEMU ends too, by PDEATHSIG and because the
 * guest powers off when its channel is closed. The initramfs is a memfd, and the two connections to
 * QEMU (frames and channel) are socket pairs, so no file is written to disk.
 */

#include <signal.h>

#include "vm/guest.h"
#include "vm/net.h"
#include "vm/qemu.h"

struct vm_cfg {
	struct guest_cfg guest;
	bool kvm; /* try KVM first; if the guest does not boot with KVM, the guest is booted without KVM */
	unsigned int cpus, mem_mb;
	bool verbose; /* the kernel's log is printed on standard error */
	long long timeout_ms; /* longest time from now to the end of CMD; -1: no limit */
	int udp_fd
		[VM_HCAS_MAX]; /* for each of guest.hca[] the link to the fabric: a connected, non-blocking UDP socket */
	/* descriptor that becomes readable when the instance has ended; -1: there is no instance */
	int lost_fd;
	int sig_fd; /* signalfd of SIGCHLD, SIGWINCH and the signals that end CMD */
	const sigset_t *sig_mask; /* signal mask for QEMU */
};

/**
 * vm_run() - Boot a VM, run CMD in it, and end it
 * @err:	the reason, if the return value is not the exit status of CMD; else ""
 *
 * The descriptors and pointers of @c are borrowed. If the VM fails, the end of the kernel's log is
 * printed on standard error.
 * Return: the exit status of CMD; 1: the VM failed; 3: something is missing; 4: time-out;
 *	128 + signal: ended by a signal
 */
int vm_run(const struct vm_cfg *c, char err[VM_ERR_MAX]);

#endif
