/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <inttypes.h>

/*
 * Counters of errors that grew between two readings. PortRcvSwitchRelayErrors is not one of them: a switch counts there,
 * too, each multicast packet that it does not send back to where it came from, in a healthy fabric as well (IBTA 16.1.3.5,
 * DLID mapping).
 */

static const struct {
	const char *name;
	size_t offset;
	unsigned int size; /* octets in the struct */
} counters[] = {
#define C(field, text)                                                 \
	{                                                              \
		text, offsetof(struct pma_port_counters, field),       \
			sizeof(((struct pma_port_counters *)0)->field) \
	}
	C(symbol_errors, "SymbolErrorCounter"),
	C(link_recovers, "LinkErrorRecoveryCounter"),
	C(link_downed, "LinkDownedCounter"),
	C(rcv_errors, "PortRcvErrors"),
	C(rcv_remphys_errors, "PortRcvRemotePhysicalErrors"),
	C(xmit_discards, "PortXmitDiscards"),
	C(xmit_constraint_errors, "PortXmitConstraintErrors"),
	C(rcv_constraint_errors, "PortRcvConstraintErrors"),
	C(local_link_integrity_errors, "LocalLinkIntegrityErrors"),
	C(excessive_overruns, "ExcessiveBufferOverrunErrors"),
	C(vl15_dropped, "VL15Dropped"),
#undef C
};

static unsigned int value(const struct pma_port_counters *c, unsigned int i)
{
	const uint8_t *p = (const uint8_t *)c + counters[i].offset;
	uint16_t v;

	if (counters[i].size == 1)
		return *p;
	memcpy(&v, p, sizeof(v));
	return v;
}

static void port(struct chk *c, const struct chk_node *n, const struct chk_port *p)
{
	char text[CHK_WHAT_MAX] = "";
	struct text t = TEXT_IN(text);

	for (unsigned int i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		unsigned int a = value(&p->counters->first, i), b = value(&p->counters->last, i);

		if (b > a)
			text_add(&t, "%s%s by %u to %u", t.len ? ", " : "", counters[i].name, b - a,
				 b);
	}
	if (t.len)
		chk_add(c, CHK_COUNTER_GROWS, n, p->num, "within %" PRIu64 ".%" PRIu64 " s: %s",
			c->f->counter_ms / 1000, c->f->counter_ms % 1000 / 100, text);
}

void chk_growth(struct chk *c)
{
	for (uint32_t i = 0; i < c->f->n; i++) {
		const struct chk_node *n = c->f->node[i];

		for (unsigned int k = 0; k <= n->nports; k++)
			if (n->port[k].counters && n->port[k].counters->nread == 2)
				port(c, n, &n->port[k]);
	}
}
