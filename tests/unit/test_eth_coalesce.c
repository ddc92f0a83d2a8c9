/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/eth_rig.h"
#include "wire/ip.h"

/*
 * Tests that datagrams of the kernel are coalesced into trains, and that the packets of the trains
 * are the datagrams, octet for octet.
 */

#define BURST 6
#define MOST PKT_BATCH

static const uint8_t station_mac[6] = { 2, 0, 0, 0, 0, 9 };
static uint8_t other_mac[6]; /* token of a second peer */
static const uint8_t v6_own[16] = { 0xfd, [15] = 5 }, v6_peer[16] = { 0xfd, [15] = 7 };

static struct pkt_buf *buf; /* buffer of the frames */
static size_t buf_used;

/* A frame that the kernel sends; the tests change these values before the frame is made */
struct dgram {
	bool v6, complete; /* complete: the checksum is not partial */
	uint16_t id, frag, port, csum_change;
	uint8_t tos, ttl, proto, mac[6], from[6];
	size_t len;
	bool bad_ip_csum, ip_csum_of_ones;
};

/* a change of the datagrams of a burst, of which this is number @k */
typedef void change_fn(struct dgram *d, unsigned int k);

static uint16_t pseudo(const uint8_t *ip, bool v6, uint8_t proto, size_t l4_len)
{
	return er_sum(ip + (v6 ? 8 : 12), v6 ? 32 : 8, (uint32_t)(proto + l4_len));
}

static size_t put_ip(uint8_t *b, const struct dgram *d, const uint8_t *l4, size_t n)
{
	if (d->v6)
		return er_ip6(b, v6_own, v6_peer, d->proto, d->ttl, l4, n);
	er_ip4(b, er_ip_own, er_ip_peer, d->proto, l4, n);
	b[1] = d->tos;
	be16_put(b + 4, d->id);
	be16_put(b + 6, d->frag);
	b[8] = d->ttl;
	be16_put(b + 10, 0);
	be16_put(b + 10, (uint16_t)(~er_sum(b, 20, 0) + d->bad_ip_csum));
	if (d->ip_csum_of_ones) {
		/* an identification with which the checksum is 0, which may also be written as all ones */
		be16_put(b + 4, (uint16_t)(d->id + be16_at(b + 10)));
		be16_put(b + 10, 0xffff);
	}
	return 20 + n;
}

/* Make a frame of the IP packet @ip, in the buffer that holds the frames before it, if there is room */
static struct pkt *to_frame(const struct dgram *d, const uint8_t *ip, size_t n)
{
	struct pkt *p = pkt_alloc(er.r.pool);
	uint8_t *at;

	if (!buf || buf_used + 14 + n > PKT_BUF_SIZE) {
		if (buf)
			pkt_buf_put(buf);
		buf = pkt_buf_alloc(er.r.pool);
		buf_used = 0;
	}
	assert_true(p && buf);
	at = buf->data + buf_used;
	memcpy(at, d->mac, 6);
	memcpy(at + 6, d->from, 6);
	be16_put(at + 12, d->v6 ? ETH_P_IPV6_ : ETH_P_IPV4);
	memcpy(at + 14, ip, n);
	pkt_add_slice(p, buf, at, (uint32_t)(14 + n));
	buf_used += 14 + n;
	return p;
}

static struct pkt *make(const struct dgram *d, unsigned int k)
{
	static uint8_t b[3000], l4[3000];
	unsigned int at = d->proto == PROTO_UDP ? 6 : 16, hlen = d->v6 ? 40 : 20;
	size_t l4_hlen = at == 6 ? 8 : 20, n = l4_hlen + d->len;
	struct pkt *p;

