/* SPDX-License-Identifier: BSD-2-Clause */
#include "subnet/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "subnet/routes.h"
#include "util/list.h"

/*
 * The hash needs no secret key although nodes choose their GUIDs: an attacker needs a node for each
 * collision.
 */
uint64_t sm_guid_hash(uint64_t guid)
{
	static const struct hash_key key = { 0x75697069626f6f70, 0x736d206775696473 };

	return hash_siphash(&key, &guid, sizeof(guid));
}

struct sm_db *sm_db_create(uint64_t prefix)
{
	struct sm_db *db = calloc(1, sizeof(*db));

	if (!db)
		return NULL;
	db->prefix = prefix;
	db->by_lid = calloc(SM_LID_TOP_MAX + 1, sizeof(struct sm_port *));
	if (!db->by_lid) {
		free(db);
		return NULL;
	}
	return db;
}

static void tables_free(struct sm_tables *t)
{
	if (!t)
		return;
	free(t->pkey);
	free(t->sltovl);
	free(t->vlarb);
	free(t->guid);
	free(t);
}

void sm_node_forget_tables(struct sm_node *n)
{
	for (unsigned int i = 0; i <= n->info.nports; i++) {
		tables_free(n->port[i].tables);
		n->port[i].tables = NULL;
	}
}

static void node_free(struct sm_node *n)
{
	if (n->port) {
		for (unsigned int i = 0; i <= n->info.nports; i++) {
			free(n->port[i].pkeys);
			tables_free(n->port[i].tables);
		}
	}
	if (n->sw) {
		sm_fdb_put(n->sw->fdb);
		sm_lft_put(n->sw->lft);
	}
	free(n->sw);
	free(n->port);
	free(n);
}

void sm_db_destroy(struct sm_db *db)
{
	if (!db)
		return;
	for (uint32_t i = 0; i < db->nnodes; i++)
		node_free(db->node[i]);
	htab_fini(&db->nodes);
	htab_fini(&db->ports);
	free(db->node);
	free(db->sw);
	free(db->by_lid);
	free(db->hops);
	sm_routes_free(db->routes);
	free(db);
}

static struct sm_node *node_new(const struct smp_node_info *info)
{
	struct sm_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->info = *info;
	n->port = calloc(info->nports + 1u, sizeof(*n->port));
	if (info->node_type == IB_NODE_SWITCH)
		n->sw = calloc(1, sizeof(*n->sw));
	if (!n->port || (info->node_type == IB_NODE_SWITCH && !n->sw)) {
		node_free(n);
		return NULL;
	}
	for (unsigned int i = 0; i <= info->nports; i++) {
		n->port[i].node = n;
		n->port[i].num = (uint8_t)i;
	}
	return n;
}

bool sm_same_node(const struct smp_node_info *a, const struct smp_node_info *b)
{
	return a->node_type == b->node_type && a->nports == b->nports &&
	       a->sys_guid == b->sys_guid && a->device_id == b->device_id &&
	       a->vendor_id == b->vendor_id &&
	       (a->node_type != IB_NODE_SWITCH || a->port_guid == b->port_guid);
}

struct sm_node *sm_db_add_node(struct sm_db *db, const struct smp_node_info *info)
{
	struct sm_node *n;

	/* The array doubles whenever the number of nodes is a power of two. */
	if ((db->nnodes & (db->nnodes - 1)) == 0) {
		size_t cap = db->nnodes ? 2 * (size_t)db->nnodes : 1;
		struct sm_node **v = realloc(db->node, cap * sizeof(struct sm_node *));

		if (!v)
			return NULL;
		db->node = v;
	}
	n = node_new(info);
	if (!n)
		return NULL;
	if (htab_add(&db->nodes, &n->by_guid, sm_guid_hash(info->node_guid))) {
		node_free(n);
		return NULL;
	}
	n->index = db->nnodes;
	db->node[db->nnodes++] = n;
	db->nports += info->nports + 1u;
	return n;
}

int sm_db_add_port_guid(struct sm_db *db, struct sm_port *p, uint64_t guid)
{
	int err = htab_add(&db->ports, &p->by_guid, sm_guid_hash(guid));

	if (!err)
		p->guid = guid;
	return err;
}

