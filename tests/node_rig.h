/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_NODE_RIG_H
#define TESTS_NODE_RIG_H

/*
 * One node (CA or switch). The rig is the owner of the node: it stores the MADs that the node sends
 * and the events that the node raises.
 */

#include <errno.h>
#include <string.h>

#include "check.h"
#include "node/node.h"

#define RIG_SENT 2048
#define RIG_EVENTS 64
#define RIG_GUID 0x0002c90300000100ull
#define RIG_SM_LID 0x21 /* LID of the rig, which sends requests as the SM does */
#define RIG_TID 0x7700000001ull

struct node_rig {
	struct node n;
	struct timers timers;
	struct log_sink log;
	ns_t now;
	int xmit_err;
	unsigned int nsent, nevents;
	struct {
		uint8_t egress;
		struct mad_addr to;
		uint8_t mad[MAD_LEN];
		ns_t at;
		unsigned int events; /* number of events that came before this MAD */
	} sent[RIG_SENT];
	struct {
		uint8_t port;
		enum node_event ev;
	} event[RIG_EVENTS];
	uint64_t mkey; /* M_Key that the rig puts into its requests */
	uint8_t data[64]; /* attribute data of the last answer */
};

static inline int node_rig_xmit(void *ctx, uint8_t egress, const struct mad_addr *to,
				const void *mad, ns_t now)
{
	struct node_rig *r = ctx;
	unsigned int i = r->nsent;

	if (r->xmit_err)
		return r->xmit_err;
	assert_true(i < RIG_SENT);
	r->nsent++;
	r->sent[i].egress = egress;
	r->sent[i].to = *to;
	r->sent[i].at = now;
	r->sent[i].events = r->nevents;
	memcpy(r->sent[i].mad, mad, MAD_LEN);
	return 0;
}

static inline void node_rig_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	struct node_rig *r = ctx;

	(void)now;
	assert_true(r->nevents < RIG_EVENTS);
	r->event[r->nevents].port = port;
	r->event[r->nevents++].ev = ev;
}

static const struct node_ops node_rig_ops = { .xmit = node_rig_xmit, .event = node_rig_event };

static inline void node_rig_init_cfg(struct node_rig *r, const struct node_cfg *cfg)
{
	memset(r, 0, sizeof(*r));
	timers_init(&r->timers);
	r->now = NS_SEC(1);
	assert_int_equal(node_init(&r->n, cfg, &node_rig_ops, r, &r->timers, &r->log), 0);
}

static inline struct node_cfg node_rig_cfg(uint8_t type, uint8_t nports)
{
	static const uint64_t guids[] = { RIG_GUID + 1, RIG_GUID + 2, RIG_GUID + 3, RIG_GUID + 4 };

	return (struct node_cfg){
		.type = type,
		.nports = nports,
		.sys_guid = RIG_GUID + 0x10,
		.node_guid = RIG_GUID,
		.port_guids = guids,
		.desc = "rig node",
		.vendor_id = 0x0002c9,
		.device_id = 0x1234,
		.revision = 7,
	};
}

static inline void node_rig_init(struct node_rig *r, uint8_t type, uint8_t nports)
{
	struct node_cfg cfg = node_rig_cfg(type, nports);

	node_rig_init_cfg(r, &cfg);
}

static inline void node_rig_run(struct node_rig *r, ns_t for_ns)
{
	ns_t end = r->now + for_ns, next;

	while ((next = timers_next(&r->timers)) <= end) {
		if (next > r->now)
			r->now = next;
		timers_run(&r->timers, r->now);
	}
	r->now = end;
}

static inline void node_rig_fini(struct node_rig *r)
{
	node_fini(&r->n);
	assert_int_equal(timers_next(&r->timers), NS_NEVER);
	timers_fini(&r->timers);
}

/* Let a LID-routed SMP from the SM arrive at @in_port. */
static inline void node_rig_smp(struct node_rig *r, uint8_t in_port, uint8_t method, uint16_t attr,
				uint32_t mod, const void *data)
{
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = 1,
		.method = method,
		.tid = RIG_TID,
		.attr_id = attr,
		.attr_mod = mod,
	};
	struct smp_dr dr = { .mkey = r->mkey };
	struct mad_addr from = mad_addr_smp_lid(RIG_SM_LID);
	uint8_t mad[MAD_LEN];

	from.port = in_port;
	smp_encode(mad, &h, &dr, data);
	node_mad_rx(&r->n, in_port, &from, mad, r->now);
}

