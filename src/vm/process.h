/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_PROCESS_H
#define VM_PROCESS_H

/* The process of QEMU, and the sockets by which `uipoib vm` exchanges data with QEMU */

#include <signal.h>
#include <sys/types.h>

#include "vm/qemu.h"

struct qemu_process {
	pid_t pid;
	int log_fd; /* stream of the output of the guest's kernel and of QEMU */
	int chan_fd; /* stream of frames (vm/frame.h) */
	int eth_fd; /* datagrams of the guest's Ethernet interface */
};

/**
 * qemu_start() - Start QEMU, which ends when the caller's process ends
 * @qc:		the sockets of QEMU are written here
 * @mask:	signal mask for QEMU
 *
 * Return: 0 or -errno. In either case @ret has the descriptors that were opened, and -1 for each
 * descriptor that was not opened.
 */
int qemu_start(struct qemu_process *ret, struct qemu_cfg *qc, const sigset_t *mask);

#endif
