/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/*
 * DOC: The command line
 *
 *	uipoib [OPTIONS] OBJECT VERB [KEY VALUE ...]
 *
 * iproute2's grammar: unambiguous beginnings of objects and verbs do, the verb is `show` where none is
 * given, options may stand anywhere. One file per object. Everything that is known about an instance
 * comes through its control socket (daemon/proto.h); rows are printed as a table, with -d as blocks of
 * all members, with -j as {"schema":1,"OBJECT":[...]}.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "daemon/proto.h"

#ifndef UIPOIB_VERSION
#define UIPOIB_VERSION "0.1"
#endif

/* What stands before or among the words of a command. */
struct cli_opts {
	bool json, details, help;
	const char *instance; /* -n; NULL: see cli_connect() */
};
extern struct cli_opts cli_opts;

/* An object, or one of its verbs. argv[0] is its name, abbreviated or not. */
struct cli_cmd {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *usage; /* what follows the name, for help */
	const char *help; /* one line */
	bool own_options; /* parses options itself: what follows may be another program's */
};

/* cli_error() - "uipoib: ..." on standard error; returns @status */
int cli_error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* cli_count() - A decimal number of @min to @max; what it is of is said by @option, as "demo: --hosts" */
int cli_count(unsigned int *ret, const char *option, const char *text, unsigned long min,
	      unsigned long max);

/**
 * cli_options() - Take options out of @argv, which keeps the other words
 * @first_only:	stop at the first word that is no option
 *
 * Return: 0, or the exit status after a message
 */
int cli_options(int *argc, char **argv, bool first_only);

/* cli_find() - By name or unambiguous beginning; NULL after a message that lists @table */
const struct cli_cmd *cli_find(const struct cli_cmd *table, const char *what, const char *word);

/* cli_dispatch() - Run the verb argv[1] of object argv[0]; "show" without one */
int cli_dispatch(const char *object, const struct cli_cmd *verbs, int argc, char **argv);
/* cli_usage() - Help for an object */
int cli_usage(const char *object, const struct cli_cmd *verbs);

/* --- words of a command: KEY VALUE pairs */

enum cli_key_type {
	CLI_STR,
	CLI_INT,
	CLI_FLAG, /* no value */
};

struct cli_key {
	const char *name; /* as typed; NULL ends the table */
	const char *arg; /* as the protocol calls it; NULL: the same */
	enum cli_key_type type;
	bool bare; /* also a word that is no key, once: `path get ADDR` */
	bool required;
};

/* cli_args() - Make the "args" of a request of the words argv[1..]. 0, or the exit status after a message */
int cli_args(json_t **ret, const struct cli_key *keys, int argc, char **argv);

/* cli_seconds() - "1.5" as milliseconds. 0 or -EINVAL */
int cli_seconds(long long *ret_ms, const char *s);

/* --- talking to an instance */

/* cli_instance() - Which one: -n, $UIPOIB_NAME, the only one that runs. 0, or the exit status after a message */
int cli_instance(char ret[PROTO_NAME_MAX]);
/* cli_connect() - To that one. 0, or the exit status after a message */
int cli_connect(struct proto_client *c);
/*
 * cli_call() - Connect, one request, all its rows. Takes @args. Returns the exit status, after a
 * message if it is not 0; -1: out of memory is FAILED too
 */
int cli_call(const char *cmd, json_t *args, void (*row)(void *ctx, json_t *row), void *ctx);

/* --- output */

struct cli_col {
	const char *head;
	const char *key; /* "a.b" goes into objects; "@dev" is ifname@host; NULL ends the table */
	bool right; /* numbers */
};

struct cli_show {
	const char *object; /* name of the array in JSON */
	const char *cmd; /* of the protocol */
	const struct cli_key *keys;
	const struct cli_col *cols;
	const char *const *title; /* what heads a block of -d: keys, NULL-terminated */
	const char *none; /* said on an empty answer; NULL: nothing */
};

/* cli_show() - The whole of a `show` verb */
int cli_show(const struct cli_show *s, int argc, char **argv);

/* cli_print_rows() - A JSON array of rows, as the options say */
void cli_print_rows(const struct cli_show *s, json_t *rows);
/* cli_print_block() - All members of a row, one a line, indented by @indent */
void cli_print_block(json_t *row, int indent);
/* cli_text() - A value as text; free() it; never NULL */
char *cli_text(const json_t *row, const char *key);

/* --- objects */

int cli_link(int argc, char **argv);
int cli_neigh(int argc, char **argv);
int cli_path(int argc, char **argv);
int cli_maddr(int argc, char **argv);
int cli_stats(int argc, char **argv);
int cli_fabric(int argc, char **argv);
int cli_fault(int argc, char **argv);
int cli_import(int argc, char **argv);
int cli_capture(int argc, char **argv);
int cli_trace(int argc, char **argv);
int cli_monitor(int argc, char **argv);
int cli_instance_cmd(int argc, char **argv);
int cli_host(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_vm(int argc, char **argv);
int cli_wait(int argc, char **argv);
int cli_exec(int argc, char **argv);
int cli_stop(int argc, char **argv);
int cli_demo(int argc, char **argv);

#endif
