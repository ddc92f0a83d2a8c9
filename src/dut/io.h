/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DUT_IO_H
#define DUT_IO_H

/*
 * The parts of `uipoib conform` that reach outside of the process: a UDP socket, a clock, the
 * processes of the user's hook program, and capture files
 */

#include <signal.h>
#include <sys/types.h>

#include "conform/conform.h"
#include "fixture/fixture.h"

/*
 * number of steps of the hook program that can run at a time; the start of another step ends the
 * oldest step
 */
#define CONFORM_HOOKS 8
/* time after which a running step of the hook program is killed */
#define CONFORM_HOOK_TIME NS_SEC(90)

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
	struct fixtures *fixtures; /* packets for --fixtures; NULL: the option was not given */
	/* signal mask during waits; it does not block SIGINT and SIGTERM */
	sigset_t wait_mask;
	ns_t epoch; /* time of day minus monotonic time; captures have the time of day */
	struct conform_step step[CONFORM_HOOKS];
	pid_t last; /* process id of the latest step */
	int last_status; /* exit status of .last; -EAGAIN: the step still runs */
};

/* conform_outside_open() - Bind the socket to @listen. Return: 0 or -errno */
int conform_outside_open(struct conform_outside *o, const struct ip_endpoint *listen);
/*
 * conform_outside_close() - Close the socket, and kill the processes of the hook program that still
 * run
 */
void conform_outside_close(struct conform_outside *o);

#endif
