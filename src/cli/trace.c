/* SPDX-License-Identifier: BSD-2-Clause */
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
 * Runs ping(8) in the host, while the instance reports what its fabric does with the packets. The trace
 * is complete when ping has ended and the instance has sent no row for QUIET_MS.
 */

#define QUIET_MS 150
/* differs from exit statuses of ping (0 to 2) and of refusals by the instance (1 to 3) */
#define NO_PING 127

struct trace {
	const char *from, *to;
	bool ipv6;
	struct proto_client c;
	json_t *rows;
	json_t *start; /* the first row; borrowed from .rows */
	unsigned int packets, hops, delivered, lost;
};

/* --- words */

static int parse(struct trace *t, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-6"))
			t->ipv6 = true;
		else if (!strcmp(argv[i], "-4"))
			t->ipv6 = false;
		else if (argv[i][0] == '-')
			return cli_error(PROTO_EXIT_USAGE,
					 "trace: option '%s': unknown, expected -4 or -6", argv[i]);
		else if (!t->from)
			t->from = argv[i];
		else if (!t->to)
			t->to = argv[i];
		else
			return cli_error(PROTO_EXIT_USAGE, "trace: '%s': unexpected", argv[i]);
	}
	if (!t->to)
		return cli_error(PROTO_EXIT_USAGE,
				 "trace: expected A B: two hosts, or a host and an address");
	return 0;
}

/* --- printing */

/* The headers of a packet, a line each */
static void print_headers(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		cli_print(stdout, "       %.*s\n", (int)n, text);
		text += n + (text[n] != '\0');
	}
}

/* Prints "in by port 2, ", but nothing for a packet that the switch itself sends from port 0. */
static void print_in(const json_t *row)
{
	long long in = json_integer_value(json_object_get(row, "in_port"));

	if (in)
		printf("in by port %lld, ", in);
}

static void print_lft(const json_t *row)
{
	long long out = json_integer_value(json_object_get(row, "out_port"));
	char *dlid = cli_text(row, "dlid");

	print_in(row);
	printf("LFT[%s] = %lld, %s", dlid, out, out ? "out" : "itself");
	if (out)
		printf(" by port %lld", out);
	free(dlid);
}

/* Prints the ports of the MFT entry, and those among them that are not the ingress port. */
static void print_mft(const json_t *row)
{
	long long in = json_integer_value(json_object_get(row, "in_port"));
	char *dlid = cli_text(row, "dlid"), *ports = cli_text(row, "ports");
	const json_t *list = json_object_get(row, "ports");
	unsigned int left = 0;
	size_t i;
	json_t *one;

	print_in(row);
	printf("MFT[%s] = {%s}, out by", dlid, ports);
	json_array_foreach(list, i, one)
	{
		if (json_integer_value(one) == in)
			continue;
		printf("%s %lld", left++ ? "" : " port", json_integer_value(one));
	}
	if (!left)
		printf(" none");
	free(dlid);
	free(ports);
}

/* A switch discards a packet at a port, which may be that of entry or that of departure; an HCA at its port of entry. */
static void print_discarded(const json_t *row)
{
	long long in = json_integer_value(json_object_get(row, "in_port"));
	long long out = json_integer_value(json_object_get(row, "out_port"));
	char *reason = cli_text(row, "reason");

	if (in)
		printf("in by port %lld, DISCARDED: %s", in, reason);
	else if (out)
		printf("DISCARDED at port %lld: %s", out, reason);
	else
		printf("DISCARDED: %s", reason);
	free(reason);
}

static void print_hop(const json_t *row, const char *event)
{
	char *node = cli_text(row, "node"), *in = cli_text(row, "in_port"),
	     *out = cli_text(row, "out_port");

	printf("  #%-3lld ", (long long)json_integer_value(json_object_get(row, "packet")));
	if (!strcmp(event, "sent")) {
		printf("%s/%s: sent", node, out);
	} else if (!strcmp(event, "delivered")) {
		printf("%s/%s: delivered", node, in);
	} else if (!strcmp(event, "fault")) {
		printf("%s/%s: LOST by a fault on the link", node, out);
	} else {
		printf("%s: ", node);
		if (!strcmp(event, "lft"))
			print_lft(row);
		else if (!strcmp(event, "mft"))
			print_mft(row);
		else if (!strcmp(event, "mad"))
			printf("delivered to its management port");
		else
			print_discarded(row);
	}
	putchar('\n');
	free(node);
	free(in);
	free(out);
}

