/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/pkeys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* number of new P_Keys that may be reported in a burst; then one is reported per CAME_EVERY */
#define CAME_BURST 64
#define CAME_EVERY NS_MSEC(100)
/* time until came() is called again after it returned an error; doubled with each further error */
#define RETRY_MIN NS_SEC(1)
#define RETRY_MAX NS_SEC(64)

static void again(struct timer *t, ns_t now)
{
	struct ifc_pkeys *k = container_of(t, struct ifc_pkeys, timer);

	(void)now;
	k->port->dirty = k->port->set->ports_dirty = true;
}

int ifc_pkeys_start(struct ifc_pkeys *k, struct ifc_port *port)
{
	struct ca_port_attr a;
	int err = ca_port_query(port->ca, &a);

	if (err)
		return err;
	k->cap = a.pkey_tbl_len;
	k->mem = calloc(3u * k->cap + 1, sizeof(*k->mem));
	if (!k->mem)
		return -ENOMEM;
	k->have = k->mem;
	k->now = k->mem + k->cap;
	k->failed = k->now + k->cap;
	k->n = k->nfailed = k->failures = 0;
	k->last = 0;
	k->pace = (struct pace){ 0 };
	k->port = port;
	timer_init(&k->timer, again);
	list_add_tail(&port->pkeys, &k->link);
	port->dirty = port->set->ports_dirty = true;
	return 0;
}

void ifc_pkeys_stop(struct ifc_pkeys *k)
{
	if (!k->mem)
		return;
	timer_cancel(k->port->set->timers, &k->timer);
	list_del(&k->link);
	free(k->mem);
	k->mem = k->have = k->now = k->failed = NULL;
	k->n = k->nfailed = 0;
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

/*
 * Stores in k->now those P_Keys of the port's P_Key table that .only allows, and returns their
 * number.
 */
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

static void tell_gone(struct ifc_pkeys *k, unsigned int n, ns_t now)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < k->n; i++) {
		if (has(k->now, n, k->have[i]))
			k->have[kept++] = k->have[i];
		else
			k->ops->gone(k->ctx, k->have[i], now);
	}
	k->n = kept;
}

static bool has_failed(const struct ifc_pkeys *k, uint16_t pkey)
{
	for (unsigned int i = 0; i < k->nfailed; i++)
		if (k->failed[i] == pkey)
			return true;
	return false;
}

/*
 * .failed has P_Keys for which came() has failed; came() is not called for them. This function
 * removes from .failed the P_Keys that are no longer in the port's table. From the time
 * .retry_at on, it removes all P_Keys.
 */
static void keep_failed(struct ifc_pkeys *k, unsigned int n, ns_t now)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; now < k->retry_at && i < k->nfailed; i++)
		if (has(k->now, n, k->failed[i]))
			k->failed[kept++] = k->failed[i];
	k->nfailed = kept;
}

static void add(struct ifc_pkeys *k, uint16_t pkey)
{
	unsigned int at = k->n++;

	for (; at && k->have[at - 1] > pkey; at--)
		k->have[at] = k->have[at - 1];
	k->have[at] = pkey;
}

static void tell_one(struct ifc_pkeys *k, uint16_t pkey, ns_t now)
{
	k->last = pkey;
	if (!k->ops->came(k->ctx, pkey, now)) {
		add(k, pkey);
		return;
	}
	if (!k->nfailed)
		k->retry_at = now + ns_backoff(++k->failures, RETRY_MIN, RETRY_MAX);
	k->failed[k->nfailed++] = pkey;
}

/*
 * Calls came() for new P_Keys. The search begins after the last P_Key for which came() was called,
 * so that P_Keys that come and go all the time do not delay others. Return: false if .pace allows
 * no further call at present
 */
static bool tell_came(struct ifc_pkeys *k, unsigned int n, ns_t now)
{
	unsigned int first = 0;

	while (first < n && k->now[first] <= k->last)
		first++;
	for (unsigned int i = 0; i < n; i++) {
		uint16_t pkey = k->now[(first + i) % n];

		if (has(k->have, k->n, pkey) || has_failed(k, pkey))
			continue;
		if (!pace_take(&k->pace, CAME_BURST, CAME_EVERY, now))
			return false;
		tell_one(k, pkey, now);
	}
	return true;
}

/*
 * gone() is called before came(), because the removal of an interface frees resources that a new
 * interface may need.
 */
void ifc_pkeys_update(struct ifc_pkeys *k, struct ca *ca, ns_t now)
{
	unsigned int n = read_table(k, ca);
	ns_t next = NS_NEVER;

	tell_gone(k, n, now);
	keep_failed(k, n, now);
	if (!tell_came(k, n, now))
		next = now + CAME_EVERY;
	if (!k->nfailed)
		k->failures = 0;
	else if (k->retry_at < next)
		next = k->retry_at;
	timer_arm(k->port->set->timers, &k->timer, next);
}
