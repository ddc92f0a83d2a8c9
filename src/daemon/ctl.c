/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/ctl_req.h"

#define CLIENTS_MAX 64
#define OUT_MAX (64u * 1024 * 1024) /* octets that wait for one client */
#define STUCK NS_SEC(1) /* a client that takes nothing for so long is dropped */

struct ctl {
	struct inst *in;
	struct loop_fd listen;
	struct list clients;
	unsigned int nclients;
	struct timer reaper; /* frees clients outside the loop's callbacks */
	char path[108];
};

struct ctl_client {
	struct list link;
	struct ctl *ctl;
	int sock;
	struct loop_fd fd;
	struct timer stuck;
	struct ctl_hold *hold; /* the request that is still open */
	char *out;
	size_t out_len, out_done, out_cap;
	int fds[2]; /* to go with the next octet sent */
	unsigned int nfds;
	int in_fd; /* the last one received that no command has taken; -1 */
	bool busy; /* a request is being answered */
	bool dead;
	bool eof; /* it sends no more: drop it when everything is out */
	size_t in_len;
	char in[PROTO_LINE_MAX];
};

static const struct ctl_cmd *const tables[] = {
	cmd_link,  cmd_neigh,	cmd_path,  cmd_maddr,	 cmd_stats,   cmd_fabric,
	cmd_fault, cmd_capture, cmd_trace, cmd_instance, cmd_monitor, cmd_inject,
};

/* --- clients */

/* Not freed yet: whoever is answering may go on, into the void. */
static void client_drop(struct ctl_client *c)
{
	struct inst *in = c->ctl->in;

	if (c->dead)
		return;
	c->dead = true;
	loop_unwatch(&in->loop, &c->fd);
	timer_cancel(&in->loop.timers, &c->stuck);
	timer_arm(&in->loop.timers, &c->ctl->reaper, 0);
}

static void client_free(struct ctl_client *c)
{
	struct ctl_hold *h = c->hold;

	c->hold = NULL;
	if (h) {
		h->client = NULL;
		h->gone(h);
	}
	if (c->in_fd >= 0)
		close(c->in_fd);
	list_del(&c->link);
	c->ctl->nclients--;
	close(c->sock);
	while (c->nfds)
		close(c->fds[--c->nfds]);
	free(c->out);
	free(c);
}

static void client_on_stuck(struct timer *t, ns_t now)
{
	struct ctl_client *c = container_of(t, struct ctl_client, stuck);

	(void)now;
	log_to(&c->ctl->in->cfg.log, LOG_LVL_WARN, "control: a client does not read; dropped");
	client_drop(c);
}

/* --- output */

