/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/pma.h"

#include "node/priv.h"

#define RESP_TIME 16 /* time to answer: 4.096 us x 2^16 = 268 ms */

static uint16_t class_port_info(const struct node *n, bool set, uint8_t *data)
{
	struct mad_class_port_info c = {
		.base_version = MAD_BASE_VERSION,
		.class_version = PMA_CLASS_VERSION,
		.cap_mask = PMA_CAP_EXT_WIDTH | PMA_CAP_XMIT_WAIT,
		.resp_time = RESP_TIME,
	};

	if (set)
		/*
		 * a Set(ClassPortInfo) would set the address for traps, but this PMA sends no traps
		 */
		return MAD_STATUS_BAD_ATTR;
	if (n->info.node_type == IB_NODE_SWITCH)
		c.cap_mask |= PMA_CAP_ALL_PORT_SELECT;
	mad_class_port_info_encode(data, &c);
	return 0;
}

static uint16_t execute(struct node_port *end, uint8_t *mad, ns_t now)
{
	uint8_t *data = mad + PMA_DATA_OFF;
	bool set = mad_method(mad) == MAD_METHOD_SET;
	uint16_t attr = mad_attr(mad);

	if (mad[0] != MAD_BASE_VERSION || mad[2] != PMA_CLASS_VERSION)
		return MAD_STATUS_BAD_VERSION;
	if (!set && mad_method(mad) != MAD_METHOD_GET)
		return MAD_STATUS_BAD_METHOD;
	switch (attr) {
	case MAD_ATTR_CLASS_PORT_INFO:
		return class_port_info(end->node, set, data);
	case PMA_ATTR_PORT_SAMPLES_CONTROL:
	case PMA_ATTR_PORT_SAMPLES_RESULT:
		return pma_samples(end, set, attr, data, now);
	default:
		return pma_counters(end->node, set, attr, data);
	}
}

bool node_pma(struct node_port *end, const struct mad_addr *from, void *mad, ns_t now)
{
	uint16_t status;

	if (mad_class(mad) != MAD_CLASS_PERF || mad_method_is_response(mad_method(mad)))
		return false;
	status = execute(end, mad, now);
	node_gmp_answer(end, from, mad, status, now);
	return true;
}
