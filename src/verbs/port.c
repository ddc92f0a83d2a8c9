/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/priv.h"

/* --- attributes */

/*
 * Return the rate of the link. libibverbs has one code for the speeds that PortInfo has in two
 * fields (IBTA 14.2.5.6).
 */
static uint8_t rate_of(const struct ibv_port_attr *a)
{
	static const struct {
		uint8_t verbs, speed, ext;
	} speeds[] = {
		/* 8 is FDR10, which counts as QDR */
		{ 1, 1, 0 },  { 2, 2, 0 },  { 4, 4, 0 },  { 8, 4, 0 },
		{ 16, 0, 1 }, { 32, 0, 2 }, { 64, 0, 4 }, { 128, 0, 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(speeds); i++)
		if (speeds[i].verbs == a->active_speed)
			return (uint8_t)ib_rate_code(a->active_width, speeds[i].speed,
						     speeds[i].ext);
	return 0;
}

int verbs_port_read(struct verbs_port *p)
{
	struct ibv_port_attr a = { 0 };
	union ibv_gid gid;
	int err = p->lib->query_port(p->ctx, p->num, &a);

	if (!err && p->lib->query_gid(p->ctx, p->num, 0, &gid))
		err = errno ? errno : EIO;
	if (err)
		return err > 0 ? -err : -EIO;
	p->attr = (struct ca_port_attr){
		.state = (uint8_t)a.state,
		.lmc = a.lmc,
		.sm_sl = a.sm_sl,
		.max_mtu_code = (uint8_t)a.max_mtu,
		.active_mtu_code = (uint8_t)a.active_mtu,
		.rate_code = rate_of(&a),
		.lid = a.lid,
		.sm_lid = a.sm_lid,
		.pkey_tbl_len = a.pkey_tbl_len,
		.cap_mask = a.port_cap_flags,
	};
	memcpy(p->attr.gid.raw, gid.raw, sizeof(gid.raw));
	p->grh_required = a.flags & IBV_QPF_GRH_REQUIRED;
	p->mtu = ib_mtu_octets(p->attr.active_mtu_code);
	return 0;
}

int verbs_port_query(struct ca *ca, struct ca_port_attr *ret)
{
	struct verbs_port *p = verbs_port_of(ca);
	int err = p->dead ? 0 : verbs_port_read(p);

	if (err)
		return err;
	*ret = p->attr;
	if (p->dead)
		ret->state = IB_PORT_DOWN;
	return 0;
}

/* Read the P_Key table. An entry that cannot be read counts as empty. */
void verbs_pkeys_read(struct verbs_port *p)
{
	for (unsigned int i = 0; i < p->attr.pkey_tbl_len; i++)
		if (p->lib->pkey_read(p->pkeys_fd, i, &p->pkeys[i]))
			p->pkeys[i] = 0;
}

static int pkey_query(struct ca *ca, uint16_t index, uint16_t *ret)
{
	const struct verbs_port *p = verbs_port_of(ca);

	if (index >= p->attr.pkey_tbl_len)
		return -EINVAL;
	*ret = p->pkeys[index];
	return 0;
}

void verbs_died(struct verbs_port *p, const char *why, ns_t now)
{
	if (p->dead)
		return;
	p->dead = true;
	log_to(p->log, LOG_LVL_ERR, "port %s: %s", p->name, why);
	if (p->ca.notify && p->ca.notify->event)
		p->ca.notify->event(p->ca.ctx, CA_EVENT_DEVICE_FATAL, now);
}

/* --- opening and closing */

static void port_close(struct ca *ca)
{
	struct verbs_port *p = verbs_port_of(ca);
	struct verbs_qp *q, *next;

	list_for_each_safe (q, next, &p->qps, link)
		verbs_qp_destroy(&q->qp);
	verbs_ahs_fini(p);
	verbs_device_close(p);
	mad_ep_destroy(p->mads.ep);
	if (p->ca.fd >= 0)
		close(p->ca.fd);
	if (p->arena)
		munmap(p->arena, (size_t)p->nslots * VERBS_SLOT);
	free(p->free_slot);
	free(p->pkeys);
	free(p);
}

static struct mad_ep *port_mad_ep(struct ca *ca)
{
	return verbs_port_of(ca)->mads.ep;
}

/* Nothing to do, because the kernel's CM sets the bit IsCommunicationManagementSupported. */
static void cm_supported(struct ca *ca, bool on, ns_t now)
{
	(void)ca, (void)on, (void)now;
}

/* Make the objects that the port keeps when its device fails, and open the device. */
static int start(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	int status = verbs_mads_init(p);

	if (status)
		return verbs_refused(err, status, "the MAD endpoint");
	p->ca.fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->ca.fd < 0)
		return verbs_refused(err, -errno, "epoll");
	return verbs_device_open(p, err);
}

static const struct ca_ops verbs_ops = {
	.close = port_close,
	.port_query = verbs_port_query,
	.pkey_query = pkey_query,
	.qp_create = verbs_qp_create,
	.qp_destroy = verbs_qp_destroy,
	.qp_modify = verbs_qp_modify,
	.qp_num = verbs_qp_num,
	.ah_create = verbs_ah_create,
	.ah_destroy = verbs_ah_destroy,
	.attach = verbs_attach,
	.detach = verbs_detach,
	.post_send = verbs_post_send,
	.poll = verbs_poll,
	.arm = verbs_arm,
	.queued = verbs_queued,
	.send_queue = verbs_send_queue,
	.send_flush = verbs_send_flush,
	.mad_ep = port_mad_ep,
	.cm_supported = cm_supported,
	.dispatch = verbs_dispatch,
};

int verbs_open(const struct verbs_cfg *cfg, const struct ca_notify *notify, void *ctx,
	       struct ca **ret, char err[VERBS_ERR_MAX])
{
	const struct verbs_lib *lib = cfg->lib ? cfg->lib : verbs_lib_load();
	struct verbs_port *p;
	int status;

	if (!lib) {
		snprintf(err, VERBS_ERR_MAX,
			 "libibverbs.so.1 is missing; the package libibverbs1 has it");
		return -ELIBACC;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return verbs_refused(err, -ENOMEM, "the port");
	p->ca = (struct ca){
		.ops = &verbs_ops,
		.notify = notify,
		.ctx = ctx,
		.shared = true,
		.fd = -1,
	};
	p->lib = lib;
	p->num = cfg->port;
	p->pool = cfg->pool;
	p->timers = cfg->timers;
	p->log = cfg->log;
	p->nslots = cfg->slots ? cfg->slots : VERBS_SLOTS;
	p->pkeys_fd = p->mads.fd = -1;
	snprintf(p->device, sizeof(p->device), "%s", cfg->device);
	snprintf(p->name, sizeof(p->name), "%s/%u", p->device, p->num);
	list_init(&p->qps);
	list_init(&p->taps);
	list_init(&p->idle_ahs);
	status = start(p, err);
	if (status) {
		port_close(&p->ca);
		return status;
	}
	*ret = &p->ca;
	return 0;
}

const struct verbs_stats *verbs_stats(const struct ca *ca)
{
	return ca->ops == &verbs_ops ? &container_of(ca, const struct verbs_port, ca)->stats : NULL;
}
