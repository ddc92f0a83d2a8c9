/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/frame.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

size_t frame_encode(uint8_t *buf, enum frame_type type, const void *data, size_t len)
{
	assert(len <= FRAME_DATA_MAX);
	buf[0] = (uint8_t)type;
	buf[1] = 0;
	buf[2] = (uint8_t)(len >> 8);
	buf[3] = (uint8_t)len;
	if (len)
		memcpy(buf + FRAME_HDR_LEN, data, len);
	return FRAME_HDR_LEN + len;
}

static void forget_used(struct frame_rx *r)
{
	if (r->used)
		memmove(r->buf, r->buf + r->used, r->have - r->used);
	r->have -= r->used;
	r->used = 0;
}

uint8_t *frame_rx_room(struct frame_rx *r, size_t *ret_len)
{
	forget_used(r);
	*ret_len = sizeof(r->buf) - r->have;
	return r->buf + r->have;
}

void frame_rx_added(struct frame_rx *r, size_t n)
{
	assert(n <= sizeof(r->buf) - r->have);
	r->have += n;
}

int frame_rx_next(struct frame_rx *r, struct frame *ret)
{
	size_t len;

	forget_used(r);
	if (r->have < FRAME_HDR_LEN)
		return 0;
	len = (size_t)r->buf[2] << 8 | r->buf[3];
	if (!r->buf[0] || r->buf[1] || len > FRAME_DATA_MAX)
		return -EBADMSG;
	if (r->have < FRAME_HDR_LEN + len)
		return 0;
	r->used = FRAME_HDR_LEN + len;
	*ret = (struct frame){ .type = r->buf[0], .len = len, .data = r->buf + FRAME_HDR_LEN };
	return 1;
}
