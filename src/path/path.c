/* SPDX-License-Identifier: BSD-2-Clause */
/* Only the declarations of this header are visible in the library. */
#pragma GCC visibility push(default)
#include <uipoib/path.h>
#pragma GCC visibility pop

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "os/clock.h"
#include "path/ask.h"
#include "path/query.h"

/*
 * DOC: Questions
 *
 * Each question has its own connection to the instance (path/ask.h). Either the call blocks until the answer has come,
 * or the program polls for the answer. The connections of all questions that are not blocking are in one epoll
 * descriptor, and the program polls this descriptor.
 *
 * A blocking question uses no data that threads share, so threads do not wait for each other. All other functions
 * hold .lock. Callbacks are called without the lock, so a callback may call any function.
 *
 * After fork() the child has copies of its parent's connections and epoll descriptor. The child may keep the copies
 * for a long time without calling the library, but the answers belong to the parent. This has two consequences:
 *
 *	Before the parent closes a connection, it removes the connection from epoll and shuts it down. While the child
 *	has a copy of the descriptor, close() alone neither removes the connection from epoll nor shuts it down: the
 *	connection would still wake up the parent, and would still count as a client of the instance.
 *
 *	When the child first uses the handle, take_over() closes the child's copies and does nothing else. The child
 *	must not remove the connections from epoll, because both processes share one epoll instance, and the parent
 *	would get no events of its connections any more.
 */

#define QUESTIONS 16 /* largest number of questions that wait at a time */
#define KEPT 32 /* number of answers that are remembered */
#define KEEP NS_SEC(1) /* time for which an answer is remembered */
/* time for which an answer is remembered while the program has not fetched it */
#define UNREAD NS_SEC(30)

struct question {
	int fd; /* connection; -1: the entry is free */
	/*
	 * counts the questions that have used this entry of the table. An epoll event carries the
	 * count at the time of its question; an event with an older count belongs to an earlier
	 * question, and is ignored
	 */
	uint32_t nth;
	struct ipoib_path_info asked;
	/* structure of the caller, which is filled in before the callback is called; NULL if there is no callback */
	struct ipoib_path_info *info;
	ipoib_path_callback callback;
	void *context;
	struct path_text text;
};

struct kept {
	struct ipoib_path_info info;
	int status;
	ns_t at; /* time at which the answer was stored; 0: the entry is free */
	/* true if the program has not fetched this answer to its question */
	bool unread;
};

struct ipoib_path {
	struct path_peer peer;
	pthread_mutex_t lock;
	pid_t pid; /* process to which the connections belong */
	unsigned int forks; /* value of the global `forks` when the connections were made */
	int epoll; /* epoll descriptor; -1: not made yet */
	struct question question[QUESTIONS];
	struct kept kept[KEPT];
	unsigned int next_kept;
};

/* --- processes */

/*
 * A process recognizes by two numbers whether it or a parent has made the connections: the count of
 * forks and the process number. The process number alone is not enough: the kernel may use a number
 * again, and a parent and a child in a new PID namespace may both have number 1. The count alone is
 * not enough, because _Fork() and the like make children without calling the handlers of
 * pthread_atfork().
 */
static unsigned int forks;
static pthread_mutex_t forks_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t forks_once = PTHREAD_ONCE_INIT;

/*
 * Runs in the child, which has only one thread at this time. A thread that exists only in the parent may have held
 * the lock, so the lock is initialized again.
 */
static void on_fork(void)
{
	pthread_mutex_init(&forks_lock, NULL);
	forks++;
}

static void count_forks(void)
{
	pthread_atfork(NULL, NULL, on_fork);
}

static void questions_init(struct ipoib_path *p)
{
	pthread_mutex_init(&p->lock, NULL);
	for (unsigned int i = 0; i < QUESTIONS; i++)
		p->question[i].fd = -1;
	memset(p->kept, 0, sizeof(p->kept));
	p->epoll = -1;
	p->forks = forks;
	p->pid = getpid();
}

static void close_copy(int *fd)
{
	int copy = *fd;

	*fd = -1;
	if (copy >= 0)
		close(copy);
}

/*
 * If the handle still belongs to a parent process, make it belong to this process, and drop the parent's questions
 * and answers.
 */
static void take_over(struct ipoib_path *p)
{
	pthread_mutex_lock(&forks_lock);
	if (p->forks != forks || p->pid != getpid()) {
		for (unsigned int i = 0; i < QUESTIONS; i++)
			close_copy(&p->question[i].fd);
		close_copy(&p->epoll);
		/* This resets the lock, which another thread may have held at the fork(). */
		questions_init(p);
	}
	pthread_mutex_unlock(&forks_lock);
}