	memset(l4, 0, l4_hlen);
	be16_put(l4, 4000);
	be16_put(l4 + 2, d->port);
	if (at == 6)
		be16_put(l4 + 4, (uint16_t)n);
	else
		l4[12] = 0x50, l4[13] = 0x10;
	for (size_t i = 0; i < d->len; i++)
		l4[l4_hlen + i] = (uint8_t)(i * 7 + k * 31);
	put_ip(b, d, l4, n);
	be16_put(b + hlen + at, (uint16_t)(pseudo(b, d->v6, d->proto, n) + d->csum_change));
	if (d->complete)
		be16_put(b + hlen + at, (uint16_t)~er_sum(b + hlen, n, 0));
	p = to_frame(d, b, hlen + n);
	if (d->complete)
		return p;
	frame_info(p)->csum = FRAME_CSUM_PARTIAL;
	frame_info(p)->csum_start = (uint16_t)hlen;
	frame_info(p)->csum_offset = (uint16_t)at;
	return p;
}

static void send_burst(unsigned int n, change_fn *change)
{
	struct pkt *v[MOST];

	for (unsigned int k = 0; k < n; k++) {
		struct dgram d = { .id = (uint16_t)(0xfffd + k),
				   .port = 5000,
				   .ttl = 64,
				   .proto = PROTO_UDP,
				   .len = 64 };

		memcpy(d.mac, er_peer_mac, 6);
		memcpy(d.from, er.mac, 6);
		if (change)
			change(&d, k);
		v[k] = make(&d, k);
	}
	pkt_buf_put(buf);
	buf = NULL;
	er_drain();
	eth_tx(er.e, v, n, er.r.s.now);
	er_drain();
}

/* Make an interface that knows two peers and a station. */
static void init(bool trains)
{
	uint8_t b[100];

	er_trains = trains;
	er_max_stations = 2;
	er_init_peer();
	er_learn(ER_PEER + 1, ER_PEER_QPN + 1, other_mac);
	er_tx(other_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 10));
	er_tx_from(station_mac, er_peer_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 10));
	er_run(NS_MSEC(10));
	assert_int_equal(er.nsent, 2);
	er_clear();
}

static void fini(void)
{
	er_fini();
	er_trains = false;
	er_max_stations = 0;
}

/*
 * Send the same burst by an interface without trains and by one with trains. Both must send the same
 * packets. @trains: expected number of packets of each descriptor that the second one sends; 0: the end
 */
static void check_burst(const char *what, unsigned int n, change_fn *change,
			const unsigned int *trains)
{
	static struct er_sent alone[MOST];
	unsigned int sent = 0;

	init(false);
	send_burst(n, change);
	assert_int_equal(er.nsent, n);
	memcpy(alone, er.sent, n * sizeof(*alone));
	fini();
	init(true);
	send_burst(n, change);
	assert_int_equal(er.nsent, n);
	for (unsigned int i = 0; i < n; i++) {
		if (er.sent[i].len != alone[i].len ||
		    memcmp(er.sent[i].data, alone[i].data, alone[i].len))
			fail_msg("%s: packet %u differs", what, i);
		assert_int_equal(er.sent[i].dest_qpn, alone[i].dest_qpn);
		assert_int_equal(er.sent[i].src_qpn, alone[i].src_qpn);
	}
	for (; *trains; sent += *trains++)
		for (unsigned int i = 0; i < *trains; i++)
			if (er.sent[sent + i].train != *trains)
				fail_msg("%s: packet %u is in a train of %u, expected: %u", what,
					 sent + i, er.sent[sent + i].train, *trains);
	assert_int_equal(sent, n);
	assert_int_equal(eth_if_stats(er.e)->tx_frames, n + 3);
	assert_int_equal(eth_if_stats(er.e)->tx_segments, 0);
	assert_int_equal(er_drops_sum(), 0);
	assert_int_equal(pkt_pool_pkts_used(er.r.pool), 0);
	assert_int_equal(pkt_pool_bufs_used(er.r.pool), 0);
	fini();
}

/* --- changes of the third datagram, or of all */

