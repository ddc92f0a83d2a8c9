/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_RUN_H
#define CLI_RUN_H

/* An instance of one's own, while something runs: what `run` and `vm` share. */

#include "daemon/proto.h"
#include "daemon/serve.h"

#define RUN_TIMEOUT_MS 30000 /* until all links are up */

struct run_job {
	const char *name; /* of the instance */
	const struct conf *conf;
	const struct topo *topo; /* as serve_cfg.topo */
	long long timeout_ms; /* until all links are up */
	unsigned int verbose;
	/* One of them runs once the links are up, as a child; if neither, the instance stays until a signal. */
	char **cmd;
	int (*fn)(void *arg); /* its exit status */
	void *arg;
};

/**
 * run_name() - The name of the instance that @file describes
 * @name:	what the user said, or NULL: then -n before the command, else the file's name without its
 *		extension
 * @buf:	room for that
 *
 * Return: 0, or the exit status after a message
 */
int run_name(const char **name, const char *file, char buf[PROTO_NAME_MAX]);

/* run_job() - Start it, do that, stop it. The exit status, after a message where it is not the command's */
int run_job(const struct run_job *job);

#endif
