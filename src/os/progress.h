/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_PROGRESS_H
#define OS_PROGRESS_H

/*
 * DOC: The progress of a long operation, on a terminal
 *
 * Standard error has one line, which each call writes anew, and which progress_end() removes. If standard error is no
 * terminal, or a terminal that cannot erase a line (TERM=dumb), nothing is written at all.
 *
 * There is one line for the process, because there is one terminal. Code that writes something else to standard error
 * meanwhile calls progress_hide() first. Any thread may do so.
 */

#include <stdbool.h>

/* progress_shown() - Tell whether progress is visible to anybody */
bool progress_shown(void);

/*
 * progress_stage() - Show the text, formatted as by printf(), that says what is done from now on, on one line and
 * escaped (util/escape.h)
 */
void progress_stage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* progress_say() - As progress_stage(), but nothing is written if the line was written less than 0.1 s ago */
void progress_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* progress_hide() - Remove the line; the next call of progress_stage() or progress_say() writes it again */
void progress_hide(void);
/* progress_end() - The operation is over: remove the line */
void progress_end(void);

#endif
