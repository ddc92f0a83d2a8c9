/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fabric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/fabric_priv.h"
#include "util/heap.h"

/*
 * This key of the hash function need not be secret, because the hashed strings are names that the
 * administrator chose.
 */
static const struct hash_key key = { 0x666162726963206eull, 0x6f64652e2e2e2e2eull };

static const char *const drop_names[] = {
	[FABRIC_DROP_LINK_DOWN] = "link-down",
	[FABRIC_DROP_QUEUE] = "queue-full",
	[FABRIC_DROP_HOPS] = "hop-limit",
	[FABRIC_DROP_LEN] = "length",
	[FABRIC_DROP_VERSION] = "version",
	[FABRIC_DROP_VCRC] = "vcrc",
	[FABRIC_DROP_STATE_IN] = "port-state-in",
	[FABRIC_DROP_STATE_OUT] = "port-state-out",
	[FABRIC_DROP_VL15] = "vl15",
	[FABRIC_DROP_DLID] = "dlid",
	[FABRIC_DROP_LOOP] = "loop",
	[FABRIC_DROP_MLID] = "mlid",
	[FABRIC_DROP_VL] = "sl-to-vl15",
	[FABRIC_DROP_MTU] = "mtu",
	[FABRIC_DROP_PKEY_IN] = "pkey-in",
	[FABRIC_DROP_PKEY_OUT] = "pkey-out",
	[FABRIC_DROP_RAW_IN] = "raw-in",
	[FABRIC_DROP_RAW_OUT] = "raw-out",
	[FABRIC_DROP_PORT0] = "port0",
	[FABRIC_DROP_PORT0_KEY] = "port0-key",
	[FABRIC_DROP_ICRC] = "icrc",
	[FABRIC_DROP_NO_MEM] = "no-mem",
	[FABRIC_DROP_SLID] = "slid",
};
static_assert(ARRAY_SIZE(drop_names) == FABRIC_DROP_MAX, "every reason has a name");

const char *fabric_drop_name(enum fabric_drop d)
{
	return (unsigned int)d < FABRIC_DROP_MAX ? drop_names[d] : "?";
}

/* --- callbacks of HCAs and nodes */

void fabric_node_event(struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now)
{
	if ((ev == NODE_EV_RETRAIN || ev == NODE_EV_PHYS) && port && port <= n->node->info.nports)
		fabric_link_event(&n->port[port], ev, now);
	if (n->notify.event)
		n->notify.event(n->notify_ctx, n, port, ev, now);
}

static void on_hca_xmit(void *ctx, uint8_t port, struct pkt *p, ns_t now)
{
	struct fabric_node *n = ctx;

	n->f->now = now;
	fabric_port_send(&n->port[port], p);
}

void fabric_inject(struct fabric_port *port, struct pkt *p, ns_t now)
{
	port->f->now = now;
	fabric_port_send(port, p);
}

static void on_hca_event(void *ctx, uint8_t port, enum node_event ev, ns_t now)
{
	fabric_node_event(ctx, port, ev, now);
}

static void on_hca_ready(void *ctx, struct hca_qp *qp)
{
	struct fabric_node *n = ctx;

	if (n->notify.ready)
		n->notify.ready(n->notify_ctx, qp);
}

static const struct hca_ops hca_ops = {
	.xmit = on_hca_xmit,
	.event = on_hca_event,
	.ready = on_hca_ready,
};

/* --- building */

#define NODE_REVISION 0xa1 /* revision in NodeInfo, as in ibsim */

static int switch_start(struct fabric_node *n, const struct node_cfg *cfg)
{
	struct node *node = malloc(sizeof(*node));
	int err;

	if (!node)
		return -ENOMEM;
	err = node_init(node, cfg, &fabric_switch_ops, n, n->f->cfg.timers, n->f->cfg.log);
	if (err)
		free(node);
	else
		n->node = node;
	return err;
}

static int node_start(struct fabric_node *n, const struct topo_node *tn)
{
	struct fabric *f = n->f;
	uint64_t guids[255];
	struct hca_cfg cfg = {
		.node = {
			.type = (uint8_t)tn->type,
			.nports = tn->nports,
			.sys_guid = tn->sys_guid,
			.node_guid = tn->node_guid,
			.port_guids = guids,
			.desc = tn->desc,
			.vendor_id = tn->vendor_id,
			.device_id = tn->device_id,
			.revision = NODE_REVISION,
			.enhanced_port0 = tn->enhanced_port0,
		},
		.crc = f->cfg.crc,
		.trains = f->cfg.trains,
		.max_qps = f->cfg.max_qps,
	};
	int err;

	guids[0] = tn->port[0].guid;
	for (unsigned int i = 1; tn->type == IB_NODE_CA && i <= tn->nports; i++)
		guids[i - 1] = tn->port[i].guid;

	if (tn->type == IB_NODE_CA) {
		err = hca_create(&n->hca, &cfg, &hca_ops, n, f->cfg.timers, f->cfg.pool,
				 f->cfg.log);
		if (!err)
			n->node = hca_node(n->hca);
		return err;
	}
	return switch_start(n, &cfg.node);
}

