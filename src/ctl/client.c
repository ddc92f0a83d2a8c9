/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fdpass.h"

/* --- clients */

void ctl_client_drop(struct ctl_client *c)
{
	struct inst *in = c->ctl->in;

	if (c->dead)
		return;
	c->dead = true;
	loop_unwatch(&in->loop, &c->fd);
	timer_cancel(&in->loop.timers, &c->stuck);
	timer_arm(&in->loop.timers, &c->ctl->reaper, 0);
}

void ctl_client_free(struct ctl_client *c)
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
	c->door->nclients--;
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
	c->ctl->stats.clients_stuck++;
	log_to(&c->ctl->in->cfg.log, LOG_LVL_WARN, "control: a client does not read; dropped");
	ctl_client_drop(c);
}

/* --- output */

static ssize_t send_some(struct ctl_client *c)
{
	union fdpass_control control;
	struct iovec iov = { c->out + c->out_done, c->out_len - c->out_done };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	fdpass_attach(&m, &control, c->fds, c->nfds);
	return sendmsg(c->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void sent_fds(struct ctl_client *c)
{
	while (c->nfds)
		close(c->fds[--c->nfds]);
}

static void client_io(struct loop_fd *fd, uint32_t events, ns_t now);

static bool has_line(const struct ctl_client *c)
{
	return memchr(c->in, '\n', c->in_len);
}

static bool all_out(const struct ctl_client *c)
{
	return c->out_done == c->out_len;
}

/*
 * Set the events for which the loop watches a client's socket. In a wake-up of the loop, at most one request of a
 * client is served, and only when the answer to the client's previous request has been sent. So a client that sends
 * requests faster than it reads the answers delays only itself. Requests for which the buffer has no room stay in the
 * socket.
 */
static void client_watch(struct ctl_client *c)
{
	uint32_t events = 0;
	bool line = has_line(c);

	if (!c->eof && (c->in_len < sizeof(c->in) || (!c->busy && !line)))
		events |= EPOLLIN;
	if (!all_out(c) || (line && !c->busy))
		events |= EPOLLOUT;
	loop_watch(&c->ctl->in->loop, &c->fd, c->sock, events, client_io);
}

/* Drop a client that has ended its sending side and has got all its answers. Otherwise wait for its next event. */
static void client_go_on(struct ctl_client *c)
{
	if (c->dead)
		return;
	if (c->eof && !c->busy && all_out(c) && !has_line(c))
		ctl_client_drop(c);
	else
		client_watch(c);
}

static void client_write(struct ctl_client *c, ns_t now)
{
	struct inst *in = c->ctl->in;

	while (!c->dead && !all_out(c)) {
		ssize_t n = send_some(c);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			client_watch(c);
			if (!timer_armed(&c->stuck))
				timer_arm(&in->loop.timers, &c->stuck, now + CTL_STUCK);
			return;
		}
		if (n < 0) {
			ctl_client_drop(c);
			return;
		}
		sent_fds(c);
		c->out_done += (size_t)n;
		timer_cancel(&in->loop.timers, &c->stuck);
	}
	if (!c->dead)
		c->out_len = c->out_done = 0;
	client_go_on(c);
}

static bool out_reserve(struct ctl_client *c, size_t n)
{
	size_t cap = c->out_cap ? c->out_cap : 16384;
	char *bigger;

	/* At most one octet is moved for each octet that was sent. */
	if (c->out_done && c->out_len + n > c->out_cap && c->out_done >= c->out_len - c->out_done) {
		c->out_len -= c->out_done;
		memmove(c->out, c->out + c->out_done, c->out_len);
		c->out_done = 0;
	}
	while (cap < c->out_len + n)
		cap *= 2;
	if (cap == c->out_cap)
		return true;
	bigger = cap > CTL_OUT_MAX ? NULL : realloc(c->out, cap);
	if (!bigger)
		return false;
	c->out = bigger;
	c->out_cap = cap;
	return true;
}

/* Queue @obj as one line for sending; takes ownership of @obj. */
static void put_line(struct ctl_client *c, json_t *obj)
{
	size_t n = obj && !c->dead ? json_dumpb(obj, NULL, 0, JSON_COMPACT) : 0;

	if (c->dead) {
		json_decref(obj);
		return;
	}
	if (!n || !out_reserve(c, n + 1)) {
		json_decref(obj);
		ctl_client_drop(c);
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
	/*
	 * Rows of a request that stays open (monitor, trace) are sent at once. Rows of other requests are sent when
	 * the answer ends.
	 */
	if (r->client->hold && !r->client->hold->rows_at_end)
		client_write(r->client, r->now);
}

void ctl_flush(struct ctl_req *r)
{
	client_write(r->client, r->now);
}

size_t ctl_unread(const struct ctl_req *r)
{
	return r->client->out_len - r->client->out_done;
}

static void finish(struct ctl_req *r, json_t *end)
{
	struct ctl_client *c = r->client;

	put_line(c, json_pack("{s:o}", "end", end));
	c->busy = false;
	c->hold = NULL;
	client_write(c, r->now);
}

/*
 * Make the end object of an answer with an error. @err is the error number whose name in errno(3)
 * becomes the member "errno"; 0: the object gets no such member
 */
static json_t *failed(enum proto_exit status, int err, const char *fmt, va_list ap)
{
	json_t *end = json_pack("{s:i}", "status", (int)status);
	char text[INST_ERR_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	json_object_set_new(end, "error", ctl_str(text));
	if (err)
		json_object_set_new(end, "errno", json_string(strerrorname_np(err)));
	return end;
}

void ctl_end(struct ctl_req *r, enum proto_exit status, const char *fmt, ...)
{
	va_list ap;

	if (!fmt) {
		finish(r, json_pack("{s:i}", "status", (int)status));
		return;
	}
	va_start(ap, fmt);
	finish(r, failed(status, 0, fmt, ap));
	va_end(ap);
}

void ctl_end_errno(struct ctl_req *r, enum proto_exit status, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finish(r, failed(status, err, fmt, ap));
	va_end(ap);
}

void ctl_end_with(struct ctl_req *r, json_t *members, const int *fds, unsigned int nfds)
{
	struct ctl_client *c = r->client;

	json_object_set_new(members, "status", json_integer(PROTO_EXIT_OK));
	/*
	 * Descriptors travel with the next octet that is sent. So send all octets that precede the end object first.
	 */
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

static void serve_next(struct ctl_client *c, ns_t now)
{
	char *nl = memchr(c->in, '\n', c->in_len);
	char line[PROTO_LINE_MAX];
	size_t n;

	if (c->dead || c->busy || !all_out(c) || !nl)
		return;
	n = (size_t)(nl - c->in) + 1;
	memcpy(line, c->in, n);
	memmove(c->in, c->in + n, c->in_len - n);
	c->in_len -= n;
	ctl_serve_line(c, line, n - 1, now);
}

static void too_long(struct ctl_client *c, ns_t now)
{
	struct ctl_req r = { .in = c->ctl->in, .ctl = c->ctl, .client = c, .now = now };

	c->eof = true;
	c->in_len = 0;
	ctl_end(&r, PROTO_EXIT_USAGE, "a line of more than %d octets", PROTO_LINE_MAX);
}

/* Receive as recv() does. A descriptor that comes with the octets is stored until a command takes the descriptor. */
static ssize_t receive(struct ctl_client *c)
{
	union fdpass_control control;
	struct iovec iov = { c->in + c->in_len, sizeof(c->in) - c->in_len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;
	int fd;

	fdpass_room(&m, &control);
	n = recvmsg(c->sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n >= 0 && fdpass_take(&m, &fd, 1)) {
		if (c->in_fd >= 0)
			close(c->in_fd);
		c->in_fd = fd;
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
		if (!c->busy && !has_line(c))
			too_long(c, now);
		return;
	}
	n = receive(c);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		ctl_client_drop(c);
		return;
	}
	if (n == 0)
		/* the client has only ended its sending side, so its requests are still answered */
		c->eof = true;
	c->in_len += (size_t)n;
	serve_next(c, now);
	client_go_on(c);
}

static void client_io(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct ctl_client *c = container_of(fd, struct ctl_client, fd);

	/*
	 * EPOLLHUP: the client has closed the connection. An unfinished answer is useless then, so
	 * drop the client. If there is no unfinished answer, continue to read, because a request
	 * that waits in the socket can still change the instance.
	 */
	if ((events & EPOLLERR) || ((events & EPOLLHUP) && (c->busy || c->eof))) {
		ctl_client_drop(c);
		return;
	}
	if (events & EPOLLOUT) {
		client_write(c, now);
		serve_next(c, now);
		client_go_on(c);
	}
	if (!c->dead && !c->eof && (events & (EPOLLIN | EPOLLHUP)))
		client_read(c, now);
}

/*
 * Tell a client why it is not served. The socket of a new connection always has room for this line.
 */
static void turn_away(int sock, unsigned int max)
{
	char full[128];
	int len = snprintf(
		full, sizeof(full),
		"{\"end\":{\"status\":%d,\"error\":\"the instance serves %u clients already\","
		"\"errno\":\"EBUSY\"}}\n",
		PROTO_EXIT_FAILED, max);

	send(sock, full, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(sock);
}

int ctl_client_add(struct ctl_door *door, int sock)
{
	bool room = door->nclients < door->clients_max;
	struct ctl_client *c = room ? malloc(sizeof(*c)) : NULL;
	struct ctl *ctl = door->ctl;
	int status;

	if (!c) {
		ctl->stats.clients_refused++;
		if (room)
			close(sock);
		else
			turn_away(sock, door->clients_max);
		return room ? -ENOMEM : -ENOSPC;
	}
	memset(c, 0, offsetof(struct ctl_client, in));
	c->ctl = ctl;
	c->door = door;
	c->sock = sock;
	c->in_fd = -1;
	timer_init(&c->stuck, client_on_stuck);
	list_add_tail(&ctl->clients, &c->link);
	door->nclients++;
	ctl->stats.clients++;
	status = loop_watch(&ctl->in->loop, &c->fd, sock, EPOLLIN, client_io);
	if (status)
		ctl_client_free(c);
	return status;
}
