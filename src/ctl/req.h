/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_REQ_H
#define CTL_REQ_H

/*
 * Declarations for the commands of the control protocol: the rows of their tables, and functions that read arguments,
 * and send rows and the end of an answer
 */

#include <jansson.h>

#include "inst/inst.h"
#include "proto/proto.h"

#define CTL_CLIENTS_MAX 64 /* connections of the control socket that are served at a time */
#define CTL_READERS_MAX 16 /* connections of the read-only socket that are served at a time */

struct ctl;
struct tools;
struct ctl_client;

/* A request that is being answered. The struct is valid until ctl_end(), or until the client disconnects. */
struct ctl_req {
	struct inst *in;
	const struct ctl *ctl; /* server to which .client is connected */
	struct ctl_client *client;
	const json_t *args; /* JSON object, borrowed during the call of the command */
	ns_t now;
};

/* A command answers with ctl_row() and ctl_end(), at once or, if it has called ctl_hold(), later. */
typedef void ctl_fn(struct ctl_req *r);

/* Whether a command is carried out or refused on the read-only socket */
enum ctl_effect {
	/*
	 * The row of the command does not say whether the command only reads. The read-only socket
	 * refuses the command, as with CTL_CHANGES
	 */
	CTL_UNDECIDED,
	/* The command changes nothing in the instance, sends nothing, and gives out neither packets nor descriptors. */
	CTL_READS,
	CTL_CHANGES,
};

struct ctl_cmd {
	const char *name; /* "link show" */
	enum ctl_effect effect;
	ctl_fn *fn;
	/*
	 * names of the arguments that the command takes, NULL-terminated; a request with any other argument is
	 * refused
	 */
	const char *const *args;
	/*
	 * largest number of requests of this command that may wait for their answers at a time; excess requests are
	 * refused. 0: no limit
	 */
	unsigned int at_most;
};

/*
 * ctl_str() - Return a JSON string of @s. Octets that are not UTF-8 are escaped (util/escape.h),
 * because JSON allows only UTF-8
 */
json_t *ctl_str(const char *s);
/*
 * ctl_strf() - Return a JSON string of a text that a printf() format makes, escaped as by ctl_str()
 */
json_t *ctl_strf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * ctl_row() - Send a row; takes ownership of @row. If @row is NULL, because memory ran out, the
 * client is dropped
 */
void ctl_row(struct ctl_req *r, json_t *row);

/*
 * ctl_flush() - Send the rows so far, of an answer whose rows are otherwise sent at its end
 *
 * ctl_unread() - Return the number of octets of the answer that the client has not read yet, so that they wait to be sent
 */
void ctl_flush(struct ctl_req *r);
size_t ctl_unread(const struct ctl_req *r);

/* ctl_end() - End the answer with an exit status and the text of the error; @fmt is NULL if there is no error */
void ctl_end(struct ctl_req *r, enum proto_exit status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * ctl_end_errno() - ctl_end() with the member "errno", the name of the positive error number @err in errno(3),
 * by which programs tell errors apart
 */
void ctl_end_errno(struct ctl_req *r, enum proto_exit status, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * ctl_end_with() - End the answer, with @members in its end object; takes ownership of @members and
 * of up to 2 descriptors
 */
void ctl_end_with(struct ctl_req *r, json_t *members, const int *fds, unsigned int nfds);

/*
 * ctl_hold() - Answer a request later. The request stays in @h until ctl_end() is called with
 * &h->req, or until the client's connection ends; in the second case @gone is called. After the
 * call of ctl_hold(), h->req.args is NULL. The command that called ctl_hold() sets h->req.now
 * before it sends a row or the end. @gone is never called from inside ctl_row() or ctl_end(), nor
 * after ctl_end().
 */
struct ctl_hold {
	struct ctl_req req;
	/*
	 * true: all rows are sent with the end of the answer; false: each row is sent at once. The
	 * command sets this member before it calls ctl_hold()
	 */
	bool rows_at_end;
	void (*gone)(struct ctl_hold *h);
	struct ctl_client *client;
};
void ctl_hold(struct ctl_req *r, struct ctl_hold *h, void (*gone)(struct ctl_hold *h));

/* ctl_tools() - Return the sockets of management programs; NULL if there are none, as in tests */
const struct tools *ctl_tools(const struct ctl_req *r);

/*
 * ctl_supervisor() - Return the pidfd of the process of the instance that ends last; -1 if there is
 * none, as in tests
 */
int ctl_supervisor(const struct ctl_req *r);

/* ctl_take_fd() - Take the descriptor that came with the request; the caller has to close it. -1: none came */
int ctl_take_fd(struct ctl_req *r);

/*
 * Return an argument; NULL or false if the argument is absent. If the type of the argument is
 * wrong, end the request and set *bad.
 */
const char *ctl_arg_str(struct ctl_req *r, const char *name, bool *bad);
bool ctl_arg_bool(struct ctl_req *r, const char *name, bool *bad);
/*
 * Return an argument; @def if the argument is absent. If its value is outside [min, max], end the
 * request and set *bad.
 */
long long ctl_arg_int(struct ctl_req *r, const char *name, long long min, long long max,
		      long long def, bool *bad);

/*
 * ctl_arg_iface() - Return the interface that the argument "dev" names
 *
 * Return: NULL with *bad false if the argument is absent, which means all interfaces; NULL with *bad true after an
 * error was sent
 */
struct inst_iface *ctl_arg_iface(struct ctl_req *r, bool *bad);
/*
 * ctl_arg_fabric() - Return the fabric that the argument "fabric" names; without the argument, return the only
 * fabric. NULL after an error was sent
 */
struct inst_fabric *ctl_arg_fabric(struct ctl_req *r);

#endif
