/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MACHINE_OPTIONS_H
#define MACHINE_OPTIONS_H

/* The command line of `uipoib vm` */

#include <stdbool.h>

#include "machine/ports.h"
#include "machine/user.h"
#include "proto/proto.h"
#include "vm/guest.h"
#include "vm/kernel.h"

struct vm_opts {
	const char *file, *name, *kernel, *module;
	const char *systemd; /* unit to which systemd boots; NULL: CMD runs without systemd */
	char *root; /* folder with the guest's root file system; NULL: the root file system of this machine */
	const char *user_text; /* value of --user; NULL: CMD runs as root */
	struct user user; /* valid if .user_text is set */
	struct ports ports;
	const char *seed; /* name from which GUIDs are computed; NULL: the name of the instance */
	char name_buf[PROTO_NAME_MAX];
	char *share_path[VM_SHARES_MAX];
	const char *share[VM_SHARES_MAX + 1], *address[VM_ADDRS_MAX + 1];
	char address_text[VM_ADDRS_MAX][64];
	unsigned int nshares, naddresses;
	unsigned int max_ib; /* largest N for which --address gives an address to ibN */
	unsigned long cpus, mem_mb;
	long long timeout_ms;
	int kvm; /* 1: use KVM; 0: do not; -1: use it if it works */
	bool no_wait;
	char **cmd;
	struct vm_kernel found;
};

/* options_usage() - Print the usage message; returns @status */
int options_usage(int status);
/*
 * options_parse() - Read the command line into @o, whose pointers point into @argv. If the command
 * line has --help, only cli_opts.help is set. The caller calls options_free() in any case. Return:
 * 0, or the exit status after a message
 */
int options_parse(struct vm_opts *o, int argc, char **argv);
/* options_add_address() - Parse and store the value of --address */
int options_add_address(struct vm_opts *o, const char *text);
void options_free(struct vm_opts *o);

#endif