static void port_init(struct fabric_node *n, unsigned int num)
{
	struct fabric_port *p = &n->port[num];

	p->num = (uint8_t)num;
	p->node = n;
	p->f = n->f;
	p->np = &n->node->port[num];
	p->kind = n->hca ? PORT_CA : PORT_SWITCH;
	list_init(&p->devs);
	if (num == 0 && !n->hca) {
		p->kind = PORT_ZERO;
		p->peer = p;
		p->up = true;
	}
}

static int node_add(struct fabric *f, const struct topo *t, uint32_t index)
{
	const struct topo_node *tn = t->node[index];
	struct fabric_node *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	f->node[f->nnodes++] = n; /* from here on fabric_destroy() frees the node */
	n->f = f;
	memcpy(n->name, tn->name, sizeof(n->name));
	n->port = calloc(tn->nports + 1u, sizeof(*n->port));
	if (!n->port)
		return -ENOMEM;
	err = htab_add(&f->names, &n->by_name, hash_siphash(&key, n->name, strlen(n->name)));
	if (err)
		return err;
	err = node_start(n, tn);
	if (err)
		return err;
	for (unsigned int i = 0; i <= tn->nports; i++) {
		struct topo_rate r = tn->port[i].rate;

		port_init(n, i);
		if (i)
			node_port_rate(n->node, (uint8_t)i,
				       (struct node_rate){ r.width, r.speed, r.ext });
		if (tn->port[i].lid && (i == 0) == (n->hca == NULL)) {
			n->node->port[i].pi.lid = tn->port[i].lid;
			n->node->port[i].pi.lmc = tn->port[i].lmc;
		}
	}
	return 0;
}

static int links_add(struct fabric *f, const struct topo *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		for (unsigned int k = 1; k <= t->node[i]->nports; k++) {
			const struct topo_port *p = &t->node[i]->port[k];
			int err;

			if (p->peer == TOPO_NO_PEER || f->node[i]->port[k].link)
				continue;
			err = fabric_link_new(f, &f->node[i]->port[k],
					      &f->node[p->peer]->port[p->peer_port]);
			if (err)
				return err;
		}
	}
	return 0;
}

static struct fabric *fabric_new(const struct fabric_cfg *cfg, uint32_t nnodes)
{
	struct fabric *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->cfg = *cfg;
	f->depth[FABRIC_Q_DATA] = cfg->data_depth ? cfg->data_depth : FABRIC_DATA_DEPTH;
	f->depth[FABRIC_Q_VL15] = cfg->vl15_depth ? cfg->vl15_depth : FABRIC_VL15_DEPTH;
	list_init(&f->links);
	list_init(&f->faults);
	f->node = calloc(nnodes, sizeof(struct fabric_node *));
	if (!f->node) {
		free(f);
		return NULL;
	}
	return f;
}

/*
 * Estimate the memory of the nodes of a topology, and of a subnet manager that manages them. A
 * switch has two LFTs, its own and the one that the SM computes.
 */
static size_t memory_of(const struct topo *t)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		sum += (t->node[i]->nports + 1u) * 1500u;
		sum += t->node[i]->type == IB_NODE_CA ? 2500 : 100000;
	}
	return sum;
}

int fabric_create(struct fabric **ret, const struct topo *t, const struct fabric_cfg *cfg, ns_t now)
{
	struct fabric_link *l;
	struct fabric *f;
	int err = 0;

	if (!t->n)
		return -EINVAL;
	heap_expect(memory_of(t));
	f = fabric_new(cfg, t->n);
	if (!f)
		return -ENOMEM;
	f->now = now;
	for (uint32_t i = 0; i < t->n && !err; i++)
		err = node_add(f, t, i);
	if (!err)
		err = links_add(f, t);
	if (err) {
		fabric_destroy(f);
		return err;
	}
	list_for_each (l, &f->links, all)
		fabric_link_update(l, true, now);
	*ret = f;
	return 0;
}

/* --- destroying */

static void port_fini(struct fabric_port *p)
{
	for (unsigned int i = 0; i < FABRIC_NQUEUES; i++)
		pkt_queue_purge(&p->q[i]);
	while (p->devs.next && !list_empty(&p->devs)) {
		struct fabric_dev *d = list_first(&p->devs, struct fabric_dev, on_port);

		fabric_dev_del(d);
		d->ops->gone(d);
	}
}

