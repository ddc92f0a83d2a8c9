/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses the functions of libuipoib-path as a program would.
 *
 *	path_client block ADDRESS [IF@HOST]	print the 72 octets of the answer, or the error
 *	path_client nonblock ADDRESS		print the same without waiting inside a call
 *	path_client callback ADDRESS		print the same, by a callback
 *	path_client threads ADDRESS ADDRESS	two threads ask by one handle, and a third one takes callbacks
 *	path_client crowd ADDRESS COMMAND	run the command while more questions wait than the instance has room for
 *	path_client open ADDRESS		print the error of ipoib_path_open()
 *	path_client fork ADDRESS		parent and child use the handle
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uipoib/path.h>

#define ROUNDS 100
#define PATIENCE_MS 30000

static void fail(const char *what)
{
	fprintf(stderr, "path_client: %s\n", what);
	exit(1);
}

static struct ipoib_path_info question(const char *text)
{
	struct ipoib_path_info info;

	memset(&info, 0xee, sizeof(info));
	info.sin_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(info.sin_family, text, &info.addr) != 1)
		fail("address");
	return info;
}

static int print(int status, const struct ipoib_path_info *info)
{
	const unsigned char *p = (const void *)info;

	if (status) {
		printf("%s\n", strerrorname_np(status));
		return 1;
	}
	for (size_t i = 0; i < sizeof(*info); i++)
		printf("%02x", p[i]);
	printf("\n");
	return 0;
}

static void await(struct ipoib_path *p)
{
	struct pollfd fd = { .fd = ipoib_path_fd(p), .events = POLLIN };

	if (poll(&fd, 1, PATIENCE_MS) < 1)
		fail("no answer came");
}

static int nonblock(struct ipoib_path *p, const char *text)
{
	struct ipoib_path_info info = question(text);
	int status = ipoib_path_query(p, &info, IPOIB_PATH_NONBLOCK);

	if (status != EAGAIN)
		fail("the first call knows the answer");
	/* A call for the same address, before the answer has come, sends no second question. */
	while ((status = ipoib_path_query(p, &info, IPOIB_PATH_NONBLOCK)) == EAGAIN)
		await(p);
	if (!status && ipoib_path_query(p, &info, IPOIB_PATH_NONBLOCK) != 0)
		fail("what is known is not known any more");
	return print(status, &info);
}

struct seen {
	bool inside; /* true while ipoib_get_path() has not returned */
	int calls, status;
	struct ipoib_path_info *info;
};

static void called(int status, struct ipoib_path_info *info, void *context)
{
	struct seen *s = context;

	if (s->inside)
		fail("the callback came from inside the call");
	s->calls++;
	s->status = status;
	s->info = info;
}

static void ask(struct ipoib_path *p, struct ipoib_path_info *info, struct seen *s)
{
	*s = (struct seen){ .inside = true };
	if (ipoib_get_path(p, info, called, s) != -EAGAIN)
		fail("ipoib_get_path did not return -EAGAIN");
	s->inside = false;
}

static void await_call(struct ipoib_path *p, const struct seen *s)
{
	while (!s->calls) {
		await(p);
		if (ipoib_path_dispatch(p) < 0)
			fail("dispatch");
	}
}

static int callback(struct ipoib_path *p, const char *text)
{
	struct ipoib_path_info info = question(text);
	struct pollfd fd = { .fd = ipoib_path_fd(p), .events = POLLIN };
	struct seen s;

	ask(p, &info, &s);
	await_call(p, &s);
	if (s.info != &info)
		fail("another structure");
	/* The callback must be called only once. */
	if (poll(&fd, 1, 300) != 0 || ipoib_path_dispatch(p) != 0 || s.calls != 1)
		fail("a second call");
	return print(-s.status, &info);
}

struct job {
	pthread_t thread;
	struct ipoib_path *path;
	struct ipoib_path_info first;
	const char *text;
};

static void *asker(void *arg)
{
	struct job *j = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct ipoib_path_info info = j->first;

		memset(info.dest_gid, 0, sizeof(info.dest_gid));
		if (ipoib_path_query(j->path, &info, 0) || memcmp(&info, &j->first, sizeof(info)))
			fail("a thread got another answer");
	}
	return NULL;
}

static void *taker(void *arg)
{
	struct job *j = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct ipoib_path_info info = question(j->text);
		struct seen s = { 0 };

		if (!ipoib_get_path(j->path, &info, called, &s))
			continue; /* the path is known from the round before, so no callback comes */
		await_call(j->path, &s);
		if (s.status || memcmp(info.dest_gid, j->first.dest_gid, 16))
			fail("a callback got another answer");
	}
	return NULL;
}

