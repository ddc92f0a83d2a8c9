/* SPDX-License-Identifier: BSD-2-Clause */
#include "reload/supervise.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "os/fdpass.h"
#include "reload/make.h"
#include "reload/msg.h"

/*
 * Tests the supervisor's part of a reload. A thread plays the instance. It serves the requests one
 * after the other, as each test case says, and answers some of them only when the test case wants
 * it to.
 */

#define DONE "{\"end\":{\"status\":0}}\n"
#define FAILED(why) "{\"end\":{\"status\":1,\"error\":\"" why "\"}}\n"

struct rig {
	char dir[32], file[64];
	int listen;
	/* a pair of sockets, by which the thread and the test case wait for each other */
	int steps[2];
	pthread_t instance;
	char unexpected[256]; /* the first request that was not the expected one */
	/* names of the interfaces in the RELOAD_REMOVE messages, each followed by a space */
	char removed[128];
	struct conf conf;
	struct reload reload;
	/*
	 * one line for each event: "begins" when a reload begins, otherwise the outcome of a reload
	 */
	char said[256];
};

/* --- the instance */

static void step(int fd)
{
	ssize_t n = write(fd, "", 1);

	(void)n;
}

static void await_step(int fd)
{
	char c;
	ssize_t n = read(fd, &c, 1);

	(void)n;
}

/*
 * Reads from @conn a request, which must be @cmd. Return: the descriptor that came with it, or -1
 */
static int request(struct rig *r, int conn, const char *cmd)
{
	char text[2048] = "", want[64];
	size_t len = 0;
	ssize_t n = 1;
	int fd = -1, got;

	while (n > 0 && len < sizeof(text) - 1 && !strchr(text, '\n')) {
		union fdpass_control control;
		struct iovec iov = { text + len, sizeof(text) - 1 - len };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

		fdpass_room(&m, &control);
		n = recvmsg(conn, &m, 0);
		if (n > 0 && fdpass_take(&m, &got, 1))
			fd = got;
		len += n > 0 ? (size_t)n : 0;
		text[len] = '\0';
	}
	snprintf(want, sizeof(want), "\"cmd\":\"%s\"", cmd);
	if (!strstr(text, want) && !*r->unexpected)
		snprintf(r->unexpected, sizeof(r->unexpected), "%s expected, %.200s came", cmd,
			 text);
	return fd;
}

/*
 * Accepts a connection and reads its request, which must be @cmd. @ret_fd gets the descriptor that
 * came with the request; @ret_fd may be NULL
 */
static int accept_request(struct rig *r, const char *cmd, int *ret_fd)
{
	int conn = accept(r->listen, NULL, NULL), fd = request(r, conn, cmd);

	if (ret_fd)
		*ret_fd = fd;
	else if (fd >= 0)
		close(fd);
	return conn;
}

static void say(int conn, const char *text)
{
	send(conn, text, strlen(text), MSG_NOSIGNAL);
}

static void answer(int conn, const char *text)
{
	say(conn, text);
	close(conn);
}

/*
 * Takes all messages of a reload, and closes their socket. Return: true if the last message was
 * RELOAD_END
 */
static bool take_messages(struct rig *r, int sock)
{
	int fds[FDPASS_MAX];
	struct reload_msg m = { .kind = RELOAD_HELPER };
	unsigned int n;

	while (m.kind != RELOAD_END) {
		size_t len = strlen(r->removed);
		struct pollfd p = { .fd = sock, .events = POLLIN };
		int status;

		do {
			poll(&p, 1, -1);
			status = fdpass_recv(sock, &m, sizeof(m), fds, &n);
		} while (status == -EAGAIN);
		if (status)
			break;
		fdpass_close(fds, n);
		if (m.kind == RELOAD_REMOVE)
			snprintf(r->removed + len, sizeof(r->removed) - len, "%.15s@%.16s ",
				 m.remove.name, m.remove.host);
	}
	close(sock);
	return m.kind == RELOAD_END;
}

/*
 * Serves the request "reload apply" until the instance has got all messages. Return: the connection
 * of the request
 */
static int take_reload(struct rig *r)
{
	int sock, conn = accept_request(r, "reload apply", &sock);

	if (!take_messages(r, sock) && !*r->unexpected)
		snprintf(r->unexpected, sizeof(r->unexpected), "a reload without its end");
	return conn;
}

/* --- the supervisor */

static void said(void *ctx, const char *outcome)
{
	struct rig *r = ctx;
	size_t len = strlen(r->said);

	snprintf(r->said + len, sizeof(r->said) - len, "%s\n", outcome ? outcome : "begins");
}

