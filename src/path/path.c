/* SPDX-License-Identifier: BSD-2-Clause */
/* Only what the header declares is visible in the library. */
#pragma GCC visibility push(default)
#include <uipoib/path.h>
#pragma GCC visibility pop

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "path/answer.h"
#include "proto/proto.h"

/*
 * DOC: Questions
 *
 * Each question has a connection of its own, because an instance answers the requests of one connection in their order, and one
 * that has to be resolved would keep the others waiting. The connections of questions for which nobody waits are in one epoll
 * descriptor, which is what the program polls.
 *
 * A blocking query uses nothing that is shared, so threads do not wait for each other. Everything else is under .lock. Callbacks
 * are called without it, so that they may call any function.
 *
 * After fork() the child has copies of the connections of its parent, whose answers are the parent's. own() closes the copies.
 */

#define QUESTIONS 16 /* most questions that wait at a time */
#define KEPT 32 /* answers that are remembered */
#define KEEP_MS 1000 /* time for which they are */

struct question {
	int fd; /* connection; -1: the place is free */
	struct ipoib_path_info asked;
	struct ipoib_path_info
		*info; /* the caller's, filled in before the callback; NULL without one */
	ipoib_path_callback callback;
	void *context;
	size_t len; /* octets in .text */
	char text[4096]; /* what has come of the answer, which is below 2 KiB */
};

struct kept {
	struct ipoib_path_info info;
	int status;
	long long until; /* 0: the place is free */
};

struct ipoib_path {
	pthread_mutex_t lock;
	pid_t pid; /* process to which the connections belong */
	int epoll;
	struct sockaddr_un to;
	char dev[PROTO_NAME_MAX];
	char host[PROTO_NAME_MAX];
	struct question question[QUESTIONS];
	struct kept kept[KEPT];
	unsigned int next_kept;
};

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

/* --- one question */

static char *request(const struct ipoib_path *p, const struct ipoib_path_info *info)
{
	char address[INET6_ADDRSTRLEN];
	json_t *args, *req;
	char *text;

	inet_ntop(info->sin_family, &info->addr, address, sizeof(address));
	args = json_pack("{s:s, s:b}", "address", address, "ip", 1);
	if (*p->dev)
		json_object_set_new(args, "dev", json_string(p->dev));
	if (*p->host)
		json_object_set_new(args, "host", json_string(p->host));
	req = json_pack("{s:i, s:s, s:o}", "v", PROTO_VERSION, "cmd", "path get", "args", args);
	text = req ? json_dumps(req, JSON_COMPACT) : NULL;
	json_decref(req);
	return text;
}

/* The request is below 400 octets, for which the socket always has room. */
static int send_request(const struct ipoib_path *p, int fd, const struct ipoib_path_info *info)
{
	char *text = request(p, info);
	size_t len;
	ssize_t n;

	if (!text)
		return -ENOMEM;
	len = strlen(text);
	text[len++] = '\n'; /* replaces the NUL */
	n = send(fd, text, len, MSG_NOSIGNAL);
	free(text);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EPIPE;
}

/* Returns a descriptor. @type: SOCK_NONBLOCK or 0 */
static int ask(const struct ipoib_path *p, const struct ipoib_path_info *info, int type)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | type, 0), err = 0;

	if (fd < 0)
		return -errno;
	while (connect(fd, (const struct sockaddr *)&p->to, sizeof(p->to)) < 0) {
		err = -errno;
		if (err != -EINTR)
			break;
		err = 0;
	}
	if (!err)
		err = send_request(p, fd, info);
	if (!err)
		return fd;
	close(fd);
	/* Whoever listens has no room at the moment; -EAGAIN would say that the question was asked. */
	return err == -EAGAIN ? -EBUSY : err;
}

