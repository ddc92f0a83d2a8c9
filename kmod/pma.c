// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * Performance management, IBTA 16.1. The port's counters have 64 bits and are never reset. An attribute contains the
 * difference between the counter and a base, limited to the width of its field. A Set of the attribute changes the
 * base.
 */

#include <rdma/ib_pma.h>

#include "uib.h"

#define ATTR_RCV_ERROR_DETAILS cpu_to_be16(0x0015)
#define ATTR_XMIT_DISCARD_DETAILS cpu_to_be16(0x0016)
#define ATTR_XMIT_DATA_SL cpu_to_be16(0x0036)
#define ATTR_RCV_DATA_SL cpu_to_be16(0x0037)
/* Offsets of PortSelect and CounterSelect, which are the same in all attributes of counters */
#define PORT_SELECT 1
#define COUNTER_SELECT 2
#define DATA_OFF 64
#define RESP_TIME 16

/* A counter in an attribute. Counters that this port never counts have no entry and read as 0. */
struct field {
	u8 counter, off, bits; /* enum uib_counter, offset and width of the field */
	u8 select; /* bit of CounterSelect that stands for the counter */
};

static const struct field counters[] = {
	{ UIB_C_LINK_DOWNED, 7, 8, 2 },	    { UIB_C_RCV_ERRORS, 8, 16, 3 },
	{ UIB_C_XMIT_DISCARDS, 14, 16, 6 }, { UIB_C_VL15_DROPPED, 22, 16, 11 },
	{ UIB_C_XMIT_DATA, 24, 32, 12 },    { UIB_C_RCV_DATA, 28, 32, 13 },
	{ UIB_C_XMIT_PKTS, 32, 32, 14 },    { UIB_C_RCV_PKTS, 36, 32, 15 },
};

static const struct field ext_counters[] = {
	{ UIB_C_XMIT_DATA, 8, 64, 0 },	 { UIB_C_RCV_DATA, 16, 64, 1 },
	{ UIB_C_XMIT_PKTS, 24, 64, 2 },	 { UIB_C_RCV_PKTS, 32, 64, 3 },
	{ UIB_C_UCAST_XMIT, 40, 64, 4 }, { UIB_C_UCAST_RCV, 48, 64, 5 },
	{ UIB_C_MCAST_XMIT, 56, 64, 6 }, { UIB_C_MCAST_RCV, 64, 64, 7 },
};

static const struct field rcv_details[] = {
	{ UIB_C_RCV_PHYSICAL, 4, 16, 0 },
	{ UIB_C_RCV_MALFORMED, 6, 16, 1 },
};

static const struct field xmit_details[] = {
	{ UIB_C_XMIT_INACTIVE, 4, 16, 0 },
	{ UIB_C_XMIT_MTU, 6, 16, 1 },
};

/* clang-format off */
#define SL(c, i) { (c) + (i), 4 + 4 * (i), 32, (i) }
/* clang-format on */
#define SL4(c, i) SL(c, i), SL(c, (i) + 1), SL(c, (i) + 2), SL(c, (i) + 3)
#define SLS(c) SL4(c, 0), SL4(c, 4), SL4(c, 8), SL4(c, 12)
static const struct field xmit_sl[] = { SLS(UIB_C_XMIT_SL) };
static const struct field rcv_sl[] = { SLS(UIB_C_RCV_SL) };

static const struct attr {
	__be16 id;
	/*
	 * true if the attribute uses ext_base in place of counter_base, so that PortCounters and
	 * PortCountersExtended are cleared separately
	 */
	bool ext;
	const struct field *fields;
	unsigned int n; /* number of fields */
	unsigned int len; /* length of the attribute in octets */
} attrs[] = {
	{ IB_PMA_PORT_COUNTERS, false, counters, ARRAY_SIZE(counters), 44 },
	{ IB_PMA_PORT_COUNTERS_EXT, true, ext_counters, ARRAY_SIZE(ext_counters), 72 },
	{ ATTR_RCV_ERROR_DETAILS, false, rcv_details, ARRAY_SIZE(rcv_details), 16 },
	{ ATTR_XMIT_DISCARD_DETAILS, false, xmit_details, ARRAY_SIZE(xmit_details), 12 },
	{ ATTR_XMIT_DATA_SL, false, xmit_sl, ARRAY_SIZE(xmit_sl), 68 },
	{ ATTR_RCV_DATA_SL, false, rcv_sl, ARRAY_SIZE(rcv_sl), 68 },
};

