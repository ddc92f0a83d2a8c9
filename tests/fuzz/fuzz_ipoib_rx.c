/* SPDX-License-Identifier: BSD-2-Clause */

/* A link that is up receives packets of any content, with and without a GRH, from any sender. */

#include <stdlib.h>

#include "fuzz_ipoib_world.h"

static void rx_one(struct fuzz_world *w, const uint8_t **p, size_t *len)
{
	const uint8_t *d = *p;
	struct ipoib_rx v = { 0 };
	size_t n, head;

	if (*len < 8) {
		*len = 0;
		return;
	}
	v.slid = be16_at(d);
	v.src_qp = be32_at(d + 2) & IB_QPN_MASK;
	n = d[6];
	v.sl = d[7] & 15;
	*p += 8;
	*len -= 8;
	if (n & 0x80) {
		if (*len < 40)
			return;
		v.grh = *p;
		*p += 40;
		*len -= 40;
	}
	n = (n & 0x7f) < *len ? (n & 0x7f) : *len;
	head = d[7] >> 4;
	/* The first octets of the packet are in hdr[] of its descriptor, the others in a slice. */
	v.pkt = pkt_from_data(w->pool, *p, n < head ? n : head);
	if (n > head) {
		struct pkt_buf *b = pkt_buf_alloc(w->pool);

		memcpy(b->data, *p + head, n - head);
		if (pkt_add_slice(v.pkt, b, b->data, (uint32_t)(n - head)))
			abort();
		pkt_buf_put(b);
	}
	*p += n;
	*len -= n;
	ipoib_rx(w->link, &v, 1, w->now);
	if (v.verdict == IPOIB_DELIVER) {
		if (!ipoib_type_valid(v.ethertype) || v.pkt->len != n - IPOIB_HDR_LEN)
			abort();
		pkt_free(v.pkt);
	} else if (v.pkt) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_world w;

	fuzz_world_init(&w);
	while (size) {
		rx_one(&w, &data, &size);
		fuzz_world_run(&w, NS_MSEC(10));
	}
	if (pkt_pool_pkts_used(w.pool))
		abort();
	fuzz_world_fini(&w);
	return 0;
}
