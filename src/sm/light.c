/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/priv.h"

/*
 * Light sweeps read PortStateChange of every switch, and the state of the SM's own port. If a switch does not answer
 * or this port changed, a heavy sweep follows. If a port of a switch changed, a partial sweep follows if possible.
 */

static void light_done(struct sm *sm, ns_t now)
{
	if (--sm->light_open || sm->stage != SM_STAGE_IDLE || sm->state != SMP_SM_MASTER)
		return;
	sm_light_over(sm, now);
}

static void on_light_switch(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			    ns_t now)
{
	struct smp_switch_info si;
	struct sm *sm = ctx;

	if (status || smp_switch_info_decode(&si, data, SMP_DATA_LEN))
		sm->light_changed = true;
	else if (si.port_state_change)
		sm_part_suspect(sm, cmd->node->info.node_guid);
	light_done(sm, now);
}

static void on_light_self(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data,
			  ns_t now)
{
	struct smp_port_info pi;
	struct sm *sm = ctx;

	if (status || smp_port_info_decode(&pi, data, SMP_DATA_LEN) || !sm->db ||
	    pi.port_state != sm->db->self->pi.port_state || pi.lid != sm->db->self->lid)
		sm->light_changed = true;
	light_done(sm, now);
}

static void light_ask(struct sm *sm, struct sm_node *n, uint16_t attr, uint32_t mod,
		      smp_done_fn *done, ns_t now)
{
	struct smp_cmd c = sm_cmd_node(n, MAD_METHOD_GET, attr, mod, done);

	if (smpq_add(&sm->bgq, &c, now))
		sm->light_open++;
	/* the SMP could not be queued, so request a heavy sweep */
	else
		sm->light_changed = true;
}

void sm_light_start(struct sm *sm, ns_t now)
{
	struct sm_port *self;

	if (!sm->db || sm->stage != SM_STAGE_IDLE || sm->light_open)
		return;
	sm->light_sweeps++;
	sm->light_changed = false;
	/*
	 * count this function as one open request, so that an early answer does not end the light
	 * sweep before all requests are sent
	 */
	sm->light_open = 1;
	self = sm->db->self;
	for (uint32_t s = 0; s < sm->db->nswitches; s++)
		light_ask(sm, sm->db->sw[s], SMP_ATTR_SWITCH_INFO, 0, on_light_switch, now);
	light_ask(sm, self->node, SMP_ATTR_PORT_INFO, self->num, on_light_self, now);
	light_done(sm, now);
}