/*
 * Record that @p lost its link. An SMP to a CA is about the port at which it arrives, so discovery
 * reads a port of a CA through the link of this port. Without the link the port becomes unknown.
 * Ports of switches stay known, and so does the port through which discovery found a CA.
 */
static void port_cut(struct sm_db *db, struct sm_port *p)
{
	p->peer = NULL;
	if (p->node->sw || p->num == p->node->info.local_port)
		return;
	p->known = false;
	if (p->guid)
		htab_del(&db->ports, &p->by_guid);
	p->guid = 0;
}

void sm_db_cut(struct sm_db *db, struct sm_port *p)
{
	struct sm_port *q = p->peer;

	port_cut(db, p);
	if (q != p)
		port_cut(db, q);
}

void sm_db_drop_port(struct sm_db *db, struct sm_port *p)
{
	struct sm_node *n = p->node;
	bool others = false;

	if (p->peer && p->peer != p)
		port_cut(db, p->peer);
	p->peer = NULL;
	p->known = false;
	htab_del(&db->ports, &p->by_guid);
	p->guid = 0;
	for (unsigned int i = 1; i <= n->info.nports; i++)
		others |= n->port[i].known;
	n->lost |= !others;
}

static void node_cut(struct sm_db *db, struct sm_node *n)
{
	htab_del(&db->nodes, &n->by_guid);
	for (unsigned int i = 0; i <= n->info.nports; i++) {
		struct sm_port *p = &n->port[i];

		if (p->guid)
			htab_del(&db->ports, &p->by_guid);
		p->guid = 0;
		if (p->peer)
			port_cut(db, p->peer);
		p->peer = NULL;
	}
}

void sm_db_drop_lost(struct sm_db *db)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < db->nnodes; i++) {
		struct sm_node *n = db->node[i];

		if (n->lost && i > 0) {
			node_cut(db, n);
			node_free(n);
			continue;
		}
		n->index = kept;
		db->node[kept++] = n;
	}
	/*
	 * sm_db_add_node() derives the size of the array from nnodes, which shrinks here. So
	 * sm_db_add_node() must not be called from here on.
	 */
	db->nnodes = kept;
}

int sm_db_index_switches(struct sm_db *db)
{
	db->sw = calloc(db->nnodes + 1u, sizeof(struct sm_node *));
	if (!db->sw)
		return -ENOMEM;
	db->nswitches = 0;
	for (uint32_t i = 0; i < db->nnodes; i++) {
		if (!db->node[i]->sw)
			continue;
		db->node[i]->sw->index = db->nswitches;
		db->sw[db->nswitches++] = db->node[i];
	}
	return 0;
}

struct sm_node *sm_db_node(const struct sm_db *db, uint64_t node_guid)
{
	for (struct hlink *h = htab_first(&db->nodes, sm_guid_hash(node_guid)); h;
	     h = htab_next(h)) {
		struct sm_node *n = container_of(h, struct sm_node, by_guid);

		if (n->info.node_guid == node_guid)
			return n;
	}
	return NULL;
}

struct sm_port *sm_db_port_by_guid(const struct sm_db *db, uint64_t port_guid)
{
	for (struct hlink *h = htab_first(&db->ports, sm_guid_hash(port_guid)); h;
	     h = htab_next(h)) {
		struct sm_port *p = container_of(h, struct sm_port, by_guid);

		if (p->guid == port_guid)
			return p;
	}
	return NULL;
}

struct sm_port *sm_db_port_by_lid(const struct sm_db *db, unsigned int lid)
{
	return lid <= SM_LID_TOP_MAX ? db->by_lid[lid] : NULL;
}

struct sm_port *sm_db_port_by_gid(const struct sm_db *db, const ib_gid *gid)
{
	uint64_t prefix = ib_gid_prefix(gid);

	if (prefix != db->prefix && prefix >> 55 != IB_SUBNET_PREFIX_DEFAULT >> 55)
		return NULL;
	return sm_db_port_by_guid(db, ib_gid_guid(gid));
}

struct sm_port *sm_db_end_port(const struct sm_db *db, const struct sm_port *prev)
{
	uint32_t i = prev ? prev->node->index : 0;
	unsigned int num = prev ? prev->num + 1u : 0;

