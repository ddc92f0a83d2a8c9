/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>
#include <stdlib.h>

/*
 * DOC: P_Key tables
 *
 * End ports get the P_Keys of their partitions. An entry keeps its index as long as the port
 * belongs to the partition, because QPs are bound to indices. Index 0 has the P_Key of the default
 * partition, or of the partition with the flag indx0. Switch ports that lead to a CA check the P_Keys of packets from
 * and to this CA. The tables of these switch ports contain full P_Keys only, because a packet of a limited member
 * matches no limited entry (10.9.3).
 */

static unsigned int table_size(const struct sm_port *p)
{
	unsigned int n = sm_port_is_end(p) ? p->node->info.pkey_cap : p->node->sw->si.enforce_cap;

	return n < SM_PKEYS_MAX ? n : SM_PKEYS_MAX;
}

static uint32_t block_mod(const struct sm_port *p, unsigned int block)
{
	/* The attribute modifier contains a port number only for switches. */
	return (p->node->sw ? (uint32_t)p->num << 16 : 0) | block;
}

static bool port_enforces(const struct sm *sm, const struct sm_port *p)
{
	return !sm->cfg.no_enforce && p->node->sw && p->num && p->known && p->peer &&
	       p->peer->known && !p->peer->node->sw && p->node->sw->si.enforce_cap;
}

static bool has_table(const struct sm *sm, const struct sm_port *p)
{
	return p->known && !p->node->lost && table_size(p) &&
	       (sm_port_is_end(p) ? p->guid != 0 : port_enforces(sm, p));
}

static bool table_alloc(struct sm *sm, struct sm_port *p)
{
	p->npkeys = (uint16_t)table_size(p);
	p->pkeys = calloc((p->npkeys + SMP_PKEYS_PER_BLOCK - 1u) / SMP_PKEYS_PER_BLOCK,
			  SMP_PKEYS_PER_BLOCK * sizeof(uint16_t));
	if (p->pkeys)
		return true;
	p->npkeys = 0;
	sm->sweepq.failed = true;
	return false;
}

static const struct sm_port *old_port(const struct sm *sm, const struct sm_port *p)
{
	const struct sm_node *n = sm->db ? sm_db_node(sm->db, p->node->info.node_guid) : NULL;

	return n && n->info.nports == p->node->info.nports ? &n->port[p->num] : NULL;
}

static void on_read(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data, ns_t now)
{
	unsigned int first = (cmd->mod & 0xffff) * SMP_PKEYS_PER_BLOCK;

	if (!sm_failed(ctx, cmd, status, "Get(P_KeyTable)", now))
		smp_pkey_block_decode(cmd->port->pkeys + first, data, SMP_DATA_LEN);
}

/*
 * Copy the P_Key table that the last sweep wrote to the port. A port that stayed up still has this table.
 * Return: false if the table has to be read
 */
static bool table_copy_old(const struct sm *sm, struct sm_port *p)
{
	const struct sm_port *old = old_port(sm, p);

	if (!old || !old->pkeys || old->npkeys != p->npkeys || old->node->lost ||
	    sm_port_end(p)->pi.lid != sm_port_end(p)->lid ||
	    (p->num && p->pi.port_state != IB_PORT_ACTIVE))
		return false;
	memcpy(p->pkeys, old->pkeys, p->npkeys * sizeof(uint16_t));
	return true;
}

static void table_read(struct sm *sm, struct sm_port *p, ns_t now)
{
	if (!has_table(sm, p) || !table_alloc(sm, p) || table_copy_old(sm, p))
		return;
	for (unsigned int b = 0; b * SMP_PKEYS_PER_BLOCK < p->npkeys; b++) {
		struct smp_cmd c = sm_cmd_port(p, MAD_METHOD_GET, SMP_ATTR_PKEY_TABLE,
					       block_mod(p, b), on_read);

		smpq_add(&sm->sweepq, &c, now);
	}
}

void sm_pkeys_read(struct sm *sm, ns_t now)
{
	sm_feed_ports(sm, &sm->table_feed, table_read, now);
}

/* Collect the P_Keys of the CA behind @p as P_Keys of full members, each once. */
static size_t enforced_pkeys(const struct sm *sm, const struct sm_port *p, uint16_t *ret,
			     size_t max)
{
	uint16_t peer[SM_PKEYS_MAX], index0;
	size_t n = sm_partition_pkeys(sm, p->peer, peer, SM_PKEYS_MAX, &index0), out = 0;

	for (size_t i = 0; i < n && i < SM_PKEYS_MAX; i++) {
		uint16_t full = peer[i] | IB_PKEY_FULL;

		if (!sm_pkeys_contain(ret, out, full) && out < max)
			ret[out++] = full;
	}
	return out;
}

