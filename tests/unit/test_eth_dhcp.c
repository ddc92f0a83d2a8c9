/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_dhcp.h"

#include <errno.h>

static const uint8_t station[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };
static const uint8_t ether_id[] = { 1, 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };
static const uint8_t own_id[] = { 0, 'h', 'o', 's', 't', '-', '2' };

/* --- messages */

static struct message client_message(uint8_t type)
{
	struct message m = { .h = { .op = 1, .htype = 1, .hlen = 6, .xid = XID },
			     .type = type,
			     .dport = 67,
			     .pad = 300 };

	memcpy(m.h.chaddr, station, 6);
	return m;
}

static struct message server_message(uint8_t type)
{
	struct message m = client_message(type);

	m.h.op = 2;
	m.h.htype = 32;
	m.h.hlen = 0;
	memset(m.h.chaddr, 0, sizeof(m.h.chaddr));
	m.dport = 68;
	return m;
}

static void tx(const struct message *m)
{
	uint8_t b[MSG_MAX + 100];

	er_clear();
	er_tx(er_bcast_mac, ETH_P_IPV4, b, build(b, m));
}

static void rx(const struct message *m)
{
	ib_gid bcast = rig_bcast();
	uint8_t b[MSG_MAX + 100];

	er_clear();
	er_rx_mcast(&bcast, ETH_P_IPV4, b, build(b, m));
}

static int sent(struct dhcp_hdr *h, uint8_t id[255])
{
	assert_int_equal(er.nsent, 1);
	return parse(er.sent[0].data + ENCAP, er.sent[0].len - ENCAP, h, id);
}

static int got(struct dhcp_hdr *h, uint8_t id[255])
{
	assert_int_equal(er.ngot, 1);
	return parse(er.got[0].data + 14, er.got[0].len - 14, h, id);
}

static void check_no_address(const struct dhcp_hdr *h)
{
	static const uint8_t zero[16];

	assert_int_equal(h->htype, 32);
	assert_int_equal(h->hlen, 0);
	assert_memory_equal(h->chaddr, zero, sizeof(zero));
}

static void check_address(const struct dhcp_hdr *h, const uint8_t mac[6])
{
	static const uint8_t zero[10];

	assert_int_equal(h->htype, 1);
	assert_int_equal(h->hlen, 6);
	assert_memory_equal(h->chaddr, mac, 6);
	assert_memory_equal(h->chaddr + 6, zero, sizeof(zero));
}

/* --- DHCP clients on the host, whose messages come from the TAP */

static void test_D1_D2_D3_discover(void **state)
{
	static const uint8_t made[] = { 255, 0,	   0x12, 0x34, 0x56, 0,	   3,	0,
					1,   0x52, 0x54, 0,    0x12, 0x34, 0x56 };
	struct message m = client_message(DHCP_DISCOVER);
	uint8_t id[255];
	struct dhcp_hdr h;

	er_init();
	tx(&m);
	assert_int_equal(sent(&h, id), sizeof(made));
	assert_memory_equal(id, made, sizeof(made));
	check_no_address(&h);
	assert_int_equal(h.flags, DHCP_FLAG_BROADCAST);
	assert_int_equal(h.xid, XID);
	/*
	 * the new client identifier is longer, but takes the place of padding, so the packet has
	 * the same length as before
	 */
	assert_int_equal(er.sent[0].len, ENCAP + 20 + 8 + 300);
	assert_int_equal(eth_if_stats(er.e)->dhcp_tx, 1);
	er_fini();
}

/*
 * If a client waits for a reply and has no IP address, its message must have the broadcast flag
 * (RFC 4390 §2.2), because on InfiniBand a server cannot send to chaddr. In all other messages the
 * flag must be 0.
 */
