/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/pma.h"

#include "node/priv.h"

#define ALL_PORTS 0xff
#define RESP_TIME 16 /* 4.096 us x 2^16 = 268 ms */
#define SELECT2_XMIT_WAIT 0x0001 /* CounterSelect2 */

/*
 * A counter: where the 64-bit one is, where it goes in the attribute's host form, how wide
 * it is there, and its bit of CounterSelect. 16.1.3.5, 16.1.4.11
 */
struct counter {
	size_t src, dst;
	uint8_t width; /* bits */
	uint8_t size; /* octets of the destination */
};

#define COUNTER(type, from, to, w)                                           \
	{                                                                    \
		offsetof(struct node_counters, from), offsetof(type, to), w, \
			sizeof(((type *)0)->to)                              \
	}
#define CNT(from, to, w) COUNTER(struct pma_port_counters, from, to, w)
#define EXT(from, to) COUNTER(struct pma_port_counters_ext, from, to, 64)

/* In the order of CounterSelect's bits, then of CounterSelect2's. */
static const struct counter counters[] = {
	CNT(symbol_errors, symbol_errors, 16),
	CNT(link_recovers, link_recovers, 8),
	CNT(link_downed, link_downed, 8),
	CNT(rcv_errors, rcv_errors, 16),
	CNT(rcv_remphys_errors, rcv_remphys_errors, 16),
	CNT(rcv_switch_relay_errors, rcv_switch_relay_errors, 16),
	CNT(xmit_discards, xmit_discards, 16),
	CNT(xmit_constraint_errors, xmit_constraint_errors, 8),
	CNT(rcv_constraint_errors, rcv_constraint_errors, 8),
	CNT(local_link_integrity, local_link_integrity_errors, 4),
	CNT(excessive_overruns, excessive_overruns, 4),
	CNT(vl15_dropped, vl15_dropped, 16),
	CNT(xmit_data, xmit_data, 32),
	CNT(rcv_data, rcv_data, 32),
	CNT(xmit_pkts, xmit_pkts, 32),
	CNT(rcv_pkts, rcv_pkts, 32),
	CNT(xmit_wait, xmit_wait, 32),
};

static const struct counter ext_counters[] = {
	EXT(xmit_data, xmit_data),	  EXT(rcv_data, rcv_data),
	EXT(xmit_pkts, xmit_pkts),	  EXT(rcv_pkts, rcv_pkts),
	EXT(ucast_xmit, ucast_xmit_pkts), EXT(ucast_rcv, ucast_rcv_pkts),
	EXT(mcast_xmit, mcast_xmit_pkts), EXT(mcast_rcv, mcast_rcv_pkts),
};

/* The ports of a PortSelect: [first, last], empty if there is none */
struct port_range {
	struct node *n;
	unsigned int first, last;
};

static bool port_range(struct node *n, uint8_t select, struct port_range *ret)
{
	unsigned int lowest = node_is_switch(n) ? 0 : 1;

	*ret = (struct port_range){ n, select, select };
	if (select == ALL_PORTS) {
		ret->first = 1;
		ret->last = n->info.nports;
		return true;
	}
	return select >= lowest && select <= n->info.nports;
}

static uint64_t *counter_at(struct node_counters *c, const struct counter *k)
{
	return (uint64_t *)(void *)((char *)c + k->src);
}

static struct node_counters *base_of(struct node_port *p, bool ext)
{
	return ext ? &p->ext_base : &p->cnt_base;
}

/* Counters stop at their maximum; over several ports they add up first. */
static uint64_t counter_read(const struct port_range *r, const struct counter *k, bool ext)
{
	uint64_t sum = 0, max = k->width < 64 ? (1ull << k->width) - 1 : UINT64_MAX;

	for (unsigned int i = r->first; i <= r->last; i++) {
		struct node_port *p = &r->n->port[i];

		sum += *counter_at(&p->cnt, k) - *counter_at(base_of(p, ext), k);
	}
	return sum < max ? sum : max;
}

/* Set writes a value, mostly 0; that of AllPortSelect goes to each port. */
static void counter_write(const struct port_range *r, const struct counter *k, bool ext, uint64_t v)
{
	for (unsigned int i = r->first; i <= r->last; i++) {
		struct node_port *p = &r->n->port[i];

		*counter_at(base_of(p, ext), k) = *counter_at(&p->cnt, k) - v;
	}
}

