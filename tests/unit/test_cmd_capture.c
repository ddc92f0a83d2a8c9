/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "inst/fab_sm.h"
#include "os/writer.h"

/*
 * Tests the commands about captures. Captures go into files or into descriptors that clients pass.
 * Some of the captures fail.
 */

/*
 * Send `capture start` with the socket @sock, whose other end belongs to the writer of the file,
 * and then close @sock. Returns the row of the capture. If @why is not NULL, the request must be
 * refused with the reason @why, and the function returns NULL
 */
static json_t *capture_file(struct ctl_rig *r, const char *path, int sock, const char *link,
			    const char *why)
{
	struct proto_client c = { .fd = r->peer };
	json_t *rows = json_array(), *end, *args = json_pack("{s:s}", "file", path);

	if (link)
		json_object_set_new(args, "link", json_string(link));
	assert_true(sock >= 0);
	assert_int_equal(proto_send_fd(&c, "capture start", args, sock), 0);
	json_decref(args);
	close(sock);
	cmd_rig_settle(r);
	end = cmd_rig_collect(r, rows);
	assert_non_null(end);
	assert_int_equal(json_integer_value(json_object_get(end, "status")),
			 why ? PROTO_EXIT_USAGE : 0);
	if (why)
		assert_non_null(strstr(json_string_value(json_object_get(end, "error")), why));
	json_decref(end);
	return rows;
}

static int writer_to(const char *path)
{
	int out = open(path, O_WRONLY | O_CLOEXEC), sock;

	assert_true(out >= 0);
	assert_int_equal(writer_fork(&sock, out, true), 0);
	close(out);
	return sock;
}

/*
 * Wait for the end object of an answer that is late because the instance waits for the report of a
 * writer process
 */
static json_t *late_answer(struct ctl_rig *r, json_t *rows)
{
	struct pollfd p = { .fd = r->in.loop.epfd, .events = POLLIN };
	json_t *end;

	while (!(end = cmd_rig_collect(r, rows))) {
		assert_int_equal(poll(&p, 1, 20000), 1);
		cmd_rig_settle(r);
	}
	return end;
}

static void test_capture_to_a_file(void **state)
{
	struct ctl_rig *r = *state;
	char path[32];
	json_t *rows, *end;
	long long id;
	FILE *f;

	cmd_rig_file(path, "what the file had before");
	rows = capture_file(r, path, writer_to(path), "Hca1/1", NULL);
	id = cmd_row_num(json_array_get(rows, 0), "id");
	json_decref(rows);
	json_decref(capture_file(r, path, writer_to(path), NULL, "writing it already"));
	json_decref(capture_file(r, "/dev/null", open("/dev/null", O_WRONLY), NULL,
				 "not a stream socket"));
	cmd_rig_ok(r, "fabric sweep", NULL);
	cmd_rig_run_for(r, NS_SEC(1));
	rows = cmd_rig_rows(r, "capture show", NULL);
	assert_true(cmd_row_num(json_array_get(rows, 0), "packets") > 0);
	assert_string_equal(cmd_row_str(json_array_get(rows, 0), "link"), "Hca1/1");
	json_decref(rows);
	rows = json_array();
	cmd_rig_request(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id));
	end = late_answer(r, rows);
	assert_int_equal(cmd_row_num(end, "status"), 0);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_int_equal(fgetc(f), 0x0a); /* the first octet of every pcapng file */
	fseek(f, 0, SEEK_END);
	assert_true(ftell(f) > cmd_row_num(json_array_get(rows, 0), "packets") * 64);
	fclose(f);
	json_decref(rows);
	json_decref(end);
	unlink(path);
	cmd_rig_refused(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id),
			"no such capture");
	/*
	 * The request names a file but passes no descriptor. It must be refused, because the
	 * instance does not open files that clients name.
	 */
	cmd_rig_refused(r, "capture start", json_pack("{s:s}", "file", path), "descriptor");
}

static void test_capture_at_no_port(void **state)
{
	struct ctl_rig *r = *state;

	cmd_rig_refused(r, "capture start", json_pack("{s:s}", "dev", "uib9"), "no such interface");
	cmd_rig_refused(r, "capture start", json_pack("{s:s}", "port", "verbs:none0/1"),
			"port 'verbs:none0/1': expected verbs:DEVICE/PORT of an interface");
	cmd_rig_refused(r, "capture start", json_pack("{s:s}", "port", "Hca1/1"),
			"expected verbs:");
	cmd_rig_refused(r, "capture start",
			json_pack("{s:s,s:s}", "port", "verbs:none0/1", "link", "Hca1/1"),
			"exclude");
}

/*
 * Start a capture whose writer process is the test itself. Returns the id of the capture;
 * *@ret_sock is the writer's end of the socket
 */
