/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/pma.h"

#include <errno.h>

#define WIDTH_MASK 7u
#define MASKS_0_9 0x3fffffffu
#define MASKS_10_14 0x7fffu
#define STATUS_MASK 3u

struct samples_control_wire {
	uint8_t op_code, port_select, tick, counter_width;
	be32 masks_0_9;
	be16 masks_10_14;
	uint8_t mechanisms, status;
	be64 option_mask, vendor_mask;
	be32 start, interval;
	be16 tag, select[PMA_SAMPLE_COUNTERS];
	be32 resv;
	be64 samples_only_option_mask;
};
static_assert(sizeof(struct samples_control_wire) == PMA_SAMPLES_CONTROL_LEN, "IBTA 16.1.3.2");

int pma_samples_control_decode(struct pma_samples_control *ret, const void *p, size_t len)
{
	struct samples_control_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	*ret = (struct pma_samples_control){
		.op_code = w.op_code,
		.port_select = w.port_select,
		.tick = w.tick,
		.counter_width = w.counter_width & WIDTH_MASK,
		.counter_masks_0_9 = be32_get(w.masks_0_9) & MASKS_0_9,
		.counter_masks_10_14 = be16_get(w.masks_10_14) & MASKS_10_14,
		.mechanisms = w.mechanisms,
		.status = w.status & STATUS_MASK,
		.option_mask = be64_get(w.option_mask),
		.vendor_mask = be64_get(w.vendor_mask),
		.start = be32_get(w.start),
		.interval = be32_get(w.interval),
		.tag = be16_get(w.tag),
		.samples_only_option_mask = be64_get(w.samples_only_option_mask),
	};
	for (unsigned int i = 0; i < PMA_SAMPLE_COUNTERS; i++)
		ret->select[i] = be16_get(w.select[i]);
	return 0;
}

void pma_samples_control_encode(void *p, const struct pma_samples_control *c)
{
	struct samples_control_wire w = {
		.op_code = c->op_code,
		.port_select = c->port_select,
		.tick = c->tick,
		.counter_width = c->counter_width & WIDTH_MASK,
		.masks_0_9 = be32_of(c->counter_masks_0_9 & MASKS_0_9),
		.masks_10_14 = be16_of(c->counter_masks_10_14 & MASKS_10_14),
		.mechanisms = c->mechanisms,
		.status = c->status & STATUS_MASK,
		.option_mask = be64_of(c->option_mask),
		.vendor_mask = be64_of(c->vendor_mask),
		.start = be32_of(c->start),
		.interval = be32_of(c->interval),
		.tag = be16_of(c->tag),
		.samples_only_option_mask = be64_of(c->samples_only_option_mask),
	};

	for (unsigned int i = 0; i < PMA_SAMPLE_COUNTERS; i++)
		w.select[i] = be16_of(c->select[i]);
	memcpy(p, &w, sizeof(w));
}

struct samples_result_wire {
	be16 tag;
	uint8_t resv, status;
	be32 counter[PMA_SAMPLE_COUNTERS];
};
static_assert(sizeof(struct samples_result_wire) == PMA_SAMPLES_RESULT_LEN, "IBTA 16.1.3.4");

int pma_samples_result_decode(struct pma_samples_result *ret, const void *p, size_t len)
{
	struct samples_result_wire w;

	if (len < sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	ret->tag = be16_get(w.tag);
	ret->status = w.status & STATUS_MASK;
	for (unsigned int i = 0; i < PMA_SAMPLE_COUNTERS; i++)
		ret->counter[i] = be32_get(w.counter[i]);
	return 0;
}

void pma_samples_result_encode(void *p, const struct pma_samples_result *r)
{
	struct samples_result_wire w = { .tag = be16_of(r->tag),
					 .status = r->status & STATUS_MASK };

	for (unsigned int i = 0; i < PMA_SAMPLE_COUNTERS; i++)
		w.counter[i] = be32_of(r->counter[i]);
	memcpy(p, &w, sizeof(w));
}