static void field_put(void *host, const struct counter *k, uint64_t v)
{
	char *at = (char *)host + k->dst;

	switch (k->size) {
	case 1:
		*(uint8_t *)at = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)(void *)at = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)(void *)at = (uint32_t)v;
		break;
	default:
		*(uint64_t *)(void *)at = v;
		break;
	}
}

static uint64_t field_get(const void *host, const struct counter *k)
{
	const char *at = (const char *)host + k->dst;

	switch (k->size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		return *(const uint16_t *)(const void *)at;
	case 4:
		return *(const uint32_t *)(const void *)at;
	default:
		return *(const uint64_t *)(const void *)at;
	}
}

/* The request's host form becomes the answer's. */
static void exchange(const struct port_range *r, void *host, const struct counter *table,
		     unsigned int n, uint32_t select, bool ext)
{
	for (unsigned int i = 0; i < n; i++) {
		if (select >> i & 1)
			counter_write(r, &table[i], ext, field_get(host, &table[i]));
		field_put(host, &table[i], counter_read(r, &table[i], ext));
	}
}

static uint16_t port_counters(struct node *n, bool set, uint8_t *data)
{
	struct pma_port_counters c;
	struct port_range r;
	uint32_t select = 0;

	pma_port_counters_decode(&c, data, PMA_PORT_COUNTERS_LEN);
	if (!port_range(n, c.port_select, &r))
		return MAD_STATUS_BAD_VALUE;
	if (set)
		select = c.counter_select | (uint32_t)(c.counter_select2 & SELECT2_XMIT_WAIT) << 16;
	exchange(&r, &c, counters, ARRAY_SIZE(counters), select, false);
	pma_port_counters_encode(data, &c);
	return 0;
}

static uint16_t port_counters_ext(struct node *n, bool set, uint8_t *data)
{
	struct pma_port_counters_ext c;
	struct port_range r;

	pma_port_counters_ext_decode(&c, data, PMA_PORT_COUNTERS_EXT_LEN);
	if (!port_range(n, c.port_select, &r))
		return MAD_STATUS_BAD_VALUE;
	exchange(&r, &c, ext_counters, ARRAY_SIZE(ext_counters), set ? c.counter_select : 0, true);
	pma_port_counters_ext_encode(data, &c);
	return 0;
}

static uint16_t class_port_info(uint8_t *data)
{
	struct mad_class_port_info c = {
		.base_version = MAD_BASE_VERSION,
		.class_version = PMA_CLASS_VERSION,
		.cap_mask = PMA_CAP_EXT_WIDTH | PMA_CAP_ALL_PORT_SELECT,
		.resp_time = RESP_TIME,
	};

	mad_class_port_info_encode(data, &c);
	return 0;
}

static uint16_t execute(struct node *n, uint8_t *mad)
{
	uint8_t *data = mad + PMA_DATA_OFF;
	bool set = mad_method(mad) == MAD_METHOD_SET;

	if (mad[0] != MAD_BASE_VERSION || mad[2] != PMA_CLASS_VERSION)
		return MAD_STATUS_BAD_VERSION;
	switch (mad_attr(mad)) {
	case MAD_ATTR_CLASS_PORT_INFO:
		return set ? MAD_STATUS_BAD_ATTR : class_port_info(data);
	case PMA_ATTR_PORT_COUNTERS:
		return port_counters(n, set, data);
	case PMA_ATTR_PORT_COUNTERS_EXT:
		return port_counters_ext(n, set, data);
	default:
		return MAD_STATUS_BAD_ATTR;
	}
}

bool node_pma(struct node_port *end, uint8_t in_port, const struct mad_addr *from, void *mad,
	      ns_t now)
{
	struct node *n = end->node;
	uint8_t method = mad_method(mad);
	uint16_t status;

	(void)in_port;
	if (mad_class(mad) != MAD_CLASS_PERF || mad_method_is_response(method))
		return false;
	status = method == MAD_METHOD_GET || method == MAD_METHOD_SET ? execute(n, mad)
								      : MAD_STATUS_BAD_METHOD;
	((uint8_t *)mad)[MAD_OFF_METHOD] = MAD_METHOD_GET_RESP;
	be16_put((uint8_t *)mad + MAD_OFF_STATUS, status);
	if (n->ops->xmit(n->ctx, end->num, from, mad, now))
		n->dropped++;
	return true;
}
