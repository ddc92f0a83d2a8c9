/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMDLINE_COMPLETE_H
#define CMDLINE_COMPLETE_H

#include "cmdline/cmdline.h"

/*
 * DOC: Completion of a command line by a shell
 *
 * `uipoib completion bash` prints a function for bash, which asks `uipoib completion words -- WORD...` at each
 * completion. So the candidates come from the tables of commands (struct cli_cmd): names, the lower-case words of
 * .usage, and .options. Where .usage has IF, HOST, NODE or NODE/PORT, the candidates come from the running instance,
 * if there is an instance.
 */

/* Candidates that make the shell complete the word itself, for example with names of files */
#define COMPLETE_FILES ":files"
#define COMPLETE_COMMANDS ":commands"

/**
 * complete() - Find candidates for the last of @words
 * @table:	commands; words[0] is a command of this table or an option
 * @words:	words of the command line behind the program's name; the last word may be empty or incomplete
 * @n:		number of words, at least 1
 * @add:	gets each candidate that begins with the last word
 */
void complete(const struct cli_cmd *table, int n, char *const *words,
	      void (*add)(void *ctx, const char *candidate), void *ctx);

#endif