static u64 get_field(const u8 *data, const struct field *f)
{
	const u8 *at = data + f->off;

	switch (f->bits) {
	case 8:
		return *at;
	case 16:
		return get_unaligned_be16(at);
	case 32:
		return get_unaligned_be32(at);
	default:
		return get_unaligned_be64(at);
	}
}

/* Write a counter into its field. A value that is too large for the field becomes the field's maximum. */
static void put_field(u8 *data, const struct field *f, u64 v)
{
	u8 *at = data + f->off;

	switch (f->bits) {
	case 8:
		*at = min_t(u64, v, U8_MAX);
		break;
	case 16:
		put_unaligned_be16(min_t(u64, v, U16_MAX), at);
		break;
	case 32:
		put_unaligned_be32(min_t(u64, v, U32_MAX), at);
		break;
	default:
		put_unaligned_be64(v, at);
		break;
	}
}

static void access_counters(struct uib_dev *dev, const struct attr *a, u8 *data, bool set)
{
	u64 *base = a->ext ? dev->port.ext_base : dev->port.counter_base;
	u16 select = set ? get_unaligned_be16(data + COUNTER_SELECT) : 0;
	unsigned int i;

	spin_lock_bh(&dev->port.lock);
	for (i = 0; i < a->n; i++) {
		const struct field *f = &a->fields[i];

		if (select >> f->select & 1)
			base[f->counter] = uib_counter_sum(dev, f->counter) - get_field(data, f);
	}
	data[0] = 0; /* reserved */
	memset(data + COUNTER_SELECT + 2, 0, a->len - COUNTER_SELECT - 2);
	for (i = 0; i < a->n; i++) {
		const struct field *f = &a->fields[i];

		put_field(data, f, uib_counter_sum(dev, f->counter) - base[f->counter]);
	}
	spin_unlock_bh(&dev->port.lock);
}

static u16 class_port_info(u8 *data, bool set)
{
	struct ib_class_port_info *c = (void *)data;

	if (set)
		/*
		 * Refuse a Set of ClassPortInfo, because the fields that it could change, such as
		 * TrapLID, are about traps, and this PMA sends no traps
		 */
		return UIB_STATUS_BAD_ATTR;
	memset(c, 0, sizeof(*c));
	c->base_version = IB_MGMT_BASE_VERSION;
	c->class_version = 1;
	c->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH | IB_PMA_CLASS_CAP_XMIT_WAIT;
	c->cap_mask2_resp_time = cpu_to_be32(RESP_TIME);
	return 0;
}

static u16 execute(struct uib_dev *dev, struct ib_mad *mad)
{
	bool set = mad->mad_hdr.method == IB_MGMT_METHOD_SET;
	u8 *data = (u8 *)mad + DATA_OFF;
	unsigned int i;

	if (mad->mad_hdr.base_version != IB_MGMT_BASE_VERSION || mad->mad_hdr.class_version != 1)
		return UIB_STATUS_BAD_VERSION;
	if (!set && mad->mad_hdr.method != IB_MGMT_METHOD_GET)
		return UIB_STATUS_BAD_METHOD;
	if (mad->mad_hdr.attr_id == IB_PMA_CLASS_PORT_INFO)
		return class_port_info(data, set);
	if (mad->mad_hdr.attr_id == IB_PMA_PORT_SAMPLES_CONTROL ||
	    mad->mad_hdr.attr_id == IB_PMA_PORT_SAMPLES_RESULT)
		return uib_samples(dev, mad->mad_hdr.attr_id, data, set);
	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		if (attrs[i].id != mad->mad_hdr.attr_id)
			continue;
		if (data[PORT_SELECT] != UIB_PORT)
			return UIB_STATUS_BAD_VALUE;
		access_counters(dev, &attrs[i], data, set);
		return 0;
	}
	return UIB_STATUS_BAD_ATTR;
}

void uib_pma(struct uib_dev *dev, struct ib_mad *mad)
{
	u16 status = execute(dev, mad);

	mad->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	mad->mad_hdr.status = cpu_to_be16(status);
}
