/* SPDX-License-Identifier: BSD-2-Clause */
#include "node/priv.h"

/*
 * `ibping` uses a vendor class with the OUI of OpenIB. The answer to a ping carries the name of the
 * node.
 */

#define OUI_OPENIB 0x001405
#define OFF_OUI 37
#define OFF_DATA 40

static uint32_t oui_of(const uint8_t *mad)
{
	return (uint32_t)mad[OFF_OUI] << 16 | (uint32_t)mad[OFF_OUI + 1] << 8 | mad[OFF_OUI + 2];
}

bool node_ping(struct node_port *end, const struct mad_addr *from, void *mad, ns_t now)
{
	const struct node *n = end->node;
	uint8_t *p = mad;

	if (p[0] != MAD_BASE_VERSION || mad_class(mad) != MAD_CLASS_OPENIB_PING ||
	    oui_of(p) != OUI_OPENIB || mad_method(mad) != MAD_METHOD_GET)
		return false;
	/*
	 * Write the name of the node and a zero octet over the data of the request, as ibping's own
	 * server does.
	 */
	memcpy(p + OFF_DATA, n->desc, strlen(n->desc) + 1);
	node_gmp_answer(end, from, mad, 0, now);
	return true;
}
