/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "umad/priv.h"

#define USER_RMPP 1 /* IB_USER_MAD_USER_RMPP */
#define CLASS_MAX 0x50 /* size of ib_mad's table of classes, in which class 0x81 has index 0 */
#define VERSION_MAX 0x83

/* Returns false for a registration that ib_umad or ib_register_mad_agent() would refuse. */
static bool reg_valid(const struct umad_register *r)
{
	uint8_t c = r->mgmt_class;

	if (r->qpn > 1 || (r->flags & ~(uint32_t)USER_RMPP) || r->rmpp_version > 1)
		return false;
	if (!c)
		return !(r->flags & USER_RMPP);
	if (r->oui > 0xffffff || r->class_version >= VERSION_MAX)
		return false;
	if (c >= CLASS_MAX && c != MAD_CLASS_SM_DR)
		return false;
	if ((mad_class_has_oui(c) && !r->oui) || (r->rmpp_version && !rmpp_hdr_len(c)))
		return false;
	return (r->qpn == IB_QP0) == mad_class_is_smp(c);
}

static void recv_mad(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	struct umad_agent *a = ctx;

	(void)now;
	umad_queue_recv(a->conn, (uint32_t)(a - a->conn->agent), from, mad, len);
}

static struct mad_agent_cfg agent_cfg(struct umad_conn *c, const struct umad_register *r,
				      struct umad_agent *a)
{
	struct mad_agent_cfg cfg = {
		.qp = (uint8_t)r->qpn,
		.mgmt_class = r->mgmt_class,
		.one_class = true,
		.rmpp = r->rmpp_version && !(r->flags & USER_RMPP),
		.quota = &c->quota,
		.recv = recv_mad,
		.ctx = a,
	};

	cfg.user_rmpp = !cfg.rmpp;
	if (!r->mgmt_class) /* an agent without a management class receives responses only */
		return cfg;
	cfg.class_version = r->class_version;
	cfg.oui = mad_class_has_oui(r->mgmt_class) ? r->oui : 0;
	cfg.methods[0] = r->methods[0];
	cfg.methods[1] = r->methods[1];
	return cfg;
}

int umad_agent_add(struct umad_conn *c, const struct umad_register *r, uint32_t *ret_id)
{
	struct mad_agent_cfg cfg;
	uint32_t id = 0;
	int err;

	if (!reg_valid(r))
		return -EINVAL;
	while (id < UMAD_AGENTS_MAX && c->agent[id].mad)
		id++;
	if (id == UMAD_AGENTS_MAX)
		return -ENOMEM;
	c->agent[id] = (struct umad_agent){ .conn = c, .qp = (uint8_t)r->qpn };
	cfg = agent_cfg(c, r, &c->agent[id]);
	err = mad_agent_add(c->port->np->ep, &cfg, &c->agent[id].mad);
	if (err)
		/* ib_mad returns EINVAL if another agent has the method */
		return err == -EBUSY ? -EINVAL : err;
	c->agent[id].rmpp = cfg.rmpp;
	c->agent[id].rmpp_only = r->rmpp_version;
	*ret_id = id;
	return 0;
}

int umad_agent_del(struct umad_conn *c, uint32_t id)
{
	struct mad_agent *a;

	if (id >= UMAD_AGENTS_MAX || !c->agent[id].mad)
		return -EINVAL;
	a = c->agent[id].mad;
	c->agent[id].mad = NULL;
	mad_agent_del(a);
	return 0;
}
