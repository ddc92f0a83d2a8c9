/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "node/priv.h"

/*
 * DOC: Samples
 *
 * A Set(PortSamplesControl) starts a measurement (16.1.3.2). The measurement waits for SampleStart ticks and lasts for
 * SampleInterval ticks; PortSamplesResult then shows by how much up to five counters of one port have grown. A Set
 * during a measurement changes nothing. Each end port can run one measurement at a time; port 0 of a switch can measure
 * any port of the switch.
 */

#define COUNTERS 5 /* counters of one measurement; the attribute has room for 15 */
#define WIDTH_32 4 /* CounterWidth: 32 bits */
/* CounterMask 0 to 4: each of the five counters can be any of the mandatory counters */
#define MASKS_0_4 011111u << 15
#define TICK_NS 4 /* length of a tick in ns; the Tick field is 0, which means 4 ns */

struct node_sampler {
	struct node_port *end;
	struct timer timer;
	struct pma_samples_control ctl;
	uint64_t before[COUNTERS];
	uint32_t result[COUNTERS];
};

static uint64_t value_of(const struct node_port *p, uint16_t select)
{
	const struct node_counters *c = &p->cnt;

	switch (select) {
	case PMA_SAMPLE_XMIT_DATA:
		return c->xmit_data;
	case PMA_SAMPLE_RCV_DATA:
		return c->rcv_data;
	case PMA_SAMPLE_XMIT_PKTS:
		return c->xmit_pkts;
	case PMA_SAMPLE_RCV_PKTS:
		return c->rcv_pkts;
	case PMA_SAMPLE_XMIT_WAIT:
		return c->xmit_wait;
	default:
		return 0;
	}
}

static const struct node_port *sampled(const struct node_sampler *s)
{
	return &s->end->node->port[s->ctl.port_select];
}

static void begin(struct node_sampler *s, ns_t now)
{
	s->ctl.status = PMA_SAMPLE_RUNNING;
	for (unsigned int i = 0; i < COUNTERS; i++)
		s->before[i] = value_of(sampled(s), s->ctl.select[i]);
	timer_arm(s->end->node->timers, &s->timer, now + (ns_t)s->ctl.interval * TICK_NS);
}

static void end(struct node_sampler *s)
{
	s->ctl.status = PMA_SAMPLE_DONE;
	for (unsigned int i = 0; i < COUNTERS; i++) {
		uint64_t v = value_of(sampled(s), s->ctl.select[i]) - s->before[i];

		s->result[i] = v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
	}
}

static void sample_timer(struct timer *t, ns_t now)
{
	struct node_sampler *s = container_of(t, struct node_sampler, timer);

	if (s->ctl.status == PMA_SAMPLE_STARTED)
		begin(s, now);
	else
		end(s);
}

static bool port_ok(const struct node *n, uint8_t port)
{
	return port <= n->info.nports && (port || n->info.node_type == IB_NODE_SWITCH);
}

static bool select_ok(const struct pma_samples_control *v)
{
	for (unsigned int i = 0; i < PMA_SAMPLE_COUNTERS; i++)
		if (v->select[i] > (i < COUNTERS ? PMA_SAMPLE_XMIT_WAIT : PMA_SAMPLE_NONE))
			return false;
	return true;
}

static uint16_t control(struct node_sampler *s, bool set, uint8_t *data, ns_t now)
{
	struct pma_samples_control v;

	pma_samples_control_decode(&v, data, PMA_SAMPLES_CONTROL_LEN);
	if (!port_ok(s->end->node, v.port_select) || (set && !select_ok(&v)))
		return MAD_STATUS_BAD_VALUE;
	if (set && s->ctl.status == PMA_SAMPLE_DONE) {
		s->ctl.op_code = v.op_code;
		s->ctl.port_select = v.port_select;
		s->ctl.start = v.start;
		s->ctl.interval = v.interval;
		s->ctl.tag = v.tag;
		memcpy(s->ctl.select, v.select, sizeof(v.select));
		s->ctl.status = PMA_SAMPLE_STARTED;
		memset(s->result, 0, sizeof(s->result));
		timer_arm(s->end->node->timers, &s->timer, now + (ns_t)v.start * TICK_NS);
	}
	v = s->ctl;
	pma_samples_control_encode(data, &v);
	return 0;
}

static uint16_t result(const struct node_sampler *s, uint8_t *data)
{
	struct pma_samples_result r = { .tag = s->ctl.tag, .status = s->ctl.status };

	memcpy(r.counter, s->result, sizeof(s->result));
	pma_samples_result_encode(data, &r);
	return 0;
}

/*
 * Make the sampler of a port at the first request for samples, because samples are requested from
 * few ports.
 */
static int sampler_create(struct node_port *port)
{
	struct node_sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->end = port;
	s->ctl.port_select = port->num;
	s->ctl.counter_width = WIDTH_32;
	s->ctl.counter_masks_0_9 = MASKS_0_4;
	timer_init(&s->timer, sample_timer);
	port->sampler = s;
	return 0;
}

uint16_t pma_samples(struct node_port *port, bool set, uint16_t attr, uint8_t *data, ns_t now)
{
	if (attr != PMA_ATTR_PORT_SAMPLES_CONTROL && attr != PMA_ATTR_PORT_SAMPLES_RESULT)
		return MAD_STATUS_BAD_ATTR;
	if (!port->sampler && sampler_create(port))
		return MAD_STATUS_BUSY;
	if (attr == PMA_ATTR_PORT_SAMPLES_CONTROL)
		return control(port->sampler, set, data, now);
	return set ? MAD_STATUS_BAD_ATTR : result(port->sampler, data);
}
void pma_samples_fini(struct node_port *port)
{
	if (!port->sampler)
		return;
	timer_cancel(port->node->timers, &port->sampler->timer);
	free(port->sampler);
	port->sampler = NULL;
}
