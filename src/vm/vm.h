/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_VM_H
#define VM_VM_H

/*
 * DOC: A virtual machine on the fabric
 *
 *	uipoib vm  --- UDP socket ---> a port of an instance's switch
 *	  |  \
 *	  |   '- frames --- QEMU --- eth0, uib.ko, ib_ipoib: ib0
 *	  |                  |
 *	  '---- channel -----'------ init (src/guest) --- CMD
 *
 * One process and QEMU. QEMU ends with it, whatever ends it (PDEATHSIG, and the guest powers off when its
 * channel closes). The initramfs is a memfd, the wires are socket pairs: there is nothing on disk.
 */

#include <signal.h>

#include "vm/guest.h"
#include "vm/qemu.h"

struct vm_cfg {
	struct guest_cfg guest;
	bool kvm; /* if it does not boot with it, it is booted without */
	unsigned int cpus, mem_mb;
	bool verbose; /* the kernel's log goes to standard error */
	long long timeout_ms; /* from now to the end of CMD; -1: for ever */
	int udp_fd; /* the link: connected, non-blocking */
	int lost_fd; /* readable when the link has gone; -1 */
	int sig_fd; /* a signalfd: SIGCHLD, SIGWINCH, and those that end CMD */
	const sigset_t *sig_mask; /* of QEMU */
};

/**
 * vm_run() - Boot, run CMD, end
 * @err:	why, where it is not CMD's own status; else ""
 *
 * All that is borrowed stays the caller's. The end of the kernel's log goes to standard error if the VM fails.
 * Return: the exit status of CMD; 1 the VM failed; 3 something is missing; 4 time-out; 128 + signal
 */
int vm_run(const struct vm_cfg *c, char err[VM_ERR_MAX]);

#endif
