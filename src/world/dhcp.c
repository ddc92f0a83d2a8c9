/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/dhcp.h"

#include "world/ip.h"
#include "world/peer.h"

#define LEASE 120 /* lease time in seconds */
#define RENEWAL 3
#define REBINDING 60
#define HOST 200 /* last octet of the address that the server leases; no peer has this address */

enum { OPT_MASK = 1, OPT_LEASE = 51, OPT_SERVER = 54, OPT_RENEWAL = 58, OPT_REBINDING = 59 };

const uint8_t *dhcp_message(const struct seen *s, size_t *ret_len)
{
	const uint8_t *ip = s->net;
	size_t hdr, len;

	if (data_type(s) != TYPE_IP4 || s->net_len < IPV4_LEN || ip[9] != PROTO_UDP ||
	    (be16_at(ip + 6) & IPV4_FRAGMENT))
		return NULL;
	hdr = (ip[0] & 15u) * 4;
	if (hdr < IPV4_LEN || s->net_len < hdr + UDP_LEN)
		return NULL;
	len = be16_at(ip + hdr + 4);
	if (be16_at(ip + hdr + 2) != DHCP_PORT_SERVER || len < UDP_LEN + DHCP_FIXED_LEN ||
	    hdr + len > s->net_len)
		return NULL;
	*ret_len = len - UDP_LEN;
	return ip + hdr + UDP_LEN;
}

uint8_t dhcp_type_of(const uint8_t *msg, size_t len)
{
	uint8_t type = 0;

	if (dhcp_has_options(msg, len))
		dhcp_opt_get(msg, len, DHCP_OPT_TYPE, &type, 1);
	return type;
}

bool dhcp_is(const struct seen *s, const void *arg)
{
	const struct dhcp_want *want = arg;
	size_t len;
	const uint8_t *msg = dhcp_message(s, &len);

	return msg && dhcp_type_of(msg, len) == want->type &&
	       (want->any_address || (be32_at(msg + DHCP_OFF_CIADDR) != 0) == want->has_address);
}

/* --- server */

static uint8_t *option(uint8_t *p, uint8_t code, const void *data, uint8_t n)
{
	*p++ = code;
	*p++ = n;
	memcpy(p, data, n);
	return p + n;
}

static uint8_t *option32(uint8_t *p, uint8_t code, uint32_t value)
{
	be32 v = be32_of(value);

	return option(p, code, &v, 4);
}

/*
 * Write the reply to a DHCP message. On InfiniBand a client writes no hardware address (RFC 4390), so the reply has
 * none. Return: number of octets
 */
static size_t put_reply(uint8_t *out, const struct world *w, const uint8_t *msg, size_t len,
			uint8_t type)
{
	static const uint8_t cookie[4] = { 99, 130, 83, 99 };
	uint8_t *p = out + DHCP_OPTIONS, id[255];
	int n = dhcp_opt_get(msg, len, DHCP_OPT_CLIENT_ID, id, sizeof(id));

	memset(out, 0, DHCP_FIXED_LEN);
	memcpy(out, msg, DHCP_OFF_CHADDR);
	out[0] = DHCP_OP_REPLY;
	out[DHCP_OFF_HTYPE] = DHCP_HTYPE_INFINIBAND;
	out[DHCP_OFF_HLEN] = 0;
	memcpy(out + 16, w->dut.ip4, 3); /* field yiaddr: the address that is leased */
	out[19] = HOST;
	memcpy(out + DHCP_FIXED_LEN, cookie, sizeof(cookie));
	p = option(p, DHCP_OPT_TYPE, &type, 1);
	p = option(p, OPT_SERVER, w->dhcp->ip4, 4);
	p = option32(p, OPT_MASK, 0xffffff00);
	p = option32(p, OPT_LEASE, LEASE);
	p = option32(p, OPT_RENEWAL, RENEWAL);
	p = option32(p, OPT_REBINDING, REBINDING);
	if (n > 0) /* return the client identifier of the request (RFC 6842) */
		p = option(p, DHCP_OPT_CLIENT_ID, id, (uint8_t)n);
	*p++ = DHCP_OPT_END;
	while (p < out + DHCP_BOOTP_LEN)
		*p++ = DHCP_OPT_PAD;
	return (size_t)(p - out);
}

/*
 * Send a DHCP reply. The reply is a broadcast if the client requests one, or has no address yet that ARP could
 * resolve. Otherwise it is a unicast
 */
static void send_reply(struct world *w, const uint8_t *msg, size_t len, uint8_t type)
{
	static const uint8_t all[4] = { 0xff, 0xff, 0xff, 0xff };
	const bool has_address = be32_at(msg + DHCP_OFF_CIADDR) != 0;
	uint8_t buf[4 + IPV4_LEN + UDP_LEN + DHCP_OPTIONS + 512], *ip = buf + w->wire->hdr_len;
	struct ib_ud_hdr h = peer_headers(w, w->dhcp);
	size_t n = put_reply(ip + IPV4_LEN + UDP_LEN, w, msg, len, type);

	udp4_put(ip, w->dhcp->ip4, DHCP_PORT_SERVER, has_address ? msg + DHCP_OFF_CIADDR : all,
		 DHCP_PORT_CLIENT, n);
	n += IPV4_LEN + UDP_LEN;
	w->wire->put_hdr(buf, TYPE_IP4, 0);
	if (has_address)
		peer_unicast(w, w->dhcp, &h, buf, n + w->wire->hdr_len);
	else
		peer_broadcast(w, w->dhcp, TYPE_IP4, ip, n);
}

void world_dhcp_rx(struct world *w, const struct seen *s)
{
	size_t len;
	const uint8_t *msg = w->dhcp ? dhcp_message(s, &len) : NULL;

	if (!msg)
		return;
	if (dhcp_type_of(msg, len) == DHCP_DISCOVER)
		send_reply(w, msg, len, DHCP_OFFER);
	else if (dhcp_type_of(msg, len) == DHCP_REQUEST)
		send_reply(w, msg, len, DHCP_ACK);
}
