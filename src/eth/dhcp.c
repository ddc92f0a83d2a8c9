/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/dhcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eth/csum.h"
#include "eth/priv.h"
#include "wire/dhcp.h"
#include "wire/inet.h"
#include "wire/ip.h"

/*
 * DOC: DHCP
 *
 * On InfiniBand a DHCP message has hardware type 32, and a client identifier instead of a hardware
 * address. A server cannot send a unicast reply without a hardware address, so the client asks for
 * a broadcast (RFC 4390 §2). The kernel's network device is a TAP (Ethernet) or a device of type 32
 * (InfiniBand), and the hosts behind the device use the message format for the device's hardware
 * type:
 *
 *	client behind a TAP	The client's MAC is removed from requests and put back into the
 *				replies. A reply is for the client whose request has the same xid.
 *				The broadcast flag of requests is set or cleared as RFC 4390 §2.2
 *				requires.
 *	server behind a TAP	A request from the link gets the sender's token (the MAC that stands
 *				for its 20-octet address) as the client's MAC, so that the server can
 *				reply to this MAC. The broadcast flag is cleared if the client has an
 *				IP address (RFC 4390 §2.2). The MAC is removed from replies.
 *
 * On a device of type 32 the hosts' messages should have the format of RFC 4390, but not all have
 * it. For example, systemd-networkd sets the broadcast flag in all messages, and puts a part of the
 * hardware address into a DHCPRELEASE. So the messages of a device of type 32 are rewritten in the
 * same way, except that no address is inserted for a server. A message that is already right passes
 * unchanged.
 *
 * Some clients send no client identifier, or one that consists of the hardware type and the
 * hardware address. In both cases the request gets a new identifier in the format of RFC 4361. In
 * the reply the client's own identifier is put back, or the new identifier is removed if the client
 * sent none. Behind a TAP the new identifier contains the client's MAC. On a device of type 32 it
 * contains the port's GUID, and not the hardware address, because the queue pair number in the
 * hardware address changes. Any other identifier was chosen by the client and stays. Messages of
 * relay agents (giaddr) are about another link and stay unchanged.
 */

#define MSG_MAX 4096
#define CLIENTS 64 /* largest number of clients to which a reply is expected */
#define HW_ID_MAX (1 + ETH_HW_MAX) /* longest identifier: hardware type, then hardware address */
#define MADE_ID_MAX DHCP_CLIENT_ID_LEN(8)

struct client {
	uint32_t xid;
	bool used;
	bool made; /* true if this process put a client identifier of its own into the request */
	uint8_t htype, hlen, chaddr[16]; /* fields of the client's last request */
	uint8_t id[HW_ID_MAX],
		/*
		 * number of octets in .id, the client's own identifier that was replaced; 0: no
		 * identifier was replaced
		 */
		id_len;
	ns_t at; /* time of the client's last request */
};

struct eth_dhcp {
	struct client client[CLIENTS];
};

/* A DHCP message: .in as it was received, .out as it is sent on. */
struct msg {
	uint8_t in[MSG_MAX], out[MSG_MAX];
	size_t ihl;
	const uint8_t *bootp; /* the BOOTP header in .in */
	size_t len; /* octets from .bootp on */
	struct dhcp_hdr h;
	uint16_t dport;
	bool options;
};

static bool dhcp_ports(struct pkt *p)
{
	const uint8_t *ip = pkt_pull(p, IPV4_LEN + UDP_LEN);
	size_t ihl;
	uint16_t port;

	if (!ip || (be16_at(ip + 6) & IPV4_FRAGMENT))
		return false;
	ihl = (ip[0] & 0x0f) * 4u;
	if (ihl != IPV4_LEN)
		ip = ihl > IPV4_LEN ? pkt_pull(p, (unsigned int)(ihl + UDP_LEN)) : NULL;
	if (!ip)
		return false;
	port = be16_at(ip + ihl + 2);
	return port == DHCP_PORT_SERVER || port == DHCP_PORT_CLIENT;
}

bool eth_is_dhcp(const struct eth_if *e, struct pkt *p, const uint8_t *ip)
{
	/*
	 * A super-frame of the kernel is not rewritten. A train (packets of one flow in one
	 * descriptor, train/train.h) from the link is examined, as each packet of the train would
	 * be if it came alone.
	 */
	if (ip[9] != PROTO_UDP || e->cfg.dhcp_raw || (frame_info(p)->gso && !pkt_is_train(p)))
		return false;
	/*
	 * Most packets have no IP options, so their UDP ports are at a fixed offset. A packet that
	 * is not for one of DHCP's ports is not DHCP.
	 */
	if (ip[0] == 0x45) {
		const uint8_t *udp = pkt_pull(p, IPV4_LEN + 4);

		if (!udp || (be16_at(udp + IPV4_LEN + 2) != DHCP_PORT_SERVER &&
			     be16_at(udp + IPV4_LEN + 2) != DHCP_PORT_CLIENT))
			return false;
	}
	return dhcp_ports(p);
}