static void on_written(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		       ns_t now)
{
	uint16_t *block = cmd->port->pkeys + (cmd->mod & 0xffff) * SMP_PKEYS_PER_BLOCK;

	/*
	 * The port may not have stored the block. So the block is recorded as empty: none of its P_Keys is
	 * used, and the next sweep writes the block again.
	 */
	if (sm_failed(ctx, cmd, status, "Set(P_KeyTable)", now))
		memset(block, 0, SMP_PKEYS_PER_BLOCK * sizeof(*block));
}

static void table_write(struct sm *sm, struct sm_port *p, const uint16_t *table, ns_t now)
{
	for (unsigned int b = 0; b * SMP_PKEYS_PER_BLOCK < p->npkeys; b++) {
		uint16_t *have = p->pkeys + b * SMP_PKEYS_PER_BLOCK;
		const uint16_t *want = table + b * SMP_PKEYS_PER_BLOCK;
		struct smp_cmd c;

		if (memcmp(have, want, SMP_PKEYS_PER_BLOCK * sizeof(*want)) == 0)
			continue;
		memcpy(have, want, SMP_PKEYS_PER_BLOCK * sizeof(*want));
		c = sm_cmd_port(p, MAD_METHOD_SET, SMP_ATTR_PKEY_TABLE, block_mod(p, b),
				on_written);
		smp_pkey_block_encode(c.data, want);
		sm->sweep.pkey_blocks++;
		smpq_add(&sm->sweepq, &c, now);
	}
}

static void on_enforce(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		       ns_t now)
{
	struct smp_port_info pi;

	if (!sm_failed(ctx, cmd, status, "partition enforcement", now) &&
	    smp_port_info_decode(&pi, data, SMP_DATA_LEN) == 0)
		cmd->port->pi = pi;
}

/*
 * Queue Set(PortInfo) after the writes of the table, because a port should not enforce before it has its table. A port
 * that is still in Init gets the enforcement bits from the Set that arms it, when all blocks are acknowledged.
 */
static void set_enforcement(struct sm *sm, struct sm_port *p, bool on, ns_t now)
{
	struct smp_port_info w = smp_port_info_keep(&p->pi);
	struct smp_cmd c;

	if (p->pi.part_enforce_in == on && p->pi.part_enforce_out == on)
		return;
	if (sm_port_to_arm(p)) {
		p->enforce = on ? SM_ENFORCE_ON : SM_ENFORCE_OFF;
		return;
	}
	w.part_enforce_in = w.part_enforce_out = on;
	c = sm_cmd_port(p, MAD_METHOD_SET, SMP_ATTR_PORT_INFO, p->num, on_enforce);
	smp_port_info_encode(c.data, &w);
	sm->sweep.ports_set++;
	smpq_add(&sm->sweepq, &c, now);
}

static void table_configure(struct sm *sm, struct sm_port *p, ns_t now)
{
	uint16_t want[SM_PKEYS_MAX], table[SM_PKEYS_MAX] = { 0 }, index0 = 0;
	bool enforcing = !sm_port_is_end(p), fits;
	size_t n;

	if (!has_table(sm, p) || !p->pkeys)
		return;
	if (enforcing)
		n = enforced_pkeys(sm, p, want, SM_PKEYS_MAX);
	else
		n = sm_partition_pkeys(sm, p, want, SM_PKEYS_MAX, &index0);
	fits = n <= SM_PKEYS_MAX && sm_pkeys_arrange(table, p->pkeys, p->npkeys, want, n, index0);
	if (!fits) {
		sm_fault(sm, p->node->outside, now,
			 "\"%s\" port %u has room for %u P_Keys and should have %zu%s",
			 p->node->desc, p->num, p->npkeys, n,
			 enforcing ? ": it does not enforce partitions" : "");
	}
	/*
	 * A port whose table is too small does not enforce, because checks against an incomplete table would
	 * cut off rightful members.
	 */
	if (enforcing && !fits) {
		set_enforcement(sm, p, false, now);
		return;
	}
	table_write(sm, p, table, now);
	if (enforcing)
		set_enforcement(sm, p, true, now);
}

/*
 * Switch off enforcement at ports that do not lead to a CA any more, and at all ports if enforcement is not configured.
 * A port that is up but shows no node keeps enforcement, because a CA behind it may only have stopped answering the SM.
 */
static void enforcement_off(struct sm *sm, ns_t now)
{
	for (uint32_t s = 0; s < sm->next->nswitches; s++) {
		struct sm_node *n = sm->next->sw[s];

		for (unsigned int i = 1; i <= n->info.nports && !n->lost; i++) {
			struct sm_port *p = &n->port[i];

			if (p->known && !port_enforces(sm, p) && (p->peer || !sm_port_up(p)))
				set_enforcement(sm, p, false, now);
		}
	}
}

void sm_pkeys_start(struct sm *sm, ns_t now)
{
	enforcement_off(sm, now);
	sm_feed_ports(sm, &sm->table_feed, table_configure, now);
}
