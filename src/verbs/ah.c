/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/priv.h"

/*
 * Callers with equal attributes share one address handle of libibverbs. An unused handle is not
 * destroyed at once, because packets to the same neighbour often follow later. To create the handle
 * again would take time: in many drivers the creation is a system call.
 */

static uint64_t hash_of(const struct ca_ah_attr *a)
{
	static const struct hash_key key = { 0x7569706f69622d61ull, 0x682d6361636865ull };

	return hash_siphash(&key, a, sizeof(*a));
}

/* Copy member by member, so that the padding is zero and equal attributes have equal octets. */
static struct ca_ah_attr plain(const struct verbs_port *p, const struct ca_ah_attr *a)
{
	struct ca_ah_attr r;

	memset(&r, 0, sizeof(r));
	r.dlid = a->dlid;
	r.sl = a->sl;
	r.src_path_bits = a->src_path_bits;
	r.static_rate = a->static_rate;
	r.has_grh = a->has_grh || p->grh_required;
	if (!r.has_grh)
		return r;
	r.tclass = a->tclass;
	r.hop_limit = a->hop_limit;
	r.flow_label = a->flow_label;
	r.dgid = a->dgid;
	return r;
}

static struct verbs_ah *find(const struct verbs_port *p, const struct ca_ah_attr *a)
{
	for (struct hlink *l = htab_first(&p->ahs, hash_of(a)); l; l = htab_next(l)) {
		struct verbs_ah *ah = container_of(l, struct verbs_ah, by_attr);

		if (!memcmp(&ah->attr, a, sizeof(*a)))
			return ah;
	}
	return NULL;
}

static void ah_free(struct verbs_port *p, struct verbs_ah *ah)
{
	htab_del(&p->ahs, &ah->by_attr);
	if (!list_empty(&ah->idle)) {
		list_del(&ah->idle);
		p->nidle--;
	}
	if (ah->h)
		p->lib->destroy_ah(ah->h);
	free(ah);
}

/*
 * Frees the handle that has been unused for the longest time. Return: false if all handles are in
 * use
 */
static bool evict(struct verbs_port *p)
{
	if (list_empty(&p->idle_ahs))
		return false;
	ah_free(p, list_first(&p->idle_ahs, struct verbs_ah, idle));
	p->stats.ah_evicted++;
	return true;
}

static struct ibv_ah *ask(struct verbs_port *p, const struct ca_ah_attr *a)
{
	struct ibv_ah_attr attr = {
		.dlid = a->dlid,
		.sl = a->sl,
		.src_path_bits = a->src_path_bits,
		.static_rate = a->static_rate,
		.is_global = a->has_grh,
		.port_num = p->num,
		.grh = {
			.flow_label = a->flow_label,
			.hop_limit = a->hop_limit,
			.traffic_class = a->tclass,
		},
	};

	memcpy(attr.grh.dgid.raw, a->dgid.raw, sizeof(attr.grh.dgid.raw));
	errno = 0;
	return p->lib->create_ah(p->pd, &attr);
}

static unsigned int limit(const struct verbs_port *p)
{
	return p->limits.max_ah > 0 && p->limits.max_ah < VERBS_AHS_MAX
		       ? (unsigned int)p->limits.max_ah
		       : VERBS_AHS_MAX;
}

int verbs_ah_make(struct verbs_ah *ah)
{
	struct verbs_port *p = verbs_port_of(ah->ah.ca);

	while (!ah->h) {
		ah->h = ask(p, &ah->attr);
		if (!ah->h && ((errno != ENOMEM && errno != EAGAIN) || !evict(p)))
			return errno ? -errno : -EIO;
	}
	return 0;
}

static int make(struct verbs_port *p, const struct ca_ah_attr *a, struct verbs_ah **ret)
{
	struct verbs_ah *ah;
	int err;

	if (p->ahs.n >= limit(p) && !evict(p))
		return -EAGAIN;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return -ENOMEM;
	ah->ah.ca = &p->ca;
	ah->attr = *a;
	list_init(&ah->idle);
	err = verbs_ah_make(ah);
	if (!err)
		err = htab_add(&p->ahs, &ah->by_attr, hash_of(a));
	if (!err) {
		*ret = ah;
		return 0;
	}
	if (ah->h)
		p->lib->destroy_ah(ah->h);
	free(ah);
	return err == -ENOMEM ? -EAGAIN : err;
}

int verbs_ah_create(struct ca *ca, const struct ca_ah_attr *attr, struct ca_ah **ret)
{
	struct verbs_port *p = verbs_port_of(ca);
	struct ca_ah_attr a = plain(p, attr);
	struct verbs_ah *ah;
	int err = 0;

	if (p->dead)
		return -EIO;
	/* Some providers of libibverbs do not check these attributes. */
	if (a.sl > 15 || !a.dlid || a.dlid == IB_LID_PERMISSIVE ||
	    (!ib_lid_is_unicast(a.dlid) && (!a.has_grh || !ib_gid_is_mcast(&a.dgid))) ||
	    (a.has_grh && ib_gid_is_zero(&a.dgid)))
		return -EINVAL;
	ah = find(p, &a);
	if (!ah)
		err = make(p, &a, &ah);
	if (err)
		return err;
	if (!list_empty(&ah->idle)) {
		list_del(&ah->idle);
		list_init(&ah->idle);
		p->nidle--;
	}
	ah->refs++;
	*ret = &ah->ah;
	return 0;
}

void verbs_ah_put(struct verbs_ah *ah)
{
	struct verbs_port *p = verbs_port_of(ah->ah.ca);

	if (--ah->refs)
		return;
	list_add_tail(&p->idle_ahs, &ah->idle);
	if (++p->nidle > VERBS_AHS_IDLE)
		evict(p);
}

void verbs_ah_destroy(struct ca_ah *ah)
{
	verbs_ah_put(container_of(ah, struct verbs_ah, ah));
}

void verbs_ahs_unmake(struct verbs_port *p)
{
	for (struct hlink *l = htab_each(&p->ahs, NULL); l; l = htab_each(&p->ahs, l)) {
		struct verbs_ah *ah = container_of(l, struct verbs_ah, by_attr);

		if (ah->h)
			p->lib->destroy_ah(ah->h);
		ah->h = NULL;
	}
}

void verbs_ahs_fini(struct verbs_port *p)
{
	for (struct hlink *l = htab_each(&p->ahs, NULL), *next; l; l = next) {
		next = htab_each(&p->ahs, l);
		ah_free(p, container_of(l, struct verbs_ah, by_attr));
	}
	htab_fini(&p->ahs);
}
