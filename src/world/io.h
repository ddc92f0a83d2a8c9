/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORLD_IO_H
#define WORLD_IO_H

/*
 * The functions that the program provides to the conformance suite: datagrams, time, and the user's
 * hook program, which makes the DUT act
 */

#include <stddef.h>
#include <stdio.h>

#include "util/endpoint.h"
#include "util/ns.h"

struct seen;

/*
 * In `uipoib conform`, send() and recv() use a UDP socket. In the tests, these functions lead to a
 * DUT in the same process, and the time is virtual.
 */
struct world_io {
	void *ctx;
	ns_t (*now)(void *ctx);
	/* Send a datagram to the DUT. The datagram may get lost. */
	void (*send)(void *ctx, const void *data, size_t len);
	/*
	 * Wait for a datagram until @deadline. Return: the length of the datagram, which may be
	 * more than @size, and is 0 for an empty datagram; -EAGAIN: the deadline has come; -EINTR:
	 * the user has ended the run
	 */
	int (*recv)(void *ctx, void *buf, size_t size, struct ip_endpoint *ret_from, ns_t deadline);
	/*
	 * Start the hook program in the background with a step such as "send 239.7.0.1". This
	 * pointer is NULL if the user gave no hook program. Return: 0 or -errno
	 */
	int (*hook)(void *ctx, const char *step);
	/*
	 * Return: the exit status of the latest step, which is 0 only if the hook program has done
	 * the step; -EAGAIN while the step runs
	 */
	int (*hook_status)(void *ctx);
	/*
	 * Return a file into which the packets of a failed case are written; the caller closes it.
	 * This pointer is NULL if captures are not wanted; the function may return NULL after it
	 * has printed the reason.
	 */
	FILE *(*capture)(void *ctx, const char *case_id);
	/*
	 * Called with each sent or received packet when it is logged. The callback must copy what
	 * it needs later, because the log overwrites old packets. May be NULL
	 */
	void (*seen)(void *ctx, const struct seen *s);
};

#endif
