/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <errno.h>

#include "subnet/item.h"

/*
 * DOC: The audit
 *
 * A sweep does not read the tables that an earlier sweep wrote, because reading all P_Key tables, SLtoVL
 * tables, LFTs and MFTs costs millions of SMPs in a subnet of 48,000 LIDs. Without the audit, changes that
 * other programs make to these tables would stay, because such changes cause no trap. Between sweeps the audit
 * reads the tables back, block by block and node by node, and writes blocks that differ.
 *
 * A round over all tables takes one minute (AUDIT_ROUND), or longer where the limit of sm_cfg.audit_rate SMPs a
 * second requires it. Small subnets are read in bursts, so that an idle instance sleeps between two bursts. The
 * audit pauses during heavy and partial sweeps, which may write the tables, and then continues where it stopped.
 *
 * If all partitions use SL 0, the SM writes no SLtoVL table (sm/qos.c). In this case the audit
 * regards a table as wrong if it maps SL 0 to a VL that the link does not have.
 *
 * The SM also writes MFTs between sweeps, when ports join groups. Therefore sm/mcast.c, which makes these
 * writes, also compares and repairs MFTs, so that a repair never overtakes the write of a join.
 */

#define AUDIT_ROUND NS_SEC(60)
#define AUDIT_TICK NS_SEC(10) /* interval of bursts in a small subnet */
#define AUDIT_TICK_BIG NS_SEC(1) /* interval of bursts in a subnet where audit_rate is the limit */
#define AUDIT_OPEN 8 /* largest number of SMPs in flight */
/* log lines about repairs: a burst of AUDIT_LINES_BURST, then one every AUDIT_LINES_EVERY */
#define AUDIT_LINES_BURST 8
#define AUDIT_LINES_EVERY NS_SEC(10)

/* --- repairs */

static void repair_log(struct sm *sm, const struct smp_cmd *cmd, const char *table, ns_t now)
{
	sm->repairs++;
	if (pace_take(&sm->repair_said, AUDIT_LINES_BURST, AUDIT_LINES_EVERY, now))
		sm_warn(sm,
			"somebody else changed the %s of \"%s\" port %u, modifier 0x%x: written "
			"again "
			"(%llu repairs so far)",
			table, cmd->node->desc, cmd->port->num, cmd->mod,
			(unsigned long long)sm->repairs);
}

/*
 * If a repair fails, mark the block as unknown. If the node has not answered, also request a sweep,
 * which handles the failure of the node.
 */
static void on_repaired(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			ns_t now)
{
	struct sm *sm = ctx;

	if (!status)
		return;
	if (cmd->attr == SMP_ATTR_PKEY_TABLE)
		memset(cmd->port->pkeys + (cmd->mod & 0xffff) * SMP_PKEYS_PER_BLOCK, 0,
		       SMP_PKEYS_PER_BLOCK * sizeof(uint16_t));
	if (cmd->attr == SMP_ATTR_LFT)
		cmd->node->sw->fdb->lft_known[cmd->mod] = false;
	if (cmd->attr == SMP_ATTR_SLTOVL)
		cmd->port->vls_mapped = 0;
	if (status != -EPROTO)
		sm_sweep_request(sm, now + SM_RETRY_MIN);
}

static void repair(struct sm *sm, const struct smp_cmd *read, const uint8_t *data, size_t len,
		   const char *table, ns_t now)
{
	struct smp_cmd c = *read;

	repair_log(sm, read, table, now);
	c.method = MAD_METHOD_SET;
	c.done = on_repaired;
	memset(c.data, 0, sizeof(c.data));
	memcpy(c.data, data, len);
	smpq_add(&sm->auditq, &c, now);
}

