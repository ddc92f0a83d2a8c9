/* SPDX-License-Identifier: BSD-2-Clause */
#include "capfile/capfile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/writer.h"

#define WRITER_TIME \
	NS_SEC(5) /* longest time for which an instance waits for writers when it starts, and when it ends */

/*
 * Beginning of the pcapng comment for a packet whose headers were not captured but made
 * (verbs/verbs.h)
 */
#define MADE "headers made from "

void capfiles_init(struct capfiles *fs, struct loop *loop)
{
	*fs = (struct capfiles){ .loop = loop };
	list_init(&fs->list);
}

/* --- sending */

/*
 * Sends as many octets of the buffer as the socket accepts. Return: 0; -EAGAIN: the socket is full;
 * -errno
 */
static int send_some(struct capfile *c)
{
	while (c->done < c->len) {
		ssize_t n = send(c->fd, c->buf + c->done, c->len - c->done,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		c->done += (size_t)n;
	}
	c->done = c->len = 0;
	/*
	 * If the capture has ended and all its records are sent, end the stream to the writer. The
	 * writer reports when it has written all records.
	 */
	return !c->cap && shutdown(c->fd, SHUT_WR) ? -errno : 0;
}

static void fail(struct capfile *c, int err)
{
	if (!c->error)
		c->error = err;
	c->full = false;
	c->done = c->len = 0;
	if (c->said)
		return;
	c->said = true;
	log_to(&c->log, LOG_LVL_ERR, "capture %s: %s; it has stopped", c->path,
	       strerror(-c->error));
}

/*
 * Receives the reports of the writer that have arrived. Return: true if the writer will send no
 * more reports
 */
static bool take_reports(struct capfile *c)
{
	int status, err;

	while (!(err = writer_report(c->fd, &status))) {
		c->nreports++;
		if (status) {
			fail(c, status);
			return true;
		}
	}
	if (err == -EAGAIN)
		return false;
	if (c->nreports < 2) /* the writer process ended before the file was complete */
		fail(c, -EPIPE);
	return true;
}

static void on_socket(struct loop_fd *fd, uint32_t events, ns_t now);

/*
 * Watch the socket of a capture. The socket to a client is watched only while it is full, because a
 * client sends nothing.
 */
static void watch(struct capfile *c)
{
	uint32_t events = (c->reports ? EPOLLIN : 0) | (c->full ? EPOLLOUT : 0);
	struct loop *loop = c->files->loop;

	if (c->error || !events)
		loop_unwatch(loop, &c->watch);
	else if (!c->watch.fn || c->watch.events != events)
		loop_watch(loop, &c->watch, c->fd, events, on_socket);
}

static int flush(struct capfile *c)
{
	int err = c->error ? c->error : send_some(c);

	c->full = err == -EAGAIN;
	if (err && !c->full && !(c->reports && take_reports(c)))
		fail(c, err);
	watch(c);
	return c->error;
}

static void finish(struct capfile *c)
{
	if (c->on_done)
		c->on_done(c, c->ctx, c->error);
	capfile_close(c);
}

static void on_socket(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct capfile *c = container_of(fd, struct capfile, watch);

	(void)now;
	if (c->reports && (events & ~(uint32_t)EPOLLOUT) && take_reports(c)) {
		loop_unwatch(c->files->loop, fd);
		if (!c->cap)
			finish(c);
		return;
	}
	if (!flush(c) || c->cap)
		return;
	finish(c);
}

/* Moves the octets that wait to be sent to the beginning of the buffer, if this makes much room. */
static void compact(struct capfile *c)
{
	if (c->done < c->size / 4)
		return;
	memmove(c->buf, c->buf + c->done, c->len - c->done);
	c->len -= c->done;
	c->done = 0;
}

static int on_write(void *ctx, const void *data, size_t len)
{
	struct capfile *c = ctx;

	if (c->error)
		return c->error;
	/*
	 * While the socket is full, do not try to send for each packet. on_socket() tries again
	 * when the socket has room.
	 */
	if (len > c->size - c->len && !c->full && flush(c))
		return c->error;
	if (len > c->size - c->len)
		compact(c);
	if (len > c->size - c->len)
		return -ENOBUFS;
	memcpy(c->buf + c->len, data, len);
	c->len += len;
	return 0;
}

/* --- starting */

static void on_seen(struct verbs_tap *t, const struct verbs_seen *s)
{
	struct capfile *c = container_of(t, struct capfile, tap);
	const struct capture_packet p = {
		.source = c->source,
		.sent = s->sent,
		.comment = s->no_csum	? MADE "a work request; the adapter makes the checksum"
			   : s->sent	? MADE "a work request"
			   : s->has_grh ? MADE "a work completion, except the GRH"
					: MADE "a work completion",
		.hdr = s->hdr,
		.hdr_len = s->hdr_len,
		.payload = s->payload,
	};

	capture_packet(c->cap, &p, c->files->loop->now);
}

static int tap_port(struct capfile *c, char err[CAPFILE_ERR_MAX])
{
	int source = capture_add_source(c->cap, c->what,
					"queue pairs of uipoib; the headers of each packet are "
					"made as its comment says, and were not on the link");

	if (source < 0) {
		snprintf(err, CAPFILE_ERR_MAX, "capture %s: %s", c->path, strerror(-source));
		return source;
	}
	c->source = (unsigned int)source;
	c->tap.seen = on_seen;
	verbs_tap_add(c->ca, &c->tap);
	return 0;
}

static int tap(struct capfile *c, char err[CAPFILE_ERR_MAX])
{
	struct fabric_port *p;
	int status;

	if (!*c->what) {
		status = capture_add_end_ports(c->cap);
	} else {
		status = fabric_port_find(c->fabric, c->what, &p);
		if (status) {
			snprintf(err, CAPFILE_ERR_MAX,
				 "capture: no port '%s' in fabric %s, expected NODE/PORT", c->what,
				 c->fabric_name);
			return status;
		}
		status = capture_add_link(c->cap, p);
		if (status == -ENOTCONN) {
			snprintf(err, CAPFILE_ERR_MAX, "capture: port %s has no cable", c->what);
			return status;
		}
	}
	if (status)
		snprintf(err, CAPFILE_ERR_MAX, "capture %s: %s", c->path, strerror(-status));
	return status;
}

static bool is_pcapng(const char *path)
{
	size_t n = strlen(path);

	return n > 7 && !strcmp(path + n - 7, ".pcapng");
}

static int start(struct capfile *c, char err[CAPFILE_ERR_MAX])
{
	struct capture_cfg cc = {
		.format = *c->what || is_pcapng(c->path) ? CAPTURE_PCAPNG : CAPTURE_PCAP,
		.write = on_write,
		.ctx = c,
		.epoch = c->files->epoch,
	};
	int status = capture_create(&c->cap, c->fabric, &cc);

	if (status) {
		snprintf(err, CAPFILE_ERR_MAX, "capture %s: %s", c->path, strerror(-status));
		return status;
	}
	status = c->ca ? tap_port(c, err) : tap(c, err);
	c->said = true; /* a failure of the start is returned to the caller, so it is not logged */
	if (!status && flush(c)) {
		status = c->error;
		snprintf(err, CAPFILE_ERR_MAX, "capture %s: %s", c->path, strerror(-status));
	}
	c->said = status;
	return status;
}

static struct capfile *capfile_new(const struct capfile_at *at, int fd, const char *path,
				   bool regular)
{
	struct capfile *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->size = regular ? CAPFILE_DISK_BUF : CAPFILE_STREAM_BUF;
	c->regular = regular;
	c->buf = malloc(c->size);
	if (!c->buf) {
		free(c);
		return NULL;
	}
	list_init(&c->link);
	list_init(&c->tap.link);
	c->files = at->files;
	c->log = *at->log;
	c->log.about.capture = c->path;
	c->fabric = at->fabric;
	c->fabric_name = at->fabric ? at->name : NULL;
	c->ca = at->ca;
	c->fd = fd;
	c->watch.fd = -1;
	c->id = ++c->files->ids;
	snprintf(c->path, sizeof(c->path), "%s", path);
	snprintf(c->what, sizeof(c->what), "%s%s", at->ca ? "verbs:" : "",
		 at->ca	    ? at->name
		 : at->link ? at->link
			    : "");
	return c;
}

/* Starts a capture into the socket @fd. The function owns the socket, also on failure. */
static int open_socket(const struct capfile_at *at, int fd, const char *path, bool reports,
		       bool regular, struct capfile **ret, char err[CAPFILE_ERR_MAX])
{
	struct capfile *c = capfile_new(at, fd, path, regular);
	int status;

	if (!c) {
		close(fd);
		snprintf(err, CAPFILE_ERR_MAX, "capture %s: out of memory", path);
		return -ENOMEM;
	}
	c->reports = reports;
	status = start(c, err);
	if (status) {
		c->error = status;
		capfile_close(c);
		return status;
	}
	list_add_tail(&at->files->list, &c->link);
	*ret = c;
	return 0;
}

static bool path_in_use(const struct capfiles *fs, const char *path)
{
	struct capfile *c;

	list_for_each (c, &fs->list, link)
		if (!strcmp(c->path, path))
			return true;
	return false;
}

static int in_use(const char *path, char err[CAPFILE_ERR_MAX])
{
	snprintf(err, CAPFILE_ERR_MAX, "capture %s: this instance is writing it already", path);
	return -EEXIST;
}

int capfile_open_fd(const struct capfile_at *at, int fd, const char *path, struct capfile **ret,
		    char err[CAPFILE_ERR_MAX])
{
	bool stream = !strcmp(path, "-");
	int status = 0;

	if (!writer_is_socket(fd)) {
		snprintf(err, CAPFILE_ERR_MAX, "capture %s: the descriptor is not a stream socket",
			 path);
		status = -EINVAL;
	} else if (!stream && path_in_use(at->files, path)) {
		status = in_use(path, err);
	}
	if (!status)
		return open_socket(at, fd, path, !stream, !stream, ret, err);
	close(fd);
	return status;
}

/* Waits until the writer of the capture has reported @nreports times, or has failed. */
static void await_reports(struct capfile *c, unsigned int nreports, ns_t deadline)
{
	while (!c->error && c->nreports < nreports) {
		struct pollfd p = { .fd = c->fd, .events = POLLIN | (c->full ? POLLOUT : 0) };
		ns_t now = clock_now();

		if (now >= deadline)
			return;
		poll(&p, 1, (int)((deadline - now) / NS_MSEC(1)) + 1);
		if (take_reports(c))
			return;
		flush(c);
	}
}

int capfile_open(const struct capfile_at *at, const char *path, struct capfile **ret,
		 char err[CAPFILE_ERR_MAX])
{
	int out, fd = -1, status;
	struct capfile *c;
	bool regular;

	if (path_in_use(at->files, path))
		return in_use(path, err);
	out = strcmp(path, "-")
		      ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0644)
		      : dup(STDOUT_FILENO);
	status = out < 0 ? -errno : 0;
	if (!status) {
		regular = writer_is_regular(out);
		fcntl(out, F_SETFL, fcntl(out, F_GETFL) & ~O_NONBLOCK);
		status = writer_fork(&fd, out, false);
		close(out);
	}
	if (status) {
		snprintf(err, CAPFILE_ERR_MAX, "capture %s: %s", path, strerror(-status));
		return status;
	}
	status = open_socket(at, fd, path, true, regular, &c, err);
	if (status)
		return status;
	c->said = true; /* a failure of the start is returned to the caller, so it is not logged */
	await_reports(c, 1, clock_now() + WRITER_TIME);
	c->said = c->error;
	if (c->error) {
		snprintf(err, CAPFILE_ERR_MAX, "capture %s: %s", path, strerror(-c->error));
		return capfile_close(c);
	}
	if (ret)
		*ret = c;
	return 0;
}