static void ipv6(struct dgram *d, unsigned int k)
{
	d->v6 = true;
}
static void with_df(struct dgram *d, unsigned int k)
{
	d->frag = 0x4000;
}
static void constant_id(struct dgram *d, unsigned int k)
{
	d->frag = 0x4000;
	d->id = 0;
}
static void constant_id_no_df(struct dgram *d, unsigned int k)
{
	d->id = 0;
}
static void id_changes(struct dgram *d, unsigned int k)
{
	d->frag = 0x4000;
	d->id = k < 3 ? 7 : 8;
}
static void id_stays(struct dgram *d, unsigned int k)
{
	d->frag = 0x4000;
	d->id = k < 3 ? k : 2;
}
static void all_complete(struct dgram *d, unsigned int k)
{
	d->complete = true;
}
static void id_jumps(struct dgram *d, unsigned int k)
{
	d->id += k >= 2;
}
static void shorter(struct dgram *d, unsigned int k)
{
	d->len -= k == 2;
}
static void longer(struct dgram *d, unsigned int k)
{
	d->len += k == 2;
}
static void empty(struct dgram *d, unsigned int k)
{
	d->len = k == 2 ? 0 : d->len;
}
static void other_tos(struct dgram *d, unsigned int k)
{
	d->tos = k == 2;
}
static void other_ttl(struct dgram *d, unsigned int k)
{
	d->ttl -= k == 2;
}
static void other_hop_limit(struct dgram *d, unsigned int k)
{
	d->v6 = true;
	d->ttl -= k == 2;
}
static void other_port(struct dgram *d, unsigned int k)
{
	d->port += k == 2;
}
static void fragment(struct dgram *d, unsigned int k)
{
	d->frag = k == 2 ? 0x2000 : 0;
}
static void complete(struct dgram *d, unsigned int k)
{
	d->complete = k == 2;
}
static void wrong_partial(struct dgram *d, unsigned int k)
{
	d->csum_change = k == 2;
}
static void wrong_ip_csum(struct dgram *d, unsigned int k)
{
	d->bad_ip_csum = k == 2;
}
static void ip_csum_of_ones(struct dgram *d, unsigned int k)
{
	d->ip_csum_of_ones = k == 2;
}
static void tcp(struct dgram *d, unsigned int k)
{
	d->proto = k == 2 ? PROTO_TCP : d->proto;
}
static void large(struct dgram *d, unsigned int k)
{
	d->len = 2000;
}
static void to_all(struct dgram *d, unsigned int k)
{
	memcpy(d->mac, er_bcast_mac, 6);
}
static void one_to_all(struct dgram *d, unsigned int k)
{
	if (k == 2)
		memcpy(d->mac, er_bcast_mac, 6);
}

static void other_peer(struct dgram *d, unsigned int k)
{
	if (k == 2)
		memcpy(d->mac, other_mac, 6);
}

static void from_a_station(struct dgram *d, unsigned int k)
{
	if (k == 2)
		memcpy(d->from, station_mac, 6);
}

static void test_datagrams_become_a_train_only_if_nobody_can_tell(void **state)
{
	static const struct {
		const char *what;
		unsigned int n;
		change_fn *change;
		unsigned int trains[MOST];
	} c[] = {
		{ "equal datagrams", 6, NULL, { 6 } },
		{ "IPv6", 6, ipv6, { 6 } },
		{ "DF", 6, with_df, { 6 } },
		{ "DF, equal identifications", 6, constant_id, { 6 } },
		{ "equal identifications without DF", 3, constant_id_no_df, { 1, 1, 1 } },
		{ "identification changes after equal ones", 6, id_changes, { 3, 3 } },
		{ "identification counts, then stays", 6, id_stays, { 3, 3 } },
		{ "complete checksums", 3, all_complete, { 1, 1, 1 } },
		{ "identification", 6, id_jumps, { 2, 4 } },
		{ "shorter", 6, shorter, { 3, 3 } },
		{ "longer", 6, longer, { 2, 2, 2 } },
		{ "no payload", 6, empty, { 2, 1, 3 } },
		{ "TOS", 6, other_tos, { 2, 1, 3 } },
		{ "TTL", 6, other_ttl, { 2, 1, 3 } },
		{ "hop limit", 6, other_hop_limit, { 2, 1, 3 } },
		{ "port", 6, other_port, { 2, 1, 3 } },
		{ "fragment", 6, fragment, { 2, 1, 3 } },
		{ "complete checksum", 6, complete, { 2, 1, 3 } },
		{ "wrong partial checksum", 6, wrong_partial, { 2, 1, 3 } },
		{ "wrong IPv4 checksum", 6, wrong_ip_csum, { 2, 1, 3 } },
		{ "IPv4 checksum of ones", 6, ip_csum_of_ones, { 2, 1, 3 } },
		{ "TCP", 6, tcp, { 2, 1, 3 } },
		{ "broadcast", 3, to_all, { 1, 1, 1 } },
		{ "a broadcast among them", 6, one_to_all, { 2, 1, 3 } },
		{ "another peer", 6, other_peer, { 2, 1, 3 } },
		{ "a station as the sender", 6, from_a_station, { 2, 1, 3 } },
		{ "as many as a super-frame may have", 128, NULL, { 64, 64 } },
		{ "as many octets as an IP packet may have", 40, large, { 32, 8 } },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(c); i++)
		check_burst(c[i].what, c[i].n, c[i].change, c[i].trains);
}