static ssize_t send_some(struct ctl_client *c)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec iov = { c->out + c->out_done, c->out_len - c->out_done };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (c->nfds) {
		struct cmsghdr *h;

		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(c->nfds * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(c->nfds * sizeof(int));
		memcpy(CMSG_DATA(h), c->fds, c->nfds * sizeof(int));
	}
	return sendmsg(c->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void sent_fds(struct ctl_client *c)
{
	while (c->nfds)
		close(c->fds[--c->nfds]);
}

static void client_io(struct loop_fd *fd, uint32_t events, ns_t now);

/* Requests beyond what the buffer holds are left in the socket while one is being answered. */
static void client_watch(struct ctl_client *c)
{
	uint32_t events = 0;

	if (!c->eof && !(c->busy && c->in_len == sizeof(c->in)))
		events |= EPOLLIN;
	if (c->out_done < c->out_len)
		events |= EPOLLOUT;
	loop_watch(&c->ctl->in->loop, &c->fd, c->sock, events, client_io);
}

/* When all is said the connection ends; else wait for what is to come. */
static void client_settle(struct ctl_client *c)
{
	if (c->dead)
		return;
	if (c->eof && !c->busy && c->out_done == c->out_len && !memchr(c->in, '\n', c->in_len))
		client_drop(c);
	else
		client_watch(c);
}

static void client_write(struct ctl_client *c, ns_t now)
{
	struct inst *in = c->ctl->in;

	while (!c->dead && c->out_done < c->out_len) {
		ssize_t n = send_some(c);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			client_watch(c);
			if (!timer_armed(&c->stuck))
				timer_arm(&in->loop.timers, &c->stuck, now + STUCK);
			return;
		}
		if (n < 0) {
			client_drop(c);
			return;
		}
		sent_fds(c);
		c->out_done += (size_t)n;
		timer_cancel(&in->loop.timers, &c->stuck);
	}
	if (!c->dead)
		c->out_len = c->out_done = 0;
	client_settle(c);
}

static bool out_reserve(struct ctl_client *c, size_t n)
{
	size_t cap = c->out_cap ? c->out_cap : 16384;
	char *bigger;

	while (cap < c->out_len + n)
		cap *= 2;
	if (cap == c->out_cap)
		return true;
	bigger = cap > OUT_MAX ? NULL : realloc(c->out, cap);
	if (!bigger)
		return false;
	c->out = bigger;
	c->out_cap = cap;
	return true;
}

/* Takes @obj. */
static void put_line(struct ctl_client *c, json_t *obj)
{
	size_t n = obj && !c->dead ? json_dumpb(obj, NULL, 0, JSON_COMPACT) : 0;

	if (c->dead) {
		json_decref(obj);
		return;
	}
	if (!n || !out_reserve(c, n + 1)) {
		json_decref(obj);
		client_drop(c);
		return;
	}
	json_dumpb(obj, c->out + c->out_len, n, JSON_COMPACT);
	c->out[c->out_len + n] = '\n';
	c->out_len += n + 1;
	json_decref(obj);
}

void ctl_row(struct ctl_req *r, json_t *row)
{
	put_line(r->client, row ? json_pack("{s:o}", "row", row) : NULL);
	/* A monitor's rows go out as they come; a dump's when it ends. */
	if (r->client->hold)
		client_write(r->client, r->now);
}

static void serve_lines(struct ctl_client *c, ns_t now);

static void finish(struct ctl_req *r, json_t *end)
{
	struct ctl_client *c = r->client;
	bool held = c->hold != NULL;

	put_line(c, json_pack("{s:o}", "end", end));
	c->busy = false;
	c->hold = NULL;
	client_write(c, r->now);
	/* What the client sent meanwhile; without a hold the caller's loop goes on itself. */
	if (held && !c->dead) {
		serve_lines(c, r->now);
		client_settle(c);
	}
}

void ctl_end(struct ctl_req *r, enum proto_exit status, const char *fmt, ...)
{
	json_t *end = json_pack("{s:i}", "status", (int)status);
	char text[INST_ERR_MAX];
	va_list ap;

	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		json_object_set_new(end, "error", json_string(text));
	}
	finish(r, end);
}

void ctl_end_with(struct ctl_req *r, json_t *members, const int *fds, unsigned int nfds)
{
	struct ctl_client *c = r->client;

	json_object_set_new(members, "status", json_integer(PROTO_EXIT_OK));
	/* Descriptors travel with the next octet: everything before must be out. */
	client_write(c, r->now);
	for (unsigned int i = 0; i < nfds; i++) {
		if (c->nfds < 2 && !c->dead)
			c->fds[c->nfds++] = fds[i];
		else
			close(fds[i]);
	}
	finish(r, members);
}

void ctl_hold(struct ctl_req *r, struct ctl_hold *h, void (*gone)(struct ctl_hold *h))
{
	h->req = *r;
	h->req.args = NULL;
	h->gone = gone;
	h->client = r->client;
	r->client->hold = h;
	client_write(r->client, r->now);
}

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

static void serve_line(struct ctl_client *c, const char *line, size_t len, ns_t now)
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

static void serve_lines(struct ctl_client *c, ns_t now)
{
	char *nl;

	while (!c->dead && !c->busy && (nl = memchr(c->in, '\n', c->in_len))) {
		size_t n = (size_t)(nl - c->in) + 1;
		char line[PROTO_LINE_MAX];

		memcpy(line, c->in, n);
		memmove(c->in, c->in + n, c->in_len - n);
		c->in_len -= n;
		serve_line(c, line, n - 1, now);
	}
}

static void too_long(struct ctl_client *c, ns_t now)
{
	struct ctl_req r = { .in = c->ctl->in, .client = c, .now = now };

	c->eof = true;
	c->in_len = 0;
	ctl_end(&r, PROTO_EXIT_USAGE, "a line of more than %d octets", PROTO_LINE_MAX);
}

