/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MACHINE_LINK_H
#define MACHINE_LINK_H

/*
 * The link between a VM and a port of a fabric. A link that the instance attached lasts as long as the control
 * connection to that instance. A link to the address of a [udp-link] needs no connection, so it outlives instances.
 */

#include <stdint.h>

#include "conf/conf.h"
#include "proto/proto.h"

struct link {
	struct proto_client client; /* control connection; .fd is -1 after link_connect() */
	int fd; /* the VM's end of the link, a connected non-blocking UDP socket */
	char host[64]; /* host name for the VM, such as "vm-Switch1-7" */
	/*
	 * true if both ends of the link are new, so that the link comes up at once. Otherwise the
	 * end that existed before needs a pause to notice that its former link has ended
	 */
	bool fresh;
	/* GUID of the VM's HCA; a VM at the same port of an instance of the same name gets the same GUID */
	uint64_t guid;
};

/**
 * link_open() - Have the instance attach a link to one of its ports
 * @seed:	the GUID of the VM's HCA is computed from this name and the port
 * @port:	"NODE/PORT" or "fabric:NAME/NODE/PORT"; NULL: the first free port of a switch
 *
 * Return: 0, or the exit status after a message
 */
int link_open(struct link *l, const char *instance, const char *seed, const char *port);
/*
 * link_connect() - Make a link to the address of a "udp:" port. Return: 0, or the exit status
 * after a message
 */
int link_connect(struct link *l, const struct conf_port *to);
void link_close(struct link *l);

#endif
