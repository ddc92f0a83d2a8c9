/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h> /* program_invocation_name */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "daemon/main.h"
#include "demo/demo.h"

static int usage(int status)
{
	fputs("uipoib demo [--hosts N] [--topology FILE] [--keep] [--capture FILE] [-n NAME]\n"
	      "        a fabric at work: subnet up, links, pings, multicast, forged packets, a "
	      "TCP\n"
	      "        flow and a link cut under it; exit status 0 if all of it went well, else 1\n"
	      "  --hosts N        2 to 200 (4)\n"
	      "  --topology FILE  of this fabric, as ibnetdiscover prints it; a host for each CA\n"
	      "  --capture FILE   keep the packets, for tshark -r FILE -V\n"
	      "  --keep           stay until Ctrl-C or `uipoib stop`\n"
	      "  -n, --name NAME  of the instance (demo)\n"
	      "uipoib demo --print-config [--hosts N] [--topology FILE]\n"
	      "        a shell script that writes the same as files for uipoib run -c\n",
	      status ? stderr : stdout);
	return status;
}

const struct option cli_demo_options[] = {
	{ "hosts", required_argument, NULL, 'H' },   { "topology", required_argument, NULL, 't' },
	{ "capture", required_argument, NULL, 'C' }, { "name", required_argument, NULL, 'n' },
	{ "keep", no_argument, NULL, 'k' },	     { "print-config", no_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },	     { NULL },
};

static int parse(struct demo_opts *o, int argc, char **argv)
{
	int c, status = 0;

	optind = 1;
	while (!status && (c = getopt_long(argc, argv, "n:h", cli_demo_options, NULL)) != -1) {
		switch (c) {
		case 'H':
			status = cli_count(&o->hosts, "demo: --hosts", optarg, 2, 200);
			break;
		case 't':
			o->topology = optarg;
			break;
		case 'C':
			o->capture = optarg;
			break;
		case 'n':
			o->name = optarg;
			break;
		case 'k':
			o->keep = true;
			break;
		case 'p':
			o->print_config = true;
			break;
		case 'h':
			cli_opts.help = true;
			return 0;
		default:
			return usage(PROTO_EXIT_USAGE);
		}
	}
	return status;
}

static int check(const struct demo_opts *o, const char *word)
{
	if (word)
		return cli_error(PROTO_EXIT_USAGE, "demo: '%s': unexpected, see uipoib demo -h",
				 word);
	if (!proto_name_ok(o->name))
		return cli_error(
			PROTO_EXIT_USAGE,
			"demo: -n '%s': not a name, expected at most %d of a-z A-Z 0-9 . _ -",
			o->name, PROTO_NAME_MAX - 1);
	/*
	 * A capture cannot be written to standard output, because the demo prints its own lines to
	 * standard output.
	 */
	if (o->capture && !strcmp(o->capture, "-"))
		return cli_error(PROTO_EXIT_USAGE, "demo: --capture '-': expected a file");
	return 0;
}

int cli_demo(int argc, char **argv)
{
	struct demo_opts o = { .daemon = daemon_main,
			       .name = cli_opts.instance ? cli_opts.instance : "demo",
			       .prog = program_invocation_name };
	int status = parse(&o, argc, argv);

	if (cli_opts.help)
		return usage(PROTO_EXIT_OK);
	if (!status)
		status = check(&o, argv[optind]);
	return status ? status : demo_main(&o);
}
