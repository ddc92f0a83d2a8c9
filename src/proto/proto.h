/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROTO_PROTO_H
#define PROTO_PROTO_H

/*
 * DOC: Control protocol
 *
 * The socket is a UNIX socket of type SOCK_STREAM. Each line is one JSON object (UTF-8, at most
 * PROTO_LINE_MAX octets with the '\n'). A request:
 *
 *	{"v":1,"cmd":"link show","args":{"dev":"uib0@h1"}}
 *
 * The answer is any number of rows, and then one end. A row, an end, and an end with an error:
 *
 *	{"row":{"ifname":"uib0","host":"h1","state":"up",...}}
 *	{"end":{"status":0}}
 *	{"end":{"status":2,"error":"dev 'uib9': no such interface"}}
 *
 * The requests of a connection are answered in order, one after the other. "status" is the exit
 * status that a command line should have. An end with an error may also have "errno", which is for
 * programs: the name of an error in errno(3). For "path get", include/uipoib/path.h describes these
 * errors. If there are too many connections, a new connection gets an end with "errno" EBUSY
 * before it sends a request. These commands are special:
 *
 * "exec" for a host sends descriptors of the host's namespaces by SCM_RIGHTS with its end. The
 * first descriptor is that of the network namespace. If "userns" is true, a second one is that of
 * the user namespace. For a node of a fabric the end has "node" and no descriptors. In both cases
 * the end has "umad", the path of the socket of umad/proto.h. If the fabric has ibsim, the end also
 * has "ibsim" and "sim_host", the values of the environment variables for clients of ibsim.
 *
 * "stop" sends a pidfd of the supervisor with its end. The pidfd becomes readable when all processes of the instance
 * have ended. The end has no descriptor if the kernel gave the daemon no pidfd.
 *
 * "capture start" sends a stream socket with the first octet of its request (SCM_RIGHTS). With
 * "file", a writer process (os/writer.h) copies from the other end of the socket to that file. The
 * capture then lasts until "capture stop", which answers when the writer has written everything.
 * If "file" is missing or "-", the client itself reads the other end, and the capture ends with the
 * connection.
 *
 * "fabric partition load" sends the content of a file as a memory file that file_seal() made. The
 * reason is that the instance opens no path for a client. The argument "file" is the name of the
 * file for messages.
 *
 * "reload" answers when the supervisor has read the configuration again, and the instance has made or refused all
 * changes. The requests "reload await", "reload apply" and "reload done" are the supervisor's (cmd/reload.c).
 *
 * "monitor" sends rows until the client closes the connection. "wait" answers when its condition holds or
 * its time is over.
 *
 * The control socket is DIR/NAME.sock, mode 0600, and serves only root and the owner's user (SO_PEERCRED).
 * DIR is the first of these: $UIPOIB_RUNTIME_DIR; PROTO_DIR for root; $XDG_RUNTIME_DIR/uipoib if the user
 * owns $XDG_RUNTIME_DIR; /tmp/uipoib-UID.
 *
 * The read-only socket, DIR/NAME.ro, speaks the same protocol and has the same mode. It answers
 * only commands that change nothing, send nothing, and pass no packets and no descriptors to the
 * client (enum ctl_effect in ctl/req.h). The end of any other command has "errno" EACCES.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define PROTO_VERSION 1
#define PROTO_DIR "/run/uipoib"
#define PROTO_LINE_MAX 65536
/* Size of an instance's name with the NUL, at most; allowed characters: a-z A-Z 0-9 . _ - */
#define PROTO_NAME_MAX 32
#define PROTO_SCHEMA 1 /* version of the rows, as `-j` prints it */

enum proto_exit {
	PROTO_EXIT_OK = 0,
	PROTO_EXIT_FAILED = 1,
	PROTO_EXIT_USAGE = 2,
	PROTO_EXIT_ENV = 3,
	PROTO_EXIT_TIMEOUT = 4,
};

/* proto_name_ok() - Tell whether an instance may have this name */
int proto_name_ok(const char *name);

/*
 * proto_dir() - Find the folder of the sockets, and make it if @make is set
 * Return: 0; -ENAMETOOLONG; -EPERM: another user owns the folder or is allowed to write to it; -errno
 */
int proto_dir(char *buf, size_t size, int make);

/* proto_path() - Write the path of the control socket of an instance. Return: 0 or -errno */
int proto_path(char *buf, size_t size, const char *name);