/* Packets of a super-frame wait for room and are sent in parts, of which one is a single packet. */
static void test_datagrams_are_no_segments(void **state)
{
	init(true);
	eth_set_room(er.e, BURST - 1);
	send_burst(BURST, NULL);
	assert_int_equal(er.nsent, BURST - 1);
	eth_set_room(er.e, 1);
	assert_int_equal(eth_tx_more(er.e, er.r.s.now), 0);
	assert_int_equal(er.nsent, BURST);
	assert_int_equal(eth_if_stats(er.e)->tx_segments, 0);
	fini();
}

/*
 * While many buffers are in use, datagrams are not coalesced, because the copy of their payload needs one more buffer
 * for as long as the originals are in use.
 */
static void test_no_train_is_made_while_buffers_are_scarce(void **state)
{
	struct pkt_buf *b[16];
	unsigned int n = 0;

	init(true);
	while (!pkt_pool_is_scarce(er.r.pool))
		b[n++] = pkt_buf_alloc(er.r.pool);
	send_burst(BURST, NULL);
	assert_int_equal(er.nsent, BURST);
	for (unsigned int i = 0; i < BURST; i++)
		assert_int_equal(er.sent[i].train, 1);
	while (n)
		pkt_buf_put(b[--n]);
	fini();
}

static void all_from_a_station(struct dgram *d, unsigned int k)
{
	memcpy(d->from, station_mac, 6);
}

/*
 * A super-frame waits for room in the send queue, and meanwhile other stations take the places of all stations. The
 * super-frame is dropped, and counts as the datagrams of which it was made.
 */
static void test_a_drop_counts_datagrams(void **state)
{
	uint8_t b[100], mac[6] = { 2, 0, 0, 0, 1 };

	init(true);
	eth_set_room(er.e, 0);
	send_burst(BURST, all_from_a_station);
	assert_int_equal(eth_tx_waiting(er.e), 1);
	er_run(NS_SEC(20));
	for (; mac[5] < er_max_stations; mac[5]++)
		er_tx_from(mac, er_peer_mac, ETH_P_IPV4, b, er_udp4(b, er_ip_own, er_ip_peer, 10));
	assert_null(er_station(station_mac));
	assert_int_equal(er_drops_sum(), 0);
	eth_set_room(er.e, BURST);
	assert_int_equal(eth_tx_more(er.e, er.r.s.now), 0);
	assert_int_equal(er_drops(ETH_DROP_STATION_QP), BURST);
	assert_int_equal(er_drops_sum(), BURST);
	fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_datagrams_become_a_train_only_if_nobody_can_tell),
		cmocka_unit_test(test_datagrams_are_no_segments),
		cmocka_unit_test(test_a_drop_counts_datagrams),
		cmocka_unit_test(test_no_train_is_made_while_buffers_are_scarce),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
