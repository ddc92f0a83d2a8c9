/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo/topo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/list.h"

/* First values of the counters for GUIDs, as in ibsim. */
#define FIRST_CA_GUID 0x100000
#define FIRST_SWITCH_GUID 0x200000
/* Rate that ports enable by default, as in ibsim: 4xSDR. */
#define DEFAULT_RATE ((struct topo_rate){ .width = 2, .speed = 1, .ext = 0 })

/*
 * The key need not be secret, because the keys of the hash table are names in the administrator's
 * own file.
 */
static const struct hash_key key = { 0x746f706f6c6f6779ull, 0x6e616d65732e2e2eull };

struct topo *topo_create(void)
{
	struct topo *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->next_ca_guid = FIRST_CA_GUID;
	t->next_switch_guid = FIRST_SWITCH_GUID;
	return t;
}

static void node_free(struct topo_node *n)
{
	if (!n)
		return;
	free(n->port);
	free(n);
}

void topo_free(struct topo *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n; i++)
		node_free(t->node[i]);
	free(t->node);
	htab_fini(&t->names);
	htab_fini(&t->guids);
	free(t);
}

static bool is_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static struct topo_node *find_name(const struct topo *t, const char *name)
{
	uint64_t h = hash_siphash(&key, name, strlen(name));

	for (struct hlink *e = htab_first(&t->names, h); e; e = htab_next(e)) {
		struct topo_node *n = container_of(e, struct topo_node, by_name);

		if (!strcmp(n->name, name))
			return n;
	}
	return NULL;
}

static struct topo_node *find_guid(const struct topo *t, uint64_t guid)
{
	uint64_t h = hash_siphash(&key, &guid, sizeof(guid));

	for (struct hlink *e = htab_first(&t->guids, h); e; e = htab_next(e)) {
		struct topo_node *n = container_of(e, struct topo_node, by_guid);

		if (n->node_guid == guid)
			return n;
	}
	return NULL;
}

static void node_take_guids(struct topo_node *n, uint64_t guid)
{
	n->node_guid = n->sys_guid = guid;
	if (n->type == IB_NODE_SWITCH) {
		n->port[0].guid = guid;
		return;
	}
	for (unsigned int i = 1; i <= n->nports; i++)
		n->port[i].guid = guid + i;
}

static struct topo_node *node_new(enum ib_node_type type, unsigned int nports, const char *name,
				  const char *desc)
{
	struct topo_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->port = calloc(nports + 1u, sizeof(*n->port));
	if (!n->port) {
		free(n);
		return NULL;
	}
	n->type = type;
	n->nports = (uint8_t)nports;
	snprintf(n->name, sizeof(n->name), "%s", name);
	snprintf(n->desc, sizeof(n->desc), "%.*s", TOPO_DESC_MAX, desc);
	for (unsigned int i = 0; i <= nports; i++) {
		n->port[i].peer = TOPO_NO_PEER;
		n->port[i].rate = DEFAULT_RATE;
	}
	return n;
}

static int topo_grow(struct topo *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 16;
	struct topo_node **v;

	if (t->n == TOPO_MAX_NODES)
		return -ENOSPC;
	if (t->n < t->cap)
		return 0;
	v = realloc(t->node, cap * sizeof(struct topo_node *));
	if (!v)
		return -ENOMEM;
	t->node = v;
	t->cap = cap;
	return 0;
}

static int node_insert(struct topo *t, struct topo_node *n)
{
	int err = topo_grow(t);

	if (err)
		return err;
	err = htab_add(&t->names, &n->by_name, hash_siphash(&key, n->name, strlen(n->name)));
	if (err)
		return err;
	err = htab_add(&t->guids, &n->by_guid, hash_siphash(&key, &n->node_guid, 8));
	if (err) {
		htab_del(&t->names, &n->by_name);
		return err;
	}
	n->index = t->n;
	t->node[t->n++] = n;
	return 0;
}

