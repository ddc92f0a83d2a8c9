/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/pma.h"

#include <errno.h>

/* Attributes that divide counters of PortCounters by reason or by SL. */

struct rcv_error_details_wire {
	uint8_t resv, port_select;
	be16 counter_select;
	be16 local_physical, malformed, buffer_overrun, dlid_mapping, vl_mapping, looping;
};
static_assert(sizeof(struct rcv_error_details_wire) == PMA_RCV_ERROR_DETAILS_LEN, "IBTA 16.1.4");

int pma_rcv_error_details_decode(struct pma_rcv_error_details *ret, const void *p, size_t len)
{
	struct rcv_error_details_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct pma_rcv_error_details){
		.port_select = w.port_select,
		.counter_select = be16_get(w.counter_select),
		.local_physical = be16_get(w.local_physical),
		.malformed = be16_get(w.malformed),
		.buffer_overrun = be16_get(w.buffer_overrun),
		.dlid_mapping = be16_get(w.dlid_mapping),
		.vl_mapping = be16_get(w.vl_mapping),
		.looping = be16_get(w.looping),
	};
	return 0;
}

void pma_rcv_error_details_encode(void *p, const struct pma_rcv_error_details *d)
{
	struct rcv_error_details_wire w = {
		.port_select = d->port_select,
		.counter_select = be16_of(d->counter_select),
		.local_physical = be16_of(d->local_physical),
		.malformed = be16_of(d->malformed),
		.buffer_overrun = be16_of(d->buffer_overrun),
		.dlid_mapping = be16_of(d->dlid_mapping),
		.vl_mapping = be16_of(d->vl_mapping),
		.looping = be16_of(d->looping),
	};

	memcpy(p, &w, sizeof(w));
}

struct xmit_discard_details_wire {
	uint8_t resv, port_select;
	be16 counter_select;
	be16 inactive, neighbor_mtu, sw_lifetime, sw_hoq_lifetime;
};
static_assert(sizeof(struct xmit_discard_details_wire) == PMA_XMIT_DISCARD_DETAILS_LEN,
	      "IBTA 16.1.4");

int pma_xmit_discard_details_decode(struct pma_xmit_discard_details *ret, const void *p, size_t len)
{
	struct xmit_discard_details_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct pma_xmit_discard_details){
		.port_select = w.port_select,
		.counter_select = be16_get(w.counter_select),
		.inactive = be16_get(w.inactive),
		.neighbor_mtu = be16_get(w.neighbor_mtu),
		.sw_lifetime = be16_get(w.sw_lifetime),
		.sw_hoq_lifetime = be16_get(w.sw_hoq_lifetime),
	};
	return 0;
}

void pma_xmit_discard_details_encode(void *p, const struct pma_xmit_discard_details *d)
{
	struct xmit_discard_details_wire w = {
		.port_select = d->port_select,
		.counter_select = be16_of(d->counter_select),
		.inactive = be16_of(d->inactive),
		.neighbor_mtu = be16_of(d->neighbor_mtu),
		.sw_lifetime = be16_of(d->sw_lifetime),
		.sw_hoq_lifetime = be16_of(d->sw_hoq_lifetime),
	};

	memcpy(p, &w, sizeof(w));
}

struct data_sl_wire {
	uint8_t resv, port_select;
	be16 counter_select;
	be32 words[PMA_SLS];
};
static_assert(sizeof(struct data_sl_wire) == PMA_DATA_SL_LEN, "IBTA 16.1.4");

int pma_data_sl_decode(struct pma_data_sl *ret, const void *p, size_t len)
{
	struct data_sl_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	ret->port_select = w.port_select;
	ret->counter_select = be16_get(w.counter_select);
	for (unsigned int i = 0; i < PMA_SLS; i++)
		ret->words[i] = be32_get(w.words[i]);
	return 0;
}

void pma_data_sl_encode(void *p, const struct pma_data_sl *d)
{
	struct data_sl_wire w = {
		.port_select = d->port_select,
		.counter_select = be16_of(d->counter_select),
	};

	for (unsigned int i = 0; i < PMA_SLS; i++)
		w.words[i] = be32_of(d->words[i]);
	memcpy(p, &w, sizeof(w));
}
