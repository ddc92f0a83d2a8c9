/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NODE_NODE_H
#define NODE_NODE_H

/*
 * DOC: Nodes
 *
 * A node is a CA or a switch as subnet and performance management see it: attributes, the SMA and
 * the PMA that serve these attributes, port state machines, traps, and the MAD endpoint of each end
 * port. The owner of a node (an HCA, or a switch of the fabric) moves the packets, and reads LID,
 * P_Keys and forwarding tables of the node directly.
 *
 * A CA has ports 1..nports. A switch has port 0, which is for management, and 1..nports.
 */

#include "mad/ep.h"
#include "mad/smi.h"
#include "util/pkt.h"
#include "wire/ib_hdr.h"
#include "wire/notice.h"
#include "wire/pma.h"
#include "wire/smp.h"

#define NODE_MAX_PORTS 254
#define NODE_MCAST_LIDS 1024 /* MulticastFDBCap of a switch */
#define NODE_PKEYS 64 /* entries in the P_Key table of a port */
#define NODE_GUIDS 32 /* GUIDInfo entries of an end port */
#define NODE_EXT_COUNTERS 8 /* counters in PortCountersExtended */

enum node_event {
	NODE_EV_PORT_ACTIVE,
	NODE_EV_PORT_ERR, /* the port left Active */
	NODE_EV_LID_CHANGE,
	NODE_EV_PKEY_CHANGE,
	NODE_EV_SM_CHANGE, /* MasterSMLID or MasterSMSL changed */
	NODE_EV_CLIENT_REREGISTER,
	NODE_EV_GID_CHANGE,
	NODE_EV_RETRAIN, /* Set(PortInfo) requested Down, so the owner takes the link down and trains it again */
	NODE_EV_PHYS, /* Set(PortInfo) changed pi.phys_state, or the enabled rates while the link was down */
};

/*
 * Reasons for which a received packet is counted in PortRcvErrors or PortRcvSwitchRelayErrors, in the order of
 * PortRcvErrorDetails.
 */
enum node_rcv_reason {
	NODE_RCV_LOCAL_PHYSICAL, /* wrong CRC */
	NODE_RCV_MALFORMED, /* wrong length, version or VL */
	NODE_RCV_OVERRUN,
	NODE_RCV_DLID_MAPPING, /* PortRcvSwitchRelayErrors counts this reason and the next two */
	NODE_RCV_VL_MAPPING,
	NODE_RCV_LOOPING,
	NODE_RCV_REASONS,
};

/* Reasons for which a packet is counted in PortXmitDiscards, in the order of PortXmitDiscardDetails. */
enum node_xmit_reason {
	NODE_XMIT_INACTIVE,
	NODE_XMIT_MTU,
	NODE_XMIT_LIFETIME,
	NODE_XMIT_HOQ_LIFETIME, /* the egress queue was full */
	NODE_XMIT_REASONS,
};

/* The counters of one port. They have 64 bits; the PMA limits them to the widths of its attributes. */
struct node_counters {
	uint64_t xmit_data, rcv_data; /* data in 4-octet words from LRH to ICRC (16.1.3.5) */
	uint64_t xmit_pkts, rcv_pkts;
	uint64_t ucast_xmit, ucast_rcv, mcast_xmit, mcast_rcv;
	uint64_t symbol_errors, link_recovers, link_downed;
	uint64_t rcv_errors, rcv_remphys_errors, rcv_switch_relay_errors, xmit_discards;
	uint64_t xmit_constraint_errors, rcv_constraint_errors;
	uint64_t local_link_integrity, excessive_overruns, vl15_dropped, xmit_wait;
	uint64_t rcv_by_reason[NODE_RCV_REASONS], xmit_by_reason[NODE_XMIT_REASONS];
	uint64_t xmit_sl[PMA_SLS], rcv_sl[PMA_SLS]; /* data of each SL in 4-octet words */
};

struct node;

/*
 * Data of a port that have their power-up values in most ports. Only ports with other values have a
 * struct of their own (node_port.rare), which saves memory in a fabric of 200,000 ports.
 */
struct node_rare {
	struct smp_vlarb_entry vlarb[4][32];
	/*
	 * .cnt_base: values that node_port.cnt had when the PMA last cleared the counters. The PMA
	 * subtracts these values from node_port.cnt. PortCountersExtended uses .ext_base instead of
	 * .cnt_base.
	 */
	struct node_counters cnt_base;
	uint64_t ext_base[NODE_EXT_COUNTERS];
};

