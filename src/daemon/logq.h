/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_LOGQ_H
#define DAEMON_LOGQ_H

/*
 * DOC: How lines of the log leave the daemon
 *
 *	daemon --(lines in a socket, MSG_DONTWAIT)--> supervisor --(write(), may wait)--> terminal, file, pipe
 *
 * Standard error may be a pipe that nobody reads, in which case a write waits for ever. The daemon cannot make this
 * descriptor non-blocking, because other programs use the same open file. So a thread of the supervisor
 * (proto/serve.h) writes to standard error, and the daemon sends the lines to this thread without waiting. Lines for
 * which the socket has no room wait in the queue below. Lines for which the queue has no room are lost and counted,
 * and the log gets the number of lost lines when the queue has room again.
 */

#include <stdbool.h>
#include <stddef.h>

/* Room for about 3000 lines, more than the sweep of a fabric of 100 nodes logs at once */
#define LOGQ_OCTETS (256u * 1024)

struct logq {
	int sock; /* socket to the supervisor; -1 to drop all lines */
	size_t len; /* number of octets that wait in .buf */
	unsigned long lost; /* number of lines lost since the last line that was queued */
	char buf[LOGQ_OCTETS];
};

/* logq_add() - Queue a line of @len octets, which ends in '\n', or count it as lost. Never waits */
void logq_add(struct logq *q, const char *line, size_t len);

/*
 * logq_send() - Send as many lines as the socket takes now. Return: true if lines remain, which can be sent
 * when the socket is writable again
 */
bool logq_send(struct logq *q);

/*
 * logq_finish() - Send the remaining lines; gives up when the socket takes nothing for @timeout_ms
 */
void logq_finish(struct logq *q, int timeout_ms);

#endif
