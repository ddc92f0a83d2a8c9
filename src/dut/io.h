/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DUT_IO_H
#define DUT_IO_H

/* What `uipoib conform` has outside: a UDP socket, a clock, the hook's processes, the files of captures */

#include <signal.h>
#include <sys/types.h>

#include "conform/conform.h"
#include "fixture/fixture.h"

#define CONFORM_HOOKS 8 /* steps that run at a time; a further one ends the oldest */
#define CONFORM_HOOK_TIME NS_SEC(90) /* time after which a step that still runs is killed */

struct conform_step {
	pid_t pid; /* its process group, too; 0: none */
	ns_t began;
};

struct conform_outside {
	struct world_io io;
	int fd;
	struct ip_endpoint dut;
	const char *hook, *pcap_dir;
	struct fixtures *fixtures; /* NULL: not wanted */
	sigset_t wait_mask; /* while it waits: SIGINT and SIGTERM may arrive */
	ns_t epoch; /* what to add to the monotonic time, so that captures have the time of day */
	struct conform_step step[CONFORM_HOOKS];
	pid_t last; /* the step begun last */
	int last_status; /* its exit status; -EAGAIN: it runs */
};

/* conform_outside_open() - Bind the socket to @listen. Return: 0 or -errno */
int conform_outside_open(struct conform_outside *o, const struct ip_endpoint *listen);
/* conform_outside_close() - Close the socket, and kill what the hook has left */
void conform_outside_close(struct conform_outside *o);

#endif
