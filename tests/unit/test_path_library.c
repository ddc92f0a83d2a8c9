/* SPDX-License-Identifier: BSD-2-Clause */
#include <uipoib/path.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "util/list.h"

/*
 * Tests the functions of libuipoib-path. The test plays the instance: it listens at the control
 * socket of an instance called "lab", accepts the connection of each question, and answers when the
 * test case wants it to.
 */

#define RECORD                                                             \
	"0000000000000000fe800000000000000002c90300000009fe80000000000000" \
	"0002c90300000005123456780abcde3f5a818001fff784839200000000000000"
#define FOUND \
	"{\"row\":{\"ifname\":\"uib0\",\"record\":\"" RECORD "\"}}\n{\"end\":{\"status\":0}}\n"
#define NOBODY "{\"end\":{\"status\":1,\"error\":\"nobody\",\"errno\":\"ENXIO\"}}\n"

struct rig {
	char dir[32];
	int listen;
	struct ipoib_path *path;
	int calls, status; /* number of calls of the callback, and the status that it got */
	struct ipoib_path_info *info;
};

/* Accept a connection, and read the request line into @text. */
static int accept_question(struct rig *r, char text[512])
{
	int fd = accept(r->listen, NULL, NULL);
	size_t len = 0;
	ssize_t n = 1;

	assert_true(fd >= 0);
	text[0] = '\0';
	while (n > 0 && !strchr(text, '\n')) {
		n = recv(fd, text + len, 511 - len, 0);
		len += n > 0 ? (size_t)n : 0;
		text[len] = '\0';
	}
	return fd;
}

static int accept_any(struct rig *r)
{
	char text[512];

	return accept_question(r, text);
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void listen_at(struct rig *r)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/lab.sock", r->dir);
	r->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(r->listen, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(r->listen, 64), 0);
}

static void hang_up(struct rig *r)
{
	char path[64];

	if (r->listen >= 0)
		close(r->listen);
	snprintf(path, sizeof(path), "%s/lab.sock", r->dir);
	unlink(path);
	r->listen = -1;
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	*state = r;
	snprintf(r->dir, sizeof(r->dir), "/tmp/uipoib-test-XXXXXX");
	if (!mkdtemp(r->dir))
		return -1;
	setenv("UIPOIB_RUNTIME_DIR", r->dir, 1);
	unsetenv("UIPOIB_NAME");
	unsetenv("UIPOIB_HOST");
	listen_at(r);
	r->path = ipoib_path_open("lab", NULL);
	if (!r->path)
		return -1;
	/* Close the connection that ipoib_path_open() has made. No question is sent on it. */
	close(accept_any(r));
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	ipoib_path_close(r->path);
	hang_up(r);
	rmdir(r->dir);
	free(r);
	return 0;
}

static struct ipoib_path_info question(const char *text)
{
	struct ipoib_path_info info;

	memset(&info, 0xee, sizeof(info));
	info.sin_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	assert_int_equal(inet_pton(info.sin_family, text, &info.addr), 1);
	return info;
}

static void called(int status, struct ipoib_path_info *info, void *context)
{
	struct rig *r = context;

	r->calls++;
	r->status = status;
	r->info = info;
}

static bool readable(struct rig *r)
{
	struct pollfd p = { .fd = ipoib_path_fd(r->path), .events = POLLIN };

	assert_true(p.fd >= 0);
	return poll(&p, 1, 0) > 0;
}

/*
 * Fork a child that is killed when its parent ends, so that no child stays behind after a failed
 * test.
 */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/*
 * Start a child that has copies of all descriptors and never calls the library. It ends when the
 * returned descriptor is closed.
 */
static int idle_child(pid_t *pid)
{
	int p[2];
	char c;

	assert_int_equal(pipe(p), 0);
	*pid = fork_child();
	if (!*pid) {
		close(p[1]);
		while (read(p[0], &c, 1) < 0)
			;
		_exit(0);
	}
	close(p[0]);
	return p[1];
}

static void end_child(pid_t pid, int fd)
{
	int status;

	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/*
 * Tell whether the other end has shut down its sending side. The test fails if the other end has
 * sent anything.
 */
static bool at_end(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);

	assert_true(n == 0 || (n < 0 && errno == EAGAIN));
	return n == 0;
}

