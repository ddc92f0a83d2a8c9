/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_TERM_H
#define VM_TERM_H

/*
 * Our standard input and output, for CMD's. Nothing here blocks: a reader of our output that is
 * slow holds up CMD, not the wire.
 */

#include <poll.h>
#include <stdbool.h>

#include "vm/frame.h"

struct term {
	bool raw; /* CMD has a terminal, and ours passes all keys */
	bool open; /* the input may be read: CMD runs, and has taken the last piece */
	bool ended; /* the end of the input was told */
	int out_fd; /* where out[out_at .. out_len) goes */
	size_t out_len, out_at;
	uint8_t out[FRAME_DATA_MAX];
};

/* term_is_tty() - Input and output are one: CMD should have one */
bool term_is_tty(void);
/* term_start() - CMD runs */
void term_start(struct term *t, bool tty);
/* term_stop() - Give the terminal back as it was */
void term_stop(struct term *t);

/* term_write() - @len octets of CMD's for fd 1 or 2; only while !term_busy() */
void term_write(struct term *t, int fd, const void *data, size_t len);
static inline bool term_busy(const struct term *t)
{
	return t->out_at < t->out_len;
}
/* term_polls() - What to poll for: input, output; fd -1: nothing */
void term_polls(const struct term *t, struct pollfd in_out[2]);
/* term_writable() - The output is: write on. What cannot be written is lost: -EPIPE since nobody reads it, else 0 */
int term_writable(struct term *t);
/* term_read() - The input can be read: a FRAME_STDIN into @buf. Its length; 0: none */
size_t term_read(struct term *t, uint8_t buf[FRAME_HDR_LEN + FRAME_DATA_MAX]);
/* term_size() - A FRAME_WINSIZE into @buf. Its length; 0: no terminal */
size_t term_size(const struct term *t, uint8_t *buf);

#endif
