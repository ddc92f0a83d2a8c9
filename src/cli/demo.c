/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "daemon/demo.h"

static const char usage[] =
	"usage: uipoib demo [--hosts N] [--topology FILE] [--keep] [--capture FILE] "
	"[--print-config]\n"
	"\n"
	"  --hosts N        2 to 200 (default 4)\n"
	"  --topology FILE  as ibnetdiscover prints it, in place of a ring of switches\n"
	"  --keep           stay until Ctrl-C, for exec, trace and the rest\n"
	"  --capture FILE   leave the capture, for tshark\n"
	"  --print-config   print topology and configuration as a shell script that writes them\n";

static int need_value(int argc, int i, char **argv)
{
	return i + 1 < argc ? 0
			    : cli_error(PROTO_EXIT_USAGE, "demo: %s: expected a value", argv[i]);
}

static int parse(struct demo_opts *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char **text = !strcmp(argv[i], "--topology")  ? &o->topology
				    : !strcmp(argv[i], "--capture") ? &o->capture
				    : !strcmp(argv[i], "-n")	    ? &o->name
								    : NULL;

		if (!strcmp(argv[i], "--keep")) {
			o->keep = true;
		} else if (!strcmp(argv[i], "--print-config")) {
			o->print_config = true;
		} else if (text) {
			if (need_value(argc, i, argv))
				return PROTO_EXIT_USAGE;
			*text = argv[++i];
		} else if (!strcmp(argv[i], "--hosts")) {
			char *end;

			if (need_value(argc, i, argv))
				return PROTO_EXIT_USAGE;
			o->hosts = (unsigned int)strtoul(argv[++i], &end, 10);
			if (*end || o->hosts < 2 || o->hosts > 200)
				return cli_error(PROTO_EXIT_USAGE,
						 "demo: --hosts '%s': expected 2 to 200", argv[i]);
		} else {
			return cli_error(
				PROTO_EXIT_USAGE,
				"demo: '%s': unknown, expected --hosts N, --topology F, --keep, "
				"--capture F, --print-config or -n NAME",
				argv[i]);
		}
	}
	if (!proto_name_ok(o->name))
		return cli_error(PROTO_EXIT_USAGE,
				 "demo: -n '%s': expected a-z 0-9 . _ -, at most %d", o->name,
				 PROTO_NAME_MAX - 1);
	return 0;
}

int cli_demo(int argc, char **argv)
{
	struct demo_opts o = { .name = cli_opts.instance ? cli_opts.instance : "demo" };
	int status;

	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		fputs(usage, stdout);
		return PROTO_EXIT_OK;
	}
	status = parse(&o, argc, argv);

	return status ? status : demo_main(&o);
}
