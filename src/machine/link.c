/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/link.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmdline/cmdline.h"
#include "os/sockaddr.h"

#define ANSWER_MS 10000
#define INSTANCE_BUF (8 * 1024 * 1024)
/*
 * Octets of the receive buffer. If the VM reads slowly and the buffer is full, packets for the VM
 * are lost, as in a switch with full queues.
 */
#define RCVBUF (1024 * 1024)

/* --- the pair of sockets, both bound to loopback; one of them is for the instance */

static int bound_socket(struct sockaddr_in *ret)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(*ret);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd >= 0 && !bind(fd, (struct sockaddr *)ret, sizeof(*ret)) &&
	    !getsockname(fd, (struct sockaddr *)ret, &len))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * Sets a buffer size, above the system's limit if permitted. This process also sets the buffers of the instance's
 * socket, because the instance has dropped the privilege to exceed the limit.
 */
static void set_buffer(int fd, int force, int plain, int size)
{
	if (setsockopt(fd, SOL_SOCKET, force, &size, sizeof(size)) < 0)
		setsockopt(fd, SOL_SOCKET, plain, &size, sizeof(size));
}

static int make_sockets(int ret[2], uint16_t *ret_port)
{
	struct sockaddr_in theirs, ours;

	ret[0] = bound_socket(&theirs);
	ret[1] = bound_socket(&ours);
	*ret_port = ntohs(ours.sin_port);
	if (ret[0] < 0 || ret[1] < 0 ||
	    connect(ret[1], (struct sockaddr *)&theirs, sizeof(theirs)) < 0)
		return -errno;
	set_buffer(ret[0], SO_RCVBUFFORCE, SO_RCVBUF, INSTANCE_BUF);
	set_buffer(ret[0], SO_SNDBUFFORCE, SO_SNDBUF, INSTANCE_BUF);
	set_buffer(ret[1], SO_RCVBUFFORCE, SO_RCVBUF, RCVBUF);
	return 0;
}

/* --- the request */

/* Return a hash (FNV-1a) of @seed, @fabric and @port, as a locally administered EUI-64 (bit 57) */
static uint64_t make_guid(const char *seed, const char *fabric, const char *port)
{
	const char *const part[] = { seed, "/", fabric, "/", port };
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		for (const char *p = part[i]; *p; p++)
			h = (h ^ (uint8_t)*p) * 0x100000001b3;
	return (h & 0x00ffffffffffffff) | 2ull << 56;
}

/* Makes the name of the VM from @port, with the characters that a host name may have. */
static void make_host(char *buf, size_t size, const char *port)
{
	snprintf(buf, size, "vm-%s", port);
	for (char *p = buf; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '-';
}

static json_t *request(const char *port, uint16_t peer)
{
	json_t *args = json_pack("{s:o, s:o, s:b}", "name", json_sprintf("vm-%d", (int)getpid()),
				 "peer", json_sprintf("127.0.0.1:%u", peer), "fresh", 1);
	const char *slash;

	if (port && !strncmp(port, "fabric:", 7) && (slash = strchr(port, '/'))) {
		json_object_set_new(args, "fabric",
				    json_stringn(port + 7, (size_t)(slash - port - 7)));
		port = slash + 1;
	}
	if (port)
		json_object_set_new(args, "port", json_string(port));
	return args;
}

/* Reads the answer to the request: a row with the port, or only an end object, with the error. */
static int take_answer(struct link *l, const char *instance, const char *seed, const json_t *answer)
{
	const json_t *row = json_object_get(answer, "row"), *end = json_object_get(answer, "end");
	const char *fabric = json_string_value(json_object_get(row, "fabric"));
	const char *port = json_string_value(json_object_get(row, "port"));
	const char *error = json_string_value(json_object_get(end, "error"));

	if (!fabric || !port)
		return cli_error(end ? (int)json_integer_value(json_object_get(end, "status"))
				     : PROTO_EXIT_FAILED,
				 "instance '%s': %s", instance, error ? error : "no answer");
	l->guid = make_guid(seed, fabric, port);
	make_host(l->host, sizeof(l->host), port);
	return 0;
}

/* Sends the request to attach a link, with descriptor @theirs; takes over @args. */
static int ask(struct link *l, const char *instance, const char *seed, int theirs, json_t *args)
{
	json_t *answer = NULL;
	int status = proto_send_fd(&l->client, "fabric udp attach", args, theirs);

	json_decref(args);
	if (!status)
		status = proto_recv(&l->client, ANSWER_MS, &answer);
	if (status)
		return cli_error(PROTO_EXIT_FAILED, "instance '%s': %s", instance,
				 strerror(-status));
	status = take_answer(l, instance, seed, answer);
	json_decref(answer);
	return status;
}

int link_open(struct link *l, const char *instance, const char *seed, const char *port)
{
	int fds[2] = { -1, -1 }, status;
	uint16_t peer;

	*l = (struct link){ .fd = -1, .fresh = true };
	status = proto_connect(&l->client, instance);
	if (status == -ENOENT || status == -ECONNREFUSED)
		return cli_error(PROTO_EXIT_USAGE, "no instance '%s' is running", instance);
	if (status)
		return cli_error(PROTO_EXIT_ENV, "instance '%s': %s", instance, strerror(-status));
	status = make_sockets(fds, &peer);
	if (status)
		status = cli_error(PROTO_EXIT_ENV, "a socket at 127.0.0.1: %s", strerror(-status));
	else
		status = ask(l, instance, seed, fds[0], request(port, peer));
	l->fd = fds[1];
	if (fds[0] >= 0)
		close(fds[0]);
	if (status)
		link_close(l);
	return status;
}

/* --- to an address */

static int connected_socket(const struct conf_port *to)
{
	union sockaddr_ip here, there;
	socklen_t there_len = sockaddr_of(&there, &to->peer), here_len;
	int fd = socket(there.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	here_len = to->listen.family ? sockaddr_of(&here, &to->listen) : 0;
	if ((!here_len || !bind(fd, &here.sa, here_len)) && !connect(fd, &there.sa, there_len)) {
		set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, RCVBUF);
		return fd;
	}
	err = -errno;
	close(fd);
	return err;
}

int link_connect(struct link *l, const struct conf_port *to)
{
	*l = (struct link){ .client.fd = -1, .guid = to->guid };
	make_host(l->host, sizeof(l->host), to->fabric);
	l->fd = connected_socket(to);
	if (l->fd >= 0)
		return 0;
	return cli_error(PROTO_EXIT_ENV, "vm: --port %s: %s", to->fabric, strerror(-l->fd));
}

void link_close(struct link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	if (l->client.fd >= 0)
		proto_close(&l->client);
}
