/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

#include <inttypes.h>

/*
 * DOC: M_Keys
 *
 * All SMPs carry this SM's M_Key, and all end ports get this M_Key together with their addresses
 * (port.c). A standby SM that is to replace this SM must be configured with the same M_Key.
 *
 * A port that has another M_Key belongs to another manager and would not answer a Set. So this SM
 * does not configure the port: each sweep counts the port, and the log names it once. If reading is
 * not protected, PortInfo has the other M_Key (14.2.4.1). If reading is protected, PortInfo has
 * M_Key 0, and M_KeyProtectBits that are not 0. The PortInfo of a port without an M_Key can look
 * the same, but such a port answers the first Set.
 *
 * If a lease is configured, a port that gets an SMP with a wrong M_Key starts its lease and sends
 * trap 256. This SM then sends an SMP, because any SMP with the right key stops the lease.
 */

static bool foreign(const struct sm *sm, const struct sm_port *p)
{
	return p->pi.mkey && p->pi.mkey != sm->cfg.mkey;
}

static bool hidden(const struct sm_port *p)
{
	return !p->pi.mkey && p->pi.mkey_protect;
}

static void leave_alone(struct sm *sm, const struct sm_port *p)
{
	sm->sweep.foreign_mkeys++;
	if (!sm_mkey_said(sm, p->guid, true))
		sm_warn(sm, "\"%s\" port %u (0x%016" PRIx64 ") has another M_Key: left alone",
			p->node->desc, p->num, p->guid);
}

static void port_sort_out(struct sm *sm, struct sm_port *p)
{
	struct sm_node *n = p->node;

	if (!foreign(sm, p)) {
		if (!hidden(p))
			sm_mkey_said(sm, p->guid, false);
		return;
	}
	leave_alone(sm, p);
	if (n->sw)
		n->lost = true;
	else
		sm_db_drop_port(sm->next, p);
}

bool sm_mkey_sort_out(struct sm *sm)
{
	struct sm_db *db = sm->next;

	if (foreign(sm, db->self))
		return false;
	for (uint32_t i = 0; i < db->nnodes; i++) {
		struct sm_node *n = db->node[i];

		for (unsigned int num = 0; num <= n->info.nports && !n->lost; num++) {
			if (n->port[num].known && sm_port_is_end(&n->port[num]))
				port_sort_out(sm, &n->port[num]);
		}
	}
	return true;
}

bool sm_mkey_blamed(struct sm *sm, const struct sm_node *n)
{
	for (unsigned int num = 0; num <= n->info.nports; num++) {
		const struct sm_port *p = &n->port[num];

		if (p->known && sm_port_is_end(p) && hidden(p)) {
			leave_alone(sm, p);
			return true;
		}
	}
	return false;
}

static void on_renewed(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
		       ns_t now)
{
	/* Nothing to do: if this Get is lost, the next SMP with a wrong M_Key causes another trap. */
}

void sm_mkey_renew(struct sm *sm, uint16_t lid, ns_t now)
{
	struct sm_port *p = sm->db ? sm_db_port_by_lid(sm->db, lid) : NULL;
	struct smp_cmd c;

	if (!sm->cfg.mkey_lease || !p)
		return;
	c = sm_cmd_port(p, MAD_METHOD_GET, SMP_ATTR_PORT_INFO, p->num, on_renewed);
	smpq_add(&sm->bgq, &c, now);
}
