/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/host.h"

/*
 * DOC: trace
 *
 * `trace` runs a probe (trace_probe.c) in the host, while the instance reports what its fabric does with the packets.
 * The trace is complete when the probe has ended and the instance has sent no row for QUIET_MS.
 */

#define QUIET_MS 150

struct trace {
	const char *from, *to;
	const struct trace_probe *probe;
	unsigned int port; /* destination port of TCP or UDP */
	bool ipv6;
	struct proto_client c;
	json_t *rows;
	json_t *start; /* the first row; borrowed from .rows */
	unsigned int packets, hops, delivered, lost;
};

/* --- words */

/* Parses a probe's name, and its port if needed. Return: number of words; -1 after a message */
static int take_probe(struct trace *t, char **word)
{
	t->probe = trace_probe_of(word[0]);
	if (!t->probe) {
		cli_error(0, "trace: '%s': unknown, expected ping, tcp, udp, arp, path or join",
			  word[0]);
		return -1;
	}
	if (!t->probe->port)
		return 1;
	if (!word[1]) {
		cli_error(0, "trace: %s: expected a port, 1 to 65535", word[0]);
		return -1;
	}
	return cli_count(&t->port, "trace: port", word[1], 1, 65535) ? -1 : 2;
}

static int parse(struct trace *t, char **word)
{
	int taken;

	while (*word) {
		taken = 1;
		if (!strcmp(*word, "-6"))
			t->ipv6 = true;
		else if (!strcmp(*word, "-4"))
			t->ipv6 = false;
		else if (**word == '-')
			return cli_error(PROTO_EXIT_USAGE,
					 "trace: option '%s': unknown, expected -4 or -6", *word);
		else if (!t->from)
			t->from = *word;
		else if (!t->to)
			t->to = *word;
		else if (!t->probe)
			taken = take_probe(t, word);
		else
			return cli_error(PROTO_EXIT_USAGE, "trace: '%s': unexpected", *word);
		if (taken < 0)
			return PROTO_EXIT_USAGE;
		word += taken;
	}
	if (!t->to)
		return cli_error(PROTO_EXIT_USAGE,
				 "trace: expected A B: two hosts, or a host and an address");
	if (!t->probe)
		t->probe = trace_probe_of("ping");
	return 0;
}

/* --- rows */

static void count(struct trace *t, const char *event)
{
	t->packets += !strcmp(event, "packet");
	t->hops += !strcmp(event, "lft") || !strcmp(event, "mft");
	t->delivered += !strcmp(event, "delivered") || !strcmp(event, "mad");
	t->lost += !strcmp(event, "discarded") || !strcmp(event, "fault");
}

static void on_row(struct trace *t, json_t *row)
{
	const char *event = json_string_value(json_object_get(row, "event"));

	if (!event)
		return;
	count(t, event);
	json_array_append(t->rows, row);
	if (!strcmp(event, "start"))
		t->start = row;
	if (cli_opts.json)
		return;
	trace_print_row(row, t->probe, (int)t->port, t->packets);
}

/* --- the probe */

static pid_t start_probe(const struct trace *t, int out)
{
	const char *host =
		json_string_value(json_object_get(json_object_get(t->start, "from"), "host"));
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	dup2(out, STDOUT_FILENO);
	status = t->probe->outside ? 0 : host_enter(host);
	if (!status)
		status = t->probe->run(t->start, (int)t->port);
	fflush(stdout);
	_exit(status);
}

/* --- the command */

/*
 * Reads the next row. Return: 1: a row was processed; 0: no row came in time; -1: the answer or the
 * connection has ended
 */
static int take(struct trace *t, int timeout_ms, int *ret_status)
{
	json_t *obj, *end, *row;
	int status = proto_recv(&t->c, timeout_ms, &obj);

	if (status == -ETIMEDOUT)
		return 0;
	if (status) {
		*ret_status = cli_error(PROTO_EXIT_FAILED, "the instance: %s", strerror(-status));
		return -1;
	}
	end = json_object_get(obj, "end");
	row = json_object_get(obj, "row");
	if (row)
		on_row(t, row);
	if (end) {
		const char *text = json_string_value(json_object_get(end, "error"));

		*ret_status = cli_error((int)json_integer_value(json_object_get(end, "status")),
					"%s", text ? text : "trace: ended");
	}
	json_decref(obj);
	return end ? -1 : 1;
}

static int watch(struct trace *t, pid_t probe, int *ret_status)
{
	bool running = true;
	int status = 0;

	for (;;) {
		int got = take(t, QUIET_MS, &status);

		if (got < 0) {
			if (running) {
				kill(probe, SIGTERM);
				waitpid(probe, ret_status, 0);
			}
			return status;
		}
		if (!got && !running)
			return 0;
		if (running && waitpid(probe, ret_status, WNOHANG) == probe)
			running = false;
	}
}