static long long capture_here(struct ctl_rig *r, const char *path, int *ret_sock)
{
	long long id;
	json_t *rows;
	int sock;

	assert_int_equal(writer_pair(&sock, ret_sock), 0);
	rows = capture_file(r, path, sock, NULL, NULL);
	id = cmd_row_num(json_array_get(rows, 0), "id");
	json_decref(rows);
	return id;
}

static void send_report(int sock, int32_t status)
{
	assert_int_equal(send(sock, &status, sizeof(status), MSG_NOSIGNAL), sizeof(status));
}

/*
 * A disk hangs, so the writer neither reads packets nor sends reports. This may delay only the
 * answer to `capture stop`.
 */
static void test_a_hanging_disk_delays_the_end_of_its_capture_alone(void **state)
{
	struct ctl_rig *r = *state;
	static uint8_t buf[65536];
	json_t *rows, *end;
	int sock;
	long long id = capture_here(r, "/slow", &sock);

	for (int i = 0; i < 20; i++) {
		sm_kick(fab_sm(r->in.fab[0])->sm, "test", r->now);
		cmd_rig_run_for(r, NS_SEC(1));
	}
	rows = json_array();
	cmd_rig_request(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id));
	assert_null(cmd_rig_collect(r, rows)); /* no answer yet */
	cmd_rig_run_for(r, NS_SEC(100));
	assert_null(cmd_rig_collect(r, rows));

	/*
	 * the stream of packets ends, because the instance has shut down its sending side of the
	 * socket
	 */
	while (recv(sock, buf, sizeof(buf), 0) > 0)
		cmd_rig_settle(r);
	send_report(sock, 0);
	cmd_rig_settle(r);
	assert_null(cmd_rig_collect(r, rows));
	send_report(sock, 0);
	close(sock);
	cmd_rig_settle(r);
	end = cmd_rig_collect(r, rows);
	assert_int_equal(cmd_row_num(end, "status"), 0);
	assert_true(cmd_row_num(json_array_get(rows, 0), "packets") > 0);
	assert_int_equal(cmd_row_num(json_array_get(rows, 0), "missed"), 0);
	assert_true(list_empty(&r->in.captures.list));
	json_decref(rows);
	json_decref(end);
}

/*
 * The writer reports an error when it starts, or reports an error later, or dies. In each case
 * `capture show` and `capture stop` must return the error.
 */
static void test_capture_that_cannot_be_written_keeps_its_error(void **state)
{
	static const int reports[][2] = { { -ENOSPC, -ENOSPC }, { 0, -EFBIG }, { 0, -EPIPE } };
	struct ctl_rig *r = *state;

	for (unsigned int i = 0; i < ARRAY_SIZE(reports); i++) {
		json_t *rows, *end;
		int sock;
		long long id = capture_here(r, "/full", &sock);

		send_report(sock, reports[i][0]);
		if (!reports[i][0] && reports[i][1] != -EPIPE)
			send_report(sock, reports[i][1]);
		close(sock);
		cmd_rig_settle(r);
		rows = cmd_rig_rows(r, "capture show", NULL);
		assert_string_equal(cmd_row_str(json_array_get(rows, 0), "error"),
				    strerror(-reports[i][1]));
		json_decref(rows);
		rows = json_array();
		cmd_rig_request(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id));
		end = cmd_rig_collect(r, rows);
		assert_int_equal(cmd_row_num(end, "status"), PROTO_EXIT_FAILED);
		assert_non_null(strstr(cmd_row_str(end, "error"), strerror(-reports[i][1])));
		json_decref(rows);
		json_decref(end);
	}
}

/*
 * A client stops a capture and closes its connection before the writer is done. The capture must
 * end as soon as the writer is done.
 */
static void test_a_capture_ends_without_the_client_that_stopped_it(void **state)
{
	struct ctl_rig *r = *state;
	static uint8_t buf[65536];
	int sock;
	long long id = capture_here(r, "/slow", &sock);

	cmd_rig_request(r, "capture stop", json_pack("{s:I}", "id", (json_int_t)id));
	cmd_rig_settle(r);
	close(r->peer);
	r->peer = dup(STDERR_FILENO);
	cmd_rig_settle(r);
	assert_false(list_empty(&r->in.captures.list));
	while (recv(sock, buf, sizeof(buf), 0) > 0)
		cmd_rig_settle(r);
	send_report(sock, 0);
	send_report(sock, 0);
	close(sock);
	cmd_rig_settle(r);
	assert_true(list_empty(&r->in.captures.list));
}

/*
 * The client itself reads the capture, through a descriptor that the client has passed to the
 * instance. The capture must end when the client closes its connection.
 */
