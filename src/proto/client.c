/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fdpass.h"
#include "proto/proto.h"
#include "util/list.h"

/*
 * Largest length of a line that a client accepts. This limit is higher than PROTO_LINE_MAX, because
 * rows can be long and a client trusts its instance.
 */
#define CLIENT_LINE_MAX (16u * 1024 * 1024)

static int connect_to(struct proto_client *c, const char *name,
		      int (*path)(char *buf, size_t size, const char *name))
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int status;

	*c = (struct proto_client){ .fd = -1, .fds = { -1, -1 }, .timeout_ms = -1 };
	status = path(sa.sun_path, sizeof(sa.sun_path), name);
	if (status)
		return status;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	if (connect(c->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		status = -errno;
		proto_close(c);
	}
	return status;
}

int proto_connect(struct proto_client *c, const char *name)
{
	return connect_to(c, name, proto_path);
}

int proto_connect_ro(struct proto_client *c, const char *name)
{
	return connect_to(c, name, proto_ro_path);
}

void proto_close(struct proto_client *c)
{
	for (int i = 0; i < 2; i++)
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	if (c->fd >= 0)
		close(c->fd);
	free(c->buf);
	*c = (struct proto_client){ .fd = -1, .fds = { -1, -1 }, .timeout_ms = -1 };
}

/* Send octets, and with the first octet the descriptor @fd, unless @fd is -1. */
static ssize_t send_with(int sock, const char *text, size_t len, int fd)
{
	union fdpass_control control;
	union {
		const char *in;
		void *out;
	} octets = { .in = text }; /* struct iovec has no const form */
	struct iovec iov = { octets.out, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	fdpass_attach(&m, &control, &fd, fd >= 0);
	return sendmsg(sock, &m, MSG_NOSIGNAL);
}

static int send_all(int sock, const char *text, size_t len, int fd)
{
	while (len) {
		ssize_t n = send_with(sock, text, len, fd);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		fd = -1;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int proto_send_fd(struct proto_client *c, const char *cmd, json_t *args, int fd)
{
	json_t *req = json_pack("{s:i, s:s, s:O*}", "v", PROTO_VERSION, "cmd", cmd, "args", args);
	char *text = req ? json_dumps(req, JSON_COMPACT) : NULL;
	size_t len;
	int status;

	json_decref(req);
	if (!text)
		return -ENOMEM;
	len = strlen(text);
	text[len++] = '\n'; /* replaces the NUL */
	status = send_all(c->fd, text, len, fd);
	free(text);
	return status;
}

int proto_send(struct proto_client *c, const char *cmd, json_t *args)
{
	return proto_send_fd(c, cmd, args, -1);
}

static void take_fds(struct proto_client *c, struct msghdr *m)
{
	int fds[ARRAY_SIZE(c->fds)];
	unsigned int n = fdpass_take(m, fds, ARRAY_SIZE(fds));

	for (unsigned int i = 0; i < n; i++) {
		if (c->fds[i] >= 0)
			close(fds[i]);
		else
			c->fds[i] = fds[i];
	}
}

static int fill(struct proto_client *c)
{
	union fdpass_control control;
	struct iovec iov;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (c->cap - c->len < 4096) {
		size_t cap = c->cap ? c->cap * 2 : 65536;
		char *bigger = cap > CLIENT_LINE_MAX ? NULL : realloc(c->buf, cap);

		if (!bigger)
			return -EPROTO;
		c->buf = bigger;
		c->cap = cap;
	}
	iov = (struct iovec){ c->buf + c->len, c->cap - c->len };
	fdpass_room(&m, &control);
	n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	take_fds(c, &m);
	c->len += (size_t)n;
	return 0;
}

/* Take a complete line out of the buffer. Return: NULL if the buffer has no complete line */
static json_t *take_line(struct proto_client *c, int *ret_bad)
{
	char *nl = c->len ? memchr(c->buf, '\n', c->len) : NULL;
	json_t *obj;
	size_t n;

	*ret_bad = 0;
	if (!nl)
		return NULL;
	n = (size_t)(nl - c->buf) + 1;
	obj = json_loadb(c->buf, n - 1, 0, NULL);
	memmove(c->buf, c->buf + n, c->len - n);
	c->len -= n;
	*ret_bad = !json_is_object(obj);
	return obj;
}

int proto_recv(struct proto_client *c, int timeout_ms, json_t **ret)
{
	ns_t until = timeout_ms < 0 ? NS_NEVER : clock_now() + NS_MSEC(timeout_ms);

	for (;;) {
		struct pollfd p = { .fd = c->fd, .events = POLLIN };
		int bad, status;
		json_t *obj = take_line(c, &bad);

		if (bad) {
			json_decref(obj);
			return -EPROTO;
		}
		if (obj) {
			*ret = obj;
			return 0;
		}
		status = poll(&p, 1, clock_poll_ms(until));
		if (status == 0)
			return -ETIMEDOUT;
		status = status < 0 ? (errno == EINTR ? 0 : -errno) : fill(c);
		if (status)
			return status;
	}
}

static int end_status(json_t *end, char *err, size_t err_len)
{
	const char *text = json_string_value(json_object_get(end, "error"));

	snprintf(err, err_len, "%s", text ? text : "");
	return (int)json_integer_value(json_object_get(end, "status"));
}

int proto_call_fd(struct proto_client *c, const char *cmd, json_t *args, int fd,
		  void (*row)(void *ctx, json_t *row), void *ctx, char *err, size_t err_len,
		  json_t **ret_end)
{
	int status = proto_send_fd(c, cmd, args, fd);

	/* An instance that refuses a client sends the reason before it closes the connection. */
	if (status == -EPIPE || status == -ECONNRESET)
		status = 0;
	while (!status) {
		json_t *obj, *end;

		status = proto_recv(c, c->timeout_ms, &obj);
		if (status)
			break;
		end = json_object_get(obj, "end");
		if (end) {
			status = end_status(end, err, err_len);
			if (ret_end)
				*ret_end = json_incref(end);
			json_decref(obj);
			return status;
		}
		if (row)
			row(ctx, json_object_get(obj, "row"));
		json_decref(obj);
	}
	snprintf(err, err_len, "the instance: %s",
		 status == -EPIPE || status == -ECONNRESET ? "ended the connection"
							   : strerror(-status));
	return status == -ETIMEDOUT ? PROTO_EXIT_TIMEOUT : PROTO_EXIT_FAILED;
}

int proto_call(struct proto_client *c, const char *cmd, json_t *args,
	       void (*row)(void *ctx, json_t *row), void *ctx, char *err, size_t err_len,
	       json_t **ret_end)
{
	return proto_call_fd(c, cmd, args, -1, row, ctx, err, err_len, ret_end);
}
