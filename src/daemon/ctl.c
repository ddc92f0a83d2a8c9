/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/ctl_priv.h"

static const struct ctl_cmd *const tables[] = {
	cmd_link,  cmd_neigh,	cmd_path,  cmd_maddr,	 cmd_stats,   cmd_fabric,
	cmd_fault, cmd_capture, cmd_trace, cmd_instance, cmd_monitor, cmd_inject,
};

/* --- requests */

static const struct ctl_cmd *find_cmd(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct ctl_cmd *c = tables[i]; c->name; c++)
			if (!strcmp(c->name, name))
				return c;
	return NULL;
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

static void dispatch(struct ctl_req *r, json_t *req, json_t *args)
{
	const char *name = json_string_value(json_object_get(req, "cmd"));
	const struct ctl_cmd *cmd = name ? find_cmd(name) : NULL;
	const char *bad;

	if (json_integer_value(json_object_get(req, "v")) != PROTO_VERSION)
		ctl_end(r, PROTO_EXIT_USAGE, "v: expected %d", PROTO_VERSION);
	else if (!name)
		ctl_end(r, PROTO_EXIT_USAGE, "cmd: missing, expected a string");
	else if (!cmd)
		ctl_end(r, PROTO_EXIT_USAGE, "cmd '%.64s': unknown", name);
	else if (!json_is_object(args))
		ctl_end(r, PROTO_EXIT_USAGE, "args: expected an object");
	else if ((bad = unknown_arg(cmd, args)))
		ctl_end(r, PROTO_EXIT_USAGE, "%s: unknown argument '%.64s'", name, bad);
	else
		cmd->fn(r);
}

void ctl_serve_line(struct ctl_client *c, const char *line, size_t len, ns_t now)
{
	struct ctl_req r = { .in = c->ctl->in, .client = c, .now = now };
	json_error_t why;
	json_t *req = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why), *args, *none = NULL;

	c->busy = true;
	if (!json_is_object(req)) {
		c->eof = true; /* after garbage nothing can be trusted to be a line */
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

void ctl_init(struct ctl *ctl, struct inst *in)
{
	*ctl = (struct ctl){ .in = in, .listen = { .fd = -1 } };
	list_init(&ctl->clients);
	timer_init(&ctl->reaper, reap);
}

/* --- listening */

static bool peer_ok(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) &&
	       (cred.uid == 0 || cred.uid == geteuid());
}

static void on_accept(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct ctl *ctl = container_of(fd, struct ctl, listen);
	int s = accept4(fd->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	(void)now;
	if (s < 0)
		return;
	if (peer_ok(s))
		ctl_client_add(ctl, s);
	else
		close(s);
}

static int bind_socket(struct ctl *ctl, int s, char err[INST_ERR_MAX])
{
	const char *name = ctl->in->cfg.name;
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct proto_client probe;
	mode_t mask;
	int status;

	memcpy(sa.sun_path, ctl->path, sizeof(ctl->path));
	if (!proto_connect(&probe, name)) {
		proto_close(&probe);
		snprintf(err, INST_ERR_MAX,
			 "an instance called '%s' is running (%s); choose another name with -n",
			 name, ctl->path);
		return -EADDRINUSE;
	}
	unlink(ctl->path); /* of one that was killed */
	mask = umask(0177);
	status = bind(s, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(s, 16) < 0 ? -errno : 0;
	umask(mask);
	if (status) {
		ctl->in->env_lacks = true;
		snprintf(err, INST_ERR_MAX, "%s: %s", ctl->path, strerror(-status));
	}
	return status;
}

/* Nobody else tries the same name at the same time. */
static int make_socket(struct ctl *ctl, int *ret, char err[INST_ERR_MAX])
{
	int lock = proto_lock(), s = -1, status;
	char dir[108] = "";

	status = lock < 0 ? lock : proto_path(ctl->path, sizeof(ctl->path), ctl->in->cfg.name);
	if (!status)
		s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (!status && s < 0)
		status = -errno;
	if (status) {
		proto_dir(dir, sizeof(dir), 0);
		ctl->in->env_lacks = true;
		snprintf(err, INST_ERR_MAX, "control socket in %s: %s", dir,
			 status == -EPERM ? "somebody else's, or others may write to it"
					  : strerror(-status));
	} else {
		status = bind_socket(ctl, s, err);
	}
	if (lock >= 0)
		close(lock);
	if (status && s >= 0)
		close(s);
	else if (!status)
		*ret = s;
	return status;
}

int ctl_open(struct inst *in, char err[INST_ERR_MAX])
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));
	int s, status;

	if (!ctl) {
		snprintf(err, INST_ERR_MAX, "out of memory");
		return -ENOMEM;
	}
	ctl_init(ctl, in);
	status = make_socket(ctl, &s, err);
	if (status) {
		free(ctl);
		return status;
	}
	status = loop_watch(&in->loop, &ctl->listen, s, EPOLLIN, on_accept);
	if (status) {
		snprintf(err, INST_ERR_MAX, "%s: %s", ctl->path, strerror(-status));
		close(s);
		proto_unlink(in->cfg.name);
		free(ctl);
		return status;
	}
	in->ctl = ctl;
	return 0;
}

void ctl_close(struct inst *in)
{
	struct ctl *ctl = in->ctl;
	struct ctl_client *c, *tmp;
	int s;

	if (!ctl)
		return;
	list_for_each_safe (c, tmp, &ctl->clients, link) {
		ctl_client_drop(c);
		ctl_client_free(c);
	}
	timer_cancel(&in->loop.timers, &ctl->reaper);
	s = ctl->listen.fd;
	loop_unwatch(&in->loop, &ctl->listen);
	close(s);
	proto_unlink(in->cfg.name);
	free(ctl);
	in->ctl = NULL;
}
