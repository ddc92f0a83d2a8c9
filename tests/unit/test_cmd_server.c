/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl_rig.h"
#include "os/fdpass.h"

/* Tests the control server. The command `monitor` is used as a request that stays open. */

static void say(struct ctl_rig *r, const char *text)
{
	if (r->peer < 0)
		r->peer = ctl_rig_client(r);
	assert_int_equal(send(r->peer, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	ctl_rig_spin(r);
}

/*
 * Check that the answer contains the text @part, and that after the answer the server has closed
 * the connection (@eof true) or left it open (@eof false).
 */
static void answers(struct ctl_rig *r, const char *part, bool eof)
{
	char buf[16384];
	bool end;

	ctl_rig_spin(r);
	ctl_rig_hear(r->peer, buf, sizeof(buf), &end);
	if (!strstr(buf, part))
		fail_msg("'%s' does not contain '%s'", buf, part);
	assert_int_equal(end, eof);
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int n = 0;

	while ((text = strstr(text, what))) {
		n++;
		text += strlen(what);
	}
	return n;
}

/* --- requests */

static void test_request_gives_rows_and_an_end(void **state)
{
	struct ctl_rig *r = *state;

	say(r, "{\"v\":1,\"cmd\":\"instance show\"}\n");
	answers(r, "{\"row\":{\"name\":\"test\"", false);
	say(r, "{\"v\":1,\"cmd\":\"wait\",\"args\":{\"timeout_ms\":5}}\n");
	answers(r, "{\"end\":{\"status\":0}}\n", false);
}

static void test_request_in_single_octets(void **state)
{
	static const char text[] = "{\"v\":1,\"cmd\":\"wait\"}\n";
	struct ctl_rig *r = *state;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		say(r, (char[]){ text[i], '\0' });
	answers(r, "{\"end\":{\"status\":0}}\n", false);
}

static void test_requests_in_one_piece_are_answered_in_order(void **state)
{
	struct ctl_rig *r = *state;
	char buf[4096], *first, *second;
	bool eof;

	say(r, "{\"v\":1,\"cmd\":\"nonsense\"}\n{\"v\":1,\"cmd\":\"wait\"}\n{\"v\":1,\"c");
	ctl_rig_hear(r->peer, buf, sizeof(buf), &eof);
	first = strstr(buf, "'nonsense'");
	second = strstr(buf, "{\"end\":{\"status\":0}}");
	assert_true(first && second && first < second);
	assert_int_equal(count(buf, "\n"), 2);
	assert_false(eof);
	say(r, "md\":\"wait\"}\n");
	answers(r, "{\"end\":{\"status\":0}}\n", false);
}

static void test_garbage_ends_the_connection(void **state)
{
	struct ctl_rig *r = *state;
	char buf[4096];
	bool eof;

	/*
	 * The first line is garbage, so the connection must be closed, and the valid request in the
	 * second line must not be served.
	 */
	say(r, "GET / HTTP/1.1\n{\"v\":1,\"cmd\":\"instance show\"}\n");
	ctl_rig_hear(r->peer, buf, sizeof(buf), &eof);
	assert_non_null(strstr(buf, "\"status\":2"));
	assert_non_null(strstr(buf, "not a JSON object a line"));
	assert_null(strstr(buf, "\"row\""));
	assert_true(eof);
	assert_int_equal(r->ctl.control.nclients, 0);
}

static void test_values_that_are_no_objects_end_the_connection(void **state)
{
	static const char *const text[] = {
		"[]\n", "7\n", "null\n", "\n", "{\"v\":1,\"v\":1}\n", "\"\xff\"\n"
	};
	struct ctl_rig *r = *state;

	for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
		say(r, text[i]);
		answers(r, "\"status\":2", true);
		close(r->peer);
		r->peer = -1;
		assert_int_equal(r->ctl.control.nclients, 0);
	}
}

static void test_version_command_and_arguments_are_checked(void **state)
{
	static const struct {
		const char *request, *error;
	} c[] = {
		{ "{\"cmd\":\"wait\"}\n", "v: expected 1" },
		{ "{\"v\":2,\"cmd\":\"wait\"}\n", "v: expected 1" },
		{ "{\"v\":1}\n", "cmd: missing" },
		{ "{\"v\":1,\"cmd\":7}\n", "cmd: missing" },
		{ "{\"v\":1,\"cmd\":\"link\"}\n", "cmd 'link': unknown" },
		{ "{\"v\":1,\"cmd\":\"wait\",\"args\":[]}\n", "args: expected an object" },
		{ "{\"v\":1,\"cmd\":\"wait\",\"args\":{\"dev\":\"x\"}}\n",
		  "wait: unknown argument 'dev'" },
		{ "{\"v\":1,\"cmd\":\"wait\",\"args\":{\"timeout_ms\":-1}}\n",
		  "timeout_ms: expected a number from 0" },
		{ "{\"v\":1,\"cmd\":\"wait\",\"args\":{\"timeout_ms\":\"1\"}}\n",
		  "timeout_ms: expected a number" },
		{ "{\"v\":1,\"cmd\":\"stats show\",\"args\":{\"details\":1}}\n",
		  "details: expected true or false" },
		{ "{\"v\":1,\"cmd\":\"link show\",\"args\":{\"dev\":1}}\n",
		  "dev: expected a string" },
		{ "{\"v\":1,\"cmd\":\"link show\",\"args\":{\"dev\":\"uib9\"}}\n",
		  "dev 'uib9': no such interface" },
		{ "{\"v\":1,\"cmd\":\"fabric sweep\"}\n", "fabric: expected a name" },
		{ "{\"v\":1,\"cmd\":\"fabric show\",\"args\":{\"fabric\":\"x\"}}\n",
		  "fabric 'x': no such fabric" },
		{ "{\"v\":1,\"cmd\":\"exec\",\"args\":{\"host\":\"h9\"}}\n",
		  "host 'h9': no such host" },
		{ "{\"v\":1,\"cmd\":\"capture stop\"}\n", "id: missing" },
	};
	struct ctl_rig *r = *state;
	char want[128];

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		say(r, c[i].request);
		snprintf(want, sizeof(want), "\"error\":\"%s", c[i].error);
		answers(r, want, false);
	}
}

