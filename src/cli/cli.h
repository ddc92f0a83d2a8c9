/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/* The objects of the command line. Each object has a file of its own in cli/. The grammar is in cmdline/. */

#include "cmdline/cmdline.h"

/* tests/lint/version.sh compares this version with the other places that name the version. */
#define UIPOIB_VERSION "0.2.0"

/* All objects (cli/objects.c) */
extern const struct cli_cmd cli_objects[];
extern const struct cli_cmd cli_completion_verbs[], cli_instance_verbs[], cli_host_verbs[],
	cli_link_verbs[], cli_neigh_verbs[], cli_path_verbs[], cli_maddr_verbs[], cli_stats_verbs[],
	cli_fabric_verbs[], cli_fault_verbs[], cli_capture_verbs[];

/* --- functions of objects and verbs that the table of another file names */

/* Long options of the commands that parse their own options */
extern const struct option cli_demo_options[], cli_import_options[], cli_fabric_check_options[],
	cli_timeout_options[], cli_fabric_show_options[];

int cli_import(int argc, char **argv);
int cli_fabric_check(int argc, char **argv);
int cli_trace(int argc, char **argv);
int cli_path_get(int argc, char **argv);
int cli_monitor(int argc, char **argv);
int cli_wait(int argc, char **argv);
int cli_exec(int argc, char **argv);
int cli_reload(int argc, char **argv);
int cli_stop(int argc, char **argv);
int cli_demo(int argc, char **argv);
int cli_check(int argc, char **argv);

#endif
