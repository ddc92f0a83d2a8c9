/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "verbs/priv.h"

int verbs_refused(char err[VERBS_ERR_MAX], int status, const char *what)
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
		verbs_refused(err, status, list[i]->dev_name);
		errno = -status;
		return NULL;
	}
	snprintf(err, VERBS_ERR_MAX, "libibverbs has no such device");
	errno = ENODEV;
	return NULL;
}

static int open_device(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	int n = 0, status;
	struct ibv_device **list;

	errno = 0;
	list = p->lib->get_device_list(&n);
	if (!list)
		return verbs_refused(err, errno_of(), "the list of devices");
	p->ctx = open_found(p->lib, list, n, p->device, err);
	status = p->ctx ? 0 : -errno;
	p->lib->free_device_list(list);
	return status;
}

static int check_port(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	struct ibv_port_attr a = { 0 };
	int status = p->lib->query_device(p->ctx, &p->limits);

	if (status)
		return verbs_refused(err, -status, "the attributes of the device");
	if (!p->num || p->num > p->limits.phys_port_cnt) {
		snprintf(err, VERBS_ERR_MAX, "the device has no port %u", p->num);
		return -ENODEV;
	}
	status = p->lib->query_port(p->ctx, p->num, &a);
	if (status)
		return verbs_refused(err, -status, "the attributes of the port");
	if (p->ctx->device->node_type != IBV_NODE_CA ||
	    (a.link_layer != IBV_LINK_LAYER_INFINIBAND &&
	     a.link_layer != IBV_LINK_LAYER_UNSPECIFIED) ||
	    !strncmp(p->device, "hfi1", 4)) {
		snprintf(err, VERBS_ERR_MAX, "the link is %s, expected InfiniBand",
			 a.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "no InfiniBand");
		return -EMEDIUMTYPE;
	}
	verbs_csum_detect(p);
	return verbs_port_read(p);
}

static int open_pkeys(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	free(p->pkeys);
	p->pkeys = calloc(p->attr.pkey_tbl_len ? p->attr.pkey_tbl_len : 1, sizeof(*p->pkeys));
	if (!p->pkeys)
		return verbs_refused(err, -ENOMEM, "the P_Key table");
	p->pkeys_fd = p->lib->pkeys_open(p->device, p->num);
	if (p->pkeys_fd < 0)
		return verbs_refused(err, p->pkeys_fd, "the P_Key table in sysfs");
	verbs_pkeys_read(p);
	return 0;
}

/*
 * Raise RLIMIT_MEMLOCK, the kernel's limit on the pinned memory of a process without CAP_IPC_LOCK.
 * A process that starts with privileges raises the hard limit, too, because it may have to register
 * the memory again after it has dropped its privileges.
 */
static void raise_limit(size_t size)
{
	static rlim_t pinned; /* octets of the arenas of all ports */
	struct rlimit lim, more;

	pinned += size;
	if (getrlimit(RLIMIT_MEMLOCK, &lim))
		return;
	more.rlim_cur = more.rlim_max = lim.rlim_max < pinned ? pinned : lim.rlim_max;
	lim.rlim_cur = lim.rlim_max;
	if (setrlimit(RLIMIT_MEMLOCK, &more))
		setrlimit(RLIMIT_MEMLOCK, &lim);
}

/*
 * Allocate the arena. A child of a fork does not get the arena. Otherwise the kernel would share
 * the pages between parent and child (copy on write). When the parent then wrote to a page, it
 * would get a copy, and the adapter would still use the old page.
 */
static int make_arena(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	size_t size = (size_t)p->nslots * VERBS_SLOT;

	if (p->arena) /* the port has had a device before */
		return 0;
	p->free_slot = calloc(p->nslots, sizeof(*p->free_slot));
	p->arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->arena == MAP_FAILED)
		p->arena = NULL;
	if (!p->free_slot || !p->arena)
		return verbs_refused(err, -ENOMEM, "the packet buffers");
	madvise(p->arena, size, MADV_DONTFORK);
	/* huge pages, so that fewer pages are faulted in, pinned and translated */
	madvise(p->arena, size, MADV_HUGEPAGE);
	for (unsigned int i = 0; i < p->nslots; i++)
		p->free_slot[i] = p->nslots - 1 - i;
	p->nfree = p->nslots;
	raise_limit(size);
	return 0;
}

static int register_arena(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	size_t size = (size_t)p->nslots * VERBS_SLOT;
	int status;

	errno = 0;
	p->mr = p->lib->reg_mr(p->pd, p->arena, size, IBV_ACCESS_LOCAL_WRITE);
	if (p->mr)
		return 0;
	status = errno_of();
	snprintf(err, VERBS_ERR_MAX, "registering %zu octets of memory: %s%s", size,
		 strerror(-status), status == -ENOMEM ? " (see ulimit -l, or CAP_IPC_LOCK)" : "");
	return status;
}

static int make_objects(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	int status;

	errno = 0;
	p->pd = p->lib->alloc_pd(p->ctx);
	if (!p->pd)
		return verbs_refused(err, errno_of(), "a protection domain");
	p->channel = p->lib->create_comp_channel(p->ctx);
	if (!p->channel)
		return verbs_refused(err, errno_of(), "a completion channel");
	status = make_arena(p, err);
	return status ? status : register_arena(p, err);
}

int verbs_device_open(struct verbs_port *p, char err[VERBS_ERR_MAX])
{
	int status = open_device(p, err);

	if (!status)
		status = check_port(p, err);
	if (!status)
		status = open_pkeys(p, err);
	if (!status)
		status = make_objects(p, err);
	if (status)
		return status;
	status = verbs_mads_open(p);
	if (status)
		return verbs_refused(err, status, "the umad device of the port");
	status = verbs_events_watch(p);
	return status ? verbs_refused(err, status, "epoll") : 0;
}

void verbs_device_close(struct verbs_port *p)
{
	verbs_mads_close(p);
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
	p->mr = NULL;
	p->channel = NULL;
	p->pd = NULL;
	p->pkeys_fd = -1;
	p->ctx = NULL;
}

/* --- a device that comes back */

bool verbs_lost(const struct ca *ca)
{
	return container_of(ca, const struct verbs_port, ca)->dead;
}

/*
 * Destroy all objects of the device that is gone. The objects of the port's callers stay: queue pairs, attachments to
 * groups, and address handles.
 */
static void let_go(struct verbs_port *p)
{
	struct verbs_qp *q;

	list_for_each (q, &p->qps, link)
		verbs_qp_unmake(q);
	verbs_ahs_unmake(p);
	verbs_device_close(p);
}

int verbs_reopen(struct ca *ca, ns_t now, char err[VERBS_ERR_MAX])
{
	struct verbs_port *p = verbs_port_of(ca);
	struct verbs_qp *q;
	int status;

	if (!p->dead)
		return 0;
	let_go(p);
	status = verbs_device_open(p, err);
	list_for_each (q, &p->qps, link) {
		if (status)
			break;
		status = verbs_qp_remake(q);
		if (status)
			verbs_refused(err, status, "a queue pair");
	}
	if (status) {
		let_go(p);
		return status;
	}
	p->dead = false;
	if (p->ca.notify && p->ca.notify->event)
		p->ca.notify->event(p->ca.ctx, CA_EVENT_DEVICE_BACK, now);
	return 0;
}
