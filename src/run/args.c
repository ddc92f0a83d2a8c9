/* SPDX-License-Identifier: BSD-2-Clause */
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

/* lab.conf -> lab */
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