static void check_pkeys(struct sm *sm, const struct smp_cmd *cmd, const uint8_t *data, ns_t now)
{
	const uint16_t *want = cmd->port->pkeys + (cmd->mod & 0xffff) * SMP_PKEYS_PER_BLOCK;
	uint8_t block[SMP_DATA_LEN] = { 0 };

	smp_pkey_block_encode(block, want);
	if (memcmp(block, data, SMP_DATA_LEN) != 0)
		repair(sm, cmd, block, SMP_DATA_LEN, "P_Key table", now);
}

static void check_sltovl(struct sm *sm, const struct smp_cmd *cmd, const uint8_t *data, ns_t now)
{
	const struct sm_port *p = cmd->port;
	unsigned int vls = p->vls_mapped ? p->vls_mapped : smp_vl_count(p->pi.oper_vls);
	uint8_t have[16], want[16], wire[SMP_DATA_LEN] = { 0 };

	if (smp_sltovl_decode(have, data, SMP_DATA_LEN))
		return;
	for (unsigned int sl = 0; sl < 16; sl++)
		want[sl] = (uint8_t)(sl % vls);
	if (p->vls_mapped ? memcmp(have, want, sizeof(want)) == 0 : have[0] < vls)
		return;
	smp_sltovl_encode(wire, want);
	repair(sm, cmd, wire, sizeof(wire), "SLtoVL table", now);
}

static void check_lft(struct sm *sm, const struct smp_cmd *cmd, const uint8_t *data, ns_t now)
{
	const struct sm_fdb *f = cmd->node->sw->fdb;
	const uint8_t *want;

	if (cmd->mod >= sm_fdb_lft_blocks(f))
		return;
	want = f->lft->port + cmd->mod * SMP_LFT_PER_BLOCK;
	if (f->lft_known[cmd->mod] && memcmp(want, data, SMP_LFT_PER_BLOCK) != 0)
		repair(sm, cmd, want, SMP_LFT_PER_BLOCK, "LFT", now);
}

static void check_mft(struct sm *sm, const struct smp_cmd *cmd, const uint8_t *data, ns_t now)
{
	unsigned int block = cmd->mod & (SM_MFT_BLOCKS - 1), pos = cmd->mod >> 28;
	struct sm_fdb *f = cmd->node->sw->fdb;
	uint16_t masks[SMP_MFT_PER_BLOCK];

	if (smp_mft_block_decode(masks, data, SMP_DATA_LEN) ||
	    !sm_mcast_differs(sm, f, block, pos, masks))
		return;
	repair_log(sm, cmd, "MFT", now);
	sm_mcast_repair(sm, f, block, pos, now);
}

/* --- reading */

/* Advance the cursor to the first item of the next node. */
static void next_node(struct sm *sm)
{
	sm->audit_node++;
	sm->audit_port = sm->audit_item = 0;
}

static void on_read(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data, ns_t now)
{
	struct sm *sm = ctx;

	/*
	 * One time-out shows that the node does not answer, so skip the rest of this node until the
	 * next round.
	 */
	if (status == -ETIMEDOUT && cmd->node->index == sm->audit_node)
		next_node(sm);
	if (status)
		return;
	if (cmd->attr == SMP_ATTR_PKEY_TABLE)
		check_pkeys(sm, cmd, data, now);
	else if (cmd->attr == SMP_ATTR_SLTOVL)
		check_sltovl(sm, cmd, data, now);
	else if (cmd->attr == SMP_ATTR_LFT)
		check_lft(sm, cmd, data, now);
	else
		check_mft(sm, cmd, data, now);
}

static void read_item(struct sm *sm, struct sm_port *p, struct sm_item it, ns_t now)
{
	bool sw = p->node->sw;
	struct smp_cmd c;

	switch (it.what) {
	case SM_ITEM_PKEYS:
		c = sm_cmd_port(p, MAD_METHOD_GET, SMP_ATTR_PKEY_TABLE,
				(sw ? (uint32_t)p->num << 16 : 0) | it.block, on_read);
		break;
	case SM_ITEM_SLTOVL:
		if (sw && !sm_port_carries(&p->node->port[it.block]))
			return;
		c = sm_cmd_port(p, MAD_METHOD_GET, SMP_ATTR_SLTOVL, sw ? it.block << 8 | p->num : 0,
				on_read);
		break;
	case SM_ITEM_MFT:
		c = sm_cmd_port(p, MAD_METHOD_GET, SMP_ATTR_MFT,
				(uint32_t)it.position << 28 | it.block, on_read);
		break;
	default:
		c = sm_cmd_port(p, MAD_METHOD_GET, SMP_ATTR_LFT, it.block, on_read);
		break;
	}
	smpq_add(&sm->auditq, &c, now);
	sm->audit_left--;
}