static void print_start(const json_t *row)
{
	const json_t *to = json_object_get(row, "to"), *from = json_object_get(row, "from");
	char *a = cli_text(from, "@dev"), *ap = cli_text(from, "port"), *al = cli_text(from, "lid"),
	     *aa = cli_text(from, "address");
	char *b = cli_text(to, "@dev"), *bp = cli_text(to, "port"), *bl = cli_text(to, "lid"),
	     *ba = cli_text(to, "address");

	printf("%s (%s, port %s, LID %s) pings %s", a, aa, ap, al, ba);
	if (json_object_get(to, "ifname"))
		printf(" of %s (port %s, LID %s)", b, bp, bl);
	printf("\n");
	free(a);
	free(ap);
	free(al);
	free(aa);
	free(b);
	free(bp);
	free(bl);
	free(ba);
}

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
	if (!strcmp(event, "start")) {
		print_start(row);
	} else if (!strcmp(event, "packet")) {
		printf("\n#%-4u %lld octets\n", t->packets,
		       (long long)json_integer_value(json_object_get(row, "octets")));
		print_headers(json_string_value(json_object_get(row, "text")));
	} else {
		print_hop(row, event);
	}
}

/* --- the ping */

/* Appends the interface to a link-local address, as ping needs it. */
static char *ping_target(const struct trace *t)
{
	char *addr = cli_text(json_object_get(t->start, "to"), "address"), *with;
	const char *dev =
		json_string_value(json_object_get(json_object_get(t->start, "from"), "ifname"));

	if (strncmp(addr, "fe80:", 5))
		return addr;
	if (asprintf(&with, "%s%%%s", addr, dev) < 0)
		return addr;
	free(addr);
	return with;
}

static pid_t start_ping(const struct trace *t, int out)
{
	const char *host =
		json_string_value(json_object_get(json_object_get(t->start, "from"), "host"));
	char *target = ping_target(t);
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (pid) {
		free(target);
		return pid;
	}
	dup2(out, STDOUT_FILENO);
	status = host_enter(host);
	if (status)
		_exit(status);
	execlp("ping", "ping", "-n", "-c1", "-W2", target, (char *)NULL);
	cli_error(0, "ping: %s", strerror(errno));
	_exit(NO_PING);
}

/* --- the command */

/* Takes the next row. 1: done; 0: no row came in time; -1: the answer or the connection has ended */
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

static int watch(struct trace *t, pid_t ping, int *ret_ping)
{
	bool running = true;
	int status = 0;

	for (;;) {
		int got = take(t, QUIET_MS, &status);

		if (got < 0) {
			if (running) {
				kill(ping, SIGTERM);
				waitpid(ping, ret_ping, 0);
			}
			return status;
		}
		if (!got && !running)
			return 0;
		if (running && waitpid(ping, ret_ping, WNOHANG) == ping)
			running = false;
	}
}

static void print_summary(const struct trace *t, int out, int ping)
{
	char text[4096];
	ssize_t n = read(out, text, sizeof(text) - 1);
	char *rtt;

	if (n < 0)
		n = 0;
	text[n] = '\0';
	rtt = strstr(text, "time=");
	if (rtt)
		rtt[strcspn(rtt, "\n")] = '\0';
	printf("\n%u packets, %u forwarding decisions, %u deliveries, %u lost; ", t->packets,
	       t->hops, t->delivered, t->lost);
	if (ping == 0)
		cli_print(stdout, "answered%s%s\n", rtt ? ", " : "", rtt ? rtt : "");
	else
		puts("no answer");
}

static void print_json(const struct trace *t, bool answered)
{
	cli_print_json(json_pack("{s:i, s:O, s:b}", "schema", PROTO_SCHEMA, "trace", t->rows,
				 "answered", answered));
}

static int run_ping(struct trace *t)
{
	int pipefd[2], ping = 0, status;
	pid_t pid;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return cli_error(PROTO_EXIT_FAILED, "pipe: %s", strerror(errno));
	pid = start_ping(t, pipefd[1]);
	close(pipefd[1]);
	status = pid < 0 ? cli_error(PROTO_EXIT_FAILED, "fork: %s", strerror(errno))
			 : watch(t, pid, &ping);
	ping = WIFEXITED(ping) ? WEXITSTATUS(ping) : 128;
	if (!status && (ping == NO_PING || ping == PROTO_EXIT_ENV))
		status = PROTO_EXIT_ENV;
	if (!status && cli_opts.json)
		print_json(t, ping == 0);
	else if (!status)
		print_summary(t, pipefd[0], ping);
	close(pipefd[0]);
	return status ? status : ping == 0 ? PROTO_EXIT_OK : PROTO_EXIT_FAILED;
}

static int run(struct trace *t)
{
	json_t *args = json_pack("{s:s, s:s, s:i, s:b}", "from", t->from, "to", t->to, "family",
				 t->ipv6 ? 6 : 4, "details", (int)cli_opts.details);
	int status = proto_send(&t->c, "trace", args);

	json_decref(args);
	if (status)
		return cli_error(PROTO_EXIT_FAILED, "the instance: %s", strerror(-status));
	if (take(t, -1, &status) < 0)
		return status;
	return run_ping(t);
}

int cli_trace(int argc, char **argv)
{
	struct trace t = { 0 };
	int status;

	if (cli_opts.help) {
		puts("uipoib trace A B [-4 | -6]\n"
		     "        one ping of host A to host (or address) B: every packet of it, every "
		     "header,\n"
		     "        every forwarding decision");
		return PROTO_EXIT_OK;
	}
	status = parse(&t, argc, argv);
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