/* Reads what has come. Return: as path_answer(); -EPIPE the instance has ended */
static int take(struct question *q)
{
	ssize_t n = recv(q->fd, q->text + q->len, sizeof(q->text) - q->len, 0);
	struct ipoib_path_info info = q->asked;
	char copy[sizeof(q->text)];
	int status;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	if (!n)
		return q->len == sizeof(q->text) ? -EPROTO : -EPIPE;
	q->len += (size_t)n;
	memcpy(copy, q->text, q->len);
	status = path_answer(copy, q->len, &info);
	if (!status)
		q->asked = info;
	return status;
}

/* --- questions that wait */

static void questions_init(struct ipoib_path *p)
{
	pthread_mutex_init(&p->lock, NULL);
	for (unsigned int i = 0; i < QUESTIONS; i++)
		p->question[i].fd = -1;
	memset(p->kept, 0, sizeof(p->kept));
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	p->pid = getpid();
}

static void questions_close(struct ipoib_path *p)
{
	for (unsigned int i = 0; i < QUESTIONS; i++)
		if (p->question[i].fd >= 0)
			close(p->question[i].fd);
	if (p->epoll >= 0)
		close(p->epoll);
}

/* Locks the handle for this process. */
static void own(struct ipoib_path *p)
{
	if (p->pid != getpid()) {
		/* The lock may be held for ever by a thread that only the parent has. */
		questions_close(p);
		questions_init(p);
	}
	pthread_mutex_lock(&p->lock);
}

static void disown(struct ipoib_path *p)
{
	pthread_mutex_unlock(&p->lock);
}

static struct question *waiting_for(struct ipoib_path *p, const struct ipoib_path_info *info)
{
	for (unsigned int i = 0; i < QUESTIONS; i++) {
		struct question *q = &p->question[i];

		if (q->fd >= 0 && !q->callback && path_info_same(&q->asked, info))
			return q;
	}
	return NULL;
}

static struct question *free_place(struct ipoib_path *p)
{
	for (unsigned int i = 0; i < QUESTIONS; i++)
		if (p->question[i].fd < 0)
			return &p->question[i];
	return NULL;
}

/* Return: -EAGAIN; another -errno: nothing was asked */
static int ask_later(struct ipoib_path *p, struct ipoib_path_info *info,
		     ipoib_path_callback callback, void *context)
{
	struct question *q = free_place(p);
	struct epoll_event ev = { .events = EPOLLIN };
	int fd;

	if (!q)
		return -ENOBUFS;
	fd = ask(p, info, SOCK_NONBLOCK);
	if (fd < 0)
		return fd;
	ev.data.ptr = q;
	if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	q->fd = fd;
	q->asked = *info;
	q->info = callback ? info : NULL;
	q->callback = callback;
	q->context = context;
	q->len = 0;
	return -EAGAIN;
}

static void keep(struct ipoib_path *p, const struct ipoib_path_info *info, int status)
{
	struct kept *k = &p->kept[p->next_kept++ % KEPT];

	*k = (struct kept){ .info = *info, .status = status, .until = now_ms() + KEEP_MS };
}

/* Return: 0 or -ENXIO as an answer said; -EAGAIN: none is kept */
static int kept_answer(struct ipoib_path *p, struct ipoib_path_info *info)
{
	long long now = now_ms();

	for (unsigned int i = 0; i < KEPT; i++) {
		const struct kept *k = &p->kept[i];

		if (k->until <= now || !path_info_same(&k->info, info))
			continue;
		if (!k->status)
			*info = k->info;
		return k->status;
	}
	return -EAGAIN;
}

/* An answer has come, or the connection has ended. The callback is not called here. */
static void settle(struct ipoib_path *p, struct question *q, int status)
{
	close(q->fd); /* which removes it from the epoll descriptor, too */
	q->fd = -1;
	keep(p, &q->asked, status ? -ENXIO : 0);
}

/* --- functions of the header */

struct ipoib_path *ipoib_path_open(const char *instance, const char *dev)
{
	const char *host = getenv("UIPOIB_HOST");
	struct ipoib_path *p;
	int err;

