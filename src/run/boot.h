/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_BOOT_H
#define RUN_BOOT_H

/*
 * The progress of the start of an instance (os/progress.h). A large fabric takes seconds until its objects are made,
 * and further seconds until its subnet manager has configured it. If standard error is no terminal, these functions
 * send no requests and print nothing.
 */

#include <stdbool.h>

#include "proto/proto.h"
#include "util/ns.h"

#define BOOT_TICK_MS 200 /* time between two calls of boot_tick() */

struct boot {
	const char *name; /* name of the instance */
	bool shown; /* the start is in progress, and a terminal shows its progress */
	ns_t began; /* time at which the start began, from clock_now() */
	struct proto_client
		client; /* connection by which the instance is asked; .fd is -1 while there is no connection */
	unsigned int asked; /* number of requests that the instance has not answered */
	bool up; /* the instance has reported that all interfaces are up */
	char waits_for[160]; /* what the instance waits for, according to its last answer */
	/* what the first subnet manager of the instance does; "" if there is no manager, or the manager does nothing */
	char manager[64];
};

void boot_begin(struct boot *b, const char *name);
/*
 * boot_tick() - Show the progress, and ask the instance what it waits for; never waits for the
 * answer. When all interfaces are up, the function ends the display
 */
void boot_tick(struct boot *b);
/* boot_end() - End the display when the instance is up or ends; a second call has no effect */
void boot_end(struct boot *b);

#endif
