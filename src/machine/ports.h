/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MACHINE_PORTS_H
#define MACHINE_PORTS_H

/* The HCAs of a VM: for each, the port (--port, --ports), GUID, link and settings for uib.ko */

#include <stdbool.h>
#include <stdint.h>

#include "machine/link.h"
#include "vm/net.h"

struct ports {
	/* values of --port; .given entries are set. NULL: the first free port of a switch */
	const char *text[VM_HCAS_MAX];
	struct conf_port to[VM_HCAS_MAX]; /* address of each "udp:" port; otherwise .udp is false */
	uint64_t guid[VM_HCAS_MAX]; /* values of --guid; .nguids entries are set */
	unsigned int given, nguids;
	unsigned long wanted; /* value of --ports; 0: not given */
	unsigned int n; /* number of links that are open */
	struct link link[VM_HCAS_MAX];
	char line[VM_HCAS_MAX][160];
	const char *hca[VM_HCAS_MAX + 1]; /* as guest_cfg.hca */
	int fd[VM_HCAS_MAX]; /* as vm_cfg.udp_fd */
};

/* The functions return 0, or the exit status after a message. */

/* ports_add() - Check and store the value of --port */
int ports_add(struct ports *p, const char *text);
/* ports_guid() - Parse and store the value of --guid */
int ports_guid(struct ports *p, const char *text);
/*
 * ports_check() - Check options that depend on each other; @option is "-c" or "-n" if the user gave
 * -c or -n, else NULL
 */
int ports_check(const struct ports *p, const char *option);
/* ports_hcas() - Return the number of HCAs */
unsigned int ports_hcas(const struct ports *p);
/* ports_udp() - Tell whether --port gives UDP addresses, for which no instance is needed */
bool ports_udp(const struct ports *p);
/**
 * ports_open() - Attach all links
 * @seed:	name from which the GUIDs of HCAs without --guid are computed
 */
int ports_open(struct ports *p, const char *instance, const char *seed);
void ports_close(struct ports *p);

#endif