static void test_capture_into_a_descriptor_of_the_client(void **state)
{
	struct ctl_rig *r = *state;
	struct proto_client c = { .fd = r->peer };
	static uint8_t buf[65536];
	json_t *rows = json_array();
	int p[2];

	assert_int_equal(writer_pair(&p[1], &p[0]), 0);
	assert_int_equal(proto_send_fd(&c, "capture start", NULL, p[1]), 0);
	close(p[1]);
	cmd_rig_settle(r);
	/* the row of the capture has arrived, but no end object, because the capture still runs */
	assert_null(cmd_rig_collect(r, rows));
	assert_int_equal(json_array_size(rows), 1);
	json_decref(rows);
	assert_true(read(p[0], buf, sizeof(buf)) >= 24);
	assert_false(list_empty(&r->in.captures.list));

	close(r->peer);
	cmd_rig_settle(r);
	assert_true(list_empty(&r->in.captures.list));
	r->peer = dup(STDERR_FILENO);
	while (read(p[0], buf, sizeof(buf)) > 0)
		;
	/* end of file: the instance has closed its end of the socket */
	assert_int_equal(read(p[0], buf, sizeof(buf)), 0);
	close(p[0]);
}

/*
 * The program that reads a capture ends. The capture must end with an error, and the fabric must
 * continue to carry packets.
 */
static void test_capture_whose_reader_goes_keeps_its_error(void **state)
{
	struct ctl_rig *r = *state;
	struct proto_client c = { .fd = r->peer };
	json_t *rows = json_array();
	int p[2];

	signal(SIGPIPE, SIG_IGN); /* the daemon ignores SIGPIPE, too */
	assert_int_equal(writer_pair(&p[1], &p[0]), 0);
	assert_int_equal(proto_send_fd(&c, "capture start", NULL, p[1]), 0);
	close(p[1]);
	cmd_rig_settle(r);
	assert_null(cmd_rig_collect(r, rows));
	close(p[0]);
	sm_kick(fab_sm(r->in.fab[0])->sm, "test", r->now);
	cmd_rig_run_for(r, NS_SEC(1));
	assert_int_equal(list_first(&r->in.captures.list, struct capfile, link)->error, -EPIPE);
	json_decref(rows);
}

/*
 * A capture into a pipe must be refused, because the client could clear O_NONBLOCK on the pipe and
 * so make the instance wait.
 */
static void test_capture_into_a_pipe_is_refused(void **state)
{
	struct ctl_rig *r = *state;
	struct proto_client c = { .fd = r->peer };
	json_t *rows = json_array(), *end;
	int p[2];

	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	assert_int_equal(proto_send_fd(&c, "capture start", NULL, p[1]), 0);
	cmd_rig_settle(r);
	end = cmd_rig_collect(r, rows);
	assert_non_null(end);
	assert_non_null(strstr(json_string_value(json_object_get(end, "error")), "stream socket"));
	json_decref(end);
	json_decref(rows);
	close(p[0]);
	close(p[1]);
}

/*
 * The reader of a capture is slow, so records wait, but only up to a bound. When this bound is
 * reached, whole records must be left out, so that the output stays valid.
 */
static void test_capture_whose_reader_is_slow_misses_packets(void **state)
{
	struct ctl_rig *r = *state;
	struct proto_client c = { .fd = r->peer };
	static uint8_t buf[65536];
	json_t *rows = json_array();
	const struct capture_stats *st;
	struct capfile *cap;
	size_t got = 0;
	ssize_t n;
	int p[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	assert_int_equal(proto_send_fd(&c, "capture start", NULL, p[1]), 0);
	close(p[1]);
	cmd_rig_settle(r);
	assert_null(cmd_rig_collect(r, rows));
	json_decref(rows);
	cap = list_first(&r->in.captures.list, struct capfile, link);
	cap->size = 256 * 1024; /* a small bound, which is reached soon */
	st = capture_stats(cap->cap);
	for (int i = 0; i < 500 && !st->missed; i++) {
		sm_kick(fab_sm(r->in.fab[0])->sm, "test", r->now);
		cmd_rig_run_for(r, NS_SEC(3));
	}
	assert_true(st->missed > 0);
	assert_int_equal(st->error, 0);
	assert_int_equal(cap->error, 0);
	while ((n = recv(p[0], buf, sizeof(buf), MSG_DONTWAIT)) > 0 || cap->len > cap->done) {
		got += n > 0 ? (size_t)n : 0;
		cmd_rig_settle(r);
	}
	assert_int_equal(got, st->octets);
	close(p[0]);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, cmd_rig_setup, ctl_rig_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_capture_to_a_file),
		CASE(test_capture_at_no_port),
		CASE(test_capture_into_a_descriptor_of_the_client),
		CASE(test_capture_that_cannot_be_written_keeps_its_error),
		CASE(test_a_hanging_disk_delays_the_end_of_its_capture_alone),
		CASE(test_a_capture_ends_without_the_client_that_stopped_it),
		CASE(test_capture_whose_reader_goes_keeps_its_error),
		CASE(test_capture_into_a_pipe_is_refused),
		CASE(test_capture_whose_reader_is_slow_misses_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
