/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NODE_NODE_H
#define NODE_NODE_H

/*
 * DOC: Nodes
 *
 * What every CA and every switch is to subnet and performance management: its
 * attributes, the SMA and PMA that answer for them, the port state machine, traps,
 * and the MAD endpoint of each end port. The owner (an HCA, a switch of the fabric)
 * moves packets and reads the tables here directly.
 *
 * Ports: a CA has ports 1..nports; a switch has port 0 (management) and 1..nports.
 */

#include "mad/ep.h"
#include "mad/smi.h"
#include "util/pkt.h"
#include "wire/pma.h"
#include "wire/smp.h"

#define NODE_MAX_PORTS 254
#define NODE_MCAST_LIDS 1024 /* MulticastFDBCap of our switches */
#define NODE_PKEYS 64 /* P_Key table entries of a CA port and of switch ports */
#define NODE_GUIDS 32 /* GUIDInfo entries of an end port */
#define NODE_EXT_COUNTERS 8 /* of PortCountersExtended */

enum node_event {
	NODE_EV_PORT_ACTIVE,
	NODE_EV_PORT_ERR, /* left Active */
	NODE_EV_LID_CHANGE,
	NODE_EV_PKEY_CHANGE,
	NODE_EV_SM_CHANGE, /* SM LID or SM SL */
	NODE_EV_CLIENT_REREGISTER,
	NODE_EV_GID_CHANGE,
	NODE_EV_RETRAIN, /* Set(PortInfo) asked for link down: the owner drops and retrains the link */
	NODE_EV_PHYS, /* Polling / Disabled / Sleep requested: pi.phys_state says which */
};

/* What PortRcvErrors and PortRcvSwitchRelayErrors are made of, in the order of PortRcvErrorDetails */
enum node_rcv_reason {
	NODE_RCV_LOCAL_PHYSICAL, /* a CRC */
	NODE_RCV_MALFORMED, /* length, version, VL */
	NODE_RCV_OVERRUN,
	NODE_RCV_DLID_MAPPING, /* from here on: the switch relay's */
	NODE_RCV_VL_MAPPING,
	NODE_RCV_LOOPING,
	NODE_RCV_REASONS,
};

/* What PortXmitDiscards is made of, in the order of PortXmitDiscardDetails */
enum node_xmit_reason {
	NODE_XMIT_INACTIVE,
	NODE_XMIT_MTU,
	NODE_XMIT_LIFETIME,
	NODE_XMIT_HOQ_LIFETIME, /* no room in the egress queue */
	NODE_XMIT_REASONS,
};

/* Counters of one port: 64 bits inside, saturated to the attributes' widths by the PMA. */
struct node_counters {
	uint64_t xmit_data, rcv_data; /* 4-octet words, LRH .. ICRC (16.1.3.5) */
	uint64_t xmit_pkts, rcv_pkts;
	uint64_t ucast_xmit, ucast_rcv, mcast_xmit, mcast_rcv;
	uint64_t symbol_errors, link_recovers, link_downed;
	uint64_t rcv_errors, rcv_remphys_errors, rcv_switch_relay_errors, xmit_discards;
	uint64_t xmit_constraint_errors, rcv_constraint_errors;
	uint64_t local_link_integrity, excessive_overruns, vl15_dropped, xmit_wait;
	uint64_t rcv_by_reason[NODE_RCV_REASONS], xmit_by_reason[NODE_XMIT_REASONS];
	uint64_t xmit_sl[PMA_SLS], rcv_sl[PMA_SLS]; /* words */
};

struct node;

/* Masks of PortInfo's codes: width 1 1x, 2 4x, 4 8x, 8 12x, 16 2x; speed 1 SDR .. 4 QDR; ext 1 FDR .. 8 NDR */
struct node_rate {
	uint8_t width, speed, ext;
};