/* As recv(); a descriptor that comes along waits for the command that takes it. */
static ssize_t receive(struct ctl_client *c)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { c->in + c->in_len, sizeof(c->in) - c->in_len };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(c->sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *h = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
	    h->cmsg_len == CMSG_LEN(sizeof(int))) {
		if (c->in_fd >= 0)
			close(c->in_fd);
		memcpy(&c->in_fd, CMSG_DATA(h), sizeof(c->in_fd));
	}
	return n;
}

int ctl_take_fd(struct ctl_req *r)
{
	int fd = r->client->in_fd;

	r->client->in_fd = -1;
	return fd;
}

static void client_read(struct ctl_client *c, ns_t now)
{
	ssize_t n;

	if (c->in_len == sizeof(c->in)) {
		if (!c->busy)
			too_long(c, now);
		return;
	}
	n = receive(c);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		client_drop(c);
		return;
	}
	if (n == 0)
		c->eof = true; /* half closed: what it asked for is still answered */
	c->in_len += (size_t)n;
	serve_lines(c, now);
	client_settle(c);
}

static void client_io(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct ctl_client *c = container_of(fd, struct ctl_client, fd);

	/* Closed at both ends: only what it sent before may still be of interest. */
	if ((events & EPOLLERR) || ((events & EPOLLHUP) && (c->busy || c->eof))) {
		client_drop(c);
		return;
	}
	if (events & EPOLLOUT)
		client_write(c, now);
	if (!c->dead && !c->eof && (events & (EPOLLIN | EPOLLHUP)))
		client_read(c, now);
}

static void reap(struct timer *t, ns_t now)
{
	struct ctl *ctl = container_of(t, struct ctl, reaper);
	struct ctl_client *c, *tmp;

	(void)now;
	list_for_each_safe (c, tmp, &ctl->clients, link)
		if (c->dead)
			client_free(c);
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
	struct ctl_client *c;

	(void)events;
	(void)now;
	if (s < 0)
		return;
	c = ctl->nclients < CLIENTS_MAX && peer_ok(s) ? malloc(sizeof(*c)) : NULL;
	if (!c) {
		close(s);
		return;
	}
	memset(c, 0, offsetof(struct ctl_client, in));
	c->ctl = ctl;
	c->sock = s;
	c->in_fd = -1;
	timer_init(&c->stuck, client_on_stuck);
	list_add_tail(&ctl->clients, &c->link);
	ctl->nclients++;
	if (loop_watch(&ctl->in->loop, &c->fd, s, EPOLLIN, client_io))
		client_free(c);
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
			 "an instance called '%s' is running (%s); choose another with -n", name,
			 ctl->path);
		return -EADDRINUSE;
	}
	unlink(ctl->path);
	mask = umask(0177);
	status = bind(s, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(s, 16) < 0 ? -errno : 0;
	umask(mask);
	if (status)
		snprintf(err, INST_ERR_MAX, "%s: %s", ctl->path, strerror(-status));
	return status;
}

int ctl_open(struct inst *in, char err[INST_ERR_MAX])
{
	struct ctl *ctl = calloc(1, sizeof(*ctl));
	char dir[108];
	int s, status;

	if (!ctl)
		return -ENOMEM;
	ctl->in = in;
	list_init(&ctl->clients);
	timer_init(&ctl->reaper, reap);
	status = proto_dir(dir, sizeof(dir), 1);
	if (!status)
		status = proto_path(ctl->path, sizeof(ctl->path), in->cfg.name);
	s = status ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0) {
		status = status ? status : -errno;
		snprintf(err, INST_ERR_MAX, "control socket in %s: %s", dir, strerror(-status));
		free(ctl);
		return status;
	}
	status = bind_socket(ctl, s, err);
	if (!status)
		status = loop_watch(&in->loop, &ctl->listen, s, EPOLLIN, on_accept);
	if (status) {
		close(s);
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
		client_drop(c);
		client_free(c);
	}
	timer_cancel(&in->loop.timers, &ctl->reaper);
	s = ctl->listen.fd;
	loop_unwatch(&in->loop, &ctl->listen);
	close(s);
	proto_unlink(in->cfg.name);
	free(ctl);
	in->ctl = NULL;
}
