/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/trace.h"

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

/* Prints the ports of the MFT entry, and then the same ports without the ingress port. */
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

/*
 * Print that a packet was discarded. A row about a switch has the packet's ingress port or its
 * egress port; a row about an HCA has the ingress port.
 */
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

/* Print what the host does, with the verb of the probe, such as "pings" or "connects to TCP port 80 at" */
static void print_verb(const struct trace_probe *probe, int port)
{
	const char *gap = strchr(probe->verb, '%');

	if (gap)
		printf("%.*s%d%s", (int)(gap - probe->verb), probe->verb, port, gap + 1);
	else
		printf("%s", probe->verb);
}

static void print_start(const json_t *row, const struct trace_probe *probe, int port)
{
	const json_t *to = json_object_get(row, "to"), *from = json_object_get(row, "from");
	char *a = cli_text(from, "@dev"), *ap = cli_text(from, "port"), *al = cli_text(from, "lid"),
	     *aa = cli_text(from, "address");
	char *b = cli_text(to, "@dev"), *bp = cli_text(to, "port"), *bl = cli_text(to, "lid"),
	     *ba = cli_text(to, "address");

	printf("%s (%s, port %s, LID %s) ", a, aa, ap, al);
	print_verb(probe, port);
	printf(" %s", ba);
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

void trace_print_row(const json_t *row, const struct trace_probe *probe, int port,
		     unsigned int number)
{
	const char *event = json_string_value(json_object_get(row, "event"));

	if (!strcmp(event, "start")) {
		print_start(row, probe, port);
	} else if (!strcmp(event, "packet")) {
		printf("\n#%-4u %lld octets\n", number,
		       (long long)json_integer_value(json_object_get(row, "octets")));
		cli_print_lines(7, json_string_value(json_object_get(row, "text")));
	} else {
		print_hop(row, event);
	}
}
