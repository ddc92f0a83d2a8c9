/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the lines of the daemon's log, with a supervisor, and with a journal that accepts entries
 * or is full.
 */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/log.h"
#include "os/journal.h"

static int supervisor, journal; /* ends of the sockets from which the test reads */
static int log_end, journal_end; /* ends of the sockets to which the daemon writes */
static struct log_sink sink;
static char fields[2 * JOURNAL_ENTRY_MAX];

static void open_log(bool has_journal)
{
	struct serve_cfg cfg = { .name = "lab", .verbosity = LOG_LVL_INFO };

	cfg.log_fd = log_end;
	cfg.journal = has_journal ? journal_end : -1;
	sink = log_open(&cfg);
}

static int setup(void **state)
{
	int s[2], j[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) || socketpair(AF_UNIX, SOCK_DGRAM, 0, j))
		return -1;
	log_end = s[0];
	supervisor = s[1];
	journal_end = j[0];
	journal = j[1];
	open_log(true);
	return 0;
}

static int teardown(void **state)
{
	close(log_end);
	close(supervisor);
	close(journal_end);
	if (journal >= 0)
		close(journal);
	return 0;
}

/*
 * Return the journal's next entry as lines NAME=VALUE; a '$' stands for a line end in a value. ""
 * if there is no entry
 */
static const char *entry(void)
{
	unsigned char buf[JOURNAL_ENTRY_MAX], *p = buf, *end;
	ssize_t got = recv(journal, buf, sizeof(buf), MSG_DONTWAIT);
	char *out = fields;

	for (end = buf + (got > 0 ? got : 0); p < end;) {
		unsigned char *name_end = memchr(p, '\n', (size_t)(end - p));
		size_t n;

		assert_non_null(name_end);
		assert_true(name_end + 9 < end);
		n = name_end[1] | (size_t)name_end[2] << 8;
		assert_true(name_end + 9 + n < end);
		assert_int_equal(name_end[9 + n], '\n');
		out += sprintf(out, "%.*s=", (int)(name_end - p), (char *)p);
		for (size_t k = 0; k < n; k++)
			*out++ = (char)(name_end[9 + k] == '\n' ? '$' : name_end[9 + k]);
		*out++ = '\n';
		p = name_end + 10 + n;
	}
	*out = '\0';
	return fields;
}

/* Return the lines that the supervisor has received, without their time stamps */
static const char *line(void)
{
	static char buf[65536];
	ssize_t n = recv(supervisor, buf, sizeof(buf) - 1, MSG_DONTWAIT);
	const char *blank;

	buf[n > 0 ? n : 0] = '\0';
	blank = strchr(buf, ' ');
	return blank ? blank + 1 : buf;
}

static void test_an_entry_has_its_level_and_what_the_line_is_about(void **state)
{
	sink.about = (struct log_about){ .iface = "uib0", .host = "h1" };
	log_to(&sink, LOG_LVL_WARN, "sa: trap %u", 64);
	assert_string_equal(entry(), "PRIORITY=4\nSYSLOG_IDENTIFIER=uipoib\nUIPOIB_INSTANCE=lab\n"
				     "UIPOIB_INTERFACE=uib0\nUIPOIB_HOST=h1\n"
				     "UIPOIB_COMPONENT=sa\nMESSAGE=sa: trap 64\n");
	sink.about = (struct log_about){ .fabric = "lab" };
	log_to(&sink, LOG_LVL_INFO, "fabric %s: up", "lab");
	assert_string_equal(entry(), "PRIORITY=6\nSYSLOG_IDENTIFIER=uipoib\nUIPOIB_INSTANCE=lab\n"
				     "UIPOIB_FABRIC=lab\nMESSAGE=fabric lab: up\n");
	log_to(&sink, LOG_LVL_ERR, "stopping");
	assert_non_null(strstr(entry(), "PRIORITY=3\n"));
	log_to(&sink, LOG_LVL_DEBUG, "too detailed");
	assert_string_equal(entry(), "");
	assert_string_equal(line(), "");
}