/* Tell whether the connection is closed in both directions. */
static bool closed(int fd)
{
	struct pollfd p = { .fd = fd, .events = 0 };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

/* --- processes */

static void test_a_question_is_over_although_a_child_has_its_connection(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2");
	int fd, child;
	pid_t pid;

	assert_int_equal(ipoib_get_path(r->path, &info, called, r), -EAGAIN);
	fd = accept_any(r);
	child = idle_child(&pid);
	say(fd, FOUND);
	assert_int_equal(ipoib_path_dispatch(r->path), 1);
	assert_int_equal(r->calls, 1);
	assert_ptr_equal(r->info, &info);
	/*
	 * Further octets after the answer must have no effect, and the end of the connection must
	 * have none.
	 */
	send(fd, "\n", 1, MSG_NOSIGNAL);
	close(fd);
	assert_false(readable(r));
	assert_int_equal(ipoib_path_dispatch(r->path), 0);
	assert_int_equal(r->calls, 1);
	end_child(pid, child);
}

static void test_a_child_does_not_keep_the_place_of_a_client(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2");
	int fd, child;
	pid_t pid;

	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), EAGAIN);
	fd = accept_any(r);
	child = idle_child(&pid);
	assert_false(closed(fd));
	say(fd, FOUND);
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), 0);
	assert_true(closed(fd));
	close(fd);
	end_child(pid, child);
}

static void test_close_ends_questions_that_a_child_has_copies_of(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2");
	int fd, child;
	pid_t pid;

	assert_int_equal(ipoib_get_path(r->path, &info, called, r), -EAGAIN);
	fd = accept_any(r);
	child = idle_child(&pid);
	ipoib_path_close(r->path);
	r->path = NULL;
	assert_true(closed(fd));
	close(fd);
	end_child(pid, child);
	assert_int_equal(r->calls, 0);
}

/*
 * A child has a copy of its parent's handle. Calls of the child must not affect the questions of
 * the parent.
 */
static void test_a_child_leaves_its_parents_questions_alone(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2");
	int fd, status;
	pid_t pid;

	assert_int_equal(ipoib_get_path(r->path, &info, called, r), -EAGAIN);
	fd = accept_any(r);
	pid = fork_child();
	if (!pid) {
		bool idle = !readable(r) && !ipoib_path_dispatch(r->path);

		ipoib_path_close(r->path);
		_exit(idle ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(closed(fd));
	say(fd, FOUND);
	assert_true(readable(r));
	assert_int_equal(ipoib_path_dispatch(r->path), 1);
	assert_int_equal(r->status, 0);
	close(fd);
}

static void test_a_child_asks_with_the_same_handle(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2"), other = question("10.4.0.3");
	int fd, fd2, status;
	pid_t pid;

	assert_int_equal(ipoib_get_path(r->path, &info, called, r), -EAGAIN);
	fd = accept_any(r);
	pid = fork_child();
	if (!pid) {
		struct pollfd p;

		if (ipoib_get_path(r->path, &other, called, r) != -EAGAIN)
			_exit(1);
		p = (struct pollfd){ .fd = ipoib_path_fd(r->path), .events = POLLIN };
		if (poll(&p, 1, -1) != 1 || ipoib_path_dispatch(r->path) != 1)
			_exit(2);
		_exit(r->calls == 1 && r->status == -ENXIO && r->info == &other ? 0 : 3);
	}
	fd2 = accept_any(r);
	say(fd2, NOBODY);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	say(fd, FOUND);
	assert_int_equal(ipoib_path_dispatch(r->path), 1);
	assert_int_equal(r->status, 0);
	close(fd);
	close(fd2);
}

/* --- connections */

/*
 * The library must shut down the sending side of a connection after its question. The instance then
 * knows that no further question comes. It can close the connection when it has sent the answer,
 * even if the program has not read the answer yet.
 */
static void test_a_question_ends_its_sending_side(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2");
	char text[512];
	int fd;

	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), EAGAIN);
	fd = accept_question(r, text);
	assert_true(at_end(fd));
	assert_false(closed(fd));
	assert_non_null(strstr(text, "\"10.4.0.2\""));
	say(fd, FOUND);
	close(fd);
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), 0);
	assert_int_equal(ntohs(info.dest_lid), 0x1234);
}