/*
 * Finds the BOOTP message and its options in a packet. Return: 0; -EPROTO: the message is not DHCP,
 * although the ports are those of DHCP; -EBADMSG: wrong checksum
 */
static int msg_parse(struct msg *m, const struct pkt *p)
{
	size_t len = pkt_copy_out(p, 0, m->in, sizeof(m->in)), udp_len;
	const uint8_t *udp;
	uint32_t sum;

	if (p->len > sizeof(m->in))
		return -EPROTO;
	m->ihl = (m->in[0] & 0x0f) * 4u;
	udp = m->in + m->ihl;
	udp_len = be16_at(udp + 4);
	if (udp_len < UDP_LEN || m->ihl + udp_len > len)
		return -EPROTO;
	m->dport = be16_at(udp + 2);
	m->bootp = udp + UDP_LEN;
	m->len = udp_len - UDP_LEN;
	if (dhcp_hdr_decode(&m->h, m->bootp, m->len))
		return -EPROTO;
	m->options = dhcp_has_options(m->bootp, m->len);
	/*
	 * A rewritten message has a right checksum. To rewrite a message with a wrong checksum would hide its
	 * damage, so refuse it.
	 */
	sum = inet_pseudo4(m->in + 12, m->in + 16, PROTO_UDP, (uint32_t)udp_len);
	if (be16_at(udp + 6) && inet_fold(inet_sum(sum, udp, udp_len)))
		return -EBADMSG;
	return 0;
}

/*
 * Makes the packet of the message in m->out, into which the @n octets of BOOTP have been written
 * already.
 */
static struct pkt *msg_pkt(struct eth_if *e, struct msg *m, size_t n)
{
	size_t udp_len = UDP_LEN + n, len = m->ihl + udp_len;
	uint8_t *ip = m->out, *udp = ip + m->ihl;
	bool summed = be16_at(m->in + m->ihl + 6) != 0;
	uint32_t sum;

	memcpy(ip, m->in, m->ihl + UDP_LEN);
	be16_put(ip + 2, (uint16_t)len);
	be16_put(ip + 10, 0);
	be16_put(ip + 10, inet_fold(inet_sum(0, ip, m->ihl)));
	be16_put(udp + 4, (uint16_t)udp_len);
	be16_put(udp + 6, 0);
	if (summed) {
		sum = inet_pseudo4(ip + 12, ip + 16, PROTO_UDP, (uint32_t)udp_len);
		be16_put(udp + 6, inet_fold_udp(inet_sum(sum, udp, udp_len), true));
	}
	return pkt_from_data(e->cfg.pool, m->out, len);
}

/*
 * Makes the message that replaces @p, and writes its BOOTP header. @n is the length of the new
 * BOOTP message in octets, or the -errno with which an earlier step has refused the message.
 * Return: the new message; @p itself if nothing has changed; NULL if the message was refused or
 * there is no memory
 */
static struct pkt *msg_finish(struct eth_if *e, struct pkt *p, struct msg *m, int n,
			      uint64_t *rewritten, enum eth_drop *why)
{
	uint8_t *out = m->out + m->ihl + UDP_LEN;

	if (n < 0)
		return NULL;
	dhcp_hdr_encode(out, &m->h);
	if ((size_t)n == m->len && !memcmp(out, m->bootp, m->len))
		return p;
	*why = ETH_DROP_NO_MEM;
	p = msg_pkt(e, m, (size_t)n);
	*rewritten += p != NULL;
	return p;
}

/*
 * Copies the BOOTP message with its DHCP options into m->out. If @change is set, the client
 * identifier becomes @id. Return: octets of the BOOTP message, or -errno
 */
static int msg_options(struct msg *m, size_t room, const uint8_t *id, size_t id_len, bool change)
{
	uint8_t *out = m->out + m->ihl + UDP_LEN;

	if (!change) {
		if (m->len > room)
			return -EMSGSIZE;
		memcpy(out, m->bootp, m->len);
		return (int)m->len;
	}
	return dhcp_opt_set(out, room, m->bootp, m->len, DHCP_OPT_CLIENT_ID, id, (uint8_t)id_len);
}

/* --- clients to which a reply is expected */

static struct client *client_find(const struct eth_if *e, uint32_t xid)
{
	struct client *found = NULL;

