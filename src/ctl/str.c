/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/req.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/escape.h"

json_t *ctl_str(const char *s)
{
	json_t *v = json_string(s);
	char *utf8 = v ? NULL : text_utf8(s);

	if (utf8)
		v = json_string(utf8);
	free(utf8);
	return v;
}

json_t *ctl_strf(const char *fmt, ...)
{
	json_t *v = NULL;
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) >= 0) {
		v = ctl_str(s);
		free(s);
	}
	va_end(ap);
	return v;
}
