/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_GUEST_H
#define VM_GUEST_H

/*
 * DOC: The initramfs
 *
 * The initramfs has /init (src/guest), the kernel's modules in /m, and the file VM_CONFIG. The file
 * is a list of entries "verb=value", each of which ends with a NUL. init carries out these entries
 * in the order of the file. The entries are in the order of the list below, except the entries
 * module=, each of which stands before the first entry that needs its module:
 *
 *	module=FILE	load /m/FILE
 *	hostname=NAME	set the name of the VM, which is also in the NodeDescription of its HCA
 *	channel=	open the channel (vm/frame.h)
 *	cable=		set up the interface to the host (vm/net.h) in a network namespace of its own
 *	hca=LINE	add an HCA in the namespace of "cable": LINE is written to uib's parameter "add", see kmod/
 *	root=		mount the root file system read-only, and an overlay with a tmpfs over it; make the overlay the
 *			root, and give the namespace of "cable" the name VM_CABLE in it
 *	modules=DIR	mount the kernel's modules at DIR, read-only; only if the root is not the host's
 *	share=TAG:DIR	mount a share at DIR, writable
 *	address=N,A/LEN	give ibN the address A, IPv4 or IPv6; may be repeated
 *	env=NAME=VALUE	add a variable to the environment of CMD
 *	cwd=DIR		start CMD in the folder DIR
 *	arg=WORD	add WORD to the command line CMD
 *	user=UID,GID,...	run CMD as this user, with these groups; without this line as root
 *	tty=		give CMD a terminal
 *	systemd=	boot systemd before CMD is run
 *	up=SECONDS	set the interface of each HCA up, and wait at most SECONDS until all can send; 0: do not wait
 *	run=		run CMD, send its exit status, and end
 */

#include <stdbool.h>
#include <stdio.h>

#include "vm/kernel.h"

#define VM_CONFIG "config"
#define VM_CHANNEL "/dev/vport0p1"
/* File of the network namespace that has the link to the fabric, for `nsenter --net=FILE` */
#define VM_CABLE "/run/uipoib-vm/cable"
#define VM_ROOT_TAG "root"
#define VM_MODULES_TAG "modules"
#define VM_SYSTEMD "/lib/systemd/systemd"
#define VM_SHARES_MAX 8
#define VM_ADDRS_MAX 8
#define VM_GROUPS_MAX 64

struct guest_cfg {
	const struct vm_kernel *kernel;
	const char *init; /* the contents of the program /init, .init_len octets */
	size_t init_len;
	const char *hostname;
	/* "uib0 listen=... peer=... guid=...", NULL-terminated: the lines of uib0, uib1 ... */
	const char *const *hca;
	const char *root; /* host folder that becomes the guest's root file system; NULL: "/" */
	/* absolute paths of the shares, NULL-terminated; their 9p tags are share0, share1 ... */
	const char *const *share;
	/* addresses of the interfaces, such as "0,10.4.0.100/16" for ib0; NULL-terminated */
	const char *const *address;
	const char *cwd;
	char *const *env;
	char *const *cmd;
	const char *user; /* "UID,GID[,GROUP ...]" as whom CMD runs; NULL: root */
	bool tty;
	const char *systemd; /* the unit to which systemd boots before CMD is run, or NULL */
	/* seconds within which ib0, ib1 ... must be up; 0: CMD starts without waiting for them */
	unsigned int up_timeout;
};

/**
 * guest_initramfs() - Write the initramfs to @f
 * @err:	on failure the reason
 *
 * Return: 0; -ENOENT: the kernel lacks a module; -errno
 */
int guest_initramfs(FILE *f, const struct guest_cfg *c, char err[VM_ERR_MAX]);

#endif
