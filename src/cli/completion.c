/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cmdline/complete.h"

static void print(void *ctx, const char *candidate)
{
	(void)ctx;
	puts(candidate);
}

static int words(int argc, char **argv)
{
	static char empty[] = "", *nothing[] = { empty };
	int first = argc > 1 && !strcmp(argv[1], "--") ? 2 : 1;

	for (int i = first; i < argc; i++)
		if ((!strcmp(argv[i], "-n") || !strcmp(argv[i], "--name")) && i + 1 < argc)
			cli_opts.instance = argv[i + 1];
	if (first >= argc)
		complete(cli_objects, 1, nothing, print, NULL);
	else
		complete(cli_objects, argc - first, argv + first, print, NULL);
	return PROTO_EXIT_OK;
}

/*
 * bash also splits words at ':', '=' and '@', but the script splits the line at blanks only. When
 * bash completes a word, it keeps the part up to the last ':', '=' or '@' and replaces the rest. So
 * the script removes this part from each candidate.
 */
static int bash(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fputs("# completion of uipoib for bash, printed by `uipoib completion bash`\n"
	      "_uipoib()\n"
	      "{\n"
	      "	local line=${COMP_LINE:0:COMP_POINT} words cur kept w\n"
	      "	read -ra words <<<\"$line\"\n"
	      "	[[ $line != *[[:blank:]] ]] || words+=('')\n"
	      "	cur=${words[-1]}\n"
	      "	COMPREPLY=()\n"
	      "	kept=${cur%\"${cur##*[@:=]}\"}\n"
	      "	while IFS= read -r w; do\n"
	      "		case $w in\n"
	      "		" COMPLETE_FILES ")\n"
	      "			compopt -o filenames 2>/dev/null\n"
	      "			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "
	      "\"$cur\")\n"
	      "			;;\n"
	      "		" COMPLETE_COMMANDS
	      ") mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- \"$cur\") ;;\n"
	      "		*) COMPREPLY+=(\"${w#\"$kept\"}\") ;;\n"
	      "		esac\n"
	      "	done < <(\"${words[0]}\" completion words -- \"${words[@]:1}\" 2>/dev/null)\n"
	      "}\n"
	      "complete -F _uipoib uipoib\n",
	      stdout);
	return PROTO_EXIT_OK;
}

const struct cli_cmd cli_completion_verbs[] = {
	{ "bash", bash, "", "a function for bash: source <(uipoib completion bash)" },
	{ "words", words, "-- WORD ...", "what the last of these words can become, a line each" },
	{ NULL },
};