static void test_an_entry_names_ports_links_and_captures(void **state)
{
	sink.about = (struct log_about){ .fabric = "lab", .port = "Hca1/1" };
	log_to(&sink, LOG_LVL_INFO, "sa: port %s", "Active");
	assert_string_equal(entry(), "PRIORITY=6\nSYSLOG_IDENTIFIER=uipoib\nUIPOIB_INSTANCE=lab\n"
				     "UIPOIB_FABRIC=lab\nUIPOIB_PORT=Hca1/1\n"
				     "UIPOIB_COMPONENT=sa\nMESSAGE=sa: port Active\n");
	sink.about = (struct log_about){ .fabric = "lab", .udp_link = "vm1" };
	log_to(&sink, LOG_LVL_INFO, "udp link vm1: up");
	assert_string_equal(entry(), "PRIORITY=6\nSYSLOG_IDENTIFIER=uipoib\nUIPOIB_INSTANCE=lab\n"
				     "UIPOIB_FABRIC=lab\nUIPOIB_UDP_LINK=vm1\n"
				     "MESSAGE=udp link vm1: up\n");
	sink.about = (struct log_about){ .capture = "/tmp/a.pcap" };
	log_to(&sink, LOG_LVL_ERR, "capture /tmp/a.pcap: it has stopped");
	assert_string_equal(entry(), "PRIORITY=3\nSYSLOG_IDENTIFIER=uipoib\nUIPOIB_INSTANCE=lab\n"
				     "UIPOIB_CAPTURE=/tmp/a.pcap\n"
				     "MESSAGE=capture /tmp/a.pcap: it has stopped\n");
}

static void test_an_object_with_an_evil_name_is_named_as_in_the_message(void **state)
{
	char longest[256];

	sink.about = (struct log_about){ .port = "Hca\x9b"
						 "31m/1" };
	log_to(&sink, LOG_LVL_INFO, "port %s", sink.about.port);
	assert_string_equal(entry(), "PRIORITY=6\nSYSLOG_IDENTIFIER=uipoib\nUIPOIB_INSTANCE=lab\n"
				     "UIPOIB_PORT=Hca\\x9b31m/1\nMESSAGE=port Hca\\x9b31m/1\n");
	/* A file name of the greatest length, of which every octet must be escaped */
	memset(longest, '\n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	sink.about = (struct log_about){ .capture = longest };
	log_to(&sink, LOG_LVL_INFO, "whole");
	assert_int_equal(strspn(strstr(entry(), "UIPOIB_CAPTURE=") + 15, "\\x0a"), 4 * 255);
	assert_non_null(strstr(fields, "MESSAGE=whole\n"));
}

static void test_a_name_from_the_wire_forges_neither_a_field_nor_a_component(void **state)
{
	log_to(&sink, LOG_LVL_INFO, "%s says", "sm: x\nPRIORITY=0\nUIPOIB_HOST\n\033[2J");
	assert_string_equal(entry(),
			    "PRIORITY=6\nSYSLOG_IDENTIFIER=uipoib\nUIPOIB_INSTANCE=lab\n"
			    "MESSAGE=sm: x\\x0aPRIORITY=0\\x0aUIPOIB_HOST\\x0a\\x1b[2J says\n");
}

static void test_without_a_journal_the_supervisor_gets_every_line(void **state)
{
	open_log(false);
	log_to(&sink, LOG_LVL_WARN, "sm: %s", "nobody answers");
	assert_string_equal(line(), "warning: sm: nobody answers\n");
	assert_string_equal(entry(), "");
}

static void test_a_full_journal_makes_nobody_wait_and_loses_nothing(void **state)
{
	unsigned int taken = 0, kept = 0;

	/*
	 * The journal gets as many lines as its socket can hold. The supervisor must get all
	 * further lines.
	 */
	while (!*line() && taken < 100000)
		log_to(&sink, LOG_LVL_INFO, "line %u", taken++);
	assert_true(taken > 1 && taken < 100000);
	log_to(&sink, LOG_LVL_INFO, "one more");
	assert_string_equal(line(), "one more\n");
	while (*entry())
		kept++;
	assert_int_equal(kept, taken - 1);
	log_to(&sink, LOG_LVL_INFO, "room again");
	assert_non_null(strstr(entry(), "MESSAGE=the journal had no room for 2 lines, written to "
					"standard error instead\n"));
	assert_non_null(strstr(fields, "PRIORITY=4\n"));
	assert_non_null(strstr(entry(), "MESSAGE=room again\n"));
	assert_string_equal(entry(), "");
	assert_string_equal(line(), "");
}

static void test_the_supervisor_gets_the_lines_of_a_journal_that_has_gone(void **state)
{
	close(journal);
	journal = -1;
	log_to(&sink, LOG_LVL_ERR, "stopping");
	assert_string_equal(line(), "error: stopping\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_an_entry_has_its_level_and_what_the_line_is_about, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_entry_names_ports_links_and_captures, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_an_object_with_an_evil_name_is_named_as_in_the_message, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_name_from_the_wire_forges_neither_a_field_nor_a_component, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_without_a_journal_the_supervisor_gets_every_line, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_full_journal_makes_nobody_wait_and_loses_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_the_supervisor_gets_the_lines_of_a_journal_that_has_gone, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
