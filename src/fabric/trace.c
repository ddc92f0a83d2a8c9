/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/trace.h"

#include "fabric/fabric_priv.h"

void fabric_trace_set(struct fabric *f, const struct fabric_trace *t)
{
	f->tracing = t != NULL;
	f->trace = t ? *t : (struct fabric_trace){ 0 };
}

bool fabric_trace_wants(const struct fabric *f, const struct pkt *p)
{
	return f->trace.match(f->trace.ctx, p);
}

void fabric_trace_emit(struct fabric *f, struct fabric_trace_event *ev)
{
	f->trace.event(f->trace.ctx, ev);
}

void fabric_trace_sent(struct fabric_port *from, const struct pkt *p, ns_t now)
{
	struct fabric_trace_event ev = {
		.kind = FABRIC_TRACE_SENT,
		.node = from->node,
		.out_port = from->num,
		.drop = -1,
		.hca_drop = -1,
		.pkt = p,
		.now = now,
	};

	if ((from->kind == PORT_CA || from->kind == PORT_ZERO) && fabric_trace_wants(from->f, p))
		fabric_trace_emit(from->f, &ev);
}

static void all_drops(const struct hca *h, uint64_t ret[HCA_DROP_MAX])
{
	for (int i = 0; i < HCA_DROP_MAX; i++)
		ret[i] = hca_drops(h, (enum hca_drop)i);
}

/*
 * Give the HCA one packet, and trace whether the packet was delivered or dropped. If one of the
 * HCA's drop counters has grown during the call, this counter shows the reason of the drop.
 */
static void rx_watched(struct fabric_port *to, struct pkt *p, ns_t now)
{
	struct pkt *copy = pkt_clone(p);
	struct fabric_trace_event ev = {
		.kind = FABRIC_TRACE_DELIVERED,
		.node = to->node,
		.in_port = to->num,
		.drop = -1,
		.hca_drop = -1,
		.pkt = copy,
		.now = now,
	};
	uint64_t before[HCA_DROP_MAX], after[HCA_DROP_MAX];

	all_drops(to->node->hca, before);
	hca_rx(to->node->hca, to->num, &p, 1, now);
	all_drops(to->node->hca, after);
	for (int i = 0; i < HCA_DROP_MAX; i++) {
		if (after[i] == before[i])
			continue;
		ev.kind = FABRIC_TRACE_DISCARDED;
		ev.hca_drop = i;
	}
	/*
	 * No event is reported if there was no descriptor for a copy, or if the trace was switched
	 * off during the call.
	 */
	if (copy && to->f->tracing)
		fabric_trace_emit(to->f, &ev);
	pkt_free(copy);
}

void fabric_trace_hca_rx(struct fabric_port *to, struct pkt **v, unsigned int n, ns_t now)
{
	for (unsigned int i = 0; i < n; i++) {
		if (to->f->tracing && fabric_trace_wants(to->f, v[i]))
			rx_watched(to, v[i], now);
		else
			hca_rx(to->node->hca, to->num, &v[i], 1, now);
	}
}