/*
 * The error message quotes the request, but cuts the quoted text in the middle of a UTF-8
 * character. The answer must be valid JSON all the same.
 */
static void test_error_is_valid_text_whatever_was_quoted(void **state)
{
	struct ctl_rig *r = *state;
	char request[256] = "{\"v\":1,\"cmd\":\"x";
	char buf[4096];
	json_t *end;
	bool eof;

	for (int i = 0; i < 40; i++)
		strcat(request, "\xc3\xa4");
	strcat(request, "\"}\n");
	say(r, request);
	ctl_rig_hear(r->peer, buf, sizeof(buf), &eof);
	end = json_loads(buf, 0, NULL);
	assert_non_null(end);
	assert_non_null(strstr(buf, "unknown"));
	json_decref(end);
}

/* --- lines that are too long */

static void fill_line(struct ctl_rig *r, size_t len)
{
	char *text = malloc(len + 1);

	assert_non_null(text);
	memset(text, 'x', len);
	text[len] = '\0';
	say(r, text);
	free(text);
}

static void test_line_above_the_limit_ends_the_connection(void **state)
{
	struct ctl_rig *r = *state;

	fill_line(r, PROTO_LINE_MAX + 1);
	answers(r, "a line of more than 65536 octets", true);
	assert_int_equal(r->ctl.control.nclients, 0);
}

