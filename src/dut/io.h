/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DUT_IO_H
#define DUT_IO_H

/*
 * The parts of `uipoib conform` that reach outside of the process: a UDP socket, a clock, the
 * hook's processes, the files of captures
 */

#include <signal.h>
#include <sys/types.h>

#include "conform/conform.h"
#include "fixture/fixture.h"

#define CONFORM_HOOKS 8 /* number of steps that run at a time; a further step ends the oldest one */
#define CONFORM_HOOK_TIME NS_SEC(90) /* time after which a step that still runs is killed */

struct conform_step {
	/*
	 * process id of the step's command, which is also the id of its process group; 0: no step
	 * is running
	 */
	pid_t pid;
	ns_t began;
};

struct conform_outside {
	struct world_io io;
	int fd;
	struct ip_endpoint dut;
	const char *hook, *pcap_dir;
	struct fixtures *fixtures; /* packets for fixtures; NULL: no fixtures are wanted */
	/* signal mask while the suite waits, which lets SIGINT and SIGTERM arrive */
	sigset_t wait_mask;
	ns_t epoch; /* difference from monotonic time to time of day, which captures have */
	struct conform_step step[CONFORM_HOOKS];
	pid_t last; /* process id of the step that was begun last */
	int last_status; /* exit status of .last; -EAGAIN: the step still runs */
};

/* conform_outside_open() - Bind the socket to @listen. Return: 0 or -errno */
int conform_outside_open(struct conform_outside *o, const struct ip_endpoint *listen);
/* conform_outside_close() - Close the socket, and kill the remaining processes of the hook */
void conform_outside_close(struct conform_outside *o);

#endif
