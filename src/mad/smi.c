/* SPDX-License-Identifier: BSD-2-Clause */
#include "mad/smi.h"

/*
 * State of an SMP on a directed route. The hop pointer of a request counts from 0 at the requester
 * to HopCount + 1 at the responder, and back to 0 in the response (D = 1). Before and after its
 * directed part, which has hop pointers 1 to HopCount + 1, a route may have a part that is routed
 * by LID.
 */
struct dr {
	uint8_t *mad;
	unsigned int ptr, cnt;
	bool returning, slid_perm, dlid_perm;
};

static bool dr_read(struct dr *d, void *mad)
{
	d->mad = mad;
	d->ptr = d->mad[SMP_OFF_HOP_PTR];
	d->cnt = d->mad[SMP_OFF_HOP_CNT];
	d->returning = mad_status(mad) & MAD_STATUS_DR_D;
	d->slid_perm = be16_at(d->mad + SMP_OFF_DR_SLID) == IB_LID_PERMISSIVE;
	d->dlid_perm = be16_at(d->mad + SMP_OFF_DR_DLID) == IB_LID_PERMISSIVE;
	return d->cnt <= IB_MAX_HOPS && d->ptr <= d->cnt + 1;
}

static void dr_set_ptr(struct dr *d, unsigned int ptr)
{
	d->ptr = ptr;
	d->mad[SMP_OFF_HOP_PTR] = (uint8_t)ptr;
}

static enum smi_verdict dr_leave(struct dr *d, unsigned int ptr, unsigned int path_off,
				 uint8_t nports, uint8_t *ret_port)
{
	uint8_t port = d->mad[path_off + ptr];

	if (port < 1 || port > nports)
		return SMI_DISCARD;
	dr_set_ptr(d, ptr);
	*ret_port = port;
	return SMI_FORWARD;
}

static enum smi_verdict leave_by_initial(struct dr *d, unsigned int ptr, uint8_t nports,
					 uint8_t *ret_port)
{
	return dr_leave(d, ptr, SMP_OFF_INITIAL_PATH, nports, ret_port);
}

static enum smi_verdict leave_by_return(struct dr *d, unsigned int ptr, uint8_t nports,
					uint8_t *ret_port)
{
	return dr_leave(d, ptr, SMP_OFF_RETURN_PATH, nports, ret_port);
}

/*
 * Handle the end of the directed part of a route. @perm tells whether DrDLID of a request, or
 * DrSLID of a response, is permissive. If so, the route ends at this node. Otherwise a switch
 * forwards the SMP by that LID.
 */
static enum smi_verdict dr_end(struct dr *d, unsigned int ptr, bool is_switch, bool perm)
{
	if (!perm && !is_switch)
		return SMI_DISCARD;
	dr_set_ptr(d, ptr);
	return perm ? SMI_LOCAL : SMI_LID_ROUTE;
}

/* Handle an SMP that arrived with D = 0 (IBTA C14-9). */
static enum smi_verdict recv_outgoing(struct dr *d, bool is_switch, uint8_t in_port, uint8_t nports,
				      uint8_t *ret_port)
{
	if (d->ptr == d->cnt + 1)
		return SMI_LOCAL;
	if (d->ptr == d->cnt) {
		if (d->cnt)
			d->mad[SMP_OFF_RETURN_PATH + d->ptr] = in_port;
		return dr_end(d, d->ptr + 1, is_switch, d->dlid_perm);
	}
	if (!is_switch)
		return SMI_DISCARD;
	/* Hop pointer 0 is valid only where a part routed by LID ends and the directed part begins. */
	if (d->ptr == 0 && d->slid_perm)
		return SMI_DISCARD;
	if (d->ptr)
		d->mad[SMP_OFF_RETURN_PATH + d->ptr] = in_port;
	return leave_by_initial(d, d->ptr + 1, nports, ret_port);
}

