/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

/*
 * DOC: Processes
 *
 *	supervisor	what the user started: keeps its privileges and its terminal, runs CMD or
 *			the demo, is a client of the control socket like any other
 *	  daemon	its child: the instance; drops privileges; ends with the supervisor
 *	    helper	the daemon's child: namespaces, TAPs, addresses (netdev/helper.h)
 *
 * Whichever of them is killed, the others end and remove what there is to remove.
 */

#include "daemon/conf.h"
#include "util/log.h"

struct topo;

struct serve_cfg {
	const char *name; /* of the instance */
	const struct conf *conf;
	const struct topo *topo; /* of conf's first fabric instead of its file; NULL: the file */
	enum log_level verbosity;
	int log_fd; /* lines go here; -1: nowhere */
};

struct serve {
	int pid; /* of the daemon */
	int ready_fd; /* readable when it is ready or has failed */
	char name[32];
};

/* serve_start() - Fork the daemon. 0 or -errno */
int serve_start(struct serve *s, const struct serve_cfg *cfg);

/**
 * serve_ready() - Wait until the daemon has made everything and listens on its socket
 * @err:	its message on failure
 *
 * Links may still be coming up: that is `wait`.
 * Return: 0; else the exit status it asks for (2 configuration, 3 environment, 1 anything else)
 */
int serve_ready(struct serve *s, char *err, size_t err_len);

/* serve_stop() - End it if it runs (SIGTERM, after 5 s SIGKILL), wait, remove its socket. Its exit status, 128 + signal */
int serve_stop(struct serve *s);

#endif