static void test_D3_broadcast_flag_by_type_and_ciaddr(void **state)
{
	static const struct {
		uint8_t type;
		bool has_address, want;
	} t[] = {
		{ DHCP_DISCOVER, false, true },
		{ DHCP_REQUEST, false, true },
		{ DHCP_REQUEST, true, false },
		{ DHCP_DECLINE, false, false },
		{ DHCP_RELEASE, true, false },
		{ DHCP_INFORM, true, false },
		{ 0, false, true },
	};

	er_init();
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		for (unsigned int had = 0; had < 2; had++) {
			struct message m = client_message(t[i].type);
			uint8_t id[255];
			struct dhcp_hdr h;

			m.h.flags = had ? DHCP_FLAG_BROADCAST | 0x0123 : 0x0123;
			if (t[i].has_address)
				memcpy(m.h.ciaddr, er_ip_own, 4);
			tx(&m);
			assert_int_equal(sent(&h, id), DHCP_CLIENT_ID_LEN(6));
			assert_int_equal(h.flags, t[i].want ? 0x8123 : 0x0123);
			assert_memory_equal(h.ciaddr, m.h.ciaddr, 4);
		}
	}
	er_fini();
}

static void test_D2_identifiers_that_are_kept_and_replaced(void **state)
{
	static const uint8_t duid[] = { 255, 1, 2, 3, 4, 0, 2, 0, 0, 9, 9 };
	static const struct {
		const uint8_t *id;
		uint8_t len;
		bool kept;
	} t[] = {
		{ duid, sizeof(duid), true },
		{ own_id, sizeof(own_id), true },
		{ ether_id, sizeof(ether_id), false },
		{ ether_id, sizeof(ether_id) - 1, true }, /* too short to contain a MAC */
		{ NULL, 0, false },
	};

	er_init();
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		struct message m = client_message(DHCP_REQUEST);
		uint8_t id[255];
		struct dhcp_hdr h;

		m.id = t[i].id;
		m.id_len = t[i].len;
		tx(&m);
		assert_int_equal(sent(&h, id), t[i].kept ? t[i].len : DHCP_CLIENT_ID_LEN(6));
		if (t[i].kept)
			assert_memory_equal(id, t[i].id, t[i].len);
		else
			assert_int_equal(id[0], 255);
	}
	er_fini();
}

static void test_D4_reply_comes_back_as_ethernet(void **state)
{
	struct message m = client_message(DHCP_DISCOVER), r = server_message(DHCP_OFFER);
	uint8_t id[255];
	struct dhcp_hdr h;

	er_init();
	tx(&m);
	memcpy(r.h.yiaddr, er_ip_own, 4);
	rx(&r);
	assert_int_equal(got(&h, id), -ENOENT);
	check_address(&h, station);
	assert_memory_equal(h.yiaddr, er_ip_own, 4);
	assert_memory_equal(er.got[0].data, er_bcast_mac, 6);
	assert_int_equal(eth_if_stats(er.e)->dhcp_rx, 1);
	/*
	 * A second reply must be translated as well, because a server may repeat its reply, or two
	 * servers may answer.
	 */
	rx(&r);
	got(&h, id);
	check_address(&h, station);
	er_fini();
}

/*
 * The interface has changed the client identifier in the request, and the server returns this
 * changed identifier (RFC 6842). In the reply to the client, the interface must restore the
 * client's own identifier, because a client accepts no other.
 */
static void test_D4_echoed_identifier_becomes_what_it_was(void **state)
{
	static const struct {
		const uint8_t *id;
		uint8_t len;
	} t[] = { { NULL, 0 }, { ether_id, sizeof(ether_id) }, { own_id, sizeof(own_id) } };

	er_init();
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		struct message m = client_message(DHCP_REQUEST), r = server_message(DHCP_ACK);
		uint8_t on_wire[255], id[255];
		struct dhcp_hdr h;

		m.h.xid = r.h.xid = XID + i;
		m.id = t[i].id;
		m.id_len = t[i].len;
		tx(&m);
		r.id = on_wire;
		r.id_len = (uint8_t)sent(&h, on_wire);
		rx(&r);
		assert_int_equal(got(&h, id), t[i].id ? t[i].len : -ENOENT);
		if (t[i].id)
			assert_memory_equal(id, t[i].id, t[i].len);
	}
	er_fini();
}

