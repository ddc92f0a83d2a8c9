/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NODE_PRIV_H
#define NODE_PRIV_H

/*
 * DOC: Inside a node
 *
 *	node.c		creation, where a management packet goes
 *	port.c		links, port state machine, P_Key look-up, capabilities
 *	sma.c		Get and Set of SMPs, M_Keys
 *	sma_port.c	PortInfo
 *	sma_tables.c	P_Keys, GUIDs, SLtoVL, VL arbitration
 *	sma_switch.c	SwitchInfo, LFT, MFT
 *	trap.c		notices to the SM
 *	pma.c		performance management: who answers what
 *	pma_counters.c	counters, read and cleared
 *	pma_samples.c	PortSamplesControl, PortSamplesResult
 *	ping.c		the class of ibping
 *	mad_pkt.c	MADs as packets
 *
 * Events of a Set are raised after its response was sent: the owner's reaction must
 * not overtake it.
 */

#include "node/node.h"

#define NODE_LOOP_MAX 4096
#define SMP_CLASS_VERSION 1
#define PMA_CLASS_VERSION 1
#define NODE_SPEED_EXT_NONE 30 /* LinkSpeedExtEnabled: no extended speed */
#define MAD_OFF_METHOD 3
#define MAD_OFF_STATUS 4

/* Events are gathered as bits, raised in the order of enum node_event. */
#define NODE_EV_BIT(ev) (1u << (ev))
void node_raise(struct node *n, uint8_t port, uint32_t events, ns_t now);

/* node_port_set_state() - The one place where PortState changes. Return: events as bits */
uint32_t node_port_set_state(struct node_port *p, enum ib_port_state state);
void node_port_init(struct node_port *p);

/* One Get or Set of an attribute by the SMA. */
struct sma_req {
	struct node *n;
	struct node_port *end; /* the end port that is asked */
	uint8_t in_port;
	bool mkey_ok; /* the M_Key matched: PortInfo shows it */
	uint32_t mod;
	uint8_t *data; /* 64 octets: in of Set, out of Get */
	ns_t now;
	struct node_port *ev_port;
	uint32_t events; /* bits, of ev_port */
};

/* Return: MAD status; Get fills data, which is zero before; Set changes all or nothing */
typedef uint16_t sma_fn(struct sma_req *r);

sma_fn sma_get_port_info, sma_set_port_info;
sma_fn sma_get_pkeys, sma_set_pkeys, sma_get_guids, sma_set_guids;
sma_fn sma_get_sltovl, sma_set_sltovl, sma_get_vlarb, sma_set_vlarb;
sma_fn sma_get_switch_info, sma_set_switch_info, sma_get_lft, sma_set_lft, sma_get_mft, sma_set_mft;
sma_fn sma_get_notice, sma_set_notice;

/* sma_port() - The port that a modifier names: 0 on a CA is the ingress port; NULL if none */
struct node_port *sma_port(const struct sma_req *r, unsigned int num);

/* node_sma() - Answer (or by M_Key ignore) a Get or Set; @mad is changed into the response */
void node_sma(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad, ns_t now);
void node_mkey_lease_fn(struct timer *t, ns_t now);

/* node_smp_send() - Send an SMP of an end port: its agents' and the SMA's */
int node_smp_send(struct node_port *end, const struct mad_addr *to, const void *mad, ns_t now);

/* One Get or Set by the PMA: @data is in and out. Return: MAD status; BAD_ATTR: not theirs */
uint16_t pma_counters(struct node *n, bool set, uint16_t attr, uint8_t *data);
uint16_t pma_samples(struct node_port *end, bool set, uint16_t attr, uint8_t *data, ns_t now);
int pma_samples_init(struct node_port *end);
void pma_samples_fini(struct node_port *end);

/* node_pma(), node_ping() - Answer a GMP request; false: not theirs */
bool node_pma(struct node_port *end, const struct mad_addr *from, void *mad, ns_t now);
bool node_ping(struct node_port *end, const struct mad_addr *from, void *mad, ns_t now);

/* node_gmp_answer() - Change the request in @mad into its response and send it */
void node_gmp_answer(struct node_port *end, const struct mad_addr *from, void *mad, uint16_t status,
		     ns_t now);

int node_traps_init(struct node_port *end);
void node_traps_fini(struct node_port *end);
void node_trap_link_state(struct node *n, ns_t now);
void node_trap_cap_change(struct node_port *end, ns_t now);
void node_trap_bad_mkey(struct node_port *end, const void *smp, ns_t now);
/* node_trap_repress() - Whether @smp, a TrapRepress, was for a trap of ours */
bool node_trap_repress(struct node_port *end, const void *smp, ns_t now);

#endif
