/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_TAP_FRAMES_H
#define TESTS_TAP_FRAMES_H

#include <errno.h>

#include "netdev/tap.h"

/*
 * read_frames() - Read up to @max frames. Return: number of frames that were read. If none was
 * read: 0 if the TAP is empty, otherwise the error of tap_read()
 */
static inline int read_frames(struct tap *t, struct tap_rx *rx, struct tap_frame *ret,
			      unsigned int max)
{
	unsigned int n = 0;
	int err = 0;

	while (n < max && !(err = tap_read(t, rx, &ret[n])))
		n++;
	return n || err == -EAGAIN ? (int)n : err;
}

/*
 * write_pkt() - Write a frame that consists of one packet; the caller keeps the packet. Return: as
 * tap_write()
 */
static inline int write_pkt(struct tap *t, const struct tap_vnet *vnet, struct pkt *p)
{
	struct iovec iov[4];
	unsigned int n = 1;

	iov[1] = (struct iovec){ pkt_hdr(p), pkt_hdr_len(p) };
	if (iov[1].iov_len)
		n++;
	for (unsigned int i = 0; i < p->nslices; i++, n++) {
		iov[n].iov_base = (void *)p->slice[i].data;
		iov[n].iov_len = p->slice[i].len;
	}
	return tap_write(t, vnet, iov, n - 1);
}

#endif
