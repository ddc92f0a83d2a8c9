/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "verbs/priv.h"

/* --- attributes */

/* libibverbs has one code for the speeds that PortInfo has in two fields (IBTA 14.2.5.6). */
static uint8_t rate_of(const struct ibv_port_attr *a)
{
	static const struct {
		uint8_t verbs, speed, ext;
	} speeds[] = {
		{ 1, 1, 0 },  { 2, 2, 0 },  { 4, 4, 0 },  { 8, 4, 0 }, /* FDR10 counts as QDR */
		{ 16, 0, 1 }, { 32, 0, 2 }, { 64, 0, 4 }, { 128, 0, 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(speeds); i++)
		if (speeds[i].verbs == a->active_speed)
			return (uint8_t)ib_rate_code(a->active_width, speeds[i].speed,
						     speeds[i].ext);
	return 0;
}

static int query(struct verbs_port *p)
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
	int err = p->dead ? 0 : query(p);

	if (err)
		return err;
	*ret = p->attr;
	if (p->dead)
		ret->state = IB_PORT_DOWN;
	return 0;
}

/* An entry that cannot be read is an empty one. */
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
	log_to(p->log, LOG_LVL_ERR, "port %s: %s; the port works again after a new start", p->name,
	       why);
	if (p->ca.notify && p->ca.notify->event)
		p->ca.notify->event(p->ca.ctx, CA_EVENT_DEVICE_FATAL, now);
}

/* --- opening */

static int refused(char err[VERBS_ERR_MAX], int status, const char *what)
{
	snprintf(err, VERBS_ERR_MAX, "%s: %s", what, strerror(-status));
	return status;
}

static int errno_of(void)
{
	return errno ? -errno : -EIO;
}

static struct ibv_context *open_found(const struct verbs_lib *lib, struct ibv_device **list, int n,
				      const char *name, char err[VERBS_ERR_MAX])
{
	struct ibv_context *ctx;
	int status;

	for (int i = 0; i < n; i++) {
		if (strcmp(list[i]->name, name))
			continue;
		errno = 0;
		ctx = lib->open_device(list[i]);
		if (ctx)
			return ctx;
		status = errno_of();
		refused(err, status, list[i]->dev_name);
		errno = -status;
		return NULL;
	}
	snprintf(err, VERBS_ERR_MAX, "libibverbs has no such device");
	errno = ENODEV;
	return NULL;
}

static int open_device(struct verbs_port *p, const char *name, char err[VERBS_ERR_MAX])
{
	int n = 0, status;
	struct ibv_device **list;

	errno = 0;
	list = p->lib->get_device_list(&n);
	if (!list)
		return refused(err, errno_of(), "the list of devices");
	p->ctx = open_found(p->lib, list, n, name, err);
	status = p->ctx ? 0 : -errno;
	p->lib->free_device_list(list);
	return status;
}

static int check_port(struct verbs_port *p, const char *device, char err[VERBS_ERR_MAX])
{
	struct ibv_port_attr a = { 0 };
	int status = p->lib->query_device(p->ctx, &p->limits);

	if (status)
		return refused(err, -status, "the attributes of the device");
	if (!p->num || p->num > p->limits.phys_port_cnt) {
		snprintf(err, VERBS_ERR_MAX, "the device has no port %u", p->num);
		return -ENODEV;
	}
	status = p->lib->query_port(p->ctx, p->num, &a);
	if (status)
		return refused(err, -status, "the attributes of the port");
	if (p->ctx->device->node_type != IBV_NODE_CA ||
	    (a.link_layer != IBV_LINK_LAYER_INFINIBAND &&
	     a.link_layer != IBV_LINK_LAYER_UNSPECIFIED) ||
	    !strncmp(device, "hfi1", 4)) {
		snprintf(err, VERBS_ERR_MAX, "the link is %s, expected InfiniBand",
			 a.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "no InfiniBand");
		return -EMEDIUMTYPE;
	}
	return query(p);
}

