/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/pkeys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ifc_pkeys_start(struct ifc_pkeys *k, struct ifc_port *port)
{
	struct ca_port_attr a;
	int err = ca_port_query(port->ca, &a);

	if (err)
		return err;
	k->cap = a.pkey_tbl_len;
	k->mem = calloc(2u * k->cap + 1, sizeof(*k->mem));
	if (!k->mem)
		return -ENOMEM;
	k->have = k->mem;
	k->now = k->mem + k->cap;
	k->n = 0;
	list_add_tail(&port->pkeys, &k->link);
	port->dirty = port->set->ports_dirty = true;
	return 0;
}

void ifc_pkeys_stop(struct ifc_pkeys *k)
{
	if (!k->mem)
		return;
	list_del(&k->link);
	free(k->mem);
	k->mem = k->have = k->now = NULL;
	k->n = 0;
}

static bool counts(const struct ifc_pkeys *k, uint16_t pkey)
{
	if (!(pkey & 0x7fff)) /* an empty entry, or an invalid one (IBTA C10-116) */
		return false;
	for (unsigned int i = 0; i < k->nonly; i++)
		if (!((k->only[i] ^ pkey) & 0x7fff))
			return true;
	return !k->nonly;
}

static int by_value(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Reads the table to k->now. Returns the number of P_Keys that count. */
static unsigned int read_table(struct ifc_pkeys *k, struct ca *ca)
{
	unsigned int n = 0, unique = 0;
	uint16_t entry;

	for (unsigned int i = 0; i < k->cap && !ca_pkey_query(ca, (uint16_t)i, &entry); i++)
		if (counts(k, entry))
			k->now[n++] = entry | IB_PKEY_FULL;
	qsort(k->now, n, sizeof(*k->now), by_value);
	for (unsigned int i = 0; i < n; i++)
		if (!unique || k->now[i] != k->now[unique - 1])
			k->now[unique++] = k->now[i];
	return unique;
}

static bool has(const uint16_t *v, unsigned int n, uint16_t pkey)
{
	return n && bsearch(&pkey, v, n, sizeof(*v), by_value);
}

/* What is gone is told first, because it gives back what those that come may need. */
void ifc_pkeys_update(struct ifc_pkeys *k, struct ca *ca, ns_t now)
{
	unsigned int n = read_table(k, ca), before = k->n;
	uint16_t *had = k->have;

	k->have = k->now;
	k->now = had;
	k->n = n;
	for (unsigned int i = 0; i < before; i++)
		if (!has(k->have, n, had[i]))
			k->ops->gone(k->ctx, had[i], now);
	for (unsigned int i = 0; i < n; i++)
		if (!has(had, before, k->have[i]))
			k->ops->came(k->ctx, k->have[i], now);
}