	if (!instance || !*instance)
		instance = getenv("UIPOIB_NAME");
	if (!instance || !proto_name_ok(instance) || (dev && strlen(dev) >= sizeof(p->dev)) ||
	    (host && strlen(host) >= sizeof(p->host))) {
		errno = EINVAL;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->to.sun_family = AF_UNIX;
	err = proto_path(p->to.sun_path, sizeof(p->to.sun_path), instance);
	if (!err && !proto_alive(instance))
		err = -ENOENT;
	snprintf(p->dev, sizeof(p->dev), "%s", dev ? dev : "");
	snprintf(p->host, sizeof(p->host), "%s", host && !dev ? host : "");
	questions_init(p);
	if (!err && p->epoll < 0)
		err = -errno;
	if (!err)
		return p;
	ipoib_path_close(p);
	errno = -err;
	return NULL;
}

void ipoib_path_close(struct ipoib_path *p)
{
	if (!p)
		return;
	questions_close(p);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int query_now(struct ipoib_path *p, struct ipoib_path_info *info)
{
	struct question q = { .asked = *info };
	int status;

	q.fd = ask(p, info, 0);
	if (q.fd < 0)
		return -q.fd;
	do
		status = take(&q);
	while (status == 1);
	close(q.fd);
	if (!status)
		*info = q.asked;
	return -status;
}

static int query_later(struct ipoib_path *p, struct ipoib_path_info *info)
{
	struct question *q;
	int status;

	own(p);
	q = waiting_for(p, info);
	status = q ? take(q) : kept_answer(p, info);
	if (q && status != 1) {
		settle(p, q, status);
		if (!status)
			*info = q->asked;
		else
			status = -ENXIO;
	} else if (q) {
		status = -EAGAIN;
	} else if (status == -EAGAIN) {
		status = ask_later(p, info, NULL, NULL);
	}
	disown(p);
	return -status;
}

int ipoib_path_query(struct ipoib_path *p, struct ipoib_path_info *info, int flags)
{
	if (!p || !path_info_valid(info) || (flags & ~IPOIB_PATH_NONBLOCK))
		return EINVAL;
	return flags & IPOIB_PATH_NONBLOCK ? query_later(p, info) : query_now(p, info);
}

int ipoib_get_path(struct ipoib_path *p, struct ipoib_path_info *info, ipoib_path_callback callback,
		   void *context)
{
	int status;

	if (!p || !path_info_valid(info))
		return -EINVAL;
	if (!callback)
		return -query_later(p, info);
	own(p);
	status = kept_answer(p, info);
	/* What is known is the path. That nobody had the address a moment ago is asked again. */
	if (status)
		status = ask_later(p, info, callback, context);
	disown(p);
	return status;
}

int ipoib_path_fd(struct ipoib_path *p)
{
	int fd;

	own(p);
	fd = p->epoll;
	disown(p);
	return fd;
}

/* Takes one answer that has come. Returns false if there is none. */
static bool dispatch_one(struct ipoib_path *p, unsigned int *called)
{
	struct epoll_event ev;
	struct question *q;
	struct question done;
	int status;

	own(p);
	if (epoll_wait(p->epoll, &ev, 1, 0) < 1) {
		disown(p);
		return false;
	}
	q = ev.data.ptr;
	status = take(q);
	if (status == 1) {
		disown(p);
		return true;
	}
	settle(p, q, status);
	done = *q;
	disown(p);
	if (!done.callback)
		return true;
	if (!status)
		*done.info = done.asked;
	++*called;
	done.callback(status ? -ENXIO : 0, done.info, done.context);
	return true;
}

int ipoib_path_dispatch(struct ipoib_path *p)
{
	unsigned int called = 0;

	for (unsigned int i = 0; i < 2 * QUESTIONS && dispatch_one(p, &called); i++)
		;
	return (int)called;
}