/* Writes a configuration file with @n hosts that have one interface each. */
static void configure(struct rig *r, unsigned int n)
{
	FILE *f = fopen(r->file, "w");

	assert_non_null(f);
	fprintf(f, "[fabric lab]\ntopology = lab.topo\n");
	for (unsigned int k = 1; k <= n; k++)
		fprintf(f, "[interface uib0@h%u]\nport = fabric:lab/Hca%u/1\n", k, k);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	*state = r;
	snprintf(r->dir, sizeof(r->dir), "/tmp/uipoib-test-XXXXXX");
	if (!mkdtemp(r->dir))
		return -1;
	setenv("UIPOIB_RUNTIME_DIR", r->dir, 1);
	snprintf(r->file, sizeof(r->file), "%s/lab.conf", r->dir);
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/lab.sock", r->dir);
	r->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(r->listen, (struct sockaddr *)&sa, sizeof(sa)) || listen(r->listen, 16) ||
	       socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, r->steps);
}

static int teardown(void **state)
{
	struct rig *r = *state;
	char path[64];

	close(r->listen);
	close(r->steps[0]);
	close(r->steps[1]);
	unlink(r->file);
	snprintf(path, sizeof(path), "%s/lab.sock", r->dir);
	unlink(path);
	rmdir(r->dir);
	free(r);
	return 0;
}

/* Starts the supervisor with @n hosts, and an instance whose thread runs @fn. */
static void start(struct rig *r, unsigned int n, void *(*fn)(void *rig))
{
	char err[CONF_ERR_MAX] = "";

	configure(r, n);
	if (conf_load(&r->conf, r->file, err))
		fail_msg("%s", err);
	r->reload = (struct reload){
		.name = "lab", .file = r->file, .conf = &r->conf, .said = said, .ctx = r
	};
	reload_open(&r->reload);
	assert_int_equal(pthread_create(&r->instance, NULL, fn, r), 0);
}

static void end(struct rig *r)
{
	assert_int_equal(pthread_join(r->instance, NULL), 0);
	assert_string_equal(r->unexpected, "");
	reload_close(&r->reload);
	conf_free(&r->conf);
}

static bool readable(struct rig *r, int timeout_ms)
{
	struct pollfd p = { .fd = reload_fd(&r->reload), .events = POLLIN };

	assert_true(p.fd >= 0);
	return poll(&p, 1, timeout_ms) == 1;
}

/*
 * Waits until a client sends a request or the instance answers, and lets the supervisor handle it.
 */
static void serve(struct rig *r)
{
	assert_true(readable(r, -1));
	reload_serve(&r->reload);
}

static unsigned int ifaces(const struct rig *r)
{
	return (unsigned int)r->reload.conf->nifaces;
}

/* --- an answer that comes late */

static void *answers_late(void *arg)
{
	struct rig *r = arg;
	int awaits = accept_request(r, "reload await", NULL), conn;

	say(awaits, DONE);
	conn = take_reload(r);
	step(r->steps[1]);
	await_step(r->steps[1]);
	say(conn, DONE);
	answer(accept_request(r, "reload done", NULL), DONE);
	request(r, awaits, "reload await");
	close(conn);
	answer(take_reload(r), DONE);
	answer(accept_request(r, "reload done", NULL), DONE);
	close(awaits);
	return NULL;
}

static void test_reload_a_late_answer_is_the_outcome_of_its_reload(void **state)
{
	struct rig *r = *state;

	start(r, 3, answers_late);
	configure(r, 2);
	serve(r);
	await_step(r->steps[0]);
	/* The supervisor must not block, and must decide nothing before the answer has come. */
	assert_false(readable(r, 0));
	reload_serve(&r->reload);
	assert_int_equal(ifaces(r), 3);
	assert_string_equal(r->said, "begins\n");
	/*
	 * A signal comes while this reload is under way. When the reload has ended, the supervisor
	 * must read the file again. It must compare the file with the configuration that this
	 * reload has left.
	 */
	configure(r, 1);
	reload_now(&r->reload);
	assert_string_equal(r->said, "begins\n");
	step(r->steps[0]);
	serve(r);
	assert_int_equal(ifaces(r), 2);
	assert_string_equal(r->said, "begins\nreloaded: removed uib0@h3; kept 2\nbegins\n");
	serve(r);
	assert_int_equal(ifaces(r), 1);
	end(r);
	assert_string_equal(r->removed, "uib0@h3 uib0@h2 ");
}

static void *refuses_late(void *arg)
{
	struct rig *r = arg;
	int awaits = accept_request(r, "reload await", NULL);
	int conn = take_reload(r);

	step(r->steps[1]);
	await_step(r->steps[1]);
	answer(conn, FAILED("a manager is stopped"));
	answer(accept_request(r, "reload done", NULL), DONE);
	answer(take_reload(r), DONE);
	answer(accept_request(r, "reload done", NULL), DONE);
	close(awaits);
	return NULL;
}