static void test_an_answer_in_pieces(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2"), before = info;
	const char *p;
	int fd;

	assert_int_equal(ipoib_get_path(r->path, &info, called, r), -EAGAIN);
	fd = accept_any(r);
	for (p = FOUND; p[1]; p++) {
		char one[] = { *p, '\0' };

		say(fd, one);
		assert_int_equal(ipoib_path_dispatch(r->path), 0);
		assert_memory_equal(&info, &before, sizeof(info));
	}
	say(fd, p);
	assert_int_equal(ipoib_path_dispatch(r->path), 1);
	assert_int_equal(r->status, 0);
	close(fd);
}

static void test_sixteen_questions_wait_at_most(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info[17];
	int fd[16];

	for (int i = 0; i < 17; i++) {
		info[i] = question("10.4.0.2");
		info[i].addr.v4_addr[3] = (uint8_t)i;
		assert_int_equal(ipoib_get_path(r->path, &info[i], called, r),
				 i < 16 ? -EAGAIN : -ENOBUFS);
		if (i < 16)
			fd[i] = accept_any(r);
	}
	say(fd[3], FOUND);
	assert_int_equal(ipoib_path_dispatch(r->path), 1);
	assert_ptr_equal(r->info, &info[3]);
	assert_int_equal(ipoib_get_path(r->path, &info[16], called, r), -EAGAIN);
	close(fd[3]);
	fd[3] = accept_any(r);
	say(fd[3], NOBODY);
	assert_int_equal(ipoib_path_dispatch(r->path), 1);
	assert_ptr_equal(r->info, &info[16]);
	for (int i = 0; i < 16; i++)
		close(fd[i]);
}

/*
 * A program perhaps never repeats a query whose answer has arrived, for example because its flow
 * has ended. Such an answer must not count against the limit of open questions.
 */
static void test_answers_that_nobody_fetches_leave_their_places(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info;
	int fd[17];

	for (int i = 0; i < 17; i++) {
		info = question("10.4.0.2");
		info.addr.v4_addr[3] = (uint8_t)i;
		assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK),
				 i < 16 ? EAGAIN : ENOBUFS);
		if (i < 16)
			fd[i] = accept_any(r);
	}
	say(fd[3], FOUND);
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), EAGAIN);
	fd[16] = accept_any(r);
	info.addr.v4_addr[3] = 3; /* the library still has the answer about this address */
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), 0);
	for (int i = 0; i < 17; i++)
		close(fd[i]);
}

static time_t later; /* seconds by which the library's clock is advanced */

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int res = (int)syscall(SYS_clock_gettime, id, ts);

	ts->tv_sec += later;
	return res;
}

/*
 * The program calls ipoib_path_dispatch() at once, but repeats its query only after two seconds.
 * The repeated query must get the answer. A third query must ask the instance again.
 */
static void test_an_answer_waits_for_who_asks_seldom(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2"), again = info;
	int fd;

	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), EAGAIN);
	fd = accept_any(r);
	say(fd, FOUND);
	assert_int_equal(ipoib_path_dispatch(r->path), 0);
	later += 2;
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), 0);
	assert_int_equal(ipoib_path_query(r->path, &again, IPOIB_PATH_NONBLOCK), EAGAIN);
	close(fd);
	close(accept_any(r));
}

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	signals++;
}

/* A blocking query must continue after a signal that the program catches. */
static void test_signals_do_not_end_a_query(void **state)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct ipoib_path_info info = question("10.4.0.2");
	struct rig *r = *state;
	int status, fd;
	pid_t pid;

	sigaction(SIGUSR1, &sa, NULL);
	pid = fork_child();
	if (!pid) {
		fd = accept_any(r);
		for (int i = 0; i < 100; i++) {
			kill(getppid(), SIGUSR1);
			sched_yield();
		}
		say(fd, FOUND);
		_exit(0);
	}
	assert_int_equal(ipoib_path_query(r->path, &info, 0), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(signals > 0);
}

/* --- errors */

/* Return the errno of a non-blocking query that the instance answers with @text. */
static int outcome(struct rig *r, const char *text)
{
	struct ipoib_path_info info = question("fd04::2"), before = info;
	int fd, err;

	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), EAGAIN);
	fd = accept_any(r);
	say(fd, text);
	close(fd);
	err = ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK);
	assert_memory_equal(&info, &before, sizeof(info));
	/* Open a new handle, because the old handle remembers this answer. */
	ipoib_path_close(r->path);
	r->path = ipoib_path_open("lab", NULL);
	assert_non_null(r->path);
	close(accept_any(r));
	return err;
}