/*
 * Send an SMP to the node and take its answer. Returns the MAD status; r->data gets the attribute
 * data of the answer.
 */
static inline uint16_t node_rig_ask(struct node_rig *r, uint8_t in_port, uint8_t method,
				    uint16_t attr, uint32_t mod, const void *data)
{
	unsigned int n = r->nsent;
	const uint8_t *mad;

	node_rig_smp(r, in_port, method, attr, mod, data);
	if (r->nsent != n + 1)
		fail_msg("attribute 0x%04x: %u answers", attr, r->nsent - n);
	mad = r->sent[n].mad;
	assert_int_equal(mad_method(mad), MAD_METHOD_GET_RESP);
	assert_int_equal(mad_tid(mad), RIG_TID);
	assert_int_equal(mad_attr(mad), attr);
	assert_int_equal(mad_attr_mod(mad), mod);
	assert_int_equal(r->sent[n].to.lid, RIG_SM_LID);
	assert_int_equal(r->sent[n].to.qp, 0);
	memcpy(r->data, mad + SMP_DATA_OFF, sizeof(r->data));
	return mad_status(mad);
}

static inline uint16_t node_rig_get(struct node_rig *r, uint8_t in_port, uint16_t attr,
				    uint32_t mod)
{
	return node_rig_ask(r, in_port, MAD_METHOD_GET, attr, mod, NULL);
}

static inline uint16_t node_rig_set(struct node_rig *r, uint8_t in_port, uint16_t attr,
				    uint32_t mod, const void *data)
{
	return node_rig_ask(r, in_port, MAD_METHOD_SET, attr, mod, data);
}

static inline struct smp_port_info node_rig_port_info(struct node_rig *r, uint8_t in_port,
						      uint32_t mod)
{
	struct smp_port_info pi;

	assert_int_equal(node_rig_get(r, in_port, SMP_ATTR_PORT_INFO, mod), 0);
	assert_int_equal(smp_port_info_decode(&pi, r->data, sizeof(r->data)), 0);
	return pi;
}

/*
 * Returns the port's PortInfo in the form in which an SM writes it back if nothing is to change.
 * The fields for which 0 means "no change" are 0: states, enabled width and speeds, and VLs. All
 * other values are those that were read.
 */
static inline struct smp_port_info node_rig_nop(struct node_rig *r, uint8_t in_port, uint32_t mod)
{
	struct smp_port_info pi = node_rig_port_info(r, in_port, mod);

	pi.port_state = IB_PORT_NOP;
	pi.phys_state = IB_PHYS_NOP;
	pi.down_default = 0;
	pi.width_enabled = 0;
	pi.speed_enabled = 0;
	pi.speed_ext_enabled = 0;
	pi.oper_vls = 0;
	return pi;
}

static inline uint16_t node_rig_set_port_info(struct node_rig *r, uint8_t in_port, uint32_t mod,
					      const struct smp_port_info *pi)
{
	uint8_t data[64];

	smp_port_info_encode(data, pi);
	return node_rig_set(r, in_port, SMP_ATTR_PORT_INFO, mod, data);
}

static inline uint16_t node_rig_state(struct node_rig *r, uint8_t in_port, uint32_t mod,
				      uint8_t state, uint8_t phys)
{
	struct smp_port_info pi = node_rig_nop(r, in_port, mod);

	pi.port_state = state;
	pi.phys_state = phys;
	return node_rig_set_port_info(r, in_port, mod, &pi);
}

/* Assign LIDs as an SM does: LID 5 to the end port, and RIG_SM_LID as the LID of the SM. */
static inline void node_rig_lids(struct node_rig *r, uint8_t in_port)
{
	struct smp_port_info pi = node_rig_nop(r, in_port, 0);

	pi.lid = 5;
	pi.sm_lid = RIG_SM_LID;
	assert_int_equal(node_rig_set_port_info(r, in_port, 0, &pi), 0);
	r->nevents = 0;
}

static inline unsigned int node_rig_events(const struct node_rig *r, uint8_t port,
					   enum node_event ev)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < r->nevents; i++)
		n += r->event[i].port == port && r->event[i].ev == ev;
	return n;
}

#endif
