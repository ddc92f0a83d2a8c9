/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_PROTO_H
#define DAEMON_PROTO_H

/*
 * DOC: Control protocol
 *
 * A SOCK_STREAM UNIX socket, one JSON object a line (UTF-8, at most PROTO_LINE_MAX octets with the
 * '\n'). A request:
 *
 *	{"v":1,"cmd":"link show","args":{"dev":"uib0@h1"}}
 *
 * is answered by any number of rows and one end, in order; requests of a connection are
 * answered one after the other:
 *
 *	{"row":{"ifname":"uib0","host":"h1","state":"up",...}}
 *	{"end":{"status":0}}
 *	{"end":{"status":2,"error":"dev 'uib9': no such interface"}}
 *
 * status is the exit status a command line should have. "exec" answers with the descriptors of the
 * host's namespaces in SCM_RIGHTS beside its end (network first, then user if "userns" is true), or, of a
 * node of a fabric, with "node" and without any; "umad" is the socket of umad/proto.h,
 * "ibsim" and "sim_host" what clients of ibsim need.
 * "capture start" may bring a descriptor to write to, beside the first octet of its request.
 * "monitor" sends rows until the client closes. `wait` answers when it is decided.
 *
 * The socket is DIR/NAME.sock, mode 0600, and only root and the owner's user are served (SO_PEERCRED).
 * DIR is $UIPOIB_RUNTIME_DIR; else PROTO_DIR for root; else $XDG_RUNTIME_DIR/uipoib where the user owns that;
 * else /tmp/uipoib-UID.
 */

#include <jansson.h>
#include <stddef.h>

#define PROTO_VERSION 1
#define PROTO_DIR "/run/uipoib"
#define PROTO_LINE_MAX 65536
#define PROTO_NAME_MAX 32 /* of an instance, with the NUL: a-z A-Z 0-9 . _ - */
#define PROTO_SCHEMA 1 /* of rows, as `-j` prints it */

enum proto_exit {
	PROTO_EXIT_OK = 0,
	PROTO_EXIT_FAILED = 1,
	PROTO_EXIT_USAGE = 2,
	PROTO_EXIT_ENV = 3,
	PROTO_EXIT_TIMEOUT = 4,
};

/* proto_name_ok() - A name that may be an instance's */
int proto_name_ok(const char *name);

/* proto_dir() - Where sockets live, made if @make. 0; -ENAMETOOLONG; -EPERM somebody else's; -errno */
int proto_dir(char *buf, size_t size, int make);

/* proto_path() - Socket of an instance. 0 or -errno */
int proto_path(char *buf, size_t size, const char *name);

/* proto_umad_path() - Its socket for libuipoib-umad.so, umad/proto.h: DIR/NAME.umad. 0 or -errno */
int proto_umad_path(char *buf, size_t size, const char *name);

/*
 * proto_lock() - Make the folder of sockets, and be the only one who makes or removes some in it
 *
 * Return: a descriptor, close() it to unlock; -errno
 */
int proto_lock(void);

/* proto_unlink() - Remove what a dead instance left: its sockets, and the folder if it is empty */
void proto_unlink(const char *name);

/**
 * proto_instances() - Names of the instances that answer, in order
 * @ret:	room for @max names
 *
 * Return: how many there are (perhaps more than @max), or -errno
 */
int proto_instances(char (*ret)[PROTO_NAME_MAX], unsigned int max);

/* --- client */

struct proto_client {
	int fd;
	char *buf;
	size_t len, cap;
	int fds[2]; /* what SCM_RIGHTS brought; -1 */
};

/* proto_connect() - To an instance. 0; -ENOENT, -ECONNREFUSED none of that name; -errno */
int proto_connect(struct proto_client *c, const char *name);
void proto_close(struct proto_client *c);

/* proto_send() - One request; @args may be NULL, is borrowed. 0 or -errno */
int proto_send(struct proto_client *c, const char *cmd, json_t *args);
/* proto_send_fd() - The same with a descriptor, which stays the caller's; -1: none */
int proto_send_fd(struct proto_client *c, const char *cmd, json_t *args, int fd);

/**
 * proto_recv() - The next line as a JSON object; json_decref() it
 * @timeout_ms:	-1: for ever
 *
 * Return: 0; -ETIMEDOUT; -EPIPE the instance is gone; -EPROTO it sent something else
 */
int proto_recv(struct proto_client *c, int timeout_ms, json_t **ret);

/**
 * proto_call() - Request, rows, end
 * @row:	called for each row (borrowed); may be NULL
 * @err:	text of the error, or ""
 * @ret_end:	the end object, json_decref() it; may be NULL
 *
 * Return: status of the end (PROTO_EXIT_*); PROTO_EXIT_FAILED with @err if the connection broke
 */
int proto_call(struct proto_client *c, const char *cmd, json_t *args,
	       void (*row)(void *ctx, json_t *row), void *ctx, char *err, size_t err_len,
	       json_t **ret_end);

#endif
