/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEMO_DEMO_H
#define DEMO_DEMO_H

/* `uipoib demo` shows a fabric at work in less than 40 lines, each with a measured figure. */

#include <stdbool.h>

struct serve_cfg;

struct demo_opts {
	int (*daemon)(const struct serve_cfg *cfg, int ready_fd); /* function for serve_cfg.run */
	const char *name; /* name of the instance */
	/* path of this program as the user typed it, for the commands that the demo suggests at its end */
	const char *prog;
	/* number of hosts, 2 .. 200; 0: 4 hosts, or one for each CA of .topology */
	unsigned int hosts;
	const char *topology; /* topology file; NULL: switches in a ring */
	const char *capture; /* file for the capture; NULL: the capture is not stored in a file */
	bool keep; /* keep the fabric after the demo until Ctrl-C */
	bool print_config; /* only print topology and configuration */
};

/*
 * demo_main() - Run the demo. Return: the exit status: PROTO_EXIT_FAILED if a check failed; another
 * of PROTO_EXIT_*; or 128 + number of the signal that ended the demo
 */
int demo_main(const struct demo_opts *o);

#endif