/* proto_ro_path() - Write the path of the read-only socket of an instance. Return: 0 or -errno */
int proto_ro_path(char *buf, size_t size, const char *name);

/*
 * proto_umad_path() - Write the path of an instance's socket for libuipoib-umad.so (umad/proto.h),
 * DIR/NAME.umad. Return: 0 or -errno
 */
int proto_umad_path(char *buf, size_t size, const char *name);
/*
 * proto_netns_path() - Write the path of the file that lists the named namespaces that the instance
 * has made. Return: 0 or -errno
 */
int proto_netns_path(char *buf, size_t size, const char *name);
/* proto_alive() - Tell whether an instance with this name accepts connections */
bool proto_alive(const char *name);

/*
 * proto_lib_path() - Write the path of a symbolic link to libuipoib-umad.so, DIR/NAME.so, for the
 * case that LD_PRELOAD cannot contain the library's own path. Return: 0 or -errno
 */
int proto_lib_path(char *buf, size_t size, const char *name);

/*
 * proto_lock() - Make the folder of the sockets, and take the lock that every process takes before it makes or
 * removes sockets in the folder
 *
 * Return: a descriptor, which the caller closes to unlock; -errno
 */
int proto_lock(void);

/*
 * proto_unlink() - Remove the sockets of an instance that has ended, its link to the library, and
 * the folder if it is empty
 */
void proto_unlink(const char *name);

/**
 * proto_instances() - Get the names of the instances that answer, in alphabetical order
 * @ret:	room for @max names
 *
 * Return: number of instances (perhaps more than @max), or -errno
 */
int proto_instances(char (*ret)[PROTO_NAME_MAX], unsigned int max);

/* --- client */

struct proto_client {
	int fd;
	char *buf;
	size_t len, cap;
	int fds[2]; /* descriptors that came by SCM_RIGHTS; -1: no descriptor */
	/*
	 * time in ms that proto_call() waits for each line; -1: no limit. proto_connect() sets -1
	 */
	int timeout_ms;
};

/*
 * proto_connect() - Connect to an instance. Return: 0; -ENOENT or -ECONNREFUSED: there is no instance with this name;
 * -errno
 */
int proto_connect(struct proto_client *c, const char *name);
/*
 * proto_connect_ro() - Connect to the read-only socket of an instance. Return: as proto_connect()
 */
int proto_connect_ro(struct proto_client *c, const char *name);
void proto_close(struct proto_client *c);

/* proto_send() - Send one request; @args is borrowed and may be NULL. Return: 0 or -errno */
int proto_send(struct proto_client *c, const char *cmd, json_t *args);
/*
 * proto_send_fd() - Send one request with the descriptor @fd, which the caller still has to close; if @fd is -1,
 * without a descriptor. Return: 0 or -errno
 */
int proto_send_fd(struct proto_client *c, const char *cmd, json_t *args, int fd);

/**
 * proto_recv() - Receive the next line as a JSON object, which the caller frees by json_decref()
 * @timeout_ms:	-1 for no limit
 *
 * Return: 0; -ETIMEDOUT; -EPIPE: the instance has ended; -EPROTO: the line is no JSON object
 */
int proto_recv(struct proto_client *c, int timeout_ms, json_t **ret);

/**
 * proto_call() - Send a request, and receive its rows and its end
 * @row:	called for each row (borrowed); may be NULL
 * @err:	text of the error, or ""
 * @ret_end:	the end object, which the caller frees by json_decref(); may be NULL
 *
 * Return: status of the end (PROTO_EXIT_*); PROTO_EXIT_FAILED with @err if the connection broke,
 * PROTO_EXIT_TIMEOUT if nothing came in time
 */
int proto_call(struct proto_client *c, const char *cmd, json_t *args,
	       void (*row)(void *ctx, json_t *row), void *ctx, char *err, size_t err_len,
	       json_t **ret_end);

/*
 * proto_call_fd() - Do the same as proto_call(), with the descriptor @fd in the request. The caller still has to
 * close @fd; if @fd is -1, the request has no descriptor
 */
int proto_call_fd(struct proto_client *c, const char *cmd, json_t *args, int fd,
		  void (*row)(void *ctx, json_t *row), void *ctx, char *err, size_t err_len,
		  json_t **ret_end);

#endif