struct node_port {
	struct node *node;
	uint8_t num;
	struct smp_port_info pi; /* as Get(PortInfo) answers; LID etc. of a switch live in port 0 */
	uint16_t pkeys[NODE_PKEYS]; /* [0] is 0xffff at power-up */
	uint64_t guids[NODE_GUIDS]; /* end ports; [0] the port GUID; a switch has that only */
	struct smp_vlarb_entry vlarb[4][32];
	uint8_t sltovl[16]; /* of a CA port; a switch has sw->sltovl */
	/* Bases: what the last PMA clear subtracted; PortCountersExtended has its own */
	struct node_counters cnt, cnt_base;
	uint64_t ext_base[NODE_EXT_COUNTERS];
	struct mad_ep *ep; /* end ports only, else NULL */
	struct node_sampler *sampler; /* end ports only; node/pma_samples.c */
	bool link_up; /* what the owner said last */
	struct node_rate peer_rate; /* what the other end enables */
	struct node_trap *traps; /* end ports only; node/trap.c */
	struct timer mkey_lease;
};

/* Forwarding state of a switch. */
struct node_switch {
	struct smp_switch_info si;
	uint8_t lft[0xc000]; /* LID -> port; 255: none */
	uint64_t (
		*mft)[4]; /* [NODE_MCAST_LIDS]: port mask of MLID 0xc000 + i, bit p of word p/64 */
	uint8_t (*sltovl)[16]; /* [(in) * (nports + 1) + out][SL] */
};

struct node_ops {
	/*
	 * Put a MAD on the wire as one packet. CA: @egress is the port. Switch: the port of a
	 * directed route, or 0: LID-routed from port 0 through its own LFT.
	 */
	int (*xmit)(void *ctx, uint8_t egress, const struct mad_addr *to, const void *mad,
		    ns_t now);
	void (*event)(void *ctx, uint8_t port, enum node_event ev, ns_t now);
};

struct node_cfg {
	uint8_t type; /* enum ib_node_type: CA or switch */
	uint8_t nports;
	uint64_t sys_guid, node_guid;
	const uint64_t *port_guids; /* CA: [nports]; switch: [1], port 0's */
	const char *desc; /* NodeDescription, at most 64 octets */
	uint32_t vendor_id;
	uint16_t device_id;
	uint32_t revision;
	bool enhanced_port0;
};

struct node {
	struct smp_node_info info; /* local_port is filled in per answer */
	char desc[65];
	struct node_port *port; /* [0 .. nports]; [0] unused by a CA */
	struct node_switch *sw; /* NULL for a CA */
	struct timers *timers;
	const struct log_sink *log;
	const struct node_ops *ops;
	void *ctx;
	uint64_t smps, gmps, dropped; /* management packets seen and discarded */
	struct node_loop *loop,
		**loop_end; /* SMPs of no hops on their way from this node to itself */
	unsigned int nloop;
	struct timer loop_timer;
	uint64_t trap_tid; /* of the last trap */
};

/* node_init() - 0; -EINVAL (no ports, too many), -ENOMEM. All borrowed but @cfg. */
int node_init(struct node *n, const struct node_cfg *cfg, const struct node_ops *ops, void *ctx,
	      struct timers *timers, const struct log_sink *log);
void node_fini(struct node *n);

static inline bool node_is_switch(const struct node *n)
{
	return n->sw != NULL;
}

/* The port that holds LID, SM LID and prefix: @num on a CA, 0 on a switch. */
static inline struct node_port *node_end_port(struct node *n, uint8_t num)
{
	return &n->port[node_is_switch(n) ? 0 : num];
}

/* node_port_rate() - What a port's link may run at, before it comes up: its port supports that and less */
void node_port_rate(struct node *n, uint8_t port, struct node_rate enabled);

/* node_rate_enabled() - What it may run at now: Set(PortInfo) changes it */
struct node_rate node_rate_enabled(const struct node_port *p);

/* node_link_peer() - What the other end of the link enables: before node_link(); else any */
void node_link_peer(struct node *n, uint8_t port, struct node_rate enabled);

