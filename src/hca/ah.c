/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/priv.h"

#include <errno.h>
#include <stdlib.h>

uint8_t hca_sl_to_vl(const struct node_port *np, uint8_t sl)
{
	return node_oper_vl(np, np->sltovl[sl]);
}

static uint32_t port_key(const struct hca_ah *ah)
{
	const struct smp_port_info *pi = &ah->np->pi;

	return (uint32_t)pi->lid << 16 | (pi->lmc & 7u) << 12 | (pi->oper_vls & 15u) << 8 |
	       ah->np->sltovl[ah->attr.sl];
}

bool hca_ah_stale(const struct hca_ah *ah)
{
	const struct node_port *np = ah->np;

	return ah->port_key != port_key(ah) || ah->gid_prefix != np->pi.gid_prefix ||
	       ah->guid != np->guids[ah->attr.sgid_index];
}

void hca_ah_refresh(struct hca_ah *ah)
{
	const struct hca_ah_attr *a = &ah->attr;
	const struct node_port *np = ah->np;
	struct ib_ud_hdr u = {
		.lrh = {
			.vl = hca_sl_to_vl(np, a->sl),
			.sl = a->sl,
			.dlid = a->dlid,
			.slid = np->pi.lid | (a->src_path_bits & ((1u << np->pi.lmc) - 1)),
			.lnh = a->has_grh ? IB_LNH_GLOBAL : IB_LNH_LOCAL,
		},
		.has_grh = a->has_grh,
		.grh = {
			.ip_ver = 6,
			.tclass = a->tclass,
			.flow_label = a->flow_label & 0xfffff,
			.nxt_hdr = IB_GRH_NXTHDR,
			.hop_limit = a->hop_limit,
			.sgid = node_gid(np, a->sgid_index),
			.dgid = a->dgid,
		},
		.bth.opcode = IB_OP_UD_SEND_ONLY,
	};

	ah->hdr_len = (uint8_t)ib_ud_hdr_encode(ah->tmpl, &u, 0);
	ah->vl = u.lrh.vl;
	ah->port_key = port_key(ah);
	ah->gid_prefix = np->pi.gid_prefix;
	ah->guid = np->guids[a->sgid_index];
}

static bool attr_valid(const struct hca *h, const struct hca_ah_attr *a)
{
	if (!hca_port_valid(h, a->port) || a->sl > 15 || a->sgid_index >= NODE_GUIDS)
		return false;
	if (ib_lid_is_mcast(a->dlid))
		return a->has_grh && ib_gid_is_mcast(&a->dgid);
	return ib_lid_is_unicast(a->dlid);
}

int hca_ah_create(struct hca *h, const struct hca_ah_attr *attr, struct hca_ah **ret)
{
	struct hca_ah *ah;

	if (!attr_valid(h, attr))
		return -EINVAL;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return -ENOMEM;
	ah->attr = *attr;
	ah->np = hca_port(h, attr->port);
	ah->mcast = ib_lid_is_mcast(attr->dlid);
	hca_ah_refresh(ah);
	list_add_tail(&h->ahs, &ah->link);
	*ret = ah;
	return 0;
}

void hca_ah_destroy(struct hca_ah *ah)
{
	if (!ah)
		return;
	list_del(&ah->link);
	free(ah);
}