/* Handle an SMP that arrived with D = 1 (IBTA C14-13). */
static enum smi_verdict recv_returning(struct dr *d, bool is_switch, uint8_t nports,
				       uint8_t *ret_port)
{
	if (d->ptr == 0)
		return SMI_LOCAL;
	if (d->ptr == 1)
		return dr_end(d, 0, is_switch, d->slid_perm);
	if (!is_switch)
		return SMI_DISCARD;
	if (d->ptr == d->cnt + 1 && d->dlid_perm)
		return SMI_DISCARD;
	return leave_by_return(d, d->ptr - 1, nports, ret_port);
}

enum smi_verdict smi_recv(void *mad, bool is_switch, uint8_t in_port, uint8_t nports,
			  uint8_t *ret_port)
{
	struct dr d;

	if (!dr_read(&d, mad))
		return SMI_DISCARD;
	return d.returning ? recv_returning(&d, is_switch, nports, ret_port)
			   : recv_outgoing(&d, is_switch, in_port, nports, ret_port);
}

bool smi_passes(const void *mad)
{
	const uint8_t *m = mad;
	unsigned int ptr = m[SMP_OFF_HOP_PTR], cnt = m[SMP_OFF_HOP_CNT];
	bool returning = mad_status(mad) & MAD_STATUS_DR_D;

	if (mad_class(mad) != MAD_CLASS_SM_DR || cnt > IB_MAX_HOPS)
		return false;
	return returning ? ptr >= 2 && ptr <= cnt : ptr >= 1 && ptr < cnt;
}

bool smi_ends(const void *mad)
{
	const uint8_t *m = mad;
	unsigned int cnt = m[SMP_OFF_HOP_CNT];

	return mad_class(mad) == MAD_CLASS_SM_DR && !(mad_status(mad) & MAD_STATUS_DR_D) &&
	       m[SMP_OFF_HOP_PTR] == cnt && cnt >= 1 && cnt <= IB_MAX_HOPS &&
	       be16_at(m + SMP_OFF_DR_DLID) == IB_LID_PERMISSIVE;
}

static enum smi_verdict send_outgoing(struct dr *d, uint8_t nports, uint8_t *ret_port)
{
	if (d->ptr != 0)
		return SMI_DISCARD;
	if (!d->slid_perm)
		return SMI_LID_ROUTE;
	if (d->cnt == 0) {
		/*
		 * A route without hops that continues with a part routed by LID needs no directed
		 * routing.
		 */
		if (!d->dlid_perm)
			return SMI_LID_ROUTE;
		dr_set_ptr(d, 1);
		return SMI_LOCAL;
	}
	return leave_by_initial(d, 1, nports, ret_port);
}

static enum smi_verdict send_returning(struct dr *d, uint8_t nports, uint8_t *ret_port)
{
	if (d->ptr != d->cnt + 1)
		return SMI_DISCARD;
	if (!d->dlid_perm)
		return SMI_LID_ROUTE;
	if (d->cnt == 0) {
		dr_set_ptr(d, 0);
		return d->slid_perm ? SMI_LOCAL : SMI_LID_ROUTE;
	}
	return leave_by_return(d, d->cnt, nports, ret_port);
}

enum smi_verdict smi_send(void *mad, bool is_switch, uint8_t nports, uint8_t *ret_port)
{
	struct dr d;

	if (!dr_read(&d, mad))
		return SMI_DISCARD;
	return d.returning ? send_returning(&d, nports, ret_port)
			   : send_outgoing(&d, nports, ret_port);
}

void smi_make_response(void *mad, uint16_t status)
{
	uint8_t *p = mad;

	p[MAD_OFF_METHOD] = p[MAD_OFF_METHOD] == MAD_METHOD_TRAP ? MAD_METHOD_TRAP_REPRESS
								 : MAD_METHOD_GET_RESP;
	if (mad_class(mad) == MAD_CLASS_SM_DR)
		status |= MAD_STATUS_DR_D;
	be16_put(p + MAD_OFF_STATUS, status);
}