static void test_H33_each_failure_has_its_error(void **state)
{
	static const struct {
		const char *name;
		int err;
	} named[] = {
		{ "ENXIO", ENXIO },
		{ "EHOSTUNREACH", EHOSTUNREACH },
		{ "ETIMEDOUT", ETIMEDOUT },
		{ "ENETDOWN", ENETDOWN },
		{ "ENODEV", ENODEV },
		{ "EADDRNOTAVAIL", EADDRNOTAVAIL },
		{ "EINVAL", EINVAL },
		{ "EBUSY", EBUSY },
		{ "ENOMEM", ENOMEM },
		/*
		 * EAGAIN must not reach the program, because the program would repeat the query for
		 * ever. An unknown name of an error counts as EIO.
		 */
		{ "EAGAIN", EIO },
		{ "ENOSUCHNAME", EIO },
	};
	struct rig *r = *state;
	char text[128];

	for (unsigned int i = 0; i < ARRAY_SIZE(named); i++) {
		snprintf(text, sizeof(text),
			 "{\"end\":{\"status\":1,\"error\":\"x\",\"errno\":\"%s\"}}\n",
			 named[i].name);
		assert_int_equal(outcome(r, text), named[i].err);
	}
	assert_int_equal(outcome(r, "{\"end\":{\"status\":1}}\n"), EIO);
	assert_int_equal(outcome(r, "{\"end\":{\"status\":2}}\n"), EINVAL);
	assert_int_equal(outcome(r, "{\"end\":{\"status\":4}}\n"), ETIMEDOUT);
	assert_int_equal(outcome(r, "rubbish\n"), EPROTO);
	assert_int_equal(outcome(r, ""), EPIPE); /* the instance has ended */
}

/* The callback of a query must get the error, too. */
static void test_H33_a_callback_has_the_error(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2"), before = info;
	int fd;

	assert_int_equal(ipoib_get_path(r->path, &info, called, r), -EAGAIN);
	fd = accept_any(r);
	close(fd);
	assert_int_equal(ipoib_path_dispatch(r->path), 1);
	assert_int_equal(r->status, -EPIPE);
	assert_memory_equal(&info, &before, sizeof(info));
}

/*
 * A temporary failure must be reported once, to the query that failed. The next query must ask the
 * instance again.
 */
static void test_a_failure_of_the_moment_is_not_remembered(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2");
	int fd;

	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), EAGAIN);
	fd = accept_any(r);
	say(fd, "{\"end\":{\"status\":1,\"errno\":\"EBUSY\"}}\n");
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), EBUSY);
	close(fd);
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), EAGAIN);
	fd = accept_any(r);
	say(fd, FOUND);
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), 0);
	close(fd);
}

/*
 * An instance that has too many clients sends the error "full" before it closes the connection,
 * perhaps without having read the request.
 */
static void test_an_instance_that_is_full_is_busy(void **state)
{
	struct rig *r = *state;
	int status;
	pid_t pid = fork_child();

	if (!pid) {
		for (int i = 0; i < 50; i++) {
			int fd = accept(r->listen, NULL, NULL);

			say(fd,
			    "{\"end\":{\"status\":1,\"error\":\"full\",\"errno\":\"EBUSY\"}}\n");
			close(fd);
		}
		_exit(0);
	}
	for (int i = 0; i < 50; i++) {
		struct ipoib_path_info info = question("10.4.0.2");

		assert_int_equal(ipoib_path_query(r->path, &info, 0), EBUSY);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_what_is_no_question(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2");

	assert_int_equal(ipoib_path_query(NULL, &info, 0), EINVAL);
	assert_int_equal(ipoib_path_query(r->path, NULL, 0), EINVAL);
	assert_int_equal(ipoib_path_query(r->path, &info, 2), EINVAL);
	assert_int_equal(ipoib_get_path(r->path, NULL, called, r), -EINVAL);
	info.sin_family = AF_UNIX;
	assert_int_equal(ipoib_path_query(r->path, &info, 0), EAFNOSUPPORT);
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), EAFNOSUPPORT);
	assert_int_equal(ipoib_get_path(r->path, &info, called, r), -EAFNOSUPPORT);
}

static int open_error(const char *instance, const char *dev)
{
	struct ipoib_path *p = ipoib_path_open(instance, dev);
	int err = errno;

	assert_null(p);
	return err;
}

