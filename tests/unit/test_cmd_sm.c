/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_rig.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inst/fab.h"
#include "os/file.h"

/* Tests of the commands about subnet managers and partitions. */

/* Return the row of the subnet manager on @port; NULL if there is none */
static json_t *sm_of(struct ctl_rig *r, const char *port)
{
	json_t *rows = cmd_rig_rows(r, "fabric sm show", NULL), *row = NULL;

	for (size_t k = 0; k < json_array_size(rows) && !row; k++) {
		row = json_array_get(rows, k);
		row = strcmp(cmd_row_str(row, "port"), port) ? NULL : json_incref(row);
	}
	json_decref(rows);
	return row;
}

static void sm_state_is(struct ctl_rig *r, const char *port, const char *state)
{
	json_t *row = sm_of(r, port);

	assert_non_null(row);
	assert_string_equal(cmd_row_str(row, "state"), state);
	json_decref(row);
}

static void test_sm_restarts_with_nothing(void **state)
{
	struct ctl_rig *r = *state;
	json_t *row;

	cmd_rig_ok(r, "fabric sm restart", NULL);
	cmd_rig_run_for(r, NS_SEC(1));
	sm_state_is(r, "Switch1/0", "master");
	row = sm_of(r, "Switch1/0");
	assert_true(cmd_row_num(row, "heavy_sweeps") <= 2);
	json_decref(row);
	cmd_rig_refused(r, "fabric sm restart", json_pack("{s:s}", "port", "Switch2/0"),
			"Switch2/0: no subnet manager of this instance");
}

static void test_sm_hands_over_to_a_better_one_and_back(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows;

	cmd_rig_refused(r, "fabric sm start", NULL, "port: missing");
	cmd_rig_refused(r, "fabric sm start", json_pack("{s:s}", "port", "Switch2/1"),
			"expected port 0 of a switch or a port of a CA");
	cmd_rig_refused(
		r, "fabric sm start", json_pack("{s:s}", "port", "Switch1/0"),
		"Switch1/0 has a subnet manager already, and 'uipoib fabric sm' shows ours. "
		"Stop it first, or choose another port");
	cmd_rig_refused(r, "fabric sm start",
			json_pack("{s:s, s:i}", "port", "Switch2/0", "priority", 16),
			"priority: expected a number from 0 to 15");
	assert_null(sm_of(r, "Switch2/0"));

	cmd_rig_ok(r, "fabric sm start",
		   json_pack("{s:s, s:i}", "port", "Switch2/0", "priority", 3));
	cmd_rig_ok(r, "fabric sm start", json_pack("{s:s}", "port", "Hca3/1"));
	cmd_rig_run_for(r, NS_SEC(1));
	sm_state_is(r, "Switch1/0", "standby");
	sm_state_is(r, "Switch2/0", "master");
	sm_state_is(r, "Hca3/1", "standby");
	rows = cmd_rig_rows(r, "fabric show", NULL);
	assert_string_equal(cmd_row_str(json_object_get(json_array_get(rows, 0), "sm"), "port"),
			    "Switch2/0");
	json_decref(rows);

	/*
	 * `fabric sm stop` stops the SM on the named port, or the master if no port is named. A
	 * standby becomes master after three of its polls have got no answer from the stopped
	 * master.
	 */
	cmd_rig_ok(r, "fabric sm stop", json_pack("{s:s}", "port", "Hca3/1"));
	cmd_rig_ok(r, "fabric sm stop", NULL);
	assert_null(sm_of(r, "Switch2/0"));
	cmd_rig_run_for(r, NS_SEC(5));
	sm_state_is(r, "Switch1/0", "master");
	cmd_rig_ok(r, "fabric sm stop", NULL);
	cmd_rig_refused(r, "fabric sm stop", NULL, "external, or stopped");
	cmd_rig_refused(r, "fabric sweep", NULL, "external, or stopped");
	rows = cmd_rig_rows(r, "fabric group show", NULL);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	cmd_rig_ok(r, "fabric sm start", json_pack("{s:s}", "port", "Hca1/1"));
	cmd_rig_run_for(r, NS_SEC(1));
	sm_state_is(r, "Hca1/1", "master");
}

/* Let the next request pass the text @text in a sealed memory file, as the command line does. */
static void with_text(struct ctl_rig *r, const char *text)
{
	r->fd = file_seal(text, strlen(text));
	assert_true(r->fd >= 0);
}

