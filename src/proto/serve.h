/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROTO_SERVE_H
#define PROTO_SERVE_H

/*
 * DOC: Processes
 *
 *	supervisor	the process that the user started: it keeps its privileges and its terminal, runs CMD or the
 *			demo, and is an ordinary client of the control socket
 *	  daemon	its child: the instance; drops privileges; ends with the supervisor
 *	    helper	the daemon's child: namespaces, TAPs, addresses (helper/helper.h)
 *
 * If one of these processes is killed, the others end and remove the sockets and namespaces.
 */

#include <stddef.h>

#include "util/log.h"

struct conf;
struct topo;

#define SERVE_ERR_MAX 1024

struct serve_cfg {
	/*
	 * Main function of the daemon, which runs in the child. When the function has made the
	 * objects of the instance, or has failed to make them, it writes one octet to @ready_fd:
	 * the exit status. If there is a text of the error, it writes the text after this octet.
	 * Returns the exit status of the process.
	 */
	int (*run)(const struct serve_cfg *cfg, int ready_fd);
	/*
	 * Removes the files and namespaces that remain if the daemon and its helper were killed;
	 * may be NULL.
	 */
	void (*clean)(const char *name);
	const char *name; /* name of the instance */
	const struct conf *conf;
	/* Topology of conf's first fabric, used instead of the topology file; NULL: read the file */
	const struct topo *topo;
	enum log_level verbosity;
	/*
	 * Descriptor of the log; -1: there is no log. The supervisor passes the descriptor of the
	 * log itself to serve_start(). In the daemon, .run gets one end of a socket instead. A
	 * thread of the supervisor copies from the other end to the log. So if the log accepts
	 * nothing for a while, only this thread waits.
	 */
	int log_fd;
	/* In .run: socket to systemd's journal (os/journal.h), if .log_fd is a stream to the journal; otherwise -1 */
	int journal;
	/*
	 * In .run: a pidfd of the supervisor, which is the last of the processes to end; -1 if the
	 * kernel supports no pidfds
	 */
	int supervisor;
};

struct serve_log;

struct serve {
	int pid; /* process id of the daemon */
	int ready_fd; /* descriptor that becomes readable when the daemon is ready or has failed */
	struct serve_log *log; /* thread that copies the log; NULL if there is no log */
	char name[32];
	void (*clean)(const char *name); /* function that cleans up, as in struct serve_cfg */
};

/* serve_start() - Fork the daemon. Return: 0 or -errno */
int serve_start(struct serve *s, const struct serve_cfg *cfg);

/**
 * serve_ready() - Wait until the daemon has made all objects and listens at its socket
 * @err:	message of the daemon on failure
 *
 * Links may still be coming up; the command `wait` waits for them.
 * Return: 0; otherwise the exit status to use (2 configuration, 3 environment, 1 anything else)
 */
int serve_ready(struct serve *s, char *err, size_t err_len);

/*
 * serve_stop() - End the daemon by SIGTERM, after 30 s by SIGKILL, and remove its sockets. Returns
 * its exit status, or 128 + signal
 */
int serve_stop(struct serve *s);

#endif
