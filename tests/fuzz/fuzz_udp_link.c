/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "udp/link.h"
#include "crc/crc.h"
#include "wire/ib_hdr.h"

/*
 * Datagrams arrive at a link over UDP, time passes, and the link is switched on and off, in any
 * order. The input is a list of operations. The first octet of an operation says which operation
 * it is, and the second is its argument. If a datagram arrives, its length (2 octets) and its
 * octets follow. Some datagrams get a correct VCRC, so that the link accepts the packets in them.
 */

static unsigned int carrier_up;

static void on_keepalive(void *ctx, const struct ip_endpoint *to, ns_t now)
{
	assert(to->family == 4 || to->family == 6);
	assert(*(ns_t *)ctx <= now);
	*(ns_t *)ctx = now;
}

static void on_carrier(void *ctx, bool up, ns_t now)
{
	assert(carrier_up != up);
	carrier_up = up;
	(void)ctx;
	(void)now;
}

static const struct udp_link_ops ops = { .keepalive = on_keepalive, .carrier = on_carrier };

static struct ip_endpoint somebody(uint8_t who)
{
	return (struct ip_endpoint){
		.family = who & 1 ? 6 : 4,
		.port = (uint16_t)(5000 + (who >> 1 & 1)),
		.addr = { 127, 0, 0, (uint8_t)(1 + (who >> 2 & 1)) },
	};
}

static void seal(uint8_t *p, size_t len)
{
	uint16_t crc;

	if (len < IB_LRH_LEN + IB_ICRC_LEN + IB_VCRC_LEN || len > IB_PKT_MAX)
		return;
	p[0] &= 0xf0;
	be16_put(p + 4, (uint16_t)((len - IB_VCRC_LEN) / 4 & 0x7ff));
	crc = crc_vcrc(p, len - IB_VCRC_LEN);
	p[len - 2] = (uint8_t)crc;
	p[len - 1] = (uint8_t)(crc >> 8);
}

static void check(const struct udp_link *l)
{
	assert(carrier_up == (l->state == UDP_LINK_UP));
	assert((udp_link_peer(l) != NULL) == (l->state == UDP_LINK_UP));
	assert(l->stats.ups - l->stats.downs == carrier_up);
}

/* Deliver one datagram. Returns the number of octets of @data that were used. */
static size_t datagram(struct udp_link *l, uint8_t who, const uint8_t *data, size_t size, ns_t now)
{
	struct ip_endpoint from = somebody(who);
	size_t len = size < 2 ? 0 : (size_t)((data[0] | data[1] << 8) % (IB_PKT_MAX + 2));
	size_t used = size < 2 ? size : 2 + (len < size - 2 ? len : size - 2);
	/* An exact copy, so that the sanitizer notices reads beyond the end. */
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memset(copy, 0, len ? len : 1);
	if (used > 2)
		memcpy(copy, data + 2, used - 2);
	if (who & 0x80)
		seal(copy, len);
	if (udp_link_rx(l, &from, copy, len, now) == UDP_DROP_NONE)
		assert(l->state == UDP_LINK_UP && ip_endpoint_equal(&from, &l->peer));
	free(copy);
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ip_endpoint peer = somebody(0);
	struct udp_link l;
	struct timers ts;
	ns_t now = NS_SEC(1), called = 0;

	if (!size)
		return 0;
	carrier_up = 0;
	timers_init(&ts);
	udp_link_init(&l, &ts, data[0] & 1 ? &peer : NULL, &ops, &called, now);
	data++, size--;
	while (size >= 2) {
		uint8_t what = data[0] & 3, arg = data[1];

		data += 2, size -= 2;
		if (what == 0) {
			now += arg * NS_MSEC(50);
			timers_run(&ts, now);
		} else if (what == 1) {
			udp_link_want(&l, arg & 1, now);
		} else {
			size_t used = datagram(&l, arg, data, size, now);

			data += used, size -= used;
		}
		check(&l);
	}
	udp_link_fini(&l);
	assert(timers_next(&ts) == NS_NEVER);
	timers_fini(&ts);
	return 0;
}