/*
 * The client identifier of this reply is not one that the interface has made, so the interface must
 * not change the identifier.
 */
static void test_D4_other_identifiers_in_replies_stay(void **state)
{
	struct message m = client_message(DHCP_REQUEST), r = server_message(DHCP_ACK);
	uint8_t id[255];
	struct dhcp_hdr h;

	er_init();
	tx(&m);
	r.id = own_id;
	r.id_len = sizeof(own_id);
	rx(&r);
	assert_int_equal(got(&h, id), sizeof(own_id));
	check_address(&h, station);
	er_fini();
}

static void test_D4_clients_are_told_apart_by_xid(void **state)
{
	struct message m = client_message(DHCP_DISCOVER), r = server_message(DHCP_OFFER);
	uint8_t id[255];
	struct dhcp_hdr h;

	er_init();
	/*
	 * The interface remembers 64 clients. With the 65th client, the oldest client is forgotten.
	 */
	for (unsigned int i = 0; i < 65; i++) {
		m.h.chaddr[5] = (uint8_t)i;
		m.h.xid = 0x1000 + i;
		tx(&m);
		er_run(NS_MSEC(1));
	}
	for (unsigned int i = 0; i < 65; i++) {
		uint8_t mac[6] = { 0x52, 0x54, 0x00, 0x12, 0x34, (uint8_t)i };

		r.h.xid = 0x1000 + i;
		rx(&r);
		got(&h, id);
		if (i)
			check_address(&h, mac);
		else
			/*
			 * the interface has forgotten this client, so it writes no MAC into the
			 * reply
			 */
			check_no_address(&h);
	}
	assert_int_equal(er_drops_sum(), 0);
	er_fini();
}

static void test_reply_to_somebody_else_passes_as_it_is(void **state)
{
	struct message r = server_message(DHCP_OFFER);
	uint8_t b[MSG_MAX];
	size_t n = build(b, &r);

	er_init();
	rx(&r);
	assert_int_equal(er.ngot, 1);
	assert_int_equal(er.got[0].len, 14 + n);
	assert_memory_equal(er.got[0].data + 14, b, n);
	er_fini();
}

/* --- DHCP servers on the host, whose messages come from the TAP */

static void test_D4_server_sees_the_token_and_its_reply_loses_it(void **state)
{
	struct message m = server_message(DHCP_DISCOVER), r = client_message(DHCP_OFFER);
	uint8_t id[255];
	struct dhcp_hdr h;

	er_init_peer();
	m.h.op = 1;
	m.h.flags = DHCP_FLAG_BROADCAST;
	m.dport = 67;
	m.id = own_id;
	m.id_len = sizeof(own_id);
	rx(&m);
	assert_int_equal(got(&h, id), sizeof(own_id));
	check_address(&h, er_peer_mac);
	assert_int_equal(h.flags, DHCP_FLAG_BROADCAST);

	r.h.op = 2;
	r.dport = 68;
	memcpy(r.h.chaddr, er_peer_mac, 6);
	r.h.flags = 0;
	/*
	 * the interface did not change the client identifier in the request, so it must not change
	 * the identifier in the reply
	 */
	r.id = own_id;
	r.id_len = sizeof(own_id);
	tx(&r);
	assert_int_equal(sent(&h, id), sizeof(own_id));
	check_no_address(&h);
	assert_int_equal(h.flags, 0);
	er_fini();
}

/*
 * A request from the link has the broadcast flag although its client has an IP address. A correct
 * client would clear the flag. The interface must clear it before the request reaches the server
 * behind the TAP.
 *
 * The reason: systemd-networkd sets the flag even in the request that renews its lease, but then
 * accepts only a unicast reply. Some servers, such as ISC's, obey the flag. If the interface did
 * not clear the flag, systemd-networkd could not renew its lease at such a server.
 */
