/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

/*
 * The command `uipoib vm`. The code for QEMU, and for the kernel and initramfs that QEMU boots, is
 * in vm/. The first process of the guest is in guest/.
 */

#include <getopt.h>

extern const struct option machine_vm_options[];
/*
 * Run the command `uipoib vm`. Return: its exit status; if this is not 0, a message was printed or
 * the status is that of CMD
 */
int machine_vm(int argc, char **argv);

#endif
