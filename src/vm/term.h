/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_TERM_H
#define VM_TERM_H

/*
 * The standard input and output of `uipoib vm`, which serve as the input and output of CMD, the
 * command that runs in the VM. No function blocks, so that a slow reader of the output delays CMD
 * but not the packets of the VM.
 */

#include <poll.h>
#include <stdbool.h>

#include "vm/frame.h"

struct term {
	bool raw; /* CMD has a terminal, and the user's terminal is in raw mode, so that all keys reach CMD */
	bool open; /* the input may be read, because CMD runs and has read the last piece */
	bool ended; /* true after the guest was told that the input has ended */
	int out_fd; /* descriptor to which out[out_at .. out_len) has to be written */
	size_t out_len, out_at;
	uint8_t out[FRAME_DATA_MAX];
};

/* term_is_tty() - Tell whether both input and output are a terminal, so that CMD gets one too */
bool term_is_tty(void);
/*
 * term_start() - Begin to read the input, because CMD runs now. If @tty is true, set the terminal
 * to raw mode
 */
void term_start(struct term *t, bool tty);
/* term_stop() - Set the terminal back to its former mode */
void term_stop(struct term *t);

/*
 * term_write() - Accept @len octets of CMD's output for descriptor 1 or 2; must not be called while
 * term_busy()
 */
void term_write(struct term *t, int fd, const void *data, size_t len);
static inline bool term_busy(const struct term *t)
{
	return t->out_at < t->out_len;
}
/*
 * term_polls() - Fill in the entries for poll() of input and output; an entry with descriptor -1
 * needs no poll
 */
void term_polls(const struct term *t, struct pollfd in_out[2]);
/*
 * term_writable() - Write more of the output. Return: 0, even if output was lost by an error; -EPIPE: the reader of
 * the output is gone
 */
int term_writable(struct term *t);
/*
 * term_read() - Read the input and make a FRAME_STDIN of it in @buf. Return: the frame's length; 0: there is no input
 */
size_t term_read(struct term *t, uint8_t buf[FRAME_HDR_LEN + FRAME_DATA_MAX]);
/* term_size() - Make a FRAME_WINSIZE in @buf. Return: the frame's length; 0: CMD has no terminal */
size_t term_size(const struct term *t, uint8_t *buf);

#endif