/* --- ending */

/* Stops recording packets, and ends the stream to the writer when all records are sent. */
static void end_records(struct capfile *c)
{
	list_del(&c->tap.link);
	capture_destroy(c->cap);
	c->cap = NULL;
	flush(c);
}

int capfile_stop(struct capfile *c, capfile_done *done, void *ctx)
{
	end_records(c);
	if (c->error || !c->reports)
		return capfile_close(c);
	c->on_done = done;
	c->ctx = ctx;
	return -EINPROGRESS;
}

void capfile_forget(struct capfile *c)
{
	c->on_done = NULL;
}

int capfile_close(struct capfile *c)
{
	int error;

	if (c->cap)
		end_records(c);
	error = c->error;
	list_del(&c->link);
	loop_unwatch(c->files->loop, &c->watch);
	close(c->fd);
	free(c->buf);
	free(c);
	return error;
}

void capfile_port_gone(struct capfiles *fs, const struct ca *ca)
{
	struct capfile *c, *tmp;

	list_for_each_safe (c, tmp, &fs->list, link) {
		if (!ca || c->ca != ca)
			continue;
		c->ca = NULL;
		if (c->cap)
			capfile_stop(c, NULL, NULL);
	}
}

void capfile_close_all(struct capfiles *fs, const struct fabric *f)
{
	ns_t deadline = clock_now() + WRITER_TIME;
	struct capfile *c, *tmp;

	list_for_each (c, &fs->list, link)
		if (c->fabric == f && c->cap)
			end_records(c);
	list_for_each_safe (c, tmp, &fs->list, link) {
		if (c->fabric != f)
			continue;
		if (c->regular)
			await_reports(c, 2, deadline);
		finish(c);
	}
}

void capfile_follow(struct capfiles *fs, const struct fabric *f)
{
	char err[CAPFILE_ERR_MAX];
	struct capfile *c;

	list_for_each (c, &fs->list, link)
		if (c->fabric == f && c->cap && !*c->what && tap(c, err))
			log_to(&c->log, LOG_LVL_WARN, "%s", err);
}

void capfile_flush_all(struct capfiles *fs)
{
	struct capfile *c;

	list_for_each (c, &fs->list, link)
		if (c->len && !c->full)
			flush(c);
}
