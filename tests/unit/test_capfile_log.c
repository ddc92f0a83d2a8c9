/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests captures of a fabric of one cable, with an event loop and a log but without an instance.
 * The test itself takes the place of the writer, the process that writes the capture file. Log
 * lines about a capture must name the capture. When captures of ports end, a capture of a fabric
 * must go on.
 */
#include "capfile/capfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "os/writer.h"
#include "topo/topo.h"

static struct {
	struct loop loop;
	struct pkt_pool *pool;
	struct fabric *fabric;
	struct capfiles files;
	struct log_sink log;
	struct capfile *cap;
	int writer; /* the writer's end of the socket */
	/*
	 * number of lines in the log; of the last line: its level, the objects that it is about,
	 * and its text
	 */
	unsigned int lines;
	enum log_level lvl;
	struct log_about about;
	char line[512];
} t;

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	t.lines++;
	t.lvl = lvl;
	t.about = sink->about;
	vsnprintf(t.line, sizeof(t.line), fmt, ap);
}

static void make_fabric(void)
{
	static const char text[] = "Switch 4 \"s\"\n[1] \"h\"[1]\n\nHca 1 \"h\"\n[1] \"s\"[1]\n";
	struct fabric_cfg cfg = { .timers = &t.loop.timers };
	struct topo_err err;
	struct topo *topo;

	assert_int_equal(topo_parse(&topo, "test", text, strlen(text), NULL, &err), 0);
	t.pool = cfg.pool = pkt_pool_create(64, 4);
	assert_non_null(t.pool);
	assert_int_equal(fabric_create(&t.fabric, topo, &cfg, t.loop.now), 0);
	topo_free(topo);
}

/* Start a capture of the fabric; the writer of the capture is this test */
static void start(const char *path)
{
	const struct capfile_at at = {
		.files = &t.files, .log = &t.log, .name = "lab", .fabric = t.fabric
	};
	char err[CAPFILE_ERR_MAX];
	int sock;

	assert_int_equal(writer_pair(&sock, &t.writer), 0);
	assert_int_equal(capfile_open_fd(&at, sock, path, &t.cap, err), 0);
}

static int setup(void **state)
{
	memset(&t, 0, sizeof(t));
	if (loop_init(&t.loop))
		return -1;
	make_fabric();
	capfiles_init(&t.files, &t.loop);
	t.log = (struct log_sink){ .emit = emit, .max = LOG_LVL_INFO, .about.fabric = "lab" };
	start("/full/a.pcap");
	return 0;
}

static int teardown(void **state)
{
	close(t.writer);
	capfile_close_all(&t.files, t.fabric);
	fabric_destroy(t.fabric);
	pkt_pool_destroy(t.pool);
	loop_fini(&t.loop);
	return !list_empty(&t.files.list);
}

static void turn(void)
{
	bool busy = true;

	assert_int_equal(loop_turn(&t.loop, &busy, 0), 0);
}

static void test_a_capture_that_stops_names_itself_and_its_fabric_once(void **state)
{
	int32_t full = -ENOSPC;

	assert_int_equal(send(t.writer, &full, sizeof(full), 0), sizeof(full));
	turn();
	assert_int_equal(t.lines, 1);
	assert_int_equal(t.lvl, LOG_LVL_ERR);
	assert_string_equal(t.line,
			    "capture /full/a.pcap: No space left on device; it has stopped");
	assert_string_equal(t.about.capture, "/full/a.pcap");
	assert_string_equal(t.about.fabric, "lab");
	assert_null(t.about.port);
	assert_null(t.log.about.capture); /* the capture put its name into a copy of t.log */
	close(t.writer);
	t.writer = -1;
	turn();
	capfile_flush_all(&t.files);
	assert_int_equal(t.lines, 1);
	assert_int_equal(t.cap->error, -ENOSPC);
}

/*
 * A capture of a fabric has no CA, so its .ca is NULL. A kernel port that was never opened has the
 * CA NULL, too. When such a port goes away, the capture of the fabric must go on.
 */
static void test_a_capture_of_a_fabric_outlives_the_ports_of_the_kernel(void **state)
{
	capfile_port_gone(&t.files, NULL);
	assert_non_null(t.cap->cap);
	capfile_close_all(&t.files, NULL);
	assert_ptr_equal(list_first(&t.files.list, struct capfile, link), t.cap);
	assert_non_null(t.cap->cap);
	assert_int_equal(t.lines, 0);
}

static void test_two_captures_have_two_numbers_and_never_one_file(void **state)
{
	const struct capfile_at at = {
		.files = &t.files, .log = &t.log, .name = "lab", .fabric = t.fabric
	};
	struct capfile *other;
	char err[CAPFILE_ERR_MAX];
	int sock, writer;

	assert_int_equal(writer_pair(&sock, &writer), 0);
	assert_int_equal(capfile_open_fd(&at, sock, "/full/a.pcap", &other, err), -EEXIST);
	assert_string_equal(err, "capture /full/a.pcap: this instance is writing it already");
	close(writer);
	assert_int_equal(writer_pair(&sock, &writer), 0);
	assert_int_equal(capfile_open_fd(&at, sock, "/full/b.pcap", &other, err), 0);
	assert_true(other->id != t.cap->id);
	assert_int_equal(capfile_close(other), 0);
	close(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_capture_that_stops_names_itself_and_its_fabric_once, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_capture_of_a_fabric_outlives_the_ports_of_the_kernel, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_two_captures_have_two_numbers_and_never_one_file, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
