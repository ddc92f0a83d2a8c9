/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "inst/fab.h"

void cmd_rig_settle(struct ctl_rig *r)
{
	for (int i = 0; i < 10000; i++) {
		bool served = ctl_rig_serve(r);

		if (!inst_work(&r->in, r->now) && !served)
			return;
	}
	fail_msg("the instance does not come to rest");
}

void cmd_rig_run_for(struct ctl_rig *r, ns_t span)
{
	ns_t end = r->now + span;

	for (;;) {
		ns_t next;

		cmd_rig_settle(r);
		next = timers_next(&r->in.loop.timers);
		if (next > end)
			break;
		r->now = next > r->now ? next : r->now;
	}
	r->now = end;
	cmd_rig_settle(r);
}

int cmd_rig_fabric(struct inst *in)
{
	const struct conf_fabric cfg = { .name = "lab", .crc = CONF_CRC_FULL, .sm_embedded = true };
	struct topo *t = topo_gen_demo(4, 2);
	char err[INST_ERR_MAX];
	int status = t ? fab_add(in, &cfg, t, err) : -ENOMEM;

	topo_free(t);
	return status;
}

int cmd_rig_setup(void **state)
{
	struct ctl_rig *r;

	if (ctl_rig_setup(state))
		return -1;
	r = *state;
	if (cmd_rig_fabric(&r->in))
		return -1;
	r->peer = ctl_rig_client(r);
	cmd_rig_run_for(r, NS_SEC(1));
	return 0;
}

void cmd_rig_request(struct ctl_rig *r, const char *cmd, json_t *args)
{
	struct proto_client c = { .fd = r->peer };

	assert_int_equal(proto_send_fd(&c, cmd, args, r->fd), 0);
	json_decref(args);
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	cmd_rig_settle(r);
}

json_t *cmd_rig_collect(struct ctl_rig *r, json_t *rows)
{
	static char buf[1 << 20];
	json_t *end = NULL;
	size_t len = 0;
	char *line, *nl;
	ssize_t n;

	while ((n = recv(r->peer, buf + len, sizeof(buf) - len, 0)) > 0) {
		len += (size_t)n;
		cmd_rig_settle(r);
	}
	for (line = buf; (nl = memchr(line, '\n', len - (size_t)(line - buf))); line = nl + 1) {
		json_t *o = json_loadb(line, (size_t)(nl - line), 0, NULL);

		assert_non_null(o);
		assert_null(end);
		if (json_object_get(o, "row"))
			json_array_append(rows, json_object_get(o, "row"));
		else
			end = json_incref(json_object_get(o, "end"));
		json_decref(o);
	}
	assert_ptr_equal(line, buf + len);
	return end;
}

json_t *cmd_rig_rows(struct ctl_rig *r, const char *cmd, json_t *args)
{
	json_t *rows = json_array(), *end;

	cmd_rig_request(r, cmd, args);
	end = cmd_rig_collect(r, rows);
	assert_non_null(end);
	if (json_integer_value(json_object_get(end, "status")))
		fail_msg("%s: %s", cmd, json_string_value(json_object_get(end, "error")));
	json_decref(end);
	return rows;
}

void cmd_rig_refused(struct ctl_rig *r, const char *cmd, json_t *args, const char *why)
{
	json_t *rows = json_array(), *end;
	const char *error;

	cmd_rig_request(r, cmd, args);
	end = cmd_rig_collect(r, rows);
	assert_non_null(end);
	assert_int_equal(json_integer_value(json_object_get(end, "status")), PROTO_EXIT_USAGE);
	error = json_string_value(json_object_get(end, "error"));
	if (!error || !strstr(error, why))
		fail_msg("%s: '%s' does not say '%s'", cmd, error ? error : "", why);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	json_decref(end);
}

void cmd_rig_ok(struct ctl_rig *r, const char *cmd, json_t *args)
{
	json_decref(cmd_rig_rows(r, cmd, args));
}

json_t *cmd_row_with(json_t *rows, const char *key, const char *value)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		const char *s = json_string_value(json_object_get(row, key));

		if (s && !strcmp(s, value))
			return row;
	}
	fail_msg("no row with %s %s", key, value);
	return NULL;
}

long long cmd_row_num(const json_t *row, const char *key)
{
	const json_t *v = json_object_get(row, key);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

const char *cmd_row_str(const json_t *row, const char *key)
{
	const json_t *v = json_object_get(row, key);

	assert_true(json_is_string(v));
	return json_string_value(v);
}

unsigned int cmd_rows_count(json_t *rows, const char *key, const char *value)
{
	unsigned int n = 0;
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row)
	{
		const char *s = json_string_value(json_object_get(row, key));

		n += s && !strcmp(s, value);
	}
	return n;
}

void cmd_rig_file(char path[32], const char *text)
{
	int fd;

	snprintf(path, 32, "/tmp/uipoib-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}
