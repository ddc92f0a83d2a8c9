/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_GUEST_H
#define VM_GUEST_H

/*
 * DOC: What the guest is told
 *
 * The initramfs has /init (src/guest), the kernel's modules in /m, and the file VM_CONFIG: a list of
 * "verb=value", each ended by a NUL, which init does in order:
 *
 *	module=FILE	load /m/FILE
 *	hostname=NAME	of the VM, and with it the description of its HCA
 *	channel=	open the channel (vm/frame.h)
 *	eth=		set up the interface to the host (vm/net.h)
 *	hca=LINE	add a device: LINE goes to uib's parameter "add", see kmod/
 *	root=		mount the host's root file system read-only, a tmpfs over it; enter
 *	share=TAG:DIR	mount a share at DIR, writable
 *	address=A/LEN	of ib0, IPv4 or IPv6; repeatable
 *	env=NAME=VALUE	for CMD
 *	cwd=DIR		for CMD
 *	arg=WORD	of CMD
 *	tty=		CMD gets a terminal
 *	up=SECONDS	set ib0 up, and wait until it can send; 0: do not wait
 *	run=		run CMD, tell its status, end
 */

#include <stdbool.h>
#include <stdio.h>

#include "vm/kernel.h"

#define VM_CONFIG "config"
#define VM_CHANNEL "/dev/vport0p1"
#define VM_ROOT_TAG "root"
#define VM_SHARES_MAX 8
#define VM_ADDRS_MAX 8

struct guest_cfg {
	const struct vm_kernel *kernel;
	const char *init; /* the program, @init_len octets */
	size_t init_len;
	const char *hostname;
	const char *hca; /* "uib0 listen=... peer=... guid=..." */
	const char *const *share; /* absolute paths, NULL-terminated; tags are share0, ... */
	const char *const *address; /* NULL-terminated */
	const char *cwd;
	char *const *env;
	char *const *cmd;
	bool tty;
	unsigned int up_timeout; /* seconds until ib0 must be up; 0: it need not be */
};

/**
 * guest_initramfs() - Write it
 *
 * Return: 0; -ENOENT the kernel lacks a module, named in @err; -errno with @err
 */
int guest_initramfs(FILE *f, const struct guest_cfg *c, char err[VM_ERR_MAX]);

#endif