static void test_reload_after_a_late_refusal_nothing_has_changed(void **state)
{
	struct rig *r = *state;

	start(r, 2, refuses_late);
	configure(r, 1);
	reload_now(&r->reload);
	await_step(r->steps[0]);
	step(r->steps[0]);
	serve(r);
	assert_int_equal(ifaces(r), 2);
	assert_string_equal(r->said, "begins\nnot reloaded: a manager is stopped\n");
	reload_now(&r->reload);
	serve(r);
	assert_int_equal(ifaces(r), 1);
	end(r);
	assert_string_equal(r->removed, "uib0@h2 uib0@h2 ");
}

static void *ends_early(void *arg)
{
	struct rig *r = arg;
	int awaits = accept_request(r, "reload await", NULL);

	close(take_reload(r));
	answer(accept_request(r, "reload done", NULL), DONE);
	close(awaits);
	return NULL;
}

static void test_reload_an_answer_without_an_end_is_a_failure(void **state)
{
	struct rig *r = *state;

	start(r, 2, ends_early);
	configure(r, 1);
	reload_now(&r->reload);
	serve(r);
	assert_int_equal(ifaces(r), 2);
	assert_string_equal(r->said, "begins\nnot reloaded: the instance: Broken pipe\n");
	end(r);
}

/*
 * The answer comes in pieces. Before the last piece has come, the supervisor must decide nothing.
 */
static void test_reload_an_answer_in_pieces(void **state)
{
	struct conf_iface one = { .name = "uib1", .host = "h1" },
			  two = { .name = "uib2", .host = "h1" };
	struct conf_diff_row rows[] = { { .fate = CONF_ADDED, .is = &one },
					{ .fate = CONF_ADDED, .is = &two } };
	const struct conf_diff d = { .row = rows, .nrows = 2 };
	struct proto_client c = { .fds = { -1, -1 } };
	bool missing[2] = { false };
	char err[64] = "";
	int s[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	c.fd = s[0];
	assert_int_equal(reload_answer(&c, &d, missing, err, sizeof(err)), -EAGAIN);
	say(s[1], "{\"row\":{\"missing\":\"uib2\",\"ho");
	assert_int_equal(reload_answer(&c, &d, missing, err, sizeof(err)), -EAGAIN);
	assert_false(missing[1]);
	say(s[1], "st\":\"h1\"}}\n");
	assert_int_equal(reload_answer(&c, &d, missing, err, sizeof(err)), -EAGAIN);
	assert_true(!missing[0] && missing[1]);
	assert_string_equal(err, "");
	say(s[1], FAILED("no memory"));
	assert_int_equal(reload_answer(&c, &d, missing, err, sizeof(err)), PROTO_EXIT_FAILED);
	assert_string_equal(err, "no memory");
	proto_close(&c);
	close(s[1]);
}

/* --- failures while the changes are handed over */

static void *has_no_namespace(void *arg)
{
	struct rig *r = arg;
	int awaits = accept_request(r, "reload await", NULL), sock;
	int conn = accept_request(r, "reload apply", &sock);

	say(conn, FAILED("messages of the supervisor: Broken pipe"));
	answer(accept_request(r, "exec", NULL), FAILED("host 'h1': it is gone"));
	if (take_messages(r, sock))
		snprintf(r->unexpected, sizeof(r->unexpected), "the reload has its end");
	answer(accept_request(r, "reload done", NULL), DONE);
	close(conn);
	close(awaits);
	return NULL;
}

static void
test_reload_a_failure_of_the_supervisor_is_not_replaced_by_the_instances_answer(void **state)
{
	struct rig *r = *state;

	start(r, 1, has_no_namespace);
	configure(r, 2);
	reload_now(&r->reload);
	assert_string_equal(r->said, "begins\nnot reloaded: host 'h1': it is gone\n");
	assert_int_equal(ifaces(r), 1);
	end(r);
}

static void *takes_no_message(void *arg)
{
	struct rig *r = arg;
	int awaits = accept_request(r, "reload await", NULL);
	int conn = accept_request(r, "reload apply", NULL);

	answer(conn, FAILED("out of memory"));
	answer(accept_request(r, "reload done", NULL), DONE);
	close(awaits);
	return NULL;
}

/*
 * The messages do not all fit into the buffer of the socket. So the supervisor is still sending
 * messages when the instance closes the socket.
 */
static void test_reload_an_instance_that_takes_no_message_says_why(void **state)
{
	struct rig *r = *state;

	start(r, 300, takes_no_message);
	configure(r, 1);
	reload_now(&r->reload);
	assert_string_equal(r->said, "begins\n");
	serve(r);
	assert_string_equal(r->said, "begins\nnot reloaded: out of memory\n");
	assert_int_equal(ifaces(r), 300);
	end(r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_reload_a_late_answer_is_the_outcome_of_its_reload),
		TEST(test_reload_after_a_late_refusal_nothing_has_changed),
		TEST(test_reload_an_answer_without_an_end_is_a_failure),
		TEST(test_reload_an_answer_in_pieces),
		TEST(test_reload_a_failure_of_the_supervisor_is_not_replaced_by_the_instances_answer),
		TEST(test_reload_an_instance_that_takes_no_message_says_why),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
