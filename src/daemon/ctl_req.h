/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CTL_REQ_H
#define DAEMON_CTL_REQ_H

/* What the commands of the control protocol use: their table, rows and ends. */

#include <jansson.h>

#include "daemon/inst.h"
#include "daemon/proto.h"

struct ctl_client;

/* A request that is being answered. Valid until ctl_end(), or until its client goes. */
struct ctl_req {
	struct inst *in;
	struct ctl_client *client;
	const json_t *args; /* an object; borrowed for the call of the command */
	ns_t now;
};

/* A command answers with ctl_row() and ctl_end(), at once or later (then it sets ctl_hold()). */
typedef void ctl_fn(struct ctl_req *r);

struct ctl_cmd {
	const char *name; /* "link show" */
	ctl_fn *fn;
	const char *const *args; /* names it takes, NULL-terminated; others are errors */
};

/* Tables, one a file daemon/cmd_*.c; each ends with a NULL name. */
extern const struct ctl_cmd cmd_link[], cmd_neigh[], cmd_path[], cmd_maddr[], cmd_stats[],
	cmd_fabric[], cmd_fault[], cmd_capture[], cmd_trace[], cmd_instance[], cmd_monitor[],
	cmd_inject[];

/* ctl_row() - Send a row; takes @row (NULL: out of memory, ends the client) */
void ctl_row(struct ctl_req *r, json_t *row);

/* ctl_end() - End the answer. @fmt: the error, NULL if there is none */
void ctl_end(struct ctl_req *r, enum proto_exit status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ctl_end_with() - End with more members in the end object; takes @members, and up to 2 descriptors */
void ctl_end_with(struct ctl_req *r, json_t *members, const int *fds, unsigned int nfds);

/*
 * ctl_hold() - The answer ends later: the request lives on in @h until ctl_end() with &h->req, or until the
 * client goes, when @gone is called. h->req.args is NULL then. The holder sets h->req.now before
 * each row and the end. @gone is never called from inside ctl_row() or ctl_end(); after ctl_end() it is
 * not called any more.
 */
struct ctl_hold {
	struct ctl_req req;
	void (*gone)(struct ctl_hold *h);
	struct ctl_client *client;
};
void ctl_hold(struct ctl_req *r, struct ctl_hold *h, void (*gone)(struct ctl_hold *h));

/* ctl_take_fd() - The descriptor that came with the request, the caller's to close; -1: none */
int ctl_take_fd(struct ctl_req *r);

/* Arguments. NULL or the default where absent; a wrong type ends the request: *bad is set. */
const char *ctl_arg_str(struct ctl_req *r, const char *name, bool *bad);
bool ctl_arg_bool(struct ctl_req *r, const char *name, bool *bad);
/* @def where absent; ends the request if outside [min, max] */
long long ctl_arg_int(struct ctl_req *r, const char *name, long long min, long long max,
		      long long def, bool *bad);

/*
 * ctl_arg_iface() - Interface named by "dev": NULL with *bad false if absent (all of them), or
 * NULL with *bad true after an error was sent
 */
struct inst_iface *ctl_arg_iface(struct ctl_req *r, bool *bad);
/* ctl_arg_fabric() - Named by "fabric", else the only one; NULL after an error was sent */
struct inst_fabric *ctl_arg_fabric(struct ctl_req *r);

#endif