int topo_add_node(struct topo *t, enum ib_node_type type, unsigned int nports, const char *name,
		  const char *desc, uint32_t *ret)
{
	uint64_t *next = type == IB_NODE_SWITCH ? &t->next_switch_guid : &t->next_ca_guid;
	struct topo_node *n;
	int err;

	if ((type != IB_NODE_CA && type != IB_NODE_SWITCH) || nports < 1 || nports > 254)
		return -EINVAL;
	if (!*name || strlen(name) > TOPO_NAME_MAX || !is_text(name) || strpbrk(name, "\"@"))
		return -EINVAL;
	if (desc && !is_text(desc))
		return -EINVAL;
	if (find_name(t, name) || find_guid(t, *next))
		return -EEXIST;

	n = node_new(type, nports, name, desc && *desc ? desc : name);
	if (!n)
		return -ENOMEM;
	node_take_guids(n, *next);
	err = node_insert(t, n);
	if (err) {
		node_free(n);
		return err;
	}
	*next += type == IB_NODE_SWITCH ? 1 : nports + 1u;
	*ret = t->n - 1;
	return 0;
}

int topo_set_guids(struct topo *t, uint32_t node, uint64_t node_guid)
{
	struct topo_node *n, *other;

	if (node >= t->n || !node_guid)
		return -EINVAL;
	n = t->node[node];
	other = find_guid(t, node_guid);
	if (other && other != n)
		return -EEXIST;
	htab_del(&t->guids, &n->by_guid);
	node_take_guids(n, node_guid);
	return htab_add(&t->guids, &n->by_guid, hash_siphash(&key, &node_guid, sizeof(node_guid)));
}

static int check_end(const struct topo *t, uint32_t node, unsigned int port)
{
	if (node >= t->n)
		return -ENOENT;
	if (port < 1 || port > t->node[node]->nports)
		return -ERANGE;
	return t->node[node]->port[port].peer == TOPO_NO_PEER ? 0 : -EBUSY;
}

int topo_link(struct topo *t, uint32_t a, unsigned int a_port, uint32_t b, unsigned int b_port)
{
	int err = check_end(t, a, a_port);

	if (!err)
		err = check_end(t, b, b_port);
	if (err)
		return err;
	if (a == b && a_port == b_port)
		return -EINVAL;

	t->node[a]->port[a_port].peer = b;
	t->node[a]->port[a_port].peer_port = (uint8_t)b_port;
	t->node[b]->port[b_port].peer = a;
	t->node[b]->port[b_port].peer_port = (uint8_t)a_port;
	return 0;
}

int topo_find(const struct topo *t, const char *name, uint32_t *ret)
{
	const struct topo_node *n = find_name(t, name);
	uint32_t found = TOPO_NO_PEER;

	if (n) {
		*ret = n->index;
		return 0;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		if (strcmp(t->node[i]->desc, name) != 0)
			continue;
		if (found != TOPO_NO_PEER)
			return -ENOENT; /* two nodes have this NodeDescription */
		found = i;
	}
	if (found == TOPO_NO_PEER)
		return -ENOENT;
	*ret = found;
	return 0;
}

/*
 * Return the bit of the largest width in @mask. The bits are not in the order of the widths,
 * because the highest bit is 2x.
 */
static uint8_t best_width(uint8_t mask)
{
	static const uint8_t order[] = { 8, 4, 2, 16, 1 };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (mask & order[i])
			return order[i];
	return 0;
}

static uint8_t best_bit(uint8_t mask)
{
	return mask ? (uint8_t)(0x80u >> (__builtin_clz(mask) - 24)) : 0;
}

struct topo_rate topo_rate(const struct topo *t, uint32_t node, unsigned int port)
{
	const struct topo_port *p = &t->node[node]->port[port];
	struct topo_rate r = p->rate;

	if (p->peer != TOPO_NO_PEER) {
		const struct topo_rate *o = &t->node[p->peer]->port[p->peer_port].rate;

		r.width &= o->width;
		r.speed &= o->speed;
		r.ext &= o->ext;
		r.also &= o->also;
	}
	r.width = best_width(r.width);
	r.speed = best_bit(r.speed);
	r.ext = best_bit(r.ext);
	if (r.ext || r.speed != 4)
		r.also &= (uint8_t)~TOPO_ALSO_FDR10;
	if (r.ext != 8)
		r.also &= (uint8_t)~TOPO_ALSO_XDR;
	return r;
}
