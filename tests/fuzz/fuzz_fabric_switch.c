/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of any octets arrive at the ports of a switch: SMPs that configure the switch, unicast
 * and multicast data, and damaged packets. The switch must not crash, leak memory, recurse or run
 * for ever.
 *
 * The input is a list of records: port (bits 0-1) and flags (bit 2: PktLen is corrected, bit 3:
 * CRCs count as absent, bit 4: time passes, bit 5: the port's link changes) in one octet, a length
 * of 16 bits, then the packet's octets.
 */
#include <assert.h>
#include <string.h>

#include "fabric/fabric.h"
#include "fabric_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NENDS 4

struct world {
	struct timers ts;
	struct pkt_pool *pool;
	struct fabric *f;
	struct fabric_port *end[NENDS];
	bool carrier[NENDS];
	ns_t now;
};

static void take(void *ctx, struct pkt **v, unsigned int n, ns_t now)
{
	uint8_t buf[IB_PKT_MAX];

	for (unsigned int i = 0; i < n; i++)
		assert(fabric_pkt_to_wire(v[i], buf, sizeof(buf)) > 0);
	pkt_free_batch(v, n);
}

static void settle(struct world *w)
{
	unsigned int rounds = 0;

	do {
		timers_run(&w->ts, w->now);
		assert(++rounds < 100000);
	} while (fabric_run(w->f, w->now));
}

static void start(struct world *w)
{
	static const struct fabric_ext_ops ops = { .tx = take };
	struct fabric_cfg cfg = { .timers = &w->ts, .data_depth = 64, .vl15_depth = 16 };
	struct node *n;
	struct topo *t = topo_create();
	uint32_t sw;

	memset(w, 0, sizeof(*w));
	timers_init(&w->ts);
	w->pool = pkt_pool_create(512, 128);
	cfg.pool = w->pool;
	assert(t && w->pool);
	/*
	 * Two switches with two cables between them, which form a loop. Two further ports of each
	 * switch have external ends, at which the packets of the input arrive.
	 */
	assert(!topo_add_node(t, IB_NODE_SWITCH, 4, "a", NULL, &sw));
	assert(!topo_add_node(t, IB_NODE_SWITCH, 4, "b", NULL, &sw));
	assert(!topo_link(t, 0, 3, 1, 3) && !topo_link(t, 0, 4, 1, 4));
	assert(!fabric_create(&w->f, t, &cfg, 0));
	topo_free(t);
	for (unsigned int i = 0; i < NENDS; i++) {
		struct fabric_node *fn = fabric_node_at(w->f, i / 2);

		assert(!fabric_ext_attach(fabric_node_port(fn, 1 + i % 2), "x", &ops, w,
					  &w->end[i]));
		fabric_ext_carrier(w->end[i], true, 0);
		w->carrier[i] = true;
		/*
		 * Ports are Active from the start. In both LFTs, LID n has port n % 6; port 5 does
		 * not exist. Packets to LIDs with port 3 or 4 circle between the switches.
		 */
		n = fabric_node_node(fn);
		for (unsigned int k = 1; k <= 4; k++)
			n->port[k].pi.port_state = IB_PORT_ACTIVE;
		n->sw->si.lft_top = 0xff;
		for (unsigned int lid = 0; lid < 0x100; lid++)
			n->sw->lft[lid] = (uint8_t)(lid % 6);
		node_mft_own(n->sw)[1][0] = 0x1f;
		n->port[0].pi.lid = 6;
	}
}

static void stop(struct world *w)
{
	fabric_destroy(w->f);
	assert(pkt_pool_pkts_used(w->pool) == 0 && pkt_pool_bufs_used(w->pool) == 0);
	timers_fini(&w->ts);
	pkt_pool_destroy(w->pool);
}

static void inject(struct world *w, unsigned int port, uint8_t flags, const uint8_t *data,
		   size_t len)
{
	uint8_t copy[IB_PKT_MAX];
	struct pkt *p;

	if (len > sizeof(copy))
		return;
	memcpy(copy, data, len);
	if ((flags & 4) && len >= 6) {
		len = (len - 2) / 4 * 4 + 2;
		be16_put(copy + 4, (uint16_t)((len - 2) / 4));
	}
	if (pkt_from_wire(&p, w->pool, copy, len))
		return;
	if (flags & 8)
		p->flags = 0;
	fabric_ext_rx(w->end[port], &p, 1, w->now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w;

	start(&w);
	while (size >= 3) {
		uint8_t flags = data[0];
		unsigned int port = flags & 3;
		size_t len = (size_t)(data[1] << 8 | data[2]);

		data += 3;
		size -= 3;
		if (len > size)
			len = size;
		if (flags & 0x20) {
			w.carrier[port] = !w.carrier[port];
			fabric_ext_carrier(w.end[port], w.carrier[port], w.now);
		}
		inject(&w, port, flags, data, len);
		if (flags & 0x10)
			w.now += NS_MSEC(20);
		settle(&w);
		data += len;
		size -= len;
	}
	stop(&w);
	return 0;
}