static int open_pkeys(struct verbs_port *p, const char *device, char err[VERBS_ERR_MAX])
{
	p->pkeys_fd = p->lib->pkeys_open(device, p->num);
	if (p->pkeys_fd < 0)
		return refused(err, p->pkeys_fd, "the P_Key table in sysfs");
	p->pkeys = calloc(p->attr.pkey_tbl_len ? p->attr.pkey_tbl_len : 1, sizeof(*p->pkeys));
	if (!p->pkeys)
		return refused(err, -ENOMEM, "the P_Key table");
	verbs_pkeys_read(p);
	return 0;
}

/* The kernel charges the pinned memory to this limit, unless the process has CAP_IPC_LOCK. */
static void raise_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_MEMLOCK, &lim) || lim.rlim_cur == lim.rlim_max)
		return;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &lim);
}

/*
 * A child of a fork does not get the arena, because otherwise, when the parent writes to a page
 * after the fork, it would get a copy of the page, and the adapter would still use the old one.
 */
static int make_arena(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	size_t size = (size_t)p->nslots * VERBS_SLOT;

	p->free_slot = calloc(p->nslots, sizeof(*p->free_slot));
	p->arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->arena == MAP_FAILED)
		p->arena = NULL;
	if (!p->free_slot || !p->arena)
		return refused(err, -ENOMEM, "the packet buffers");
	madvise(p->arena, size, MADV_DONTFORK);
	madvise(p->arena, size, MADV_HUGEPAGE); /* less to fault in, to pin and to translate */
	for (unsigned int i = 0; i < p->nslots; i++)
		p->free_slot[i] = p->nslots - 1 - i;
	p->nfree = p->nslots;
	raise_limit();
	errno = 0;
	p->mr = p->lib->reg_mr(p->pd, p->arena, size, IBV_ACCESS_LOCAL_WRITE);
	if (p->mr)
		return 0;
	snprintf(err, VERBS_ERR_MAX, "registering %zu octets of memory: %s%s", size,
		 strerror(-errno_of()), errno == ENOMEM ? " (see ulimit -l, or CAP_IPC_LOCK)" : "");
	return errno_of();
}

static int make_objects(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	errno = 0;
	p->pd = p->lib->alloc_pd(p->ctx);
	if (!p->pd)
		return refused(err, errno_of(), "a protection domain");
	p->channel = p->lib->create_comp_channel(p->ctx);
	if (!p->channel)
		return refused(err, errno_of(), "a completion channel");
	return make_arena(p, err);
}

static int start(struct verbs_port *p, const struct verbs_cfg *cfg, char err[VERBS_ERR_MAX])
{
	int status = open_device(p, cfg->device, err);

	if (!status)
		status = check_port(p, cfg->device, err);
	if (!status)
		status = open_pkeys(p, cfg->device, err);
	if (!status)
		status = make_objects(p, err);
	if (status)
		return status;
	status = verbs_mads_init(p, cfg->device);
	if (status)
		return refused(err, status, "the umad device of the port");
	status = verbs_events_init(p);
	return status ? refused(err, status, "epoll") : 0;
}

static void port_close(struct ca *ca)
{
	struct verbs_port *p = verbs_port_of(ca);
	struct verbs_qp *q, *next;

	list_for_each_safe (q, next, &p->qps, link)
		verbs_qp_destroy(&q->qp);
	verbs_ahs_fini(p);
	verbs_mads_fini(p);
	if (p->ca.fd >= 0)
		close(p->ca.fd);
	if (p->mr)
		p->lib->dereg_mr(p->mr);
	if (p->channel)
		p->lib->destroy_comp_channel(p->channel);
	if (p->pd)
		p->lib->dealloc_pd(p->pd);
	if (p->pkeys_fd >= 0)
		close(p->pkeys_fd);
	if (p->ctx)
		p->lib->close_device(p->ctx);
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

/* The kernel's CM sets the bit. */
static void cm_supported(struct ca *ca, bool on, ns_t now)
{
	(void)ca, (void)on, (void)now;
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
		return refused(err, -ENOMEM, "the port");
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
	snprintf(p->name, sizeof(p->name), "%.64s/%u", cfg->device, cfg->port);
	list_init(&p->qps);
	list_init(&p->idle_ahs);
	status = start(p, cfg, err);
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