static void test_handles_that_cannot_be_opened(void **state)
{
	struct rig *r = *state;
	char dev[300];

	memset(dev, 'x', sizeof(dev) - 1);
	dev[sizeof(dev) - 1] = '\0';
	assert_int_equal(open_error(NULL, NULL), EINVAL); /* UIPOIB_NAME is not set */
	assert_int_equal(open_error("no/name", NULL), EINVAL);
	assert_int_equal(open_error("other", NULL), ENOENT);
	assert_int_equal(open_error("lab", dev), ENODEV);
	assert_int_equal(open_error("lab", "\xff"), ENODEV);
	chmod(r->dir, 0777);
	assert_int_equal(open_error("lab", NULL), EACCES);
	chmod(r->dir, 0700);
	close(r->listen); /* as after kill -9 of an instance, which leaves its socket file */
	r->listen = -1;
	assert_int_equal(open_error("lab", NULL), ENOENT);
}

static void test_open_does_not_wait_for_ever_for_an_instance_that_is_full(void **state)
{
	struct rig *r = *state;
	struct ipoib_path *first;

	hang_up(r);
	listen_at(r);
	assert_int_equal(listen(r->listen, 0), 0);
	first = ipoib_path_open("lab", NULL);
	assert_non_null(first);
	assert_int_equal(open_error("lab", NULL), EBUSY);
	ipoib_path_close(first);
}

static void test_an_instance_that_has_ended(void **state)
{
	struct rig *r = *state;
	struct ipoib_path_info info = question("10.4.0.2");

	hang_up(r);
	assert_int_equal(ipoib_path_query(r->path, &info, 0), ENOENT);
	assert_int_equal(ipoib_path_query(r->path, &info, IPOIB_PATH_NONBLOCK), ENOENT);
	assert_int_equal(ipoib_get_path(r->path, &info, called, r), -ENOENT);
}

/* --- which host */

static bool asks_about(struct rig *r, const char *instance, const char *dev, const char *what)
{
	struct ipoib_path_info info = question("10.4.0.2");
	struct ipoib_path *p = ipoib_path_open(instance, dev);
	char text[512];

	assert_non_null(p);
	close(accept_any(r));
	assert_int_equal(ipoib_path_query(p, &info, IPOIB_PATH_NONBLOCK), EAGAIN);
	close(accept_question(r, text));
	ipoib_path_close(p);
	return strstr(text, what);
}

static void test_the_host_is_that_of_the_environment(void **state)
{
	struct rig *r = *state;

	setenv("UIPOIB_HOST", "h2", 1);
	setenv("UIPOIB_NAME", "lab", 1);
	assert_true(asks_about(r, NULL, NULL, "\"host\":\"h2\""));
	assert_true(asks_about(r, "lab", NULL, "\"host\":\"h2\""));
	assert_false(asks_about(r, "lab", "uib0@h1", "\"host\""));
	assert_true(asks_about(r, "lab", "uib0@h1", "\"dev\":\"uib0@h1\""));
	/* The calling program runs in a host of another instance. */
	setenv("UIPOIB_NAME", "lab2", 1);
	assert_false(asks_about(r, "lab", NULL, "\"host\""));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_a_question_is_over_although_a_child_has_its_connection),
		CASE(test_a_child_does_not_keep_the_place_of_a_client),
		CASE(test_close_ends_questions_that_a_child_has_copies_of),
		CASE(test_a_child_leaves_its_parents_questions_alone),
		CASE(test_a_child_asks_with_the_same_handle),
		CASE(test_a_question_ends_its_sending_side),
		CASE(test_an_answer_in_pieces),
		CASE(test_sixteen_questions_wait_at_most),
		CASE(test_answers_that_nobody_fetches_leave_their_places),
		CASE(test_an_answer_waits_for_who_asks_seldom),
		CASE(test_open_does_not_wait_for_ever_for_an_instance_that_is_full),
		CASE(test_signals_do_not_end_a_query),
		CASE(test_H33_each_failure_has_its_error),
		CASE(test_H33_a_callback_has_the_error),
		CASE(test_a_failure_of_the_moment_is_not_remembered),
		CASE(test_an_instance_that_is_full_is_busy),
		CASE(test_what_is_no_question),
		CASE(test_handles_that_cannot_be_opened),
		CASE(test_an_instance_that_has_ended),
		CASE(test_the_host_is_that_of_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