/*
 * Masks of PortInfo's codes. Width: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x, 16 is 2x. Speed: 1 is SDR,
 * 2 is DDR, 4 is QDR. Extended speed: 1 is FDR, 2 is EDR, 4 is HDR, 8 is NDR.
 */
struct node_rate {
	uint8_t width, speed, ext;
};

struct node_port {
	struct node *node;
	uint8_t num;
	/* PortInfo as Get returns it; LID, SM LID and GID prefix of a switch are in its port 0 */
	struct smp_port_info pi;
	uint16_t pkeys[NODE_PKEYS]; /* P_Key table; [0] is 0xffff at power-up */
	/*
	 * GUIDInfo of an end port, [NODE_GUIDS]; [0] is the port GUID, which is the only GUID of port 0 of a switch.
	 * NULL at the external ports of a switch
	 */
	uint64_t *guids;
	uint8_t sltovl[16]; /* SLtoVL of a CA port; in port 0 of a switch: see sw->sltovl */
	struct node_counters cnt;
	struct node_rare *rare; /* NULL while all members have the values of power-up */
	struct mad_ep *ep; /* MAD endpoint of an end port; NULL at the external ports of a switch */
	/* PortSamples of an end port, node/pma_samples.c; NULL: never used */
	struct node_sampler *sampler;
	bool link_up; /* true while the physical link is up, as the last node_link() reported */
	struct node_rate peer_rate; /* widths and speeds that the other end enables */
	/* trap slots of an end port, node/trap.c; NULL: no trap was ever raised */
	struct node_trap *traps;
	struct timer mkey_lease;
};

/* Forwarding state of a switch. */
struct node_switch {
	struct smp_switch_info si;
	uint8_t lft[0xc000]; /* linear forwarding table: egress port of each LID; 255: none */
	/*
	 * multicast table: [i] is the port mask of MLID 0xc000 + i; port p is bit p % 64 of word p / 64. NULL as long as
	 * no entry was ever set
	 */
	uint64_t (*mft)[4];
	/*
	 * SLtoVL: [ingress * (nports + 1) + egress][SL]; NULL as long as all pairs of ports use the
	 * same table, which is then .sltovl of port 0 (node_switch_vl())
	 */
	uint8_t (*sltovl)[16];
};

struct node_ops {
	/*
	 * Put a MAD on the wire as one packet. On a CA, @egress is the port that sends the packet.
	 * On a switch, @egress is the port by which a directed route leaves, or 0 if the LFT of the
	 * switch routes the MAD.
	 */
	int (*xmit)(void *ctx, uint8_t egress, const struct mad_addr *to, const void *mad,
		    ns_t now);
	void (*event)(void *ctx, uint8_t port, enum node_event ev, ns_t now);
};

struct node_cfg {
	uint8_t type; /* enum ib_node_type: CA or switch */
	uint8_t nports;
	uint64_t sys_guid, node_guid;
	const uint64_t *port_guids; /* [nports] for a CA; [1] for a switch: the GUID of port 0 */
	const char *desc; /* NodeDescription, at most 64 octets */
	uint32_t vendor_id;
	uint16_t device_id;
	uint32_t revision;
	bool enhanced_port0;
};

struct node {
	struct smp_node_info info; /* NodeInfo; .local_port is filled in for each answer */
	char desc[65];
	struct node_port *port; /* ports, [0 .. nports]; a CA does not use [0] */
	struct node_switch *sw; /* forwarding state of a switch; NULL for a CA */
	struct timers *timers;
	const struct log_sink *log;
	const struct node_ops *ops;
	void *ctx;
	uint64_t smps, gmps,
		dropped; /* numbers of SMPs and of GMPs received, and of MADs discarded */
	/* queue of SMPs with a directed route of no hops, which this node sent to itself */
	struct node_loop *loop, **loop_end;
	unsigned int nloop;
	struct timer loop_timer;
	uint64_t trap_tid; /* transaction ID of the last trap */
};

/*
 * node_init() - Make a node. All pointers except @cfg must stay valid until node_fini(). Return: 0;
 * -EINVAL: no ports, or too many; -ENOMEM
 */
int node_init(struct node *n, const struct node_cfg *cfg, const struct node_ops *ops, void *ctx,
	      struct timers *timers, const struct log_sink *log);
