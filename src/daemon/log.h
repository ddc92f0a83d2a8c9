/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

/*
 * DOC: The log of the daemon
 *
 * A line of the log goes to the supervisor (daemon/logq.h), which writes it to standard error. If
 * standard error is a stream to systemd's journal, the daemon sends the line to the journal
 * directly instead, as an entry with these fields:
 *
 *	MESSAGE			the line without its time and without the word for its level
 *	PRIORITY		3 error, 4 warning, 6 change of state, 7 detail
 *	SYSLOG_IDENTIFIER	uipoib
 *	UIPOIB_INSTANCE		name of the instance
 *	UIPOIB_INTERFACE, UIPOIB_HOST, UIPOIB_FABRIC, UIPOIB_PORT, UIPOIB_UDP_LINK, UIPOIB_CAPTURE
 *				names of the objects that the line is about, escaped as MESSAGE is: see util/log.h
 *	UIPOIB_COMPONENT	the word with which the line begins: sm, sa, mad, ibsim ...
 *
 * A line for which the journal has no room goes to the supervisor. When the journal accepts entries
 * again, the first entry says how many lines went to the supervisor. The daemon never waits for the
 * journal.
 */

#include "os/loop.h"
#include "proto/serve.h"
#include "util/log.h"

/* log_open() - Begin the log of this process. Return: its sink, which discards all lines if @cfg has no log */
struct log_sink log_open(const struct serve_cfg *cfg);

/* log_follow() - Have @loop, while it runs, send the lines that wait in the queue */
void log_follow(struct loop *loop);
void log_unfollow(void);

/* log_finish() - Send the last lines; gives up when the supervisor takes nothing for a second */
void log_finish(void);

#endif
