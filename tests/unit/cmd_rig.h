/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UNIT_CMD_RIG_H
#define UNIT_CMD_RIG_H

/*
 * A client that sends commands to an instance. The instance has no interfaces, and one fabric
 * "lab": two switches that two cables connect, and four CAs; the SM runs on Switch1. The test needs
 * no privileges, and time is virtual.
 */

#include <jansson.h>

#include "ctl_rig.h"

/* cmd_rig_fabric() - Add the fabric "lab" to an instance. Return: 0 or -errno */
int cmd_rig_fabric(struct inst *in);

/* The teardown function is ctl_rig_teardown(). */
int cmd_rig_setup(void **state);

/* cmd_rig_settle() - Run the instance until it is idle */
void cmd_rig_settle(struct ctl_rig *r);
/* cmd_rig_run_for() - Let the time @span pass, and run each timer at its deadline */
void cmd_rig_run_for(struct ctl_rig *r, ns_t span);

/*
 * cmd_rig_request() - Send the command @cmd with the arguments @args, which may be NULL. This
 * function and those below release the reference to @args
 */
void cmd_rig_request(struct ctl_rig *r, const char *cmd, json_t *args);
/*
 * cmd_rig_collect() - Read those lines of the answer that have arrived, and append their rows to
 * @rows. Return: the end object, or NULL if it has not arrived
 */
json_t *cmd_rig_collect(struct ctl_rig *r, json_t *rows);
/* cmd_rig_rows() - Send a request that must succeed. Return: the rows of its answer */
json_t *cmd_rig_rows(struct ctl_rig *r, const char *cmd, json_t *args);
/* cmd_rig_ok() - Send a request that must succeed */
void cmd_rig_ok(struct ctl_rig *r, const char *cmd, json_t *args);
/*
 * cmd_rig_refused() - Send a request, and check that it is refused with an error message that
 * contains @why
 */
void cmd_rig_refused(struct ctl_rig *r, const char *cmd, json_t *args, const char *why);

/* cmd_row_with() - Return the row whose member @key is the text @value; fail if there is none */
json_t *cmd_row_with(json_t *rows, const char *key, const char *value);
/* cmd_rows_count() - Return the number of rows whose member @key is the text @value */
unsigned int cmd_rows_count(json_t *rows, const char *key, const char *value);
long long cmd_row_num(const json_t *row, const char *key);
const char *cmd_row_str(const json_t *row, const char *key);

/* cmd_rig_file() - Make a file in /tmp that contains @text, and store its path in @path */
void cmd_rig_file(char path[32], const char *text);

#endif