void node_fini(struct node *n);

static inline bool node_is_switch(const struct node *n)
{
	return n->sw != NULL;
}

/*
 * node_end_port() - Return the port that has LID, SM LID and prefix for port @num: @num itself on a CA, 0
 * on a switch
 */
static inline struct node_port *node_end_port(struct node *n, uint8_t num)
{
	return &n->port[node_is_switch(n) ? 0 : num];
}

/*
 * node_rare_get() - Return the struct node_rare of a port for reading; all ports with power-up
 * values share one struct
 */
const struct node_rare *node_rare_get(const struct node_port *p);
/*
 * node_rare_own() - Return the struct node_rare of a port for writing. Return: NULL if memory ran
 * out
 */
struct node_rare *node_rare_own(struct node_port *p);

/*
 * node_sltovl_own() - Return the SLtoVL tables of a switch for writing, with the layout of
 * node_switch.sltovl. Return: NULL if memory ran out
 */
uint8_t (*node_sltovl_own(struct node *n))[16];

/*
 * node_mft_own() - Return the multicast table of a switch for writing, with the layout of node_switch.mft. Return:
 * NULL if memory ran out
 */
uint64_t (*node_mft_own(struct node_switch *sw))[4];

/* node_mft_mask() - Return the port mask of MLID 0xc000 + @index */
static inline const uint64_t *node_mft_mask(const struct node_switch *sw, unsigned int index)
{
	static const uint64_t none[4];

	return sw->mft ? sw->mft[index] : none;
}

/* node_switch_vl() - Return the SLtoVL table of a switch for packets from port @in to port @out */
static inline const uint8_t *node_switch_vl(const struct node *n, uint8_t in, uint8_t out)
{
	const struct node_switch *sw = n->sw;

	return sw->sltovl ? sw->sltovl[in * (n->info.nports + 1u) + out] : n->port[0].sltovl;
}

/*
 * node_port_rate() - Set the widths and speeds that a port supports and enables. To be called
 * before the link of the port comes up
 */
void node_port_rate(struct node *n, uint8_t port, struct node_rate enabled);

/* node_rate_enabled() - Return the widths and speeds that a port enables now, after any Set(PortInfo) */
struct node_rate node_rate_enabled(const struct node_port *p);

/*
 * node_link_peer() - Set the widths and speeds that the other end of a port's link enables. Without
 * this call before node_link(), the other end is assumed to enable all widths and speeds
 */
void node_link_peer(struct node *n, uint8_t port, struct node_rate enabled);

/* node_link() - Report that the physical link of @port came up (the port goes to Init) or went down */
void node_link(struct node *n, uint8_t port, bool up, ns_t now);

/* node_port_armed_rx() - Make an Armed port Active, because a data packet has arrived at it */
void node_port_armed_rx(struct node_port *p, ns_t now);

/**
 * node_mad_rx() - Handle a management packet that arrived for this node (QP0 or QP1)
 * @in_port:	ingress port
 * @from:	sender; from->qp is the QP of this node (0 or 1) to which the packet was sent
 * @mad:	256 octets, which the call may change
 *
 * SMPs of class 0x81 pass the SMI, which may forward them by ops->xmit. A MAD for this node goes to
 * the SMA, the PMA or the ping responder (class 0x32, OUI 0x001405). If none of these handles the
 * MAD, it goes to the agents of the port.
 */
void node_mad_rx(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad, ns_t now);

/*
 * node_smp_pass() - Handle an SMP that only passes through the switch (smi_passes()): update its hop pointer and return
 * path in place. Return: the port by which the SMP leaves; 0: the SMP must be discarded
 */
uint8_t node_smp_pass(struct node *n, uint8_t in_port, void *mad);

/*
 * node_smp_for_sma() - Tell whether @mad is for the SMA of this node: a Get or Set with a directed
 * route that ends at this node
 */
bool node_smp_for_sma(const void *mad);

/* Events that a request to the SMA has caused at a port, as bits NODE_EV_BIT() */
struct node_smp_events {
	uint8_t port;
	uint32_t events;
};

/*
 * node_smp_serve() - Answer, at a switch, an SMP for which node_smp_for_sma() is true; @mad becomes the
 * response
 * @ret:	events that the caller passes to node_raise() after it has sent the response
 *
 * Return: the port by which the response leaves; 0: there is no response, and the SMP must be
 * discarded
 */