static void own(struct ipoib_path *p)
{
	take_over(p);
	pthread_mutex_lock(&p->lock);
}

static void disown(struct ipoib_path *p)
{
	pthread_mutex_unlock(&p->lock);
}

/* --- questions that wait */

/* Return: the epoll descriptor, which is made on first use; -errno */
static int epoll_of(struct ipoib_path *p)
{
	if (p->epoll < 0)
		p->epoll = epoll_create1(EPOLL_CLOEXEC);
	return p->epoll < 0 ? -errno : p->epoll;
}

static int watch(struct ipoib_path *p, unsigned int place, int fd)
{
	int epoll = epoll_of(p);
	struct epoll_event ev = {
		.events = EPOLLIN,
		.data.u64 = (uint64_t)p->question[place].nth << 32 | place,
	};

	if (epoll < 0)
		return epoll;
	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Return the question to which an event belongs; NULL if that question has ended */
static struct question *question_of(struct ipoib_path *p, uint64_t data)
{
	struct question *q = &p->question[data % QUESTIONS];

	return q->fd >= 0 && q->nth == data >> 32 ? q : NULL;
}

/*
 * End a question. First free its entry in the table, then close its descriptor. In the other order,
 * the entry would for a moment hold the number of a closed descriptor, and another thread could
 * open a file with this number and fork. The child closes every descriptor that it finds in the
 * table, so it would close its copy of this file.
 */
static void end_question(struct ipoib_path *p, struct question *q)
{
	int fd = q->fd;

	q->fd = -1;
	epoll_ctl(p->epoll, EPOLL_CTL_DEL, fd, NULL);
	path_hang_up(fd);
	q->callback = NULL;
	q->info = NULL;
	q->context = NULL;
}

/* Reads the octets that have arrived. Return: 1: the answer is not complete yet; 0: q->asked is filled in; -errno */
static int take(struct question *q)
{
	int status = path_take(q->fd, &q->text);

	return status ? status : path_answer(q->text.octets, q->text.len, &q->asked);
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

/* --- answers that are remembered */

static struct kept *kept_for(struct ipoib_path *p, const struct ipoib_path_info *info)
{
	ns_t now = clock_now();

	for (unsigned int i = 0; i < KEPT; i++)
		if (p->kept[i].at + (p->kept[i].unread ? UNREAD : KEEP) > now &&
		    path_info_same(&p->kept[i].info, info))
			return &p->kept[i];
	return NULL;
}

static void keep(struct ipoib_path *p, const struct ipoib_path_info *info, int status, bool unread)
{
	struct kept *k = kept_for(p, info);

	if (!k)
		k = &p->kept[p->next_kept++ % KEPT];
	*k = (struct kept){ .info = *info, .status = status, .at = clock_now(), .unread = unread };
}

/*
 * Tells whether a result stays valid for a while. A success stays valid, and so do the two failures that depend on
 * the address only. The cause of any other failure can end at any moment.
 */
static bool lasts(int status)
{
	return !status || status == -ENXIO || status == -EHOSTUNREACH;
}

/*
 * Look for a stored answer to the question @info. Mark the answer as fetched, and delete it if
 * lasts() is false. Return: the status of this answer; -EAGAIN: no answer is stored
 */
static int kept_answer(struct ipoib_path *p, struct ipoib_path_info *info)
{
	struct kept *k = kept_for(p, info);

	if (!k)
		return -EAGAIN;
	if (!k->status)
		*info = k->info;
	if (!lasts(k->status))
		k->at = 0;
	k->unread = false;
	return k->status;
}

/*
 * Ends a question whose result is known, and stores the result if it may be needed again. @unread: true if the
 * program has not received the result; the result is then stored for the program's next query, even if lasts() is
 * false
 */
static void settle(struct ipoib_path *p, struct question *q, int status, bool unread)
{
	if (unread || lasts(status))
		keep(p, &q->asked, status, unread);
	end_question(p, q);
}

static struct question *free_place(struct ipoib_path *p)
{
	for (unsigned int i = 0; i < QUESTIONS; i++)
		if (p->question[i].fd < 0)
			return &p->question[i];
	return NULL;
}

/*
 * Return a free entry of the table of questions. If no entry is free, the function looks for a
 * question without a callback whose answer has arrived but was not fetched. It stores this answer,
 * and frees the entry of the question. Return NULL if there is no such question either
 */
static struct question *make_place(struct ipoib_path *p)
{
	struct question *q = free_place(p);

	for (unsigned int i = 0; !q && i < QUESTIONS; i++) {
		int status = p->question[i].callback ? 1 : take(&p->question[i]);

		if (status == 1)
			continue;
		q = &p->question[i];
		settle(p, q, status, true);
	}
	return q;
}

/* Return: -EAGAIN: the question was sent, and its answer comes later; another -errno: the question was not sent */
static int ask_later(struct ipoib_path *p, struct ipoib_path_info *info,
		     ipoib_path_callback callback, void *context)
{
	struct question *q = make_place(p);
	int fd, err;

	if (!q)
		return -ENOBUFS;
	fd = path_ask(&p->peer, path_question(info), SOCK_NONBLOCK);
	if (fd < 0)
		return fd;
	q->nth++;
	err = watch(p, (unsigned int)(q - p->question), fd);
	if (err) {
		path_hang_up(fd);
		return err;
	}
	q->fd = fd;
	q->asked = *info;
	q->info = callback ? info : NULL;
	q->callback = callback;
	q->context = context;
	q->text.len = 0;
	return -EAGAIN;
}

/* --- functions of the header */

struct ipoib_path *ipoib_path_open(const char *instance, const char *dev)
{
	struct ipoib_path *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return NULL;
	err = path_peer_init(&p->peer, instance, dev);
	if (err) {
		free(p);
		errno = -err;
		return NULL;
	}
	pthread_once(&forks_once, count_forks);
	questions_init(p);
	return p;
}

void ipoib_path_close(struct ipoib_path *p)
{
	if (!p)
		return;
	take_over(p);
	for (unsigned int i = 0; i < QUESTIONS; i++)
		if (p->question[i].fd >= 0)
			end_question(p, &p->question[i]);
	close_copy(&p->epoll);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int path_query(const struct ipoib_path *p, json_t *args, struct path_reply *ret)
{
	return path_call(&p->peer, args, ret);
}

static int query_now(const struct ipoib_path *p, struct ipoib_path_info *info)
{
	struct path_reply reply = { 0 };
	int status = path_query(p, path_question(info), &reply);

	if (!status)
		status = path_reply_info(&reply, info);
	path_reply_fini(&reply);
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
		if (!status)
			*info = q->asked;
		settle(p, q, status, false);
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
	if (!p || !info || (flags & ~IPOIB_PATH_NONBLOCK))
		return EINVAL;
	if (!path_info_valid(info))
		return EAFNOSUPPORT;
	return flags & IPOIB_PATH_NONBLOCK ? query_later(p, info) : query_now(p, info);
}

int ipoib_get_path(struct ipoib_path *p, struct ipoib_path_info *info, ipoib_path_callback callback,
		   void *context)
{
	struct kept *k;
	int status = 0;

	if (!p || !info)
		return -EINVAL;
	if (!path_info_valid(info))
		return -EAFNOSUPPORT;
	if (!callback)
		return -query_later(p, info);
	own(p);
	k = kept_for(p, info);
	/*
	 * If a path is stored, use it. If a failure is stored, ask again, because a node may have
	 * the address by now.
	 */
	if (k && !k->status && clock_now() < k->at + KEEP)
		*info = k->info;
	else
		status = ask_later(p, info, callback, context);
	disown(p);
	return status;
}

int ipoib_path_fd(struct ipoib_path *p)
{
	int fd;

	own(p);
	fd = epoll_of(p);
	disown(p);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

/*
 * Take one answer that has arrived, and call the callback of its question. Returns false if no
 * answer has arrived.
 */
static bool dispatch_one(struct ipoib_path *p, unsigned int *called)
{
	struct question *q, done;
	struct epoll_event ev;
	int status;

	own(p);
	if (p->epoll < 0 || epoll_wait(p->epoll, &ev, 1, 0) < 1) {
		disown(p);
		return false;
	}
	q = question_of(p, ev.data.u64);
	status = q ? take(q) : 1;
	if (status == 1) {
		disown(p);
		return true;
	}
	done = *q;
	settle(p, q, status, !q->callback);
	disown(p);
	if (!done.callback)
		return true;
	if (!status)
		*done.info = done.asked;
	++*called;
	done.callback(status, done.info, done.context);
	return true;
}

int ipoib_path_dispatch(struct ipoib_path *p)
{
	unsigned int called = 0;

	for (unsigned int i = 0; i < 2 * QUESTIONS && dispatch_one(p, &called); i++)
		;
	return (int)called;
}
