/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_IO_H
#define WORLD_IO_H

/* The functions that the program provides to the conformance suite: datagrams, time and the hook */

#include <stddef.h>
#include <stdio.h>

#include "util/endpoint.h"
#include "util/ns.h"

struct seen;

/* The program's implementation uses a socket; the tests' implementation has a DUT on virtual time. */
struct world_io {
	void *ctx;
	ns_t (*now)(void *ctx);
	/* Send a datagram to the DUT. It may be lost. */
	void (*send)(void *ctx, const void *data, size_t len);
	/*
	 * Wait for a datagram until @deadline. Return: its octets, which may be more than @size, and 0 for an empty
	 * one; -EAGAIN: the deadline has come; -EINTR: the user has ended the run
	 */
	int (*recv)(void *ctx, void *buf, size_t size, struct ip_endpoint *ret_from, ns_t deadline);
	/*
	 * Begin to carry out a step of the hook, such as "send 239.7.0.1", in the background. NULL if there is no hook.
	 * Return: 0 or -errno
	 */
	int (*hook)(void *ctx, const char *step);
	/*
	 * Return: the exit status of the step begun last, which is 0 only if the step was done; -EAGAIN while the step runs
	 */
	int (*hook_status)(void *ctx);
	/*
	 * Return a file into which the packets of a failed case are written; the caller closes it. NULL if captures
	 * are not wanted; the function may return NULL after it has printed the reason.
	 */
	FILE *(*capture)(void *ctx, const char *case_id);
	/*
	 * Called with every packet of either direction when it is logged, because the log forgets old packets; may be NULL
	 */
	void (*seen)(void *ctx, const struct seen *s);
};

#endif