uint8_t node_smp_serve(struct node *n, uint8_t in_port, void *mad, struct node_smp_events *ret,
		       ns_t now);
/* node_raise() - Tell the owner of the node about events of a port, given as bits */
void node_raise(struct node *n, uint8_t port, uint32_t events, ns_t now);

/*
 * node_violation_of() - Return the data for a trap about a packet with a wrong P_Key or Q_Key. @h:
 * the headers of the packet; @key: the wrong key.
 *
 * node_pkey_violation(), node_qkey_violation() - Increase the counter of wrong keys in PortInfo,
 * and report the packet by trap 257, 258 or 259
 */
struct notice_violation node_violation_of(const struct ib_ud_hdr *h, uint32_t key);
void node_pkey_violation(struct node *n, uint8_t port, const struct notice_violation *v, ns_t now);
void node_qkey_violation(struct node *n, uint8_t port, const struct notice_violation *v, ns_t now);

/*
 * node_pkey_find() - Return the index of the P_Key table entry that matches @pkey by its low 15
 * bits, preferably an entry of a full member; -ENOENT: no entry matches
 */
int node_pkey_find(const struct node_port *p, uint16_t pkey);

/* node_pkey_ok() - Tell whether the P_Key of a packet matches an entry of the port's P_Key table */
bool node_pkey_ok(const struct node_port *p, uint16_t pkey);

/* node_gid() - Return GID @index of an end port */
static inline ib_gid node_gid(const struct node_port *p, unsigned int index)
{
	return ib_gid_of(p->pi.gid_prefix, p->guids[index]);
}

/* node_own_lid() - Tell whether @lid is one of the 2^LMC LIDs of an end port */
static inline bool node_own_lid(const struct node_port *p, uint16_t lid)
{
	return p->pi.lid && !((unsigned int)(lid ^ p->pi.lid) >> p->pi.lmc);
}

static inline bool node_port_active(const struct node_port *p)
{
	return p->pi.port_state == IB_PORT_ACTIVE;
}

/*
 * node_oper_vl() - Return the VL that the link of @p uses for a packet that SLtoVL maps to @vl. If SLtoVL was not
 * written after OperationalVLs was lowered, SLtoVL can contain VLs that the link does not have. VL15, which means
 * discard, is not changed.
 */
static inline uint8_t node_oper_vl(const struct node_port *p, uint8_t vl)
{
	/* data VLs by the code of OperationalVLs: VL0, VL0-1, VL0-3, VL0-7, VL0-14 (14.2.5.6) */
	static const uint8_t count[16] = {
		1, 1, 2, 4, 8, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15
	};
	uint8_t n = count[p->pi.oper_vls & 15];

	return __builtin_expect(vl < n || vl == IB_VL15, 1) ? vl : (uint8_t)(vl % n);
}

static inline void node_count_rcv_n(struct node_port *p, enum node_rcv_reason why, unsigned int n)
{
	p->cnt.rcv_by_reason[why] += n;
	if (why >= NODE_RCV_DLID_MAPPING)
		p->cnt.rcv_switch_relay_errors += n;
	else
		p->cnt.rcv_errors += n;
}

static inline void node_count_rcv(struct node_port *p, enum node_rcv_reason why)
{
	node_count_rcv_n(p, why, 1);
}

static inline void node_count_discard_n(struct node_port *p, enum node_xmit_reason why,
					unsigned int n)
{
	p->cnt.xmit_by_reason[why] += n;
	p->cnt.xmit_discards += n;
}

static inline void node_count_discard(struct node_port *p, enum node_xmit_reason why)
{
	node_count_discard_n(p, why, 1);
}

#define NODE_PMA_DATA_LEN 192

/**
 * node_pma_get() - Encode an attribute of counters for the answer to a Get
 * @data:	the attribute, from octet PMA_DATA_OFF of the MAD on
 *
 * Return: MAD status; MAD_STATUS_BAD_ATTR: @attr has no counters; MAD_STATUS_BAD_VALUE: no such
 * port
 */
uint16_t node_pma_get(struct node *n, uint8_t port, uint16_t attr, uint8_t data[NODE_PMA_DATA_LEN]);

/*
 * node_set_cap() - Set or clear a bit of CapabilityMask, such as IsSM; sends trap 144 if the bit
 * changed
 */
void node_set_cap(struct node *n, uint8_t port, uint32_t bit, bool on, ns_t now);

#endif
