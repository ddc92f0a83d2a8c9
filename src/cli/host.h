/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_HOST_H
#define CLI_HOST_H

/* Entering the hosts of an instance. */

/*
 * host_enter() - Enter a host's namespaces and stay there, with UIPOIB_NAME and UIPOIB_HOST in the
 * environment. Return: 0, or the exit status after a message
 */
int host_enter(const char *host);

/*
 * host_enter_tools() - Enter a host as host_enter() does, for a program that may use InfiniBand.
 * Also add libuipoib-umad.so to LD_PRELOAD. This library shows the program the ports of the
 * instance, as the kernel shows ports of HCAs. If @host_or_node is a node of a fabric, enter no
 * namespaces, and set UIPOIB_NODE
 */
int host_enter_tools(const char *host_or_node);

/*
 * host_exec() - Execute @cmd; Return: only on failure, after a message: 127 if the command was not
 * found, 126 after other errors
 */
int host_exec(char **cmd);

#endif
