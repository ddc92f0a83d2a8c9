/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CAPFILE_H
#define DAEMON_CAPFILE_H

/*
 * Captures that go to a file. Records gather in a buffer, so that the data path makes no system
 * call for each packet; the buffer is written when it is full and once a wake-up of the loop. A
 * write that fails ends the capture with its error, never the fabric.
 */

#include "daemon/inst.h"

#define CAPFILE_BUF (256 * 1024)

struct capfile {
	struct list link; /* in inst_fabric.captures */
	struct inst_fabric *fab;
	struct capture *cap;
	unsigned int id;
	int fd;
	bool owned; /* fd is to be closed */
	bool said; /* its error was logged */
	char path[256];
	char what[FABRIC_NAME_MAX]; /* "" all end ports, else a port whose link it is */
	size_t len; /* octets in buf */
	int error; /* of the file */
	uint8_t buf[CAPFILE_BUF];
};

/**
 * capfile_open() - Start a capture
 * @path:	"-" is standard output; pcapng if it ends in .pcapng or @what is given
 * @what:	NULL: each packet once, at the end ports; else "NODE/PORT", both directions of its link
 *
 * Return: 0; -EEXIST @path is being written already; -errno; with @err
 */
int capfile_open(struct inst_fabric *f, const char *path, const char *what, struct capfile **ret,
		 char err[INST_ERR_MAX]);

/* capfile_open_fd() - The same into a descriptor that is taken (SCM_RIGHTS from a client) */
int capfile_open_fd(struct inst_fabric *f, int fd, const char *path, const char *what,
		    struct capfile **ret, char err[INST_ERR_MAX]);

/* capfile_close() - Flush and end; returns the first error it had: 0 or -errno */
int capfile_close(struct capfile *c);
void capfile_close_all(struct inst_fabric *f);

/* capfile_follow() - A link to the outside has come: captures of all end ports see what enters by it */
void capfile_follow(struct inst_fabric *f);

/* capfile_flush_all() - Once a wake-up */
void capfile_flush_all(struct inst *in);

#endif
