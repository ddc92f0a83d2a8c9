/* SPDX-License-Identifier: BSD-2-Clause */
#include "node/priv.h"

#include "util/member.h"

/*
 * DOC: Counters
 *
 * The counters of a port have 64 bits and are never reset. A field of an attribute shows the
 * difference between a counter and its base, at most the largest value of the field. A Set does not
 * change the counter, but changes the base. PortCountersExtended has its own bases, so a Set that
 * clears PortCounters does not change PortCountersExtended.
 */

#define ALL_PORTS 0xff
#define SELECT2_XMIT_WAIT 0x01 /* bit of PortXmitWait in CounterSelect2 */

/* One counter of an attribute */
struct counter {
	uint16_t src, dst; /* offsets in struct node_counters and in union host */
	uint8_t width; /* bits of the field on the wire */
	uint8_t size; /* octets of the member at dst */
};

/*
 * An attribute in decoded form. Each attribute that has counters begins with port_select and
 * counter_select.
 */
union host {
	struct {
		uint8_t port_select;
		uint16_t counter_select;
	};
	struct pma_port_counters counters;
	struct pma_port_counters_ext ext;
	struct pma_rcv_error_details rcv;
	struct pma_xmit_discard_details xmit;
	struct pma_data_sl sl;
};

/* clang-format off */
#define COUNTER(type, from, to, w) \
	{ offsetof(struct node_counters, from), offsetof(type, to), w, sizeof(((type *)0)->to) }
/* clang-format on */
#define CNT(from, to, w) COUNTER(struct pma_port_counters, from, to, w)
#define EXT(from, to) COUNTER(struct pma_port_counters_ext, from, to, 64)
#define RCV(reason, to) COUNTER(struct pma_rcv_error_details, rcv_by_reason[reason], to, 16)
#define XMIT(reason, to) COUNTER(struct pma_xmit_discard_details, xmit_by_reason[reason], to, 16)
#define SL(from, i) COUNTER(struct pma_data_sl, from[i], words[i], 32)
#define SL4(from, i) SL(from, i), SL(from, i + 1), SL(from, i + 2), SL(from, i + 3)
#define SLS(from) SL4(from, 0), SL4(from, 4), SL4(from, 8), SL4(from, 12)

/*
 * The counters of each attribute, in the order of their bits in CounterSelect and then in
 * CounterSelect2.
 */
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
static_assert(ARRAY_SIZE(ext_counters) == NODE_EXT_COUNTERS, "each has a base");

static const struct counter rcv_details[] = {
	RCV(NODE_RCV_LOCAL_PHYSICAL, local_physical), RCV(NODE_RCV_MALFORMED, malformed),
	RCV(NODE_RCV_OVERRUN, buffer_overrun),	      RCV(NODE_RCV_DLID_MAPPING, dlid_mapping),
	RCV(NODE_RCV_VL_MAPPING, vl_mapping),	      RCV(NODE_RCV_LOOPING, looping),
};

static const struct counter xmit_details[] = {
	XMIT(NODE_XMIT_INACTIVE, inactive),
	XMIT(NODE_XMIT_MTU, neighbor_mtu),
	XMIT(NODE_XMIT_LIFETIME, sw_lifetime),
	XMIT(NODE_XMIT_HOQ_LIFETIME, sw_hoq_lifetime),
};

static const struct counter xmit_sl[] = { SLS(xmit_sl) };
static const struct counter rcv_sl[] = { SLS(rcv_sl) };

static void counters_get(union host *h, const uint8_t *data)
{
	pma_port_counters_decode(&h->counters, data, PMA_PORT_COUNTERS_LEN);
}

static void counters_put(uint8_t *data, const union host *h)
{
	pma_port_counters_encode(data, &h->counters);
}

static void ext_get(union host *h, const uint8_t *data)
{
	pma_port_counters_ext_decode(&h->ext, data, PMA_PORT_COUNTERS_EXT_LEN);
}

static void ext_put(uint8_t *data, const union host *h)
{
	pma_port_counters_ext_encode(data, &h->ext);
}

static void rcv_get(union host *h, const uint8_t *data)
{
	pma_rcv_error_details_decode(&h->rcv, data, PMA_RCV_ERROR_DETAILS_LEN);
}

static void rcv_put(uint8_t *data, const union host *h)
{
	pma_rcv_error_details_encode(data, &h->rcv);
}

static void xmit_get(union host *h, const uint8_t *data)
{
	pma_xmit_discard_details_decode(&h->xmit, data, PMA_XMIT_DISCARD_DETAILS_LEN);
}

static void xmit_put(uint8_t *data, const union host *h)
{
	pma_xmit_discard_details_encode(data, &h->xmit);
}

static void sl_get(union host *h, const uint8_t *data)
{
	pma_data_sl_decode(&h->sl, data, PMA_DATA_SL_LEN);
}

static void sl_put(uint8_t *data, const union host *h)
{
	pma_data_sl_encode(data, &h->sl);
}

/* clang-format off */
#define ATTR(id, ext, table, name) { id, ext, table, ARRAY_SIZE(table), name##_get, name##_put }
/* clang-format on */