static void test_line_of_the_limit_is_read(void **state)
{
	static const char head[] = "{\"v\":1,\"cmd\":\"wait\"";
	struct ctl_rig *r = *state;
	char *text = malloc(PROTO_LINE_MAX + 1);

	assert_non_null(text);
	memset(text, ' ', PROTO_LINE_MAX);
	memcpy(text, head, sizeof(head) - 1);
	memcpy(text + PROTO_LINE_MAX - 2, "}\n", 3);
	say(r, text);
	free(text);
	answers(r, "{\"end\":{\"status\":0}}\n", false);
}

/* --- clients that disconnect */

static void test_half_closed_client_gets_its_answers(void **state)
{
	struct ctl_rig *r = *state;
	char buf[4096];
	bool eof;

	r->peer = ctl_rig_client(r);
	assert_true(send(r->peer,
			 "{\"v\":1,\"cmd\":\"instance show\"}\n{\"v\":1,\"cmd\":\"wait\"}\nrest",
			 54, 0) > 0);
	shutdown(r->peer, SHUT_WR);
	ctl_rig_spin(r);
	ctl_rig_hear(r->peer, buf, sizeof(buf), &eof);
	assert_int_equal(count(buf, "{\"end\":{\"status\":0}}\n"), 2);
	assert_true(eof);
	assert_int_equal(r->ctl.control.nclients, 0);
}

static void test_half_closed_client_keeps_an_open_request(void **state)
{
	struct ctl_rig *r = *state;

	say(r, "{\"v\":1,\"cmd\":\"monitor\"}\n");
	assert_false(list_empty(&r->in.watches));
	shutdown(r->peer, SHUT_WR);
	ctl_rig_spin(r);
	assert_int_equal(r->ctl.control.nclients, 1);
	assert_false(list_empty(&r->in.watches));
	close(r->peer);
	r->peer = -1;
	ctl_rig_spin(r);
	assert_int_equal(r->ctl.control.nclients, 0);
	assert_true(list_empty(&r->in.watches));
}

static void test_client_that_goes_ends_what_it_asked_for(void **state)
{
	struct ctl_rig *r = *state;

	say(r, "{\"v\":1,\"cmd\":\"monitor\"}\n");
	assert_false(list_empty(&r->in.watches));
	close(r->peer);
	r->peer = -1;
	ctl_rig_spin(r);
	assert_true(list_empty(&r->in.watches));
	assert_int_equal(r->ctl.control.nclients, 0);
}

static void test_client_that_goes_without_reading_is_still_obeyed(void **state)
{
	struct ctl_rig *r = *state;

	r->peer = ctl_rig_client(r);
	assert_true(send(r->peer, "{\"v\":1,\"cmd\":\"stop\"}\n", 21, 0) == 21);
	close(r->peer);
	r->peer = -1;
	ctl_rig_spin(r);
	assert_true(r->in.loop.stop);
	assert_int_equal(r->ctl.control.nclients, 0);
}

/*
 * While one request is open, further requests of the client wait. They wait in the server's buffer
 * for this client, or in the socket when this buffer is full. The event loop must not spin
 * meanwhile.
 */
static void test_requests_behind_an_open_one_wait(void **state)
{
	static const char text[] = "{\"v\":1,\"cmd\":\"wait\"}\n";
	struct ctl_rig *r = *state;
	ssize_t n;

	say(r, "{\"v\":1,\"cmd\":\"monitor\"}\n");
	do {
		n = send(r->peer, text, sizeof(text) - 1, MSG_NOSIGNAL);
		ctl_rig_spin(r);
	} while (n > 0);
	assert_int_equal(r->ctl.control.nclients, 1);
	close(r->peer);
	r->peer = -1;
	ctl_rig_spin(r);
	assert_int_equal(r->ctl.control.nclients, 0);
}

static void test_control_counts_clients_and_requests(void **state)
{
	struct ctl_rig *r = *state;

	say(r, "{\"v\":1,\"cmd\":\"instance show\"}\n{\"v\":1,\"cmd\":\"no such\"}\n");
	close(ctl_rig_client(r));
	ctl_rig_spin(r);
	assert_int_equal(r->ctl.stats.clients, 2);
	assert_int_equal(r->ctl.stats.requests, 2);
	say(r, "{\"v\":1,\"cmd\":\"stats show\"}\n");
	answers(r,
		"{\"layer\":\"control\",\"object\":\"test\",\"counter\":\"clients\",\"drop\":false,"
		"\"value\":2}",
		false);
}

