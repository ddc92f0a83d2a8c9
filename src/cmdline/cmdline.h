/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CMDLINE_CMDLINE_H
#define CMDLINE_CMDLINE_H

/*
 * DOC: The command line
 *
 *	uipoib [OPTIONS] OBJECT VERB [KEY VALUE ...]
 *
 * The grammar is iproute2's. Objects and verbs may be abbreviated as long as they are unambiguous, the
 * default verb is `show`, and options may stand anywhere. The tables of commands are in cli/, in a file for each
 * object. All information about an instance comes through its control socket (proto/proto.h). Rows are printed as a
 * table, or with -d as blocks of all members, or with -j as {"schema":1,"OBJECT":[...]}.
 */

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/proto.h"

/* Options that all commands have */
struct cli_opts {
	bool json, details, help;
	const char *instance; /* value of -n; NULL: cli_instance() finds the name */
};
extern struct cli_opts cli_opts;

/*
 * A row of a table of commands: an object, or a verb. The row has either a function or a table of verbs. The function
 * gets the row's name, which may be abbreviated, as argv[0].
 */
struct cli_cmd {
	const char *name; /* NULL ends the table */
	int (*run)(int argc, char **argv);
	/* words that may follow the name, for the help text and for completion by a shell */
	const char *usage;
	const char *help; /* help text of one line */
	const struct cli_cmd *verbs; /* NULL if there is .run */
	/* long options of .run in addition to the options that all commands have; may be NULL */
	const struct option *options;
	bool own_options; /* run() parses all options itself, because some may be options of another program */
	bool own_help; /* run() prints the help about the command */
};

/* Largest length of the names of an object and its verbs, such as "fabric node show" */
#define CLI_PATH_MAX 64

/*
 * cli_error() - Print "uipoib: ..." on standard error, on one line and escaped (util/escape.h); returns
 * @status
 */
int cli_error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * cli_count() - Parse a decimal number from @min to @max. Error messages begin with @option, for
 * example "demo: --hosts"
 */
int cli_count(unsigned int *ret, const char *option, const char *text, unsigned long min,
	      unsigned long max);

/* cli_u64() - Parse a number of 64 bits, decimal or with 0x. Error messages begin with @option */
int cli_u64(uint64_t *ret, const char *option, const char *text);

/**
 * cli_options() - Parse the options in @argv and remove them from @argv
 * @first_only:	stop at the first word that is no option
 *
 * Return: 0, or the exit status after a message
 */
int cli_options(int *argc, char **argv, bool first_only);

/* cli_find() - Find a row by its name or an abbreviation; NULL after a message that lists @table */
const struct cli_cmd *cli_find(const struct cli_cmd *table, const char *what, const char *word);

/**
 * cli_dispatch() - Carry out a command
 * @path:	names of the object and verbs that led to @c, as "fabric node"
 * @argv:	name of the command and the words behind it. If @c has verbs, argv[1] is a verb or "help"; without
 *	argv[1] the verb is "show"
 *
 * With -h, prints the help about @c, or about the verb in argv[1].
 * Return: the exit status
 */
int cli_dispatch(const char *path, const struct cli_cmd *c, int argc, char **argv);

/* --- words of a command: KEY VALUE pairs */

enum cli_key_type {
	CLI_STR,
	CLI_INT,
	CLI_FLAG, /* a key without a value */
};

struct cli_key {
	const char *name; /* name on the command line; NULL ends the table */
	const char *arg; /* name of the argument in the protocol; NULL: the same as .name */
	enum cli_key_type type;
	bool bare; /* the key may be omitted once, so that its value stands alone, as in `path get ADDR` */
	bool required;
};

/*
 * cli_args() - Make the "args" of a request from the words argv[1..]. Return: 0, or the exit status
 * after a message
 */
int cli_args(json_t **ret, const struct cli_key *keys, int argc, char **argv);

/*
 * cli_value() - Return the value of the long option @name at argv[*at], as "--name VALUE" or "--name=VALUE"; *at
 * becomes the index of the word that contains the value. NULL: the word is not this option, or the value is missing
 */
const char *cli_value(const char *name, char **argv, int *at);

/* cli_seconds() - Convert seconds, as in "1.5", to milliseconds. Return: 0 or -EINVAL */
int cli_seconds(long long *ret_ms, const char *s);

/* --- talking to an instance */

/*
 * cli_instance() - Find the name of the instance: from -n, from $UIPOIB_NAME, or the name of the only instance that
 * runs. Return: 0, or the exit status after a message
 */
int cli_instance(char ret[PROTO_NAME_MAX]);
/*
 * cli_connect() - Connect to the instance of cli_instance(). Return: 0, or the exit status after a
 * message
 */
int cli_connect(struct proto_client *c);
/*
 * cli_call() - Connect, send a request, and call @row for each row of the answer; takes @args
 *
 * Return: the exit status, after a message if it is not 0; -1, which counts as FAILED, if out of memory
 */
int cli_call(const char *cmd, json_t *args, void (*row)(void *ctx, json_t *row), void *ctx);
/* cli_call_fd() - As cli_call(), with the descriptor @fd in the request; @fd is borrowed; -1: none */
int cli_call_fd(const char *cmd, json_t *args, int fd, void (*row)(void *ctx, json_t *row),
		void *ctx);

/* --- output */

/*
 * cli_print() - As fprintf(), but escapes control characters (util/escape.h), because names of nodes may contain
 * some. Line ends are not escaped
 */
void cli_print(FILE *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* cli_print_lines() - Print each line of a text behind @indent blanks, escaped as by cli_print() */
void cli_print_lines(int indent, const char *text);
/*
 * cli_flush() - Flush standard output. Return: @status; if output was lost, an exit status that is
 * not 0, after a message
 */
int cli_flush(int status);
/* cli_print_json() - Print @doc as one line, and drop the caller's reference to it */
void cli_print_json(json_t *doc);

struct cli_col {
	const char *head;
	/* member of the row; "a.b" is member b of object a, "@dev" is ifname@host; NULL ends the table */
	const char *key;
	bool right; /* align to the right, as numbers */
};

struct cli_show {
	const char *object; /* name of the array in JSON */
	const char *cmd; /* command of the protocol */
	const struct cli_key *keys;
	const struct cli_col *cols;
	const char *const *title; /* keys in the first line of a block, with -d; NULL-terminated */
	const char *none; /* message if the answer is empty; NULL: none */
};

/* cli_show() - Carry out a `show` verb: parse the words, send the request, print the rows */
int cli_show(const struct cli_show *s, int argc, char **argv);

/* cli_print_rows() - Print a JSON array of rows in the form that the options choose */
void cli_print_rows(const struct cli_show *s, json_t *rows);
/* cli_print_block() - Print all members of a row, each on a line, indented by @indent */
void cli_print_block(json_t *row, int indent);
/* cli_text() - Return the value of a member as text, which the caller frees by free(); never NULL */
char *cli_text(const json_t *row, const char *key);

#endif
