/* SPDX-License-Identifier: BSD-2-Clause */
#include "node/mad_pkt.h"

#include <errno.h>

#include "crc/crc.h"

#define PATH_BITS 0x7f
/* the highest hop limit, which replies get because the number of routers on their way is not known (13.5.4.4) */
#define REPLY_HOP_LIMIT 0xff

static uint16_t source_lid(const struct node_port *port, const struct mad_addr *to)
{
	uint16_t mask = (uint16_t)((1u << port->pi.lmc) - 1);

	if (to->qp == IB_QP0 && to->lid == IB_LID_PERMISSIVE)
		return IB_LID_PERMISSIVE;
	return (uint16_t)((port->pi.lid & ~mask) | (to->path_bits & mask));
}

/*
 * Return the P_Key for the BTH: the entry of the port's P_Key table that matches @pkey, or @pkey if
 * none matches. Bit 15 of the entry is 0 if the port is a limited member.
 */
static uint16_t table_pkey(const struct node_port *port, uint16_t pkey)
{
	int i = node_pkey_find(port, pkey);

	return i < 0 ? pkey : port->pkeys[i];
}

struct pkt *mad_pkt_build(struct pkt_pool *pool, const struct node_port *port,
			  const struct mad_addr *to, const void *mad, uint8_t vl, bool seal)
{
	bool smp = to->qp == IB_QP0, grh = to->has_grh && !smp;
	struct ib_ud_hdr h = {
		.lrh = {
			.vl = smp ? IB_VL15 : vl,
			.sl = smp ? 0 : to->sl,
			.lnh = grh ? IB_LNH_GLOBAL : IB_LNH_LOCAL,
			.dlid = to->lid,
			.slid = source_lid(port, to),
		},
		.has_grh = grh,
		.bth = {
			.opcode = IB_OP_UD_SEND_ONLY,
			.pkey = smp ? IB_PKEY_DEFAULT : table_pkey(port, to->pkey),
			.dest_qp = to->qpn,
		},
		.deth = { .qkey = smp ? 0 : to->qkey, .src_qp = to->qp },
	};
	struct pkt *p = pkt_from_data(pool, mad, MAD_LEN);

	if (!p)
		return NULL;
	if (grh)
		h.grh = (struct ib_grh){
			.ip_ver = 6,
			.tclass = to->tclass,
			.flow_label = to->flow_label,
			.nxt_hdr = IB_GRH_NXTHDR,
			.hop_limit = to->hop_limit,
			.sgid = node_gid(port, to->gid_index < NODE_GUIDS ? to->gid_index : 0),
			.dgid = to->gid,
		};
	ib_ud_hdr_encode(pkt_push(p, ib_ud_hdr_len(grh)), &h, MAD_LEN);
	p->vl = h.lrh.vl;
	if (seal)
		crc_pkt_seal(p);
	else
		crc_pkt_pad(p);
	return p;
}

/*
 * Return the index of the port's GID that has the same GUID as @gid. The prefix is not compared,
 * because a port also answers to its GUIDs under the default prefix fe80::/64.
 */
static uint8_t gid_index(const struct node_port *end, const ib_gid *gid)
{
	for (uint8_t i = 0; i < NODE_GUIDS; i++)
		if (end->guids[i] && end->guids[i] == ib_gid_guid(gid))
			return i;
	return 0;
}

int mad_pkt_parse(struct mad_addr *ret, uint8_t ret_mad[MAD_LEN], const struct ib_ud_hdr *h,
		  const struct node_port *end, uint8_t in_port, const void *payload, size_t len)
{
	if (len != MAD_LEN)
		return -EBADMSG;

	memcpy(ret_mad, payload, MAD_LEN);
	*ret = (struct mad_addr){
		.qp = h->bth.dest_qp == IB_QP0 ? IB_QP0 : IB_QP1,
		.port = in_port,
		.sl = h->lrh.sl,
		.path_bits = h->lrh.dlid & PATH_BITS,
		.lid = h->lrh.slid,
		.pkey = h->bth.pkey,
		.qpn = h->deth.src_qp,
		.qkey = h->deth.qkey,
		.has_grh = h->has_grh,
	};
	if (h->has_grh) {
		ret->gid = h->grh.sgid;
		ret->gid_index = gid_index(end, &h->grh.dgid);
		ret->tclass = h->grh.tclass;
		ret->flow_label = h->grh.flow_label;
		ret->hop_limit = REPLY_HOP_LIMIT;
	}
	return 0;
}
