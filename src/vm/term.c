/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/term.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;

bool term_is_tty(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

void term_start(struct term *t, bool tty)
{
	struct termios raw;

	t->open = true;
	if (!tty || tcgetattr(STDIN_FILENO, &before) < 0)
		return;
	raw = before;
	cfmakeraw(&raw);
	t->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void term_stop(struct term *t)
{
	if (t->raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	t->raw = t->open = false;
}

void term_polls(const struct term *t, struct pollfd in_out[2])
{
	in_out[0] =
		(struct pollfd){ .fd = t->open && !t->ended ? STDIN_FILENO : -1, .events = POLLIN };
	in_out[1] = (struct pollfd){ .fd = term_busy(t) ? t->out_fd : -1, .events = POLLOUT };
}

void term_write(struct term *t, int fd, const void *data, size_t len)
{
	memcpy(t->out, data, len);
	t->out_fd = fd;
	t->out_len = len;
	t->out_at = 0;
}

int term_writable(struct term *t)
{
	size_t len = t->out_len - t->out_at;
	ssize_t n;

	/*
	 * After poll(), a pipe accepts PIPE_BUF octets without blocking, even through a blocking
	 * descriptor.
	 */
	n = write(t->out_fd, t->out + t->out_at, len < PIPE_BUF ? len : PIPE_BUF);
	if (n > 0)
		t->out_at += (size_t)n;
	if (n >= 0 || errno == EINTR || errno == EAGAIN)
		return 0;
	t->out_at = t->out_len;
	return errno == EPIPE ? -EPIPE : 0;
}

size_t term_read(struct term *t, uint8_t buf[FRAME_HDR_LEN + FRAME_DATA_MAX])
{
	uint8_t data[FRAME_DATA_MAX];
	ssize_t n = read(STDIN_FILENO, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	t->open = false; /* no input is read until the guest acknowledges this piece */
	t->ended = n <= 0;
	return frame_encode(buf, FRAME_STDIN, data, n > 0 ? (size_t)n : 0);
}

size_t term_size(const struct term *t, uint8_t *buf)
{
	struct winsize w;
	uint8_t size[4];

	if (!t->raw || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0)
		return 0;
	size[0] = (uint8_t)(w.ws_row >> 8);
	size[1] = (uint8_t)w.ws_row;
	size[2] = (uint8_t)(w.ws_col >> 8);
	size[3] = (uint8_t)w.ws_col;
	return frame_encode(buf, FRAME_WINSIZE, size, sizeof(size));
}
