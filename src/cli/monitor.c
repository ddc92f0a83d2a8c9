/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "util/list.h"

static const char *const kinds[] = {
	"link", "interface", "port", "sm", "sweep", "end_port", "group", "trap", "drop", NULL,
};

struct filter {
	char **words; /* names of the events to show, NULL-terminated; empty: all events */
};

static bool wanted(const struct filter *f, const char *event)
{
	if (!f->words[0])
		return true;
	for (char **w = f->words; *w; w++)
		if (!strcmp(*w, event))
			return true;
	return false;
}

/*
 * Tell whether a row reports a drop that happens in every healthy network: an interface receives
 * its own multicasts, and the kernel sends to IPv6 groups without members, such as the group of the
 * routers. The text output shows these drops only with -d.
 */
static bool routine(const json_t *row, const char *event)
{
	const char *counter = json_string_value(json_object_get(row, "counter"));

	return !strcmp(event, "drop") && counter &&
	       (!strcmp(counter, "drop_own_echo") || !strcmp(counter, "drop_no_group"));
}

/* Tell whether the text output leaves out member @key: the LID or the GID of a port whose name is in the row */
static bool needless(const json_t *row, const char *key)
{
	static const struct {
		const char *key, *name;
	} known_by[] = {
		{ "issuer_lid", "issuer" }, { "from_lid", "from" }, { "from_gid", "from" },
		{ "to_lid", "to" },	    { "to_gid", "to" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known_by); i++)
		if (!strcmp(key, known_by[i].key))
			return json_is_string(json_object_get(row, known_by[i].name));
	return false;
}

static void print_time(long long unix_ms)
{
	time_t s = (time_t)(unix_ms / 1000);
	struct tm tm;
	char buf[32];

	localtime_r(&s, &tm);
	strftime(buf, sizeof(buf), "%H:%M:%S", &tm);
	printf("%s.%03lld", buf, unix_ms % 1000);
}

static void print_text(json_t *row, const char *event)
{
	const char *key;
	json_t *v;

	print_time(json_integer_value(json_object_get(row, "unix_ms")));
	cli_print(stdout, " %s", event);
	if (json_object_get(row, "ifname")) {
		char *dev = cli_text(row, "@dev");

		printf(" %s", dev);
		free(dev);
	}
	json_object_foreach(row, key, v)
	{
		char *text;

		if (!strcmp(key, "unix_ms") || !strcmp(key, "event") || !strcmp(key, "ifname") ||
		    !strcmp(key, "host") || json_is_null(v) ||
		    (!cli_opts.details && needless(row, key)))
			continue;
		text = cli_text(row, key);
		cli_print(stdout, strchr(text, ' ') ? " %s \"%s\"" : " %s %s", key, text);
		free(text);
	}
	putchar('\n');
}

/* With -j each event is a JSON document on its own line. A JSON array of the events would never be closed. */
static void print_event(void *ctx, json_t *row)
{
	const char *event = json_string_value(json_object_get(row, "event"));

	if (!event || !wanted(ctx, event))
		return;
	if (cli_opts.json) {
		cli_print_json(json_pack("{s:i, s:O}", "schema", PROTO_SCHEMA, "event", row));
	} else if (cli_opts.details || !routine(row, event)) {
		print_text(row, event);
	}
	/* Later events could not be written either, so the command ends. */
	if (fflush(stdout))
		exit(cli_error(PROTO_EXIT_FAILED, "standard output: %s", strerror(errno)));
}

int cli_monitor(int argc, char **argv)
{
	struct filter f = { .words = argv + 1 };

	if (cli_opts.help) {
		puts("uipoib monitor [link | interface | port | sm | sweep | end_port | group | "
		     "trap | drop] "
		     "...\n"
		     "        what happens, as it happens, until Ctrl-C");
		return PROTO_EXIT_OK;
	}
	for (int i = 1; i < argc; i++) {
		const char *const *k = kinds;

		while (*k && strcmp(*k, argv[i]))
			k++;
		if (!*k)
			return cli_error(
				PROTO_EXIT_USAGE,
				"monitor '%s': unknown, expected link, interface, port, sm, sweep, "
				"end_port, group, trap or drop",
				argv[i]);
	}
	return cli_call("monitor", json_object(), print_event, &f);
}