/* Get the next item (a block of a table) and advance the cursor. Return: false at the end of the round */
static bool next_item(struct sm *sm, struct sm_port **ret, struct sm_item *ret_item)
{
	while (sm->audit_node < sm->db->nnodes) {
		struct sm_node *n = sm->db->node[sm->audit_node];

		for (; sm->audit_port <= n->info.nports; sm->audit_port++, sm->audit_item = 0) {
			struct sm_port *p = &n->port[sm->audit_port];

			if (sm->audit_item >= sm_port_items(p))
				continue;
			*ret = p;
			*ret_item = sm_port_item(p, sm->audit_item++);
			return true;
		}
		next_node(sm);
	}
	sm->audit_node = sm->audit_port = sm->audit_item = 0;
	/* the number of items may have changed, because joins add MFT blocks */
	sm->audit_items = sm_db_items(sm->db);
	return false;
}

static bool may_read(const struct sm *sm)
{
	return sm->state == SMP_SM_MASTER && sm->db && sm->stage == SM_STAGE_IDLE;
}

static void read_more(struct sm *sm, ns_t now)
{
	struct sm_item it;
	struct sm_port *p;

	while (may_read(sm) && sm->audit_left && smpq_idle(&sm->auditq)) {
		for (unsigned int i = 0; i < AUDIT_OPEN && sm->audit_left; i++) {
			if (!next_item(sm, &p, &it)) {
				sm->audit_left = 0;
				break;
			}
			read_item(sm, p, it, now);
		}
	}
}

static void on_idle(void *ctx, ns_t now)
{
	read_more(ctx, now);
}

static void arm(struct sm *sm, ns_t now)
{
	uint64_t per_round = sm->cfg.audit_rate * (AUDIT_ROUND / NS_SEC(1));

	timer_arm(sm->timers, &sm->audit,
		  now + (sm->audit_items > per_round ? AUDIT_TICK_BIG : AUDIT_TICK));
}

static void audit_timer(struct timer *t, ns_t now)
{
	struct sm *sm = container_of(t, struct sm, audit);
	uint64_t ticks = AUDIT_ROUND / AUDIT_TICK, share, most = sm->cfg.audit_rate;

	if (sm->state != SMP_SM_MASTER || !sm->db)
		return;
	share = (sm->audit_items + ticks - 1) / ticks;
	if (share * ticks <= most * (AUDIT_ROUND / NS_SEC(1)))
		most = share;
	sm->audit_left = most;
	arm(sm, now);
	read_more(sm, now);
}

void sm_audit_pause(struct sm *sm)
{
	smpq_cancel(&sm->auditq);
	sm->audit_left = 0;
}

void sm_audit_published(struct sm *sm, ns_t now)
{
	sm_audit_pause(sm);
	if (!sm->cfg.audit_rate)
		return;
	sm->audit_items = sm_db_items(sm->db);
	if (!timer_armed(&sm->audit))
		arm(sm, now);
}

void sm_audit_init(struct sm *sm)
{
	struct smpq_cfg c = sm_smpq_cfg(sm, on_idle);

	c.max_open = AUDIT_OPEN;
	smpq_init(&sm->auditq, &c);
	timer_init(&sm->audit, audit_timer);
}

void sm_audit_fini(struct sm *sm)
{
	sm_audit_pause(sm);
	timer_cancel(sm->timers, &sm->audit);
}
