/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_IBARP_H
#define WIRE_IBARP_H

/*
 * Link-layer addresses of draft-pelissier-ipoib-encaparp-00, and the two formats that contain them: IBARP for IPv4
 * (§6.3) and the option of Neighbour Discovery (§5).
 *
 * The draft draws the first word of each GID twice. The lengths in the draft, 92 octets of IBARP and Length 5 of the
 * option, include the second copy, so uipoib sends this copy. The HLEN of 32 in the draft does not include the
 * second copy, so other senders may omit the copy. The decoders accept both layouts.
 */

#include "wire/nd.h"

#define IBARP_HW_LEN 36 /* EUI-64, reserved octet, QPN, Q_Key, first word of the GID, GID */
/* octets of an IBARP message after the encapsulation header of 4 octets: 8 + 2 * (36 + 4) */
#define IBARP_LEN 88
/* length of a message in which the first word of each GID is not repeated */
#define IBARP_LEN_SINGLE 80
#define IBARP_LOOK 8 /* octets that ibarp_is() needs */

struct ibarp_pkt {
	uint16_t op; /* ARP_OP_REQUEST, ARP_OP_REPLY */
	struct nd_port sender, target; /* without LIDs and flags */
	uint8_t spa[4], tpa[4];
};

/*
 * ibarp_is() - Tell whether the octets after the encapsulation header are IBARP and not IPv4, which
 * has the same ethertype. In IBARP the first nibble is not 4, the hardware type is 32, and protocol
 * addresses have 4 octets
 */
bool ibarp_is(const uint8_t *p, size_t len);

/*
 * ibarp_decode() - Decode an IBARP message, from the octet after the encapsulation header on
 *
 * HLEN and @len may permit both layouts, with and without second copies of the GIDs' first words.
 * In this case the decoder takes the layout in which the low half of the sender's GID is the
 * sender's EUI-64. If this is true for both layouts or for neither, the decoder assumes the layout
 * with the second copies. Return: 0; -EBADMSG: too short; -EPROTO: other types, lengths or
 * operations
 */
int ibarp_decode(struct ibarp_pkt *ret, const void *p, size_t len);
/* ibarp_encode() - Write an IBARP message of IBARP_LEN octets */
void ibarp_encode(void *p, const struct ibarp_pkt *a);

#define ND_OPT_IBARP 40

/*
 * nd_opt_ibarp_decode() - Decode the link-layer address option of draft-pelissier-ipoib-encaparp-00
 * §5, which has 40 octets; chooses the layout as ibarp_decode() does. Return: 0 or -EBADMSG
 */
int nd_opt_ibarp_decode(struct nd_port *ret, const struct nd_opt *o);
/* nd_opt_ibarp_encode() - Write the option, which has 40 octets */
void nd_opt_ibarp_encode(void *p, uint8_t type, const struct nd_port *a);

#endif