	for (; i < db->nnodes; i++, num = 0) {
		struct sm_node *n = db->node[i];
		unsigned int last = n->sw ? 0 : n->info.nports;

		for (; num <= last; num++) {
			if (n->port[num].known && n->port[num].guid)
				return &n->port[num];
		}
	}
	return NULL;
}

uint16_t sm_port_pkey(const struct sm_port *p, uint16_t pkey)
{
	uint16_t found = 0;

	if ((pkey & 0x7fff) == 0)
		return 0;
	for (unsigned int i = 0; i < p->npkeys; i++) {
		if ((p->pkeys[i] ^ pkey) & 0x7fff)
			continue;
		found = p->pkeys[i];
		if (found & IB_PKEY_FULL)
			break;
	}
	return found;
}

uint16_t sm_ports_share_pkey(const struct sm_port *a, const struct sm_port *b)
{
	for (unsigned int i = 0; i < a->npkeys; i++) {
		for (unsigned int j = 0; j < b->npkeys; j++) {
			if (ib_pkey_match(a->pkeys[i], b->pkeys[j]))
				return a->pkeys[i];
		}
	}
	return 0;
}

/*
 * Cross the link at @p. Return: the port at the other end; NULL if no data packet gets through. If
 * a partial sweep has recorded a change of the link, the state of the port is ignored until the
 * routes have changed, too.
 */
static struct sm_port *path_cross(const struct sm_port *p, struct sm_path *path)
{
	if (!p->known || !p->peer ||
	    (p->change == SM_LINK_KEPT && p->pi.port_state != IB_PORT_ACTIVE))
		return NULL;
	if (p->mtu_code < path->mtu_code)
		path->mtu_code = p->mtu_code;
	if (path->hops == 0 || ib_rate_mbps(p->rate_code) < ib_rate_mbps(path->rate_code))
		path->rate_code = p->rate_code;
	path->hops++;
	return p->peer;
}

static bool path_walk(const struct sm_port *src, const struct sm_port *dst, struct sm_path *path)
{
	/* port at which the packet has arrived; at the start, the source port */
	const struct sm_port *in = src;

	if (!src->node->sw)
		in = path_cross(src, path);
	while (in && in->node->sw && path->hops < IB_MAX_HOPS) {
		uint8_t out = sm_switch_lft(in->node->sw, path->dlid);

		if (out == 0)
			return &in->node->port[0] == dst;
		if (out > in->node->info.nports)
			return false;
		in = path_cross(&in->node->port[out], path);
	}
	return in == dst;
}

int sm_db_path(const struct sm_db *db, const struct sm_port *src, const struct sm_port *dst,
	       unsigned int dlid, struct sm_path *ret)
{
	struct sm_path path = {
		.slid = src->lid,
		.dlid = (uint16_t)(dlid ? dlid : dst->lid),
		.mtu_code = IB_MTU_4096,
		.life = db->life,
	};

	if (!src->lid || !sm_port_has_lid(dst, path.dlid))
		return -EINVAL;
	if (src == dst) {
		path.mtu_code = src->mtu_code;
		path.rate_code = src->rate_code;
	} else if (!path_walk(src, dst, &path)) {
		return -EHOSTUNREACH;
	}
	*ret = path;
	return 0;
}

struct sm_node *sm_port_switch_behind(const struct sm_port *p)
{
	const struct sm_port *peer = sm_port_peer_routed(p);

	if (!p->known || !peer || peer->node == p->node)
		return NULL;
	return peer->node->sw ? peer->node : NULL;
}

struct sm_node *sm_port_attachment(const struct sm_port *p, uint8_t *ret_port)
{
	*ret_port = 0;
	if (!p)
		return NULL;
	if (p->node->sw)
		return p->node;
	if (!p->peer || !p->peer->node->sw)
		return NULL;
	*ret_port = p->peer->num;
	return p->peer->node;
}

bool sm_db_changes_unread(const struct sm_db *db)
{
	for (uint32_t s = 0; s < db->nswitches; s++) {
		if (db->sw[s]->sw->si.port_state_change)
			return true;
	}
	return false;
}
