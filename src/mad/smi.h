/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MAD_SMI_H
#define MAD_SMI_H

/*
 * The subnet management interface, which decides about the next step of a directed-route SMP (IBTA volume 1, 14.2.2).
 */

#include "wire/smp.h"

enum smi_verdict {
	SMI_LOCAL, /* the SMP is for this node: its SMA or its SM */
	SMI_FORWARD, /* the SMP is to be sent by *ret_port; its fields are updated */
	SMI_LID_ROUTE, /* the directed part of the route is over; a switch sends the SMP on by DrDLID or DrSLID */
	SMI_DISCARD,
};

/**
 * smi_recv() - Process an SMP of class 0x81 that arrived
 * @mad:	256 octets, updated in place (hop pointer, return path)
 * @is_switch:	true if the node is a switch; only switches forward
 * @in_port:	ingress port
 * @nports:	ports of the node: 1..nports are valid
 * @ret_port:	egress port with SMI_FORWARD, in 1..nports
 */
enum smi_verdict smi_recv(void *mad, bool is_switch, uint8_t in_port, uint8_t nports,
			  uint8_t *ret_port);

/*
 * smi_passes() - Tell whether an SMP of class 0x81 is between two hops of its directed route, so that smi_recv() at a switch
 * can only forward or discard it
 */
bool smi_passes(const void *mad);

/*
 * smi_ends() - Tell whether a request of class 0x81 arrives at the node to which it was sent, after
 * at least one hop of a directed route
 */
bool smi_ends(const void *mad);

/*
 * smi_send() - Process @mad (a request, or a response with D = 1), which a local agent or the SMA
 * of this node sends
 */
enum smi_verdict smi_send(void *mad, bool is_switch, uint8_t nports, uint8_t *ret_port);

/*
 * smi_make_response() - Turn a request into its response in place: the method becomes GetResp or TrapRepress, and the D
 * bit of a directed route is set
 */
void smi_make_response(void *mad, uint16_t status);

#endif