static int threads(struct ipoib_path *p, char **text)
{
	void *(*const run[3])(void *) = { asker, asker, taker };
	struct job j[3];

	for (int i = 0; i < 3; i++) {
		j[i] = (struct job){ .path = p,
				     .text = text[i % 2],
				     .first = question(text[i % 2]) };
		if (ipoib_path_query(p, &j[i].first, 0))
			fail("query");
	}
	for (int i = 0; i < 3; i++)
		if (pthread_create(&j[i].thread, NULL, run[i], &j[i]))
			fail("pthread_create");
	for (int i = 0; i < 3; i++)
		pthread_join(j[i].thread, NULL);
	printf("%d answers each\n", ROUNDS);
	return 0;
}

static int child(struct ipoib_path *p, const char *text, const struct seen *parents)
{
	struct ipoib_path_info info = question(text), other = info;
	struct seen s;

	if (ipoib_path_query(p, &info, 0))
		fail("the child's query");
	ask(p, &other, &s);
	await_call(p, &s);
	if (s.status || memcmp(&other, &info, sizeof(info)))
		fail("the child's callback");
	if (parents->calls)
		fail("the child got its parent's callback");
	return 0;
}

static int forked(struct ipoib_path *p, const char *text)
{
	struct ipoib_path_info info = question(text);
	struct seen s;
	pid_t pid;
	int status;

	ask(p, &info, &s);
	pid = fork();
	if (!pid)
		_exit(child(p, text, &s));
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the child failed");
	await_call(p, &s);
	if (s.status || s.calls != 1)
		fail("the parent's callback");
	return print(0, &info);
}

static void counted(int status, struct ipoib_path_info *info, void *context)
{
	unsigned int *n = context;

	++*(status == -ENXIO ? &n[0] : status == -EBUSY ? &n[1] : &n[2]);
}

/*
 * Ask more questions than the instance has room for. Meanwhile the instance must serve commands, and each question must
 * end with an answer or an error.
 */
static int crowd(const char *text, const char *command)
{
	enum { HANDLES = 6, EACH = 16 };
	static struct ipoib_path_info info[HANDLES][EACH];
	/* numbers of answers: no host has the address; the instance is busy; other answers */
	unsigned int n[HANDLES][3] = { 0 }, sum[3] = { 0 };
	struct ipoib_path *p[HANDLES];

	for (unsigned int i = 0; i < HANDLES; i++) {
		p[i] = ipoib_path_open(NULL, NULL);
		if (!p[i])
			fail("ipoib_path_open");
		for (unsigned int k = 0; k < EACH; k++) {
			int status;

			info[i][k] = question(text);
			status = ipoib_get_path(p[i], &info[i][k], counted, n[i]);
			if (status != -EAGAIN)
				counted(status, NULL, n[i]);
		}
	}
	if (system(command))
		fail("a command was refused");
	for (unsigned int i = 0; i < HANDLES; i++) {
		while (n[i][0] + n[i][1] + n[i][2] < EACH) {
			await(p[i]);
			ipoib_path_dispatch(p[i]);
		}
		ipoib_path_close(p[i]);
		for (unsigned int k = 0; k < 3; k++)
			sum[k] += n[i][k];
	}
	fprintf(stderr, "%u nobody, %u busy, %u other\n", sum[0], sum[1], sum[2]);
	return sum[0] && !sum[2] ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct ipoib_path_info info;
	struct ipoib_path *p;
	int status = 2;

	if (argc < 3)
		return 2;
	p = ipoib_path_open(NULL, argc > 3 && !strcmp(argv[1], "block") ? argv[3] : NULL);
	if (!p && !strcmp(argv[1], "open"))
		return print(errno, NULL);
	if (!p) {
		perror("ipoib_path_open");
		return 1;
	}
	if (!strcmp(argv[1], "block")) {
		info = question(argv[2]);
		status = ipoib_path_query(p, &info, 0);
		status = print(status, &info);
	} else if (!strcmp(argv[1], "nonblock")) {
		status = nonblock(p, argv[2]);
	} else if (!strcmp(argv[1], "callback")) {
		status = callback(p, argv[2]);
	} else if (!strcmp(argv[1], "threads") && argc > 3) {
		status = threads(p, argv + 2);
	} else if (!strcmp(argv[1], "fork")) {
		status = forked(p, argv[2]);
	} else if (!strcmp(argv[1], "crowd") && argc > 3) {
		status = crowd(argv[2], argv[3]);
	}
	ipoib_path_close(p);
	return status;
}
