/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Decode and print an IPoIB payload: its encapsulation header, ARP, IBARP, and the options of
 * Neighbour Discovery.
 */

#include <stdlib.h>

#include "wire/arp.h"
#include "wire/ibarp.h"
#include "wire/nd.h"
#include "text/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void arp_again(const uint8_t *data, size_t size)
{
	uint8_t out[ARP_IPOIB_LEN];
	struct arp_pkt a;
	size_t n;

	if (arp_decode(&a, data, size))
		return;
	n = arp_encode(out, &a);
	check(n <= size && memcmp(out, data, n) == 0);
}

/*
 * Check that a decoded IBARP message stays the same when it is encoded in the format of
 * draft-pelissier-ipoib-encaparp-00 and decoded again.
 */
static void ibarp_again(const uint8_t *data, size_t size)
{
	uint8_t out[IBARP_LEN], twice[IBARP_LEN];
	struct ibarp_pkt a, b;

	if (ibarp_decode(&a, data, size))
		return;
	check(size >= IBARP_LEN_SINGLE);
	ibarp_encode(out, &a);
	out[4] = IBARP_HW_LEN; /* with the other length, 32, the decoder guesses the format */
	check(ibarp_is(out, sizeof(out)) && !ibarp_decode(&b, out, sizeof(out)));
	ibarp_encode(twice, &b);
	check(memcmp(out + 5, twice + 5, sizeof(out) - 5) == 0);
}

static void nd_walk(const uint8_t *data, size_t size)
{
	size_t pos = nd_fixed_len(data[0]), before = pos;
	struct ipoib_lladdr lladdr;
	uint8_t out[ND_OPT_LLADDR_IPOIB], info[ND_OPT_LINK_INFO], ibarp[ND_OPT_IBARP];
	struct nd_port port;
	struct nd_opt o;

	while (nd_opt_next(&o, data, size, &pos) == 1) {
		check(pos > before && pos <= size && o.data + o.len == data + pos);
		before = pos;
		if (!nd_opt_link_info_decode(&port, &o)) {
			nd_opt_link_info_encode(info, o.type, &port);
			check(memcmp(info + 5, o.data + 5, 23) == 0);
		}
		if (!nd_opt_ibarp_decode(&port, &o)) {
			nd_opt_ibarp_encode(ibarp, o.type, &port);
			check(memcmp(ibarp + 4, o.data + 4, 8) == 0); /* EUI-64 */
			check(memcmp(ibarp + 13, o.data + 13, 7) == 0); /* QPN and Q_Key */
		}
		if (nd_opt_lladdr_decode(&lladdr, &o))
			continue;
		nd_opt_lladdr_encode(out, o.type, &lladdr);
		check(memcmp(out + 5, o.data + 5, sizeof(out) - 5) == 0);
	}
	check(pos == before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[PRINT_LINE];

	print_ipoib(text, sizeof(text), data, size);
	check(strlen(text) > 0);
	if (!size)
		return 0;
	print_ipoib(text, 1 + data[0], data, size);
	check(strlen(text) <= data[0]);
	arp_again(data, size);
	ibarp_again(data, size);
	nd_walk(data, size);
	if (size > IPOIB_HDR_LEN)
		nd_walk(data + IPOIB_HDR_LEN, size - IPOIB_HDR_LEN);
	return 0;
}
