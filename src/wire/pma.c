/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/pma.h"

#include <errno.h>

struct port_counters_wire {
	uint8_t resv, port_select;
	be16 counter_select, symbol_errors;
	uint8_t link_recovers, link_downed;
	be16 rcv_errors, rcv_remphys_errors, rcv_switch_relay_errors, xmit_discards;
	uint8_t xmit_constraint_errors, rcv_constraint_errors;
	uint8_t counter_select2;
	uint8_t integrity_overruns; /* 4 bits LocalLinkIntegrityErrors, 4 bits buffer overruns */
	be16 resv2, vl15_dropped;
	be32 xmit_data, rcv_data, xmit_pkts, rcv_pkts, xmit_wait;
};
static_assert(sizeof(struct port_counters_wire) == PMA_PORT_COUNTERS_LEN, "IBTA 16.1.3.5");

int pma_port_counters_decode(struct pma_port_counters *ret, const void *p, size_t len)
{
	struct port_counters_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct pma_port_counters){
		.port_select = w.port_select,
		.counter_select = be16_get(w.counter_select),
		.symbol_errors = be16_get(w.symbol_errors),
		.link_recovers = w.link_recovers,
		.link_downed = w.link_downed,
		.rcv_errors = be16_get(w.rcv_errors),
		.rcv_remphys_errors = be16_get(w.rcv_remphys_errors),
		.rcv_switch_relay_errors = be16_get(w.rcv_switch_relay_errors),
		.xmit_discards = be16_get(w.xmit_discards),
		.xmit_constraint_errors = w.xmit_constraint_errors,
		.rcv_constraint_errors = w.rcv_constraint_errors,
		.counter_select2 = w.counter_select2,
		.local_link_integrity_errors = w.integrity_overruns >> 4,
		.excessive_overruns = w.integrity_overruns & 0xf,
		.vl15_dropped = be16_get(w.vl15_dropped),
		.xmit_data = be32_get(w.xmit_data),
		.rcv_data = be32_get(w.rcv_data),
		.xmit_pkts = be32_get(w.xmit_pkts),
		.rcv_pkts = be32_get(w.rcv_pkts),
		.xmit_wait = be32_get(w.xmit_wait),
	};
	return 0;
}

void pma_port_counters_encode(void *p, const struct pma_port_counters *c)
{
	struct port_counters_wire w = {
		.port_select = c->port_select,
		.counter_select = be16_of(c->counter_select),
		.symbol_errors = be16_of(c->symbol_errors),
		.link_recovers = c->link_recovers,
		.link_downed = c->link_downed,
		.rcv_errors = be16_of(c->rcv_errors),
		.rcv_remphys_errors = be16_of(c->rcv_remphys_errors),
		.rcv_switch_relay_errors = be16_of(c->rcv_switch_relay_errors),
		.xmit_discards = be16_of(c->xmit_discards),
		.xmit_constraint_errors = c->xmit_constraint_errors,
		.rcv_constraint_errors = c->rcv_constraint_errors,
		.counter_select2 = c->counter_select2,
		.integrity_overruns = (uint8_t)(c->local_link_integrity_errors << 4 |
						(c->excessive_overruns & 0xf)),
		.vl15_dropped = be16_of(c->vl15_dropped),
		.xmit_data = be32_of(c->xmit_data),
		.rcv_data = be32_of(c->rcv_data),
		.xmit_pkts = be32_of(c->xmit_pkts),
		.rcv_pkts = be32_of(c->rcv_pkts),
		.xmit_wait = be32_of(c->xmit_wait),
	};

	memcpy(p, &w, sizeof(w));
}

struct port_counters_ext_wire {
	uint8_t resv, port_select;
	be16 counter_select;
	be32 resv2;
	be64 xmit_data, rcv_data, xmit_pkts, rcv_pkts;
	be64 ucast_xmit_pkts, ucast_rcv_pkts, mcast_xmit_pkts, mcast_rcv_pkts;
};
static_assert(sizeof(struct port_counters_ext_wire) == PMA_PORT_COUNTERS_EXT_LEN, "IBTA 16.1.4.11");

int pma_port_counters_ext_decode(struct pma_port_counters_ext *ret, const void *p, size_t len)
{
	struct port_counters_ext_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct pma_port_counters_ext){
		.port_select = w.port_select,
		.counter_select = be16_get(w.counter_select),
		.xmit_data = be64_get(w.xmit_data),
		.rcv_data = be64_get(w.rcv_data),
		.xmit_pkts = be64_get(w.xmit_pkts),
		.rcv_pkts = be64_get(w.rcv_pkts),
		.ucast_xmit_pkts = be64_get(w.ucast_xmit_pkts),
		.ucast_rcv_pkts = be64_get(w.ucast_rcv_pkts),
		.mcast_xmit_pkts = be64_get(w.mcast_xmit_pkts),
		.mcast_rcv_pkts = be64_get(w.mcast_rcv_pkts),
	};
	return 0;
}

void pma_port_counters_ext_encode(void *p, const struct pma_port_counters_ext *c)
{
	struct port_counters_ext_wire w = {
		.port_select = c->port_select,
		.counter_select = be16_of(c->counter_select),
		.xmit_data = be64_of(c->xmit_data),
		.rcv_data = be64_of(c->rcv_data),
		.xmit_pkts = be64_of(c->xmit_pkts),
		.rcv_pkts = be64_of(c->rcv_pkts),
		.ucast_xmit_pkts = be64_of(c->ucast_xmit_pkts),
		.ucast_rcv_pkts = be64_of(c->ucast_rcv_pkts),
		.mcast_xmit_pkts = be64_of(c->mcast_xmit_pkts),
		.mcast_rcv_pkts = be64_of(c->mcast_rcv_pkts),
	};

	memcpy(p, &w, sizeof(w));
}
