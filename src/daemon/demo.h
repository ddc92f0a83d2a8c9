/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DEMO_H
#define DAEMON_DEMO_H

/* `uipoib demo`: a fabric at work, each claim with its figure, in under 40 lines. */

#include <stdbool.h>

struct demo_opts {
	const char *name; /* of the instance */
	const char *prog; /* how the user calls us, for what to type next */
	unsigned int hosts; /* 2 .. 200; 0: 4, or one for each CA of @topology */
	const char *topology; /* file; NULL: switches in a ring, with a loop */
	const char *capture; /* file; NULL: none is left */
	bool keep; /* stay until Ctrl-C */
	bool print_config; /* only print topology and configuration */
};

/*
 * demo_main() - Returns the exit status: 0, 1 a check failed, 2, 3, 4 after a message on standard
 * error; 128 + signal if one ended it
 */
int demo_main(const struct demo_opts *o);

#endif
