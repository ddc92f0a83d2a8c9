/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

#include <inttypes.h>

/*
 * Error counters that grew between two readings. PortRcvSwitchRelayErrors is left out, because it
 * grows in healthy fabrics, too: this counter of a switch counts each multicast packet that the
 * switch does not send back to the port of arrival (IBTA 16.1.3.5, DLID mapping).
 */

/* The meaning of a counter's growth */
enum meaning {
	DAMAGE, /* an increase is a fault */
	BITS, /* an increase is a fault if it exceeds symbol_errors_admitted() */
	/*
	 * an increase is no fault of this port, because it means congestion or a fault that another
	 * port counts, too
	 */
	DROPS,
};

static const struct {
	const char *name;
	size_t offset;
	unsigned int size; /* octets of the member in struct pma_port_counters */
	unsigned int bits; /* bits of the counter on the wire */
	enum meaning meaning;
} counters[] = {
/* clang-format off */
#define C(field, bits, meaning, text) \
	{ text, offsetof(struct pma_port_counters, field), \
	  sizeof(((struct pma_port_counters *)0)->field), bits, meaning }
	/* clang-format on */
	C(symbol_errors, 16, BITS, "SymbolErrorCounter"),
	C(link_recovers, 8, DAMAGE, "LinkErrorRecoveryCounter"),
	C(link_downed, 8, DAMAGE, "LinkDownedCounter"),
	C(rcv_errors, 16, DAMAGE, "PortRcvErrors"),
	C(rcv_remphys_errors, 16, DROPS, "PortRcvRemotePhysicalErrors"),
	C(xmit_discards, 16, DROPS, "PortXmitDiscards"),
	C(xmit_constraint_errors, 8, DAMAGE, "PortXmitConstraintErrors"),
	C(rcv_constraint_errors, 8, DAMAGE, "PortRcvConstraintErrors"),
	C(local_link_integrity_errors, 4, DAMAGE, "LocalLinkIntegrityErrors"),
	C(excessive_overruns, 4, DAMAGE, "ExcessiveBufferOverrunErrors"),
	C(vl15_dropped, 16, DROPS, "VL15Dropped"),
#undef C
};
#define NCOUNTERS (sizeof(counters) / sizeof(counters[0]))

static unsigned int value(const struct pma_port_counters *c, unsigned int i)
{
	const uint8_t *p = (const uint8_t *)c + counters[i].offset;
	uint16_t v;

	if (counters[i].size == 1)
		return *p;
	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Return: the largest growth of SymbolErrorCounter within @ms ms that is no fault: 1, plus 1 for
 * each 10 s. A link of 100 Gb/s has one error in 10 s at the bit error rate of 1e-12 that volume 2
 * of IBTA allows
 */
static unsigned int symbol_errors_admitted(uint64_t ms)
{
	return 1 + (unsigned int)(ms / 10000);
}

static bool is_fault(unsigned int i, unsigned int by, uint64_t ms)
{
	if (counters[i].meaning == BITS)
		return by > symbol_errors_admitted(ms);
	return counters[i].meaning == DAMAGE;
}

static bool is_full(const struct pma_port_counters *c, unsigned int i)
{
	return value(c, i) == (1u << counters[i].bits) - 1;
}

static void port(struct chk *c, const struct chk_node *n, const struct chk_port *p)
{
	const struct chk_counters *k = p->counters;
	uint64_t ms = k->at_ms[1] - k->at_ms[0];
	char text[3][CHK_WHAT_MAX] = { "", "", "" };
	struct text grows = TEXT_IN(text[0]), moves = TEXT_IN(text[1]), full = TEXT_IN(text[2]);

	for (unsigned int i = 0; i < NCOUNTERS; i++) {
		unsigned int a = value(&k->first, i), b = value(&k->last, i);
		struct text *t = b > a && is_fault(i, b - a, ms) ? &grows : &moves;

		if (b > a)
			text_add(t, "%s%s by %u to %u", t->len ? ", " : "", counters[i].name, b - a,
				 b);
		else if (is_full(&k->last, i))
			text_add(&full, "%s%s is %u", full.len ? ", " : "", counters[i].name, b);
	}
	if (grows.len)
		chk_add(c, CHK_COUNTER_GROWS, n, p->num, 0, "within %" PRIu64 ".%" PRIu64 " s: %s",
			ms / 1000, ms % 1000 / 100, text[0]);
	if (moves.len)
		chk_add(c, CHK_COUNTER_MOVES, n, p->num, 0, "within %" PRIu64 ".%" PRIu64 " s: %s",
			ms / 1000, ms % 1000 / 100, text[1]);
	if (full.len)
		chk_add(c, CHK_COUNTER_FULL, n, p->num, 0, "%s, which is the most", text[2]);
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
