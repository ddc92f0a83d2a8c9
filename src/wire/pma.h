/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_PMA_H
#define WIRE_PMA_H

/* Performance management: PortCounters and PortCountersExtended. IBTA volume 1, 16.1. */

#include "wire/mad.h"

#define PMA_DATA_OFF 64

enum pma_attr {
	PMA_ATTR_PORT_SAMPLES_CONTROL = 0x0010,
	PMA_ATTR_PORT_COUNTERS = 0x0012,
	PMA_ATTR_PORT_COUNTERS_EXT = 0x001d,
};

#define PMA_CAP_EXT_WIDTH 0x0200 /* ClassPortInfo:CapabilityMask bit 9 */
#define PMA_CAP_ALL_PORT_SELECT 0x0100

struct pma_port_counters {
	uint8_t port_select;
	uint16_t counter_select;
	uint16_t symbol_errors;
	uint8_t link_recovers, link_downed;
	uint16_t rcv_errors, rcv_remphys_errors, rcv_switch_relay_errors, xmit_discards;
	uint8_t xmit_constraint_errors, rcv_constraint_errors;
	uint8_t counter_select2;
	uint8_t local_link_integrity_errors, excessive_overruns; /* 4 bits each */
	uint16_t vl15_dropped;
	uint32_t xmit_data, rcv_data; /* 4-octet words, LRH .. VCRC excluded as 16.1.3.5 says */
	uint32_t xmit_pkts, rcv_pkts;
	uint32_t xmit_wait;
};
#define PMA_PORT_COUNTERS_LEN 44
int pma_port_counters_decode(struct pma_port_counters *ret, const void *p, size_t len);
void pma_port_counters_encode(void *p, const struct pma_port_counters *c);

struct pma_port_counters_ext {
	uint8_t port_select;
	uint16_t counter_select;
	uint64_t xmit_data, rcv_data, xmit_pkts, rcv_pkts;
	uint64_t ucast_xmit_pkts, ucast_rcv_pkts, mcast_xmit_pkts, mcast_rcv_pkts;
};
#define PMA_PORT_COUNTERS_EXT_LEN 72
int pma_port_counters_ext_decode(struct pma_port_counters_ext *ret, const void *p, size_t len);
void pma_port_counters_ext_encode(void *p, const struct pma_port_counters_ext *c);

#endif
