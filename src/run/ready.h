/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_READY_H
#define RUN_READY_H

/*
 * DOC: Telling a service manager, or the reader of a pipe, that the instance is ready
 *
 * A service manager that speaks the protocol of sd_notify(3) sets two variables: $NOTIFY_SOCKET is
 * the address of a datagram socket, and $WATCHDOG_USEC is the time within which the service has to
 * report that it works. `run --ready-fd N` writes a newline to the descriptor N and closes it, as
 * s6 and others expect. The functions below never wait, so a message that the manager does not read
 * in time is lost.
 */

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cmdline/cmdline.h"

struct ready {
	/* descriptor of --ready-fd; -1 if the option was not given, or after the newline was written */
	int fd;
	bool up; /* ready_up() was called */
	int sock; /* socket to the service manager; -1: there is no manager */
	struct sockaddr_un to;
	socklen_t to_len;
	long long
		watchdog_ms; /* time within which the manager expects the next message; 0: it expects none */
};

/**
 * ready_init() - Read the service manager's variables, and remove them from the environment of programs that are
 * started
 * @fd:	descriptor of --ready-fd, or -1
 *
 * Return: 0; or the exit status after a message: $NOTIFY_SOCKET or $WATCHDOG_USEC is invalid, or @fd is not open
 */
int ready_init(struct ready *r, int fd);

/* ready_wanted() - Tell whether a service manager or the reader of a pipe waits for the instance */
bool ready_wanted(const struct ready *r);

/* ready_up() - Report that all interfaces are up. The function may be called again. */
void ready_up(struct ready *r);
/* ready_waits() - Tell the manager why the instance is not up yet */
void ready_waits(const struct ready *r, const char *why);
/* ready_alive() - Tell the manager's watchdog that the instance works */
void ready_alive(const struct ready *r);
/*
 * ready_reloads() - Tell the manager that a reload begins, or, if @outcome is not NULL, that the reload has ended
 * with this outcome
 */
void ready_reloads(const struct ready *r, const char *outcome);
/* ready_stops() - Tell the manager that the instance is about to end */
void ready_stops(const struct ready *r);

void ready_close(struct ready *r);

#endif
