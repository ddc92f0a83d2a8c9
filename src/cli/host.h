/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_HOST_H
#define CLI_HOST_H

/* Going into the hosts of an instance. */

/*
 * host_enter() - Into a host's namespaces, for good, with UIPOIB_NAME and UIPOIB_HOST in the
 * environment. 0, or the exit status after a message
 */
int host_enter(const char *host);

/*
 * host_enter_tools() - The same; or, for a node of a fabric, nowhere, with UIPOIB_NODE. Programs will see the
 * ports as the kernel shows HCAs: LD_PRELOAD has libuipoib-umad.so
 */
int host_enter_tools(const char *host_or_node);

/* host_exec() - Become @cmd; returns only if that failed: 127 not found, 126 else, after a message */
int host_exec(char **cmd);

#endif
