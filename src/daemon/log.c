/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/log.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "daemon/logq.h"
#include "os/clock.h"
#include "os/journal.h"
#include "util/escape.h"

#define LOG_PATIENCE_MS 1000 /* time for the last lines of the log when the daemon ends */

static struct log_out {
	struct logq q;
	ns_t t0; /* time of the start, from which the times in the log are measured */
	/* loop that calls on_log_room() when the socket has room for more; NULL while the loop is not running */
	struct loop *loop;
	struct loop_fd room;
	int journal; /* socket to the journal; -1: the supervisor gets all lines */
	unsigned long
		refused; /* number of entries that the journal refused since it last accepted an entry */
	const char *instance; /* name of the instance */
} out;

static void on_log_room(struct loop_fd *fd, uint32_t events, ns_t now)
{
	(void)events;
	(void)now;
	if (!logq_send(&out.q))
		loop_unwatch(out.loop, fd);
}

/* --- lines for the supervisor */

static void to_supervisor(enum log_level lvl, const char *msg)
{
	static const char *const prefix[] = { "error: ", "warning: ", "", "debug: " };
	char line[2048];
	struct text t = { .buf = line, .size = sizeof(line) - 1 };
	ns_t at = clock_now() - out.t0;

	text_add(&t, "%llu.%06llu %s", (unsigned long long)(at / NS_SEC(1)),
		 (unsigned long long)(at % NS_SEC(1) / 1000), prefix[lvl]);
	text_add_escaped(&t, msg);
	line[t.len++] = '\n';
	logq_add(&out.q, line, t.len);
	if (logq_send(&out.q) && out.loop)
		loop_watch(out.loop, &out.room, out.q.sock, EPOLLOUT, on_log_room);
}

/* --- entries of the journal */

/*
 * Find the component in the format of a line: the small letters before its first ": ". The component is taken from
 * the format and not from the line, because the values in the line may come from a stranger.
 */
static const char *component(const char *fmt, char buf[16])
{
	size_t n = strspn(fmt, "abcdefghijklmnopqrstuvwxyz");

	if (!n || n >= 16 || strncmp(fmt + n, ": ", 2))
		return NULL;
	memcpy(buf, fmt, n);
	buf[n] = '\0';
	return buf;
}

static void begin_entry(struct journal_entry *e, enum log_level lvl)
{
	static const char *const priority[] = { "3", "4", "6", "7" };

	e->len = 0;
	journal_add(e, "PRIORITY", priority[lvl]);
	journal_add(e, "SYSLOG_IDENTIFIER", "uipoib");
	journal_add(e, "UIPOIB_INSTANCE", out.instance);
}

/*
 * Names are escaped like the text of a message, because a name may come from a client, or from a
 * file that describes somebody else's fabric.
 */
static void add_name(struct journal_entry *e, const char *field, const char *name)
{
	char escaped[1024];
	struct text t = TEXT_IN(escaped);

	if (!name)
		return;
	text_add_escaped(&t, name);
	journal_add(e, field, escaped);
}

static void add_about(struct journal_entry *e, const struct log_about *about)
{
	add_name(e, "UIPOIB_INTERFACE", about->iface);
	add_name(e, "UIPOIB_HOST", about->host);
	add_name(e, "UIPOIB_FABRIC", about->fabric);
	add_name(e, "UIPOIB_PORT", about->port);
	add_name(e, "UIPOIB_UDP_LINK", about->udp_link);
	add_name(e, "UIPOIB_CAPTURE", about->capture);
}

/*
 * Sends the journal an entry with the number of entries that it has refused. Return: false if the
 * journal refuses this entry, too
 */
static bool say_refused(struct journal_entry *e)
{
	char notice[128];

	if (!out.refused)
		return true;
	snprintf(notice, sizeof(notice),
		 "the journal had no room for %lu line%s, written to standard error instead",
		 out.refused, text_s(out.refused));
	begin_entry(e, LOG_LVL_WARN);
	journal_add(e, "MESSAGE", notice);
	if (journal_send(out.journal, e))
		return false;
	out.refused = 0;
	return true;
}

/* Sends a line of the log to the journal. Return: false if the journal does not take the entry */
static bool to_journal(const struct log_about *about, enum log_level lvl, const char *fmt,
		       const char *msg)
{
	static struct journal_entry e;
	char word[16], line[2048];
	struct text t = TEXT_IN(line);

	if (out.journal < 0)
		return false;
	if (!say_refused(&e)) {
		out.refused++;
		return false;
	}
	text_add_escaped(&t, msg);
	begin_entry(&e, lvl);
	add_about(&e, about);
	journal_add(&e, "UIPOIB_COMPONENT", component(fmt, word));
	journal_add(&e, "MESSAGE", line);
	if (!journal_send(out.journal, &e))
		return true;
	out.refused++;
	return false;
}

/* --- the sink */

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	char msg[1024];

	vsnprintf(msg, sizeof(msg), fmt, ap);
	if (!to_journal(&sink->about, lvl, fmt, msg))
		to_supervisor(lvl, msg);
}

struct log_sink log_open(const struct serve_cfg *cfg)
{
	out = (struct log_out){ .q.sock = cfg->log_fd,
				.t0 = clock_now(),
				.room.fd = -1,
				.journal = cfg->journal,
				.instance = cfg->name };
	return (struct log_sink){ .emit = cfg->log_fd >= 0 ? emit : NULL, .max = cfg->verbosity };
}

void log_follow(struct loop *loop)
{
	if (out.q.sock >= 0)
		out.loop = loop;
}

void log_unfollow(void)
{
	if (out.loop)
		loop_unwatch(out.loop, &out.room);
	out.loop = NULL;
}

void log_finish(void)
{
	logq_finish(&out.q, LOG_PATIENCE_MS);
}
