/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cmdline/cmdline.h"
#include "run/run.h"

int run_usage(int status)
{
	fputs("uipoib run -c FILE [-n NAME] [-o SETTING] [--timeout S] [--ready-fd N] [-v] [-- CMD "
	      "[ARG ...]]\n"
	      "        bring up what FILE describes, in the foreground; with CMD: wait until all "
	      "links\n"
	      "        are up (at most S seconds, 30), run it, tear down, end with its exit "
	      "status; SETTING is SECTION[:NAME].KEY=VALUE and wins over FILE\n",
	      status ? stderr : stdout);
	return status;
}

/* Make the name of the instance from the name of its file: "lab.conf" gives "lab". */
static const char *name_from_file(const char *file, char buf[PROTO_NAME_MAX])
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	const char *dot = strrchr(base, '.');
	size_t len = dot && dot != base ? (size_t)(dot - base) : strlen(base);

	if (len >= PROTO_NAME_MAX)
		return NULL;
	memcpy(buf, base, len);
	buf[len] = '\0';
	return proto_name_ok(buf) ? buf : NULL;
}

int run_name(const char **name, const char *file, char buf[PROTO_NAME_MAX])
{
	if (!*name)
		*name = cli_opts.instance;
	if (*name && !proto_name_ok(*name))
		return cli_error(
			PROTO_EXIT_USAGE,
			"instance '%s': not a name, expected at most %d of a-z A-Z 0-9 . _ -",
			*name, PROTO_NAME_MAX - 1);
	if (!*name)
		*name = name_from_file(file, buf);
	if (!*name)
		return cli_error(PROTO_EXIT_USAGE,
				 "the name of %s cannot be an instance's, expected -n NAME", file);
	return 0;
}

const struct option run_options[] = {
	{ "config", required_argument, NULL, 'c' }, { "name", required_argument, NULL, 'n' },
	{ "option", required_argument, NULL, 'o' }, { "timeout", required_argument, NULL, 't' },
	{ "verbose", no_argument, NULL, 'v' },	    { "ready-fd", required_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },	    { NULL },
};

int run_parse(struct run_args *a, int argc, char **argv)
{
	unsigned int fd;
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "+c:n:o:t:vh", run_options, NULL)) != -1) {
		switch (c) {
		case 'c':
			a->job.file = optarg;
			break;
		case 'n':
			a->job.name = optarg;
			break;
		case 'o':
			if (a->over.n == CONF_OVERRIDES_MAX)
				return cli_error(PROTO_EXIT_USAGE, "-o: given more than %d times",
						 CONF_OVERRIDES_MAX);
			a->over.text[a->over.n++] = optarg;
			break;
		case 't':
			if (cli_seconds(&a->job.timeout_ms, optarg))
				return cli_error(PROTO_EXIT_USAGE,
						 "--timeout '%s': expected seconds", optarg);
			break;
		case 'v':
			a->job.verbose++;
			break;
		case 'r':
			if (cli_count(&fd, "run: --ready-fd", optarg, 3, INT_MAX))
				return PROTO_EXIT_USAGE;
			a->ready_fd = (int)fd;
			break;
		case 'h':
			cli_opts.help = true;
			return 0;
		default:
			return run_usage(PROTO_EXIT_USAGE);
		}
	}
	if (argv[optind])
		a->job.cmd = argv + optind;
	if (!a->job.file)
		return cli_error(PROTO_EXIT_USAGE, "run: -c FILE: missing");
	return run_name(&a->job.name, a->job.file, a->name_buf);
}