static void node_destroy(struct fabric_node *n)
{
	unsigned int nports = n->node ? n->node->info.nports : 0;

	n->notify = (struct fabric_notify){ 0 };
	/*
	 * The MAD endpoints of the node may still send while they are destroyed, so the egress
	 * queues are closed first.
	 */
	for (unsigned int i = 0; n->port && i <= nports; i++)
		n->port[i].up = false;
	if (n->hca) {
		hca_destroy(n->hca);
	} else if (n->node) {
		node_fini(n->node);
		free(n->node);
	}
	for (unsigned int i = 0; n->port && i <= nports; i++)
		port_fini(&n->port[i]);
	free(n->port);
	free(n);
}

void fabric_destroy(struct fabric *f)
{
	struct fabric_link *l, *tmp;

	if (!f)
		return;
	list_for_each_safe (l, tmp, &f->links, all) {
		for (unsigned int i = 0; i < 2; i++)
			if (l->end[i]->ext)
				fabric_ext_detach(l->end[i], f->now);
	}
	while (!list_empty(&f->links))
		fabric_link_free(list_first(&f->links, struct fabric_link, all));
	for (unsigned int i = 0; i < f->nnodes; i++)
		node_destroy(f->node[i]);
	htab_fini(&f->names);
	free(f->node);
	free(f);
}

/* --- nodes */

const struct fabric_stats *fabric_stats(const struct fabric *f)
{
	return &f->stats;
}

unsigned int fabric_nnodes(const struct fabric *f)
{
	return f->nnodes;
}

struct fabric_node *fabric_node_at(struct fabric *f, unsigned int index)
{
	return index < f->nnodes ? f->node[index] : NULL;
}

struct fabric_node *fabric_node_find(struct fabric *f, const char *name)
{
	struct fabric_node *found = NULL;
	uint64_t h = hash_siphash(&key, name, strlen(name));

	for (struct hlink *e = htab_first(&f->names, h); e; e = htab_next(e)) {
		struct fabric_node *n = container_of(e, struct fabric_node, by_name);

		if (!strcmp(n->name, name))
			return n;
	}
	for (unsigned int i = 0; i < f->nnodes; i++) {
		if (strcmp(f->node[i]->node->desc, name) != 0)
			continue;
		if (found)
			return NULL; /* two nodes have this description */
		found = f->node[i];
	}
	return found;
}

const char *fabric_node_name(const struct fabric_node *n)
{
	return n->name;
}

struct fabric *fabric_node_fabric(const struct fabric_node *n)
{
	return n->f;
}

struct node *fabric_node_node(struct fabric_node *n)
{
	return n->node;
}

struct hca *fabric_node_hca(struct fabric_node *n)
{
	return n->hca;
}

uint64_t fabric_node_drops(const struct fabric_node *n, enum fabric_drop d)
{
	return (unsigned int)d < FABRIC_DROP_MAX ? n->drops[d] : 0;
}

void fabric_set_hca_notify(struct fabric *f, struct fabric_node *n, const struct fabric_notify *fn,
			   void *ctx)
{
	assert(n->f == f);
	n->notify = fn ? *fn : (struct fabric_notify){ 0 };
	n->notify_ctx = ctx;
}

/* --- ports */

struct fabric_port *fabric_node_port(struct fabric_node *n, unsigned int num)
{
	if (num > n->node->info.nports || (!num && n->hca))
		return NULL;
	return &n->port[num];
}

int fabric_port_find(struct fabric *f, const char *name, struct fabric_port **ret)
{
	const char *slash = strrchr(name, '/');
	char node[TOPO_NAME_MAX + 1];
	struct fabric_node *n;
	struct fabric_port *p;
	unsigned long num;
	char *end;

	if (!slash || slash[1] < '0' || slash[1] > '9')
		return -EINVAL;
	num = strtoul(slash + 1, &end, 10);
	if (*end)
		return -EINVAL;
	if ((size_t)(slash - name) >= sizeof(node))
		return -ENOENT;
	snprintf(node, sizeof(node), "%.*s", (int)(slash - name), name);
	n = fabric_node_find(f, node);
	if (!n)
		return -ENOENT;
	p = num <= 254 ? fabric_node_port(n, (unsigned int)num) : NULL;
	if (!p)
		return -ERANGE;
	*ret = p;
	return 0;
}

struct fabric_node *fabric_port_node(const struct fabric_port *p)
{
	return p->node;
}

unsigned int fabric_port_num(const struct fabric_port *p)
{
	return p->num;
}

struct fabric_port *fabric_port_peer(const struct fabric_port *p)
{
	return p->kind == PORT_ZERO ? NULL : p->peer;
}

char *fabric_port_name(const struct fabric_port *p, char *buf, size_t size)
{
	if (p->node)
		snprintf(buf, size, "%s/%u", p->node->name, p->num);
	else
		snprintf(buf, size, "%s", p->label);
	return buf;
}
