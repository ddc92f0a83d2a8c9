/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_LOG_H
#define UTIL_LOG_H

/*
 * A log sink, which an owner gives to a module that does no I/O itself. The module formats a line,
 * and the owner decides where the line is written. A zeroed sink discards all lines.
 */

#include <stdarg.h>
#include <stdbool.h>

enum log_level {
	LOG_LVL_ERR,
	LOG_LVL_WARN,
	LOG_LVL_INFO,
	LOG_LVL_DEBUG,
};

/*
 * Names of the objects that all lines of a sink are about, kept by the owner of the sink; NULL:
 * there is no such object
 */
struct log_about {
	const char *iface, *host, *fabric;
	const char *port; /* CA/PORT */
	const char *udp_link;
	const char *capture; /* name of the file */
};

struct log_sink {
	void (*emit)(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
		__attribute__((format(printf, 3, 0)));
	void *ctx;
	/* most detailed level; lines of more detailed levels are not formatted */
	enum log_level max;
	struct log_about about;
};

/* log_wants() - Tell whether the log takes lines of this level; NULL is a log that takes none */
static inline bool log_wants(const struct log_sink *s, enum log_level lvl)
{
	return s && s->emit && lvl <= s->max;
}

void log_to(const struct log_sink *s, enum log_level lvl, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
