/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "conf/import.h"
#include "os/progress.h"

#define NOTES_SHOWN 10 /* notes of each kind that are shown without -d */

static int usage(int status)
{
	fputs("uipoib fabric import FILE [-o TOPOLOGY [--config CONF [--hosts N] [--host "
	      "REGEX]...]]\n"
	      "                     [--strict] [--force]\n"
	      "        what ibnetdiscover printed of a fabric (FILE -: standard input), as a "
	      "topology\n"
	      "        to run; without -o only what is in it\n"
	      "  -o, --output TOPOLOGY  write it, normalised\n"
	      "  --config CONF          write a configuration too, for uipoib run -c\n"
	      "  --hosts N              interfaces for N HCAs, at equal distances in FILE (4)\n"
	      "  --host REGEX           for those whose description or name matches; repeatable\n"
	      "  --strict               write nothing if a line or a cable is left out, exit "
	      "status 1\n"
	      "  --force                overwrite\n",
	      status ? stderr : stdout);
	return status;
}

/* --- the command line */

static int set_option(struct import_opts *o, int c)
{
	switch (c) {
	case 'o':
		o->topology = optarg;
		return 0;
	case 'c':
		o->config = optarg;
		return 0;
	case 'N':
		return cli_count(&o->hosts, "fabric import: --hosts", optarg, 1, 65534);
	case 'H':
		o->match[o->nmatch++] = optarg;
		return 0;
	case 's':
		o->strict = true;
		return 0;
	case 'f':
		o->force = true;
		return 0;
	}
	return usage(PROTO_EXIT_USAGE);
}

const struct option cli_import_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "config", required_argument, NULL, 'c' },
	{ "hosts", required_argument, NULL, 'N' },
	{ "host", required_argument, NULL, 'H' },
	{ "strict", no_argument, NULL, 's' },
	{ "force", no_argument, NULL, 'f' },
	{ NULL },
};

static int parse(struct import_opts *o, int argc, char **argv)
{
	int c, status = 0;

	optind = 1;
	while (!status && (c = getopt_long(argc, argv, "o:", cli_import_options, NULL)) != -1)
		status = set_option(o, c);
	if (status)
		return status;
	if (argc - optind != 1)
		return usage(PROTO_EXIT_USAGE);
	o->file = argv[optind];
	if (o->config && !o->topology)
		return cli_error(PROTO_EXIT_USAGE,
				 "fabric import: --config needs -o: it names the topology");
	if ((o->hosts || o->nmatch) && !o->config)
		return cli_error(PROTO_EXIT_USAGE,
				 "fabric import: --hosts and --host are for --config");
	if (o->config && !strcmp(o->config, o->topology))
		return cli_error(PROTO_EXIT_USAGE, "fabric import: -o and --config name one file");
	return 0;
}

/* --- the report */

static long long number(const json_t *r, const char *key)
{
	return json_integer_value(json_object_get(r, key));
}

static const char *text(const json_t *r, const char *key)
{
	return json_string_value(json_object_get(r, key));
}

/* Prints the notes to standard error: the objects that the import left out, and other remarks. */
static void print_notes(const json_t *report)
{
	json_t *kinds = json_object_get(report, "notes"), *lines, *line;
	const char *kind;
	size_t i;

	json_object_foreach(kinds, kind, lines)
	{
		size_t n = json_array_size(lines);
		size_t shown = cli_opts.details || n <= NOTES_SHOWN ? n : NOTES_SHOWN;

		json_array_foreach(lines, i, line)
		{
			if (i < shown)
				cli_print(stderr, "%s%s\n", json_string_value(line),
					  !strcmp(kind, "left_out") ? " (left out)" : "");
		}
		if (n > shown)
			cli_print(stderr, "%s: %zu more like this, -d shows them\n",
				  text(report, "file"), n - shown);
	}
}

static void print_counts(const json_t *r)
{
	static const struct {
		const char *key, *what;
	} counts[] = {
		{ "left_out", "lines or cables left out" },
		{ "one_sided", "cables that one end has no line for" },
		{ "same_description", "HCAs described as another" },
		{ "same_lid", "LIDs given twice: the SM renumbers" },
		{ "cut_description", "descriptions cut" },
		{ "slower", "links that run at the next lower rate" },
		{ "no_cable", "nodes without a cable" },
		{ NULL, NULL },
	};
	const char *rate, *sep = "  rates: ";
	json_t *links;

	cli_print(stdout, "%s: %lld switches, %lld HCAs, %lld links\n", text(r, "file"),
		  number(r, "switches"), number(r, "cas"), number(r, "links"));
	json_object_foreach(json_object_get(r, "rates"), rate, links)
	{
		cli_print(stdout, "%s%lld %s", sep, (long long)json_integer_value(links), rate);
		sep = ", ";
	}
	printf("%s  LIDs: %lld of %lld ports have one, the highest is %lld\n",
	       *sep == ',' ? "\n" : "", number(r, "lids"), number(r, "ports"),
	       number(r, "top_lid"));
	for (int i = 0; counts[i].key; i++)
		if (number(r, counts[i].key))
			printf("  %lld %s\n", number(r, counts[i].key), counts[i].what);
}

static void print_report(json_t *r)
{
	if (cli_opts.json) {
		cli_print_json(json_pack("{s:i, s:[O]}", "schema", PROTO_SCHEMA, "import", r));
		return;
	}
	print_notes(r);
	print_counts(r);
	if (text(r, "topology"))
		cli_print(stdout, "written: %s\n", text(r, "topology"));
	if (text(r, "config"))
		cli_print(stdout, "written: %s, %lld interfaces in %lld hosts: uipoib run -c %s\n",
			  text(r, "config"), number(r, "interfaces"), number(r, "hosts"),
			  text(r, "config"));
}

/*
 * Return the exit status for an error. An error that the user can correct counts as wrong usage,
 * and an output file that cannot be written counts as a fault of the environment.
 */
static int exit_status(int err)
{
	switch (err) {
	case 0:
		return PROTO_EXIT_OK;
	case -EPROTO:
		return PROTO_EXIT_FAILED;
	case -EIO:
	case -ENOMEM:
		return PROTO_EXIT_ENV;
	}
	return PROTO_EXIT_USAGE;
}

static void on_step(const char *file, const char *what)
{
	progress_stage("%s: %s", file, what);
}

int cli_import(int argc, char **argv)
{
	struct import_opts o = { .step = on_step };
	char why[IMPORT_ERR_MAX];
	json_t *report = NULL;
	int status, err;

	if (cli_opts.help)
		return usage(PROTO_EXIT_OK);
	o.match = calloc((size_t)argc + 1, sizeof(*o.match));
	if (!o.match)
		return cli_error(PROTO_EXIT_ENV, "out of memory");
	status = parse(&o, argc, argv);
	if (!status) {
		err = import_run(&o, &report, why);
		progress_end();
		if (report)
			print_report(report);
		status = exit_status(err);
		if (err)
			cli_error(status, "%s", why);
	}
	json_decref(report);
	free(o.match);
	return status;
}
