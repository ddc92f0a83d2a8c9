/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_VM_PORTS_H
#define CLI_VM_PORTS_H

/* The HCAs of a VM: the ports of the fabric that --port and --ports ask for, their GUIDs, links and lines for uib.ko */

#include <stdbool.h>
#include <stdint.h>

#include "cli/vm_link.h"
#include "vm/net.h"

struct vm_ports {
	const char *text
		[VM_HCAS_MAX]; /* values of --port, [given]; NULL: the first free port of a switch */
	struct conf_port to[VM_HCAS_MAX]; /* address of each "udp:" port; others: .udp is false */
	uint64_t guid[VM_HCAS_MAX]; /* each --guid, [nguids] */
	unsigned int given, nguids;
	unsigned long wanted; /* value of --ports; 0: not given */
	unsigned int n; /* links that are open */
	struct vm_link link[VM_HCAS_MAX];
	char line[VM_HCAS_MAX][160];
	const char *hca[VM_HCAS_MAX + 1]; /* as guest_cfg.hca */
	int fd[VM_HCAS_MAX]; /* as vm_cfg.udp_fd */
};

/* The functions return 0, or the exit status after a message. */

/* vm_ports_add() - Take the value of --port */
int vm_ports_add(struct vm_ports *p, const char *text);
/* vm_ports_guid() - Take the value of --guid */
int vm_ports_guid(struct vm_ports *p, const char *text);
/* vm_ports_check() - Check the options together; @option is "-c" or "-n" if the user gave one of them, else NULL */
int vm_ports_check(const struct vm_ports *p, const char *option);
/* vm_ports_hcas() - Number of HCAs */
unsigned int vm_ports_hcas(const struct vm_ports *p);
/* vm_ports_udp() - Tell whether the ports are addresses, which need no instance */
bool vm_ports_udp(const struct vm_ports *p);
/**
 * vm_ports_open() - Attach all links
 * @seed:	name from which GUIDs are computed that the user did not give
 */
int vm_ports_open(struct vm_ports *p, const char *instance, const char *seed);
void vm_ports_close(struct vm_ports *p);

#endif
