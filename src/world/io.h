/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_IO_H
#define WORLD_IO_H

/* What the conformance suite has outside */

#include <stddef.h>
#include <stdio.h>

#include "util/endpoint.h"
#include "util/ns.h"

struct seen;

/* Datagrams, time, and the hook. The program has a socket behind it, tests a DUT on virtual time. */
struct world_io {
	void *ctx;
	ns_t (*now)(void *ctx);
	/* Send a datagram to the DUT. It may be lost. */
	void (*send)(void *ctx, const void *data, size_t len);
	/*
	 * Wait for a datagram until @deadline. Return: its octets, which may be more than @size, and 0 for an empty
	 * one; -EAGAIN: the deadline has come; -EINTR: the user wants the run to end
	 */
	int (*recv)(void *ctx, void *buf, size_t size, struct ip_endpoint *ret_from, ns_t deadline);
	/*
	 * Begin to carry out a step of the hook, such as "send 239.7.0.1", in the background. NULL if there is no hook.
	 * Return: 0 or -errno
	 */
	int (*hook)(void *ctx, const char *step);
	/* Exit status of the step begun last, not 0 if it was not done; -EAGAIN while it runs */
	int (*hook_status)(void *ctx);
	/*
	 * A file into which the packets of a failed case are written, closed by the caller of this function. NULL if
	 * captures are not wanted; the function may return NULL after it has said why.
	 */
	FILE *(*capture)(void *ctx, const char *case_id);
	/* Told of every packet of both directions when it is logged, because the log forgets; NULL: nobody wants to know */
	void (*seen)(void *ctx, const struct seen *s);
};

#endif
