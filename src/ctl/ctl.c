/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl/priv.h"

/* --- requests */

const struct ctl_cmd *ctl_cmd_find(const struct ctl *ctl,
				   bool (*is)(void *ctx, const struct ctl_cmd *c), void *ctx)
{
	for (const struct ctl_cmd *const *t = ctl->tables; *t; t++)
		for (const struct ctl_cmd *c = *t; c->name; c++)
			if (is(ctx, c))
				return c;
	return NULL;
}

static bool has_name(void *ctx, const struct ctl_cmd *c)
{
	return !strcmp(c->name, *(const char **)ctx);
}

static const char *unknown_arg(const struct ctl_cmd *cmd, json_t *args)
{
	const char *key;
	json_t *v;

	json_object_foreach(args, key, v)
	{
		const char *const *a = cmd->args;

		while (a && *a && strcmp(*a, key))
			a++;
		if (!a || !*a)
			return key;
	}
	return NULL;
}

/*
 * Tell whether the number of open requests of this command is at its limit. Without the limit,
 * requests that wait could use up all connections that the server accepts.
 */
static bool too_many(const struct ctl *ctl, const struct ctl_cmd *cmd)
{
	const struct ctl_client *c;
	unsigned int n = 0;

	if (!cmd->at_most)
		return false;
	list_for_each (c, &ctl->clients, link)
		n += c->hold && c->cmd == cmd && !c->dead;
	return n >= cmd->at_most;
}

static void serve(struct ctl_req *r, const struct ctl_cmd *cmd)
{
	r->client->cmd = cmd;
	cmd->fn(r);
}

static void refuse_change(struct ctl_req *r, const char *name)
{
	r->client->ctl->stats.changes_refused++;
	ctl_end_errno(r, PROTO_EXIT_FAILED, EACCES,
		      "%s: refused on the read-only socket; the control socket accepts it", name);
}

static void dispatch(struct ctl_req *r, json_t *req, json_t *args)
{
	const char *name = json_string_value(json_object_get(req, "cmd"));
	const struct ctl_cmd *cmd = name ? ctl_cmd_find(r->ctl, has_name, &name) : NULL;
	const char *bad;

	if (json_integer_value(json_object_get(req, "v")) != PROTO_VERSION)
		ctl_end(r, PROTO_EXIT_USAGE, "v: expected %d", PROTO_VERSION);
	else if (!name)
		ctl_end(r, PROTO_EXIT_USAGE, "cmd: missing, expected a string");
	else if (!cmd)
		ctl_end(r, PROTO_EXIT_USAGE, "cmd '%.64s': unknown", name);
	else if (r->client->door->reads_only && cmd->effect != CTL_READS)
		refuse_change(r, name);
	else if (!json_is_object(args))
		ctl_end(r, PROTO_EXIT_USAGE, "args: expected an object");
	else if ((bad = unknown_arg(cmd, args)))
		ctl_end(r, PROTO_EXIT_USAGE, "%s: unknown argument '%.64s'", name, bad);
	else if (too_many(r->ctl, cmd))
		ctl_end_errno(r, PROTO_EXIT_FAILED, EBUSY, "%s: %u requests wait already", name,
			      cmd->at_most);
	else
		serve(r, cmd);
}

void ctl_serve_line(struct ctl_client *c, const char *line, size_t len, ns_t now)
{
	struct ctl_req r = { .in = c->ctl->in, .ctl = c->ctl, .client = c, .now = now };
	json_error_t why;
	json_t *req = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why), *args, *none = NULL;

	c->busy = true;
	c->ctl->stats.requests++;
	if (!json_is_object(req)) {
		/*
		 * The text is not a request, so the place where the next request begins is not
		 * known. Read no more from this client, and drop it after the error was sent.
		 */
		c->eof = true;
		c->in_len = 0;
		ctl_end(&r, PROTO_EXIT_USAGE, "not a JSON object a line: %s",
			req ? "other value" : why.text);
		json_decref(req);
		return;
	}
	args = json_object_get(req, "args");
	if (!args)
		args = none = json_object();
	r.args = args;
	dispatch(&r, req, args);
	json_decref(none);
	json_decref(req);
}

static void reap(struct timer *t, ns_t now)
{
	struct ctl *ctl = container_of(t, struct ctl, reaper);
	struct ctl_client *c, *tmp;

	(void)now;
	list_for_each_safe (c, tmp, &ctl->clients, link)
		if (c->dead)
			ctl_client_free(c);
}

static void door_init(struct ctl *ctl, struct ctl_door *door)
{
	door->ctl = ctl;
	listener_init(&door->listen);
	door->listen.refused = &ctl->stats.clients_refused;
}