	for (unsigned int i = 0; e->dhcp && i < CLIENTS; i++) {
		struct client *c = &e->dhcp->client[i];

		if (c->used && c->xid == xid && (!found || c->at > found->at))
			found = c;
	}
	return found;
}

/*
 * Finds an entry for the client that sent @h: the client's present entry, or else a free entry, or
 * else the entry whose last request is the oldest. Return: NULL if out of memory
 */
static struct client *client_get(struct eth_if *e, const struct dhcp_hdr *h, ns_t now)
{
	struct client *c, *best;

	if (!e->dhcp)
		e->dhcp = calloc(1, sizeof(*e->dhcp));
	if (!e->dhcp)
		return NULL;
	best = e->dhcp->client;
	for (c = best; c < e->dhcp->client + CLIENTS; c++) {
		if (c->used && c->xid == h->xid &&
		    !memcmp(c->chaddr, h->chaddr, sizeof(c->chaddr))) {
			best = c;
			break;
		}
		if (best->used && (!c->used || c->at < best->at))
			best = c;
	}
	*best = (struct client){
		.xid = h->xid, .used = true, .htype = h->htype, .hlen = h->hlen, .at = now
	};
	memcpy(best->chaddr, h->chaddr, sizeof(best->chaddr));
	return best;
}

void eth_dhcp_fini(struct eth_if *e)
{
	free(e->dhcp);
}

/* --- to the link */

static void hide_address(struct dhcp_hdr *h)
{
	h->htype = DHCP_HTYPE_INFINIBAND;
	h->hlen = 0;
	memset(h->chaddr, 0, sizeof(h->chaddr));
}

/*
 * Tell whether the hardware type and length in the message are those of the hosts behind the
 * device.
 */
static bool is_device_form(const struct eth_if *e, const struct dhcp_hdr *h)
{
	return h->htype == e->shape->arp_hrd && (h->htype != DHCP_HTYPE_ETHER || h->hlen == 6);
}

static bool is_unset(const uint8_t a[4])
{
	return !be32_at(a);
}

/*
 * Sets or clears the broadcast flag of @m. RFC 4390 §2.2: the flag is set in the DISCOVER and
 * REQUEST messages of a client without an IP address, and in no other message. A plain BOOTP
 * request is treated as a DISCOVER.
 */
static void set_broadcast(struct msg *m)
{
	uint8_t type = DHCP_DISCOVER;

	if (m->options)
		dhcp_opt_get(m->bootp, m->len, DHCP_OPT_TYPE, &type, 1);
	if (is_unset(m->h.ciaddr) && (type == DHCP_DISCOVER || type == DHCP_REQUEST))
		m->h.flags |= DHCP_FLAG_BROADCAST;
	else
		m->h.flags &= (uint16_t)~DHCP_FLAG_BROADCAST;
}

/*
 * Makes an identifier of RFC 4361 for a client that sent no identifier, or one that must be
 * replaced. Return: number of octets of the identifier
 */
static size_t make_id(const struct eth_if *e, const struct client *c, uint8_t ret[MADE_ID_MAX])
{
	bool ether = c->htype == DHCP_HTYPE_ETHER;
	size_t len = ether ? 6 : 8;

	dhcp_client_id_make(ret, ether ? DHCP_HTYPE_ETHER : DHCP_HTYPE_EUI64,
			    ether ? c->chaddr : e->own.gid.raw + 8, len);
	return DHCP_CLIENT_ID_LEN(len);
}

/*
 * Sets c->made if the request @m has no client identifier, or one that must be replaced. An
 * identifier that must be replaced is stored in c->id.
 */
static int note_id(const struct eth_if *e, struct client *c, const struct msg *m)
{
	uint8_t id[255];
	int n;

	if (!m->options)
		return 0;
	n = dhcp_opt_get(m->bootp, m->len, DHCP_OPT_CLIENT_ID, id, sizeof(id));
	if (n < 0 && n != -ENOENT)
		return n;
	c->made = n < 0 || (n == 1 + e->shape->alen && id[0] == e->shape->arp_hrd);
	if (c->made && n > 0) {
		c->id_len = (uint8_t)n;
		memcpy(c->id, id, c->id_len);
	}
	return 0;
}

/* Rewrites a request of a client behind the device. Return: number of octets of BOOTP, or -errno */
static int request_to_link(struct eth_if *e, struct msg *m, size_t room, ns_t now)
{
	struct client *c = client_get(e, &m->h, now);
	uint8_t id[MADE_ID_MAX];
	int err = c ? note_id(e, c, m) : -ENOMEM;

	if (err)
		return err;
	set_broadcast(m);
	hide_address(&m->h);
	return msg_options(m, room, id, make_id(e, c, id), c->made);
}