static void test_D3_server_is_not_asked_for_a_broadcast_by_who_has_an_address(void **state)
{
	struct message m = server_message(DHCP_REQUEST);
	uint8_t id[255];
	struct dhcp_hdr h;

	er_init_peer();
	m.h.op = 1;
	m.h.flags = DHCP_FLAG_BROADCAST | 0x0123;
	memcpy(m.h.ciaddr, er_ip_peer, 4);
	m.dport = 67;
	m.id = own_id;
	m.id_len = sizeof(own_id);
	rx(&m);
	got(&h, id);
	check_address(&h, er_peer_mac);
	assert_int_equal(h.flags, 0x0123);
	assert_memory_equal(h.ciaddr, er_ip_peer, 4);
	er_fini();
}

static void test_request_of_a_sender_without_name_passes_as_it_is(void **state)
{
	struct message m = server_message(DHCP_REQUEST);
	uint8_t b[MSG_MAX];
	size_t n;

	er_init();
	m.h.op = 1;
	m.dport = 67;
	n = build(b, &m);
	er_rx_pkt(er_packet(ETH_P_IPV4, b, n), 9, 0x99, false, NULL);
	assert_int_equal(er.ngot, 1);
	assert_memory_equal(er.got[0].data + 14, b, n);
	er_fini();
}

/* --- messages that are not rewritten */

static void check_passes_unchanged(const struct message *m)
{
	uint8_t b[MSG_MAX];
	size_t n = build(b, m);

	tx(m);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].len, ENCAP + n);
	assert_memory_equal(er.sent[0].data + ENCAP, b, n);
}

static void test_relayed_and_foreign_messages_pass_as_they_are(void **state)
{
	struct message relayed = client_message(DHCP_DISCOVER), to_relay = relayed, ib = relayed;

	er_init();
	relayed.h.giaddr[0] = 10;
	check_passes_unchanged(&relayed);
	to_relay.h.op = 2; /* the reply of a server to a relay agent, with destination port 67 */
	check_passes_unchanged(&to_relay);
	ib.h.htype = 32; /* the client already uses the format of RFC 4390 */
	ib.h.hlen = 0;
	check_passes_unchanged(&ib);
	assert_int_equal(eth_if_stats(er.e)->dhcp_tx, 0);
	er_fini();
}

static void test_raw_passes_as_it_is(void **state)
{
	struct message m = client_message(DHCP_DISCOVER), r = server_message(DHCP_OFFER);
	uint8_t b[MSG_MAX];
	size_t n = build(b, &r);

	er_dhcp_raw = true;
	er_init();
	er_dhcp_raw = false;
	check_passes_unchanged(&m);
	rx(&r);
	assert_memory_equal(er.got[0].data + 14, b, n);
	er_fini();
}

