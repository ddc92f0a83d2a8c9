/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_dhcp.h"
#include "unit/eth_ib.h"

#include <errno.h>

/*
 * DHCP messages of clients and servers on a device of ARP hardware type 32 (InfiniBand). These
 * messages already have the format of RFC 4390, so the interface must change only what violates RFC
 * 4390.
 */

#define GOT_AT HLEN

static const uint8_t no_ip[4];
static const uint8_t duid[] = { 255, 1, 2, 3, 4, 0, 2, 0, 0, 9, 9 };
/* client identifier of RFC 2132: the hardware type 32, and the 20 octets of the address */
static const uint8_t hw_id[] = { 32, 0, 0, 0, 0x48, 0xfe, 0x80, 0, 0, 0, 0,
				 0,  0, 0, 2, 0xc9, 3,	  0,	0, 0, 5 };
/*
 * client identifier of RFC 4390 that the interface makes: type 255, IAID, DUID type 3, hardware
 * type 27, the port's GUID
 */
static const uint8_t made[] = { 255, 0, 0, 0, 5, 0, 3, 0, 27, 0, 2, 0xc9, 3, 0, 0, 0, 5 };

/* Return a message of a client that conforms to RFC 4390 */
static struct message client_message(uint8_t type)
{
	bool has_address = type != DHCP_DISCOVER;
	struct message m = { .h = { .op = 1, .htype = 32, .xid = XID },
			     .type = type,
			     .id = duid,
			     .id_len = sizeof(duid),
			     .dport = 67,
			     .pad = 300 };

	m.h.flags = has_address ? 0 : DHCP_FLAG_BROADCAST;
	if (has_address)
		memcpy(m.h.ciaddr, er_ip_own, 4);
	return m;
}

static struct message server_message(uint8_t type)
{
	struct message m = client_message(type);

	m.h.op = 2;
	m.dport = 68;
	return m;
}

static size_t tx(const struct message *m, uint8_t *b)
{
	size_t n = build(b, m);

	er_clear();
	ib_tx(hw(BCAST_HW), ETH_P_IPV4, b, n);
	assert_int_equal(er.nsent, 1);
	return n;
}

static size_t rx(const struct message *m, uint8_t *b)
{
	ib_gid bcast = rig_bcast();
	size_t n = build(b, m);

	er_clear();
	ib_rx(ETH_P_IPV4, b, n, &bcast);
	assert_int_equal(er.ngot, 1);
	return n;
}

/*
 * sent() lets the message @m come from the TAP, and got() lets it come from the link. @h and @id
 * get the header and the client identifier of the message that the interface passes on. Both
 * functions return the length of this identifier
 */
static int sent(const struct message *m, struct dhcp_hdr *h, uint8_t id[255])
{
	uint8_t b[MSG_MAX + 100];

	tx(m, b);
	return parse(er.sent[0].data + ENCAP, er.sent[0].len - ENCAP, h, id);
}

static int got(const struct message *m, struct dhcp_hdr *h, uint8_t id[255])
{
	uint8_t b[MSG_MAX + 100];

	rx(m, b);
	return parse(er.got[0].data + GOT_AT, er.got[0].len - GOT_AT, h, id);
}

static void begin(void)
{
	ib_begin("rfc4391");
}

static void test_what_is_right_passes_unchanged(void **state)
{
	static const uint8_t types[] = { DHCP_DISCOVER, DHCP_REQUEST, DHCP_RELEASE, DHCP_INFORM };
	uint8_t b[MSG_MAX + 100];
	struct message m;
	size_t n;

	begin();
	for (unsigned int i = 0; i < sizeof(types); i++) {
		m = client_message(types[i]);
		n = tx(&m, b);
		assert_int_equal(er.sent[0].len, ENCAP + n);
		assert_memory_equal(er.sent[0].data + ENCAP, b, n);
		n = rx(&m, b);
		assert_memory_equal(ib_got(hw(PEER_HW), hw(BCAST_HW), ETH_P_IPV4), b, n);
	}
	m = server_message(DHCP_OFFER);
	n = rx(&m, b);
	assert_memory_equal(ib_got(hw(PEER_HW), hw(BCAST_HW), ETH_P_IPV4), b, n);
	n = tx(&m, b);
	assert_memory_equal(er.sent[0].data + ENCAP, b, n);
	assert_int_equal(eth_if_stats(er.e)->dhcp_tx + eth_if_stats(er.e)->dhcp_rx, 0);
	ib_end();
}

static void test_ethernets_form_and_raw_pass_unchanged(void **state)
{
	struct message m = client_message(DHCP_REQUEST);
	uint8_t b[MSG_MAX + 100];
	size_t n;

	m.h.flags = 0x8000;
	m.h.htype = 1;
	m.h.hlen = 6;
	begin();
	n = tx(&m, b);
	assert_memory_equal(er.sent[0].data + ENCAP, b, n);
	ib_end();
	er_dhcp_raw = true;
	begin();
	m.h.htype = 32;
	n = tx(&m, b);
	assert_memory_equal(er.sent[0].data + ENCAP, b, n);
	n = rx(&m, b);
	assert_memory_equal(ib_got(hw(PEER_HW), hw(BCAST_HW), ETH_P_IPV4), b, n);
	ib_end();
	er_dhcp_raw = false;
}

