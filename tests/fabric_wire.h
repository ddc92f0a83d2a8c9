/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FABRIC_WIRE_H
#define TESTS_FABRIC_WIRE_H

#include <errno.h>
#include <string.h>

#include "fabric/fabric.h"

/*
 * pkt_from_wire() - Make a packet from octets that are not in a packet buffer. Return: as
 * fabric_pkt_from_buf()
 */
static inline int pkt_from_wire(struct pkt **ret, struct pkt_pool *pool, const void *data,
				size_t len)
{
	struct pkt_buf *b;
	int err;

	if (len > IB_PKT_MAX)
		return -EBADMSG;
	b = pkt_buf_alloc(pool);
	if (!b)
		return -ENOBUFS;
	memcpy(b->data, data, len);
	err = fabric_pkt_from_buf(ret, pool, b, b->data, len);
	pkt_buf_put(b);
	return err;
}

#endif