/* Read the output of the probe, and make the text of the summary from it. */
static void read_result(const struct trace *t, int from, bool answered, char ret[TRACE_TEXT_MAX])
{
	size_t n = 0;
	ssize_t got;

	while (n < TRACE_TEXT_MAX - 1 && (got = read(from, ret + n, TRACE_TEXT_MAX - 1 - n)) > 0)
		n += (size_t)got;
	ret[n] = '\0';
	if (t->probe->summary)
		t->probe->summary(ret, answered);
}

/* Prints advice for the user if there was no answer */
static void print_advice(const struct trace *t)
{
	const char *advice = json_string_value(json_object_get(t->start, "advice"));
	const char *host =
		json_string_value(json_object_get(json_object_get(t->start, "from"), "host"));
	const char *to =
		json_string_value(json_object_get(json_object_get(t->start, "to"), "address"));

	if (advice && *advice)
		cli_print(stdout, "%s\n", advice);
	else if (!t->packets && host && *host && to)
		cli_print(stdout,
			  "No packet was sent. This says where %s sends packets to %s: uipoib exec "
			  "%s ip route get %s\n",
			  host, to, host, to);
}

static void print_summary(const struct trace *t, bool answered, const char *result)
{
	printf("\n%u packets, %u forwarding decisions, %u deliveries, %u lost; ", t->packets,
	       t->hops, t->delivered, t->lost);
	if (t->probe->outside && !*result)
		puts("no answer");
	else if (t->probe->outside)
		printf("%s\n%s", t->packets ? "answered:" : "the port knew the path:", result);
	else
		cli_print(stdout, "%s\n", result);
	if (!answered)
		print_advice(t);
}

static void print_json(const struct trace *t, bool answered, const char *result)
{
	cli_print_json(json_pack("{s:i, s:O, s:b, s:s}", "schema", PROTO_SCHEMA, "trace", t->rows,
				 "answered", answered, "result", result));
}

/*
 * Print the result of a probe that has ended with the status @ended of waitpid(). Return: the exit
 * status of the command
 */
static int end_probe(const struct trace *t, int out, int ended)
{
	char result[TRACE_TEXT_MAX];
	int status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128;

	if (status == TRACE_NO_PROBE || status == PROTO_EXIT_ENV)
		return PROTO_EXIT_ENV;
	read_result(t, out, !status, result);
	if (cli_opts.json)
		print_json(t, !status, result);
	else
		print_summary(t, !status, result);
	return status ? PROTO_EXIT_FAILED : PROTO_EXIT_OK;
}

static int run_probe(struct trace *t)
{
	int pipefd[2], ended = 0, status;
	pid_t pid;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return cli_error(PROTO_EXIT_FAILED, "pipe: %s", strerror(errno));
	pid = start_probe(t, pipefd[1]);
	close(pipefd[1]);
	status = pid < 0 ? cli_error(PROTO_EXIT_FAILED, "fork: %s", strerror(errno))
			 : watch(t, pid, &ended);
	if (!status)
		status = end_probe(t, pipefd[0], ended);
	close(pipefd[0]);
	return status;
}

static int run(struct trace *t)
{
	json_t *args = json_pack("{s:s, s:s, s:i, s:b, s:s}", "from", t->from, "to", t->to,
				 "family", t->ipv6 ? 6 : 4, "details", (int)cli_opts.details,
				 "what", t->probe->name);
	int status;

	if (t->probe->port)
		json_object_set_new(args, "port", json_integer(t->port));
	status = proto_send(&t->c, "trace", args);
	json_decref(args);
	if (status)
		return cli_error(PROTO_EXIT_FAILED, "the instance: %s", strerror(-status));
	if (take(t, -1, &status) < 0)
		return status;
	return run_probe(t);
}

int cli_trace(int argc, char **argv)
{
	struct trace t = { 0 };
	int status;

	if (cli_opts.help) {
		puts("uipoib trace A B [ping | tcp PORT | udp PORT | arp | path | join] [-4 | -6]\n"
		     "        host A pings B, a host or an address; every packet of it, every "
		     "header, every\n"
		     "        forwarding decision. Or A connects to B, sends it a datagram, "
		     "resolves its\n"
		     "        address, asks for the path to it, or joins B, which is a group then");
		return PROTO_EXIT_OK;
	}
	(void)argc;
	status = parse(&t, argv + 1);
	if (!status)
		status = cli_connect(&t.c);
	if (status)
		return status;
	t.rows = json_array();
	status = run(&t);
	json_decref(t.rows);
	proto_close(&t.c);
	return status;
}
