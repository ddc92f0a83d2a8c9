/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define PIPE_SIZE (1 << 20)

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
	{ "fabric" },
	{ NULL },
};

/* The instance opens the file, in its own directory: paths are made absolute here. */
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
 * Standard output as a descriptor that never blocks the instance. A new open file: O_NONBLOCK of the
 * old one is shared with whoever else has it.
 */
static int stdout_fd(void)
{
	int fd;

	if (isatty(STDOUT_FILENO))
		return cli_error(-1,
				 "standard output is a terminal: give a file, or a pipe to tshark");
	fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return cli_error(-1, "standard output: %s", strerror(errno));
	fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE); /* no pipe, or not allowed: as it is */
	return fd;
}

/* Into standard output, until the instance ends or we do. */
static int start_stream(json_t *args)
{
	struct proto_client c;
	int fd = stdout_fd(), status;
	json_t *obj;

	if (fd < 0)
		return PROTO_EXIT_USAGE;
	status = cli_connect(&c);
	if (status) {
		close(fd);
		return status;
	}
	status = proto_send_fd(&c, "capture start", args, fd);
	close(fd);
	while (!status && !(status = proto_recv(&c, -1, &obj))) {
		json_t *end = json_object_get(obj, "end");
		const char *text = json_string_value(json_object_get(end, "error"));

		if (end)
			status = (int)json_integer_value(json_object_get(end, "status"));
		if (text)
			cli_error(0, "%s", text);
		json_decref(obj);
		if (end)
			break;
	}
	proto_close(&c);
	if (status == -EPIPE) /* the instance ended, and the capture with it */
		return PROTO_EXIT_OK;
	return status < 0 ? cli_error(PROTO_EXIT_FAILED, "the instance: %s", strerror(-status))
			  : status;
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

	if (status)
		return status;
	if (!strcmp(json_string_value(json_object_get(args, "file")), "-")) {
		status = start_stream(args);
		json_decref(args);
		return status;
	}
	status = absolute(args);
	if (status) {
		json_decref(args);
		return status;
	}
	return cli_call("capture start", args, print_started, NULL);
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

static const struct cli_cmd verbs[] = {
	{ "show", show, "[fabric F]", "captures that run" },
	{ "start", start, "FILE [link NODE/PORT] [fabric F]",
	  "capture each packet once, or all on both directions of a link (pcapng); "
	  "FILE - is standard output, until Ctrl-C" },
	{ "stop", stop, "ID", "end a capture" },
	{ NULL },
};

int cli_capture(int argc, char **argv)
{
	return cli_dispatch("capture", verbs, argc, argv);
}