/* --- clients that do not read */

/* Send requests without reading the answers, until the socket has no room for more answers. */
static void clog_up(struct ctl_rig *r)
{
	const struct ctl_client *c;

	if (r->peer < 0)
		r->peer = ctl_rig_client(r);
	c = list_first(&r->ctl.clients, struct ctl_client, link);
	for (int i = 0; i < 100000 && !timer_armed(&c->stuck); i++)
		say(r, "{\"v\":1,\"cmd\":\"instance show\"}\n");
	assert_true(timer_armed(&c->stuck));
}

static void test_client_that_stops_reading_is_dropped_after_a_second(void **state)
{
	struct ctl_rig *r = *state;

	clog_up(r);
	r->now += NS_MSEC(999);
	ctl_rig_spin(r);
	assert_int_equal(r->ctl.control.nclients, 1);
	r->now += NS_MSEC(1);
	ctl_rig_spin(r);
	assert_int_equal(r->ctl.control.nclients, 0);
	assert_int_equal(r->ctl.stats.clients_stuck, 1);
}

static void test_client_that_reads_again_in_time_stays(void **state)
{
	struct ctl_rig *r = *state;
	static char buf[1 << 20];
	bool eof;

	clog_up(r);
	r->now += NS_MSEC(999);
	ctl_rig_hear(r->peer, buf, sizeof(buf), &eof);
	assert_false(eof);
	ctl_rig_spin(r);
	r->now += NS_SEC(5);
	ctl_rig_spin(r);
	assert_int_equal(r->ctl.control.nclients, 1);
	ctl_rig_hear(r->peer, buf, sizeof(buf), &eof);
	say(r, "{\"v\":1,\"cmd\":\"wait\"}\n");
	answers(r, "{\"end\":{\"status\":0}}\n", false);
}

/* --- descriptors */

