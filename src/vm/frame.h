/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_FRAME_H
#define VM_FRAME_H

/*
 * DOC: The channel between `uipoib vm` and the first process of its guest
 *
 * A stream of octets in each direction, of frames: type, 0, length of the data (big-endian, 16
 * bits), data. The guest begins with HELLO. Standard input is sent a frame at a time: the next goes
 * when the last was taken, so that a CMD that does not read does not hold up signals.
 *
 * What the guest is to do, it finds in the file VM_CONFIG of its initramfs: see vm/guest.h.
 */

#include <stddef.h>
#include <stdint.h>

#define FRAME_HDR_LEN 4
#define FRAME_DATA_MAX 4096

enum frame_type {
	/* from the guest */
	FRAME_HELLO = 1, /* its first process runs and has found the channel */
	FRAME_STATE, /* text: what it waits for */
	FRAME_READY, /* CMD is started */
	FRAME_STDOUT,
	FRAME_STDERR,
	FRAME_STDIN_ACK, /* the last FRAME_STDIN was taken */
	FRAME_EXIT, /* one octet: the exit status; nothing follows */
	FRAME_ERROR, /* text: it cannot go on; FRAME_KLOG may have come before */
	FRAME_KLOG, /* the end of the kernel's log, in pieces */
	/* to the guest */
	FRAME_STDIN = 32, /* no data: the end of the input */
	FRAME_SIGNAL, /* one octet: for CMD */
	FRAME_WINSIZE, /* rows, columns, 16 bits each */
	FRAME_UNREAD, /* one octet, FRAME_STDOUT or FRAME_STDERR: nobody reads it any more */
};

struct frame {
	enum frame_type type;
	size_t len;
	const uint8_t *data;
};

/* What was read of a stream; zeroed it is empty. */
struct frame_rx {
	uint8_t buf[2 * (FRAME_HDR_LEN + FRAME_DATA_MAX)];
	size_t have, used; /* used: octets of the frame that frame_rx_next() returned last */
};

/* frame_encode() - Into @buf of FRAME_HDR_LEN + @len octets, @len at most FRAME_DATA_MAX. Octets written */
size_t frame_encode(uint8_t *buf, enum frame_type type, const void *data, size_t len);

/* frame_rx_room() - Where to read to, at least one whole frame while frame_rx_next() was called until 0 */
uint8_t *frame_rx_room(struct frame_rx *r, size_t *ret_len);
/* frame_rx_added() - @n octets were put there */
void frame_rx_added(struct frame_rx *r, size_t n);

/**
 * frame_rx_next() - The next complete frame
 * @ret:	its data stays valid until the next call of any of these
 *
 * Return: 1; 0 none is complete; -EBADMSG the stream is no stream of frames
 */
int frame_rx_next(struct frame_rx *r, struct frame *ret);

#endif