static const struct attr {
	uint16_t id;
	bool ext; /* true for PortCountersExtended, which uses .ext_base */
	const struct counter *table;
	unsigned int n;
	void (*get)(union host *h, const uint8_t *data);
	void (*put)(uint8_t *data, const union host *h);
} attrs[] = {
	ATTR(PMA_ATTR_PORT_COUNTERS, false, counters, counters),
	ATTR(PMA_ATTR_PORT_COUNTERS_EXT, true, ext_counters, ext),
	ATTR(PMA_ATTR_PORT_RCV_ERROR_DETAILS, false, rcv_details, rcv),
	ATTR(PMA_ATTR_PORT_XMIT_DISCARD_DETAILS, false, xmit_details, xmit),
	ATTR(PMA_ATTR_PORT_XMIT_DATA_SL, false, xmit_sl, sl),
	ATTR(PMA_ATTR_PORT_RCV_DATA_SL, false, rcv_sl, sl),
};

/* Range of the ports that a PortSelect selects */
struct port_range {
	struct node *n;
	unsigned int first, last;
};

/*
 * Find the ports that the PortSelect @select selects. AllPortSelect (0xff) selects the external
 * ports of a switch, and port 0 if the switch has an enhanced port 0. Return: false if no port is
 * selected
 */
static bool port_range(struct node *n, uint8_t select, struct port_range *ret)
{
	unsigned int lowest = node_is_switch(n) ? 0 : 1;

	*ret = (struct port_range){ n, select, select };
	if (select == ALL_PORTS && node_is_switch(n)) {
		ret->first = n->sw->si.enhanced_port0 ? 0 : 1;
		ret->last = n->info.nports;
		return true;
	}
	return select >= lowest && select <= n->info.nports;
}

static uint64_t counter_at(const struct node_counters *c, const struct counter *k)
{
	uint64_t v;

	memcpy(&v, (const char *)c + k->src, sizeof(v));
	return v;
}

static uint64_t base_at(const struct node_port *p, const struct attr *a, unsigned int i)
{
	const struct node_rare *r = node_rare_get(p);

	return a->ext ? r->ext_base[i] : counter_at(&r->cnt_base, &a->table[i]);
}

static void base_set(struct node_rare *r, const struct attr *a, unsigned int i, uint64_t v)
{
	if (a->ext)
		r->ext_base[i] = v;
	else
		memcpy((char *)&r->cnt_base + a->table[i].src, &v, sizeof(v));
}

/* Return the sum of a counter over the ports, at most the largest value of its field */
static uint64_t counter_read(const struct port_range *r, const struct attr *a, unsigned int i)
{
	const struct counter *k = &a->table[i];
	uint64_t sum = 0, max = k->width < 64 ? (1ull << k->width) - 1 : UINT64_MAX;

	for (unsigned int num = r->first; num <= r->last; num++) {
		const struct node_port *p = &r->n->port[num];

		sum += counter_at(&p->cnt, k) - base_at(p, a, i);
	}
	return sum < max ? sum : max;
}

/* Write @v, usually 0, to a counter of each selected port, for a Set. */
static void counter_write(const struct port_range *r, const struct attr *a, unsigned int i,
			  uint64_t v)
{
	for (unsigned int num = r->first; num <= r->last; num++) {
		struct node_port *p = &r->n->port[num];

		base_set(p->rare, a, i, counter_at(&p->cnt, &a->table[i]) - v);
	}
}

/* Give each port a node_rare of its own, for base_set(). Return: false if memory ran out */
static bool bases_own(const struct port_range *r)
{
	for (unsigned int num = r->first; num <= r->last; num++) {
		if (!node_rare_own(&r->n->port[num]))
			return false;
	}
	return true;
}

static uint32_t selected(const struct attr *a, const union host *h)
{
	uint32_t select = h->counter_select;

	if (a->id == PMA_ATTR_PORT_COUNTERS)
		select |= (uint32_t)(h->counters.counter_select2 & SELECT2_XMIT_WAIT) << 16;
	return select;
}

static const struct attr *attr_find(uint16_t id)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(attrs); i++)
		if (attrs[i].id == id)
			return &attrs[i];
	return NULL;
}

uint16_t pma_counters(struct node *n, bool set, uint16_t attr, uint8_t *data)
{
	const struct attr *a = attr_find(attr);
	struct port_range r;
	uint32_t select;
	union host h;

	if (!a)
		return MAD_STATUS_BAD_ATTR;
	a->get(&h, data);
	if (!port_range(n, h.port_select, &r))
		return MAD_STATUS_BAD_VALUE;
	select = set ? selected(a, &h) : 0;
	if (select && !bases_own(&r))
		return MAD_STATUS_BUSY;
	for (unsigned int i = 0; i < a->n; i++) {
		char *at = (char *)&h + a->table[i].dst;

		if (select >> i & 1)
			counter_write(&r, a, i, member_get(at, a->table[i].size));
		member_put(at, a->table[i].size, counter_read(&r, a, i));
	}
	a->put(data, &h);
	return 0;
}

uint16_t node_pma_get(struct node *n, uint8_t port, uint16_t attr, uint8_t data[NODE_PMA_DATA_LEN])
{
	memset(data, 0, NODE_PMA_DATA_LEN);
	data[1] = port; /* PortSelect */
	return pma_counters(n, false, attr, data);
}
