/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "world/dhcp.h"
#include "world/ip.h"
#include "world/peer.h"

/* Cases about a DHCP client on the DUT; the server is one of the peers. RFC 4390, RFC 4361. */

#define HTYPE 32
/*
 * The wait for a lease is long because a DHCP client may start slowly, and may repeat a
 * DHCPDISCOVER only after 16 s.
 */
#define LEASE_TIME NS_SEC(80)
/*
 * Length of the shortest Client Identifier: 1 octet of type, 4 octets of IAID, and a DUID of 2
 * octets of type and 2 octets of data
 */
#define ID_LEAST 9

/* --- the client's steps */

static void lease(struct run *r)
{
	static const struct dhcp_want discover = { .type = DHCP_DISCOVER, .any_address = true },
				      request = { .type = DHCP_REQUEST, .any_address = true };
	const struct seen *asked;

	r->w->dhcp = world_peer(r->w);
	if (!hook(r, "dhcp"))
		return;
	r->hook_time = LEASE_TIME;
	if (expect(r, dhcp_is, &request, LEASE_TIME)) {
		check(r, true, NULL, "the lease is taken");
		return;
	}
	/*
	 * A DHCPDISCOVER shows that the hook program has started the client. Then a missing
	 * DHCPREQUEST is a fault of the DUT, even if the step of the hook program has not ended in
	 * time.
	 */
	asked = seen_since(r, dhcp_is, &discover);
	if (asked)
		r->hook_time = NS_NEVER;
	/* If the client was started late, wait until it has had time to repeat its DHCPDISCOVER. */
	if (asked && asked->at + WORLD_LONGEST > r->w->now &&
	    expect(r, dhcp_is, &request, asked->at + WORLD_LONGEST - r->w->now))
		check(r, true, NULL, "the lease is taken");
	else
		missing(r, "%s within 80 s after the hook's dhcp",
			asked ? "a DHCPDISCOVER was answered, but no DHCPREQUEST came"
			      : "no DHCPDISCOVER or DHCPREQUEST");
}

static void renewal(struct run *r)
{
	static const struct dhcp_want want = { .type = DHCP_REQUEST, .has_address = true };
	const struct seen *s = expect(r, dhcp_is, &want, WORLD_LONGEST);
	const uint8_t *msg;
	size_t len;

	if (!s) {
		not_applicable(r, "the client has not renewed its lease within 18 s, though the "
				  "server asked for it after 3 s");
		return;
	}
	msg = dhcp_message(s, &len);
	check_be16(r, s, msg + DHCP_OFF_FLAGS, 0, "the flags of a DHCPREQUEST with ciaddr");
}

static void no_address_in(struct run *r, const struct seen *s, const uint8_t *msg)
{
	static const uint8_t zeros[16], htype = HTYPE;

	check_octets(r, s, msg + DHCP_OFF_HTYPE, &htype, 1, "htype");
	check_octets(r, s, msg + DHCP_OFF_HLEN, zeros, 1, "hlen");
	check_octets(r, s, msg + DHCP_OFF_CHADDR, zeros, 16, "chaddr");
}

static void release(struct run *r)
{
	static const struct dhcp_want want = { .type = DHCP_RELEASE, .any_address = true };
	const struct seen *s;
	size_t len;

	if (!hook(r, "no-dhcp") || !hook_ended(r, HOOK_TIME))
		return;
	s = expect(r, dhcp_is, &want, WORLD_LONGEST);
	if (s)
		no_address_in(r, s, dhcp_message(s, &len));
	else
		not_applicable(r, "the client ended without a DHCPRELEASE, which it may");
}

/* --- checks of every message of a client */

static const uint8_t *message(const struct seen *s, size_t *ret_len, uint8_t *ret_type)
{
	const uint8_t *msg = dhcp_message(s, ret_len);

	*ret_type = msg ? dhcp_type_of(msg, *ret_len) : 0;
	return msg;
}

static void hardware(struct run *r, const struct seen *s)
{
	size_t len;
	uint8_t type;
	const uint8_t *msg = message(s, &len, &type);

	if (msg && type != DHCP_RELEASE)
		no_address_in(r, s, msg);
}

static void client_id(struct run *r, const struct seen *s)
{
	size_t len;
	uint8_t type, id[255];
	const uint8_t *msg = message(s, &len, &type);
	int n;

	if (!type)
		return;
	n = dhcp_opt_get(msg, len, DHCP_OPT_CLIENT_ID, id, sizeof(id));
	if (!check(r, n > 0, s, "the message has no client identifier"))
		return;
	check(r, id[0] == 255, s,
	      "the client identifier has type %u, expected 255 (an IAID and a DUID)", id[0]);
	check(r, n >= ID_LEAST, s, "the client identifier has %d octets, expected %d at least", n,
	      ID_LEAST);
}

static void broadcast_flag(struct run *r, const struct seen *s)
{
	size_t len;
	uint8_t type;
	const uint8_t *msg = message(s, &len, &type);

	if ((type == DHCP_DISCOVER || type == DHCP_REQUEST) && !be32_at(msg + DHCP_OFF_CIADDR))
		check_be16(r, s, msg + DHCP_OFF_FLAGS, DHCP_FLAG_BROADCAST,
			   "the flags of a message without ciaddr");
}

static const struct conform_case cases[] = {
	{ "D1/lease", "a DHCP client of the DUT takes an offer without a hardware address",
	  "RFC 4390 §2",
	  "Servers answer a client that cannot be reached by its hardware address by broadcast.",
	  REACHED, lease, NULL },
	{ "D1", "DHCP messages have htype 32, hlen 0 and chaddr 0", "RFC 4390 §2.1",
	  "\"htype\" MUST be 32; \"hlen\" and \"chaddr\" MUST be zero.", "D1/lease", NULL,
	  hardware },
	{ "D2", "DHCP messages have a client identifier of RFC 4361",
	  "RFC 4390 §2.1; RFC 4361 §6.1",
	  "\"client-identifier\" MUST be used: type 255, IAID, DUID.", "D1/lease", NULL,
	  client_id },
	{ "D3/set", "a DHCP client without an address sets the BROADCAST flag", "RFC 4390 §2.2",
	  "The BROADCAST flag is set in DHCPDISCOVER and DHCPREQUEST while ciaddr is 0.",
	  "D1/lease", NULL, broadcast_flag },
	{ "D3/clear", "a client with an address does not set the BROADCAST flag", "RFC 4390 §2.2",
	  "The BROADCAST flag is clear in all other messages.", "D1/lease", renewal, NULL },
	{ "D1/release", "a DHCPRELEASE, too, has htype 32, hlen 0 and chaddr 0", "RFC 4390 §2.1",
	  "\"htype\" MUST be 32; \"hlen\" and \"chaddr\" MUST be zero.", "D1/lease", release,
	  NULL },
};

const struct conform_chapter chapter_dhcp = { "DHCP", cases, sizeof(cases) / sizeof(cases[0]) };
