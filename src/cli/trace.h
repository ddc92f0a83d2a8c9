/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

/*
 * Parts of `uipoib trace`: the probes that a host runs (trace_probe.c), and the output of rows as sentences
 * (trace_print.c).
 */

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Exit status of a probe that could not be run. It differs from the exit statuses of ping (0 to 2) and of refusals by
 * the instance (1 to 3).
 */
#define TRACE_NO_PROBE 127
#define TRACE_TEXT_MAX 4096 /* largest number of octets of a probe's output, NUL included */

/*
 * A probe. It runs in the host where the trace begins, unless .outside is true. The control
 * protocol uses the same names of probes.
 */
struct trace_probe {
	const char *name;
	bool port; /* the name is followed by a port of TCP or UDP */
	/* verb between the names, as in "A pings B"; with .port, % is replaced by the port */
	const char *verb;
	/*
	 * Runs in a process of its own, in the host; standard output is a pipe. @start is the first row of the trace.
	 * Returns the exit status of the process: 0: an answer came; 1: no answer came
	 */
	int (*run)(const json_t *start, int port);
	/*
	 * @text contains the output of .run. The function replaces @text by the text for the end of
	 * the summary. If .summary is NULL, the output itself is this text
	 */
	void (*summary)(char *text, bool answered);
	/* true if .run makes a request to the instance, and does not run in the host */
	bool outside;
};

/* trace_probe_of() - Return the probe with this name; NULL: there is no such probe */
const struct trace_probe *trace_probe_of(const char *name);

/* trace_print_row() - Print a row of a trace. @number is the packet's number if the row is about a packet */
void trace_print_row(const json_t *row, const struct trace_probe *probe, int port,
		     unsigned int number);

#endif
