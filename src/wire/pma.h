/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_PMA_H
#define WIRE_PMA_H

/* Performance management: counters of ports, and samples of counters (IBTA volume 1, 16.1) */

#include "wire/mad.h"

#define PMA_DATA_OFF 64

enum pma_attr {
	PMA_ATTR_PORT_SAMPLES_CONTROL = 0x0010,
	PMA_ATTR_PORT_SAMPLES_RESULT = 0x0011,
	PMA_ATTR_PORT_COUNTERS = 0x0012,
	PMA_ATTR_PORT_RCV_ERROR_DETAILS = 0x0015,
	PMA_ATTR_PORT_XMIT_DISCARD_DETAILS = 0x0016,
	PMA_ATTR_PORT_COUNTERS_EXT = 0x001d,
	PMA_ATTR_PORT_XMIT_DATA_SL = 0x0036,
	PMA_ATTR_PORT_RCV_DATA_SL = 0x0037,
};

/* ClassPortInfo:CapabilityMask */
#define PMA_CAP_ALL_PORT_SELECT 0x0100
#define PMA_CAP_EXT_WIDTH 0x0200 /* PortCountersExtended has all eight counters */
#define PMA_CAP_XMIT_WAIT 0x1000 /* PortCounters:PortXmitWait */

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
	uint32_t xmit_data, rcv_data; /* data in 4-octet words from LRH to ICRC (16.1.3.5) */
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

struct pma_rcv_error_details {
	uint8_t port_select;
	uint16_t counter_select;
	uint16_t local_physical, malformed, buffer_overrun, dlid_mapping, vl_mapping, looping;
};
#define PMA_RCV_ERROR_DETAILS_LEN 16
int pma_rcv_error_details_decode(struct pma_rcv_error_details *ret, const void *p, size_t len);
void pma_rcv_error_details_encode(void *p, const struct pma_rcv_error_details *d);

struct pma_xmit_discard_details {
	uint8_t port_select;
	uint16_t counter_select;
	uint16_t inactive, neighbor_mtu, sw_lifetime, sw_hoq_lifetime;
};
#define PMA_XMIT_DISCARD_DETAILS_LEN 12
int pma_xmit_discard_details_decode(struct pma_xmit_discard_details *ret, const void *p,
				    size_t len);
void pma_xmit_discard_details_encode(void *p, const struct pma_xmit_discard_details *d);

/* PortXmitDataSL and PortRcvDataSL: data of each SL in 4-octet words */
#define PMA_SLS 16
struct pma_data_sl {
	uint8_t port_select;
	uint16_t counter_select;
	uint32_t words[PMA_SLS];
};
#define PMA_DATA_SL_LEN 68
int pma_data_sl_decode(struct pma_data_sl *ret, const void *p, size_t len);
void pma_data_sl_encode(void *p, const struct pma_data_sl *d);

#define PMA_SAMPLE_COUNTERS 15
enum pma_sample_status {
	PMA_SAMPLE_DONE = 0,
	PMA_SAMPLE_STARTED = 1, /* the delay SampleStart is running */
	PMA_SAMPLE_RUNNING = 2, /* SampleInterval is running, and counters are sampled */
};
/* Values of CounterSelect: the mandatory counters */
enum pma_sample_select {
	PMA_SAMPLE_NONE = 0,
	PMA_SAMPLE_XMIT_DATA = 1,
	PMA_SAMPLE_RCV_DATA = 2,
	PMA_SAMPLE_XMIT_PKTS = 3,
	PMA_SAMPLE_RCV_PKTS = 4,
	PMA_SAMPLE_XMIT_WAIT = 5,
};
struct pma_samples_control {
	uint8_t op_code, port_select;
	uint8_t tick; /* length of a tick: 4 ns x (n + 1) */
	uint8_t counter_width; /* 3 bits; the value 4 means 32 bits */
	uint32_t counter_masks_0_9; /* 3 bits each, counter 0 in bits 29-27 */
	uint16_t counter_masks_10_14; /* 3 bits each, counter 10 in bits 14-12 */
	uint8_t mechanisms, status; /* .status: 2 bits, enum pma_sample_status */
	uint64_t option_mask, vendor_mask;
	uint32_t start, interval; /* SampleStart and SampleInterval in ticks */
	uint16_t tag, select[PMA_SAMPLE_COUNTERS];
	uint64_t samples_only_option_mask;
};
#define PMA_SAMPLES_CONTROL_LEN 80
int pma_samples_control_decode(struct pma_samples_control *ret, const void *p, size_t len);
void pma_samples_control_encode(void *p, const struct pma_samples_control *c);

struct pma_samples_result {
	uint16_t tag;
	uint8_t status; /* 2 bits */
	uint32_t counter[PMA_SAMPLE_COUNTERS];
};
#define PMA_SAMPLES_RESULT_LEN 64
int pma_samples_result_decode(struct pma_samples_result *ret, const void *p, size_t len);
void pma_samples_result_encode(void *p, const struct pma_samples_result *r);

#endif
