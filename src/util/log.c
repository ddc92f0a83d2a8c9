/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/log.h"

void log_to(const struct log_sink *s, enum log_level lvl, const char *fmt, ...)
{
	va_list ap;

	if (!log_wants(s, lvl))
		return;
	va_start(ap, fmt);
	s->emit(s, lvl, fmt, ap);
	va_end(ap);
}