static void send_fd(int sock, const char *text, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { (char *)(uintptr_t)text, strlen(text) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	assert_int_equal(sendmsg(sock, &m, 0), strlen(text));
}

/* Tell whether all copies of the other end of the pipe @fd are closed. */
static bool pipe_ended(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static void test_descriptors_that_nobody_takes_are_closed(void **state)
{
	struct ctl_rig *r = *state;
	int p[2][2];

	assert_int_equal(pipe(p[0]), 0);
	assert_int_equal(pipe(p[1]), 0);
	r->peer = ctl_rig_client(r);
	for (int i = 0; i < 2; i++) {
		send_fd(r->peer, "{\"v\":1,\"cmd\":\"wait\"}\n", p[i][1]);
		close(p[i][1]);
		answers(r, "\"status\":0", false);
	}
	assert_true(pipe_ended(p[0][0])); /* the second descriptor replaced the first one */
	assert_false(pipe_ended(p[1][0]));
	/*
	 * The server refuses the command because there is no fabric, and must close the descriptor
	 * that has come with the request.
	 */
	say(r, "{\"v\":1,\"cmd\":\"capture start\"}\n");
	answers(r, "fabric: expected a name", false);
	assert_true(pipe_ended(p[1][0]));
	close(p[0][0]);
	close(p[1][0]);
}

/* --- many clients */

static void test_clients_beyond_64_are_turned_away(void **state)
{
	struct ctl_rig *r = *state;
	int fd[CTL_CLIENTS_MAX + 1], s[2];
	char buf[256] = "";

	for (int i = 0; i < CTL_CLIENTS_MAX; i++)
		fd[i] = ctl_rig_client(r);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	assert_int_equal(ctl_client_add(&r->ctl.control, s[0]), -ENOSPC);
	/* The client gets the reason for the refusal although it has sent no request. */
	assert_true(recv(s[1], buf, sizeof(buf) - 1, 0) > 0);
	assert_string_equal(buf, "{\"end\":{\"status\":1,\"error\":\"the instance serves 64 "
				 "clients already\",\"errno\":\"EBUSY\"}}\n");
	assert_int_equal(recv(s[1], buf, sizeof(buf), 0), 0);
	close(s[1]);
	close(fd[0]);
	ctl_rig_spin(r);
	fd[0] = ctl_rig_client(r); /* there is room for a client again */
	for (int i = 0; i < CTL_CLIENTS_MAX; i++)
		close(fd[i]);
	ctl_rig_spin(r);
	assert_int_equal(r->ctl.control.nclients, 0);
}

static unsigned int open_files(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/*
 * A client sends several descriptors with a command that takes no descriptor. The server must not
 * keep more than one of these descriptors.
 */
static void test_more_descriptors_than_one_are_closed(void **state)
{
	union fdpass_control c;
	struct ctl_rig *r = *state;
	char text[] = "{\"v\":1,\"cmd\":\"nothing\"}\n";
	int fds[FDPASS_MAX];
	unsigned int before;

	r->peer = ctl_rig_client(r);
	for (unsigned int i = 0; i < FDPASS_MAX; i++)
		fds[i] = STDIN_FILENO;
	before = open_files();
	for (unsigned int n = 1; n <= FDPASS_MAX; n++) {
		struct iovec iov = { text, sizeof(text) - 1 };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

		fdpass_attach(&m, &c, fds, n);
		assert_int_equal(sendmsg(r->peer, &m, MSG_NOSIGNAL), sizeof(text) - 1);
		answers(r, "", false);
		/*
		 * the server may keep one descriptor, for a later command that takes a descriptor
		 */
		assert_in_range(open_files(), before, before + 1);
	}
}

/* --- the read-only socket */

/*
 * The commands that the read-only socket serves. Before you add a command to this list, make sure
 * that the command changes nothing.
 */
static const char *const reading[] = {
	"capture show",
	"fabric group show",
	"fabric lft show",
	"fabric mft show",
	"fabric map",
	"fabric load",
	"fabric route",
	"fabric node show",
	"fabric partition show",
	"fabric port show",
	"fabric show",
	"fabric sm show",
	"fabric udp show",
	"fault show",
	"host show",
	"instance show",
	"link show",
	"maddr show",
	"monitor",
	"neigh show",
	"path show",
	"stats show",
	"wait",
};

static bool is_reading(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(reading); i++)
		if (!strcmp(reading[i], name))
			return true;
	return false;
}

struct visit {
	struct ctl_rig *r;
	unsigned int reads, changes;
};

/*
 * Send the command @c to the read-only socket. Check that the command is refused if it changes
 * something, and is not refused otherwise.
 */
static bool ask_reader(void *ctx, const struct ctl_cmd *c)
{
	struct visit *v = ctx;
	struct ctl_rig *r = v->r;
	char req[256], answer[16384];
	bool eof;
	int s[2];

	if (c->effect != CTL_READS && c->effect != CTL_CHANGES)
		fail_msg("%s: its row does not say whether it changes something", c->name);
	if ((c->effect == CTL_READS) != is_reading(c->name))
		fail_msg("%s: expected otherwise by this test", c->name);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	assert_int_equal(ctl_client_add(&r->ctl.reader, s[0]), 0);
	snprintf(req, sizeof(req), "{\"v\":1,\"cmd\":\"%s\"}\n", c->name);
	assert_int_equal(send(s[1], req, strlen(req), MSG_NOSIGNAL), strlen(req));
	ctl_rig_spin(r);
	ctl_rig_hear(s[1], answer, sizeof(answer), &eof);
	if (c->effect == CTL_CHANGES) {
		v->changes++;
		if (!strstr(answer, "{\"end\":{\"status\":1,") || !strstr(answer, "EACCES") ||
		    !strstr(answer, "read-only socket") || strstr(answer, "\"row\""))
			fail_msg("%s: not refused: %s", c->name, answer);
	} else {
		v->reads++;
		if (strstr(answer, "EACCES"))
			fail_msg("%s: refused: %s", c->name, answer);
	}
	close(s[1]);
	ctl_rig_spin(r);
	return false;
}

static void test_read_only_socket_refuses_each_command_that_changes(void **state)
{
	struct visit v = { .r = *state };

	assert_null(ctl_cmd_find(&v.r->ctl, ask_reader, &v));
	assert_int_equal(v.reads, ARRAY_SIZE(reading));
	assert_true(v.changes >= 19);
	assert_int_equal(v.r->ctl.stats.changes_refused, v.changes);
	assert_int_equal(v.r->ctl.reader.nclients, 0);
}

/*
 * The read-only socket must refuse the command "stop". On the control socket the same request must
 * end the event loop of the instance.
 */
static void test_read_only_socket_does_not_stop_the_instance(void **state)
{
	static const char stop[] = "{\"v\":1,\"cmd\":\"stop\"}\n";
	struct ctl_rig *r = *state;
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	assert_int_equal(ctl_client_add(&r->ctl.reader, s[0]), 0);
	r->in.loop.stop = false;
	r->peer = s[1];
	say(r, stop);
	answers(r, "EACCES", false);
	assert_false(r->in.loop.stop);
	close(r->peer);
	r->peer = -1;
	say(r, stop);
	answers(r, "{\"end\":{\"status\":0}}", false);
	assert_true(r->in.loop.stop);
}

/*
 * Clients of the read-only socket have a limit of their own, so that they cannot keep clients of
 * the control socket out.
 */
static void test_readers_do_not_take_the_places_of_others(void **state)
{
	struct ctl_rig *r = *state;
	int fd[CTL_READERS_MAX], s[2];

	for (int i = 0; i < CTL_READERS_MAX; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
		assert_int_equal(ctl_client_add(&r->ctl.reader, s[0]), 0);
		fd[i] = s[1];
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	assert_int_equal(ctl_client_add(&r->ctl.reader, s[0]), -ENOSPC);
	close(s[1]);
	say(r, "{\"v\":1,\"cmd\":\"instance show\"}\n");
	answers(r, "{\"end\":{\"status\":0}}", false);
	for (int i = 0; i < CTL_READERS_MAX; i++)
		close(fd[i]);
	ctl_rig_spin(r);
	assert_int_equal(r->ctl.reader.nclients, 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, ctl_rig_setup, ctl_rig_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_request_gives_rows_and_an_end),
		CASE(test_request_in_single_octets),
		CASE(test_requests_in_one_piece_are_answered_in_order),
		CASE(test_garbage_ends_the_connection),
		CASE(test_values_that_are_no_objects_end_the_connection),
		CASE(test_version_command_and_arguments_are_checked),
		CASE(test_error_is_valid_text_whatever_was_quoted),
		CASE(test_line_above_the_limit_ends_the_connection),
		CASE(test_line_of_the_limit_is_read),
		CASE(test_half_closed_client_gets_its_answers),
		CASE(test_half_closed_client_keeps_an_open_request),
		CASE(test_client_that_goes_ends_what_it_asked_for),
		CASE(test_client_that_goes_without_reading_is_still_obeyed),
		CASE(test_requests_behind_an_open_one_wait),
		CASE(test_client_that_stops_reading_is_dropped_after_a_second),
		CASE(test_control_counts_clients_and_requests),
		CASE(test_client_that_reads_again_in_time_stays),
		CASE(test_descriptors_that_nobody_takes_are_closed),
		CASE(test_more_descriptors_than_one_are_closed),
		CASE(test_clients_beyond_64_are_turned_away),
		CASE(test_read_only_socket_refuses_each_command_that_changes),
		CASE(test_read_only_socket_does_not_stop_the_instance),
		CASE(test_readers_do_not_take_the_places_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
