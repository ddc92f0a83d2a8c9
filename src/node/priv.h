/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NODE_PRIV_H
#define NODE_PRIV_H

/*
 * DOC: Inside a node
 *
 *	node.c		creation, dispatch of management packets
 *	port.c		links, port state machine, P_Key look-up, capabilities
 *	sma.c		Get and Set of SMPs, M_Keys
 *	sma_port.c	PortInfo
 *	sma_tables.c	P_Keys, GUIDs, SLtoVL, VL arbitration
 *	sma_switch.c	SwitchInfo, LFT, MFT
 *	trap.c		traps and notices to the SM
 *	pma.c		dispatch of performance management requests
 *	pma_counters.c	counters, read and cleared
 *	pma_samples.c	PortSamplesControl, PortSamplesResult
 *	ping.c		responder of ibping
 *	mad_pkt.c	MADs as packets
 *
 * The events of a Set are raised after its response was sent. So the response is not overtaken by
 * packets that the owner of the node sends because of an event.
 */

#include "node/node.h"

#define NODE_LOOP_MAX 4096
#define SMP_CLASS_VERSION 1
#define PMA_CLASS_VERSION 1
#define NODE_SPEED_EXT_NONE 30 /* LinkSpeedExtEnabled: no extended speed */

/*
 * Events of a request are collected as bits of a mask, and raised in the order of enum node_event.
 */
#define NODE_EV_BIT(ev) (1u << (ev))

/*
 * node_port_set_state() - Change PortState. No other function changes PortState. Return: the events
 * that the change causes, as bits
 */
uint32_t node_port_set_state(struct node_port *p, enum ib_port_state state);
void node_port_init(struct node_port *p);

/* A Get or Set of one attribute, which the SMA handles. */
struct sma_req {
	struct node *n;
	struct node_port *end; /* end port that received the request */
	uint8_t in_port;
	/* true if the request has the right M_Key, so that PortInfo may show the M_Key */
	bool mkey_ok;
	uint32_t mod;
	uint8_t *data; /* data of the attribute, 64 octets: input of a Set, output of a Get */
	ns_t now;
	struct node_port *ev_port;
	uint32_t events; /* events of ev_port as bits */
};

/*
 * Handles Get or Set of one attribute. A Get fills .data, which the caller has zeroed. A Set
 * changes the whole attribute or leaves it unchanged. Return: MAD status
 */
typedef uint16_t sma_fn(struct sma_req *r);

sma_fn sma_get_port_info, sma_set_port_info;
sma_fn sma_get_pkeys, sma_set_pkeys, sma_get_guids, sma_set_guids;
sma_fn sma_get_sltovl, sma_set_sltovl, sma_get_vlarb, sma_set_vlarb;
sma_fn sma_get_switch_info, sma_set_switch_info, sma_get_lft, sma_set_lft, sma_get_mft, sma_set_mft;
sma_fn sma_get_notice, sma_set_notice;

/*
 * sma_port() - Return the port with number @num, or NULL if there is none. In a CA, @num 0 means the
 * ingress port
 */
struct node_port *sma_port(const struct sma_req *r, unsigned int num);

/* node_sma() - Answer a Get or Set, unless its M_Key is wrong; @mad becomes the response */
void node_sma(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad, ns_t now);
void node_mkey_lease_fn(struct timer *t, ns_t now);

/* node_smp_send() - Send an SMP of an agent or of the SMA of an end port */
int node_smp_send(struct node_port *end, const struct mad_addr *to, const void *mad, ns_t now);

/*
 * pma_counters(), pma_samples() - Carry out one Get or Set of the PMA. @data is input and output.
 * Return: MAD status; MAD_STATUS_BAD_ATTR if the function does not handle @attr
 */
uint16_t pma_counters(struct node *n, bool set, uint16_t attr, uint8_t *data);
uint16_t pma_samples(struct node_port *end, bool set, uint16_t attr, uint8_t *data, ns_t now);
void pma_samples_fini(struct node_port *end);

/* node_pma(), node_ping() - Answer a GMP request. Return: false if the MAD is of another class */
bool node_pma(struct node_port *end, const struct mad_addr *from, void *mad, ns_t now);
bool node_ping(struct node_port *end, const struct mad_addr *from, void *mad, ns_t now);

/* node_gmp_answer() - Change the request in @mad into its response and send it */
void node_gmp_answer(struct node_port *end, const struct mad_addr *from, void *mad, uint16_t status,
		     ns_t now);

void node_traps_fini(struct node_port *end);
void node_trap_link_state(struct node *n, ns_t now);
void node_trap_cap_change(struct node_port *end, ns_t now);
void node_trap_bad_mkey(struct node_port *end, const void *smp, ns_t now);
/* node_trap_repress() - Handle a TrapRepress. Return: true if it is for a trap of this port */
bool node_trap_repress(struct node_port *end, const void *smp, ns_t now);

#endif