static void test_what_is_no_bootp_passes_as_it_is(void **state)
{
	struct message m = client_message(DHCP_DISCOVER);
	uint8_t b[MSG_MAX];
	size_t n = build(b, &m);

	er_init();
	for (size_t len = 28; len < 28 + DHCP_FIXED_LEN; len += 9) {
		uint8_t c[MSG_MAX];

		memcpy(c, b, len);
		be16_put(c + 2, (uint16_t)len);
		be16_put(c + 24, (uint16_t)(len - 20));
		er_clear();
		er_tx(er_bcast_mac, ETH_P_IPV4, c, len);
		assert_int_equal(er.nsent, 1);
		assert_memory_equal(er.sent[0].data + ENCAP, c, len);
	}
	/*
	 * Packets that must not be parsed as DHCP: a UDP length above the IP length, fragments, and
	 * other ports
	 */
	be16_put(b + 24, (uint16_t)(n - 19));
	er_clear();
	er_tx(er_bcast_mac, ETH_P_IPV4, b, n);
	be16_put(b + 24, (uint16_t)(n - 20));
	be16_put(b + 6, 0x2000);
	er_tx(er_bcast_mac, ETH_P_IPV4, b, n);
	be16_put(b + 6, 0x0001);
	er_tx(er_bcast_mac, ETH_P_IPV4, b, n);
	be16_put(b + 6, 0);
	be16_put(b + 22, 69);
	er_tx(er_bcast_mac, ETH_P_IPV4, b, n);
	assert_int_equal(er.nsent, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(er.sent[i].data[ENCAP + BOOTP_AT + 1], 1);
	assert_int_equal(er_drops_sum(), 0);
	assert_int_equal(eth_if_stats(er.e)->dhcp_tx, 0);
	er_fini();
}

/* --- checksums, lengths, the MTU */

static void test_wrong_checksum_is_not_blessed(void **state)
{
	struct message m = client_message(DHCP_DISCOVER), r = server_message(DHCP_OFFER);
	ib_gid bcast = rig_bcast();
	uint8_t b[MSG_MAX];
	size_t n = build(b, &m);

	er_init();
	b[100] ^= 1;
	er_tx(er_bcast_mac, ETH_P_IPV4, b, n);
	er_check_dropped(ETH_DROP_DHCP);
	tx(&m);
	n = build(b, &r);
	b[100] ^= 1;
	er_rx_mcast(&bcast, ETH_P_IPV4, b, n);
	assert_int_equal(er.ngot, 0);
	assert_int_equal(er_drops(ETH_DROP_RX_DHCP), 1);
	er_fini();
}

static void test_no_checksum_stays_none(void **state)
{
	struct message m = client_message(DHCP_DISCOVER);

	er_init();
	m.no_sum = true;
	tx(&m);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].data[ENCAP + BOOTP_AT + 1], 32);
	assert_int_equal(be16_at(er.sent[0].data + ENCAP + 26), 0);
	er_fini();
}

/*
 * The UDP checksum of the packet is partial: the kernel leaves it to the device to complete the
 * checksum.
 */
static void test_partial_checksum(void **state)
{
	struct message m = client_message(DHCP_REQUEST);
	uint8_t b[MSG_MAX], id[255];
	size_t n = build(b, &m);
	struct dhcp_hdr h;
	struct pkt *p;

	er_init();
	be16_put(b + 26, er_sum(b + 12, 8, (uint32_t)(17 + n - 20)));
	p = er_frame(er_bcast_mac, er.mac, ETH_P_IPV4, b, n);
	frame_info(p)->csum = FRAME_CSUM_PARTIAL;
	frame_info(p)->csum_start = 20;
	frame_info(p)->csum_offset = 6;
	er_tx_pkt(p);
	assert_int_equal(sent(&h, id), DHCP_CLIENT_ID_LEN(6));
	check_no_address(&h);
	er_fini();
}

static void test_broken_options_are_dropped(void **state)
{
	struct message m = client_message(DHCP_DISCOVER);

	er_init();
	m.id = own_id;
	m.id_len = sizeof(own_id);
	m.pad = DHCP_OPTIONS + 3 + 2 + 4; /* the message ends inside the identifier */
	tx(&m);
	er_check_dropped(ETH_DROP_DHCP);
	er_fini();
}

static void test_above_the_mtu(void **state)
{
	struct message m = client_message(DHCP_DISCOVER);
	uint8_t id[255];
	struct dhcp_hdr h;

	er_init();
	/*
	 * The message is padded to the MTU. Padding must be removed, so that the longer identifier
	 * fits into the MTU.
	 */
	m.pad = 2044 - 28;
	tx(&m);
	assert_int_equal(sent(&h, id), DHCP_CLIENT_ID_LEN(6));
	assert_int_equal(er.sent[0].len, ENCAP + 2044);
	er_fini();
}

/*
 * The message is full of options up to the MTU. Options must not be removed, so the message is
 * dropped.
 */
