/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RELOAD_SUPERVISE_H
#define RELOAD_SUPERVISE_H

/*
 * This file reads the configuration again, after SIGHUP and for the command `reload`. The
 * supervisor waits for this command with the request "reload await" on a connection of its own.
 *
 * While the instance makes the changes of a reload, the supervisor handles signals as usual, so a
 * late answer delays no signal. When an answer, however late, reports that the changes are made,
 * the supervisor stores the new configuration as the configuration of the instance.
 */

#include "conf/diff.h"
#include "proto/proto.h"

#define RELOAD_TEXT_MAX 1024

/* A reload that was sent to the instance, which has not answered yet */
struct reload_sent {
	struct proto_client answer; /* connection for the answer; .fd is -1 if none is awaited */
	struct conf conf; /* the new configuration */
	struct conf_diff diff;
	bool *missing; /* for each row of .diff, as reload_answer() sets it */
};

struct reload {
	const char *name; /* name of the instance */
	const char *file;
	const struct conf_overrides *over;
	/* NULL, or called when a reload begins (@outcome is NULL) and when the reload has ended */
	void (*said)(void *ctx, const char *outcome);
	void *ctx;

	const struct conf *conf; /* configuration of the running instance */
	struct conf own; /* storage to which .conf points after the first reload */
	struct reload_sent sent;
	bool asked; /* a client waits for the outcome of the present reload */
	bool again; /* a signal came after the reload began, so the file is read once more */
	struct proto_client awaits; /* connection with the request "reload await" */
	pid_t *helper; /* helpers that were started and not yet waited for */
	unsigned int nhelpers;
};

/*
 * reload_open() - Begin to wait for the command `reload`. The instance must be ready, and the caller must have set .name,
 * .file, .over and .conf
 */
void reload_open(struct reload *r);
/*
 * reload_fd() - Return the descriptor that becomes readable when a client asks or the instance
 * answers; -1: there is no such descriptor
 */
int reload_fd(const struct reload *r);
/* reload_serve() - Read the configuration again, or take the instance's answer, because reload_fd() is readable */
void reload_serve(struct reload *r);
/*
 * reload_now() - Read the configuration again because of a signal. If a reload is under way, this
 * is done after it; otherwise it is done at once. The outcome goes to the log of the instance
 */
void reload_now(struct reload *r);
/* reload_reap() - Collect the exit statuses of helpers that have ended, by waitpid() */
void reload_reap(struct reload *r);
void reload_close(struct reload *r);

#endif
