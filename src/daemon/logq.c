/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/logq.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define NOTICE_MAX 64

void logq_add(struct logq *q, const char *line, size_t len)
{
	char notice[NOTICE_MAX];
	size_t n = 0;

	if (q->lost)
		n = (size_t)snprintf(notice, sizeof(notice),
				     "%lu lines of the log were lost: nobody read it\n", q->lost);
	if (q->len + n + len > sizeof(q->buf)) {
		q->lost++;
		return;
	}
	memcpy(q->buf + q->len, notice, n);
	memcpy(q->buf + q->len + n, line, len);
	q->len += n + len;
	q->lost = 0;
}

bool logq_send(struct logq *q)
{
	size_t at = 0;

	while (at < q->len) {
		ssize_t n = send(q->sock, q->buf + at, q->len - at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			/* the supervisor has ended, so the queue has no reader any more */
			at = q->len;
		if (n < 0)
			break;
		at += (size_t)n;
	}
	memmove(q->buf, q->buf + at, q->len - at);
	q->len -= at;
	return q->len;
}

void logq_finish(struct logq *q, int timeout_ms)
{
	struct pollfd p = { .fd = q->sock, .events = POLLOUT };

	while (logq_send(q))
		if (poll(&p, 1, timeout_ms) <= 0)
			return;
}
