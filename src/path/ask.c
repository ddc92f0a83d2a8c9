/* SPDX-License-Identifier: BSD-2-Clause */
#include "path/ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/proto.h"

/* --- who is asked */

/*
 * Translates an error of the search for the instance, or of connect(), into one of the errors of
 * include/uipoib/path.h.
 */
static int connect_error(int err)
{
	switch (err) {
	case -ECONNREFUSED: /* the socket file was left by an instance that was killed */
		return -ENOENT;
	case -EPERM: /* the folder of the sockets belongs to another user */
		return -EACCES;
	case -EAGAIN: /* the instance's queue of new connections is full */
		return -EBUSY;
	default:
		return err;
	}
}

/*
 * Connect to the instance.
 * @wait: longest time to wait while the instance's queue of connections is full. NULL: wait for ever, or do not wait
 *	if @type has SOCK_NONBLOCK
 */
static int connect_to(const struct path_peer *peer, int type, const struct timeval *wait)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | type, 0), err;

	if (fd < 0)
		return -errno;
	if (wait)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, wait, sizeof(*wait));
	do
		err = connect(fd, (const struct sockaddr *)&peer->to, sizeof(peer->to)) ? -errno
											: 0;
	while (err == -EINTR);
	if (!err)
		return fd;
	close(fd);
	return connect_error(err);
}

static bool is_utf8(const char *s)
{
	json_t *v = json_string(s);

	json_decref(v);
	return v;
}

/*
 * Copy the name of an interface or a host. Return: false if @name is too long or not UTF-8, so that
 * it cannot name an interface or a host.
 */
static bool copy_name(char dst[PATH_DEV_MAX], const char *name)
{
	if (!name)
		return true;
	return snprintf(dst, PATH_DEV_MAX, "%s", name) < PATH_DEV_MAX && is_utf8(dst);
}

/*
 * Return the host in the variable UIPOIB_HOST; NULL unless UIPOIB_NAME names this instance. `uipoib exec` sets both
 * variables: UIPOIB_NAME to the instance, and UIPOIB_HOST to a host of this instance.
 */
static const char *host_of(const char *instance)
{
	const char *name = getenv("UIPOIB_NAME");

	return name && !strcmp(name, instance) ? getenv("UIPOIB_HOST") : NULL;
}

int path_peer_init(struct path_peer *ret, const char *instance, const char *dev)
{
	static const struct timeval wait = { .tv_sec = 2 };
	int fd, status;

	*ret = (struct path_peer){ .to.sun_family = AF_UNIX };
	if (!instance || !*instance)
		instance = getenv("UIPOIB_NAME");
	if (!instance || !proto_name_ok(instance))
		return -EINVAL;
	if (!copy_name(ret->dev, dev) || !copy_name(ret->host, dev ? NULL : host_of(instance)))
		return -ENODEV;
	status = proto_path(ret->to.sun_path, sizeof(ret->to.sun_path), instance);
	if (status)
		return connect_error(status);
	fd = connect_to(ret, 0, &wait);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* --- a question */

json_t *path_question(const struct ipoib_path_info *info)
{
	char address[INET6_ADDRSTRLEN] = "";

	inet_ntop(info->sin_family, &info->addr, address, sizeof(address));
	return json_pack("{s:s, s:b}", "address", address, "ip", 1);
}

/*
 * Return: the line of text that makes the request; NULL: out of memory. The function takes over
 * @args
 */
static char *request(const struct path_peer *peer, json_t *args)
{
	json_t *req = NULL;
	char *text;
	bool ok = args;

	if (ok && *peer->dev)
		ok = !json_object_set_new(args, "dev", json_string(peer->dev));
	if (ok && *peer->host)
		ok = !json_object_set_new(args, "host", json_string(peer->host));
	if (ok)
		req = json_pack("{s:i, s:s, s:O}", "v", PROTO_VERSION, "cmd", "path get", "args",
				args);
	json_decref(args);
	text = req ? json_dumps(req, JSON_COMPACT) : NULL;
	json_decref(req);
	return text;
}

/*
 * Send the line of the request. The socket is new, so it has room for the line, except if the user
 * has typed a very long text as the address.
 */
static int send_line(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		/*
		 * An instance that refuses a connection first sends the reason and then closes the connection, so the
		 * reason can still be read.
		 */
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return 0;
		if (n < 0)
			return errno == EAGAIN ? -EBUSY : -errno;
		text += n;
		len -= (size_t)n;
	}
	shutdown(fd, SHUT_WR);
	return 0;
}

int path_ask(const struct path_peer *peer, json_t *args, int type)
{
	char *text = request(peer, args);
	int fd, status;
	size_t len;

	if (!text)
		return -ENOMEM;
	fd = connect_to(peer, type, NULL);
	len = strlen(text);
	text[len++] = '\n'; /* replaces the NUL */
	status = fd < 0 ? fd : send_line(fd, text, len);
	free(text);
	if (!status)
		return fd;
	if (fd >= 0)
		path_hang_up(fd);
	return status;
}

/* --- the answer */

int path_take(int fd, struct path_text *t)
{
	ssize_t n;

	if (t->len == sizeof(t->octets))
		return -EPROTO;
	n = recv(fd, t->octets + t->len, sizeof(t->octets) - t->len, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (!n)
		return -EPIPE;
	t->len += (size_t)n;
	return 0;
}

void path_hang_up(int fd)
{
	shutdown(fd, SHUT_RDWR);
	close(fd);
}

int path_call(const struct path_peer *peer, json_t *args, struct path_reply *ret)
{
	struct path_text text = { .len = 0 };
	int fd = path_ask(peer, args, 0), status = 1;

	if (fd < 0)
		return fd;
	while (status == 1) {
		status = path_take(fd, &text);
		if (status)
			continue;
		path_reply_fini(ret);
		status = path_reply_read(ret, text.octets, text.len);
	}
	path_hang_up(fd);
	if (status)
		path_reply_fini(ret);
	return status;
}
