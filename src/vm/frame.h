/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_FRAME_H
#define VM_FRAME_H

/*
 * DOC: The channel between `uipoib vm` and the first process of its guest
 *
 * CMD is the command that the user gives to `uipoib vm`, and that the guest runs. Each direction of
 * the channel is a stream of frames. A frame consists of its type, a zero, the length of the data
 * (big-endian, 16 bits) and the data. The guest begins with HELLO. A frame of standard input is
 * sent only when CMD has read the previous frame of standard input. So the channel has room for
 * signals to CMD even if CMD does not read its input.
 *
 * The guest finds its configuration in the file VM_CONFIG of its initramfs, see vm/guest.h.
 */

#include <stddef.h>
#include <stdint.h>

#define FRAME_HDR_LEN 4
#define FRAME_DATA_MAX 4096

enum frame_type {
	/* types of frames that the guest sends */
	FRAME_HELLO = 1, /* the guest's first process runs and has opened the channel */
	FRAME_STATE, /* text: the step for which the guest waits */
	FRAME_READY, /* CMD is about to be started */
	FRAME_STDOUT,
	FRAME_STDERR,
	FRAME_STDIN_ACK, /* CMD has read the last FRAME_STDIN, or reads no more input */
	/*
	 * one octet, the exit status of CMD; this is the last frame, after which the guest waits until the host ends
	 * QEMU
	 */
	FRAME_EXIT,
	FRAME_ERROR, /* text: the reason why the guest cannot continue; this is the last frame */
	FRAME_KLOG, /* the end of the kernel's log, in pieces, before a FRAME_ERROR */
	/* types of frames that the host sends */
	FRAME_STDIN = 32, /* input of CMD; a frame without data is the end of the input */
	FRAME_SIGNAL, /* one octet: the number of a signal for CMD */
	FRAME_WINSIZE, /* numbers of rows and columns of the terminal, 16 bits each */
	FRAME_UNREAD, /* one octet, FRAME_STDOUT or FRAME_STDERR: the output whose reader is gone */
};

struct frame {
	enum frame_type type;
	size_t len;
	const uint8_t *data;
};

/* Octets of a stream that were read and not decoded yet. A zeroed struct is empty */
struct frame_rx {
	uint8_t buf[2 * (FRAME_HDR_LEN + FRAME_DATA_MAX)];
	size_t have; /* number of octets in .buf */
	size_t used; /* octets of the frame that frame_rx_next() returned last, which the next call removes */
};

/* frame_encode() - Write a frame to @buf; @len is at most FRAME_DATA_MAX. Return: octets written, FRAME_HDR_LEN + @len */
size_t frame_encode(uint8_t *buf, enum frame_type type, const void *data, size_t len);

/*
 * frame_rx_room() - Return the address for the next octets; *@ret_len becomes the number of octets for which there is
 * room. There is room for a whole frame if frame_rx_next() was called until it returned 0
 */
uint8_t *frame_rx_room(struct frame_rx *r, size_t *ret_len);
/* frame_rx_added() - Record that @n octets were read to the address that frame_rx_room() returned */
void frame_rx_added(struct frame_rx *r, size_t n);

/**
 * frame_rx_next() - Decode the next complete frame
 * @ret:	the frame; its data stays valid until the next call of a frame_rx function
 *
 * Return: 1; 0 if no frame is complete; -EBADMSG if the octets are no frame
 */
int frame_rx_next(struct frame_rx *r, struct frame *ret);

#endif
