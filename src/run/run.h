/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RUN_H
#define RUN_RUN_H

/*
 * The command `uipoib run`, and run_job(), by which other commands, too, start an instance, run a
 * command or function, and stop the instance
 */

#include <getopt.h>

#include "conf/conf.h"
#include "run/ready.h"
#include "proto/proto.h"
#include "proto/serve.h"

#define RUN_TIMEOUT_MS 30000 /* default time within which all links must be up */

struct run_job {
	const char *name; /* name of the instance */
	const struct conf *conf;
	/*
	 * file that is read again on SIGHUP or `reload`, and the options of the command line that
	 * override settings of this file; NULL: none
	 */
	const char *file;
	const struct conf_overrides *over;
	const struct topo *topo; /* as serve_cfg.topo */
	long long timeout_ms; /* time within which all links must be up */
	unsigned int verbose;
	/* the service manager or pipe that gets a message when all links are up; NULL: there is none */
	struct ready *ready;
	/* .cmd or .fn runs as a child once the links are up. If both are NULL, the instance runs until a signal. */
	char **cmd;
	int (*fn)(void *arg); /* returns the exit status of the child */
	void *arg;
};

/* The parsed command line of `run` */
struct run_args {
	struct run_job job;
	struct conf_overrides over; /* the settings that -o gives */
	int ready_fd; /* descriptor that --ready-fd gives; -1: not given */
	char name_buf[PROTO_NAME_MAX];
};

/* run_parse() - Fill @a in from the command line. Return: 0 (also with --help), or the exit status after a message */
int run_parse(struct run_args *a, int argc, char **argv);
/* run_usage() - Print the usage of `run`, as an error unless @status is 0. Return: @status */
int run_usage(int status);

/**
 * run_name() - Find the name of the instance that @file describes
 * @name:	name given by the user; if NULL, *@name is set to the name given by -n before the command, or else to the
 *	name of the file without its extension
 * @buf:	buffer for the name made from the file
 *
 * Return: 0, or the exit status after a message
 */
int run_name(const char **name, const char *file, char buf[PROTO_NAME_MAX]);

/*
 * run_job() - Start the instance, run the job, stop the instance. Return: the exit status of the
 * job, or another status after a message
 */
int run_job(const struct run_job *job);

extern const struct option run_options[];
/* Return: an exit status; if it is not 0, a message was printed or the status is that of CMD */
int run_command(int argc, char **argv);

#endif
