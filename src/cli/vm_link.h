/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_VM_LINK_H
#define CLI_VM_LINK_H

/* The link between a VM and a port of an instance's fabric: it lasts as long as the connection. */

#include <stdint.h>

#include "daemon/proto.h"

struct vm_link {
	struct proto_client client;
	int fd; /* our end: connected, non-blocking; the VM's packets */
	char host[64]; /* a name for the VM: "vm-Switch1-7" */
	uint64_t guid; /* for the VM's HCA: the same at the same port of the same instance */
};

/**
 * vm_link_open() - Have the instance attach it
 * @port:	"NODE/PORT" or "fabric:NAME/NODE/PORT"; NULL: the first free one of a switch
 *
 * Return: 0, or the exit status after a message
 */
int vm_link_open(struct vm_link *l, const char *instance, const char *port);
void vm_link_close(struct vm_link *l);

#endif