/*
 * systemd-networkd 252 releases its lease with hlen 0, but with 16 octets of its address in chaddr.
 * The interface must remove these octets before it sends the message to the link.
 */
static void test_D1_address_is_removed_from_requests(void **state)
{
	static const uint8_t zero[16];

	begin();
	for (uint8_t hlen = 0; hlen <= 16; hlen += 16) {
		struct message m = client_message(DHCP_RELEASE);
		struct dhcp_hdr h;
		uint8_t id[255];

		m.h.hlen = hlen;
		memcpy(m.h.chaddr, OWN_HW, 16);
		assert_int_equal(sent(&m, &h, id), sizeof(duid));
		assert_memory_equal(id, duid, sizeof(duid));
		assert_int_equal(h.htype, 32);
		assert_int_equal(h.hlen, 0);
		assert_memory_equal(h.chaddr, zero, sizeof(zero));
		assert_memory_equal(h.ciaddr, m.h.ciaddr, 4);
	}
	assert_int_equal(eth_if_stats(er.e)->dhcp_tx, 2);
	ib_end();
}

/*
 * The interface has removed the client's address from the request. It must put the address into the
 * reply, because a client may compare chaddr with its own address.
 */
static void test_D4_address_comes_back_in_replies(void **state)
{
	struct message m = client_message(DHCP_DISCOVER), r = server_message(DHCP_OFFER);
	struct dhcp_hdr h;
	uint8_t id[255];

	begin();
	m.h.hlen = 16;
	memcpy(m.h.chaddr, OWN_HW, 16);
	sent(&m, &h, id);
	assert_int_equal(got(&r, &h, id), sizeof(duid));
	assert_int_equal(h.htype, 32);
	assert_int_equal(h.hlen, 16);
	assert_memory_equal(h.chaddr, OWN_HW, 16);
	r.h.xid++; /* a reply for another client */
	got(&r, &h, id);
	assert_int_equal(h.hlen, 0);
	ib_end();
}

static void test_D3_broadcast_flag_by_type_and_ciaddr(void **state)
{
	static const struct {
		uint8_t type;
		bool has_address, want;
	} t[] = {
		{ DHCP_DISCOVER, false, true }, { DHCP_REQUEST, false, true },
		{ DHCP_REQUEST, true, false },	{ DHCP_DECLINE, false, false },
		{ DHCP_RELEASE, true, false },	{ DHCP_INFORM, true, false },
	};

	begin();
	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(t); i++) {
		struct message m = client_message(t[i / 2].type);
		struct dhcp_hdr h;
		uint8_t id[255];

		m.h.flags = i % 2 ? 0x8123 : 0x0123;
		memcpy(m.h.ciaddr, t[i / 2].has_address ? er_ip_own : no_ip, 4);
		sent(&m, &h, id);
		assert_int_equal(h.flags, t[i / 2].want ? 0x8123 : 0x0123);
	}
	ib_end();
}

/*
 * The interface replaces some client identifiers in requests. In the reply it must restore the
 * client's own identifier (RFC 6842).
 */
static void test_D2_identifiers_that_are_kept_and_replaced(void **state)
{
	static const struct {
		const uint8_t *id;
		uint8_t len;
		bool kept;
	} t[] = {
		{ duid, sizeof(duid), true },
		{ hw_id, sizeof(hw_id), false },
		{ hw_id, sizeof(hw_id) - 1, true },
		{ NULL, 0, false },
	};

	begin();
	for (unsigned int i = 0; i < ARRAY_SIZE(t); i++) {
		struct message m = client_message(DHCP_REQUEST), r = server_message(DHCP_ACK);
		uint8_t on_wire[255], id[255];
		struct dhcp_hdr h;
		int n;

		m.id = t[i].id;
		m.id_len = t[i].len;
		m.h.xid = r.h.xid = XID + i;
		n = sent(&m, &h, on_wire);
		assert_int_equal(n, t[i].kept ? t[i].len : sizeof(made));
		assert_memory_equal(on_wire, t[i].kept ? t[i].id : made, n);
		r.id = on_wire;
		r.id_len = (uint8_t)n;
		assert_int_equal(got(&r, &h, id), t[i].id ? t[i].len : -ENOENT);
		if (t[i].id)
			assert_memory_equal(id, t[i].id, t[i].len);
	}
	ib_end();
}

static void test_D3_server_is_not_asked_for_a_broadcast_by_who_has_an_address(void **state)
{
	struct message m = client_message(DHCP_REQUEST);
	struct dhcp_hdr h;
	uint8_t id[255];

	begin();
	m.h.flags = 0x8001;
	got(&m, &h, id);
	assert_int_equal(h.flags, 1);
	assert_int_equal(h.hlen, 0);
	m = client_message(DHCP_DISCOVER);
	got(&m, &h, id);
	assert_int_equal(h.flags, 0x8000);
	ib_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_right_passes_unchanged),
		cmocka_unit_test(test_ethernets_form_and_raw_pass_unchanged),
		cmocka_unit_test(test_D1_address_is_removed_from_requests),
		cmocka_unit_test(test_D4_address_comes_back_in_replies),
		cmocka_unit_test(test_D3_broadcast_flag_by_type_and_ciaddr),
		cmocka_unit_test(test_D2_identifiers_that_are_kept_and_replaced),
		cmocka_unit_test(test_D3_server_is_not_asked_for_a_broadcast_by_who_has_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
