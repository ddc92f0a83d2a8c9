/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>

/*
 * DOC: Service levels
 *
 * While all partitions and the SM use SL 0, the SM writes no SLtoVL table, because the tables that
 * ports have at power-up map SL 0 to VL 0. OpenSM without -Q does the same. As soon as a partition
 * or the SM uses another SL, the SM writes SLtoVL tables. These tables distribute the SLs over the
 * operational VLs, so that no SL is mapped to a VL that the link does not have. A CA port has one
 * table. A switch has one for each pair of an ingress port and an egress port; the SM writes those
 * of ports with a link, and of port 0 as ingress port. VL arbitration tables are not written.
 */

static bool sls_used(const struct sm *sm)
{
	if (sm->cfg.sm_sl)
		return true;
	for (size_t i = 0; i < sm->parts->n; i++) {
		const struct sm_partition *part = &sm->parts->part[i];

		for (size_t j = 0; j < part->ngroups; j++) {
			if (part->group[j].sl)
				return true;
		}
	}
	return false;
}

static void on_written(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		       ns_t now)
{
	if (sm_failed(ctx, cmd, status, "Set(SLtoVLMappingTable)", now))
		cmd->port->vls_mapped = 0;
}

static void map_write(struct sm *sm, struct sm_port *out, uint32_t mod, unsigned int vls, ns_t now)
{
	struct smp_cmd c = sm_cmd_port(out, MAD_METHOD_SET, SMP_ATTR_SLTOVL, mod, on_written);
	uint8_t vl[16];

	for (unsigned int sl = 0; sl < 16; sl++)
		vl[sl] = (uint8_t)(sl % vls);
	smp_sltovl_encode(c.data, vl);
	smpq_add(&sm->sweepq, &c, now);
}

static bool linked(const struct sm_port *p)
{
	return sm_port_carries(p) && p->change != SM_LINK_GONE;
}

static void map_switch(struct sm *sm, struct sm_node *n, ns_t now)
{
	for (unsigned int o = 1; o <= n->info.nports; o++) {
		struct sm_port *out = &n->port[o];

		for (unsigned int i = 0; i <= n->info.nports && out->vls_mapped; i++) {
			if (linked(&n->port[i]))
				map_write(sm, out, i << 8 | o, out->vls_mapped, now);
		}
	}
}

/*
 * Return the number of VLs for which an earlier sweep wrote the SLtoVL table of @p; 0: no table was
 * written, or the port may have been reset since then
 */
static uint8_t mapped_before(const struct sm *sm, const struct sm_port *p)
{
	const struct sm_node *old = sm->db ? sm_db_node(sm->db, p->node->info.node_guid) : NULL;

	if (!old || old->info.nports != p->node->info.nports || p->pi.port_state != IB_PORT_ACTIVE)
		return 0;
	return old->port[p->num].vls_mapped;
}

static void map_node(struct sm *sm, struct sm_node *n, ns_t now)
{
	bool changed = false;

	for (unsigned int i = 1; i <= n->info.nports; i++) {
		struct sm_port *p = &n->port[i];
		uint8_t before;

		if (!linked(p))
			continue;
		before = mapped_before(sm, p);
		p->vls_mapped = (uint8_t)smp_vl_count(sm_port_vls(sm, p));
		if (before == p->vls_mapped)
			continue;
		changed = true;
		if (!n->sw)
			map_write(sm, p, 0, p->vls_mapped, now);
	}
	if (n->sw && changed)
		map_switch(sm, n, now);
}

void sm_qos_start(struct sm *sm, ns_t now)
{
	if (sm->part.on && sls_used(sm))
		sm_part_each_switch(sm, map_node, now);
	for (uint32_t i = 0; i < sm->next->nnodes && !sm->part.on && sls_used(sm); i++) {
		if (!sm->next->node[i]->lost)
			map_node(sm, sm->next->node[i], now);
	}
}
