/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_HOST_H
#define DAEMON_HOST_H

/* A host: a network namespace, and what its kernel tells about the interfaces in it. */

#include "daemon/inst.h"

/**
 * host_get() - The host of an interface, made on first use
 *
 * Its namespace is the one that `netns` says; without, an anonymous one for a named host, and the
 * caller's own for "".
 * Return: 0; -EINVAL two interfaces of a host disagree about its namespace; -errno; with @err
 */
int host_get(struct inst *in, const struct conf_iface *c, struct inst_host **ret,
	     char err[INST_ERR_MAX]);

/* Its interfaces must be gone. */
void host_close(struct inst_host *h);

#endif
