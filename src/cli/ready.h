/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_READY_H
#define CLI_READY_H

/*
 * DOC: Who waits for an instance: a service manager, or the reader of a pipe
 *
 * A service manager that speaks the protocol of sd_notify(3) gives the address of a datagram socket in $NOTIFY_SOCKET, and the time
 * within which it wants to hear that the service works in $WATCHDOG_USEC. `run --ready-fd N` writes a newline to the
 * descriptor N and closes it, as s6 and others expect. Nothing here waits: what a manager does not take is lost.
 */

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cli/cli.h"

struct ready {
	int fd; /* of --ready-fd, -1 if there is none, or none any more */
	int sock; /* to the service manager, -1 if there is none */
	struct sockaddr_un to;
	socklen_t to_len;
	long long
		watchdog_ms; /* the manager wants to hear from us once within this time; 0: never */
};

/**
 * ready_init() - Learn from the environment who waits, and remove it from the environment of programs that are started
 * @fd:	descriptor of --ready-fd, or -1
 *
 * Return: 0; or the exit status after a message: $NOTIFY_SOCKET or $WATCHDOG_USEC makes no sense, or @fd is not open
 */
int ready_init(struct ready *r, int fd);

/* ready_wanted() - Does anybody wait? */
bool ready_wanted(const struct ready *r);

/* ready_up() - All interfaces are up. It may be called again. */
void ready_up(struct ready *r);
/* ready_waits() - Tell the manager why the instance is not up yet */
void ready_waits(const struct ready *r, const char *why);
/* ready_alive() - The instance works, for the watchdog */
void ready_alive(const struct ready *r);
/* ready_stops() - The instance is about to end */
void ready_stops(const struct ready *r);

void ready_close(struct ready *r);

#endif
