/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_DHCP_H
#define WIRE_DHCP_H

/*
 * BOOTP and DHCP messages: the fixed part and the options (RFC 2131, RFC 2132, RFC 3396), and the
 * client identifier of RFC 4361, which RFC 4390 requires on InfiniBand.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/be.h"

#define DHCP_PORT_SERVER 67
#define DHCP_PORT_CLIENT 68

#define DHCP_FIXED_LEN 236 /* octets before the cookie of the options */
#define DHCP_OPTIONS 240 /* offset of the first option */
#define DHCP_BOOTP_LEN 300 /* shortest message that old servers accept (RFC 1542 §2.1) */
#define DHCP_HDR_LEN 44 /* octets of struct dhcp_hdr on the wire: all fields before sname */
#define DHCP_HTYPE_ETHER 1
#define DHCP_HTYPE_EUI64 27
#define DHCP_HTYPE_INFINIBAND 32
#define DHCP_FLAG_BROADCAST 0x8000

enum dhcp_op { DHCP_OP_REQUEST = 1, DHCP_OP_REPLY = 2 };

enum dhcp_opt_code {
	DHCP_OPT_PAD = 0,
	DHCP_OPT_OVERLOAD = 52,
	DHCP_OPT_TYPE = 53,
	DHCP_OPT_CLIENT_ID = 61,
	DHCP_OPT_END = 255,
};

enum dhcp_type {
	DHCP_DISCOVER = 1,
	DHCP_OFFER,
	DHCP_REQUEST,
	DHCP_DECLINE,
	DHCP_ACK,
	DHCP_NAK,
	DHCP_RELEASE,
	DHCP_INFORM,
};

struct dhcp_hdr {
	uint8_t op, htype, hlen, hops;
	uint32_t xid;
	uint16_t secs, flags;
	uint8_t ciaddr[4], yiaddr[4], siaddr[4], giaddr[4];
	uint8_t chaddr[16];
};

/*
 * dhcp_hdr_decode() - Decode the first DHCP_HDR_LEN octets of a message. Return: 0; -EBADMSG:
 * shorter than DHCP_FIXED_LEN, or hlen above 16
 */
int dhcp_hdr_decode(struct dhcp_hdr *ret, const void *p, size_t len);
/* dhcp_hdr_encode() - Write @h as the first DHCP_HDR_LEN octets of a message */
void dhcp_hdr_encode(void *p, const struct dhcp_hdr *h);

/*
 * dhcp_has_options() - Tell whether the message has the magic cookie of RFC 2131 §3; a message
 * without the cookie is plain BOOTP
 */
bool dhcp_has_options(const void *p, size_t len);

struct dhcp_opt {
	uint8_t code, len;
	const uint8_t *data;
};

/*
 * A walk over the options of a message: first the options field, then file and sname if option 52 says that they
 * contain options
 */
struct dhcp_walk {
	const uint8_t *p;
	/* .len: octets of the message; .pos: position in the current field; .end: end of that field */
	size_t len, pos, end;
	uint8_t overload; /* fields whose options are still to be read: bit 0 file, bit 1 sname */
};

/* dhcp_walk_init() - Begin a walk; the message must have options */
void dhcp_walk_init(struct dhcp_walk *w, const void *p, size_t len);
/*
 * dhcp_walk_next() - Get the next option. Return: 1: the option is in @ret; 0: no more options;
 * -EBADMSG: the option exceeds its field
 */
int dhcp_walk_next(struct dhcp_walk *w, struct dhcp_opt *ret);

/*
 * dhcp_opt_get() - Write the value of option @code to @ret, which has room for @max octets. The
 * parts of a split option (RFC 3396) are joined. Return: length of the value; -ENOENT: no such
 * option; -EMSGSIZE: the value is longer than @max; -EBADMSG
 */
int dhcp_opt_get(const void *p, size_t len, uint8_t code, uint8_t *ret, size_t max);

/**
 * dhcp_opt_set() - Make a copy of a message with one option replaced, added, or removed
 * @out:	the copy, room for @max octets
 * @data:	the value, @n octets; NULL: remove the option
 *
 * The option moves to the end of the options field. If @max allows it, the copy is padded to the length of the
 * original and to at least DHCP_BOOTP_LEN.
 * Return: length of the copy; -EBADMSG; -EMSGSIZE: longer than @max
 */
int dhcp_opt_set(uint8_t *out, size_t max, const void *p, size_t len, uint8_t code,
		 const uint8_t *data, uint8_t n);

/*
 * dhcp_client_id_make() - Make the client identifier of RFC 4361 §6.1: type 255, IAID, and the DUID-LL (RFC 8415
 * §11.4) of an address of @n octets with hardware type @htype
 *
 * Writes DHCP_CLIENT_ID_LEN(n) octets; the IAID has the last four octets of the address.
 */
#define DHCP_CLIENT_ID_LEN(n) (9u + (n))
void dhcp_client_id_make(uint8_t *ret, uint8_t htype, const uint8_t *addr, size_t n);

#endif
