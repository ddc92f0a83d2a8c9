/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_PROGRESS_H
#define OS_PROGRESS_H

/*
 * DOC: The progress of a long operation, on a terminal
 *
 * The progress is one line on standard error. Each call writes this line anew, and progress_end()
 * removes it. If standard error is no terminal, or a terminal that cannot erase a line (TERM=dumb),
 * nothing is written at all.
 *
 * There is one line for the process, because there is one terminal. Code that writes other text to standard error
 * during the operation calls progress_hide() first. Any thread may call progress_hide().
 */

#include <stdbool.h>

/* progress_shown() - Tell whether the progress is shown on a terminal */
bool progress_shown(void);

/*
 * progress_stage() - Show which step of the operation begins now. The text is formatted as by printf(), and shown
 * on one line and escaped (util/escape.h)
 */
void progress_stage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* progress_say() - As progress_stage(), but nothing is written if the line was written less than 0.1 s ago */
void progress_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* progress_hide() - Remove the line; the next call of progress_stage() or progress_say() writes it again */
void progress_hide(void);
/* progress_end() - Remove the line, because the operation is over */
void progress_end(void);

#endif