static void test_options_above_the_mtu_are_dropped(void **state)
{
	struct message m = client_message(DHCP_DISCOVER);
	uint8_t b[MSG_MAX], *o;
	size_t n, at;

	er_init();
	m.pad = 2044 - 28;
	m.no_sum = true;
	n = build(b, &m);
	at = BOOTP_AT + DHCP_OPTIONS + 3;
	for (o = b + at; o + 257 < b + n - 1; o += 257) {
		o[0] = 224;
		o[1] = 255;
		memset(o + 2, 1, 255);
	}
	o[0] = 224;
	o[1] = (uint8_t)(b + n - 1 - o - 2);
	memset(o + 2, 1, o[1]);
	b[n - 1] = 255;
	er_tx(er_bcast_mac, ETH_P_IPV4, b, n);
	er_check_dropped(ETH_DROP_DHCP);
	er_fini();
}

static void test_ip_options_before_it(void **state)
{
	struct message m = client_message(DHCP_DISCOVER);
	uint8_t b[MSG_MAX], c[MSG_MAX] = { 0 };
	size_t n = build(b, &m);

	er_init();
	memcpy(c, b, 20);
	memcpy(c + 24, b + 20, n - 20);
	c[0] = 0x46;
	be16_put(c + 2, (uint16_t)(n + 4));
	er_tx(er_bcast_mac, ETH_P_IPV4, c, n + 4);
	assert_int_equal(er.nsent, 1);
	assert_int_equal(er.sent[0].data[ENCAP + 24 + 8 + 1], 32);
	assert_int_equal(er_sum(er.sent[0].data + ENCAP, 24, 0), 0xffff);
	er_fini();
}

/* --- stations */

static void test_D4_station_and_interface_with_the_same_xid_in_turn(void **state)
{
	struct message m = client_message(DHCP_DISCOVER), r = server_message(DHCP_OFFER);
	uint8_t b[MSG_MAX], id[255];
	struct dhcp_hdr h;

	er_max_stations = 4;
	er_init();
	er_max_stations = 0;
	er_tx_from(station, er_bcast_mac, ETH_P_IPV4, b, build(b, &m));
	assert_int_equal(sent(&h, id), DHCP_CLIENT_ID_LEN(6));
	assert_int_equal(er.sent[0].src_qpn, er_station(station)->qpn);
	er_run(NS_MSEC(1));
	memcpy(m.h.chaddr, er.mac, 6);
	tx(&m);
	rx(&r);
	got(&h, id);
	/*
	 * the client with the interface's own MAC was the last one to use the transaction ID, so
	 * the reply must be for this client
	 */
	check_address(&h, er.mac);
	er_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_D1_D2_D3_discover),
		cmocka_unit_test(test_D3_broadcast_flag_by_type_and_ciaddr),
		cmocka_unit_test(test_D2_identifiers_that_are_kept_and_replaced),
		cmocka_unit_test(test_D4_reply_comes_back_as_ethernet),
		cmocka_unit_test(test_D4_echoed_identifier_becomes_what_it_was),
		cmocka_unit_test(test_D4_other_identifiers_in_replies_stay),
		cmocka_unit_test(test_D4_clients_are_told_apart_by_xid),
		cmocka_unit_test(test_reply_to_somebody_else_passes_as_it_is),
		cmocka_unit_test(test_D4_server_sees_the_token_and_its_reply_loses_it),
		cmocka_unit_test(test_D3_server_is_not_asked_for_a_broadcast_by_who_has_an_address),
		cmocka_unit_test(test_request_of_a_sender_without_name_passes_as_it_is),
		cmocka_unit_test(test_relayed_and_foreign_messages_pass_as_they_are),
		cmocka_unit_test(test_raw_passes_as_it_is),
		cmocka_unit_test(test_what_is_no_bootp_passes_as_it_is),
		cmocka_unit_test(test_wrong_checksum_is_not_blessed),
		cmocka_unit_test(test_no_checksum_stays_none),
		cmocka_unit_test(test_partial_checksum),
		cmocka_unit_test(test_broken_options_are_dropped),
		cmocka_unit_test(test_above_the_mtu),
		cmocka_unit_test(test_options_above_the_mtu_are_dropped),
		cmocka_unit_test(test_ip_options_before_it),
		cmocka_unit_test(test_D4_station_and_interface_with_the_same_xid_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
