/* SPDX-License-Identifier: BSD-2-Clause */
#include "ibsim/priv.h"
#include "wire/sa.h"

/*
 * DOC: RMPP and MADs of 256 octets
 *
 * libumad2sim relies on the kernel for RMPP, but its MADs do not pass through the kernel. When a
 * client sends an RMPP message, the server gets only the first 256 octets of the message. Their
 * RMPP header has the flag Active, but no other field is set. The server fills in the header of a
 * first segment. The receiver then accepts the message if it is whole, and aborts the transfer if
 * the message was cut.
 * If the response to a client is an RMPP message, the client does not send an ACK. So the server
 * answers the segment for the client: with an ACK if it is the last segment of the message,
 * otherwise with a STOP.
 */

#define RESP_TIME_NONE 31
#define METHOD_OFF 3

static bool get(struct rmpp_hdr *ret, const void *mad)
{
	return mad_class(mad) == MAD_CLASS_SA &&
	       !rmpp_hdr_decode(ret, (const uint8_t *)mad + SA_RMPP_OFF, SA_RMPP_LEN) &&
	       ret->flags & RMPP_FLAG_ACTIVE;
}

static void put(void *mad, const struct rmpp_hdr *h)
{
	rmpp_hdr_encode((uint8_t *)mad + SA_RMPP_OFF, h);
}

bool ibsim_rmpp_is_control(const void *mad)
{
	struct rmpp_hdr h;

	return get(&h, mad) && h.type != RMPP_TYPE_DATA;
}

void ibsim_rmpp_complete(struct ibsim_pkt *k)
{
	struct rmpp_hdr h;

	if (!get(&h, k->mad) || h.type != RMPP_TYPE_NONE || k->len < SA_DATA_OFF)
		return;
	h = (struct rmpp_hdr){
		.version = RMPP_VERSION,
		.type = RMPP_TYPE_DATA,
		.resp_time = RESP_TIME_NONE,
		.flags = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST,
		.data1 = 1,
		.data2 = k->len - SA_HDR_OFF,
	};
	/* A MAD of 256 octets may be the first part of a longer message, so do not set Last. */
	if (k->len < MAD_LEN)
		h.flags |= RMPP_FLAG_LAST;
	put(k->mad, &h);
}

uint16_t ibsim_rmpp_len(const void *mad)
{
	struct rmpp_hdr h;

	if (!get(&h, mad) || h.type != RMPP_TYPE_DATA || !(h.flags & RMPP_FLAG_LAST) ||
	    h.data2 < SA_DATA_OFF - SA_HDR_OFF || h.data2 > MAD_LEN - SA_HDR_OFF)
		return MAD_LEN;
	return (uint16_t)(SA_HDR_OFF + h.data2);
}

bool ibsim_rmpp_end(void *ret, const void *mad)
{
	struct rmpp_hdr h;
	uint8_t *p = ret;

	if (!get(&h, mad) || h.type != RMPP_TYPE_DATA)
		return false;
	memset(p, 0, MAD_LEN);
	memcpy(p, mad, SA_DATA_OFF);
	p[METHOD_OFF] ^= MAD_METHOD_RESP;
	h.resp_time = RESP_TIME_NONE;
	h.data2 = h.data1;
	if (h.flags & RMPP_FLAG_LAST) {
		h.type = RMPP_TYPE_ACK;
	} else {
		h.type = RMPP_TYPE_STOP;
		h.status = RMPP_STATUS_RESX;
	}
	h.flags = RMPP_FLAG_ACTIVE;
	put(p, &h);
	return true;
}