void ctl_init(struct ctl *ctl, struct inst *in, const struct ctl_cmd *const *tables)
{
	*ctl = (struct ctl){
		.in = in,
		.tables = tables,
		.supervisor = -1,
		.control.clients_max = CTL_CLIENTS_MAX,
		.reader = { .clients_max = CTL_READERS_MAX, .reads_only = true },
	};
	door_init(ctl, &ctl->control);
	door_init(ctl, &ctl->reader);
	list_init(&ctl->clients);
	list_init(&ctl->reload.waiters);
	ctl_turns_init(&ctl->slices);
	list_init(&ctl->drops.clients);
	timer_init(&ctl->reaper, reap);
}

/* --- listening */

static void on_client(struct listener *l, int sock, int pid, ns_t now)
{
	(void)pid;
	(void)now;
	ctl_client_add(container_of(l, struct ctl_door, listen), sock);
}

/*
 * The backlog of the socket is as large as the number of clients that are served, because a
 * non-blocking connect() fails when the backlog is full.
 */
static int door_open(struct ctl_door *door, char err[INST_ERR_MAX])
{
	int sock = -1;
	int status = listener_socket(&sock, door->path, SOCK_STREAM, (int)door->clients_max);

	if (!status)
		status = listener_start(&door->listen, &door->ctl->in->loop, sock, on_client);
	if (status) {
		snprintf(err, INST_ERR_MAX, "%s: %s", door->path, strerror(-status));
		if (sock >= 0)
			close(sock);
	}
	return status;
}

static int listen_at(struct ctl *ctl, char err[INST_ERR_MAX])
{
	const char *name = ctl->in->cfg.name;
	struct proto_client probe;
	int status;

	if (!proto_connect(&probe, name)) {
		proto_close(&probe);
		snprintf(err, INST_ERR_MAX,
			 "an instance called '%s' is running (%s); choose another name with -n",
			 name, ctl->control.path);
		return -EADDRINUSE;
	}
	status = door_open(&ctl->reader, err);
	return status ? status : door_open(&ctl->control, err);
}

/* Take the lock of the folder, so that no other instance claims the name at the same time. */
static int make_sockets(struct ctl *ctl, char err[INST_ERR_MAX])
{
	const char *name = ctl->in->cfg.name;
	int lock = proto_lock(), status;
	char dir[108] = "";

	status = lock < 0 ? lock : proto_path(ctl->control.path, sizeof(ctl->control.path), name);
	if (!status)
		status = proto_ro_path(ctl->reader.path, sizeof(ctl->reader.path), name);
	if (status) {
		proto_dir(dir, sizeof(dir), 0);
		snprintf(err, INST_ERR_MAX, "control socket in %s: %s", dir,
			 status == -EPERM ? "somebody else's, or others may write to it"
					  : strerror(-status));
	} else {
		status = listen_at(ctl, err);
	}
	if (lock >= 0)
		close(lock);
	return status;
}

static void stop_listening(struct ctl *ctl)
{
	listener_stop(&ctl->control.listen);
	listener_stop(&ctl->reader.listen);
}

int ctl_open(struct ctl **ret, struct inst *in, const struct ctl_cmd *const *tables,
	     char err[INST_ERR_MAX])
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));
	int status;

	if (!ctl) {
		snprintf(err, INST_ERR_MAX, "out of memory");
		return -ENOMEM;
	}
	ctl_init(ctl, in, tables);
	status = make_sockets(ctl, err);
	if (status) {
		stop_listening(ctl);
		if (status != -EADDRINUSE)
			proto_unlink(in->cfg.name);
		free(ctl);
		return status;
	}
	*ret = ctl;
	return 0;
}

void ctl_set_tools(struct ctl *ctl, const struct tools *tools)
{
	ctl->tools = tools;
}

void ctl_set_supervisor(struct ctl *ctl, int pidfd)
{
	ctl->supervisor = pidfd;
}

int ctl_supervisor(const struct ctl_req *r)
{
	return r->ctl->supervisor;
}

const struct tools *ctl_tools(const struct ctl_req *r)
{
	return r->ctl->tools;
}

void ctl_close(struct ctl *ctl)
{
	struct ctl_client *c, *tmp;

	if (!ctl)
		return;
	list_for_each_safe (c, tmp, &ctl->clients, link) {
		ctl_client_drop(c);
		ctl_client_free(c);
	}
	timer_cancel(&ctl->in->loop.timers, &ctl->reaper);
	stop_listening(ctl);
	proto_unlink(ctl->in->cfg.name);
	free(ctl);
}
