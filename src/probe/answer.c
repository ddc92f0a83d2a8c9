/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/priv.h"

/*
 * Decodes the answers of agents and stores their data. The judge_*.c files evaluate these data
 * after the last answer.
 */

static bool pkey_block(struct probe_pkeys *t, unsigned int cap, const uint8_t *data)
{
	unsigned int left = (cap < PROBE_PKEYS_MAX ? cap : PROBE_PKEYS_MAX) - t->n;

	if (left > SMP_PKEYS_PER_BLOCK)
		left = SMP_PKEYS_PER_BLOCK;
	for (unsigned int i = 0; i < left; i++)
		t->pkey[t->n++] = be16_at(data + 2 * i);
	return true;
}

static bool take_smp(struct probe *p, const uint8_t *data)
{
	const size_t len = SMP_DATA_LEN;

	switch (p->ask) {
	case ASK_NODE:
		return smp_node_info_decode(&p->node, data, len) == 0;
	case ASK_PORT:
		return smp_port_info_decode(&p->port, data, len) == 0;
	case ASK_PKEYS:
		return pkey_block(&p->pkeys, p->node.pkey_cap, data);
	case ASK_SLTOVL:
		return smp_sltovl_decode(p->vl, data, len) == 0;
	case ASK_LINK_NODE:
		return smp_node_info_decode(&p->link_node, data, len) == 0;
	case ASK_LINK_PORT:
		return smp_port_info_decode(&p->link_port, data, len) == 0;
	case ASK_SM:
		return smp_sm_info_decode(&p->sm, data, len) == 0;
	case ASK_PEER_NODE:
		return smp_node_info_decode(&p->peer_node, data, len) == 0;
	case ASK_PEER_PORT:
		return smp_port_info_decode(&p->peer_port, data, len) == 0;
	case ASK_PEER_PKEYS:
		return pkey_block(&p->peer_pkeys, p->peer_node.pkey_cap, data);
	default:
		return false;
	}
}

/*
 * Store the groups of an answer. Groups beyond PROBE_GROUPS_MAX are dropped. This is acceptable,
 * because a finding needs only one example.
 */
static bool take_groups(struct probe *p, const struct sa_mad *m)
{
	size_t step = m->sa.attr_offset * 8u;

	if (!step)
		return true;
	if (step < MCMEMBER_REC_LEN)
		return false;
	for (size_t at = 0; at + MCMEMBER_REC_LEN <= m->data_len && p->ngroups < PROBE_GROUPS_MAX;
	     at += step)
		if (ib_mcmember_rec_decode(&p->groups[p->ngroups], m->data + at,
					   m->data_len - at) == 0)
			p->ngroups++;
	return true;
}

static bool take_sa(struct probe *p, const struct sa_mad *m)
{
	struct ib_mcmember_rec member;

	switch (p->ask) {
	case ASK_SA:
		return true;
	case ASK_SELF:
		return ib_path_rec_decode(&p->self, m->data, m->data_len) == 0;
	case ASK_GROUP:
		return ib_mcmember_rec_decode(&p->group, m->data, m->data_len) == 0;
	case ASK_GROUPS:
		return take_groups(p, m);
	case ASK_MEMBER:
	case ASK_PEER_MEMBER:
		return ib_mcmember_rec_decode(&member, m->data, m->data_len) == 0;
	case ASK_PATH:
		return ib_path_rec_decode(&p->path, m->data, m->data_len) == 0;
	case ASK_PATH_ANY:
		return ib_path_rec_decode(&p->path_any, m->data, m->data_len) == 0;
	default:
		return false;
	}
}

bool probe_take(struct probe *p, const uint8_t *mad, size_t len)
{
	struct sa_mad m;

	if (mad_class_is_smp(mad_class(mad)))
		return len == MAD_LEN && take_smp(p, mad + SMP_DATA_OFF);
	return sa_mad_decode(&m, mad, len) == 0 && take_sa(p, &m);
}
