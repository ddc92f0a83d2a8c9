/* SPDX-License-Identifier: BSD-2-Clause */
#include "node/priv.h"

static uint16_t get_node_desc(struct sma_req *r)
{
	memcpy(r->data, r->n->desc, SMP_DATA_LEN);
	return 0;
}

static uint16_t get_node_info(struct sma_req *r)
{
	struct smp_node_info info = r->n->info;

	info.port_guid = r->end->guids[0];
	info.local_port = r->in_port;
	smp_node_info_encode(r->data, &info);
	return 0;
}

static const struct sma_attr {
	uint16_t id;
	bool switch_only;
	sma_fn *get, *set;
} attrs[] = {
	{ SMP_ATTR_NOTICE, false, sma_get_notice, sma_set_notice },
	{ SMP_ATTR_NODE_DESC, false, get_node_desc, NULL },
	{ SMP_ATTR_NODE_INFO, false, get_node_info, NULL },
	{ SMP_ATTR_SWITCH_INFO, true, sma_get_switch_info, sma_set_switch_info },
	{ SMP_ATTR_GUID_INFO, false, sma_get_guids, sma_set_guids },
	{ SMP_ATTR_PORT_INFO, false, sma_get_port_info, sma_set_port_info },
	{ SMP_ATTR_PKEY_TABLE, false, sma_get_pkeys, sma_set_pkeys },
	{ SMP_ATTR_SLTOVL, false, sma_get_sltovl, sma_set_sltovl },
	{ SMP_ATTR_VLARB, false, sma_get_vlarb, sma_set_vlarb },
	{ SMP_ATTR_LFT, true, sma_get_lft, sma_set_lft },
	{ SMP_ATTR_MFT, true, sma_get_mft, sma_set_mft },
};

static const struct sma_attr *attr_find(const struct node *n, uint16_t id)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(attrs); i++)
		if (attrs[i].id == id && (!attrs[i].switch_only || node_is_switch(n)))
			return &attrs[i];
	return NULL;
}

struct node_port *sma_port(const struct sma_req *r, unsigned int num)
{
	if (num > r->n->info.nports)
		return NULL;
	if (num == 0 && !node_is_switch(r->n))
		num = r->in_port;
	return &r->n->port[num];
}

static uint16_t execute(struct sma_req *r, const void *mad)
{
	const struct sma_attr *a = attr_find(r->n, mad_attr(mad));
	uint8_t method = mad_method(mad), answer[SMP_DATA_LEN] = { 0 }, *in = r->data;
	uint16_t status;

	if (*(const uint8_t *)mad != MAD_BASE_VERSION ||
	    ((const uint8_t *)mad)[2] != SMP_CLASS_VERSION)
		return MAD_STATUS_BAD_VERSION;
	if (method != MAD_METHOD_GET && method != MAD_METHOD_SET)
		return MAD_STATUS_BAD_METHOD;
	if (!a || (method == MAD_METHOD_SET && !a->set))
		return MAD_STATUS_BAD_ATTR;
	if (method == MAD_METHOD_SET) {
		status = a->set(r);
		if (status)
			return status;
	}
	/* The answer to a Set contains the attribute as a Get after the Set would return it. */
	r->data = answer;
	status = a->get(r);
	if (status == 0)
		memcpy(in, answer, sizeof(answer));
	return status;
}

/*
 * The M_Key lease is over (14.2.4.2). Clear M_KeyProtectBits, so that everybody can read the M_Key
 * by a Get(PortInfo).
 */
void node_mkey_lease_fn(struct timer *t, ns_t now)
{
	struct node_port *p = container_of(t, struct node_port, mkey_lease);

	p->pi.mkey_protect = 0;
	log_to(p->node->log, LOG_LVL_INFO, "node: %s port %u: M_Key lease expired at %llu",
	       p->node->desc, p->num, (unsigned long long)now);
}

static bool mkey_matches(const struct node_port *end, const void *mad)
{
	return end->pi.mkey == 0 || end->pi.mkey == be64_at((const uint8_t *)mad + SMP_OFF_MKEY);
}

static bool mkey_permits(const struct node_port *end, bool matches, uint8_t method)
{
	if (matches)
		return true;
	if (method == MAD_METHOD_GET)
		return end->pi.mkey_protect < 2;
	/* A Set without the right M_Key is refused for all values of M_KeyProtectBits, even 0. */
	return false;
}

static void mkey_violation(struct node_port *end, const void *mad, ns_t now)
{
	struct smp_port_info *pi = &end->pi;

	if (pi->mkey_violations < UINT16_MAX)
		pi->mkey_violations++;
	if (pi->mkey_lease && !timer_armed(&end->mkey_lease))
		timer_arm(end->node->timers, &end->mkey_lease, now + NS_SEC(pi->mkey_lease));
	node_trap_bad_mkey(end, mad, now);
}

/* Carry out the request in @mad, which becomes the response. Return: false if the M_Key of the request is wrong */
static bool answer(struct sma_req *r, void *mad)
{
	struct node_port *end = r->end;

	r->mkey_ok = mkey_matches(end, mad);
	r->mod = mad_attr_mod(mad);
	r->data = smp_data(mad);
	if (!mkey_permits(end, r->mkey_ok, mad_method(mad))) {
		mkey_violation(end, mad, r->now);
		return false;
	}
	if (r->mkey_ok)
		timer_cancel(r->n->timers, &end->mkey_lease);
	smi_make_response(mad, execute(r, mad));
	return true;
}

void node_sma(struct node *n, uint8_t in_port, const struct mad_addr *from, void *mad, ns_t now)
{
	struct node_port *end = node_end_port(n, in_port);
	struct sma_req r = { .n = n, .end = end, .in_port = in_port, .now = now };

	if (!answer(&r, mad)) {
		n->dropped++;
		return;
	}
	if (node_smp_send(end, from, mad, now))
		n->dropped++;
	if (r.events)
		node_raise(n, r.ev_port->num, r.events, now);
}

/* SMInfo is excluded, because an SM that runs on this port answers it instead of the SMA. */
bool node_smp_for_sma(const void *mad)
{
	uint8_t method = mad_method(mad);

	return (method == MAD_METHOD_GET || method == MAD_METHOD_SET) &&
	       mad_attr(mad) != SMP_ATTR_SM_INFO && smi_ends(mad);
}

uint8_t node_smp_serve(struct node *n, uint8_t in_port, void *mad, struct node_smp_events *ret,
		       ns_t now)
{
	struct sma_req r = {
		.n = n, .end = node_end_port(n, in_port), .in_port = in_port, .now = now
	};
	uint8_t port;

	*ret = (struct node_smp_events){ 0 };
	n->smps++;
	if (smi_recv(mad, true, in_port, n->info.nports, &port) != SMI_LOCAL || !answer(&r, mad))
		return 0;
	if (r.events)
		*ret = (struct node_smp_events){ r.ev_port->num, r.events };
	if (smi_send(mad, true, n->info.nports, &port) != SMI_FORWARD)
		return 0;
	return n->port[port].link_up ? port : 0;
}
