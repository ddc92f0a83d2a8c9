/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RELOAD_SET_H
#define RELOAD_SET_H

/*
 * The changes of a reload, as the main process has received them from the supervisor. The main
 * process begins to make the changes only after the message END.
 */

#include "inst/inst.h"
#include "netdev/tap.h"
#include "reload/msg.h"

struct reload_host {
	struct reload_host_msg m;
	int fd[RELOAD_FDS];
	struct inst_host *made; /* the host in the instance; set by reload_apply() */
};

struct reload_partitions {
	char fabric[CONF_NAME_MAX], file[256];
	int fd;
};

struct reload_add {
	struct conf_iface conf;
	uint32_t host, number;
	int fd;
	bool missing; /* reload_apply() has tried to add the interface, and failed */
	struct inst_port *port; /* port of the interface; set by reload_apply() */
};

struct reload_remove {
	char name[IFNAMSIZ], host[CONF_NAME_MAX];
	struct inst_iface *iface; /* the interface to remove; set by reload_apply() */
};

struct reload_set {
	int helper; /* socket of the helper of all .host; -1: there is none */
	struct reload_host *host;
	struct reload_partitions *parts;
	struct reload_remove *gone;
	struct reload_add *add;
	unsigned int nhosts, nparts, ngone, nadds;
};

void reload_set_init(struct reload_set *s);
/* reload_set_free() - Free @s, and close the descriptors that nobody has taken */
void reload_set_free(struct reload_set *s);

/**
 * reload_set_take() - Receive a message
 *
 * Return: 0; 1: the message was the last one; -EAGAIN: no message has arrived; -EPIPE: the other
 * end is closed; -EPROTO: the message is invalid; -errno
 */
int reload_set_take(struct reload_set *s, int sock);

/**
 * reload_apply() - Make the changes
 *
 * Return: 0; -errno, with a message in @err. After a failure, .missing of the interfaces in @s->add
 * tells what has changed:
 *
 * - .missing is false for all of them: no interface has changed. Partitions have not changed
 *   either, with one exception: if memory ran out at the partitions of a fabric, the fabrics before
 *   it have their new partitions.
 * - .missing is true for some of them: memory or descriptors ran out while these interfaces were
 *   added. All other changes are made.
 */
int reload_apply(struct reload_set *s, struct inst *in, ns_t now, char err[INST_ERR_MAX]);

#endif
