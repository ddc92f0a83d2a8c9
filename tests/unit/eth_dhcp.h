/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ETH_DHCP_H
#define TESTS_ETH_DHCP_H

/* Makes DHCP messages in IP packets, for tests of the code that rewrites such messages */

#include "unit/eth_rig.h"
#include "wire/dhcp.h"

#define XID 0x11223344
#define MSG_MAX 3000
#define ENCAP 4
#define BOOTP_AT (20 + 8)

struct message {
	struct dhcp_hdr h;
	/* message type; 0: the message is plain BOOTP, without the option for the message type */
	uint8_t type;
	const uint8_t *id;
	uint8_t id_len;
	uint16_t dport;
	size_t pad; /* the message is padded with zeros to this length, in octets */
	bool no_sum;
};

/* Write the message as an IP packet. */
static inline size_t build(uint8_t *b, const struct message *m)
{
	static const uint8_t any[4], ones[4] = { 255, 255, 255, 255 };
	uint8_t u[MSG_MAX] = { 0 }, *o = u + 8 + DHCP_OPTIONS;
	size_t n = 8 + m->pad, len;

	be16_put(u, m->dport == 67 ? 68 : 67);
	be16_put(u + 2, m->dport);
	be16_put(u + 4, (uint16_t)n);
	dhcp_hdr_encode(u + 8, &m->h);
	be32_put(u + 8 + DHCP_FIXED_LEN, 0x63825363);
	if (m->type) {
		*o++ = 53;
		*o++ = 1;
		*o++ = m->type;
	}
	if (m->id) {
		*o++ = 61;
		*o++ = m->id_len;
		memcpy(o, m->id, m->id_len);
		o += m->id_len;
	}
	*o = 255;
	len = er_ip4(b, any, ones, 17, u, n);
	if (!m->no_sum) {
		uint16_t sum = (uint16_t)~er_sum(b + 20, n, er_sum(b + 12, 8, (uint32_t)(17 + n)));

		be16_put(b + 26, sum ? sum : 0xffff);
	}
	return len;
}

/*
 * Check that the packet @ip is valid IP, and decode its DHCP header and client identifier. Returns
 * the length of the client identifier.
 */
static inline int parse(const uint8_t *ip, size_t len, struct dhcp_hdr *h, uint8_t id[255])
{
	er_check_ip(ip, len);
	assert_int_equal(dhcp_hdr_decode(h, ip + BOOTP_AT, len - BOOTP_AT), 0);
	return dhcp_opt_get(ip + BOOTP_AT, len - BOOTP_AT, 61, id, 255);
}

#endif
