/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/capture_decode.h"
#include "cli/cli.h"
#include "os/writer.h"
#include "util/list.h"

static const struct cli_col cols[] = {
	{ "ID", "id", true },
	{ "FILE", "file" },
	{ "LINK", "link" },
	{ "PACKETS", "packets", true },
	{ "OCTETS", "octets", true },
	{ "ERROR", "error" },
	{ NULL },
};

static const struct cli_show shown = {
	.object = "capture",
	.cmd = "capture show",
	.keys = (const struct cli_key[]){ { "fabric" }, { NULL } },
	.cols = cols,
	.title = (const char *const[]){ "id", NULL },
};

static int show(int argc, char **argv)
{
	return cli_show(&shown, argc, argv);
}

/* --- start */

static const struct cli_key start_keys[] = {
	{ "file", .bare = true, .required = true },
	{ "link" },
	{ "port" },
	{ "dev" },
	{ "fabric" },
	{ NULL },
};

/* Make the path absolute, because `capture show` prints it to users in any directory. */
static int absolute(json_t *args)
{
	const char *file = json_string_value(json_object_get(args, "file"));
	char dir[PATH_MAX];

	if (*file == '/')
		return 0;
	if (!getcwd(dir, sizeof(dir)))
		return cli_error(PROTO_EXIT_FAILED, "current directory: %s", strerror(errno));
	json_object_set_new(args, "file", json_sprintf("%s/%s", dir, file));
	return 0;
}

/*
 * The file is opened and written with the user's rights. A writer process writes it until the
 * capture ends. This writer truncates the file only when the first octets come from the instance.
 * If a capture to the same file is running already, the instance refuses the new capture and sends
 * no octets. So the first capture is not lost.
 */
static int start_writer(const char *file)
{
	int out = open(file, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0644), sock, err = 0;

	if (out < 0)
		return cli_error(-1, "capture %s: %s", file, strerror(errno));
	if (writer_is_regular(out))
		err = writer_fork(&sock, out, true);
	else
		err = -EINVAL;
	close(out);
	if (!err)
		return sock;
	if (err == -EINVAL)
		return cli_error(-1, "capture %s: not a regular file; use `capture start - >%s`",
				 file, file);
	return cli_error(-1, "capture %s: %s", file, strerror(-err));
}

/*
 * --- a capture to standard output, a pipe or a terminal. A write to a pipe or terminal may have to
 * wait for its reader, so the command itself copies the capture, and no writer process does
 */

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

