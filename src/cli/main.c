/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* blanks up to the column at which the help of a command begins */
#define HELP_COLUMN "                                      "

static int usage(int status)
{
	FILE *f = status ? stderr : stdout;

	fputs("IP over InfiniBand in user space\n"
	      "\n"
	      "usage: uipoib [-j] [-d] [-n NAME] OBJECT [VERB] [KEY VALUE ...]\n"
	      "\n"
	      "  -j, --json        output as JSON\n"
	      "  -d, --details     everything there is\n"
	      "  -n, --name NAME   which instance (default: $UIPOIB_NAME, else the only one)\n"
	      "  -h, --help        help, also for an object: uipoib OBJECT -h\n"
	      "  -V, --version\n"
	      "\n",
	      f);
	for (const struct cli_cmd *c = cli_objects; c->name; c++)
		fprintf(f, "  %-11s%-24s%s%s\n", c->name, c->usage,
			strlen(c->usage) < 25 ? " " : "\n" HELP_COLUMN, c->help);
	return status;
}

/* Opens /dev/null for standard descriptors that are closed. Otherwise a socket could get number 0, 1 or 2. */
static int open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd < 0 ? -1 : close(fd);
}

static int run(int argc, char **argv)
{
	const struct cli_cmd *c;
	int status;

	if (argc == 2 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
		puts("uipoib " UIPOIB_VERSION);
		return PROTO_EXIT_OK;
	}
	status = cli_options(&argc, argv, true);
	if (status)
		return status;
	if (argc < 2)
		return usage(cli_opts.help ? PROTO_EXIT_OK : PROTO_EXIT_USAGE);
	if (!strcmp(argv[1], "help"))
		return usage(PROTO_EXIT_OK);
	c = cli_find(cli_objects, "object", argv[1]);
	if (!c)
		return PROTO_EXIT_USAGE;
	argc--;
	argv++;
	status = c->own_options ? 0 : cli_options(&argc, argv, false);
	return status ? status : cli_dispatch(c->name, c, argc, argv);
}

int main(int argc, char **argv)
{
	if (open_standard() < 0)
		return PROTO_EXIT_ENV;
	return cli_flush(run(argc, argv));
}
