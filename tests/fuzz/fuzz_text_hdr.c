/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Decode a packet from its LRH on, encode it again, compute its CRCs in parts, and print the
 * packet.
 */

#include <stdlib.h>

#include "crc/crc.h"
#include "wire/ib_hdr.h"
#include "text/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Check that @h is the same header after it was encoded and decoded again. */
static void hdr_again(const struct ib_ud_hdr *h, int hlen)
{
	uint8_t a[68], b[68];
	struct ib_ud_hdr again;

	check(ib_ud_hdr_encode(a, h, 44) == (unsigned int)hlen);
	check(ib_ud_hdr_decode(&again, a, sizeof(a)) == hlen);
	check(ib_ud_hdr_encode(b, &again, 44) == (unsigned int)hlen);
	check(memcmp(a, b, (size_t)hlen) == 0);
}

/*
 * Compute the CRCs of a packet whose octets are in two slices. The input chooses where the first
 * slice ends.
 */
static void crc_parts(struct pkt_pool *pool, const uint8_t *data, size_t size)
{
	struct pkt *p = pkt_alloc(pool);
	struct pkt_buf *b = pkt_buf_alloc(pool);
	uint32_t body, cut;

	check(p && b);
	p->tail_len = data[0] % (PKT_TAIL_MAX + 2);
	if (p->tail_len > size)
		p->tail_len = 0;
	body = (uint32_t)size - p->tail_len;
	cut = body ? data[size / 2] % (body + 1) : 0;
	memcpy(b->data, data, body);
	if (cut)
		pkt_add_slice(p, b, b->data, cut);
	if (cut < body)
		pkt_add_slice(p, b, b->data + cut, body - cut);
	memcpy(p->tail, data + body, p->tail_len < PKT_TAIL_MAX ? p->tail_len : PKT_TAIL_MAX);
	p->flags |= PKT_CRC;
	if (crc_pkt_check(p) == CRC_OK) {
		check(size >= 34);
		check(crc_vcrc(data, size - 2) == (data[size - 2] | data[size - 1] << 8));
	}
	pkt_pull(p, 68);
	crc_pkt_check(p);
	if (p->tail_len <= PKT_TAIL_MAX)
		crc_pkt_set_vl(p, data[0] & 0xf);
	pkt_buf_put(b);
	pkt_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pkt_pool *pool;
	char text[2048];
	struct ib_ud_hdr h;
	int hlen;

	if (!pool)
		pool = pkt_pool_create(1, 1);
	if (!size || size > IB_PKT_MAX)
		return 0;
	hlen = ib_ud_hdr_decode(&h, data, size);
	if (hlen > 0)
		hdr_again(&h, hlen);
	print_packet(text, sizeof(text), data, size);
	check(text[strlen(text) - 1] == '\n' || strlen(text) == sizeof(text) - 1);
	print_packet(text, 1 + data[0], data, size);
	check(strlen(text) <= data[0]);
	crc_parts(pool, data, size);
	return 0;
}
