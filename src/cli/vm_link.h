/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_VM_LINK_H
#define CLI_VM_LINK_H

/*
 * The link between a VM and a port of a fabric. What the instance attaches lasts as long as the connection to it;
 * one that leads to the address of a [udp-link] knows nothing of instances, which may come and go.
 */

#include <stdint.h>

#include "daemon/conf.h"
#include "daemon/proto.h"

struct vm_link {
	struct proto_client client; /* fd -1: none, it leads to an address */
	int fd; /* our end: connected, non-blocking; the VM's packets */
	char host[64]; /* a name for the VM: "vm-Switch1-7" */
	bool fresh; /* both its ends are new: neither has to show the other one that it was down */
	uint64_t guid; /* for the VM's HCA: the same at the same port of the same instance */
};

/**
 * vm_link_open() - Have the instance attach it
 * @port:	"NODE/PORT" or "fabric:NAME/NODE/PORT"; NULL: the first free one of a switch
 *
 * Return: 0, or the exit status after a message
 */
int vm_link_open(struct vm_link *l, const char *instance, const char *port);
/* vm_link_connect() - To the address of a "udp:" port. 0, or the exit status after a message */
int vm_link_connect(struct vm_link *l, const struct conf_port *to);
void vm_link_close(struct vm_link *l);

#endif