/* node_link() - The physical link of @port came up (port goes to Init) or went down */
void node_link(struct node *n, uint8_t port, bool up, ns_t now);

/* node_rx_data() - A packet that is not VL15 arrived in Armed: the port becomes Active (I4) */
void node_port_armed_rx(struct node_port *p, ns_t now);

/**
 * node_mad_rx() - A management packet for this node arrived (QP0 or QP1)
 * @in_port:	ingress port
 * @from:	sender; from->qp says which QP it came for
 * @mad:	256 octets, private to the call (changed in place)
 *
 * Runs the SMI on class 0x81 (forwards it by ops->xmit), then SMA, PMA and the ping
 * responder (class 0x32, OUI 0x001405), then the agents of the port.
 */
void node_mad_rx(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad, ns_t now);

/* Data path violations: counted in PortInfo, reported by traps 257, 258, 259. */
struct node_violation {
	uint16_t slid, dlid;
	uint8_t sl;
	uint32_t src_qp, dest_qp;
	uint32_t key; /* the P_Key or Q_Key that was wrong */
	bool has_gids;
	ib_gid sgid, dgid;
};
void node_pkey_violation(struct node *n, uint8_t port, const struct node_violation *v, ns_t now);
void node_qkey_violation(struct node *n, uint8_t port, const struct node_violation *v, ns_t now);

/*
 * node_pkey_find() - Index of the table entry that matches @pkey: the full form
 * first, then the limited one (I7); -ENOENT
 */
int node_pkey_find(const struct node_port *p, uint16_t pkey);

/* node_pkey_ok() - A packet's P_Key matches an entry of the table */
bool node_pkey_ok(const struct node_port *p, uint16_t pkey);

/* node_gid() - GID @index of an end port */
static inline ib_gid node_gid(const struct node_port *p, unsigned int index)
{
	return ib_gid_of(p->pi.gid_prefix, p->guids[index]);
}

static inline bool node_port_active(const struct node_port *p)
{
	return p->pi.port_state == IB_PORT_ACTIVE;
}

/*
 * node_oper_vl() - The VL that SLtoVL names, as the link of @p has it: a table that nobody has written since
 * OperationalVLs was lowered names VLs that are not there. VL15 stays: it discards
 */
static inline uint8_t node_oper_vl(const struct node_port *p, uint8_t vl)
{
	/* VL0, VL0-1, VL0-3, VL0-7, VL0-14: IBTA 14.2.5.6 */
	static const uint8_t count[16] = {
		1, 1, 2, 4, 8, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15
	};
	uint8_t n = count[p->pi.oper_vls & 15];

	return __builtin_expect(vl < n || vl == IB_VL15, 1) ? vl : (uint8_t)(vl % n);
}

static inline void node_count_rcv(struct node_port *p, enum node_rcv_reason why)
{
	p->cnt.rcv_by_reason[why]++;
	if (why >= NODE_RCV_DLID_MAPPING)
		p->cnt.rcv_switch_relay_errors++;
	else
		p->cnt.rcv_errors++;
}

static inline void node_count_discard(struct node_port *p, enum node_xmit_reason why)
{
	p->cnt.xmit_by_reason[why]++;
	p->cnt.xmit_discards++;
}

#define NODE_PMA_DATA_LEN 192

/**
 * node_pma_get() - What Get of an attribute with counters answers
 * @data:	the attribute, from octet PMA_DATA_OFF of the MAD on
 *
 * Return: MAD status; BAD_ATTR not such an attribute, BAD_VALUE no such port
 */
uint16_t node_pma_get(struct node *n, uint8_t port, uint16_t attr, uint8_t data[NODE_PMA_DATA_LEN]);

/* Set or clear a capability bit (IsSM): trap 144 if it changed. */
void node_set_cap(struct node *n, uint8_t port, uint32_t bit, bool on, ns_t now);

#endif
