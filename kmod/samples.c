// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * PortSamplesControl and PortSamplesResult, IBTA 16.1.3.2. A Set starts a measurement of at most
 * five counters. The measurement first waits for SampleStart ticks, and then takes SampleInterval
 * ticks. Its result says by how much each counter has grown in this interval. While a measurement
 * runs, another Set changes nothing.
 */

#include <rdma/ib_pma.h>

#include "uib.h"

#define WIDTH_32 4 /* value of CounterWidth for counters of 32 bits */
/*
 * CounterMask0 to CounterMask4, of 3 bits each, which is one octal digit. The value 1 means that the
 * counter can be any mandatory counter
 */
#define MASKS_0_4 (011111u << 15)
#define TICK_NS 4 /* length of a tick; the Tick field is 0, which means 4 ns */

/*
 * The kernel's struct in <rdma/ib_pma.h> has the option masks at octet 16, because the compiler aligns the masks. On
 * the wire the masks begin at octet 12.
 */
struct samples_control {
	u8 op_code;
	u8 port_select;
	u8 tick;
	u8 counter_width;
	__be32 masks_0_9;
	__be16 masks_10_14;
	u8 mechanisms;
	u8 status;
	__be64 option_mask;
	__be64 vendor_mask;
	__be32 start;
	__be32 interval;
	__be16 tag;
	__be16 select[15];
	__be32 resv;
	__be64 samples_only_option_mask;
} __packed;

static_assert(offsetof(struct samples_control, select) == 38);
static_assert(sizeof(struct samples_control) == 80);
static_assert(offsetof(struct ib_pma_portsamplesresult, counter) == 4);

/* The counter for each value of CounterSelect. Value 5 is PortXmitWait, which this port does not have. */
static const enum uib_counter selectable[] = {
	UIB_C_NONE, UIB_C_XMIT_DATA, UIB_C_RCV_DATA, UIB_C_XMIT_PKTS, UIB_C_RCV_PKTS, UIB_C_NONE,
};

static u64 value(const struct uib_dev *dev, u16 select)
{
	return uib_counter_sum(dev, selectable[select]);
}

static void arm(struct uib_sampler *s, u32 ticks)
{
	hrtimer_start(&s->timer, ns_to_ktime((u64)ticks * TICK_NS), HRTIMER_MODE_REL_SOFT);
}

/* Runs in softirq when SampleStart or SampleInterval is over. */
static enum hrtimer_restart on_timer(struct hrtimer *t)
{
	struct uib_sampler *s = container_of(t, struct uib_sampler, timer);
	struct uib_dev *dev = container_of(s, struct uib_dev, sampler);
	unsigned int i;

	spin_lock(&s->lock);
	for (i = 0; i < UIB_SAMPLES; i++) {
		u64 now = value(dev, s->select[i]);

		if (s->status == UIB_SAMPLE_STARTED)
			s->before[i] = now;
		else
			s->result[i] = min_t(u64, now - s->before[i], U32_MAX);
	}
	if (s->status == UIB_SAMPLE_STARTED) {
		s->status = UIB_SAMPLE_RUNNING;
		arm(s, s->interval);
	} else {
		s->status = UIB_SAMPLE_DONE;
	}
	spin_unlock(&s->lock);
	return HRTIMER_NORESTART;
}

static bool select_ok(const struct samples_control *c)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(c->select); i++)
		if (be16_to_cpu(c->select[i]) >= (i < UIB_SAMPLES ? ARRAY_SIZE(selectable) : 1))
			return false;
	return true;
}

static void begin(struct uib_sampler *s, const struct samples_control *c)
{
	unsigned int i;

	s->op_code = c->op_code;
	s->start = be32_to_cpu(c->start);
	s->interval = be32_to_cpu(c->interval);
	s->tag = be16_to_cpu(c->tag);
	for (i = 0; i < UIB_SAMPLES; i++)
		s->select[i] = be16_to_cpu(c->select[i]);
	memset(s->result, 0, sizeof(s->result));
	s->status = UIB_SAMPLE_STARTED;
	arm(s, s->start);
}

static u16 control(struct uib_sampler *s, struct samples_control *c, bool set)
{
	unsigned int i;

	if (c->port_select != UIB_PORT || (set && !select_ok(c)))
		return UIB_STATUS_BAD_VALUE;
	spin_lock_bh(&s->lock);
	if (set && s->status == UIB_SAMPLE_DONE)
		begin(s, c);
	memset(c, 0, sizeof(*c));
	c->op_code = s->op_code;
	c->port_select = UIB_PORT;
	c->counter_width = WIDTH_32;
	c->masks_0_9 = cpu_to_be32(MASKS_0_4);
	c->status = s->status;
	c->start = cpu_to_be32(s->start);
	c->interval = cpu_to_be32(s->interval);
	c->tag = cpu_to_be16(s->tag);
	for (i = 0; i < UIB_SAMPLES; i++)
		c->select[i] = cpu_to_be16(s->select[i]);
	spin_unlock_bh(&s->lock);
	return 0;
}

static u16 result(struct uib_sampler *s, struct ib_pma_portsamplesresult *r)
{
	unsigned int i;

	memset(r, 0, sizeof(*r));
	spin_lock_bh(&s->lock);
	r->tag = cpu_to_be16(s->tag);
	r->sample_status = cpu_to_be16(s->status);
	for (i = 0; i < UIB_SAMPLES; i++)
		r->counter[i] = cpu_to_be32(s->result[i]);
	spin_unlock_bh(&s->lock);
	return 0;
}

u16 uib_samples(struct uib_dev *dev, __be16 attr, u8 *data, bool set)
{
	if (attr == IB_PMA_PORT_SAMPLES_CONTROL)
		return control(&dev->sampler, (void *)data, set);
	if (attr == IB_PMA_PORT_SAMPLES_RESULT && !set)
		return result(&dev->sampler, (void *)data);
	return UIB_STATUS_BAD_ATTR;
}

void uib_samples_init(struct uib_dev *dev)
{
	struct uib_sampler *s = &dev->sampler;

	spin_lock_init(&s->lock);
	uib_hrtimer_setup(&s->timer, on_timer, HRTIMER_MODE_REL_SOFT);
}

void uib_samples_exit(struct uib_dev *dev)
{
	hrtimer_cancel(&dev->sampler.timer);
}