struct pkt *eth_dhcp_to_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why)
{
	size_t room, mtu = ipoib_link_ip_mtu(e->cfg.link);
	struct msg m;
	int n;

	*why = ETH_DROP_DHCP;
	if (eth_csum_complete(p, 0))
		return NULL;
	n = msg_parse(&m, p);
	if (n == -EPROTO || !is_device_form(e, &m.h))
		return p;
	if (n)
		return NULL;
	room = (mtu && mtu < sizeof(m.out) ? mtu : sizeof(m.out)) - m.ihl - UDP_LEN;
	if (m.h.op == DHCP_OP_REQUEST && m.dport == DHCP_PORT_SERVER && is_unset(m.h.giaddr)) {
		n = request_to_link(e, &m, room, now);
	} else if (m.h.op == DHCP_OP_REPLY && m.dport == DHCP_PORT_CLIENT) {
		hide_address(&m.h);
		n = msg_options(&m, room, NULL, 0, false);
	} else {
		return p;
	}
	return msg_finish(e, p, &m, n, &e->stats.dhcp_tx, why);
}

/* --- from the link */

/*
 * Rewrites a reply to a client behind the device. Return: octets of BOOTP; -ENOENT: no client
 * behind the device has sent a request with this xid; other -errno
 */
static int reply_from_link(const struct eth_if *e, struct msg *m, size_t room)
{
	const struct client *c = client_find(e, m->h.xid);
	uint8_t made[MADE_ID_MAX], id[255];
	bool back = false;

	if (!c)
		return -ENOENT; /* no client behind this device waits for the broadcast reply */
	m->h.htype = c->htype;
	m->h.hlen = c->hlen;
	memcpy(m->h.chaddr, c->chaddr, sizeof(m->h.chaddr));
	if (m->options && c->made) {
		int n = dhcp_opt_get(m->bootp, m->len, DHCP_OPT_CLIENT_ID, id, sizeof(id));

		if (n < 0 && n != -ENOENT)
			return -EBADMSG;
		/*
		 * RFC 6842: a client drops a reply whose client identifier differs from the
		 * identifier that the client sent. So an identifier that make_id() put into the
		 * request is replaced by the client's own, or removed if the client sent none.
		 */
		back = n == (int)make_id(e, c, made) && !memcmp(id, made, (size_t)n);
	}
	return msg_options(m, room, c->id_len ? c->id : NULL, c->id_len, back);
}

static int request_from_link(struct eth_if *e, struct msg *m, size_t room, struct ipoib_neigh *src)
{
	bool ether = e->shape->arp_hrd == DHCP_HTYPE_ETHER;
	const uint8_t *mac = ether && src ? eth_peer_mac(e, src) : NULL;

	if (ether && !mac)
		/*
		 * if the client has no token, the request stays unchanged, and the server replies
		 * by broadcast
		 */
		return -ENOENT;
	/*
	 * Some clients set the broadcast flag in every message, even when they have an address and
	 * no longer receive broadcasts.
	 */
	if (!is_unset(m->h.ciaddr))
		m->h.flags &= (uint16_t)~DHCP_FLAG_BROADCAST;
	if (mac) {
		m->h.htype = DHCP_HTYPE_ETHER;
		m->h.hlen = 6;
		memset(m->h.chaddr, 0, sizeof(m->h.chaddr));
		memcpy(m->h.chaddr, mac, 6);
	}
	return msg_options(m, room, NULL, 0, false);
}

struct pkt *eth_dhcp_from_link(struct eth_if *e, struct pkt *p, struct ipoib_neigh *src,
			       enum eth_drop *why)
{
	struct msg m;
	size_t room;
	int n = msg_parse(&m, p);

	*why = ETH_DROP_RX_DHCP;
	if (n == -EPROTO || m.h.htype != DHCP_HTYPE_INFINIBAND)
		return p;
	if (n)
		return NULL;
	room = sizeof(m.out) - m.ihl - UDP_LEN;
	n = -ENOENT;
	if (m.h.op == DHCP_OP_REPLY && m.dport == DHCP_PORT_CLIENT)
		n = reply_from_link(e, &m, room);
	else if (m.h.op == DHCP_OP_REQUEST && m.dport == DHCP_PORT_SERVER && is_unset(m.h.giaddr))
		n = request_from_link(e, &m, room, src);
	if (n == -ENOENT)
		return p;
	return msg_finish(e, p, &m, n, &e->stats.dhcp_rx, why);
}