static json_t *named(const char *file)
{
	return json_pack("{s:s}", "file", file);
}

static void test_sm_has_the_priority_of_the_configuration(void **state)
{
	const struct conf_fabric conf = { .name = "other", .sm_embedded = true, .sm_priority = 9 };
	struct ctl_rig *r = *state;
	struct topo *t = topo_gen_demo(2, 1);
	char err[INST_ERR_MAX];
	json_t *rows;

	assert_int_equal(fab_add(&r->in, &conf, t, err), 0);
	topo_free(t);
	rows = cmd_rig_rows(r, "fabric sm show", json_pack("{s:s}", "fabric", "other"));
	assert_int_equal(cmd_row_num(json_array_get(rows, 0), "priority"), 9);
	json_decref(rows);
}

static void test_sm_restarts_with_its_partitions(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows;

	with_text(r, "Default=0x7fff, ipoib : ALL=full ;\nblue=0x0001, ipoib : ALL=full ;\n");
	cmd_rig_ok(r, "fabric partition load", named("p.conf"));
	cmd_rig_ok(r, "fabric sm restart", NULL);
	cmd_rig_ok(r, "fabric sm start", json_pack("{s:s, s:i}", "port", "Hca1/1", "priority", 1));
	cmd_rig_run_for(r, NS_SEC(1));
	sm_state_is(r, "Hca1/1", "master");
	rows = cmd_rig_rows(r, "fabric group show", NULL);
	cmd_row_with(rows, "mgid", "ff12:401b:8001::ffff:ffff");
	json_decref(rows);
}

static void test_fabric_partitions_are_loaded_whole_or_not_at_all(void **state)
{
	struct ctl_rig *r = *state;
	json_t *rows;

	with_text(r, "Default=0x7fff, ipoib : ALL=full ;\nblue=0x0001, ipoib : ALL=full ;\n");
	cmd_rig_ok(r, "fabric partition load", named("p.conf"));
	cmd_rig_run_for(r, NS_SEC(1));
	rows = cmd_rig_rows(r, "fabric group show", NULL);
	cmd_row_with(rows, "mgid", "ff12:401b:8001::ffff:ffff");
	json_decref(rows);

	with_text(r, "green=0x0002, ipoib : ALL=full ;\nred=0x0000 : ALL ;\n");
	cmd_rig_refused(r, "fabric partition load", named("p.conf"), "p.conf:2: ");
	rows = cmd_rig_rows(r, "fabric partition show", NULL);
	assert_int_equal(cmd_rows_count(rows, "partition", "blue"), 1);
	assert_int_equal(cmd_rows_count(rows, "partition", "green"), 0);
	json_decref(rows);
}

/*
 * The instance must neither open a path that a client names, nor read from a descriptor on which a
 * client could make the instance wait. So the instance must accept partitions only from a sealed
 * memory file.
 */
static void test_fabric_partitions_come_from_a_sealed_file_alone(void **state)
{
	struct ctl_rig *r = *state;
	int p[2], unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	cmd_rig_refused(r, "fabric partition load", named("/etc/hostname"),
			"expected a sealed memory file");
	assert_int_equal(pipe(p), 0);
	r->fd = p[0];
	cmd_rig_refused(r, "fabric partition load", named("a pipe"),
			"expected a sealed memory file");
	close(p[1]);
	r->fd = unsealed;
	cmd_rig_refused(r, "fabric partition load", named("x"), "expected a sealed memory file");
	r->fd = open("/etc/hostname", O_RDONLY);
	cmd_rig_refused(r, "fabric partition load", named("x"), "expected a sealed memory file");
	with_text(r, "Default=0x7fff : ALL=full ;\n");
	cmd_rig_refused(r, "fabric partition load", NULL, "file: missing");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, cmd_rig_setup, ctl_rig_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_sm_restarts_with_nothing),
		CASE(test_sm_restarts_with_its_partitions),
		CASE(test_sm_has_the_priority_of_the_configuration),
		CASE(test_sm_hands_over_to_a_better_one_and_back),
		CASE(test_fabric_partitions_are_loaded_whole_or_not_at_all),
		CASE(test_fabric_partitions_come_from_a_sealed_file_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