/* The handlers are set without SA_RESTART, so that poll() and read() end with EINTR */
static void catch_signals(void)
{
	const struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/*
 * Read the messages that the instance has sent. Return: -EAGAIN while the capture continues; the exit status of the
 * command when the capture has ended
 */
static int heard(struct proto_client *c)
{
	json_t *obj;
	int status;

	while (!(status = proto_recv(c, 0, &obj))) {
		json_t *end = json_object_get(obj, "end");
		const char *text = json_string_value(json_object_get(end, "error"));
		bool ended = end;

		status = (int)json_integer_value(json_object_get(end, "status"));
		if (text)
			cli_error(0, "%s", text);
		json_decref(obj);
		if (ended)
			return status;
	}
	return status == -ETIMEDOUT ? -EAGAIN : status;
}

/*
 * Copy the capture from socket @from to @out until the instance closes the socket. After a signal
 * this function ends the control connection; the instance then sends the rest of the capture, and
 * closes the socket.
 */
static int copy_stream(struct proto_client *c, int from, int out)
{
	struct pollfd p[] = { { .fd = from, .events = POLLIN }, { .fd = c->fd, .events = POLLIN } };
	int status = -EAGAIN, copied = 1;

	while (copied > 0) {
		int n = poll(p, ARRAY_SIZE(p), -1);

		if (interrupted && p[1].fd >= 0) {
			shutdown(c->fd, SHUT_RDWR);
			p[1].fd = -1;
		}
		if (n > 0 && p[1].fd >= 0 && p[1].revents) {
			status = heard(c);
			p[1].fd = status == -EAGAIN ? p[1].fd : -1;
		}
		if (n > 0 && p[0].revents)
			copied = writer_copy(from, out);
		if (copied == -EINTR)
			copied = 1;
	}
	if (copied < 0)
		return cli_error(PROTO_EXIT_FAILED, "capture: %s", strerror(-copied));
	if (status == -EAGAIN || status == -EPIPE) /* the capture or the instance has ended */
		return PROTO_EXIT_OK;
	return status < 0 ? cli_error(PROTO_EXIT_FAILED, "the instance: %s", strerror(-status))
			  : status;
}

/* Start a capture and copy it to @out, until the capture ends or a signal comes. */
static int start_stream(json_t *args, int out)
{
	struct proto_client c;
	int ours, theirs, status = cli_connect(&c);

	if (status)
		return status;
	status = writer_pair(&theirs, &ours);
	if (status) {
		proto_close(&c);
		return cli_error(PROTO_EXIT_FAILED, "capture: %s", strerror(-status));
	}
	catch_signals();
	status = proto_send_fd(&c, "capture start", args, theirs);
	close(theirs);
	if (status)
		status = cli_error(PROTO_EXIT_FAILED, "the instance: %s", strerror(-status));
	else
		status = copy_stream(&c, ours, out);
	close(ours);
	proto_close(&c);
	if (interrupted) {
		signal(interrupted, SIG_DFL);
		raise(interrupted);
	}
	return status;
}

static int start_stdout(json_t *args)
{
	if (isatty(STDOUT_FILENO))
		return cli_error(PROTO_EXIT_USAGE,
				 "standard output is a terminal: give a file, or a pipe to tshark");
	return start_stream(args, STDOUT_FILENO);
}

/*
 * Open a FIFO or a device in this process. As in a shell, the open waits until a FIFO has a reader.
 */
static int start_special(json_t *args, const char *file)
{
	int out = open(file, O_WRONLY | O_CLOEXEC), status;

	if (out < 0)
		return cli_error(PROTO_EXIT_USAGE, "capture %s: %s", file, strerror(errno));
	json_object_set_new(args, "file", json_string("-"));
	status = start_stream(args, out);
	close(out);
	return status;
}

static bool is_special(const char *file)
{
	struct stat st;

	return !stat(file, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static void print_started(void *ctx, json_t *row)
{
	(void)ctx;
	if (cli_opts.json) {
		json_t *rows = json_pack("[O]", row);

		cli_print_rows(&shown, rows);
		json_decref(rows);
	} else {
		char *id = cli_text(row, "id"), *file = cli_text(row, "file");

		printf("capture %s to %s\n", id, file);
		free(id);
		free(file);
	}
}

static int start(int argc, char **argv)
{
	json_t *args;
	int status = cli_args(&args, start_keys, argc, argv);
	const char *file;

	if (status)
		return status;
	file = json_string_value(json_object_get(args, "file"));
	if (!strcmp(file, "-") || is_special(file)) {
		status = strcmp(file, "-") ? start_special(args, file) : start_stdout(args);
		json_decref(args);
		return status;
	}
	status = absolute(args);
	if (!status) {
		int fd = start_writer(json_string_value(json_object_get(args, "file")));

		if (fd < 0) {
			status = PROTO_EXIT_USAGE;
		} else {
			status = cli_call_fd("capture start", json_incref(args), fd, print_started,
					     NULL);
			close(fd);
		}
	}
	json_decref(args);
	return status;
}

/* --- stop */

static const struct cli_show stopped = {
	.object = "capture",
	.cmd = "capture stop",
	.keys =
		(const struct cli_key[]){
			{ "id", .type = CLI_INT, .bare = true, .required = true },
			{ NULL },
		},
	.cols = cols,
	.title = (const char *const[]){ "id", NULL },
};

static int stop(int argc, char **argv)
{
	return cli_show(&stopped, argc, argv);
}

const struct cli_cmd cli_capture_verbs[] = {
	{ "show", show, "[fabric F]", "captures that run" },
	{ "start", start, "FILE [link NODE/PORT | dev IF | port verbs:DEVICE/PORT] [fabric F]",
	  "capture each packet once, or all on both directions of a link, or at the port of an "
	  "interface (pcapng); "
	  "FILE - is standard output, until Ctrl-C" },
	{ "stop", stop, "ID", "end a capture" },
	{ "decode", capture_decode, "FILE", "the packets of a file in words; - is standard input" },
	{ NULL },
};
