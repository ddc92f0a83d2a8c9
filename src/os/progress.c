/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/progress.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/clock.h"
#include "util/escape.h"

#define PERIOD NS_MSEC(100) /* the line is written at most ten times a second */
#define WIDTH_MAX 200
#define ERASE "\r\033[K"

static atomic_bool drawn; /* the line is on the terminal now */
static ns_t drawn_at; /* time at which the line was last written; 0: the next call writes at once */

bool progress_shown(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* Return the number of octets of @s that fit on one line of the terminal. No character is cut */
static size_t fitting(const char *s)
{
	struct winsize w;
	size_t max = !ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : 80u, n = 0;

	for (size_t columns = 1; s[n]; n++)
		if (((unsigned char)s[n] & 0xc0) != 0x80 && columns++ == max)
			break;
	return n;
}

/* Write a line, and ignore errors, because the operation continues even if nobody can see its progress. */
static void write_line(const char *line, size_t len)
{
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}

static void draw(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

static void draw(const char *fmt, va_list ap)
{
	char text[WIDTH_MAX], plain[4 * WIDTH_MAX], line[sizeof(ERASE) + sizeof(plain)];
	struct text t = TEXT_IN(plain);

	vsnprintf(text, sizeof(text), fmt, ap);
	text_add_escaped(&t, text);
	plain[fitting(plain)] = '\0';
	snprintf(line, sizeof(line), ERASE "%s", plain);
	drawn_at = clock_now();
	atomic_store(&drawn, true);
	write_line(line, strlen(line));
}

void progress_stage(const char *fmt, ...)
{
	va_list ap;

	if (!progress_shown())
		return;
	va_start(ap, fmt);
	draw(fmt, ap);
	va_end(ap);
}

void progress_say(const char *fmt, ...)
{
	va_list ap;

	if (!progress_shown() || clock_now() - drawn_at < PERIOD)
		return;
	va_start(ap, fmt);
	draw(fmt, ap);
	va_end(ap);
}

void progress_hide(void)
{
	if (atomic_exchange(&drawn, false))
		write_line(ERASE, strlen(ERASE));
}

void progress_end(void)
{
	progress_hide();
	drawn_at = 0;
}
