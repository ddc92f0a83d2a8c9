/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inst/fab.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "cmd/cmd.h"

/*
 * Captures are written to a socket. The other end belongs to the client, which copies the records itself, or to a
 * writer process that the client has started.
 */

static json_t *capture_row(const struct capfile *c)
{
	const struct capture_stats *s = capture_stats(c->cap);
	json_t *row =
		json_pack("{s:o}", "fabric", c->fabric ? ctl_str(c->fabric_name) : json_null());
	int error = c->error ? c->error : s->error;

	cmd_set_int(row, "id", c->id);
	cmd_set_str(row, "file", c->path);
	cmd_set(row, "link", *c->what ? ctl_str(c->what) : json_null());
	cmd_set_int(row, "packets", (long long)s->packets);
	cmd_set_int(row, "octets", (long long)s->octets);
	cmd_set_int(row, "missed", (long long)s->missed);
	cmd_set(row, "error", error ? json_string(strerror(-error)) : json_null());
	return row;
}

static void capture_show(struct ctl_req *r)
{
	bool bad, all = !ctl_arg_str(r, "fabric", &bad);
	const struct inst_fabric *f = bad || all ? NULL : ctl_arg_fabric(r);
	struct capfile *c;

	if (bad || (!all && !f))
		return;
	list_for_each (c, &r->in->captures.list, link)
		if (c->cap && (all || c->fabric == f->fabric))
			ctl_row(r, capture_row(c));
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

/* --- start */

/*
 * A capture that is written to a descriptor of the client ends when the client closes the
 * connection.
 */
struct stream {
	struct ctl_hold hold;
	struct inst *in;
	unsigned int id;
};

static struct capfile *find(struct inst *in, unsigned int id)
{
	struct capfile *c;

	list_for_each (c, &in->captures.list, link)
		if (c->id == id && c->cap)
			return c;
	return NULL;
}

static void stream_gone(struct ctl_hold *h)
{
	struct stream *s = container_of(h, struct stream, hold);
	struct capfile *c = find(s->in, s->id); /* NULL if `capture stop` has ended it */

	if (c)
		capfile_close(c);
	free(s);
}

static void start_stream(struct ctl_req *r, const struct capfile_at *at, int fd)
{
	struct stream *s = calloc(1, sizeof(*s));
	char err[INST_ERR_MAX];
	struct capfile *c;

	if (!s) {
		close(fd);
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	if (capfile_open_fd(at, fd, "-", &c, err)) {
		free(s);
		ctl_end(r, PROTO_EXIT_USAGE, "%s", err);
		return;
	}
	s->in = r->in;
	s->id = c->id;
	ctl_row(r, capture_row(c));
	ctl_hold(r, &s->hold, stream_gone);
}

/*
 * Starts a capture into the socket @fd of a client's writer process; takes @fd. The capture lasts until it is
 * stopped or the instance ends.
 */
static void start_file(struct ctl_req *r, const struct capfile_at *at, int fd, const char *file)
{
	char err[INST_ERR_MAX];
	struct capfile *c;

	if (capfile_open_fd(at, fd, file, &c, err)) {
		ctl_end(r, PROTO_EXIT_USAGE, "%s", err);
		return;
	}
	ctl_row(r, capture_row(c));
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

/*
 * Return: the source of a capture: the packets that interfaces send and receive on a port
 * verbs:DEVICE/PORT. The capture writes its messages to the log of the instance and not of the
 * port, because the capture may outlive the port
 */
static struct capfile_at port_packets(struct inst_port *p)
{
	return (struct capfile_at){ .files = &p->inst->captures,
				    .log = &p->inst->cfg.log,
				    .name = p->name,
				    .ca = p->ifc.ca };
}

static bool port_at(struct ctl_req *r, const char *name, struct capfile_at *ret)
{
	struct inst_port *p = port_verbs_find(r->in, name);

	if (p)
		*ret = port_packets(p);
	else
		ctl_end(r, PROTO_EXIT_USAGE,
			"port '%s': expected verbs:DEVICE/PORT of an interface", name);
	return p;
}

static bool fabric_at(struct ctl_req *r, const char *link, struct capfile_at *ret)
{
	struct inst_fabric *f = ctl_arg_fabric(r);

	if (!f)
		return false;
	*ret = fab_packets(f);
	ret->link = link;
	return true;
}

static void iface_at(const struct inst_iface *i, struct capfile_at *ret)
{
	if (!i->port->fab) {
		*ret = port_packets(i->port);
		return;
	}
	*ret = fab_packets(i->port->fab);
	ret->link = i->port->name;
}

/*
 * Reads the arguments that choose the packets to capture. Return: false if an argument is wrong,
 * after an error was sent to the client
 */
static bool arg_at(struct ctl_req *r, struct capfile_at *ret)
{
	bool bad;
	const struct inst_iface *i = ctl_arg_iface(r, &bad);
	const char *port = bad ? NULL : ctl_arg_str(r, "port", &bad);
	const char *link = bad ? NULL : ctl_arg_str(r, "link", &bad);

	if (bad)
		return false;
	if ((i != NULL) + (port != NULL) + (link != NULL) > 1) {
		ctl_end(r, PROTO_EXIT_USAGE,
			"capture start: link, port and dev exclude each other");
		return false;
	}
	if (port)
		return port_at(r, port, ret);
	if (!i)
		return fabric_at(r, link, ret);
	iface_at(i, ret);
	return true;
}

static void capture_start(struct ctl_req *r)
{
	bool bad;
	const char *file = ctl_arg_str(r, "file", &bad);
	struct capfile_at at;
	bool ok = !bad && arg_at(r, &at);
	int fd = ctl_take_fd(r);

	if (ok && fd >= 0) {
		if (file && strcmp(file, "-") != 0)
			start_file(r, &at, fd, file);
		else
			start_stream(r, &at, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (ok)
		ctl_end(r, PROTO_EXIT_USAGE, "capture start: expected a descriptor to write to");
}

/* --- stop */

/* A client whose `capture stop` waits until the capture is written completely. */
struct stopper {
	struct ctl_hold hold;
	struct capfile *cap;
	unsigned int id;
	json_t *row;
};

static void stopped(struct ctl_req *r, unsigned int id, json_t *row, int error)
{
	ctl_row(r, row);
	if (error)
		ctl_end(r, PROTO_EXIT_FAILED, "capture %u: %s", id, strerror(-error));
	else
		ctl_end(r, PROTO_EXIT_OK, NULL);
}

static void stop_done(struct capfile *c, void *ctx, int error)
{
	struct stopper *s = ctx;

	(void)c;
	s->hold.req.now = s->hold.req.in->loop.now;
	stopped(&s->hold.req, s->id, s->row, error);
	free(s);
}

static void stop_gone(struct ctl_hold *h)
{
	struct stopper *s = container_of(h, struct stopper, hold);

	capfile_forget(s->cap);
	json_decref(s->row);
	free(s);
}

static void capture_stop(struct ctl_req *r)
{
	bool bad;
	unsigned int id = (unsigned int)ctl_arg_int(r, "id", 1, UINT32_MAX, 0, &bad);
	struct capfile *c = bad ? NULL : find(r->in, id);
	struct stopper *s;
	int error;

	if (bad)
		return;
	if (!c) {
		ctl_end(r, PROTO_EXIT_USAGE, id ? "id %u: no such capture" : "id: missing", id);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	*s = (struct stopper){ .cap = c, .id = id, .row = capture_row(c) };
	error = capfile_stop(c, stop_done, s);
	if (error == -EINPROGRESS) {
		ctl_hold(r, &s->hold, stop_gone);
		return;
	}
	stopped(r, id, s->row, error);
	free(s);
}

const struct ctl_cmd cmd_capture[] = {
	{ "capture show", CTL_READS, capture_show, (const char *const[]){ "fabric", NULL } },
	{ "capture start", CTL_CHANGES, capture_start,
	  (const char *const[]){ "file", "link", "port", "dev", "fabric", NULL } },
	{ "capture stop", CTL_CHANGES, capture_stop, (const char *const[]){ "id", NULL } },
	{ NULL },
};
